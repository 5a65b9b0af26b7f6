//! Backups: made while others charge and ask, checked, and put back.

use std::fs;

use crate::questions::COUNT;
use crate::sandbox::{Sandbox, Serving, check_contains};

/// A sandbox with a dataset, an answer under the key `first`, and a token.
fn in_use() -> Sandbox {
    let sandbox = Sandbox::with_people();
    fs::create_dir(sandbox.path("new")).unwrap();
    sandbox.done(&["ask", "people", COUNT, "--epsilon", "0.1", "--key", "first", "--json"]);
    sandbox.token("olga", "owner", &[]);
    sandbox
}

/// A command on the machine that takes the place of one that was lost. The witness was on another disk.
fn elsewhere<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--ledger", "new/taximeter.db", "--witness", "taximeter.db.witness", "--data", "new/gate"]].concat()
}

#[test]
fn a_backup_gives_back_ledger_answers_data_and_tokens() {
    let sandbox = in_use();
    let answer = sandbox.done(&["ask", "people", COUNT, "--epsilon", "0.1", "--key", "first", "--json"]);
    let made = sandbox.document(0, &["backup", "create", "monday"]);
    let names: Vec<&str> =
        made["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    check_contains(&names.join(" "), &["gate/gate.db", "journal.jsonl", "tokens.db"]);
    check_contains(&sandbox.done(&["backup", "check", "monday"]), &["whole: 4 files", "record 2"]);

    check_contains(&sandbox.done(&elsewhere(&["backup", "restore", "monday"])), &["restored 3 records"]);
    let again = ["ask", "people", COUNT, "--epsilon", "0.1", "--key", "first", "--json"];
    assert_eq!(sandbox.done(&elsewhere(&again)), answer);
    sandbox.done(&elsewhere(&["ask", "people", "SELECT AVG(age) FROM people", "--epsilon", "0.1"]));
    let ledger = ["--ledger", "new/taximeter.db", "--witness", "taximeter.db.witness"];
    check_contains(&sandbox.done(&[&["verify"][..], &ledger].concat()), &["4 records, 1 account: whole"]);
    check_contains(&sandbox.done(&[&["token", "list"][..], &ledger].concat()), &["olga"]);
}

/// A token that was revoked after the backup let its holder in again.
#[test]
fn a_restore_revokes_the_tokens_of_the_backup_unless_they_are_to_be_kept() {
    let sandbox = in_use();
    sandbox.done(&["backup", "create", "monday"]);
    let restore = |folder: &str, more: &[&str]| {
        fs::create_dir(sandbox.path(folder)).unwrap();
        let [ledger, data] = ["taximeter.db", "gate"].map(|name| format!("{folder}/{name}"));
        let place = ["backup", "restore", "monday", "--ledger", &ledger, "--data", &data, "--new-witness"];
        let restored = sandbox.run(&[&place[..], more].concat());
        assert!(restored.status.success(), "{restored:?}");
        // The tokens were revoked in a copy, which is gone, and nothing is left beside them.
        let names = fs::read_dir(sandbox.path(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.contains("tokens") || name.starts_with('.'));
        assert_eq!(names, ["taximeter.db.tokens"]);
        let list = sandbox.document(0, &["token", "list", "--ledger", &ledger]);
        let is_revoked = list["tokens"][0]["revoked"].is_string();
        assert_eq!(list["tokens"].as_array().unwrap().len(), 1, "{list}");
        (String::from_utf8(restored.stderr).unwrap(), is_revoked)
    };
    let (said, is_revoked) = restore("safe", &[]);
    check_contains(&said, &["1 token of the backup can no longer be used", "token create"]);
    assert!(is_revoked);
    let (said, is_revoked) = restore("kept", &["--keep-tokens"]);
    check_contains(&said, &["1 token of the backup can be used again", "token revoke ID"]);
    assert!(!is_revoked);
}

/// A journal of SQLite that was left over would have been taken for one of the restored file, or removed.
#[test]
fn a_restore_takes_over_no_file_that_is_there_and_removes_none() {
    let sandbox = in_use();
    sandbox.done(&["backup", "create", "monday"]);
    fs::create_dir(sandbox.path("new/gate")).unwrap();
    for name in ["taximeter.db-wal", "taximeter.db.tokens.lock", "taximeter.db.tokens-wal", "gate/gate.db-shm"] {
        let path = sandbox.path("new").join(name);
        fs::write(&path, "of another file").unwrap();
        check_contains(&sandbox.fails(2, &elsewhere(&["backup", "restore", "monday"])), &[name, "replaces nothing"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "of another file");
        fs::remove_file(path).unwrap();
    }
    assert!(!sandbox.path("new/taximeter.db.tokens").exists() && !sandbox.path("new/gate/gate.db").exists());
    sandbox.done(&elsewhere(&["backup", "restore", "monday"]));
}

#[test]
fn a_backup_that_lacks_later_charges_is_not_put_back_beside_a_witness_that_knows_them() {
    let sandbox = in_use();
    sandbox.done(&["backup", "create", "monday"]);
    let receipt = sandbox.done(&["charge", "people", "--epsilon", "0.2", "--json"]);
    check_contains(
        &sandbox.fails(4, &elsewhere(&["backup", "restore", "monday"])),
        &["ends at record 2", "remembers record 3"],
    );
    // Nothing is left behind.
    assert!(!sandbox.path("new/gate/gate.db").exists());
    for name in ["taximeter.db.tokens", "taximeter.db.tokens.lock"] {
        assert!(!sandbox.path("new").join(name).exists(), "{name}");
    }

    // What the help says to do then.
    fs::write(sandbox.path("receipts.jsonl"), receipt).unwrap();
    let import = ["import", "monday/journal.jsonl", "--ledger", "restored.db", "--witness", "unused.witness"];
    sandbox.done(&import);
    let known = ["--ledger", "restored.db", "--witness", "taximeter.db.witness"];
    sandbox.done(&[&["ledger", "restore", "--receipts", "receipts.jsonl"][..], &known].concat());
    check_contains(&sandbox.done(&[&["verify"][..], &known].concat()), &["4 records, 1 account: whole"]);
}

#[test]
fn without_a_witness_a_restore_must_be_confirmed() {
    let sandbox = in_use();
    sandbox.done(&["backup", "create", "monday"]);
    let lost = ["backup", "restore", "monday", "--ledger", "other.db"];
    check_contains(&sandbox.fails(2, &lost), &["there is no witness", "--new-witness"]);
    assert!(!sandbox.path("other.db").exists());
    sandbox.done(&[&lost[..], &["--new-witness"]].concat());
    check_contains(&sandbox.done(&["verify", "--ledger", "other.db"]), &["3 records, 1 account: whole"]);
    // A backup replaces nothing.
    check_contains(&sandbox.fails(2, &[&lost[..], &["--new-witness"]].concat()), &["already"]);
}

#[test]
fn every_changed_or_missing_file_of_a_backup_is_noticed() {
    let sandbox = in_use();
    let made = sandbox.document(0, &["backup", "create", "monday"]);
    check_contains(&sandbox.fails(2, &["backup", "create", "monday"]), &["monday", "new folder"]);
    for file in made["files"].as_array().unwrap() {
        let path = sandbox.path("monday").join(file["name"].as_str().unwrap());
        let whole = fs::read(&path).unwrap();
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 1;
        fs::write(&path, changed).unwrap();
        check_contains(&sandbox.fails(4, &["backup", "check", "monday"]), &["was changed"]);
        sandbox.fails(4, &elsewhere(&["backup", "restore", "monday"]));
        fs::remove_file(&path).unwrap();
        sandbox.fails(1, &["backup", "check", "monday"]);
        fs::write(&path, whole).unwrap();
    }
    // One that was cut off while it was made has no description.
    fs::remove_file(sandbox.path("monday/backup.json")).unwrap();
    check_contains(&sandbox.fails(2, &["backup", "check", "monday"]), &["not a complete backup"]);
    // A description is not trusted with paths.
    let mut outside = made;
    outside["files"] = serde_json::json!([{ "name": "../people.csv", "bytes": 1, "blake3": "" }]);
    fs::write(sandbox.path("monday/backup.json"), outside.to_string()).unwrap();
    check_contains(&sandbox.fails(4, &["backup", "check", "monday"]), &["is not the name of a file in it"]);
}

#[test]
fn a_backup_is_made_while_a_server_charges() {
    let sandbox = in_use();
    let token = sandbox.token("anna", "owner", &[]);
    let serving = Serving::start(&sandbox, &[]);
    let charges = std::thread::scope(|scope| {
        let charging = scope.spawn(|| {
            (0..60)
                .filter(|_| {
                    let mut charge = sandbox.command(&["charge", "people", "--epsilon", "0.001"]);
                    let server = format!("http://{}", serving.address);
                    charge.env("TAXIMETER_SERVER", server).env("TAXIMETER_TOKEN", &token);
                    charge.output().unwrap().status.success()
                })
                .count()
        });
        for day in ["monday", "tuesday", "wednesday"] {
            sandbox.done(&["backup", "create", day, "--ledger", "taximeter.db"]);
            sandbox.done(&["backup", "check", day]);
        }
        charging.join().unwrap()
    });
    assert_eq!(charges, 60);
    let last = sandbox.document(0, &["backup", "create", "thursday", "--ledger", "taximeter.db"]);
    assert_eq!(last["newest"]["sequence"], 2 + 60);
    sandbox.done(&["backup", "check", "thursday"]);
}
