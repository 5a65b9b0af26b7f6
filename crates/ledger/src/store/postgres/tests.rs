//! On a server of its own: what PostgreSQL does that a file does not.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_testing::{PATIENCE, PrivatePostgres, query, wait_until};

use super::*;
use crate::account::{AccountSpec, Privacy};
use crate::books::{Books, Changes, Draft};
use crate::charge::{Charge, PreparedCharge};
use crate::hash::StateTree;
use crate::journal::LedgerOrigin;
use crate::name::{AccountName, Key};

const CREATE: Access = Access::Write { create: true, wait: Duration::ZERO };
const WRITE: Access = Access::Write { create: false, wait: Duration::ZERO };

/// Makes changes to write: a ledger, then an account, then charges.
struct Bookkeeper {
    books: Books,
    tree: StateTree,
}

impl Bookkeeper {
    /// Makes a ledger with an account.
    fn found(store: &mut PostgresStore) -> Bookkeeper {
        assert_eq!(store.begin().unwrap(), None);
        let (books, tree, changes) = Books::create(LedgerOrigin::generate().unwrap(), Timestamp::UNIX_EPOCH);
        store.write(&changes).unwrap();
        store.commit().unwrap();
        let mut bookkeeper = Bookkeeper { books, tree };
        let budget = Budget::parse("1,1e-6").unwrap();
        let spec = AccountSpec {
            name: AccountName::parse("census").unwrap(),
            privacy: Privacy::default(),
            filter: Some(FilterSpec::new(FilterRule::Residue, budget)),
            odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
        };
        let changes = bookkeeper.draft(|draft| drop(draft.open(spec).unwrap()));
        bookkeeper.commit(store, changes);
        bookkeeper
    }

