//! `account`, `charge` and `quote`.

use serde_json::Value;

use crate::sandbox::{Sandbox, check_contains, here_and_at_a_server, text};

here_and_at_a_server! {
    tell_the_story,
    a_list_of_costs_is_paid_as_a_whole,
    a_quote_says_what_fits_and_writes_nothing,
    an_account_that_is_set_to_stop_says_so,
    an_infinite_reading_is_null_with_a_reason,
    costs_about_something_else_are_errors,
    processes_that_charge_one_after_the_other_never_overspend,
    a_command_runs_once_for_a_fresh_receipt_and_never_for_an_old_one,
    what_is_likely_a_mistake_is_done_with_a_warning,
    a_delta_that_is_not_set_aside_is_refused_with_what_to_do,
}

/// The whole story, the same for every store.
fn tell_the_story(sandbox: &Sandbox) {
    let created = sandbox.run(&["account", "create", "census", "--budget", "1,1e-6", "--unit", "person"]);
    assert_eq!(created.status.code(), Some(0), "{}", text(&created));
    check_contains(
        &text(&created),
        &["made the ledger", "another disk", "census", "(1, 1e-6)-DP", "one person added or removed"],
    );
    let created = sandbox.document(0, &["account", "create", "census/alice", "--budget", "0.5,1e-6"]);
    assert_eq!(created["outcome"], "opened");
    assert_eq!(created["ledger_created"], false);
    assert_eq!(created["account"]["unit"], "person", "the unit of a tree is that of its root");
    assert_eq!(created["account"]["neighbours"], "add-remove");
    assert_eq!(created["record"]["sequence"], 2);
    sandbox.done(&["account", "create", "telemetry", "--no-budget", "--at-delta", "1e-6"]);

    let quote = sandbox.document(0, &["quote", "census/alice", "--epsilon", "0.1"]);
    assert_eq!(quote["verdict"], "admitted");
    assert_eq!(quote["accounts"][0]["account"], "census");
    assert!(quote["accounts"][1]["reading_after"].as_f64().unwrap() >= 0.1);

    let arguments =
        ["charge", "census/alice", "--epsilon", "0.1", "--key", "k1", "--by", "owner", "--note", "für Ägypten"];
    let charged = sandbox.document(0, &arguments);
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

    let again = sandbox.document(6, &arguments);
    assert_eq!(again["outcome"], "replayed");
    assert_eq!(again["hash"], charged["hash"]);
    check_contains(&sandbox.ends(6, &arguments), &["charged before", "nothing was charged now"]);
    check_contains(&sandbox.fails(2, &["charge", "census", "--epsilon", "0.1", "--key", "k1"]), &["k1", "new key"]);

    let refused = sandbox.document(3, &["charge", "census/alice", "--epsilon", "0.45"]);
    assert_eq!(refused["outcome"], "refused");
    assert_eq!(refused["refused"][0]["account"], "census/alice");
    assert_eq!(refused["asked"][0]["epsilon"], "0.45");
    let fits = refused["fits"][0]["epsilon"].as_str().unwrap().to_string();
    assert_eq!(sandbox.document(3, &["quote", "census/alice", "--epsilon", "0.45"])["fits"], refused["fits"]);
    let words = sandbox.ends(3, &["charge", "census/alice", "--epsilon", "0.45"]);
    check_contains(&words, &["refused", "census/alice: the budget does not admit it", "on all accounts"]);
    sandbox.charge("census/alice", &fits);

    let reads = sandbox.document(0, &["charge", "telemetry", "--zcdp", "100"]);
    assert!(reads["accounts"][0]["left"].is_null());

    let history = sandbox.document(0, &["history", "census", "--limit", "2"]);
    let whats: Vec<_> = history["records"].as_array().unwrap().iter().map(|record| &record["what"]).collect();
    assert_eq!(whats, ["charge", "charge"]);
    let next = history["next"].as_u64().unwrap().to_string();
    let words = sandbox.done(&["history", "census", "--from", &next]);
    check_contains(&words, &["open", "budget (1, 1e-6) by residue"]);
    check_contains(&sandbox.done(&["history", "census"]), &["für Ägypten", "to census/alice", "owner"]);
    let more = sandbox.run(&["history", "census", "--limit", "1"]);
    check_contains(&text(&more), &["there is more: taximeter history census --from 4"]);

    check_contains(&sandbox.done(&["verify"]), &["7 records, 3 accounts: whole", "remembers record 6"]);
    let shown = sandbox.document(0, &["ledger", "show"]);
    assert_eq!((shown["records"].as_u64(), shown["accounts"].as_u64()), (Some(7), Some(3)));
    assert_eq!(shown["witness"]["remembers"], shown["newest"]);

    sandbox.done(&["account", "close", "census", "--by", "owner"]);
    let refused = sandbox.document(3, &["charge", "census/alice", "--epsilon", "1e-9"]);
    assert!(refused["refused"][0]["reason"].as_str().unwrap().contains("closed"));
    assert!(refused["fits"].is_null());
    let list = sandbox.document(0, &["account", "list"]);
    let accounts: Vec<_> = list["accounts"].as_array().unwrap().iter().map(|account| &account["account"]).collect();
    assert_eq!(accounts, ["census", "census/alice", "telemetry"]);
    assert_eq!(list["accounts"][1]["blocked_by"], "census");
    check_contains(&sandbox.done(&["account", "list"]), &["  alice", "census is closed", "telemetry"]);
    let shown = sandbox.document(0, &["account", "show", "census/alice"]);
    assert_eq!(shown["charges"], 2);
    assert_eq!(shown["filter"]["rule"], "residue");
    assert_eq!(shown["filter"]["budget"]["epsilon"], "0.5");
    assert!(shown["filter"]["spent"]["epsilon"].as_str().unwrap().starts_with("0."));
    assert_eq!(shown["odometer"]["at_delta"], "1e-6");
    assert!(sandbox.document(0, &["verify"])["whole"].as_bool().unwrap());
    let is_in_a_file = sandbox.ledger.is_none();
    assert_eq!(sandbox.path("taximeter.db").exists() && sandbox.path("taximeter.db.witness").exists(), is_in_a_file);
}

