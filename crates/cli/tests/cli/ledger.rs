//! Budgets that last, as one uses them at the command line.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::desk::{Desk, at_both_desks, check_contains, text};
use serde_json::Value;

at_both_desks! {
    tell_the_story,
    a_list_of_costs_is_paid_as_a_whole,
    a_quote_says_what_fits_and_writes_nothing,
    an_account_that_is_set_to_stop_says_so,
    an_infinite_reading_is_null_with_a_reason,
    costs_about_something_else_are_errors,
    bad_input_is_told_with_its_value_and_changes_nothing,
    processes_that_charge_one_after_the_other_never_overspend,
    an_export_is_a_ledger_again,
    a_command_runs_once_for_a_fresh_receipt_and_never_for_an_old_one,
    what_is_likely_a_mistake_is_done_with_a_warning,
    a_delta_that_is_not_set_aside_is_refused_with_what_to_do,
}

/// The whole story, the same for every store.
fn tell_the_story(desk: &Desk) {
    let created = desk.run(&["account", "create", "census", "--budget", "1,1e-6", "--unit", "person"]);
    assert_eq!(created.status.code(), Some(0), "{}", text(&created));
    check_contains(
        &text(&created),
        &["made the ledger", "another disk", "census", "(1, 1e-6)-DP", "one person added or removed"],
    );
    let created = desk.document(0, &["account", "create", "census/alice", "--budget", "0.5,1e-6"]);
    assert_eq!(created["outcome"], "opened");
    assert_eq!(created["ledger_created"], false);
    assert_eq!(created["account"]["unit"], "person", "the unit of a tree is that of its root");
    assert_eq!(created["account"]["neighbours"], "add-remove");
    assert_eq!(created["record"]["sequence"], 2);
    desk.done(&["account", "create", "telemetry", "--no-budget", "--at-delta", "1e-6"]);

    let quote = desk.document(0, &["quote", "census/alice", "--epsilon", "0.1"]);
    assert_eq!(quote["verdict"], "admitted");
    assert_eq!(quote["accounts"][0]["account"], "census");
    assert!(quote["accounts"][1]["reading_after"].as_f64().unwrap() >= 0.1);

    let arguments =
        ["charge", "census/alice", "--epsilon", "0.1", "--key", "k1", "--by", "owner", "--note", "für Ägypten"];
    let charged = desk.document(0, &arguments);
    assert_eq!(charged["outcome"], "charged");
    assert_eq!(charged["key"], "k1");
    assert_eq!(charged["sequence"], 4);
    assert_eq!(charged["record"]["event"]["charge"]["by"], "owner");
    assert_eq!(charged["accounts"].as_array().unwrap().len(), 2, "both pay");
    for paid in charged["accounts"].as_array().unwrap() {
        assert!(paid["reading"].as_f64().unwrap() >= 0.1);
        assert!(paid["left"].as_f64().unwrap() < 1.0);
        assert!(paid["guarantee"].as_str().unwrap().contains("1e-6"));
        assert_eq!(paid["unit"], "person");
        assert_eq!(paid["neighbours"], "add-remove");
    }

    let again = desk.document(6, &arguments);
    assert_eq!(again["outcome"], "replayed");
    assert_eq!(again["hash"], charged["hash"]);
    check_contains(&desk.ends(6, &arguments), &["charged before", "nothing was charged now"]);
    check_contains(&desk.fails(2, &["charge", "census", "--epsilon", "0.1", "--key", "k1"]), &["k1", "new key"]);

    let refused = desk.document(3, &["charge", "census/alice", "--epsilon", "0.45"]);
    assert_eq!(refused["outcome"], "refused");
    assert_eq!(refused["refused"][0]["account"], "census/alice");
    assert_eq!(refused["asked"][0]["epsilon"], "0.45");
    let fits = refused["fits"][0]["epsilon"].as_str().unwrap().to_string();
    assert_eq!(desk.document(3, &["quote", "census/alice", "--epsilon", "0.45"])["fits"], refused["fits"]);
    let words = desk.ends(3, &["charge", "census/alice", "--epsilon", "0.45"]);
    check_contains(&words, &["refused", "census/alice: the budget does not admit it", "on all accounts"]);
    desk.charge("census/alice", &fits);

    let reads = desk.document(0, &["charge", "telemetry", "--zcdp", "100"]);
    assert!(reads["accounts"][0]["left"].is_null());

    let history = desk.document(0, &["history", "census", "--limit", "2"]);
    let whats: Vec<_> = history["records"].as_array().unwrap().iter().map(|record| &record["what"]).collect();
    assert_eq!(whats, ["charge", "charge"]);
    let next = history["next"].as_u64().unwrap().to_string();
    let words = desk.done(&["history", "census", "--from", &next]);
    check_contains(&words, &["open", "budget (1, 1e-6) by residue"]);
    check_contains(&desk.done(&["history", "census"]), &["für Ägypten", "to census/alice", "owner"]);
    let more = desk.run(&["history", "census", "--limit", "1"]);
    check_contains(&text(&more), &["there is more: taximeter history census --from 4"]);

    check_contains(&desk.done(&["verify"]), &["7 records, 3 accounts: whole", "remembers record 6"]);
    let shown = desk.document(0, &["ledger", "show"]);
    assert_eq!((shown["records"].as_u64(), shown["accounts"].as_u64()), (Some(7), Some(3)));
    assert_eq!(shown["witness"]["remembers"], shown["newest"]);

    desk.done(&["account", "close", "census", "--by", "owner"]);
    let refused = desk.document(3, &["charge", "census/alice", "--epsilon", "1e-9"]);
    assert!(refused["refused"][0]["reason"].as_str().unwrap().contains("closed"));
    assert!(refused["fits"].is_null());
    let list = desk.document(0, &["account", "list"]);
    let accounts: Vec<_> = list["accounts"].as_array().unwrap().iter().map(|account| &account["account"]).collect();
    assert_eq!(accounts, ["census", "census/alice", "telemetry"]);
    assert_eq!(list["accounts"][1]["blocked_by"], "census");
    check_contains(&desk.done(&["account", "list"]), &["  alice", "census is closed", "telemetry"]);
    let shown = desk.document(0, &["account", "show", "census/alice"]);
    assert_eq!(shown["charges"], 2);
    assert_eq!(shown["filter"]["rule"], "residue");
    assert_eq!(shown["filter"]["budget"]["epsilon"], "0.5");
    assert!(shown["filter"]["spent"]["epsilon"].as_str().unwrap().starts_with("0."));
    assert_eq!(shown["odometer"]["at_delta"], "1e-6");
    assert!(desk.document(0, &["verify"])["whole"].as_bool().unwrap());
    let is_in_a_file = desk.ledger.is_none();
    assert_eq!(desk.path("taximeter.db").exists() && desk.path("taximeter.db.witness").exists(), is_in_a_file);
}

