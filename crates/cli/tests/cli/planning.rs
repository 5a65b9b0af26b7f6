//! `plan` and `compare`.

use serde_json::Value;

use crate::program::{code, document, stderr, taximeter};
use crate::sandbox::{Sandbox, check_contains, here_and_at_a_server};

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

#[test]
fn a_precision_is_priced_as_the_question_would_be() {
    let sandbox = Sandbox::with_people();
    let plan = sandbox.document(0, &["plan", "--error", "50", "--rows", "100000"]);
    let errors = plan["errors"].as_array().unwrap();
    let wanted = errors.iter().find(|error| error["wanted"] == true).unwrap();
    let explained =
        sandbox.document(0, &["ask", "people", "SELECT COUNT(*) FROM people", "--error", "50", "--explain"]);
    assert_eq!(wanted["cost"], explained["cost"]);
    assert_eq!(wanted["share"], 0.0005);
    // As many as the plan of that cost says.
    let epsilon = wanted["cost"]["epsilon"].as_str().unwrap();
    let by_cost = document(&["plan", "--budget", "1,1e-6", "--epsilon", epsilon, "--json"]);
    assert_eq!(wanted["answers"], by_cost["rules"][5]["queries"]);
    assert_eq!(wanted["by_adding_up"], by_cost["rules"][0]["queries"]);
    // More rows of a person cost more, and a larger budget gives more.
    let rows = document(&["plan", "--error", "50", "--max-rows-per-unit", "3", "--json"]);
    let epsilon = |plan: &Value| plan["errors"][1]["cost"]["epsilon"].as_str().unwrap().parse::<f64>().unwrap();
    assert!((epsilon(&rows) / epsilon(&plan) - 3.0).abs() < 0.01);
    let larger = document(&["plan", "--error", "50", "--budget", "2,1e-6", "--json"]);
    assert!(larger["errors"][1]["answers"].as_u64() > plan["errors"][1]["answers"].as_u64());
    for (arguments, part) in [
        (vec!["plan", "--error", "0"], "ask for one above 0"),
        (vec!["plan", "--rows", "5"], "--error"),
        (vec!["plan"], "a budget is missing"),
    ] {
        let output = taximeter(&arguments, "");
        assert_eq!(code(&output), 2, "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
    }
}

here_and_at_a_server! {
    a_study_is_priced_and_needs_a_budget_that_just_suffices,
    files_of_sql_are_a_study,
}

fn files_of_sql_are_a_study(sandbox: &Sandbox) {
    sandbox.add_people();
    let sql = [
        ("regions.sql", "SELECT region, COUNT(*)\nFROM people\nGROUP BY region;\n"),
        ("older.sql", "SELECT COUNT(*) FROM people WHERE age >= 65"),
        ("wrong.sql", "SELECT wage FROM people"),
        ("study.toml", STUDY),
    ];
    for (name, text) in sql {
        std::fs::write(sandbox.path(name), text).unwrap();
    }
    let costs = |plan: &Value| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_string();
        let questions = plan["questions"].as_array().unwrap().iter();
        questions.map(|question| (text(&question["name"]), text(&question["cost"]["epsilon"]))).collect()
    };
    let plan = |arguments: &[&str]| sandbox.document(0, &[&["plan", "--dataset", "people"], arguments].concat());
    // One error for all, and one for each.
    let same = costs(&plan(&["--questions", "regions.sql", "older.sql", "--error", "100"]));
    assert_eq!((same[0].0.as_str(), same[1].0.as_str()), ("regions.sql", "older.sql"));
    assert_eq!(same[0].1, same[1].1);
    let each = ["--questions", "older.sql", "--error", "200", "--questions", "regions.sql", "--error", "100"];
    let each = costs(&plan(&each));
    assert_eq!(each[1], same[0]);
    assert_ne!(each[0].1, same[1].1);
    // What the same question costs in a study.
    let study =
        "dataset = \"people\"\n[[questions]]\nsql = \"SELECT COUNT(*) FROM people WHERE age >= 65\"\nerror = 200";
    std::fs::write(sandbox.path("older.toml"), study).unwrap();
    assert_eq!(costs(&sandbox.document(0, &["plan", "--questions", "older.toml"]))[0].1, each[0].1);

    let three = ["--questions", "older.sql", "regions.sql", "older.sql", "--dataset", "people"];
    for (arguments, parts) in [
        (&["--questions", "older.sql", "--error", "50"][..], &["--dataset"][..]),
        (&["--questions", "older.sql", "--dataset", "people"], &["--error 50"]),
        (&[&three[..], &["--error", "5", "--error", "6"]].concat(), &["3 files of SQL and 2 errors", "one for each"]),
        (&["--questions", "older.sql", "--dataset", "people", "--error", "much"], &["--error", "much"]),
        (&["--questions", "wrong.sql", "--dataset", "people", "--error", "5"], &["wrong.sql: at character"]),
        (&["--questions", "nothing.sql", "--dataset", "people", "--error", "5"], &["nothing.sql: it cannot be read"]),
        (&["--questions", "study.toml", "older.sql", "--dataset", "people", "--error", "5"], &["one study, or files"]),
        (&["--questions", "study.toml", "--error", "5"], &["omit --dataset and --error"]),
        (&["--questions", "study.toml", "--epsilon", "5"], &["a cost is in the study"]),
        (&["--questions", "study.toml", "--error", "5", "--rows", "5"], &["--rows"]),
        (&["--error", "5", "--error", "6"], &["more than once"]),
        (&["--dataset", "people"], &["--questions"]),
    ] {
        check_contains(&sandbox.fails(2, &[&["plan"], arguments].concat()), parts);
    }
}

