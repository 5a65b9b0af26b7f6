//! A ledger that several processes share, on a server that cuts connections and crashes.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_ledger::{
    AccountName, AccountSpec, Charge, Error, Key, Ledger, LedgerReader, Location, Options, Outcome, Privacy, verify,
};
use taximeter_testing::{PrivatePostgres, query, wait_until};

/// Each ledger has a connection and a writer of its own, as if it were another process.
fn open(url: &str, folder: &Path) -> Result<Ledger, Error> {
    let witness = Some(folder.join("witness"));
    Ledger::open(&Location::parse(url)?, Options { create: true, witness, ..Options::default() })
}

fn census() -> AccountName {
    AccountName::parse("census").unwrap()
}

/// A new ledger with one account.
fn open_with_account(url: &str, folder: &Path, budget: &str) -> Ledger {
    let ledger = open(url, folder).unwrap();
    open_account(&ledger, census(), budget);
    ledger
}

fn open_account(ledger: &Ledger, name: AccountName, budget: &str) {
    let budget = Budget::parse(budget).unwrap();
    let opened = ledger.open_account(AccountSpec {
        name,
        privacy: Privacy::default(),
        filter: Some(FilterSpec::new(FilterRule::Basic, budget)),
        odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
    });
    opened.unwrap();
}

fn charge(key: &str) -> Charge {
    let cost = Cost::parse_epsilon("0.1").unwrap().cost;
    Charge::new(Key::parse("key", key).unwrap(), vec![census()], vec![cost]).unwrap()
}

fn verified_charges(url: &str, folder: &Path) -> u64 {
    let witness = folder.join("witness");
    verify(&Location::parse(url).unwrap(), Some(&witness), &mut |_, _| {}).unwrap();
    open(url, folder).unwrap().account(&census()).unwrap().charges()
}