/// A script that read exit code 0 as "charged" drew new noise for an old charge.
fn a_command_runs_once_for_a_fresh_receipt_and_never_for_an_old_one(sandbox: &Sandbox) {
    sandbox.make_accounts();
    let run = |key: &str, epsilon: &str, command: &[&str]| {
        let charge = ["charge", "census/alice", "--epsilon", epsilon, "--key", key, "--run", "--"];
        sandbox.run(&[&charge[..], command].concat())
    };
    let mechanism = ["sh", "-c", "echo noise; echo ran >> ran.txt; printf %s \"$TAXIMETER_RECEIPT\" > receipt; exit 7"];
    let ran = || std::fs::read_to_string(sandbox.path("ran.txt")).unwrap_or_default().lines().count();
    let charges = || sandbox.document(0, &["account", "show", "census/alice"])["charges"].as_u64().unwrap();

    let fresh = run("k1", "0.1", &mechanism);
    assert_eq!(fresh.status.code(), Some(7), "the status of the command is passed on: {}", text(&fresh));
    assert_eq!(String::from_utf8_lossy(&fresh.stdout), "noise\n", "the output is the command's own");
    check_contains(&text(&fresh), &["charged", "ε = 0.1", "k1"]);
    let receipt: Value = serde_json::from_slice(&std::fs::read(sandbox.path("receipt")).unwrap()).unwrap();
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
    std::fs::write(sandbox.path("mean.sh"), "echo noise\n").unwrap();
    let unready = run("k5", "0.1", &["./mean.sh"]);
    assert_eq!(unready.status.code(), Some(2), "{}", text(&unready));
    check_contains(&text(&unready), &["./mean.sh may not be executed", "nothing was charged"]);
    assert_eq!(charges(), 1);
    #[cfg(unix)]
    assert_eq!(run("k4", "0.01", &["sh", "-c", "kill -TERM $$"]).status.code(), Some(128 + 15));
    sandbox.fails(2, &["charge", "census", "--epsilon", "0.1", "--run"]);
    sandbox.fails(2, &["charge", "census", "--epsilon", "0.1", "--", "true"]);
}

fn a_delta_that_is_not_set_aside_is_refused_with_what_to_do(sandbox: &Sandbox) {
    sandbox.make_accounts();
    let cost = r#"{"epsilon":"0.1","delta":"1e-9"}"#;
    for command in ["charge", "quote"] {
        let told = sandbox.ends(3, &[command, "census/alice", "--cost", cost]);
        check_contains(
            &told,
            &["no part of the budget's delta is set aside", "`account create` with --mechanism-delta"],
        );
    }
}

