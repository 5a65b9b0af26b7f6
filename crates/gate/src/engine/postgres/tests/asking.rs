//! Time, swapped tables, and connections that are lost.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;

/// A statement that takes longer for every row than any test goes on.
fn slow(engine: &Postgres) -> Statement {
    let sql = format!("SELECT count(pg_sleep(3600)) FROM {}", asked(engine));
    Statement { tables: Vec::new(), sql, parameters: vec![], keys: vec![], measures: 1, grouping: None }
}

/// Waits until no other connection is at work in this database, or holds a table of it.
fn wait_for_rest(url: &str) {
    let statement = "
        SELECT (SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'),
               (SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
                WHERE datname = current_database() AND relation >= 16384)";
    wait_until("no connection is at work", || query(url, statement).unwrap() == "0|0");
}

#[test]
fn a_statement_that_takes_too_long_is_stopped_by_the_server() {
    let url = database("CREATE TABLE t (x int); INSERT INTO t VALUES (1)");
    let (mut engine, schema) = connected(&url, "t");
    let failure = engine.run_within(&slow(&engine), Duration::from_millis(300), MOST).unwrap_err();
    assert!(failure.to_string().contains("statement timeout"), "{failure}");
    wait_for_rest(&url);
    check_count(&mut engine, &schema, 1);
    // No time at all is not the same as no limit.
    assert!(engine.run(&slow(&engine), Duration::ZERO).is_err());
    check_count(&mut engine, &schema, 1);
    assert_eq!(engine.run(&count_rows(&engine, &schema), Duration::MAX).unwrap()[0].measures, [1]);
}

#[test]
fn a_statement_that_the_server_does_not_stop_is_stopped_from_here() {
    let url = database("CREATE TABLE t (x int); INSERT INTO t VALUES (1)");
    let (mut engine, schema) = connected(&url, "t");
    let failure = engine.run_within(&slow(&engine), MOST, Duration::from_millis(300)).unwrap_err();
    assert!(matches!(&failure, SessionError::Lost(why) if why.contains("was told to stop")), "{failure}");
    wait_for_rest(&url);
    engine.check(&schema, ANSWER).unwrap();
    check_count(&mut engine, &schema, 1);
}

#[test]
fn a_table_is_found_kept_and_asked_over_tls() {
    let server = PrivatePostgres::start_with_tls().unwrap();
    let plain = server.new_database().unwrap();
    query(&plain, "CREATE TABLE t (x int); INSERT INTO t VALUES (1), (1), (2)").unwrap();
    let root = server.root_certificate();
    let url = format!("{plain}?sslmode=verify-full&sslrootcert={}", root.display());
    let source = find_table(&url, "t").unwrap().table;
    let by_person = schema(Some(("x", 1)), vec![column("x", ColumnType::Integer)]);
    let (_, counted) = keep_rows(&url, &source, &by_person, &[7; 32], "t v1").unwrap();
    assert_eq!((counted.rows, counted.kept), (3, 2));
    let (mut engine, schema) = connected(&url, "t");
    check_count(&mut engine, &schema, 3);
    let encrypted = "SELECT bool_and(ssl), count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE datname = current_database() AND application_name = 'taximeter'";
    assert_eq!(query(&plain, encrypted).unwrap(), "t|1");
}

/// A way to the server that can be cut without a word, as if the server hung.
fn hanging_way(url: &str) -> (String, Arc<AtomicBool>) {
    let (_, after) = url.split_once('@').unwrap();
    let (address, database) = after.split_once('/').unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here =
        url.replace(&format!("@{address}/{database}"), &format!("@{}/{database}", listener.local_addr().unwrap()));
    let hangs = Arc::new(AtomicBool::new(false));
    let (address, told) = (address.to_string(), hangs.clone());
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(&address).unwrap();
            for (mut from, mut to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)] {
                let told = told.clone();
                thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    while let Ok(read @ 1..) = from.read(&mut bytes) {
                        while told.load(Ordering::Relaxed) {
                            thread::sleep(Duration::from_millis(10));
                        }
                        if to.write_all(&bytes[..read]).is_err() {
                            break;
                        }
                    }
                });
            }
        }
    });
    (here, hangs)
}

