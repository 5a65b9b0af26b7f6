//! Many callers at once: no overspending, nothing lost or doubled, nobody waits for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use taximeter_accounting::{Filter, FilterRule, Verdict};
use taximeter_ledger::{Error, ErrorKind, Event, Hash, Ledger, Location, Options, Outcome};

use super::place::*;

const THREADS: usize = 32;

/// Two trees whose leaves share their roots, under a rule that adds up and under the default.
fn with_forest(ledger: &Ledger) {
    ledger.open_account(ruled("census", FilterRule::Basic, "1")).unwrap();
    ledger.open_account(budgeted("survey", "0.2,1e-6")).unwrap();
    for leaf in ["census/a", "census/b", "census/c", "survey/a", "survey/b"] {
        ledger.open_account(ruled(leaf, FilterRule::Basic, "0.6")).unwrap();
    }
    ledger.open_account(reading("census/c/reading")).unwrap();
}

/// The account sets that the threads charge, each overlapping with others.
const SETS: [&[&str]; 7] = [
    &["census/a"],
    &["census/b", "survey/b"],
    &["census/a", "census/b"],
    &["survey/a", "census/c/reading"],
    &["survey/b", "survey/a"],
    &["census/c", "survey/a", "census/a"],
    &["census"],
];

pub fn thirty_two_threads_never_overspend_and_lose_or_double_nothing(place: &Place) {
    let ledger = place.create();
    with_forest(&ledger);
    let acknowledged = spend_all(vec![ledger.clone()]);
    check_spent(place, &ledger, &acknowledged);
}

pub fn a_second_writer_is_kept_out_or_shares_without_overspending(place: &Place) {
    let ledger = place.create();
    with_forest(&ledger);
    let second = Ledger::open(&place.location, Options { wait: Duration::from_millis(50), ..place.options() });
    if let Location::File(path) = &place.location {
        let error = second.err().expect("only one may write to a file");
        assert!(matches!(error.kind(), ErrorKind::Locked(_)), "{error}");
        check_message(&error, &["another process", path.to_str().unwrap()]);
        // The one that waits gets it when the first has gone.
        let waiting = thread::spawn({
            let (location, options) = (place.location.clone(), place.options());
            move || Ledger::open(&location, Options { wait: Duration::from_secs(60), ..options }).unwrap()
        });
        drop(ledger);
        charged(waiting.join().unwrap().charge(charge("k", &["census"], &[epsilon("0.1")])));
        return;
    }
    let mut ledgers = vec![ledger.clone(), second.unwrap()];
    ledgers.extend((0..2).map(|_| place.open().unwrap()));
    // A key that one of them used is known to all.
    let request = || charge("shared", &["census/a"], &[epsilon("0.01")]);
    let first = charged(ledgers[0].charge(request())).into_receipt();
    for other in &ledgers {
        assert_eq!(replayed(other.charge(request())), first);
    }
    let mut acknowledged = spend_all(ledgers);
    acknowledged.push(("shared".to_string(), first.hash()));
    check_spent(place, &ledger, &acknowledged);
}