/// A script that read exit code 0 as "charged" drew new noise for an old charge.
fn a_command_runs_once_for_a_fresh_receipt_and_never_for_an_old_one(desk: &Desk) {
    desk.make_accounts();
    let run = |key: &str, epsilon: &str, command: &[&str]| {
        let charge = ["charge", "census/alice", "--epsilon", epsilon, "--key", key, "--run", "--"];
        desk.run(&[&charge[..], command].concat())
    };
    let mechanism = ["sh", "-c", "echo noise; echo ran >> ran.txt; printf %s \"$TAXIMETER_RECEIPT\" > receipt; exit 7"];
    let ran = || std::fs::read_to_string(desk.path("ran.txt")).unwrap_or_default().lines().count();
    let charges = || desk.document(0, &["account", "show", "census/alice"])["charges"].as_u64().unwrap();

    let fresh = run("k1", "0.1", &mechanism);
    assert_eq!(fresh.status.code(), Some(7), "the status of the command is passed on: {}", text(&fresh));
    assert_eq!(String::from_utf8_lossy(&fresh.stdout), "noise\n", "the output is the command's own");
    check_contains(&text(&fresh), &["charged", "ε = 0.1", "k1"]);
    let receipt: Value = serde_json::from_slice(&std::fs::read(desk.path("receipt")).unwrap()).unwrap();
    assert_eq!((&receipt["outcome"], &receipt["key"]), (&"charged".into(), &"k1".into()));
    assert_eq!((ran(), charges()), (1, 1));

    let again = run("k1", "0.1", &mechanism);
    assert_eq!(again.status.code(), Some(6), "{}", text(&again));
    assert!(again.stdout.is_empty());
    check_contains(&text(&again), &["charged before", "was not run"]);
    let refused = run("k2", "0.45", &mechanism);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused));
    assert_eq!((ran(), charges()), (1, 1), "neither of them ran");

    let missing = run("k3", "0.1", &["no-such-program"]);
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing));
    check_contains(&text(&missing), &["no-such-program", "nothing was charged"]);
    assert_eq!(charges(), 1);
    // A file that may not be executed is no program.
    std::fs::write(desk.path("mean.sh"), "echo noise\n").unwrap();
    let unready = run("k5", "0.1", &["./mean.sh"]);
    assert_eq!(unready.status.code(), Some(2), "{}", text(&unready));
    check_contains(&text(&unready), &["./mean.sh may not be executed", "nothing was charged"]);
    assert_eq!(charges(), 1);
    #[cfg(unix)]
    assert_eq!(run("k4", "0.01", &["sh", "-c", "kill -TERM $$"]).status.code(), Some(128 + 15));
    desk.fails(2, &["charge", "census", "--epsilon", "0.1", "--run"]);
    desk.fails(2, &["charge", "census", "--epsilon", "0.1", "--", "true"]);
}