#[test]
fn a_server_that_hangs_is_not_waited_for_longer_than_there_is_time() {
    let url = database("CREATE TABLE t (x int); INSERT INTO t VALUES (1)");
    let (here, hangs) = hanging_way(&url);
    let (mut engine, schema) = connected(&here, "t");
    check_count(&mut engine, &schema, 1);
    hangs.store(true, Ordering::Relaxed);
    const TIME: Duration = Duration::from_secs(2);
    // A machine that is busy may need some more to notice.
    let late = |started: Instant| started.elapsed() > 2 * TIME;
    let started = Instant::now();
    assert!(engine.run(&count_rows(&engine, &schema), TIME).unwrap_err().contains("did not answer") && !late(started));
    let started = Instant::now();
    assert!(engine.check(&schema, TIME).is_err() && !late(started), "{:?}", started.elapsed());
    let started = Instant::now();
    let table = engine.table.clone();
    assert!(Postgres::connect(&here, table, TIME).is_err() && !late(started), "{:?}", started.elapsed());
    hangs.store(false, Ordering::Relaxed);
    engine.check(&schema, MOST).unwrap();
    check_count(&mut engine, &schema, 1);
}

#[test]
fn a_table_that_is_locked_is_waited_for_no_longer_than_there_is_time() {
    let url = database("CREATE TABLE t (x int)");
    let (mut engine, schema) = connected(&url, "t");
    let mut other = open(&url, KEEP, ANSWER).unwrap();
    execute(&mut other, "BEGIN; LOCK TABLE public.t").unwrap();
    engine.check(&schema, ANSWER).unwrap();
    let failure = engine.run_within(&count_rows(&engine, &schema), Duration::from_millis(300), MOST).unwrap_err();
    assert!(failure.to_string().contains("statement timeout"), "{failure}");
    execute(&mut other, "COMMIT").unwrap();
    check_count(&mut engine, &schema, 0);
}

#[test]
fn a_table_that_is_not_what_was_registered_is_neither_checked_nor_asked() {
    for (change, why) in [
        ("ALTER TABLE t RENAME TO old; CREATE VIEW t AS SELECT 1 / (x - 1) AS x, y FROM old", "is a view"),
        ("DROP TABLE t", "is not there any more"),
        ("DROP TABLE t; CREATE TABLE t (x int, y text)", "another table"),
        ("ALTER SCHEMA public RENAME TO old; CREATE SCHEMA public; CREATE TABLE t (x int, y text)", "another table"),
        ("DROP TABLE t; CREATE TABLE t (x int, y text) PARTITION BY RANGE (x)", "is a partitioned table"),
        ("ALTER TABLE t ENABLE ROW LEVEL SECURITY", "row-level security"),
        ("ALTER TABLE t ALTER x TYPE numeric", "\"x\" of public.t holds decimal now, not integer"),
        ("ALTER TABLE t DROP x, ADD x money", "\"x\" of public.t is money now"),
        ("ALTER TABLE t ALTER x TYPE text", "\"x\" of public.t holds text now, not integer"),
        ("ALTER TABLE t DROP y", "\"y\" of public.t is not there any more"),
        ("ALTER TABLE t RENAME y TO z", "\"y\" of public.t is not there any more"),
    ] {
        let url = database("CREATE TABLE t (x int, y text); INSERT INTO t VALUES (1, 'one')");
        let (mut engine, schema) = connected(&url, "t");
        let statement = count_rows(&engine, &schema);
        query(&url, change).unwrap();
        let error = engine.run(&statement, MOST).unwrap_err();
        // A name that stands for nothing fails by itself.
        assert!(error.contains(why) || error.contains("does not exist"), "{change}: {error}");
        let error = engine.check(&schema, ANSWER).unwrap_err();
        assert!(!error.is_input() && error.to_string().contains(why), "{change}: {error}");
    }
}

#[test]
fn a_column_that_was_only_made_wider_is_still_asked() {
    let url = database("CREATE TABLE t (x int2, y varchar(3), p numeric(4, 1)); INSERT INTO t VALUES (1, 'one', 2)");
    let (mut engine, schema) = connected(&url, "t");
    query(&url, "ALTER TABLE t ALTER x TYPE int8, ALTER y TYPE text, ALTER p TYPE numeric, ADD z money").unwrap();
    engine.check(&schema, ANSWER).unwrap();
    check_count(&mut engine, &schema, 1);
}

