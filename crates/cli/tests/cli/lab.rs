//! `lab`.

use crate::program::{code, document, stderr, taximeter};

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
        assert!(
            figure.contains("<svg") && figure.contains("prefers-color-scheme: dark") && figure.len() > 10_000,
            "{name}"
        );
    }
    std::fs::write(parent.path().join("file"), "").unwrap();
    let blocked = parent.path().join("file").join("figures");
    let output = taximeter(&["lab", "figure", "ride", "--out", blocked.to_str().unwrap()], "");
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("--out"), "{}", stderr(&output));
}