#[test]
fn several_ledgers_spend_one_budget_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = PrivatePostgres::shared().new_database().unwrap();
    let first = open_with_account(&url, folder.path(), "1,1e-6");
    let ledgers: Vec<Ledger> = (0..3).map(|_| open(&url, folder.path()).unwrap()).chain([first]).collect();
    let charged: usize = thread::scope(|scope| {
        let work = |at: usize, ledger: &Ledger| {
            let is_charged =
                |turn: &usize| matches!(ledger.charge(charge(&format!("{at} {turn}"))), Ok(Outcome::Charged(_)));
            (0..10).filter(is_charged).count()
        };
        let threads: Vec<_> =
            ledgers.iter().enumerate().map(|(at, ledger)| scope.spawn(move || work(at, ledger))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(charged, 10);
    drop(ledgers);
    assert_eq!(verified_charges(&url, folder.path()), 10);
}

#[test]
fn a_ledger_is_charged_over_tls_and_recovers_from_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let server = PrivatePostgres::start_with_tls().unwrap();
    let plain = server.new_database().unwrap();
    let url = format!("{plain}?sslmode=verify-full&sslrootcert={}", server.root_certificate().display());
    let ledger = open_with_account(&url, folder.path(), "1,1e-6");
    assert!(matches!(ledger.charge(charge("one")), Ok(Outcome::Charged(_))));
    server.stop_immediate().unwrap();
    server.start_again().unwrap();
    wait_until("it is charged again", || ledger.charge(charge("two")).is_ok());
    let connections = "SELECT bool_and(ssl), count(*) > 0 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                       WHERE datname = current_database() AND application_name = 'taximeter'";
    assert_eq!(query(&plain, connections).unwrap(), "t|t", "every connection is encrypted");
    drop(ledger);
    assert_eq!(verified_charges(&url, folder.path()), 2);
}

#[test]
fn a_key_that_another_process_used_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let url = PrivatePostgres::shared().new_database().unwrap();
    let first = open_with_account(&url, folder.path(), "100,1e-6");
    let second = open(&url, folder.path()).unwrap();
    let Outcome::Charged(fresh) = first.charge(charge("one")).unwrap() else { panic!("not charged") };
    for ledger in [&second, &first] {
        let Outcome::Replayed(receipt) = ledger.charge(charge("one")).unwrap() else { panic!("charged twice") };
        assert_eq!(receipt, *fresh.receipt());
    }
    // All at once, each key from both sides: one of them is first.
    let fresh: usize = thread::scope(|scope| {
        let work = |ledger: &Ledger| {
            let is_fresh =
                |at: &usize| matches!(ledger.charge(charge(&format!("both {at}"))).unwrap(), Outcome::Charged(_));
            (0..50).filter(is_fresh).count()
        };
        let threads: Vec<_> = [&first, &second].map(|ledger| scope.spawn(move || work(ledger))).into();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(fresh, 50);
    drop((first, second));
    assert_eq!(verified_charges(&url, folder.path()), 51);
}

#[test]
fn what_was_decided_ahead_is_decided_again_when_another_process_came_between() {
    let folder = tempfile::tempdir().unwrap();
    let url = PrivatePostgres::shared().new_database().unwrap();
    let first = open_with_account(&url, folder.path(), "10,1e-6");
    let survey = AccountName::parse("survey").unwrap();
    open_account(&first, survey.clone(), "10,1e-6");
    let second = open(&url, folder.path()).unwrap();
    let is_charged = |ledger: &Ledger, key: &str| match ledger.charge(charge(key)).unwrap() {
        Outcome::Charged(_) => true,
        Outcome::Refused(_) => false,
        Outcome::Replayed(_) => panic!("{key} was charged before"),
    };
    // Alone for long enough to expect to be alone.
    let alone =
        |ledger: &Ledger, name: &str| (0..20).for_each(|at| assert!(is_charged(ledger, &format!("{name} {at}"))));
    alone(&first, "first");
    // Decided ahead, as another charge than the one that took its place in the journal.
    assert!(is_charged(&second, "between"));
    assert!(is_charged(&first, "after"));
    alone(&first, "again");
    // Decided ahead as a new charge, though the other process has used the key.
    assert!(is_charged(&second, "both"));
    assert!(matches!(first.charge(charge("both")).unwrap(), Outcome::Replayed(_)));
    alone(&first, "once more");
    // Decided ahead as a charge, though the key is now another request's: the account is left as if nothing had been decided.
    let cost = Cost::parse_epsilon("0.1").unwrap().cost;
    let elsewhere = Charge::new(Key::parse("key", "elsewhere").unwrap(), vec![survey], vec![cost]).unwrap();
    assert!(matches!(second.charge(elsewhere).unwrap(), Outcome::Charged(_)));
    assert!(first.charge(charge("elsewhere")).unwrap_err().is_key_taken());
    alone(&first, "at last");
    // Decided ahead as one that fits, though the other process has spent what is left.
    let rest = (0..).take_while(|at| is_charged(&second, &format!("rest {at}"))).count();
    assert_eq!(rest, 100 - 83);
    assert!(!is_charged(&first, "too late"));
    assert_eq!(first.account(&census()).unwrap(), second.account(&census()).unwrap());
    drop((first, second));
    assert_eq!(verified_charges(&url, folder.path()), 100);
}

#[test]
fn what_another_process_charged_is_read_after_a_refresh() {
    let folder = tempfile::tempdir().unwrap();
    let url = PrivatePostgres::shared().new_database().unwrap();
    let first = open_with_account(&url, folder.path(), "100,1e-6");
    let second = open(&url, folder.path()).unwrap();
    let read = || (second.account(&census()).unwrap(), second.position());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let refreshes: [&dyn Fn(); 2] =
        [&|| second.refresh().unwrap(), &|| runtime.block_on(second.refresh_async()).unwrap()];
    for (at, refresh) in refreshes.into_iter().enumerate() {
        let (stale, key) = (read(), format!("k{at}"));
        let Outcome::Charged(fresh) = first.charge(charge(&key)).unwrap() else { panic!("not charged") };
        assert_eq!(read(), stale);
        assert_eq!(second.receipt_of(&Key::parse("key", &key).unwrap()).unwrap(), None);
        refresh();
        assert_eq!(read(), (first.account(&census()).unwrap(), first.position()));
        assert_eq!(second.changed_since(stale.1.sequence), [first.account(&census()).unwrap()]);
        assert_eq!(second.receipt_of(&Key::parse("key", &key).unwrap()).unwrap().as_ref(), Some(fresh.receipt()));
    }
    assert_eq!((second.charges(), second.commits()), (0, 0));
}

/// The process that charged may have ended before its own witness knew, and another one shows the receipt.
#[test]
fn the_witness_of_who_shows_a_receipt_knows_the_record() {
    let [folder, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let url = PrivatePostgres::shared().new_database().unwrap();
    let first = open_with_account(&url, folder.path(), "100,1e-6");
    std::fs::copy(folder.path().join("witness"), other.path().join("witness")).unwrap();
    let second = open(&url, other.path()).unwrap();
    let known = || {
        let location = Location::parse(&url).unwrap();
        LedgerReader::open(&location, Some(&other.path().join("witness"))).unwrap().witness().1.sequence
    };
    let before = known();
    let Outcome::Charged(fresh) = first.charge(charge("one")).unwrap() else { panic!("not charged") };
    let sequence = fresh.receipt().sequence();
    second.refresh().unwrap();
    assert_eq!((known(), second.position().sequence), (before, sequence), "what is only read need not be known");
    assert!(second.receipt(sequence).unwrap().is_some());
    assert_eq!(known(), sequence);
}

/// Executes a statement in a transaction that stays open until [`LET_GO`] is executed, or for five minutes if the test fails.
fn hold(url: &str, statement: &str) {
    query(url, "CREATE TABLE public.let_go (now bool)").unwrap();
    let wait = "FOR at IN 1..3000 LOOP EXIT WHEN EXISTS (SELECT FROM public.let_go); PERFORM pg_sleep(0.1); END LOOP";
    query(url, &format!("DO $$ BEGIN {statement}; {wait}; END $$")).unwrap();
}

const LET_GO: &str = "INSERT INTO public.let_go VALUES (true)";

/// Connections that [`hold`] something, and those that wait for it.
const HOLDS: &str = "wait_event = 'PgSleep'";
const WAITS: &str = "wait_event_type = 'Lock'";

/// How many other connections to a database meet a condition.
fn others(url: &str, condition: &str) -> String {
    query(url, &format!("SELECT count(*) {OTHERS} AND {condition}")).unwrap()
}

/// Cuts the other connections that meet a condition.
fn cut(url: &str, condition: &str) {
    query(url, &format!("SELECT pg_terminate_backend(pid) {OTHERS} AND {condition}")).unwrap();
}

const OTHERS: &str = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

#[test]
fn a_connection_that_is_cut_once_more_while_it_is_checked_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let url = PrivatePostgres::shared().new_database().unwrap();
    let ledger = open_with_account(&url, folder.path(), "100,1e-6");
    cut(&url, "true");
    thread::scope(|scope| {
        scope.spawn(|| hold(&url, "LOCK TABLE taximeter.journal"));
        wait_until("the journal is held", || others(&url, HOLDS) == "1");
        let charging = scope.spawn(|| ledger.charge(charge("k")));
        wait_until("the journal is looked at", || others(&url, WAITS) == "1");
        cut(&url, WAITS);
        query(&url, LET_GO).unwrap();
        let outcome = charging.join().unwrap();
        assert!(matches!(outcome, Ok(Outcome::Charged(_))), "{outcome:?}");
    });
}

#[test]
fn refreshes_that_wait_together_cost_one_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let url = PrivatePostgres::shared().new_database().unwrap();
    let ledger = open_with_account(&url, folder.path(), "100,1e-6");
    // Another process writes meanwhile, so that the first refresh waits, and the others behind it.
    thread::scope(|scope| {
        scope.spawn(|| hold(&url, "PERFORM FROM taximeter.head FOR UPDATE"));
        wait_until("the lock is held", || others(&url, HOLDS) == "1");
        scope.spawn(|| ledger.refresh().unwrap());
        wait_until("a refresh waits for the lock", || others(&url, WAITS) == "1");
        for _ in 0..99 {
            scope.spawn(|| ledger.refresh().unwrap());
        }
        wait_until("the others wait behind it", || ledger.waiting() == 99);
        query(&url, LET_GO).unwrap();
    });
    drop(ledger);
    // The server counts when a connection has gone.
    wait_until("the connections have gone", || others(&url, "true") == "0");
    let rolled_back = "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    let mut counted = 0;
    wait_until("it is counted", || {
        counted = query(&url, rolled_back).unwrap().parse().unwrap();
        counted > 0
    });
    assert!(counted < 10, "{counted}");
}

#[test]
fn a_look_at_the_journal_outlives_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let url = PrivatePostgres::shared().new_database().unwrap();
    let ledger = open_with_account(&url, folder.path(), "100,1e-6");
    for _ in 0..2 {
        assert_eq!(ledger.history(&census(), None, 10).unwrap().records.len(), 1);
        cut(&url, "true");
    }
}

