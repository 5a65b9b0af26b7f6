pub(super) mod support;

use std::sync::Barrier;
use std::thread;

use rusqlite::Connection;
use support::*;
use taximeter_accounting::FilterRule;
use taximeter_gate::Gate;
use taximeter_testing::wait_until;
use tokio::runtime::Runtime;

use super::*;
use crate::{Log, LogForm, Settings, TokenPlace, Tokens};

/// Follows closely, and not for long.
fn quick(patience: Duration) -> Timelines {
    let (pause, retry) = (Duration::from_millis(5), Duration::from_millis(20));
    let tempo = Tempo { batch: 3, pause, retry, patience };
    Timelines { shared: Arc::new(Shared { tempo, ..Shared::default() }) }
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A ledger with an account that was charged the given number of times.
fn charged(place: &Place, charges: usize) -> Ledger {
    let ledger = place.open();
    ledger.open_account(spec("census", Some((FilterRule::Basic, "1")))).unwrap();
    charge_more(&ledger, charges);
    ledger
}

fn charge_more(ledger: &Ledger, charges: usize) {
    for _ in 0..charges {
        charge(ledger, &["census"], "0.01", Some("alice"));
    }
}

/// How many charges are known.
fn charges(timelines: &Timelines) -> u64 {
    timelines.timeline(&name("census")).and_then(|timeline| timeline.newest().copied()).map_or(0, |point| point.charges)
}

fn is_followed(timelines: &Timelines) -> bool {
    timelines.shared.watch().follower.as_ref().is_some_and(|follower| !follower.is_finished())
}

#[test]
fn charges_made_after_the_first_pass_appear() {
    let (place, runtime, timelines) = (Place::new(), runtime(), quick(LONG));
    let ledger = charged(&place, 10);
    assert!(timelines.timeline(&name("census")).is_none() && timelines.progress() == (0, 0));
    let inside = runtime.enter();
    timelines.follow(&ledger, std::future::pending());
    assert_eq!(timelines.progress().1, 12, "how much there is to read is known at once");
    wait_until("all is read", || timelines.progress() == (12, 12));
    let before = timeline(&timelines, "census");
    for more in 1..=3 {
        charge_more(&ledger, 7);
        wait_until("what was charged is read", || charges(&timelines) == 10 + 7 * more);
    }
    assert_eq!(before.newest().unwrap().charges, 10, "a page sees one moment");
    assert!(is_followed(&timelines) && timelines.problem().is_none());
    drop(inside);
}

#[test]
fn it_stops_without_pages_and_goes_on_with_the_next_page() {
    let (place, runtime, timelines) = (Place::new(), runtime(), quick(SHORT));
    let ledger = charged(&place, 10);
    let _inside = runtime.enter();
    for round in 0..3 {
        timelines.follow(&ledger, std::future::pending());
        wait_until("all is read", || charges(&timelines) == 10 + round * 5);
        wait_until("no follower is left", || !is_followed(&timelines));
        charge_more(&ledger, 5);
        // Several times as long as following would have taken.
        thread::sleep(SHORT);
        assert_eq!(charges(&timelines), 10 + round * 5, "no page was loaded");
    }
}

#[test]
fn a_page_that_reloads_keeps_it_going() {
    let (place, runtime, timelines) = (Place::new(), runtime(), quick(LONG));
    let ledger = charged(&place, 1);
    let _inside = runtime.enter();
    let mut looked = Vec::new();
    for _ in 0..3 {
        timelines.follow(&ledger, std::future::pending());
        let watch = timelines.shared.watch();
        looked.push((watch.follower.as_ref().map(AbortHandle::id), watch.looked));
    }
    assert!(looked.is_sorted_by(|one, next| one.0 == next.0 && one.1 < next.1), "{looked:?}");
    assert!(!timelines.shared.is_over() && is_followed(&timelines));

    let impatient = quick(Duration::ZERO);
    let going = tokio::spawn(std::future::pending::<()>()).abort_handle();
    *impatient.shared.watch() = Watch { looked: Some(Instant::now()), follower: Some(going) };
    assert!(impatient.shared.is_over());
    assert!(!is_followed(&impatient), "the next page starts another task, even if the old one has not quite ended");
}

#[test]
fn of_many_who_look_at_the_same_time_one_has_it_followed() {
    let (place, runtime, timelines) = (Place::new(), runtime(), quick(LONG));
    let ledger = charged(&place, 1);
    let start = Barrier::new(8);
    let followers: Vec<_> = thread::scope(|scope| {
        let look = || {
            let _inside = runtime.enter();
            start.wait();
            timelines.follow(&ledger, std::future::pending());
            timelines.shared.watch().follower.as_ref().map(AbortHandle::id)
        };
        let looking: Vec<_> = (0..8).map(|_| scope.spawn(look)).collect();
        looking.into_iter().map(|looks| looks.join().unwrap()).collect()
    });
    assert!(followers[0].is_some() && followers.iter().all(|follower| *follower == followers[0]), "{followers:?}");
}

#[test]
fn a_journal_that_cannot_be_read_is_told_and_tried_again() {
    let (place, runtime, timelines) = (Place::new(), runtime(), quick(LONG));
    let ledger = charged(&place, 10);
    let tables = Connection::open(place.file()).unwrap();
    let write = |line: &str| tables.execute("UPDATE journal SET line = ?1 WHERE sequence = 7", [line]).unwrap();
    let line: String = tables.query_row("SELECT line FROM journal WHERE sequence = 7", [], |row| row.get(0)).unwrap();
    write(&line.replace("alice", "alicE"));
    let _inside = runtime.enter();
    timelines.follow(&ledger, std::future::pending());
    wait_until("it is told", || timelines.problem().is_some_and(|problem| problem.starts_with("record 7: ")));
    assert_eq!(timelines.progress(), (6, 12), "what came before is known");
    assert_eq!(charges(&timelines), 4);
    assert!(is_followed(&timelines));
    write(&line);
    wait_until("the rest is read", || charges(&timelines) == 10);
    wait_until("the problem is over", || timelines.problem().is_none());
}

#[test]
fn what_is_read_does_not_depend_on_who_reads_and_how() {
    let place = Place::new();
    let ledger = charged(&place, 20);
    ledger.open_account(spec("late", None)).unwrap();
    charge(&ledger, &["census", "late"], "0.02", None);
    let expected = read(&ledger, 1000);
    let check = |timelines: &Timelines, what: &str| {
        for account in ["census", "late"] {
            let (one, other) = (timeline(&expected, account), timeline(timelines, account));
            assert_eq!(one.curve().points(), other.curve().points(), "{what}");
            assert_eq!(one.spenders().by_budget(), other.spenders().by_budget(), "{what}");
        }
    };
    for batch in [1, 2, 7, 23, 24, 25] {
        check(&read(&ledger, batch), &format!("{batch} at a time"));
    }
    // Two tasks that were told to stop may still read next to a third.
    let timelines = quick(LONG);
    let start = Barrier::new(3);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                start.wait();
                while !timelines.shared.read(&ledger).unwrap() {}
            });
        }
    });
    check(&timelines, "three at once");
    assert_eq!(timelines.progress(), (24, 24));
}