    fn draft(&mut self, work: impl FnOnce(&mut Draft<'_>)) -> Changes {
        let mut draft = Draft::new(&self.books, &mut self.tree, Timestamp::UNIX_EPOCH);
        work(&mut draft);
        draft.finish()
    }

    fn charges(&mut self, keys: &[&str]) -> Changes {
        let prepared = |key: &&str| {
            let accounts = vec![AccountName::parse("census").unwrap()];
            let cost = Cost::parse_epsilon("0.0001").unwrap().cost;
            PreparedCharge::new(Charge::new(Key::parse("key", key).unwrap(), accounts, vec![cost]).unwrap())
        };
        let prepared: Vec<PreparedCharge> = keys.iter().map(prepared).collect();
        self.draft(|draft| prepared.iter().for_each(|charge| drop(draft.charge(charge).unwrap())))
    }

    fn commit(&mut self, store: &mut PostgresStore, changes: Changes) {
        assert_eq!(store.begin().unwrap(), Some(self.books.head()));
        store.write(&changes).unwrap();
        store.commit().unwrap();
        self.books.adopt(changes);
    }
}

fn new_database() -> String {
    PrivatePostgres::shared().new_database().unwrap()
}

fn execute(store: &PostgresStore, statements: &str) -> Result<(), tokio_postgres::Error> {
    store.runtime.block_on(store.session.as_ref().unwrap().client.batch_execute(statements))
}

/// Ends the server's side of a connection, and waits until it is gone.
fn terminate(store: &PostgresStore, url: &str) {
    let client = &store.session.as_ref().unwrap().client;
    let row = store.runtime.block_on(client.query_typed_one("SELECT pg_backend_pid()", &[])).unwrap();
    let id: i32 = row.get(0);
    let terminate = format!("SELECT pg_terminate_backend({id}, {})", PATIENCE.as_millis());
    assert_eq!(query(url, &terminate).unwrap(), "t");
}

/// Waits until a session holds a lock of a kind on a table: what was sent has reached the server.
fn wait_for_lock(url: &str, table: &str, mode: &str) {
    let held =
        format!("SELECT count(*) FROM pg_locks WHERE relation = 'taximeter.{table}'::regclass AND mode = '{mode}'");
    wait_until("what was sent has come", || query(url, &held).unwrap() != "0");
}

#[test]
fn what_is_written_is_read_back() {
    let url = new_database();
    let mut store = PostgresStore::open(&url, CREATE).unwrap();
    assert_eq!((store.head().unwrap(), store.record(0).unwrap()), (None, None));
    let mut bookkeeper = Bookkeeper::found(&mut store);
    let changes = bookkeeper.charges(&["one", "two", "schlüssel 🔑"]);
    let lines: Vec<String> = changes.entries().iter().map(|entry| entry.receipt.line().to_string()).collect();
    let states: Vec<(u32, Vec<u8>)> =
        changes.accounts().iter().map(|changed| (changed.number, changed.state.to_vec())).collect();
    bookkeeper.commit(&mut store, changes);

    let mut reader = PostgresStore::open(&url, Access::READ).unwrap();
    for store in [&mut store, &mut reader] {
        let head = store.head().unwrap().unwrap();
        assert_eq!(head.position(), bookkeeper.books.head());
        let records = store.records(2, 10).unwrap();
        assert_eq!(records.iter().map(|record| record.line.clone()).collect::<Vec<_>>(), lines);
        assert_eq!(records.iter().map(|record| record.sequence).collect::<Vec<_>>(), [2, 3, 4]);
        assert!(records.iter().all(|record| record.parse().is_ok()));
        assert_eq!(store.records(1, 2).unwrap().len(), 2);
        assert_eq!(store.record(4).unwrap(), Some(head));
        assert_eq!(store.record(5).unwrap(), None);
        assert_eq!(store.record(u64::MAX).unwrap(), None);
        let found = store.find_keys(&["two", "nobody", "schlüssel 🔑", "two"]).unwrap();
        let mut found: Vec<u64> = found.iter().map(|record| record.sequence).collect();
        found.sort_unstable();
        assert_eq!(found, [3, 4]);
        assert_eq!(store.find_keys(&[]).unwrap(), []);
        let accounts = store.accounts(None).unwrap();
        assert_eq!(accounts.iter().map(|row| (row.number, row.state.clone())).collect::<Vec<_>>(), states);
        assert_eq!((accounts[0].name.as_str(), accounts[0].sequence), ("census", 4));
        assert_eq!(store.accounts(Some(3)).unwrap(), accounts);
        assert_eq!(store.accounts(Some(4)).unwrap(), []);
    }
}

#[test]
fn many_writes_of_one_transaction_are_all_there() {
    let url = new_database();
    let mut store = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut store);
    let keys: Vec<String> = (0..5000).map(|number| format!("key {number}")).collect();
    store.begin().unwrap();
    for key in &keys {
        let changes = bookkeeper.charges(&[key]);
        store.write(&changes).unwrap();
        bookkeeper.books.adopt(changes);
    }
    // A question within the transaction is answered with what it wrote.
    assert_eq!(store.head().unwrap().unwrap().position(), bookkeeper.books.head());
    store.commit().unwrap();
    let mut reader = PostgresStore::open(&url, Access::READ).unwrap();
    assert_eq!(reader.head().unwrap().unwrap().position(), bookkeeper.books.head());
    assert_eq!(reader.records(0, 10_000).unwrap().len(), 5002);
    assert_eq!(reader.accounts(None).unwrap()[0].sequence, 5001);
}

#[test]
fn questions_between_the_writes_of_a_transaction_lose_nothing() {
    let url = new_database();
    let mut store = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut store);
    let changes = bookkeeper.charges(&["one", "two"]);
    store.begin().unwrap();
    store.append(&changes.entries()[..1]).unwrap();
    assert_eq!(store.find_keys(&["one", "two"]).unwrap().len(), 1);
    assert_eq!(store.records(0, 100).unwrap().len(), 3);
    assert_eq!(store.find_keys(&["one", "two"]).unwrap().len(), 1);
    store.append(&changes.entries()[1..]).unwrap();
    assert_eq!(store.head().unwrap().unwrap().position(), changes.head());
    store.put(&changes.accounts()).unwrap();
    store.commit().unwrap();
    let mut reader = PostgresStore::open(&url, Access::READ).unwrap();
    assert_eq!(reader.head().unwrap().unwrap().position(), changes.head());
    assert_eq!(reader.accounts(None).unwrap()[0].state, changes.accounts()[0].state);
}