#[test]
fn a_ledger_that_stopped_says_so_and_reads_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let url = PrivatePostgres::shared().new_database().unwrap();
    let ledger = open_with_account(&url, folder.path(), "100,1e-6");
    assert!(ledger.is_running() && ledger.cause().is_none());
    query(
        &url,
        "UPDATE taximeter.head SET sequence = 0, hash = (SELECT hash FROM taximeter.journal WHERE sequence = 0)",
    )
    .unwrap();
    for _ in 0..2 {
        let error = ledger.refresh().unwrap_err();
        assert!(error.is_stopped() && error.to_string().contains("an old copy was restored"), "{error}");
    }
    assert!(!ledger.is_running());
    assert!(ledger.cause().unwrap().to_string().contains("an old copy was restored"));
    assert!(ledger.charge(charge("k")).unwrap_err().is_stopped());
    // Looking keeps no connection any more, and still works.
    assert_eq!(ledger.history(&census(), None, 10).unwrap().records.len(), 1);
}

/// Charges each key until it has an answer, and says how often one was fresh.
fn charge_all(ledger: &Ledger, keys: usize, name: &str) -> usize {
    let mut fresh = 0;
    for at in 0..keys {
        let answered = (0..100).find_map(|_| match ledger.charge(charge(&format!("{name} {at}"))) {
            Ok(outcome) => Some(outcome),
            Err(error) => {
                assert!(!error.is_stopped() && !error.is_integrity(), "{error}");
                None
            }
        });
        match answered.expect("an answer at last") {
            Outcome::Charged(_) => fresh += 1,
            Outcome::Replayed(_) => {}
            Outcome::Refused(_) => panic!("refused"),
        }
    }
    fresh
}