fn a_delta_that_is_not_set_aside_is_refused_with_what_to_do(desk: &Desk) {
    desk.make_accounts();
    let cost = r#"{"epsilon":"0.1","delta":"1e-9"}"#;
    for command in ["charge", "quote"] {
        let told = desk.ends(3, &[command, "census/alice", "--cost", cost]);
        check_contains(
            &told,
            &["nothing of the budget's delta is set aside", "`account create` with --mechanism-delta"],
        );
    }
}

fn what_is_likely_a_mistake_is_done_with_a_warning(desk: &Desk) {
    desk.make_accounts();
    let warned = |arguments: &[&str]| {
        let output = desk.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        String::from_utf8(output.stderr).unwrap()
    };
    let token = ["token", "create", "carol", "--role", "analyst"];
    let told = warned(&[&token[..], &["--account", "census/carol", "--dataset", "census"]].concat());
    check_contains(&told, &["warning: there is no account census/carol yet"]);
    assert!(!told.contains("warning: there is no account census yet"), "{told}");
    let told = warned(&[&token[..], &["--account", "census/alice", "--dataset", "wards"]].concat());
    check_contains(&told, &["warning: there is no dataset wards yet"]);
    assert!(!warned(&[&token[..], &["--account", "census/alice"]].concat()).contains("warning"));

    let told = warned(&["account", "create", "census/dora", "--budget", "2,1e-6"]);
    check_contains(&told, &["warning", "(2, 1e-6)", "census", "(1, 1e-6)"]);
    let told = warned(&["account", "create", "census/emil", "--budget", "0.5,1e-3"]);
    check_contains(&told, &["warning", "(0.5, 0.001)"]);
    // One without a budget stands between.
    desk.done(&["account", "create", "census/group", "--no-budget", "--at-delta", "1e-6"]);
    check_contains(&warned(&["account", "create", "census/group/fay", "--budget", "3,1e-6"]), &["warning", "census"]);
    assert!(!warned(&["account", "create", "census/gus", "--budget", "1,1e-6"]).contains("warning"));
    // A dataset and its analysts have accounts too.
    std::fs::write(desk.path("people.csv"), "age\n30\n").unwrap();
    let add = ["dataset", "add", "census/people", "people.csv", "--unit", "row", "--budget", "5,1e-6"];
    check_contains(&warned(&add), &["warning", "census/people, (5, 1e-6), is above that of census, (1, 1e-6)"]);
    let told = warned(&["dataset", "add", "census/people", "--analyst", "ida", "--budget", "6,1e-6"]);
    check_contains(&told, &["warning", "census/people/ida, (6, 1e-6), is above that of census/people, (5, 1e-6)"]);
    // A program reads them in the document.
    let opened = desk.document(0, &["account", "create", "census/hal", "--budget", "2,1e-6"]);
    assert_eq!(opened["warnings"].as_array().unwrap().len(), 1, "{opened}");
    assert!(desk.document(0, &["account", "create", "census/ivy", "--budget", "1,1e-6"])["warnings"].is_null());
}

