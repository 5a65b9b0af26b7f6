//! Bounds without looking: a noisy histogram, and what it suggests.

use taximeter_accounting::{Cost, FilterRule};
use taximeter_gate::{AnswerDocument, ColumnType, GateOutcome, SuggestedBounds};

use crate::common::{Setup, amount, answered, declaration, request, rules};

/// In each column 500 times the same four values, in buckets of which no other has a row.
const COLUMNS: [(&str, ColumnType, [&str; 4], &str); 7] = [
    ("income", ColumnType::Integer, ["1100", "5000", "20000", "60000"], "1024..65536"),
    ("change", ColumnType::Integer, ["-3", "0", "1", "6"], "-4..8"),
    (
        "huge",
        ColumnType::Integer,
        ["-5", "7", "9000000000", "4000000000000000000"],
        "-1048576..1125899906842624/1048576",
    ),
    ("share", ColumnType::Real, ["0.01", "0.3", "0.25", "0.9"], "0.0078125..1"),
    ("height", ColumnType::Real, ["-12.5", "-0.0001", "0.5", "3.75"], "-16..4"),
    ("price", ColumnType::Decimal, ["0.02", "9.99", "12.50", "300"], "0.015625..512"),
    ("balance", ColumnType::Decimal, ["-70", "-0.000001", "2.25", "700000000000"], "-512..549755813888/512"),
];

fn setup(budget: &str) -> Setup {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
    let row = |row: usize| COLUMNS.map(|(_, _, values, _)| values[row % 4]).join(",") + ",word\n";
    let csv = format!("{},text\n{}", names.join(","), (0..2_000).map(row).collect::<String>());
    let types = COLUMNS.map(|(name, kind, ..)| format!("[columns.{name}]\ntype = \"{kind}\"\n"));
    let setup = Setup::new();
    let rules = Some(rules(FilterRule::Basic, budget));
    setup.register(setup.registration("people", &csv, &types.concat(), rules)).unwrap();
    setup
}

fn suggested(setup: &Setup, column: &str, kind: ColumnType, epsilon: &str) -> Option<SuggestedBounds> {
    let question = SuggestedBounds::question("people", column, kind).unwrap();
    let answer = answered(setup.ask(&request("people", &question, epsilon)));
    SuggestedBounds::from_answer(&AnswerDocument::read(&answer.document).unwrap(), kind)
}

/// The noise is 0, but for one answer in 10¹⁵.
#[test]
fn the_bounds_reach_around_the_values() {
    let setup = setup("1000,1e-6");
    for (charges, (column, kind, values, expected)) in (1..).zip(COLUMNS) {
        let bounds = suggested(&setup, column, kind, "40").unwrap();
        assert_eq!(bounds.to_string(), expected, "{column}: {values:?}");
        assert_eq!(setup.charges("people"), charges);
        // They can be declared.
        let text = format!("{column}={bounds}");
        let mut declared = declaration("");
        declared.add_type(&format!("{column}={kind}")).unwrap();
        declared.add_bounds(&text).unwrap();
    }
}

/// At this ε a noise of 1 is not rare: in 19 of 20 answers, one of all empty buckets has it.
#[test]
fn a_little_noise_is_not_taken_for_rows() {
    let setup = setup("1000,1e-6");
    let bounds = |_| suggested(&setup, "income", ColumnType::Integer, "3.7").unwrap().to_string();
    // Each is another one in less than one of a hundred answers, so five of 20 are in less than two of a million runs.
    let others = (0..20).map(bounds).filter(|bounds| bounds != "1024..65536").count();
    assert!(others < 5, "{others}");
}

/// Noise is as large as that in less than one of a hundred answers, so in three of three once in a million runs.
#[test]
fn nothing_is_suggested_where_the_noise_hides_every_bucket() {
    let setup = setup("1000,1e-6");
    assert!((0..3).any(|_| suggested(&setup, "income", ColumnType::Integer, "0.0001").is_none()));
    assert!(setup.charges("people") > 0);
}

#[test]
fn exactly_the_offered_epsilon_is_charged() {
    let setup = setup("1,1e-6");
    let question = SuggestedBounds::question("people", "income", ColumnType::Integer).unwrap();
    // What is refused is not charged, and the last tenth fits exactly.
    for (epsilon, is_answered) in
        [("0.6", true), ("0.41", false), ("0.3", true), ("0.2", false), ("0.1", true), ("1e-9", false)]
    {
        match setup.ask(&request("people", &question, epsilon)) {
            GateOutcome::Answered(answer) => {
                let cost = AnswerDocument::read(&answer.document).unwrap().cost;
                assert!(is_answered && cost == Cost::Pure { epsilon: amount(epsilon) }, "{epsilon}: {cost:?}");
            }
            outcome => assert!(!is_answered && matches!(outcome, GateOutcome::Refused(_)), "{epsilon}: {outcome:?}"),
        }
    }
    assert_eq!(setup.charges("people"), 3);
}

#[test]
fn types_without_bounds_on_numbers_are_refused_with_those_that_have_them() {
    for kind in [ColumnType::Text, ColumnType::Boolean, ColumnType::Date, ColumnType::Timestamp] {
        let error = SuggestedBounds::question("people", "x", kind).unwrap_err();
        let said = format!("it holds {kind}; bounds are suggested for integer, real and decimal columns");
        assert!(error.is_input() && error.to_string().contains(&said), "{error}");
    }
}