/// A server without a listener.
fn service(place: &Place, ledger: Ledger, runtime: &Runtime) -> Arc<Service> {
    let tokens = Tokens::open(&TokenPlace::of(&place.location()), ledger.id()).unwrap();
    let gate = Gate::open(&place.gate(), ledger).unwrap();
    let _inside = runtime.enter();
    Service::new(gate, tokens, Log::new(LogForm::Off), Settings::default()).unwrap()
}

/// Makes a server follow the journal, ends it in the given way, and checks that nothing of it is left.
fn check_end(end: impl FnOnce(Arc<Service>)) {
    let (place, runtime) = (Place::new(), runtime());
    let service = service(&place, charged(&place, 10), &runtime);
    let _inside = runtime.enter();
    service.follow_journal();
    wait_until("all is read", || charges(&service.timelines) == 10);
    assert!(is_followed(&service.timelines));
    assert_eq!(Arc::strong_count(&service), 1, "no task holds the service");
    let shared = Arc::clone(&service.timelines.shared);
    end(service);
    wait_until("the timelines have no other holder", || Arc::strong_count(&shared) == 1);
    place.open();
}

#[test]
fn following_ends_with_the_server() {
    check_end(|service| {
        service.end();
        wait_until("there is no follower", || !is_followed(&service.timelines));
        service.follow_journal();
        assert!(!is_followed(&service.timelines), "no task starts after shutdown");
    });
}

#[test]
fn following_ends_when_the_server_is_gone() {
    check_end(drop);
}
