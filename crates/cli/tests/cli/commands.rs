//! What the commands print and how they end.

use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use taximeter_accounting::{CostKind, FilterRule, OdometerRule};

fn taximeter(arguments: &[&str], input: impl Into<Vec<u8>>) -> Output {
    let mut command = Command::cargo_bin("taximeter").expect("the program is built");
    command.args(arguments).write_stdin(input).output().expect("the program runs")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("the program was not killed")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The one JSON document on standard output.
fn document(arguments: &[&str]) -> Value {
    let output = taximeter(arguments, "");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

/// One JSON document a line.
fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON document a line")).collect()
}

const METER: [&str; 4] = ["meter", "--budget", "1,1e-6", "--json"];

fn meter(more: &[&str], input: impl Into<Vec<u8>>) -> Output {
    taximeter(&[&METER, more].concat(), input)
}

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
fn meter_answers_line_by_line() {
    let output = meter(&[], "0.05\n{\"gaussian\":\"0.1\"}\n0.5\n");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let rounds = lines(&output);
    assert_eq!(rounds.len(), 3);
    assert_eq!((&rounds[0]["round"], &rounds[0]["verdict"]), (&Value::from(1), &Value::from("continue")));
    assert_eq!(rounds[0]["cost"]["epsilon"], "0.05");
    assert_eq!(rounds[0]["spent"]["epsilon"], "0.05");
    assert_eq!(rounds[0]["left"]["epsilon"], "0.95");
    assert_eq!(rounds[0]["reading"].to_string(), "0.05");
    assert!(rounds[0]["guarantee"].as_str().unwrap().contains("1e-6"));
    // After a Gaussian the sum of ε is infinite.
    assert!(rounds[1]["spent"]["epsilon"].is_null());
    assert!(rounds[1]["state"]["residue"].as_f64().unwrap() < rounds[0]["state"]["residue"].as_f64().unwrap());
    assert_eq!(rounds[2]["verdict"], "halt");
    let fits: f64 = rounds[2]["fits"]["epsilon"].as_str().unwrap().parse().unwrap();
    assert!(fits > 0.1 && fits < 0.5);
    assert_eq!(rounds[2]["spent"], rounds[1]["spent"], "a refusal changes nothing");
}

#[test]
fn meter_shows_k_of_theorem_5_1() {
    let output = meter(&["--rule", "advanced", "--odometer", "advanced", "--n", "1000"], "0.01\n");
    let rounds = lines(&output);
    assert!((rounds[0]["state"]["k"].as_f64().unwrap() - 0.274).abs() < 0.01);
    assert!(rounds[0]["state"]["k"].to_string().len() >= 17, "17 significant digits: {}", rounds[0]["state"]["k"]);
}

/// Each a clear answer, none a panic, none changes the state wrongly.
#[test]
fn meter_takes_every_kind_of_number_with_a_clear_answer() {
    let million = format!("0.{}1", "0".repeat(1_000_000));
    for (line, part) in [
        ("-0", "minus sign"),
        ("-0.1", "minus sign"),
        ("1e400", "larger than any amount"),
        ("nan", "not a number"),
        ("inf", "infinite"),
        ("", "the line is empty"),
        ("?", "the line is empty"),
        ("1/3", "a fraction"),
        ("0,1", "not a decimal number"),
        (million.as_str(), "longer than 65536 bytes"),
        ("{\"epsilon\":\"0.1\"", "not a cost in JSON"),
        ("{\"epsilon\":\"0.1\",\"epsilon\":\"0\"}", "appears twice"),
        ("{\"zcdp\":\"0.005\"}", "filters that have one: zcdp, renyi; odometers: renyi-mixture"),
        ("\u{661}", "not a decimal number"),
    ] {
        let output = meter(&[], format!("0.1\n{line}\n0.1\n"));
        assert_eq!(code(&output), 2, "{part}: {}", stderr(&output));
        let message = stderr(&output);
        let last = message.lines().last().unwrap();
        assert!(last.contains("line 2") && last.contains(part) && last.contains("earlier lines stand"), "{last}");
        assert!(last.len() < 400, "an error stays readable");
        let rounds = lines(&output);
        assert_eq!(rounds.len(), 1, "earlier lines are answered");
        assert_eq!(rounds[0]["verdict"], "continue");
    }
    let output = meter(&[], b"0.1\n\xff\xfe\n".to_vec());
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("not UTF-8"));
    // Too small to hold: one unit, and the output says so. Nothing: costs nothing.
    let rounds = lines(&meter(&[], "0.1\n1e-300\n0\n"));
    assert_eq!(rounds[1]["cost"]["epsilon"], "1e-30");
    assert_eq!(rounds[1]["rounded_up"], true);
    assert_eq!(rounds[1]["spent"]["epsilon"], "0.100000000000000000000000000001");
    assert_eq!(rounds[2]["spent"], rounds[1]["spent"]);
}