#[test]
fn what_is_sent_ahead_is_written_before_it_is_waited_for_and_part_of_the_transaction() {
    let url = new_database();
    let mut store = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut store);
    let before = bookkeeper.books.head();
    let changes = bookkeeper.charges(&["one", "two"]);
    let send_first = |store: &mut PostgresStore| {
        assert_eq!(store.begin().unwrap(), Some(before));
        store.append(&changes.entries()[..1]).unwrap();
        store.send_ahead().unwrap();
    };
    // The server has it, although no caller waits: it holds the lock of the journal's writer.
    send_first(&mut store);
    wait_for_lock(&url, "journal", "RowExclusiveLock");
    // Questions see it, and that it is the newest; nothing of it is left behind.
    assert_eq!(store.find_keys(&["one", "two"]).unwrap().len(), 1);
    assert_eq!(store.head().unwrap().unwrap().position().sequence, before.sequence + 1);
    store.rollback();
    assert_eq!(store.head().unwrap().unwrap().position(), before);
    // With a connection that broke, it is lost.
    send_first(&mut store);
    terminate(&store, &url);
    assert_eq!(store.commit().unwrap_err().kind, StoreFailure::Lost);
    store.reconnect().unwrap();
    // The error of what was sent is the one that is told, not that of what the server refused because of it.
    send_first(&mut store);
    store.append(&changes.entries()[..1]).unwrap();
    store.send_ahead().unwrap();
    assert_eq!(store.commit().unwrap_err().kind, StoreFailure::Broken);
    // And whole.
    send_first(&mut store);
    store.append(&changes.entries()[1..]).unwrap();
    store.put(&changes.accounts()).unwrap();
    store.commit().unwrap();
    let mut reader = PostgresStore::open(&url, Access::READ).unwrap();
    assert_eq!(reader.head().unwrap().unwrap().position(), changes.head());
    assert_eq!(reader.records(0, 100).unwrap().len(), 4);
}

#[test]
fn several_processes_may_start_at_once() {
    let url = new_database();
    let barrier = Barrier::new(8);
    let start = || {
        barrier.wait();
        let mut store = PostgresStore::open(&url, CREATE).unwrap();
        if store.begin().unwrap().is_some() {
            store.rollback();
            return 0;
        }
        let (_, _, changes) = Books::create(LedgerOrigin::generate().unwrap(), Timestamp::UNIX_EPOCH);
        store.write(&changes).unwrap();
        store.commit().unwrap();
        1
    };
    let founders: i32 = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(founders, 1);
    assert_eq!(query(&url, "SELECT count(*) FROM taximeter.journal").unwrap(), "1");
}

#[test]
fn where_there_is_no_ledger_nothing_is_made() {
    let url = new_database();
    let check = || {
        for access in [Access::READ, WRITE] {
            let error = PostgresStore::open(&url, access).err().unwrap();
            assert!(error.is_input() && error.to_string().contains("there is no ledger at postgres://"), "{error}");
        }
    };
    check();
    assert_eq!(query(&url, "SELECT to_regnamespace('taximeter') IS NULL").unwrap(), "t");
    // Tables without a record, as a process leaves them that is killed in between.
    drop(PostgresStore::open(&url, CREATE).unwrap());
    check();
    Bookkeeper::found(&mut PostgresStore::open(&url, CREATE).unwrap());
    assert!(PostgresStore::open(&url, Access::READ).is_ok() && PostgresStore::open(&url, WRITE).is_ok());
}

