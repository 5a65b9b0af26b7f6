//! What accounts do with charges.

use std::thread;

use taximeter_accounting::{Cost, FilterRule};
use taximeter_ledger::{Event, Ledger, Options, Reason, RefusedInSequence, RepeatedCharge, Standing};

use super::place::*;

fn standing(ledger: &Ledger, account: &str) -> Standing {
    ledger.account(&name(account)).unwrap().standing()
}

pub fn a_charge_is_paid_by_the_whole_path_once(place: &Place) {
    let ledger = place.create();
    for spec in ["census", "census/alice", "census/bob", "other"].map(|text| budgeted(text, "1,1e-6")) {
        ledger.open_account(spec).unwrap();
    }
    let fresh = charged(ledger.charge(charge("k", &["census/bob", "census/alice"], &[epsilon("0.1")])));
    let paid: Vec<&str> = fresh.receipt().after().iter().map(|after| after.account.as_str()).collect();
    assert_eq!(paid, ["census", "census/alice", "census/bob"]);
    let charges: Vec<u64> = ledger.accounts().iter().map(|account| account.charges()).collect();
    assert_eq!(charges, [1, 1, 1, 0]);
    // 0.1 and not 0.2.
    assert_eq!(ledger.account(&name("census")).unwrap().filter().unwrap().spent().epsilon, Some(epsilon("0.1").size()));
}

pub fn what_was_acknowledged_is_there_after_opening_again(place: &Place) {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    ledger.open_account(reading("census/alice")).unwrap();
    ledger.open_account(budgeted("closed", "1,1e-6")).unwrap();
    for at in 0..5 {
        charged(ledger.charge(charge(&format!("k{at}"), &["census/alice"], &[epsilon("0.01")])));
    }
    ledger.close_account(name("closed"), None, None).unwrap();
    let (id, position, accounts) = (ledger.id(), ledger.position(), ledger.accounts());
    drop(ledger);

    let ledger = place.open().unwrap();
    assert_eq!((ledger.id(), ledger.position(), ledger.accounts()), (id, position, accounts.clone()));
    assert_eq!(place.reader().unwrap().accounts(), accounts);
    let verified = place.verify();
    assert_eq!((verified.records, verified.accounts, verified.head), (10, 3, position));
}

pub fn a_refusal_names_who_refuses_and_what_fits_on_all(place: &Place) {
    let ledger = place.create();
    ledger.open_account(ruled("census", FilterRule::Basic, "1")).unwrap();
    ledger.open_account(ruled("census/alice", FilterRule::Basic, "0.5")).unwrap();
    ledger.open_account(ruled("census/bob", FilterRule::Basic, "0.3")).unwrap();
    let asked = [epsilon("0.6")];
    let refusal = refused(ledger.charge(charge("k", &["census/alice", "census/bob"], &asked)));
    let who: Vec<&str> = refusal.refused().iter().map(|(account, _)| account.as_str()).collect();
    assert_eq!(who, ["census/alice", "census/bob"]);
    assert_eq!(refusal.costs(), asked);
    assert_eq!(refusal.fits().unwrap(), [epsilon("0.3")]);
    charged(ledger.charge(charge("k", &["census/alice", "census/bob"], &refusal.fits().unwrap())));

    // Of a list, what fits has the same proportions.
    let refusal = refused(ledger.charge(charge("list", &["census/alice"], &[epsilon("0.3"), epsilon("0.1")])));
    let fits = refusal.fits().unwrap();
    assert_eq!(fits.len(), 2);
    charged(ledger.charge(charge("list", &["census/alice"], &fits)));
}

pub fn a_refusal_changes_nothing_and_is_remembered_in_memory_only(place: &Place) {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    ledger.open_account(budgeted("census/alice", "0.5,1e-6")).unwrap();
    let (position, accounts, commits) = (ledger.position(), ledger.accounts(), ledger.commits());
    for at in 0..150 {
        refused(ledger.charge(charge(&format!("k{at}"), &["census/alice"], &[epsilon("0.9")])));
    }
    assert_eq!((ledger.position(), ledger.accounts(), ledger.commits()), (position, accounts, commits));
    let (count, newest) = ledger.refusals();
    assert_eq!((count, newest.len()), (150, 100));
    assert_eq!(newest[0].account, name("census/alice"));
    drop(ledger);
    assert_eq!(place.open().unwrap().refusals().0, 0);
}