#[test]
fn ten_tenths_fit_and_the_eleventh_of_any_size_does_not() {
    let rounds = lines(&meter(&["--rule", "basic", "--odometer", "basic"], "0.1\n".repeat(10) + "1e-30\n"));
    assert!(rounds[..10].iter().all(|round| round["verdict"] == "continue"));
    assert_eq!(rounds[9]["left"]["epsilon"], "0");
    assert_eq!(rounds[9]["reading"].to_string(), "1");
    assert_eq!(rounds[10]["verdict"], "halt");
    assert!(rounds[10]["fits"].is_null());
}

#[test]
fn meter_stops_for_good_when_asked_and_says_so_in_its_exit_code() {
    let output = meter(&["--on-halt", "stop"], "0.1\n2\n0.01\n");
    assert_eq!(code(&output), 3);
    let rounds = lines(&output);
    assert_eq!(rounds[2]["verdict"], "halt");
    assert!(rounds[2]["reason"].as_str().unwrap().contains("set to stop"));
    assert_eq!(code(&meter(&["--on-halt", "stop"], "0.1\n")), 0);
    assert_eq!(code(&meter(&[], "0.1\n2\n")), 0, "a refusal alone is not a failure");
}

#[test]
fn a_quote_charges_nothing() {
    let rounds = lines(&meter(&[], "0.01\n? 0.9\n? 0.01\n0.01\n"));
    assert_eq!(
        (&rounds[1]["quote"]["epsilon"], &rounds[1]["verdict"]),
        (&Value::from("0.9"), &Value::from("continue"))
    );
    assert_eq!(rounds[2]["count"], 557);
    assert_eq!(rounds[3]["round"], 2);
    assert_eq!(rounds[3]["spent"]["epsilon"], "0.02");
}

#[test]
fn after_a_large_cost_small_ones_still_fit() {
    let rounds = lines(&meter(&[], "0.5\n? 0.01\n"));
    assert_eq!(rounds[1]["count"], 161);
    let rounds = lines(&meter(&[], "0.1\n0.1\n0.1\n0.1\n0.1\n? 0.01\n"));
    assert_eq!(rounds[5]["count"], 227);
}

#[test]
fn a_budget_without_a_delta_works_with_the_defaults() {
    for budget in ["1", "1,0"] {
        let output = taximeter(&["meter", "--json", "--budget", budget], "0.7\n0.3\n1e-9\n");
        let rounds = lines(&output);
        let verdicts: Vec<_> = rounds.iter().map(|round| round["verdict"].as_str().unwrap()).collect();
        assert_eq!(verdicts, ["continue", "continue", "halt"], "{}", stderr(&output));
        assert_eq!(rounds[1]["reading"].as_f64(), Some(1.0));
        assert_eq!(rounds[1]["left"]["share"].as_f64(), Some(0.0));
    }
}

/// The table of the reach theorem, and DP-SGD.
#[test]
fn a_kind_that_neither_rule_takes_is_refused_with_filters_and_odometers_that_take_it() {
    let cost = "{\"sampled_gaussian\":{\"rate\":\"0.01\",\"sigma\":\"1.1\",\"steps\":1}}\n";
    for rules in [&[][..], &["--odometer", "basic"]] {
        let output = taximeter(&[&["meter", "--budget", "1", "--json"], rules].concat(), cost);
        assert_eq!(code(&output), 2);
        let told = stderr(&output);
        assert!(told.contains("filters that have one: renyi; odometers: renyi-mixture"), "{told}");
    }
}