/// Charges from all threads until everything is refused, and returns what was acknowledged.
fn spend_all(ledgers: Vec<Ledger>) -> Vec<(String, Hash)> {
    within_minutes(move || {
        let threads: Vec<_> = (0..THREADS)
            .map(|at| {
                let ledger = ledgers[at % ledgers.len()].clone();
                thread::spawn(move || spend(&ledger, at))
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

fn spend(ledger: &Ledger, thread: usize) -> Vec<(String, Hash)> {
    let (mut acknowledged, mut refusals) = (Vec::new(), 0);
    // Every set is asked until it is refused.
    while refusals < SETS.len() {
        let at = acknowledged.len() + refusals;
        let key = format!("{thread}-{at}");
        match ledger.charge(charge(&key, SETS[(thread + at) % SETS.len()], &[epsilon("0.01")])).unwrap() {
            Outcome::Charged(fresh) => acknowledged.push((key, fresh.receipt().hash())),
            Outcome::Refused(_) => refusals += 1,
            Outcome::Replayed(receipt) => panic!("{key} is new, but it was charged in {receipt:?}"),
        }
    }
    acknowledged
}

/// What was acknowledged is what is in the journal, and the rules alone come to the same.
fn check_spent(place: &Place, ledger: &Ledger, acknowledged: &[(String, Hash)]) {
    // Each acknowledged charge is in the journal once, and nothing else is.
    let journal = place.journal();
    let mut charges = BTreeMap::new();
    for record in &journal {
        if let Event::Charge(charge) = &record.event {
            let hash = Hash::of(record.line().as_bytes());
            assert!(charges.insert(charge.key().to_string(), hash).is_none(), "{} is there twice", charge.key());
        }
    }
    assert_eq!(acknowledged.iter().cloned().collect::<BTreeMap<_, _>>(), charges);
    assert_eq!(acknowledged.len(), charges.len());

    // The journal's order, decided again by the rules alone, admits every charge and leads to the same states.
    let mut filters: BTreeMap<String, Filter> = BTreeMap::new();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for record in &journal {
        match &record.event {
            Event::Open(spec) => {
                if let Some(filter) = &spec.filter {
                    filters.insert(spec.name.to_string(), Filter::new(filter.clone()).unwrap());
                }
            }
            Event::Charge(charge) => {
                let payers: BTreeSet<&str> = charge.accounts().iter().flat_map(|account| account.path()).collect();
                for payer in payers {
                    *counts.entry(payer.to_string()).or_default() += 1;
                    if let Some(filter) = filters.get_mut(payer) {
                        let verdict = filter.charge(&charge.costs()[0]).unwrap();
                        assert!(matches!(verdict, Verdict::Continue), "{payer} is overspent by {}", charge.key());
                    }
                }
            }
            _ => {}
        }
    }
    for account in place.reader().unwrap().accounts() {
        assert_eq!(account.filter(), filters.get(account.name().as_str()), "{}", account.name());
        assert_eq!(Some(&account.charges()), counts.get(account.name().as_str()), "{}", account.name());
    }
    // All threads asked until they were refused: what adds up to 1 in steps of 0.01 is used up to the last of them.
    assert!(matches!(ledger.charge(charge("more", &["census"], &[epsilon("1e-30")])), Ok(Outcome::Refused(_))));
    let census = ledger.account(&name("census")).unwrap();
    assert_eq!((census.charges(), census.filter().unwrap().spent().epsilon), (100, Some(epsilon("1").size())));
    place.verify();
}

pub fn readers_beside_the_writer_see_whole_states(place: &Place) {
    let ledger = place.create();
    with_forest(&ledger);
    ledger.open_account(reading("always")).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let looks = Arc::new(AtomicUsize::new(1));
    let writers: Vec<_> = (0..4)
        .map(|thread| {
            let (ledger, done, looks) = (ledger.clone(), Arc::clone(&done), Arc::clone(&looks));
            thread::spawn(move || {
                let mut at = 0;
                while !done.load(Ordering::Relaxed) {
                    // On a fast disk the journal would grow faster than it can be read.
                    if at >= 100 * looks.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(1));
                        continue;
                    }
                    charged(ledger.charge(charge(&format!("{thread}-{at}"), &["always"], &[epsilon("0.01")])));
                    at += 1;
                }
            })
        })
        .collect();
    let mut before = 0;
    for _ in 0..15 {
        let mut reader = place.reader().unwrap();
        let sequence = reader.position().sequence;
        assert!(sequence >= before, "record {before} was seen already, now {sequence} is the newest");
        before = sequence;
        let account = reader.account(&name("always")).unwrap().clone();
        // Nine records come before the first charge, and every charge is one.
        assert_eq!(account.charges(), sequence - 9);
        let history = reader.history(account.name(), None, usize::MAX).unwrap();
        assert_eq!(history.records.len() as u64, account.charges() + 1);
        let mut export = Vec::new();
        reader.export(&mut export, &mut |_, _| {}).unwrap();
        assert!(place.verify().head.sequence >= sequence);
        let ledger = ledger.reader().unwrap();
        assert!(ledger.position().sequence >= sequence);
        looks.fetch_add(1, Ordering::Relaxed);
    }
    done.store(true, Ordering::Relaxed);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
}

pub fn a_queue_with_room_for_one_serves_all_who_wait(place: &Place) {
    let ledger = place.create_with(Options { queue: 1, ..place.options() });
    ledger.open_account(reading("census")).unwrap();
    within_minutes(move || {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let ledger = ledger.clone();
                thread::spawn(move || {
                    for at in 0..4 {
                        charged(ledger.charge(charge(&format!("{thread}-{at}"), &["census"], &[epsilon("0.01")])));
                        assert!(ledger.waiting() <= 1);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(ledger.account(&name("census")).unwrap().charges(), 4 * THREADS as u64);
    });
    place.verify();
}

pub fn a_full_queue_is_busy_and_charges_nothing(place: &Place) {
    let ledger = place.create_with(Options { queue: 1, ..place.options() });
    ledger.open_account(reading("census")).unwrap();
    let handle = ledger.clone();
    let (charged_keys, busy_keys) = within_minutes(move || {
        // All ask until one was refused.
        let turned_away = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (ledger, turned_away) = (handle.clone(), Arc::clone(&turned_away));
                thread::spawn(move || {
                    let (mut made, mut busy) = (BTreeSet::new(), BTreeSet::new());
                    for at in 0.. {
                        let key = format!("{thread}-{at}");
                        match ledger.try_charge(charge(&key, &["census"], &[epsilon("0.01")])) {
                            Ok(Outcome::Charged(_)) => made.insert(key),
                            Err(error) => {
                                assert!(error.is_busy() && !error.is_input(), "{error}");
                                check_message(&error, &["nothing was charged", "try again"]);
                                turned_away.fetch_add(1, Ordering::Relaxed);
                                busy.insert(key)
                            }
                            other => panic!("{other:?}"),
                        };
                        if turned_away.load(Ordering::Relaxed) > 0 && at > 10 {
                            break;
                        }
                    }
                    (made, busy)
                })
            })
            .collect();
        let (mut made, mut busy) = (BTreeSet::new(), BTreeSet::new());
        for thread in threads {
            let (more, turned_away) = thread.join().unwrap();
            made.extend(more);
            busy.extend(turned_away);
        }
        (made, busy)
    });
    assert_eq!(place.charged_keys().into_iter().collect::<BTreeSet<_>>(), charged_keys);
    let again = busy_keys.first().expect("the queue was never full");
    charged(ledger.charge(charge(again, &["census"], &[epsilon("0.01")])));
    place.verify();
}

pub fn tasks_are_served_without_a_thread_each(place: &Place) {
    for queue in [1, 4096] {
        let place = place.another();
        let ledger = place.create_with(Options { queue, ..place.options() });
        ledger.open_account(ruled("census", FilterRule::Basic, "1")).unwrap();
        let handle = ledger.clone();
        let outcomes = within_minutes(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let ask = |at| handle.charge_async(charge(&format!("k{}", at % 150), &["census"], &[epsilon("0.01")]));
                let tasks: Vec<_> = (0..300).map(|at| tokio::spawn(ask(at))).collect();
                let mut outcomes = Vec::new();
                for task in tasks {
                    outcomes.push(task.await.unwrap());
                }
                outcomes
            })
        });
        let (mut fresh, mut again, mut refusals) = (0, 0, 0);
        for outcome in outcomes {
            match outcome.unwrap() {
                Outcome::Charged(_) => fresh += 1,
                Outcome::Replayed(_) => again += 1,
                Outcome::Refused(_) => refusals += 1,
            }
        }
        // A hundred keys fit and each was asked for twice; a refused key is refused again.
        assert_eq!((fresh, again, refusals), (100, 100, 100), "with room for {queue}");
        drop(ledger);
        place.verify();
    }
}

pub fn a_dropped_future_is_charged_once_or_not_at_all(place: &Place) {
    let ledger = place.create_with(Options { queue: 1, ..place.options() });
    ledger.open_account(reading("census")).unwrap();
    let ask = |at: usize| ledger.charge_async(charge(&format!("k{at}"), &["census"], &[epsilon("0.01")]));
    for at in 0..40 {
        let mut future = pin!(ask(at));
        if at % 2 == 0 {
            // It gets into the queue, or waits for room there, and then nobody is interested any more.
            let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
    }
    let outcomes: Result<Vec<_>, Error> =
        (0..40).map(|at| ledger.charge(charge(&format!("k{at}"), &["census"], &[epsilon("0.01")]))).collect();
    for (at, outcome) in outcomes.unwrap().iter().enumerate() {
        let was_asked = at % 2 == 0;
        assert!(matches!(outcome, Outcome::Charged(_)) || was_asked && matches!(outcome, Outcome::Replayed(_)));
    }
    assert_eq!(ledger.account(&name("census")).unwrap().charges(), 40);
    place.verify();
}
