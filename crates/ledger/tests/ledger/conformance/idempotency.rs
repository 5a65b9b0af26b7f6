//! Keys: the same request is charged once, no matter who repeats it and when.

use std::sync::{Arc, Barrier};
use std::thread;

use taximeter_accounting::FilterRule;
use taximeter_ledger::{Charge, Error, Ledger, Neighbours, Note, Outcome, Unit, Who};

use super::place::*;

fn with_two_trees(place: &Place) -> Ledger {
    let ledger = place.create();
    for text in ["census", "census/alice", "other"] {
        ledger.open_account(budgeted(text, "1,1e-6")).unwrap();
    }
    ledger
}

pub fn the_same_request_again_returns_the_first_receipt(place: &Place) {
    let ledger = with_two_trees(place);
    let first = charged(ledger.charge(charge("k", &["census/alice", "other"], &[epsilon("0.1")]))).into_receipt();
    let (position, accounts) = (ledger.position(), ledger.accounts());
    for accounts in [["census/alice", "other"], ["other", "census/alice"]] {
        assert_eq!(replayed(ledger.charge(charge("k", &accounts, &[epsilon("0.10")]))), first);
        assert_eq!(replayed(ledger.try_charge(charge("k", &accounts, &[epsilon("0.1")]))), first);
    }
    assert_eq!((ledger.position(), ledger.accounts()), (position, accounts));
}

pub fn a_key_outlives_the_process(place: &Place) {
    let ledger = with_two_trees(place);
    let request = || charge("k", &["census"], &[epsilon("0.1")]);
    let first = charged(ledger.charge(request())).into_receipt();
    drop(ledger);
    for _ in 0..2 {
        let ledger = place.open().unwrap();
        assert_eq!(replayed(ledger.charge(request())), first);
        let error = ledger.charge(charge("k", &["census"], &[epsilon("0.2")])).unwrap_err();
        assert!(error.is_key_taken(), "{error}");
    }
    assert_eq!(place.charged_keys(), ["k"]);
}

pub fn another_request_under_the_same_key_is_an_error(place: &Place) {
    let ledger = with_two_trees(place);
    let first = || charge("k", &["census"], &[epsilon("0.1")]);
    charged(ledger.charge(first()));
    let position = ledger.position();
    let others: [(&str, Charge); 8] = [
        ("another account", charge("k", &["other"], &[epsilon("0.1")])),
        ("an account more", charge("k", &["census", "other"], &[epsilon("0.1")])),
        ("another cost", charge("k", &["census"], &[epsilon("0.1000001")])),
        ("the cost twice", charge("k", &["census"], &[epsilon("0.1"), epsilon("0.1")])),
        ("with a unit", first().with_unit(Some(Unit::parse("record").unwrap()))),
        ("with a relation", first().with_neighbours(Some(Neighbours::AddRemove))),
        ("by a person", first().by(Some(Who::parse("by", "alice").unwrap()))),
        ("with a note", first().with_note(Some(Note::parse("note", "again").unwrap()))),
    ];
    for (what, other) in others {
        let error = ledger.charge(other).unwrap_err();
        assert!(error.is_key_taken() && error.is_input(), "{what}: {error}");
        check_message(&error, &["\"k\"", &position.sequence.to_string()]);
    }
    assert_eq!(ledger.position(), position);
    replayed(ledger.charge(first()));
}

pub fn a_key_is_taken_on_the_whole_ledger(place: &Place) {
    let ledger = with_two_trees(place);
    charged(ledger.charge(charge("k", &["census/alice"], &[epsilon("0.1")])));
    let error = ledger.charge(charge("k", &["other"], &[epsilon("0.1")])).unwrap_err();
    assert!(error.is_key_taken(), "{error}");
    // Keys are bytes: neither case nor spaces nor a different way to write an accent make two of them one.
    for distinct in ["K", "k ", " k", "k\u{301}", "\u{1e31}"] {
        charged(ledger.charge(charge(distinct, &["other"], &[epsilon("0.01")])));
    }
    assert_eq!(place.charged_keys().len(), 6);
    place.verify();
}

