//! The journal: `export`, `import`, `verify`, and a ledger in use.

use std::fs::File;
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, check_contains, here_and_at_a_server, text};

here_and_at_a_server! {
    an_export_is_a_ledger_again,
}

fn an_export_is_a_ledger_again(sandbox: &Sandbox) {
    sandbox.make_accounts();
    sandbox.charge("census/alice", "0.1");
    let export = sandbox.done(&["export"]);
    assert_eq!(export.lines().count(), 6, "five records and the end");
    let written = sandbox.document(0, &["export", "--output", "export.jsonl"]);
    assert_eq!(written["records"], 5);
    assert_eq!(std::fs::read_to_string(sandbox.path("export.jsonl")).unwrap(), export);

    let imported = sandbox.document(0, &["import", "export.jsonl", "--ledger", "copy.db"]);
    assert_eq!((imported["records"].as_u64(), imported["accounts"].as_u64()), (Some(5), Some(3)));
    let copy = ["--ledger", "copy.db"];
    check_contains(&sandbox.done(&[&["verify"], &copy[..]].concat()), &["5 records, 3 accounts: whole"]);
    let list = |more: &[&str]| sandbox.document(0, &[&["account", "list"], more].concat())["accounts"].clone();
    assert_eq!(list(&copy), list(&[]));
    check_contains(
        &sandbox.fails(2, &["import", "export.jsonl", "--ledger", "copy.db"]),
        &["a ledger already exists at copy.db"],
    );

    let mut piped = sandbox.command(&["import", "-", "--ledger", "piped.db"]);
    let output = piped.write_stdin(export.clone()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    check_contains(&text(&output), &["imported 5 records, 3 accounts", "the same ledger"]);

    let cut: String = export.lines().take(4).map(|line| format!("{line}\n")).collect();
    let altered = export.replace("\"0.1\"", "\"0.2\"");
    for (bad, code, part) in [(cut, 2, "cut off"), (altered, 4, "record 4"), (String::new(), 2, "cut off")] {
        let output = sandbox.command(&["import", "-", "--ledger", "bad.db"]).write_stdin(bad).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        check_contains(&text(&output), &[part]);
        sandbox.fails(2, &["account", "list", "--ledger", "bad.db"]);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let sandbox = Sandbox::with_accounts();
    (0..40).for_each(|_| drop(sandbox.charge("census", "0.001")));
    let program = assert_cmd::cargo::cargo_bin("taximeter");
    let script = format!("{} export 2>&1 | head -n 1; exit ${{PIPESTATUS[0]}}", program.display());
    let output =
        std::process::Command::new("bash").args(["-c", &script]).current_dir(sandbox.folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_second_writer_waits_and_gives_up_while_readers_go_on() {
    let sandbox = Sandbox::with_accounts();
    let lock = File::options().write(true).open(sandbox.path("taximeter.db.lock")).unwrap();
    lock.lock().unwrap();
    for arguments in [&["account", "list"][..], &["verify"], &["history", "census"], &["ledger", "show"], &["export"]] {
        sandbox.done(arguments);
    }
    sandbox.done(&["quote", "census", "--epsilon", "0.1"]);
    let started = Instant::now();
    check_contains(&sandbox.fails(1, &["charge", "census", "--epsilon", "0.1"]), &["another process", "PostgreSQL"]);
    assert!(started.elapsed() >= Duration::from_secs(5), "{:?}", started.elapsed());

    // A writer waits for another that ends in time.
    let waiting = std::thread::scope(|scope| {
        let charge = scope.spawn(|| sandbox.run(&["charge", "census", "--epsilon", "0.1"]));
        std::thread::sleep(Duration::from_millis(500));
        lock.unlock().unwrap();
        charge.join().unwrap()
    });
    assert_eq!(waiting.status.code(), Some(0), "{}", text(&waiting));
}

#[test]
fn tampering_is_found_and_named() {
    let sandbox = Sandbox::with_accounts();
    (0..5).for_each(|_| drop(sandbox.charge("census/alice", "0.01")));
    let good = std::fs::read(sandbox.path("taximeter.db")).unwrap();
    for (statement, parts) in [
        ("UPDATE journal SET line = replace(line, '0.01', '0.02') WHERE sequence = 5", &["record 5", "hash"][..]),
        ("UPDATE journal SET hash = zeroblob(32) WHERE sequence = 8", &["record 8"]),
        ("UPDATE journal SET key = 'another' WHERE sequence = 6", &["record 6", "key"]),
        ("DELETE FROM journal WHERE sequence = 6", &["record 6", "missing"]),
        ("DELETE FROM journal WHERE sequence = 0", &["record 0", "missing"]),
        ("DELETE FROM journal WHERE sequence = 8", &["record 8", "missing"]),
        (
            "UPDATE accounts SET state = substr(state, 1, length(state) - 1) WHERE number = 1",
            &["census/alice", "state"],
        ),
        ("UPDATE accounts SET state = zeroblob(length(state)) WHERE number = 0", &["account census", "state"]),
        ("DELETE FROM accounts WHERE number = 2", &["census/bob", "missing"]),
        ("UPDATE accounts SET name = 'mallory' WHERE number = 2", &["census/bob"]),
        (
            "UPDATE accounts SET state = (SELECT state FROM accounts WHERE number = 2) WHERE number = 1",
            &["census/alice"],
        ),
    ] {
        let connection = rusqlite::Connection::open(sandbox.path("taximeter.db")).unwrap();
        assert_eq!(connection.execute(statement, []).unwrap(), 1, "{statement}");
        connection.close().unwrap();
        let message = sandbox.fails(4, &["verify"]);
        check_contains(&message, parts);
        let broken = sandbox.document(4, &["verify"]);
        assert_eq!(broken["whole"], false, "{statement}");
        std::fs::write(sandbox.path("taximeter.db"), &good).unwrap();
        sandbox.done(&["verify"]);
    }
}

#[test]
fn what_verify_finds_stops_charges_until_the_alarm_is_cleared() {
    let sandbox = Sandbox::with_accounts();
    (0..5).for_each(|_| drop(sandbox.charge("census/alice", "0.01")));
    let connection = rusqlite::Connection::open(sandbox.path("taximeter.db")).unwrap();
    connection.execute("UPDATE journal SET hash = zeroblob(32) WHERE sequence = 5", []).unwrap();
    connection.close().unwrap();
    check_contains(&sandbox.fails(4, &["verify"]), &["record 5", "ledger clear-alarm"]);
    let message = sandbox.fails(4, &["charge", "census", "--epsilon", "0.1"]);
    check_contains(&message, &["alarm", "record 5", "`ledger clear-alarm`"]);
    sandbox.done(&["account", "list"]);
    check_contains(&sandbox.done(&["ledger", "clear-alarm"]), &["cleared the alarm", "record 5"]);
    sandbox.charge("census/alice", "0.01");
    assert!(sandbox.document(0, &["ledger", "clear-alarm"])["cleared"].is_null());
}

#[test]
fn a_broken_ledger_does_not_open() {
    let sandbox = Sandbox::with_accounts();
    let connection = rusqlite::Connection::open(sandbox.path("taximeter.db")).unwrap();
    connection.execute("UPDATE accounts SET state = (SELECT state FROM accounts WHERE number = 0)", []).unwrap();
    connection.close().unwrap();
    for arguments in [&["charge", "census", "--epsilon", "0.1"][..], &["account", "list"], &["ledger", "show"]] {
        check_contains(&sandbox.fails(4, arguments), &["run `verify`"]);
    }
}