#[test]
fn help_says_what_each_rule_does_and_how_each_cost_is_written() {
    let output = taximeter(&["meter", "--help"], "");
    // Long lines are broken.
    let help = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for short in FilterRule::ALL.map(FilterRule::short).into_iter().chain(OdometerRule::ALL.map(OdometerRule::short)) {
        assert!(help.contains(short), "{short}: {help}");
    }
    assert!(help.contains("as published, without basic composition"), "{help}");
    for kind in CostKind::ALL {
        assert!(help.contains(&format!("{{\"{}\":", kind.name())), "{}: {help}", kind.name());
    }
    for number in FilterRule::Renyi.parameters() {
        assert!(help.contains(&number.help()), "{help}");
    }
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
fn a_single_cost_can_be_bounded() {
    let rounds = lines(&meter(&["--max-cost", "0.1"], "0.9\n0.1\n"));
    assert_eq!(rounds[0]["verdict"], "halt");
    assert!(rounds[0]["reason"].as_str().unwrap().contains("--max-cost"));
    assert_eq!(rounds[0]["fits"]["epsilon"], "0.1");
    assert_eq!(rounds[1]["verdict"], "continue");
}

#[test]
fn an_infinite_reading_is_null_with_a_reason() {
    let rounds = lines(&meter(&["--rule", "basic"], "{\"epsilon\":\"0.1\",\"delta\":\"1e-9\"}\n"));
    assert_eq!(rounds[0]["verdict"], "continue", "basic needs nothing set aside");
    assert!(rounds[0]["reading"].is_null());
    assert!(rounds[0]["reading_reason"].as_str().unwrap().contains("--mechanism-delta"));
    let rounds = lines(&meter(&["--mechanism-delta", "1e-7"], "{\"epsilon\":\"0.1\",\"delta\":\"1e-9\"}\n"));
    assert_eq!(rounds[0]["verdict"], "continue");
    assert!(rounds[0]["reading"].as_f64().unwrap() > 0.1);
}

#[test]
fn wrong_usage_is_told_with_advice() {
    for (arguments, part) in [
        (vec!["plan", "--budget", "1,1e-6"], "a cost is missing"),
        (vec!["plan", "--budget", "1,1e-6", "--epsilon", "0.1", "--zcdp", "1"], "are two costs"),
        (vec!["plan", "--budget", "1,2", "--epsilon", "0.1"], "below 1"),
        (vec!["plan", "--budget", "one", "--epsilon", "0.1"], "the budget's epsilon"),
        (vec!["plan", "--budget", "1,1e-6", "--epsilon", "abc"], "--epsilon"),
        (vec!["plan", "--budget", "1,1e-6", "--mechanism-delta", "1", "--epsilon", "0.1"], "set aside"),
        (
            vec!["plan", "--budget", "1,1e-6", "--laplace-scale", "0"],
            "--laplace-scale: scale cannot be 0: it must be above 0\n",
        ),
        (vec!["compare", "--epsilon", "0.1", "--rounds", "0"], "0 is not in"),
        (vec!["meter", "--budget", "1,1e-6", "--rule", "optimal"], "possible values"),
        (vec!["meter", "--budget", "1,1e-6", "--slack", "1"], "set something aside"),
        (vec!["lab", "worst", "--rule", "residue", "--budget", "1,1e-6", "--grid", "0.1,0.100001"], "small multiples"),
        (vec!["lab", "worst", "--rule", "residue", "--budget", "1,1e-6", "--grid", "0"], "above 0"),
        (vec!["lab", "attack", "--odometer", "drv", "--epsilon", "0", "--rounds", "9"], "above 0"),
        (vec!["lab", "play", "--game", "filter", "--adversary", "stopping-time"], "adaptive games only"),
        (vec!["meter", "--budget", "1,1e-6", "--x", "1"], "has the parameter --x"),
        (vec!["meter", "--budget", "1,1e-6", "--odometer", "stitched", "--scale", "1"], "has the parameter --scale"),
        (vec!["meter", "--budget", "1,1e-6", "--scale", "0"], "scale cannot be 0: it must be above 0 (--scale)"),
        (
            vec!["lab", "attack", "--odometer", "drv", "--epsilon", "0.1", "--rounds", "9", "--n", "5"],
            "has the parameter --n",
        ),
        (vec!["lab", "play", "--game", "fixed", "--adversary", "greedy"], "fixed in advance"),
        (vec!["meter", "--budget", "1,1e-6", "--rule", "renyi", "--order", "1"], "above 1"),
        (vec!["meter", "--budget", "1,1e-6", "--odometer", "advanced", "--n", "1"], "at least 2"),
        (vec!["drive"], "unrecognized"),
    ] {
        let output = taximeter(&arguments, "");
        assert_eq!(code(&output), 2, "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let program = assert_cmd::cargo::cargo_bin("taximeter");
    let script = format!(
        "yes 0.0001 | head -n 5000 | {} meter --budget 1,1e-6 2>&1 | head -n 1; exit ${{PIPESTATUS[2]}}",
        program.display()
    );
    let output = std::process::Command::new("bash").args(["-c", &script]).output().expect("a shell");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn attack_gives_the_known_ratios() {
    for (odometer, more, ratio) in
        [("drv", vec![], 1.755_464), ("drv-tanh", vec![], 2.790_578), ("advanced", vec!["--n", "1000"], 6.673_531e-11)]
    {
        let arguments = [
            "lab",
            "attack",
            "--odometer",
            odometer,
            "--epsilon",
            "0.01",
            "--rounds",
            "1000",
            "--at-delta",
            "1e-6",
            "--json",
        ];
        let attack = document(&[&arguments[..], &more].concat());
        let found = attack["ratio"].as_f64().unwrap();
        assert!((found / ratio - 1.0).abs() < 1e-5, "{odometer}: {found}");
        assert!(
            attack["above"].as_f64().unwrap() + attack["below"].as_f64().unwrap()
                >= attack["probability"].as_f64().unwrap() * 0.999_999
        );
    }
    let attack =
        document(&["lab", "attack", "--odometer", "drv", "--epsilon", "0.001", "--rounds", "100000", "--json"]);
    assert!((attack["ratio"].as_f64().unwrap() - 8.885).abs() < 1e-3);
}

#[test]
fn worst_reproduces_the_counterexample_and_its_strategy() {
    let arguments =
        ["lab", "worst", "--rule", "optimal", "--budget", "0.1,0.10425709561931122589", "--grid", "0.2,0.3", "--json"];
    let worst = document(&arguments);
    assert!((worst["delta_lower"].as_f64().unwrap() - 0.117_079_726).abs() < 1e-9);
    assert!(worst["ratio_lower"].as_f64().unwrap() > 1.12);
    let plays: Vec<_> =
        worst["strategy"].as_array().unwrap().iter().map(|step| step["play"].as_str().unwrap()).collect();
    assert_eq!(plays, ["0.2", "0.3", "0.2"]);
}

#[test]
fn certify_passes_and_catches_what_is_wrong() {
    let certify = document(&["lab", "certify", "--quick", "--json"]);
    assert_eq!(certify["passed"], true);
    let checks = certify["checks"].as_array().unwrap();
    assert_eq!(checks.iter().filter(|check| check["claim"] == "invalid").count(), 4);
    assert!(checks.len() > 40);
}

#[test]
fn a_game_is_repeatable_and_its_interval_holds_the_known_value() {
    let arguments = [
        "lab", "play", "--game", "fixed", "--costs", "0.1", "--rounds", "100", "--budget", "2,0.01", "--runs", "20000",
        "--json",
    ];
    let play = document(&arguments);
    let measure = &play["measures"][0];
    let optimal = measure["limit"].as_f64().unwrap();
    assert!((optimal - 0.020_140_178).abs() < 1e-8);
    assert!(measure["lower"].as_f64().unwrap() <= optimal && optimal <= measure["upper"].as_f64().unwrap());
    assert_eq!(play, document(&arguments));
    let adaptive = [
        "lab",
        "play",
        "--game",
        "adaptive",
        "--adversary",
        "stopping-time",
        "--at-delta",
        "1e-6",
        "--costs",
        "0.01",
        "--rounds",
        "1000",
        "--runs",
        "20000",
        "--rare",
        "--json",
    ];
    let rare = document(&adaptive)["measures"][0]["value"].as_f64().unwrap();
    assert!((rare / 5.034e-7 - 1.0).abs() < 0.2, "{rare}");
}

#[test]
fn figures_are_drawn() {
    let parent = tempfile::tempdir().unwrap();
    // It is made first, with all above it.
    let folder = parent.path().join("new").join("figures");
    let output = taximeter(&["lab", "figure", "all", "--out", folder.to_str().unwrap()], "");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    for name in ["separation", "tightness", "queries", "mixed", "ride"] {
        let figure = std::fs::read_to_string(folder.join(format!("{name}.svg"))).unwrap();
        assert!(figure.contains("<svg") && figure.len() > 10_000, "{name}");
    }
    std::fs::write(parent.path().join("file"), "").unwrap();
    let blocked = parent.path().join("file").join("figures");
    let output = taximeter(&["lab", "figure", "ride", "--out", blocked.to_str().unwrap()], "");
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("--out"), "{}", stderr(&output));
}