/// Waits for one more charge, and says whether there are more to come. A ledger whose connection is cut again and again before it works
/// gives up after a while.
fn is_charged_again(ledger: &Ledger, charging: &thread::ScopedJoinHandle<'_, usize>) -> bool {
    let before = ledger.charges();
    wait_until("one more charge is made", || ledger.charges() > before || charging.is_finished());
    !charging.is_finished()
}

#[test]
fn connections_that_are_cut_at_any_moment_lose_and_double_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let url = PrivatePostgres::shared().new_database().unwrap();
    let ledger = open_with_account(&url, folder.path(), "10000,1e-6");
    thread::scope(|scope| {
        let charging = scope.spawn(|| charge_all(&ledger, 300, "cut"));
        while is_charged_again(&ledger, &charging) {
            cut(&url, "true");
        }
        // The ledger found out by itself what came of every commit that got no answer.
        assert_eq!(charging.join().unwrap(), 300);
    });
    drop(ledger);
    assert_eq!(verified_charges(&url, folder.path()), 300);
}

#[test]
fn a_server_that_crashes_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let server = PrivatePostgres::start().unwrap();
    let url = server.new_database().unwrap();
    let ledger = open_with_account(&url, folder.path(), "10000,1e-6");
    thread::scope(|scope| {
        let charging = scope.spawn(|| charge_all(&ledger, 300, "crash"));
        for _ in 0..3 {
            assert!(is_charged_again(&ledger, &charging), "there was nothing left to lose");
            server.stop_immediate().unwrap();
            server.start_again().unwrap();
        }
        assert_eq!(charging.join().unwrap(), 300);
    });
    drop(ledger);
    assert_eq!(verified_charges(&url, folder.path()), 300);
}

/// How long a request may be held by a database that does not answer, and how long until a ledger says that it is not ready. The
/// machine may be slow.
const HELD: Duration = Duration::from_secs(40);
const NOT_READY: Duration = Duration::from_secs(4);

