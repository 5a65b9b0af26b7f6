//! Ledgers that were set back, and what becomes of what they forgot.

use crate::sandbox::{Sandbox, check_contains, text};

/// An old copy of the ledger is put back. Returns the receipts of what it has forgotten.
fn put_an_old_copy_back(sandbox: &Sandbox) -> String {
    let old = std::fs::read(sandbox.path("taximeter.db")).unwrap();
    let mut receipts = String::new();
    for arguments in [
        &["account", "create", "census/carol", "--budget", "0.5,1e-6"][..],
        &["charge", "census/carol", "--epsilon", "0.1", "--note", "naïve \"quotes\" \\ and 💡"],
        &["charge", "census/alice", "--cost", "{\"gaussian\":\"0.01\"}", "--cost", "{\"epsilon\":\"0.02\"}"],
        &["account", "close", "census/bob"],
    ] {
        receipts += &sandbox.done(&[arguments, &["--json"]].concat());
    }
    std::fs::write(sandbox.path("taximeter.db"), old).unwrap();
    receipts
}

#[test]
fn an_old_copy_that_is_put_back_does_not_open() {
    let sandbox = Sandbox::with_accounts();
    put_an_old_copy_back(&sandbox);
    for arguments in [
        &["charge", "census", "--epsilon", "0.1"][..],
        &["quote", "census", "--epsilon", "0.1"],
        &["account", "list"],
        &["account", "create", "new", "--budget", "1,1e-6"],
        &["history", "census"],
        &["ledger", "show"],
        &["export"],
        &["verify"],
    ] {
        let message = sandbox.fails(4, arguments);
        check_contains(&message, &["ends at record 3", "remembers record 7", "spent twice", "ledger restore --help"]);
    }
    let broken = sandbox.document(4, &["verify"]);
    assert_eq!(broken["whole"], false);
    check_contains(broken["reason"].as_str().unwrap(), &["ends at record 3"]);
    // The help says what it means and what to do.
    let help = sandbox.done(&["ledger", "restore", "--help"]);
    check_contains(&help, &["--receipts", "--accept-loss", "exhausted", "another disk", "restored together"]);
}

#[test]
fn receipts_bring_back_exactly_what_was_forgotten() {
    let sandbox = Sandbox::with_accounts();
    let receipts = put_an_old_copy_back(&sandbox);
    let lines: Vec<&str> = receipts.lines().collect();
    std::fs::write(sandbox.path("some.jsonl"), format!("{}\n{}\n", lines[0], lines[3])).unwrap();
    check_contains(
        &sandbox.fails(2, &["ledger", "restore", "--receipts", "some.jsonl"]),
        &["2 of the records 4 to 7 are missing", "record 5"],
    );
    let forged = receipts.replace("\"0.1\"", "\"0.01\"");
    assert_ne!(forged, receipts);
    std::fs::write(sandbox.path("forged.jsonl"), forged).unwrap();
    check_contains(
        &sandbox.fails(4, &["ledger", "restore", "--receipts", "forged.jsonl"]),
        &["record 5", "nothing was restored"],
    );
    std::fs::write(sandbox.path("noise.jsonl"), "{\"a\":1}\n").unwrap();
    check_contains(&sandbox.fails(2, &["ledger", "restore", "--receipts", "noise.jsonl"]), &["line 1"]);

    let all: Vec<&str> = lines.into_iter().rev().collect();
    std::fs::write(sandbox.path("receipts.jsonl"), all.join("\n")).unwrap();
    let restored = sandbox.document(0, &["ledger", "restore", "--receipts", "receipts.jsonl"]);
    assert_eq!((restored["records"].as_u64(), restored["exhausted"].as_u64()), (Some(4), Some(0)));
    assert_eq!(sandbox.document(0, &["account", "show", "census/carol"])["charges"], 1);
    assert_eq!(sandbox.document(0, &["account", "show", "census/bob"])["standing"], "closed");
    check_contains(&sandbox.done(&["verify"]), &["8 records, 4 accounts: whole"]);
    sandbox.charge("census/carol", "0.1");
}