pub fn a_refused_request_leaves_its_key_free(place: &Place) {
    let ledger = with_two_trees(place);
    refused(ledger.charge(charge("k", &["census"], &[epsilon("5")])));
    assert!(ledger.charge(charge("k", &["nobody"], &[epsilon("0.1")])).unwrap_err().is_no_account());
    charged(ledger.charge(charge("k", &["census"], &[epsilon("0.1")])));
    // A halt is in the journal, but it is not a charge.
    ledger.open_account(stopping(budgeted("stop", "1,1e-6"))).unwrap();
    refused(ledger.charge(charge("halt", &["stop"], &[epsilon("5")])));
    charged(ledger.charge(charge("halt", &["census"], &[epsilon("0.1")])));
    place.verify();
}

pub fn a_replay_needs_no_budget_and_no_open_account(place: &Place) {
    let ledger = place.create();
    ledger.open_account(ruled("census", FilterRule::Basic, "1")).unwrap();
    let whole = || charge("all", &["census"], &[epsilon("1")]);
    let first = charged(ledger.charge(whole())).into_receipt();
    refused(ledger.charge(charge("more", &["census"], &[epsilon("1e-30")])));
    assert_eq!(replayed(ledger.charge(whole())), first);
    ledger.close_account(name("census"), None, None).unwrap();
    assert_eq!(replayed(ledger.charge(whole())), first);
}

/// Asks everything at once, each from a thread of its own.
fn at_once(ledger: &Ledger, charges: Vec<Charge>) -> Vec<Result<Outcome, Error>> {
    let start = Arc::new(Barrier::new(charges.len()));
    let callers: Vec<_> = charges
        .into_iter()
        .map(|charge| {
            let (ledger, start) = (ledger.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                ledger.charge(charge)
            })
        })
        .collect();
    callers.into_iter().map(|caller| caller.join().unwrap()).collect()
}

pub fn of_thirty_two_equal_requests_at_once_one_is_charged(place: &Place) {
    let ledger = with_two_trees(place);
    for round in 0..5 {
        let request = charge(&format!("k{round}"), &["census/alice", "other"], &[epsilon("0.1")]);
        let (mut fresh, mut again) = (Vec::new(), Vec::new());
        for outcome in at_once(&ledger, vec![request; 32]) {
            match outcome.unwrap() {
                Outcome::Charged(receipt) => fresh.push(receipt.into_receipt()),
                Outcome::Replayed(receipt) => again.push(receipt),
                Outcome::Refused(refusal) => panic!("{refusal:?}"),
            }
        }
        assert_eq!((fresh.len(), again.len()), (1, 31));
        assert!(again.iter().all(|receipt| *receipt == fresh[0]));
        assert_eq!(ledger.account(&name("census")).unwrap().charges(), round + 1);
    }
    assert_eq!(place.charged_keys(), ["k0", "k1", "k2", "k3", "k4"]);
    place.verify();
}

pub fn of_thirty_two_requests_under_one_key_at_once_one_is_charged(place: &Place) {
    let ledger = with_two_trees(place);
    let requests = (1..=32).map(|at| charge("k", &["census"], &[epsilon(&format!("0.00{at:02}"))])).collect();
    let outcomes = at_once(&ledger, requests);
    let fresh = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Outcome::Charged(_)))).count();
    let taken = outcomes.iter().filter(|outcome| outcome.as_ref().is_err_and(Error::is_key_taken)).count();
    assert_eq!((fresh, taken), (1, 31));
    assert_eq!(place.charged_keys(), ["k"]);
    place.verify();
}