#[cfg(feature = "server-tests")]
#[test]
fn the_whole_story_in_postgresql() {
    let url = taximeter_testing::PrivatePostgres::shared().new_database().unwrap();
    let desk = Desk { ledger: Some(url.clone()), ..Desk::new() };
    tell_the_story(&desk);
    assert!(!desk.path("taximeter.db").exists());
    let password = url.split(['/', ':', '@']).nth(4).unwrap();
    let said = [text(&desk.run(&["ledger", "show"])), text(&desk.run(&["ledger", "show", "--help"]))].concat();
    assert!(!password.is_empty() && !said.contains(password), "{said}");

    // What was exported there is the same ledger in a file.
    desk.done(&["export", "--output", "export.jsonl"]);
    desk.done(&["import", "export.jsonl", "--ledger", "copy.db"]);
    check_contains(&desk.done(&["verify", "--ledger", "copy.db"]), &["8 records, 3 accounts: whole"]);
}

#[test]
fn the_ledger_is_where_the_environment_or_a_flag_says() {
    let desk = Desk { ledger: Some("elsewhere.db".to_string()), ..Desk::new() };
    desk.make_accounts();
    assert!(desk.path("elsewhere.db").exists() && !desk.path("taximeter.db").exists());
    desk.done(&["account", "create", "a", "--budget", "1,1e-6", "--ledger", "here.db", "--witness", "there.witness"]);
    assert!(desk.path("there.witness").exists() && !desk.path("here.db.witness").exists());
    assert_eq!(desk.document(0, &["account", "list"])["accounts"].as_array().unwrap().len(), 3);
    check_contains(&desk.fails(4, &["verify", "--ledger", "here.db"]), &["here.db.witness is missing"]);
    let mut verify = desk.command(&["verify", "--ledger", "here.db"]);
    assert!(verify.env("TAXIMETER_WITNESS", "there.witness").output().unwrap().status.success());
    // An empty variable is as good as none.
    let mut list = desk.command(&["account", "list"]);
    check_contains(&text(&list.env("TAXIMETER_LEDGER", "").output().unwrap()), &["there is no ledger at taximeter.db"]);
}

