//! `meter`.

use std::process::Output;

use serde_json::Value;

use crate::program::{code, lines, stderr, taximeter};

const METER: [&str; 4] = ["meter", "--budget", "1,1e-6", "--json"];

fn meter(more: &[&str], input: impl Into<Vec<u8>>) -> Output {
    taximeter(&[&METER, more].concat(), input)
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
    assert_eq!(rounds[9]["reading"].to_string(), "1.0");
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
fn a_reader_that_goes_away_is_no_failure() {
    let program = assert_cmd::cargo::cargo_bin("taximeter");
    let script = format!(
        "yes 0.0001 | head -n 5000 | {} meter --budget 1,1e-6 2>&1 | head -n 1; exit ${{PIPESTATUS[2]}}",
        program.display()
    );
    let output = std::process::Command::new("bash").args(["-c", &script]).output().expect("a shell");
    assert_eq!(output.status.code(), Some(0));
}