#[test]
fn a_refusal_that_closed_an_account_is_a_receipt_too() {
    let sandbox = Sandbox::new();
    sandbox.done(&["account", "create", "census", "--budget", "1,1e-6", "--on-halt", "stop"]);
    let old = std::fs::read(sandbox.path("taximeter.db")).unwrap();
    let receipt = sandbox.ends(3, &["charge", "census", "--epsilon", "2", "--json"]);
    std::fs::write(sandbox.path("taximeter.db"), old).unwrap();
    sandbox.fails(4, &["account", "list"]);
    std::fs::write(sandbox.path("receipts.jsonl"), receipt).unwrap();
    sandbox.done(&["ledger", "restore", "--receipts", "receipts.jsonl"]);
    assert_eq!(sandbox.document(0, &["account", "show", "census"])["standing"], "halted");
}

#[test]
fn accepting_a_loss_exhausts_every_account() {
    let sandbox = Sandbox::with_accounts();
    put_an_old_copy_back(&sandbox);
    let said = sandbox.done(&["ledger", "restore", "--accept-loss", "--by", "owner", "--note", "disk failed"]);
    check_contains(&said, &["3 accounts are exhausted", "record 4"]);
    check_contains(
        &sandbox.ends(3, &["charge", "census", "--epsilon", "0.001"]),
        &["exhausted", "nothing: an account is not open"],
    );
    let shown = sandbox.document(0, &["account", "show", "census"]);
    assert_eq!(shown["standing"], "exhausted");
    assert!(shown["reading"].is_null());
    assert!(shown["reading_reason"].as_str().unwrap().contains("not known"));
    assert_eq!(shown["filter"]["left"]["share"], 0.0);
    check_contains(&sandbox.done(&["history", "census"]), &["restore", "disk failed", "unknown"]);
    check_contains(&sandbox.done(&["account", "list"]), &["unknown", "exhausted"]);
    sandbox.done(&["verify"]);
    sandbox.done(&["account", "create", "fresh", "--budget", "0.1,1e-6"]);
    sandbox.charge("fresh", "0.05");
}

#[test]
fn a_lost_witness_is_noticed() {
    let sandbox = Sandbox::with_accounts();
    std::fs::remove_file(sandbox.path("taximeter.db.witness")).unwrap();
    check_contains(
        &sandbox.fails(4, &["charge", "census", "--epsilon", "0.1"]),
        &["is missing", "ledger restore --help"],
    );
    let other = Sandbox::with_accounts();
    std::fs::copy(other.path("taximeter.db.witness"), sandbox.path("taximeter.db.witness")).unwrap();
    check_contains(&sandbox.fails(4, &["account", "list"]), &["belongs to the ledger", "name the right witness"]);
}

/// Once a place that could not be read was passed over without a word.
#[test]
fn a_damaged_place_of_the_witness_is_a_warning_until_the_next_charge() {
    let sandbox = Sandbox::with_accounts();
    sandbox.charge("census", "0.1");
    let path = sandbox.path("taximeter.db.witness");
    let mut bytes = std::fs::read(&path).unwrap();
    let line = |at: usize| String::from_utf8_lossy(&bytes[at..at + 200]).into_owned();
    let newest = if line(0).contains(" 4 ") { 0 } else { 4096 };
    assert!(line(newest).contains(" 4 "), "the place of the newest record: {}", line(newest));
    bytes[newest + 30] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let warning = "one of the two slots of the witness cannot be read";
    for arguments in [&["verify"][..], &["account", "list"], &["verify", "--json"]] {
        let output = sandbox.run(arguments);
        assert!(output.status.success(), "{}", text(&output));
        check_contains(&String::from_utf8(output.stderr).unwrap(), &["warning: ", warning]);
    }
    check_contains(sandbox.document(0, &["verify"])["warning"].as_str().unwrap(), &[warning]);
    let charged = sandbox.run(&["charge", "census", "--epsilon", "0.1"]);
    check_contains(&String::from_utf8(charged.stderr).unwrap(), &[warning]);
    assert!(sandbox.document(0, &["verify"])["warning"].is_null());
    assert!(sandbox.run(&["account", "list"]).stderr.is_empty());
}