fn a_list_of_costs_is_paid_as_a_whole(desk: &Desk) {
    desk.make_accounts();
    let costs = [
        "--cost",
        r#"{"epsilon":"0.01"}"#,
        "--cost",
        r#"{"laplace":{"scale":"50","sensitivity":"1"}}"#,
        "--gaussian",
        "0.01",
    ];
    let charged = desk.document(0, &[&["charge", "census/alice", "census/bob"], &costs[..]].concat());
    assert_eq!(charged["record"]["event"]["charge"]["costs"].as_array().unwrap().len(), 3);
    assert_eq!(charged["accounts"].as_array().unwrap().len(), 3, "each pays once");
    let large = ["--cost", r#"{"epsilon":"0.3"}"#, "--cost", r#"{"epsilon":"0.6"}"#];
    let refused = desk.document(3, &[&["charge", "census"], &large[..]].concat());
    assert_eq!(refused["asked"].as_array().unwrap().len(), 2);
    assert_eq!(refused["fits"].as_array().unwrap().len(), 2);
    check_contains(&desk.fails(2, &["charge", "census"]), &["a cost is missing"]);
}

fn a_quote_says_what_fits_and_writes_nothing(desk: &Desk) {
    desk.make_accounts();
    let quote = desk.document(0, &["quote", "census", "--epsilon", "0.9"]);
    assert_eq!((&quote["verdict"], &quote["count"]), (&Value::from("admitted"), &Value::from(1)));
    let sampled = desk.fails(2, &["quote", "census", "--sampled-gaussian", "rate=0.01,sigma=1.1,steps=10"]);
    check_contains(&sampled, &["census", "renyi"]);
    assert_eq!(desk.document(0, &["ledger", "show"])["records"], 4, "a quote writes nothing");
}

fn an_account_that_is_set_to_stop_says_so(desk: &Desk) {
    desk.done(&["account", "create", "census", "--budget", "1,1e-6", "--on-halt", "stop", "--max-cost", "0.95"]);
    check_contains(&desk.ends(3, &["charge", "census", "--epsilon", "2"]), &["a single cost may be at most 0.95"]);
    desk.charge("census", "0.9");
    check_contains(&desk.ends(3, &["charge", "census", "--epsilon", "0.9"]), &["halted for good now"]);
    check_contains(&desk.ends(3, &["charge", "census", "--epsilon", "1e-9"]), &["nothing: an account is not open"]);
    check_contains(&desk.done(&["account", "show", "census"]), &["halted", "its first halt is for good"]);
    check_contains(&desk.done(&["history", "census"]), &["halt "]);
}

fn an_infinite_reading_is_null_with_a_reason(desk: &Desk) {
    desk.done(&["account", "create", "census", "--budget", "1,1e-6", "--rule", "basic"]);
    let charged = desk.document(0, &["charge", "census", "--epsilon", "0.1", "--delta", "1e-9"]);
    assert!(charged["accounts"][0]["reading"].is_null());
    assert!(charged["accounts"][0]["reading_reason"].as_str().unwrap().contains("nothing is set aside"));
    check_contains(&desk.done(&["account", "show", "census"]), &["∞", "--mechanism-delta"]);
}

fn costs_about_something_else_are_errors(desk: &Desk) {
    desk.make_accounts();
    desk.done(&["account", "create", "wards", "--budget", "1,1e-6", "--neighbours", "substitute"]);
    check_contains(
        &desk.fails(2, &["charge", "census", "--epsilon", "0.1", "--unit", "person"]),
        &["person", "record"],
    );
    let message = desk.fails(2, &["charge", "census", "--epsilon", "0.1", "--neighbours", "substitute"]);
    check_contains(&message, &["substitute", "add-remove"]);
    check_contains(&desk.fails(2, &["charge", "census", "wards", "--epsilon", "0.1"]), &["separately"]);
    check_contains(&desk.fails(2, &["charge", "census", "--zcdp", "0.1"]), &["account census", "zcdp, renyi"]);
    let message = desk.fails(2, &["account", "create", "census/x", "--budget", "1,1e-6", "--unit", "person"]);
    check_contains(&message, &["one person", "one record"]);
}

/// What is in the folder, to see that nothing changed.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

fn bad_input_is_told_with_its_value_and_changes_nothing(desk: &Desk) {
    desk.make_accounts();
    let before = desk.document(0, &["verify"]);
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
    for (arguments, parts) in cases.into_iter().chain((!desk.has_server()).then_some(restore)) {
        let message = desk.fails(2, &arguments);
        check_contains(&message, parts);
        assert!(message.len() < 2000, "{arguments:?}: {} bytes", message.len());
    }
    assert_eq!(desk.document(0, &["verify"]), before);
}

#[test]
fn what_cannot_be_done_makes_no_ledger() {
    let desk = Desk::new();
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
        desk.fails(2, arguments);
    }
    assert!(contents(desk.folder.path()).is_empty(), "{:?}", contents(desk.folder.path()).keys());
    std::fs::write(desk.path("taximeter.db"), "a letter to my aunt, which is certainly not a database of any kind")
        .unwrap();
    check_contains(&desk.fails(2, &["account", "list"]), &["is not a ledger"]);
    check_contains(&desk.fails(2, &["account", "create", "a", "--budget", "1,1e-6"]), &["is not a ledger"]);
}