pub fn an_account_set_to_stop_is_closed_by_its_first_halt(place: &Place) {
    let ledger = place.create();
    ledger.open_account(stopping(budgeted("census", "1,1e-6"))).unwrap();
    refused(ledger.charge(charge("a", &["census"], &[epsilon("5")])));
    assert_eq!(standing(&ledger, "census"), Standing::Halted);
    let refusal = refused(ledger.charge(charge("b", &["census"], &[epsilon("0.01")])));
    assert_eq!(refusal.refused()[0].1, Reason::NotOpen(Standing::Halted));
    assert_eq!(refusal.fits(), None);
    // One record for the halt, none for the refusal after it.
    assert_eq!(ledger.position().sequence, 2);
    drop(ledger);
    let ledger = place.open().unwrap();
    assert_eq!(standing(&ledger, "census"), Standing::Halted);
    assert!(matches!(place.journal()[2].event, Event::Halt(_)));
    place.verify();
}

pub fn a_halt_of_one_account_charges_none_of_the_others(place: &Place) {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    ledger.open_account(stopping(budgeted("census/alice", "0.1,1e-6"))).unwrap();
    ledger.open_account(budgeted("census/bob", "1,1e-6")).unwrap();
    let others = || (ledger.account(&name("census")).unwrap(), ledger.account(&name("census/bob")).unwrap());
    let before = others();
    refused(ledger.charge(charge("k", &["census/alice", "census/bob"], &[epsilon("0.01"), epsilon("0.5")])));
    assert_eq!(others(), before);
    let alice = ledger.account(&name("census/alice")).unwrap();
    assert_eq!((alice.standing(), alice.charges()), (Standing::Halted, 0));
    charged(ledger.charge(charge("k", &["census/bob"], &[epsilon("0.5")])));
    place.verify();
}

pub fn a_closed_account_takes_nothing_and_nothing_below_it_does(place: &Place) {
    let ledger = place.create();
    for text in ["census", "census/alice", "census/alice/thesis", "other"] {
        ledger.open_account(budgeted(text, "1,1e-6")).unwrap();
    }
    ledger.close_account(name("census/alice"), None, None).unwrap();
    for account in ["census/alice", "census/alice/thesis"] {
        let refusal = refused(ledger.charge(charge("k", &[account], &[epsilon("0.01")])));
        assert_eq!(refusal.refused(), [(name("census/alice"), Reason::NotOpen(Standing::Closed))]);
        assert!(refusal.is_not_open());
        assert_eq!(refusal.fits(), None);
    }
    refused(ledger.charge(charge("k", &["census/alice", "other"], &[epsilon("0.01")])));
    charged(ledger.charge(charge("k", &["census", "other"], &[epsilon("0.01")])));
    check_input(ledger.close_account(name("census/alice"), None, None), &["census/alice", "closed"]);
    place.verify();
}

pub fn an_account_without_a_budget_never_refuses(place: &Place) {
    let ledger = place.create();
    ledger.open_account(reading("census")).unwrap();
    for at in 0..20 {
        let fresh = charged(ledger.charge(charge(&format!("k{at}"), &["census"], &[epsilon("100"), gaussian("3")])));
        assert!(fresh.receipt().after()[0].reading.is_some());
        assert_eq!(fresh.receipt().after()[0].left, None);
    }
    place.verify();
}

pub fn a_quote_says_what_the_charge_does_and_charges_nothing(place: &Place) {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    ledger.open_account(ruled("census/alice", FilterRule::Basic, "0.25")).unwrap();
    let request = |key: &str| charge(key, &["census/alice"], &[epsilon("0.1")]);
    for admitted in [true, true, false] {
        let position = ledger.position();
        let quotes = [ledger.quote(&request("k")), place.reader().unwrap().quote(&request("k"))];
        assert_eq!(ledger.position(), position);
        for quote in quotes.map(Result::unwrap) {
            assert_eq!(quote.is_admitted(), admitted);
            assert_eq!(quote.accounts().len(), 2);
        }
        let quote = ledger.quote(&request("k")).unwrap();
        let outcome = ledger.charge(request(&position.sequence.to_string()));
        if !admitted {
            assert_eq!(quote.fits().unwrap(), refused(outcome).fits().unwrap());
            continue;
        }
        let fresh = charged(outcome);
        for (quoted, after) in quote.accounts().iter().zip(fresh.receipt().after()) {
            let quoted = quoted.after.as_ref().unwrap();
            assert_eq!(quoted.reading(), after.reading.map(|reading| reading.0));
            assert_eq!(quoted.left(), after.left.map(|left| left.0));
        }
    }
}