/// Once a server that was away for half a minute stopped the ledger for good.
#[test]
fn a_ledger_goes_on_by_itself_after_an_outage_however_long() {
    let folder = tempfile::tempdir().unwrap();
    let server = PrivatePostgres::start().unwrap();
    let url = server.new_database().unwrap();
    let ledger = open_with_account(&url, folder.path(), "10000,1e-6");
    assert!(matches!(ledger.charge(charge("before")).unwrap(), Outcome::Charged(_)));
    ledger.health().unwrap();
    server.stop_immediate().unwrap();
    let stopped = Instant::now();
    wait_until("it is not ready", || ledger.health().is_err());
    assert!(stopped.elapsed() < NOT_READY, "{:?}", stopped.elapsed());
    // Nothing is in doubt, so those who ask are told that nothing was charged: the first one after a while, the others soon.
    let outage = Instant::now();
    let mut answers = 0;
    while outage.elapsed() < Duration::from_secs(35) {
        let asked = Instant::now();
        let error = ledger.charge(charge(&format!("during {answers}"))).unwrap_err();
        assert!(error.is_busy() && error.to_string().contains("othing was charged"), "{error}");
        assert!(asked.elapsed() < HELD, "{:?}", asked.elapsed());
        answers += 1;
    }
    assert!(answers > 2, "{answers}");
    assert!(ledger.is_running() && ledger.health().unwrap_err().is_busy());
    server.start_again().unwrap();
    wait_until("it goes on", || {
        matches!(ledger.charge(charge("after")), Ok(Outcome::Charged(_) | Outcome::Replayed(_)))
    });
    wait_until("it is ready", || ledger.health().is_ok());
    drop(ledger);
    assert_eq!(verified_charges(&url, folder.path()), 2);
}

/// Sends a signal to the processes that serve a database, and to the one that would start others.
fn signal_all(signal: &str, processes: &[String]) {
    assert!(Command::new("kill").arg(signal).args(processes).status().unwrap().success());
}

/// Once a server that hung held requests for minutes.
#[test]
fn a_database_that_hangs_holds_nobody_for_long_and_what_was_in_doubt_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = PrivatePostgres::start().unwrap();
    let url = server.new_database().unwrap();
    let ledger = open_with_account(&url, folder.path(), "10000,1e-6");
    let directory = query(&url, "SHOW data_directory").unwrap();
    let postmaster = std::fs::read_to_string(format!("{directory}/postmaster.pid")).unwrap();
    let postmaster = postmaster.lines().next().unwrap().to_string();
    for round in 0..2 {
        let backends = query(&url, &format!("SELECT string_agg(pid::text, ' ') {OTHERS}")).unwrap();
        let processes: Vec<String> =
            [&*postmaster].into_iter().chain(backends.split(' ')).map(str::to_string).collect();
        let key = |at: u64| format!("{round} {at}");
        let unanswered = thread::scope(|scope| {
            // Charges go on until one of them is held.
            let charging = scope.spawn(|| {
                let mut at = 0;
                loop {
                    let asked = Instant::now();
                    if let Err(error) = ledger.charge(charge(&key(at))) {
                        return (at, error, asked.elapsed());
                    }
                    at += 1;
                }
            });
            let before = ledger.charges();
            wait_until("charges are made", || ledger.charges() > before + 20 + round);
            signal_all("-STOP", &processes);
            let stopped = Instant::now();
            wait_until("it is not ready", || ledger.health().is_err());
            assert!(stopped.elapsed() < NOT_READY, "{:?}", stopped.elapsed());
            let (at, error, held) = charging.join().unwrap();
            assert!(held < HELD, "{held:?}");
            assert!(error.is_busy() || error.is_unknown_outcome(), "{error}");
            assert!(ledger.is_running());
            at
        });
        signal_all("-CONT", &processes);
        // The same key tells what came of it, and nothing is charged twice.
        wait_until("it goes on", || ledger.charge(charge(&key(unanswered))).is_ok());
        let account = ledger.account(&census()).unwrap();
        assert!(matches!(ledger.charge(charge(&key(unanswered))), Ok(Outcome::Replayed(_))));
        assert_eq!(ledger.account(&census()).unwrap(), account);
        wait_until("it is ready", || ledger.health().is_ok());
    }
    let charges = ledger.account(&census()).unwrap().charges();
    drop(ledger);
    assert_eq!(verified_charges(&url, folder.path()), charges);
}

#[test]
fn a_place_is_shown_without_its_password() {
    let location = Location::parse("postgres://ann:secret@db.example.org/books?sslmode=disable").unwrap();
    for shown in [location.to_string(), format!("{location:?}")] {
        assert_eq!(shown, "postgres://ann@db.example.org/books");
    }
}
