//! Bad input to the commands of a ledger, and where the ledger is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::sandbox::{Sandbox, check_contains, here_and_at_a_server, text};

here_and_at_a_server! {
    bad_input_is_told_with_its_value_and_changes_nothing,
}

fn bad_input_is_told_with_its_value_and_changes_nothing(sandbox: &Sandbox) {
    sandbox.make_accounts();
    let before = sandbox.document(0, &["verify"]);
    let many_digits = format!("0.{}x", "1".repeat(100_000));
    let (long_key, long_note) = ("k".repeat(129), "n".repeat(1025));
    let long_name = "x".repeat(65);
    let charge = |value: &'static str| vec!["charge", "census", "--epsilon", value];
    let with = |flag: &'static str, value: &'static str| vec!["charge", "census", "--epsilon", "0.1", flag, value];
    let named = |name: &'static str| vec!["charge", name, "--epsilon", "0.1"];
    let create = |more: &[&'static str]| [&["account", "create", "new"], more].concat();
    let cases: Vec<(Vec<&str>, &[&str])> = vec![
        (charge("NaN"), &["--epsilon", "NaN"]),
        (charge("inf"), &["--epsilon", "inf"]),
        (charge("-1"), &["--epsilon", "-1"]),
        (charge("1e400"), &["--epsilon", "1e400"]),
        (charge("0,1"), &["--epsilon", "0,1"]),
        (charge("٠.١"), &["--epsilon"]),
        (charge(""), &["--epsilon", "missing"]),
        (vec!["charge", "census", "--epsilon", &many_digits], &["--epsilon", "0.1111"]),
        (with("--delta", "1"), &["1"]),
        (with("--gaussian", "1"), &["are two costs"]),
        (vec!["charge", "census", "--cost", "{\"epsilon\":\"-3\"}"], &["--cost", "-3"]),
        (vec!["charge", "census", "--cost", "{\"epsilon\":1,\"epsilon\":2}"], &["--cost", "twice"]),
        (vec!["charge", "census", "--cost", "0.1"], &["--cost", "not a cost in JSON"]),
        (named(""), &["\"\"", "empty"]),
        (named("../x"), &["\"../x\""]),
        (named("/etc/passwd"), &["/etc/passwd"]),
        (named("сensus"), &["сensus", "letter"]),
        (named("cen\nsus"), &["cen\\nsus"]),
        (named("nobody"), &["nobody", "account create"]),
        (named("census/nobody"), &["census/nobody"]),
        (named("1/2/3/4/5/6/7/8/9"), &["9 parts"]),
        (vec!["charge", &long_name, "--epsilon", "0.1"], &["at most 64"]),
        (with("--key", ""), &["the key is empty"]),
        (vec!["charge", "census", "--epsilon", "0.1", "--key", &long_key], &["129 bytes", "at most 128"]),
        (vec!["charge", "census", "--epsilon", "0.1", "--note", &long_note], &["1025 bytes", "at most 1024"]),
        (with("--note", "one\ntwo"), &["\\n", "control character"]),
        (with("--note", "\u{1b}[31mred"), &["\\u{1b}", "control character"]),
        (with("--by", "\u{7}"), &["control character"]),
        (with("--unit", "two words"), &["two words"]),
        (with("--neighbours", "friends"), &["friends", "add-remove"]),
        (create(&[]), &["--budget"]),
        (create(&["--budget", "1,1e-6", "--no-budget"]), &["--no-budget"]),
        (create(&["--budget", "NaN"]), &["--budget", "NaN"]),
        (create(&["--budget", "-1,1e-6"]), &["--budget", "-1"]),
        (create(&["--budget", "1,2"]), &["--budget", "2"]),
        (create(&["--budget", "1", "--rule", "zcdp"]), &["delta above 0"]),
        (create(&["--budget", "1e400,1e-6"]), &["--budget", "1e400"]),
        (create(&["--budget", "1,1e-6", "--order", "2"]), &["--order"]),
        (create(&["--budget", "1,1e-6", "--mechanism-delta", "1"]), &["set aside"]),
        (create(&["--no-budget"]), &["--at-delta"]),
        (create(&["--no-budget", "--at-delta", "1e-6", "--rule", "zcdp"]), &["--rule"]),
        (create(&["--no-budget", "--at-delta", "2"]), &["2"]),
        (create(&["--budget", "1,1e-6", "--unit", ""]), &["unit"]),
        (vec!["account", "create", "census", "--budget", "1,1e-6"], &["account census already exists"]),
        (vec!["account", "create", "no/child", "--budget", "1,1e-6"], &["create no first"]),
        (vec!["account", "show", "nobody"], &["nobody"]),
        (vec!["account", "close", "../x"], &["../x"]),
        (vec!["history", "nobody"], &["nobody"]),
        (vec!["history", "census", "--limit", "0"], &["0"]),
        (vec!["history", "census/bob", "--from", "2"], &["record 2 is not about account census/bob"]),
        (vec!["history", "census", "--from", "-3"], &["-3"]),
        (vec!["quote", "census", "--epsilon", "NaN"], &["NaN"]),
        (vec!["export", "--json"], &["--output"]),
        (vec!["export", "--output", "taximeter.db"], &["taximeter.db already"]),
        (vec!["import", "nowhere.jsonl", "--ledger", "other.db"], &["nowhere.jsonl"]),
        (vec!["ledger", "restore"], &["--receipts", "--accept-loss"]),
        (vec!["ledger", "restore", "--receipts", "x", "--by", "me"], &["--by"]),
        (vec!["ledger", "restore", "--receipts", "nowhere", "--ledger", "taximeter.db"], &["nowhere"]),
        (vec!["verify", "--ledger", ""], &["empty"]),
        (vec!["verify", "--ledger", "."], &["folder"]),
    ];
    // Where a server has the ledger, others may not write to it.
    let restore: (Vec<&str>, &[&str]) = (vec!["ledger", "restore", "--accept-loss"], &["nothing to restore"]);
    for (arguments, parts) in cases.into_iter().chain((!sandbox.has_server()).then_some(restore)) {
        let message = sandbox.fails(2, &arguments);
        check_contains(&message, parts);
        assert!(message.len() < 2000, "{arguments:?}: {} bytes", message.len());
    }
    assert_eq!(sandbox.document(0, &["verify"]), before);
}

#[test]
fn what_cannot_be_done_makes_no_ledger() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["account", "create", "../x", "--budget", "1,1e-6"][..],
        &["account", "create", "census", "--budget", "1,1e-6", "--odometer", "advanced", "--n", "1"],
        &["account", "create", "census", "--budget", "1,1e-6", "--rule", "renyi", "--order", "1"],
        &["account", "create", "census/alice", "--budget", "1,1e-6"],
        &["charge", "census", "--epsilon", "0.1"],
        &["quote", "census", "--epsilon", "0.1"],
        &["account", "list"],
        &["verify"],
        &["export"],
        &["ledger", "show"],
        &["ledger", "restore", "--accept-loss"],
    ] {
        sandbox.fails(2, arguments);
    }
    assert!(contents(sandbox.folder.path()).is_empty(), "{:?}", contents(sandbox.folder.path()).keys());
    std::fs::write(sandbox.path("taximeter.db"), "a letter to my aunt, which is certainly not a database of any kind")
        .unwrap();
    check_contains(&sandbox.fails(2, &["account", "list"]), &["is not a ledger"]);
    check_contains(&sandbox.fails(2, &["account", "create", "a", "--budget", "1,1e-6"]), &["is not a ledger"]);
}