#[test]
fn a_second_writer_waits_and_gives_up_while_readers_go_on() {
    let desk = Desk::with_accounts();
    let lock = File::options().write(true).open(desk.path("taximeter.db.lock")).unwrap();
    lock.lock().unwrap();
    for arguments in [&["account", "list"][..], &["verify"], &["history", "census"], &["ledger", "show"], &["export"]] {
        desk.done(arguments);
    }
    desk.done(&["quote", "census", "--epsilon", "0.1"]);
    let started = Instant::now();
    check_contains(&desk.fails(1, &["charge", "census", "--epsilon", "0.1"]), &["another process", "PostgreSQL"]);
    assert!(started.elapsed() >= Duration::from_secs(5), "{:?}", started.elapsed());

    // Whoever ends in time is waited for.
    let waiting = std::thread::scope(|scope| {
        let charge = scope.spawn(|| desk.run(&["charge", "census", "--epsilon", "0.1"]));
        std::thread::sleep(Duration::from_millis(500));
        lock.unlock().unwrap();
        charge.join().unwrap()
    });
    assert_eq!(waiting.status.code(), Some(0), "{}", text(&waiting));
}

fn processes_that_charge_one_after_the_other_never_overspend(desk: &Desk) {
    desk.make_accounts();
    let outcomes: Vec<i32> = std::thread::scope(|scope| {
        // A command that has waited for the others for five seconds gives up, and is run again.
        let charge = || loop {
            let output = desk.run(&["charge", "census/bob", "--epsilon", "0.09"]);
            if !text(&output).contains("another process writes") {
                return output.status.code();
            }
        };
        let charges: Vec<_> = (0..8).map(|_| scope.spawn(charge)).collect();
        charges.into_iter().map(|charge| charge.join().unwrap().unwrap()).collect()
    });
    let paid = outcomes.iter().filter(|code| **code == 0).count();
    assert_eq!(outcomes.iter().filter(|code| **code == 3).count(), outcomes.len() - paid, "{outcomes:?}");
    assert_eq!(desk.document(0, &["account", "show", "census/bob"])["charges"], paid);
    desk.done(&["verify"]);
}

