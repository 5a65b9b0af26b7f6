//! Reports: a page for everyone, and an entry for the registry.

use std::fs;

use crate::questions::COUNT;
use crate::sandbox::{Sandbox, check_contains};

/// A dataset with an analyst, two questions and a charge from elsewhere.
fn in_use() -> Sandbox {
    let sandbox = Sandbox::with_people();
    sandbox.done(&["dataset", "add", "people", "--analyst", "alice", "--budget", "0.5,1e-6"]);
    sandbox.done(&["ask", "people", COUNT, "--epsilon", "0.1"]);
    sandbox.done(&[
        "ask",
        "people",
        "SELECT AVG(age), COUNT(*) FROM people WHERE region = 'SUM(x)'",
        "--epsilon",
        "0.1",
    ]);
    sandbox.done(&["charge", "people", "--gaussian", "0.05"]);
    sandbox
}

#[test]
fn a_page_says_what_is_protected_and_names_no_one() {
    let sandbox = in_use();
    sandbox.done(&["checkpoint", "key", "create", "owner.key"]);
    sandbox.done(&["checkpoint", "create", "--checkpoint-key", "owner.key"]);
    sandbox.done(&["report", "people", "--out", "report.html", "--title", "Our <people>", "--curator", "Town & Co"]);
    let page = fs::read_to_string(sandbox.path("report.html")).unwrap();
    check_contains(
        &page,
        &[
            "<title>Privacy report: Our &lt;people&gt;</title>",
            "Town &amp; Co",
            "one record added or removed",
            "residue",
            "2.72 times",
            "2 charges were for questions",
            "1 charge for computations elsewhere",
            "<tr><th>AVG</th><td class=\"n\">1 question</td></tr>",
            "<tr><th>COUNT</th><td class=\"n\">2 questions</td></tr>",
            "<tr><th>gaussian</th><td class=\"n\">1 charge</td></tr>",
            "after 3 charges",
            "1 account has a budget of their own",
            "every decision",
            "The newest signed checkpoint covers 6 records",
            "— taximeter/",
        ],
    );
    assert!(!page.contains("alice") && !page.contains("<th>SUM</th>") && !page.contains("<script"));
    check_contains(&sandbox.fails(2, &["report", "people", "--out", "report.html"]), &["report.html already"]);
    check_contains(&sandbox.fails(2, &["report", "people"]), &["--out"]);
    check_contains(&sandbox.fails(2, &["report", "nowhere", "--json"]), &["nowhere"]);
}

#[test]
fn an_entry_has_the_fields_of_the_registry() {
    let sandbox = in_use();
    let told = ["--curator", "Town", "--intended-use", "planning", "--region", "here", "--sector", "Government"];
    let entry = sandbox.document(0, &[&["report", "people"][..], &told].concat());
    let deployment = &entry["deployment"];
    assert_eq!(deployment["dp_flavor"]["name"], "Approximate DP");
    assert_eq!(
        deployment["privacy_loss"]["privacy_parameters"],
        serde_json::json!({ "epsilon": "1", "delta": "1e-6" })
    );
    assert_eq!(deployment["product"]["data_curators"], serde_json::json!(["Town"]));
    for (part, field) in [
        ("product", "publication_date"),
        ("privacy_loss", "privacy_unit_description"),
        ("model", "access_type"),
        ("accounting", "composition"),
        ("implementation", "mechanisms"),
    ] {
        assert!(deployment[part][field].is_string(), "{part}.{field}: {entry}");
    }
}

#[test]
fn there_is_no_report_about_a_journal_that_is_not_whole() {
    let sandbox = in_use();
    let ledger = rusqlite::Connection::open(sandbox.path("taximeter.db")).unwrap();
    assert_eq!(ledger.execute("UPDATE journal SET hash = zeroblob(32) WHERE sequence = 3", []).unwrap(), 1);
    drop(ledger);
    check_contains(&sandbox.fails(4, &["report", "people", "--out", "report.html"]), &["record 3"]);
    assert!(!sandbox.path("report.html").exists());
}