#[test]
fn the_ledger_is_where_the_environment_or_a_flag_says() {
    let sandbox = Sandbox { ledger: Some("elsewhere.db".to_string()), ..Sandbox::new() };
    sandbox.make_accounts();
    assert!(sandbox.path("elsewhere.db").exists() && !sandbox.path("taximeter.db").exists());
    sandbox.done(&[
        "account",
        "create",
        "a",
        "--budget",
        "1,1e-6",
        "--ledger",
        "here.db",
        "--witness",
        "there.witness",
    ]);
    assert!(sandbox.path("there.witness").exists() && !sandbox.path("here.db.witness").exists());
    assert_eq!(sandbox.document(0, &["account", "list"])["accounts"].as_array().unwrap().len(), 3);
    check_contains(&sandbox.fails(4, &["verify", "--ledger", "here.db"]), &["here.db.witness is missing"]);
    let mut verify = sandbox.command(&["verify", "--ledger", "here.db"]);
    assert!(verify.env("TAXIMETER_WITNESS", "there.witness").output().unwrap().status.success());
    // An empty variable is as good as none.
    let mut list = sandbox.command(&["account", "list"]);
    check_contains(&text(&list.env("TAXIMETER_LEDGER", "").output().unwrap()), &["there is no ledger at taximeter.db"]);
}

/// What is in the folder, to see that nothing changed.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}