#[test]
fn tables_of_another_format_and_other_encodings_are_refused() {
    let url = new_database();
    drop(PostgresStore::open(&url, CREATE).unwrap());
    for (format, part) in
        [(1, "an earlier version of this program (format 1)"), (7, "a later version of this program (format 7)")]
    {
        query(&url, &format!("UPDATE taximeter.meta SET version = {format}")).unwrap();
        for access in [Access::READ, WRITE, CREATE] {
            let error = PostgresStore::open(&url, access).err().unwrap().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
    let latin = format!("{url}_latin");
    let name = latin.rsplit_once('/').unwrap().1;
    query(&url, &format!("CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"))
        .unwrap();
    let error = PostgresStore::open(&latin, CREATE).err().unwrap().to_string();
    assert!(error.contains("server_encoding = LATIN1"), "{error}");
}

#[test]
fn a_schema_that_an_administrator_made_is_enough() {
    let url = new_database();
    query(
        &url,
        "CREATE ROLE limited LOGIN PASSWORD 'limited';
         CREATE SCHEMA taximeter AUTHORIZATION limited;",
    )
    .unwrap();
    let (_, place) = url.split_once('@').unwrap();
    let limited = format!("postgres://limited:limited@{place}");
    Bookkeeper::found(&mut PostgresStore::open(&limited, CREATE).unwrap());
    query(&url, "DROP SCHEMA taximeter CASCADE").unwrap();
    let error = PostgresStore::open(&limited, CREATE).err().unwrap().to_string();
    assert!(error.contains("permission denied") && error.contains("42501"), "{error}");
}

#[test]
fn a_server_that_may_lose_a_commit_is_refused() {
    let url = new_database();
    Bookkeeper::found(&mut PostgresStore::open(&url, CREATE).unwrap());
    for (value, is_good) in
        [("on", true), ("remote_apply", true), ("remote_write", false), ("local", false), ("off", false)]
    {
        let url = format!("{url}?options=-c%20synchronous_commit%3D{value}");
        match PostgresStore::open(&url, WRITE) {
            Ok(_) => assert!(is_good, "{value}"),
            Err(error) => {
                let error = error.to_string();
                assert!(!is_good && error.contains(&format!("synchronous_commit = {value}")), "{error}");
                assert!(error.contains("on or remote_apply"), "{error}");
            }
        }
        assert!(PostgresStore::open(&url, Access::READ).is_ok(), "a reader commits nothing");
    }
    let server = PrivatePostgres::start().unwrap();
    let url = server.new_database().unwrap();
    for (setting, bad, good) in
        [("fsync", "off", "on"), ("full_page_writes", "off", "on"), ("data_sync_retry", "on", "off")]
    {
        server.set(setting, bad).unwrap();
        let error = PostgresStore::open(&url, CREATE).err().unwrap().to_string();
        assert!(
            error.contains(&format!("{setting} = {bad}")) && error.contains(&format!("set {setting} = {good}")),
            "{error}"
        );
        server.set(setting, good).unwrap();
        assert!(PostgresStore::open(&url, CREATE).is_ok());
    }
}

#[test]
fn settings_that_change_later_are_noticed() {
    let server = PrivatePostgres::start().unwrap();
    let url = server.new_database().unwrap();
    let mut store = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut store);
    // This one was fixed when the connection was made.
    server.set("synchronous_commit", "off").unwrap();
    let changes = bookkeeper.charges(&["one"]);
    bookkeeper.commit(&mut store, changes);
    assert!(PostgresStore::open(&url, WRITE).is_err());
    server.set("synchronous_commit", "on").unwrap();
    // This one cannot be.
    server.set("fsync", "off").unwrap();
    store.begin().unwrap();
    store.write(&bookkeeper.charges(&["two"])).unwrap();
    let error = store.commit().unwrap_err();
    assert!(error.kind == StoreFailure::Fatal && error.message.contains("fsync = off"), "{error:?}");
    store.session = None;
    let error = store.reconnect().unwrap_err();
    assert!(error.kind == StoreFailure::Failed && error.message.contains("fsync = off"), "{error:?}");
}

#[test]
fn a_writer_keeps_others_out_until_it_commits() {
    let url = new_database();
    let mut first = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut first);
    let before = bookkeeper.books.head();
    let mut second = PostgresStore::open(&url, WRITE).unwrap();
    assert_eq!(first.begin().unwrap(), Some(before));
    let changes = bookkeeper.charges(&["one"]);
    let after = changes.head();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            // The key that was committed meanwhile is seen, also by the statements after the lock.
            (
                second.begin().unwrap(),
                second.find_keys(&["one"]).unwrap().len(),
                second.head().unwrap().unwrap().position(),
            )
        });
        let waits =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        wait_until("the other one waits", || query(&url, waits).unwrap() == "1");
        assert!(!waiting.is_finished());
        first.write(&changes).unwrap();
        first.commit().unwrap();
        assert_eq!(waiting.join().unwrap(), (Some(after), 1, after));
    });
    // A caller that waits too long may try again.
    execute(&first, "SET lock_timeout = '50ms'").unwrap();
    assert_eq!(first.begin().unwrap_err().kind, StoreFailure::Again);
    second.rollback();
    assert_eq!(first.begin().unwrap(), Some(after));
}