fn an_export_is_a_ledger_again(desk: &Desk) {
    desk.make_accounts();
    desk.charge("census/alice", "0.1");
    let export = desk.done(&["export"]);
    assert_eq!(export.lines().count(), 6, "five records and the end");
    let written = desk.document(0, &["export", "--output", "export.jsonl"]);
    assert_eq!(written["records"], 5);
    assert_eq!(std::fs::read_to_string(desk.path("export.jsonl")).unwrap(), export);

    let imported = desk.document(0, &["import", "export.jsonl", "--ledger", "copy.db"]);
    assert_eq!((imported["records"].as_u64(), imported["accounts"].as_u64()), (Some(5), Some(3)));
    let copy = ["--ledger", "copy.db"];
    check_contains(&desk.done(&[&["verify"], &copy[..]].concat()), &["5 records, 3 accounts: whole"]);
    let list = |more: &[&str]| desk.document(0, &[&["account", "list"], more].concat());
    assert_eq!(list(&copy), list(&[]));
    check_contains(
        &desk.fails(2, &["import", "export.jsonl", "--ledger", "copy.db"]),
        &["a ledger already exists at copy.db"],
    );

    let mut piped = desk.command(&["import", "-", "--ledger", "piped.db"]);
    let output = piped.write_stdin(export.clone()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    check_contains(&text(&output), &["imported 5 records, 3 accounts", "the same ledger"]);

    let cut: String = export.lines().take(4).map(|line| format!("{line}\n")).collect();
    let altered = export.replace("\"0.1\"", "\"0.2\"");
    for (bad, code, part) in [(cut, 2, "cut off"), (altered, 4, "record 4"), (String::new(), 2, "cut off")] {
        let output = desk.command(&["import", "-", "--ledger", "bad.db"]).write_stdin(bad).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        check_contains(&text(&output), &[part]);
        desk.fails(2, &["account", "list", "--ledger", "bad.db"]);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let desk = Desk::with_accounts();
    (0..40).for_each(|_| drop(desk.charge("census", "0.001")));
    let program = assert_cmd::cargo::cargo_bin("taximeter");
    let script = format!("{} export 2>&1 | head -n 1; exit ${{PIPESTATUS[0]}}", program.display());
    let output =
        std::process::Command::new("bash").args(["-c", &script]).current_dir(desk.folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn tampering_is_found_and_named() {
    let desk = Desk::with_accounts();
    (0..5).for_each(|_| drop(desk.charge("census/alice", "0.01")));
    let good = std::fs::read(desk.path("taximeter.db")).unwrap();
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
        let connection = rusqlite::Connection::open(desk.path("taximeter.db")).unwrap();
        assert_eq!(connection.execute(statement, []).unwrap(), 1, "{statement}");
        connection.close().unwrap();
        let message = desk.fails(4, &["verify"]);
        check_contains(&message, parts);
        let broken = desk.document(4, &["verify"]);
        assert_eq!(broken["whole"], false, "{statement}");
        std::fs::write(desk.path("taximeter.db"), &good).unwrap();
        desk.done(&["verify"]);
    }
}

#[test]
fn what_verify_finds_stops_charges_until_the_alarm_is_cleared() {
    let desk = Desk::with_accounts();
    (0..5).for_each(|_| drop(desk.charge("census/alice", "0.01")));
    let connection = rusqlite::Connection::open(desk.path("taximeter.db")).unwrap();
    connection.execute("UPDATE journal SET hash = zeroblob(32) WHERE sequence = 5", []).unwrap();
    connection.close().unwrap();
    check_contains(&desk.fails(4, &["verify"]), &["record 5", "ledger clear-alarm"]);
    let message = desk.fails(4, &["charge", "census", "--epsilon", "0.1"]);
    check_contains(&message, &["alarm", "record 5", "`ledger clear-alarm`"]);
    desk.done(&["account", "list"]);
    check_contains(&desk.done(&["ledger", "clear-alarm"]), &["cleared the alarm", "record 5"]);
    desk.charge("census/alice", "0.01");
    assert!(desk.document(0, &["ledger", "clear-alarm"])["cleared"].is_null());
}

#[test]
fn a_broken_ledger_does_not_open() {
    let desk = Desk::with_accounts();
    let connection = rusqlite::Connection::open(desk.path("taximeter.db")).unwrap();
    connection.execute("UPDATE accounts SET state = (SELECT state FROM accounts WHERE number = 0)", []).unwrap();
    connection.close().unwrap();
    for arguments in [&["charge", "census", "--epsilon", "0.1"][..], &["account", "list"], &["ledger", "show"]] {
        check_contains(&desk.fails(4, arguments), &["run `verify`"]);
    }
}

#[test]
fn the_help_groups_the_commands_and_has_examples() {
    let desk = Desk::new();
    check_contains(
        &desk.done(&["--help"]),
        &["Budgets that last:", "The ledger's keeper:", "Charge costs", "Exit codes"],
    );
    for command in [
        &["account", "create"][..],
        &["account", "list"],
        &["account", "show"],
        &["account", "close"],
        &["charge"],
        &["quote"],
        &["history"],
        &["verify"],
        &["export"],
        &["import"],
        &["ledger", "show"],
        &["ledger", "restore"],
        &["ledger", "clear-alarm"],
    ] {
        check_contains(&desk.done(&[command, &["--help"]].concat()), &["Example", "--ledger", "--witness", "--json"]);
    }
}
