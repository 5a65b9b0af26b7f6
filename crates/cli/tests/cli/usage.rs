//! Help and wrong usage.

use taximeter_accounting::{CostKind, FilterRule, OdometerRule};

use crate::program::{code, stderr, taximeter};
use crate::sandbox::{Sandbox, check_contains};

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
fn the_help_groups_the_commands_and_has_examples() {
    let sandbox = Sandbox::new();
    check_contains(
        &sandbox.done(&["--help"]),
        &["Accounts and charges:", "Ledger maintenance:", "Charge costs", "Exit codes"],
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
        check_contains(
            &sandbox.done(&[command, &["--help"]].concat()),
            &["Example", "--ledger", "--witness", "--json"],
        );
    }
}