#[test]
fn a_transaction_that_was_asked_for_has_begun_before_it_is_waited_for() {
    let url = new_database();
    let mut first = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut first);
    let before = bookkeeper.books.head();
    let mut second = PostgresStore::open(&url, WRITE).unwrap();
    first.ask_to_begin();
    // It is under way although nobody waits for it: the other one has to.
    wait_for_lock(&url, "head", "RowShareLock");
    execute(&second, "SET lock_timeout = '50ms'").unwrap();
    assert_eq!(second.begin().unwrap_err().kind, StoreFailure::Again);
    assert_eq!(first.begin().unwrap(), Some(before));
    let changes = bookkeeper.charges(&["one"]);
    let after = changes.head();
    first.write(&changes).unwrap();
    first.commit().unwrap();
    // What is asked for while another writes is answered when that has ended.
    assert_eq!(second.begin().unwrap(), Some(after));
    first.ask_to_begin();
    second.rollback();
    assert_eq!(first.begin().unwrap(), Some(after));
    first.rollback();
    // A connection that broke is a lost one, whether it is asked first or not.
    terminate(&first, &url);
    first.ask_to_begin();
    assert_eq!(first.begin().unwrap_err().kind, StoreFailure::Lost);
    first.ask_to_begin();
    assert_eq!(first.begin().unwrap_err().kind, StoreFailure::Lost);
    first.reconnect().unwrap();
    first.ask_to_begin();
    assert_eq!(first.begin().unwrap(), Some(after));
}

#[test]
fn a_reader_sees_one_state_throughout() {
    let url = new_database();
    let mut writer = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut writer);
    let before = bookkeeper.books.head();
    let mut reader = PostgresStore::open(&url, Access::READ).unwrap();
    reader.begin_reading().unwrap();
    assert_eq!(reader.head().unwrap().unwrap().position(), before);
    let changes = bookkeeper.charges(&["one"]);
    bookkeeper.commit(&mut writer, changes);
    assert_eq!(reader.head().unwrap().unwrap().position(), before);
    assert_eq!(reader.accounts(Some(before.sequence)).unwrap(), []);
    reader.rollback();
    assert_eq!(reader.head().unwrap().unwrap().position(), bookkeeper.books.head());
}

#[test]
fn a_connection_that_ends_at_the_commit_is_lost_and_can_be_made_again() {
    let url = new_database();
    let mut store = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut store);
    let before = bookkeeper.books.head();
    let changes = bookkeeper.charges(&["one"]);
    store.begin().unwrap();
    store.write(&changes).unwrap();
    terminate(&store, &url);
    assert_eq!(store.commit().unwrap_err().kind, StoreFailure::Lost);
    assert_eq!(store.begin().unwrap_err().kind, StoreFailure::Lost);
    store.rollback();
    store.reconnect().unwrap();
    assert_eq!(store.begin().unwrap(), Some(before));
    store.write(&changes).unwrap();
    store.commit().unwrap();
    assert_eq!(store.head().unwrap().unwrap().position(), changes.head());
}

#[test]
fn a_writer_that_stops_in_the_middle_loses_the_lock() {
    let url = new_database();
    let mut stopped = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut stopped);
    let mut other = PostgresStore::open(&url, WRITE).unwrap();
    stopped.begin().unwrap();
    stopped.write(&bookkeeper.charges(&["one"])).unwrap();
    execute(&stopped, "SET idle_in_transaction_session_timeout = '200ms'").unwrap();
    assert_eq!(other.begin().unwrap(), Some(bookkeeper.books.head()));
    assert_eq!(stopped.commit().unwrap_err().kind, StoreFailure::Lost);
}

#[test]
fn a_server_that_crashes_is_waited_for() {
    let server = PrivatePostgres::start().unwrap();
    let url = server.new_database().unwrap();
    let mut store = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut store);
    let changes = bookkeeper.charges(&["one"]);
    bookkeeper.commit(&mut store, changes);
    store.begin().unwrap();
    store.write(&bookkeeper.charges(&["two"])).unwrap();
    server.stop_immediate().unwrap();
    assert_eq!(store.commit().unwrap_err().kind, StoreFailure::Lost);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(700));
            server.start_again().unwrap();
        });
        store.reconnect().unwrap();
    });
    assert_eq!(store.begin().unwrap(), Some(bookkeeper.books.head()), "what was committed is there, and nothing else");
}