/// Asks everything at once, from tasks on one thread, so that most of it is in one transaction.
fn together(ledger: &Ledger, charges: Vec<Charge>) -> Vec<Result<Outcome, Error>> {
    let ledger = ledger.clone();
    within_minutes(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let tasks: Vec<_> = charges.into_iter().map(|charge| tokio::spawn(ledger.charge_async(charge))).collect();
            let mut outcomes = Vec::new();
            for task in tasks {
                outcomes.push(task.await.unwrap());
            }
            outcomes
        })
    })
}

/// A large transaction is written in parts while it is decided. Whatever stands in either part is found out before the commit.
pub fn what_is_not_new_is_found_wherever_it_stands_among_many(place: &Place) {
    const MANY: usize = 64;
    let ledger = place.create();
    for text in ["census", "other"] {
        ledger.open_account(budgeted(text, "100,1e-6")).unwrap();
    }
    let new = |round: usize, at: usize| charge(&format!("{round} {at}"), &["census"], &[epsilon("0.0001")]);
    let mut round = 0;
    let mut plain = |rounds: usize| {
        for _ in 0..rounds {
            round += 1;
            let outcomes = together(&ledger, (0..MANY).map(|at| new(round, at)).collect());
            outcomes.into_iter().for_each(|outcome| drop(charged(outcome)));
        }
        round
    };
    plain(3);
    let (mut extra, mut charges) = (0, 0);
    // In the first part, in the second, and in both.
    for places in [vec![0, 9, 20, 30], vec![33, 40, 50, 63], vec![3, 60, 25, 61], vec![62, 5, 45, 10]] {
        for odd in 1..16u32 {
            let round = plain(if odd < 3 { 10 } else { 1 });
            let mut asked: Vec<Charge> =
                (0..MANY).map(|at| charge(&format!("{round}+{at}"), &["census"], &[epsilon("0.0001")])).collect();
            let is_odd = |kind: usize| odd & (1 << kind) != 0;
            let [again, taken, refusal, twice] = places[..] else { panic!("four places") };
            if is_odd(0) {
                asked[again] = new(1, again);
            }
            if is_odd(1) {
                asked[taken] = charge("2 7", &["other"], &[epsilon("0.0001")]);
            }
            if is_odd(2) {
                asked[refusal] = charge("never", &["census"], &[epsilon("1000")]);
            }
            if is_odd(3) {
                asked[twice] = asked[1].clone();
            }
            let outcomes = together(&ledger, asked);
            for (at, outcome) in outcomes.into_iter().enumerate() {
                let is = |kind: usize, there: usize| is_odd(kind) && at == there;
                match outcome {
                    Ok(Outcome::Charged(_)) => charges += 1,
                    Ok(Outcome::Replayed(_)) if is(0, again) => {}
                    Err(error) if is(1, taken) && error.is_key_taken() => {}
                    Ok(Outcome::Refused(_)) if is(2, refusal) => {}
                    // Of two equal requests the first to arrive is charged.
                    Ok(Outcome::Replayed(_)) if is(3, twice) || is(3, 1) => {}
                    other => panic!("{at} of {odd:04b} at {places:?}: {other:?}"),
                }
            }
            extra += MANY - odd.count_ones() as usize;
            assert_eq!(charges, extra, "{odd:04b} at {places:?}");
        }
    }
    // Nothing in the second part that is to be written.
    let round = plain(10);
    let cost = |at: usize| epsilon(if at < MANY / 2 { "0.0001" } else { "1000" });
    let asked = (0..MANY).map(|at| charge(&format!("{round}-{at}"), &["census"], &[cost(at)])).collect();
    for (at, outcome) in together(&ledger, asked).into_iter().enumerate() {
        if at < MANY / 2 { drop(charged(outcome)) } else { drop(refused(outcome)) }
    }
    extra += MANY / 2;
    let all = plain(1) * MANY + extra;
    assert_eq!(ledger.account(&name("census")).unwrap().charges(), all as u64);
    assert_eq!(ledger.account(&name("other")).unwrap().charges(), 0);
    drop(ledger);
    assert_eq!(place.charged_keys().len(), all);
    place.verify();
}