const STUDY: &str = r#"
dataset = "people"

[[questions]]
name = "by region"
sql = "SELECT region, COUNT(*) FROM people GROUP BY region"
error = 100
times = 20

[[questions]]
sql = "SELECT AVG(age) FROM people"
epsilon = "0.1"
"#;

fn a_study_is_priced_and_needs_a_budget_that_just_suffices(sandbox: &Sandbox) {
    sandbox.add_people();
    std::fs::write(sandbox.path("study.toml"), STUDY).unwrap();
    let plan = sandbox.document(0, &["plan", "--questions", "study.toml"]);
    assert_eq!((&plan["questions"][0]["name"], &plan["questions"][0]["within"]), (&"by region".into(), &100.0.into()));
    assert_eq!((&plan["questions"][1]["name"], &plan["questions"][1]["within"]), (&"question 2".into(), &Value::Null));
    assert_eq!(plan["fits_now"], true);
    let account = &plan["accounts"][0];
    assert_eq!((&account["account"], &account["rule"]), (&"people".into(), &"residue".into()));
    let needs = account["needs"].as_f64().unwrap();
    let sum: f64 = plan["added_up"].as_str().unwrap().parse().unwrap();
    assert!(needs <= sum * 1.000_01 && needs > 0.1, "{needs} and {sum}");
    assert!(account["surprises"].as_u64().unwrap() > 0);
    // A budget of that size takes all charges in the order that was found best, and a smaller one does not.
    let each = plan["questions"][0]["cost"]["epsilon"].as_str().unwrap();
    let mut costs = vec![each; 20];
    match plan["order"].as_str().unwrap() {
        "large-first" => costs.splice(0..0, ["0.05"; 2]).for_each(drop),
        _ => costs.extend(["0.05"; 2]),
    }
    let halts = |epsilon: f64| {
        let budget = format!("{epsilon:.9},1e-6");
        let output = taximeter(&["meter", "--budget", &budget, "--json"], costs.join("\n"));
        String::from_utf8_lossy(&output.stdout).contains("\"halt\"")
    };
    assert!(!halts(needs), "{needs}");
    assert!(halts(needs * 0.999), "{needs}");
    // Nothing was charged; and what does not fit says so.
    assert_eq!(sandbox.document(0, &["account", "show", "people"])["charges"], 0);
    std::fs::write(sandbox.path("large.toml"), STUDY.replace("\"0.1\"", "\"0.9\"")).unwrap();
    assert_eq!(sandbox.document(3, &["plan", "--questions", "large.toml"])["fits_now"], false);
    // More charges than a charge has costs.
    for (times, fits) in [(1000, true), (6000, false)] {
        let often =
            "dataset = \"people\"\n[[questions]]\nsql = \"SELECT COUNT(*) FROM people\"\nepsilon = 0.005\ntimes = ";
        std::fs::write(sandbox.path("often.toml"), format!("{often}{times}")).unwrap();
        let plan = sandbox.document(if fits { 0 } else { 3 }, &["plan", "--questions", "often.toml"]);
        let account = &plan["accounts"][0];
        assert_eq!((&plan["fits_now"], plan["largest_after"].is_null()), (&fits.into(), !fits), "{plan}");
        assert_eq!((account["refused"].is_null(), account["left_after"].is_null()), (fits, !fits), "{plan}");
    }
    let text = sandbox.ends(3, &["plan", "--questions", "often.toml"]);
    check_contains(&text, &["do not all fit now; nothing was charged", "stops at    question 1, after "]);
    let text = sandbox.done(&["plan", "--questions", "study.toml"]);
    check_contains(
        &text,
        &["by region", "adding up", "best order", "all questions fit now; nothing was charged", "then fit"],
    );
    check_contains(&text, &["afterwards  one more of up to ε = "]);
    for (study, part) in [
        ("dataset = \"people\"\nquestions = []", "it has no questions"),
        ("dataset = \"people\"\n[[questions]]\nsql = \"SELECT 1\"", "question 1: give one of error"),
        (
            "dataset = \"people\"\n[[questions]]\nsql = \"SELECT x FROM people\"\nepsilon = 1",
            "question 1: at character 8",
        ),
        ("dataset = \"people\"\n[[questions]]\nsql = \"x\"\nepsilom = 1", "unknown field `epsilom`"),
        ("[[questions]]\nsql = \"x\"", "missing field `dataset`"),
        (
            "dataset = \"people\"\n[[questions]]\nsql = \"SELECT COUNT(*) FROM people\"\nepsilon = 1\ntimes = 20000",
            "has 20000 costs",
        ),
    ] {
        std::fs::write(sandbox.path("wrong.toml"), study).unwrap();
        check_contains(&sandbox.fails(2, &["plan", "--questions", "wrong.toml"]), &["wrong.toml", part]);
    }
    assert!(sandbox.fails(2, &["plan", "--questions", "nothing.toml"]).contains("cannot be read"));
}