#[test]
fn a_failed_transaction_is_never_taken_for_a_commit() {
    let url = new_database();
    let mut store = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut store);
    let before = bookkeeper.books.head();
    let changes = bookkeeper.charges(&["one"]);
    // An error that nobody looked at.
    store.begin().unwrap();
    execute(&store, "SELECT 1 / 0").unwrap_err();
    let error = store.commit().unwrap_err();
    assert!(error.kind == StoreFailure::Failed && error.message.contains("25P02"), "{error:?}");
    // Rows that travel together with their commit.
    store.begin().unwrap();
    execute(&store, "ALTER TABLE taximeter.accounts ADD CHECK (sequence < 2) NOT VALID").unwrap();
    store.write(&changes).unwrap();
    let error = store.commit().unwrap_err();
    assert!(error.kind == StoreFailure::Failed && error.message.contains("23514"), "{error:?}");
    // A transaction that something ended before its time.
    store.begin().unwrap();
    execute(&store, "ROLLBACK").unwrap();
    let error = store.commit().unwrap_err();
    assert!(error.kind == StoreFailure::Fatal && error.message.contains("no transaction"), "{error:?}");
    // The same works as it should.
    assert_eq!(store.begin().unwrap(), Some(before));
    assert_eq!(store.records(0, 100).unwrap().len(), 2);
    store.write(&changes).unwrap();
    store.commit().unwrap();
    assert_eq!(store.head().unwrap().unwrap().position(), changes.head());
}

#[test]
fn records_that_are_there_already_mean_damage() {
    let url = new_database();
    let mut store = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut store);
    let changes = bookkeeper.charges(&["one"]);
    let after = changes.head();
    for expected in [Ok(()), Err(StoreFailure::Broken)] {
        store.begin().unwrap();
        store.write(&changes).unwrap();
        assert_eq!(store.commit().map_err(|error| error.kind), expected);
    }
    assert_eq!(store.head().unwrap().unwrap().position(), after);
    query(&url, "DELETE FROM taximeter.journal WHERE sequence = 2").unwrap();
    let error = store.head().unwrap_err();
    assert!(error.kind == StoreFailure::Broken && error.message.contains("taximeter.head says record 2"), "{error:?}");
    query(&url, "DELETE FROM taximeter.head").unwrap();
    assert_eq!(store.begin().unwrap_err().kind, StoreFailure::Broken);
}

#[test]
fn a_key_is_taken_once() {
    let url = new_database();
    let mut store = PostgresStore::open(&url, CREATE).unwrap();
    let mut bookkeeper = Bookkeeper::found(&mut store);
    let changes = bookkeeper.charges(&["one"]);
    bookkeeper.commit(&mut store, changes);
    let before = bookkeeper.books.head();
    store.begin().unwrap();
    store.write(&bookkeeper.charges(&["two", "one"])).unwrap();
    assert_eq!(store.commit().unwrap_err().kind, StoreFailure::KeyTaken);
    assert_eq!(store.begin().unwrap(), Some(before));
    assert_eq!(store.find_keys(&["one", "two"]).unwrap().len(), 1);
}

#[test]
fn a_search_path_of_another_user_changes_nothing() {
    let url = new_database();
    query(
        &url,
        "CREATE SCHEMA other;
         CREATE FUNCTION other.current_setting(text) RETURNS text LANGUAGE sql AS $$ SELECT 'off' $$;
         DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = other, pg_catalog', current_database()); END $$;",
    )
    .unwrap();
    Bookkeeper::found(&mut PostgresStore::open(&url, CREATE).unwrap());
}

#[test]
fn a_password_never_shows() {
    let url = new_database();
    let (who, place) = url.split_once('@').unwrap();
    let password = who.rsplit_once(':').unwrap().1.to_string();
    let mut errors = Vec::new();
    for (url, expected) in [
        (format!("postgres://taximeter:hunter2@{place}"), "password authentication failed"),
        (format!("postgres://{place}?user=taximeter&password=hunter2"), "password authentication failed"),
        (format!("{url}nowhere"), "does not exist"),
        (format!("{url}?sslmode=require"), "does not offer TLS"),
        (format!("{url}?hunter2=x"), "cannot be used"),
        ("postgres://taximeter:hunter2@127.0.0.1:1/books".to_string(), "refused"),
        ("postgres://taximeter:hunter2@nowhere.invalid/books".to_string(), "error connecting"),
        ("postgres://taximeter:hun@ter2@127.0.0.1/books".to_string(), "postgres://***"),
        (url.clone(), "there is no ledger"),
    ] {
        let error = PostgresStore::open(&url, WRITE).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
        errors.push(error);
    }
    let mut store = PostgresStore::open(&url, CREATE).unwrap();
    store.session = None;
    query(&url, "DROP SCHEMA taximeter CASCADE").unwrap();
    let started = Instant::now();
    errors.push(store.reconnect().unwrap_err().message);
    assert!(started.elapsed() < WRITE.patience() / 2, "what cannot get better is not waited for");
    for error in errors {
        assert!(!error.contains("hunter2") && !error.contains("ter2") && !error.contains(&password), "{error}");
    }
}