#[test]
fn nobody_can_swap_a_table_between_the_check_and_the_question() {
    let url = database("CREATE TABLE t (x int); CREATE MATERIALIZED VIEW m AS SELECT x FROM t");
    for (name, rename) in [("t", "ALTER TABLE t RENAME TO old"), ("m", "ALTER MATERIALIZED VIEW m RENAME TO older")] {
        let (engine, schema) = connected(&url, name);
        let mut connection = open(&url, ASK, ANSWER).unwrap();
        let locked = connection.once(ANSWER, async |client| {
            in_transaction(client, async |transaction| {
                Relation::lock(transaction, &engine.table, &kinds(&schema)).await?;
                Ok(query(&url, &format!("SET lock_timeout = '200ms'; {rename}")))
            })
            .await
        });
        assert!(locked.unwrap().unwrap_err().contains("lock timeout"));
        query(&url, rename).unwrap();
    }
}

#[test]
fn a_table_is_not_asked_before_it_was_checked() {
    let url = database("CREATE TABLE t (x int)");
    let found = find_table(&url, "t").unwrap();
    let schema = found_schema(&found);
    let mut engine = Postgres::connect(&url, found.table, ANSWER).unwrap();
    assert!(engine.run(&count_rows(&engine, &schema), MOST).unwrap_err().contains("must be checked"));
}

#[test]
fn a_lost_connection_is_made_again_by_the_next_check() {
    let url = database("CREATE TABLE t (x int); INSERT INTO t VALUES (1)");
    let (mut engine, schema) = connected(&url, "t");
    let terminate = "SELECT count(pg_terminate_backend(pid, 120000)) FROM pg_stat_activity
                     WHERE datname = current_database() AND pid <> pg_backend_pid()";
    assert_eq!(query(&url, terminate).unwrap(), "1");
    engine.check(&schema, ANSWER).unwrap();
    check_count(&mut engine, &schema, 1);

    // What was charged is not asked again behind the gate's back.
    assert_eq!(query(&url, terminate).unwrap(), "1");
    assert!(engine.run(&count_rows(&engine, &schema), MOST).is_err());
    engine.check(&schema, ANSWER).unwrap();
    check_count(&mut engine, &schema, 1);
}

#[test]
fn nothing_can_be_written_through_a_question() {
    let url = database("CREATE TABLE t (x int); INSERT INTO t VALUES (1)");
    let (mut engine, schema) = connected(&url, "t");
    let sql = "WITH gone AS (DELETE FROM public.t RETURNING 1) SELECT count(*) FROM gone".to_string();
    let error = engine
        .run(
            &Statement { tables: Vec::new(), sql, parameters: vec![], keys: vec![], measures: 1, grouping: None },
            MOST,
        )
        .unwrap_err();
    assert!(error.contains("read-only transaction"), "{error}");
    check_count(&mut engine, &schema, 1);
}

#[test]
fn the_settings_of_a_user_change_no_answer() {
    let url = database(
        "CREATE TABLE t (x int); INSERT INTO t VALUES (1), (NULL);
         CREATE FUNCTION public.always(int4, int8) RETURNS bool LANGUAGE sql AS 'SELECT true';
         CREATE OPERATOR public.> (LEFTARG = int4, RIGHTARG = int8, FUNCTION = public.always);
         DO $$ BEGIN
             EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
             EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database());
             EXECUTE format('ALTER DATABASE %I SET plan_cache_mode = force_generic_plan', current_database());
         END $$;",
    );
    assert_eq!(query(&url, "SELECT count(*) FROM t WHERE x > 5::int8").unwrap(), "2", "the operator is in the way");
    let (mut engine, schema) = connected(&url, "t");
    let comparison = crate::question::predicate::Comparison::Greater;
    let above = Predicate::Compare { operand: Operand::plain(0), comparison, value: Value::Integer(5) };
    let statement = measuring(&engine, &schema, Some(above), &[], &[rows()]);
    assert_eq!(engine.run(&statement, MOST).unwrap()[0].measures, [0]);
}
