//! `plan` and `compare`.

use serde_json::Value;

use crate::program::{code, document, stderr, taximeter};

#[test]
fn plan_counts_what_each_rule_admits() {
    let plan = document(&["plan", "--budget", "1,1e-6", "--epsilon", "0.01", "--json"]);
    assert_eq!(plan["budget"]["epsilon"], "1");
    assert_eq!(plan["cost"]["epsilon"], "0.01");
    let queries: Vec<_> = plan["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| (rule["rule"].as_str().unwrap(), rule["queries"].as_u64()))
        .collect();
    let expected =
        [("basic", 100), ("advanced", 154), ("whitehouse", 349), ("zcdp", 487), ("renyi", 490), ("residue", 558)];
    assert_eq!(queries, expected.map(|(rule, queries)| (rule, Some(queries))));
    assert_eq!(plan["fixed_in_advance"]["advanced"], 337);
    assert_eq!(plan["fixed_in_advance"]["optimal"], 562);
    assert_eq!(plan["rules"][5]["guarantee"], "(1, 1e-6)-DP");
}

#[test]
fn plan_says_why_a_rule_has_no_number() {
    let plan = document(&["plan", "--budget", "1,1e-6", "--gaussian", "0.01", "--json"]);
    assert!(plan["rules"][0]["queries"].is_null());
    assert!(plan["rules"][0]["reason"].as_str().unwrap().contains("filters that have one: zcdp, renyi, residue"));
    assert_eq!(
        plan["rules"][5]["queries"], plan["fixed_in_advance"]["optimal"],
        "for Gaussians the residue rule is optimal"
    );
    let plan = document(&["plan", "--budget", "1,1e-6", "--epsilon", "0.01", "--delta", "1e-9", "--json"]);
    assert!(plan["rules"][5]["reason"].as_str().unwrap().contains("--mechanism-delta"));
    let plan = document(&[
        "plan",
        "--budget",
        "1,1e-6",
        "--epsilon",
        "0.01",
        "--delta",
        "1e-9",
        "--mechanism-delta",
        "5e-7",
        "--json",
    ]);
    assert!(plan["rules"][5]["queries"].as_u64().unwrap() > 400);
    let plan = document(&["plan", "--budget", "1", "--epsilon", "0.1", "--json"]);
    assert_eq!(plan["rules"][0]["queries"], 10);
    assert!(plan["rules"][4]["reason"].as_str().unwrap().contains("delta above 0"));
    assert_eq!(plan["rules"][5]["queries"], 10);
    let plan = document(&["plan", "--budget", "1,1e-6", "--epsilon", "1e-6", "--json"]);
    assert_eq!(plan["rules"][5]["at_least"], true);
}

#[test]
fn plan_counts_as_documented() {
    let queries = |arguments: &[&str], rule: &str| {
        let output = taximeter(&[&["plan", "--json"], arguments].concat(), "");
        let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
        let rules = document["rules"].as_array().unwrap().clone();
        rules.into_iter().find(|row| row["rule"] == rule).unwrap()["queries"].as_u64()
    };
    for (budget, epsilon, count) in [
        ("1,1e-6", "0.01", 558),
        ("1,1e-6", "0.02", 139),
        ("1,1e-6", "0.05", 23),
        ("1,1e-6", "0.1", 10),
        ("1,1e-6", "0.25", 4),
        ("1,1e-6", "0.5", 2),
        ("2,1e-6", "0.1", 21),
        ("8,1e-6", "0.25", 38),
        ("0.3,1e-9", "0.01", 34),
    ] {
        assert_eq!(
            queries(&["--budget", budget, "--epsilon", epsilon], "residue"),
            Some(count),
            "{epsilon} of {budget}"
        );
    }
    let sampled = ["--budget", "1,1e-5", "--sampled-gaussian", "rate=0.01,sigma=1.1,steps=1"];
    assert_eq!((queries(&sampled, "renyi"), queries(&sampled, "residue")), (Some(138), None));
}

#[test]
fn compare_has_every_odometer_filter_and_theorem() {
    let compare = document(&[
        "compare",
        "--epsilon",
        "0.01",
        "--rounds",
        "1000",
        "--at-delta",
        "1e-6",
        "--n",
        "1000000",
        "--json",
    ]);
    let value = |list: &str, name: &str, field: &str| {
        let key = if list == "fixed_in_advance" { "theorem" } else { "rule" };
        let row = compare[list]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row[key] == name)
            .unwrap_or_else(|| panic!("{list} {name}"));
        row[field].as_f64().unwrap_or_else(|| panic!("{list} {name}: {row}"))
    };
    let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-4, "{value} against {expected}");
    near(value("odometers", "renyi-mixture", "reading"), 1.879_265);
    near(value("filters", "residue", "epsilon"), 1.368_797);
    near(value("fixed_in_advance", "optimal", "epsilon"), 1.365_446_7);
    assert_eq!(value("odometers", "basic", "reading"), 10.0);
    assert!(value("filters", "residue", "epsilon") > value("fixed_in_advance", "optimal", "epsilon"));
    assert_eq!(compare["odometers"].as_array().unwrap().len(), 6);
    assert_eq!(compare["filters"].as_array().unwrap().len(), 6);
}

#[test]
fn compare_draws_a_figure() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("compare.svg");
    let output = taximeter(&["compare", "--epsilon", "0.1", "--rounds", "50", "--figure", path.to_str().unwrap()], "");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let figure = std::fs::read_to_string(&path).expect("a figure");
    for part in ["<svg", "number of costs", "residue", "renyi-mixture", "fixed in advance: optimal"] {
        assert!(figure.contains(part), "{part} is not in the figure");
    }
    let output = taximeter(&["compare", "--epsilon", "0.1", "--rounds", "5", "--figure", "/nowhere/at/all.svg"], "");
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("is the folder there?"));
}