fn what_is_likely_a_mistake_is_done_with_a_warning(sandbox: &Sandbox) {
    sandbox.make_accounts();
    let warned = |arguments: &[&str]| {
        let output = sandbox.run(arguments);
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
    sandbox.done(&["account", "create", "census/group", "--no-budget", "--at-delta", "1e-6"]);
    check_contains(&warned(&["account", "create", "census/group/fay", "--budget", "3,1e-6"]), &["warning", "census"]);
    assert!(!warned(&["account", "create", "census/gus", "--budget", "1,1e-6"]).contains("warning"));
    // A dataset and its analysts have accounts too.
    std::fs::write(sandbox.path("people.csv"), "age\n30\n").unwrap();
    let add = ["dataset", "add", "census/people", "people.csv", "--unit", "row", "--budget", "5,1e-6"];
    check_contains(&warned(&add), &["warning", "census/people, (5, 1e-6), is above that of census, (1, 1e-6)"]);
    let told = warned(&["dataset", "add", "census/people", "--analyst", "ida", "--budget", "6,1e-6"]);
    check_contains(&told, &["warning", "census/people/ida, (6, 1e-6), is above that of census/people, (5, 1e-6)"]);
    // A program reads them in the document.
    let opened = sandbox.document(0, &["account", "create", "census/hal", "--budget", "2,1e-6"]);
    assert_eq!(opened["warnings"].as_array().unwrap().len(), 1, "{opened}");
    assert!(sandbox.document(0, &["account", "create", "census/ivy", "--budget", "1,1e-6"])["warnings"].is_null());
}

#[cfg(feature = "server-tests")]
#[test]
fn the_whole_story_in_postgresql() {
    let url = taximeter_testing::PrivatePostgres::shared().new_database().unwrap();
    let sandbox = Sandbox { ledger: Some(url.clone()), ..Sandbox::new() };
    tell_the_story(&sandbox);
    assert!(!sandbox.path("taximeter.db").exists());
    let password = url.split(['/', ':', '@']).nth(4).unwrap();
    let said = [text(&sandbox.run(&["ledger", "show"])), text(&sandbox.run(&["ledger", "show", "--help"]))].concat();
    assert!(!password.is_empty() && !said.contains(password), "{said}");

    // What was exported there is the same ledger in a file.
    sandbox.done(&["export", "--output", "export.jsonl"]);
    sandbox.done(&["import", "export.jsonl", "--ledger", "copy.db"]);
    check_contains(&sandbox.done(&["verify", "--ledger", "copy.db"]), &["8 records, 3 accounts: whole"]);
}

fn a_list_of_costs_is_paid_as_a_whole(sandbox: &Sandbox) {
    sandbox.make_accounts();
    let costs = [
        "--cost",
        r#"{"epsilon":"0.01"}"#,
        "--cost",
        r#"{"laplace":{"scale":"50","sensitivity":"1"}}"#,
        "--gaussian",
        "0.01",
    ];
    let charged = sandbox.document(0, &[&["charge", "census/alice", "census/bob"], &costs[..]].concat());
    assert_eq!(charged["record"]["event"]["charge"]["costs"].as_array().unwrap().len(), 3);
    assert_eq!(charged["accounts"].as_array().unwrap().len(), 3, "each pays once");
    let large = ["--cost", r#"{"epsilon":"0.3"}"#, "--cost", r#"{"epsilon":"0.6"}"#];
    let refused = sandbox.document(3, &[&["charge", "census"], &large[..]].concat());
    assert_eq!(refused["asked"].as_array().unwrap().len(), 2);
    assert_eq!(refused["fits"].as_array().unwrap().len(), 2);
    check_contains(&sandbox.fails(2, &["charge", "census"]), &["a cost is missing"]);
}

fn a_quote_says_what_fits_and_writes_nothing(sandbox: &Sandbox) {
    sandbox.make_accounts();
    let quote = sandbox.document(0, &["quote", "census", "--epsilon", "0.9"]);
    assert_eq!((&quote["verdict"], &quote["count"]), (&Value::from("admitted"), &Value::from(1)));
    let sampled = sandbox.fails(2, &["quote", "census", "--sampled-gaussian", "rate=0.01,sigma=1.1,steps=10"]);
    check_contains(&sampled, &["census", "renyi"]);
    assert_eq!(sandbox.document(0, &["ledger", "show"])["records"], 4, "a quote writes nothing");
}

fn an_account_that_is_set_to_stop_says_so(sandbox: &Sandbox) {
    sandbox.done(&["account", "create", "census", "--budget", "1,1e-6", "--on-halt", "stop", "--max-cost", "0.95"]);
    check_contains(&sandbox.ends(3, &["charge", "census", "--epsilon", "2"]), &["a single cost may be at most 0.95"]);
    sandbox.charge("census", "0.9");
    check_contains(&sandbox.ends(3, &["charge", "census", "--epsilon", "0.9"]), &["halted permanently now"]);
    check_contains(&sandbox.ends(3, &["charge", "census", "--epsilon", "1e-9"]), &["nothing: an account is not open"]);
    check_contains(&sandbox.done(&["account", "show", "census"]), &["halted", "its first halt is permanent"]);
    check_contains(&sandbox.done(&["history", "census"]), &["halt "]);
}

fn an_infinite_reading_is_null_with_a_reason(sandbox: &Sandbox) {
    sandbox.done(&["account", "create", "census", "--budget", "1,1e-6", "--rule", "basic"]);
    let charged = sandbox.document(0, &["charge", "census", "--epsilon", "0.1", "--delta", "1e-9"]);
    assert!(charged["accounts"][0]["reading"].is_null());
    assert!(charged["accounts"][0]["reading_reason"].as_str().unwrap().contains("nothing is set aside"));
    check_contains(&sandbox.done(&["account", "show", "census"]), &["∞", "--mechanism-delta"]);
}

fn costs_about_something_else_are_errors(sandbox: &Sandbox) {
    sandbox.make_accounts();
    sandbox.done(&["account", "create", "wards", "--budget", "1,1e-6", "--neighbours", "substitute"]);
    check_contains(
        &sandbox.fails(2, &["charge", "census", "--epsilon", "0.1", "--unit", "person"]),
        &["person", "record"],
    );
    let message = sandbox.fails(2, &["charge", "census", "--epsilon", "0.1", "--neighbours", "substitute"]);
    check_contains(&message, &["substitute", "add-remove"]);
    check_contains(&sandbox.fails(2, &["charge", "census", "wards", "--epsilon", "0.1"]), &["separately"]);
    check_contains(&sandbox.fails(2, &["charge", "census", "--zcdp", "0.1"]), &["account census", "zcdp, renyi"]);
    let message = sandbox.fails(2, &["account", "create", "census/x", "--budget", "1,1e-6", "--unit", "person"]);
    check_contains(&message, &["one person", "one record"]);
}

fn processes_that_charge_one_after_the_other_never_overspend(sandbox: &Sandbox) {
    sandbox.make_accounts();
    let outcomes: Vec<i32> = std::thread::scope(|scope| {
        // A command that has waited for the others for five seconds gives up, and is run again.
        let charge = || loop {
            let output = sandbox.run(&["charge", "census/bob", "--epsilon", "0.09"]);
            if !text(&output).contains("another process writes") {
                return output.status.code();
            }
        };
        let charges: Vec<_> = (0..8).map(|_| scope.spawn(charge)).collect();
        charges.into_iter().map(|charge| charge.join().unwrap().unwrap()).collect()
    });
    let paid = outcomes.iter().filter(|code| **code == 0).count();
    assert_eq!(outcomes.iter().filter(|code| **code == 3).count(), outcomes.len() - paid, "{outcomes:?}");
    assert_eq!(sandbox.document(0, &["account", "show", "census/bob"])["charges"], paid);
    sandbox.done(&["verify"]);
}

#[test]
fn top_prints_the_accounts_once_without_a_terminal() {
    let sandbox = Sandbox::with_accounts();
    sandbox.charge("census/alice", "0.1");
    let shown = sandbox.done(&["top"]);
    for part in ["gauge", "census/alice", "████", "a minute", "open"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(sandbox.done(&["top", "--once"]), shown);
    assert_eq!(sandbox.document(0, &["top"])["accounts"].as_array().unwrap().len(), 3);
}