pub fn a_sequence_is_quoted_as_its_charges_would_be_decided_one_by_one(place: &Place) {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    ledger.open_account(ruled("census/alice", FilterRule::Basic, "0.5")).unwrap();
    ledger.open_account(reading("other")).unwrap();
    charged(ledger.charge(charge("before", &["census/alice"], &[epsilon("0.05")])));
    let repeated =
        |accounts: &[&str], costs: &[Cost], times| RepeatedCharge { charge: charge("k", accounts, costs), times };
    let charges = [
        // More costs than one charge may have.
        repeated(&["census/alice"], &[epsilon("0.001"), epsilon("0.001")], 100),
        repeated(&["census"], &[epsilon("0.1")], 1),
        repeated(&["census/alice"], &[epsilon("0.1")], 5),
    ];
    let position = ledger.position();
    let quotes =
        [ledger.quote_sequence(&charges), place.reader().unwrap().quote_sequence(&charges)].map(Result::unwrap);
    assert_eq!((ledger.position(), ledger.account(&name("census/alice")).unwrap().charges()), (position, 1));
    for quote in &quotes {
        let accounts = quote.accounts();
        assert_eq!(
            accounts.iter().map(|one| one.before.name().as_str()).collect::<Vec<_>>(),
            ["census", "census/alice"]
        );
        // Of 0.5, 0.05 was spent before and 0.2 by the first charge; two of five fit, and what census alone pays costs alice nothing.
        let RefusedInSequence { at, taken, .. } = *accounts[1].after.as_ref().unwrap_err();
        assert_eq!((at, taken, accounts[1].left.len()), (2, 2, 3));
        assert!((accounts[1].left[0].unwrap() - 0.5).abs() < 1e-9 && accounts[1].left[0] == accounts[1].left[1]);
        assert!((accounts[1].left[2].unwrap() - 0.1).abs() < 1e-9);
        assert!(accounts[0].after.is_ok() && !quote.is_admitted());
        assert_eq!((quote.largest_after(&epsilon("1")), accounts[1].costs(&charges).len()), (None, 205));
        // Without her account, nothing of it is known.
        let seen = quote.clone().seen_by(|name| name.as_str() == "census");
        assert!(seen.is_admitted() && seen.largest_after(&epsilon("1")).is_some());
    }
    // The same charges, made: what is left is the same, and so is the refusal.
    for at in 0..100 {
        charged(ledger.charge(charge(&format!("a{at}"), &["census/alice"], &[epsilon("0.001"), epsilon("0.001")])));
    }
    charged(ledger.charge(charge("b", &["census"], &[epsilon("0.1")])));
    let left = |account: &str| ledger.account(&name(account)).unwrap().left();
    for (account, quoted) in ["census", "census/alice"].into_iter().zip(quotes[0].accounts()) {
        assert_eq!(left(account), quoted.left[1], "{account}");
    }
    for at in 0..2 {
        charged(ledger.charge(charge(&format!("c{at}"), &["census/alice"], &[epsilon("0.1")])));
    }
    refused(ledger.charge(charge("c2", &["census/alice"], &[epsilon("0.1")])));
    // An account that only reads takes everything; one without a theorem is an error, also behind a refusal.
    let all = ledger.quote_sequence(&[repeated(&["other"], &[epsilon("9")], 1000)]).unwrap();
    assert!(all.is_admitted() && all.largest_after(&epsilon("1")).is_none());
    let unknown = [repeated(&["census/alice"], &[epsilon("9")], 1), repeated(&["census/alice"], &[gaussian("0.1")], 1)];
    check_input(ledger.quote_sequence(&unknown), &["census/alice", "no theorem"]);
    check_input(ledger.quote_sequence(&[repeated(&["nobody"], &[epsilon("1")], 1)]), &["nobody"]);
}

pub fn a_ledger_is_made_only_where_it_is_wished(place: &Place) {
    for _ in 0..2 {
        let error = place.open().err().expect("there is no ledger to open");
        check_message(&error, &["there is no ledger"]);
        assert!(place.reader().is_err());
        assert!(place.try_verify().is_err());
        assert!(!place.witness.exists());
    }
    place.create();
    place.open().unwrap();
    place.verify();
}

pub fn the_last_handle_to_go_answers_everybody_first(place: &Place) {
    let ledger = place.create_with(Options { queue: 4, ..place.options() });
    ledger.open_account(reading("census")).unwrap();
    let callers: Vec<_> = (0..16)
        .map(|at| {
            let ledger = ledger.clone();
            thread::spawn(move || {
                charged(ledger.charge(charge(&format!("k{at}"), &["census"], &[epsilon("0.1")])));
            })
        })
        .collect();
    drop(ledger);
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    assert_eq!(place.charged_keys().len(), 16);
    // Nobody holds the ledger any more.
    place.open().unwrap();
}
