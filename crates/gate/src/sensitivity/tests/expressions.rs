//! Sums of every form of expression: no neighbours lie further apart than the derived bounds say, and some as far.

use super::*;
use crate::plan::{Plan, Price, Weights};
use crate::question::Question;
use taximeter_accounting::Amount;

/// Expressions, and whether some row reaches the end of the derived bounds that is further from 0.
const EXPRESSIONS: [(&str, bool); 38] = [
    ("value", true),
    ("-value", true),
    ("value + 3", true),
    ("3 - value", true),
    ("value * -2", true),
    ("value / 4.0", true),
    ("value * value", true),
    // Both columns are at their ends at once.
    ("value + other", true),
    ("value * other", true),
    ("ABS(value)", true),
    ("FLOOR(value / 2.0)", true),
    ("CEIL(value / 2.0)", true),
    ("ROUND(value / 3.0)", true),
    ("ROUND(value / 3.0, 1)", true),
    ("TRUNC(value / 3.0)", true),
    ("CAST(value / 2.0 AS INTEGER)", true),
    ("CAST(value AS INTEGER) / 2", true),
    // The remainder of 5 by 3 is 2, and that of −2 is −2.
    ("CAST(value AS INTEGER) % 3", true),
    ("LEAST(value, 1)", true),
    // Where one is null, the other one counts.
    ("LEAST(value, other)", true),
    ("GREATEST(value, other)", true),
    ("COALESCE(value, 40)", true),
    ("NULLIF(value, 0)", true),
    ("CASE WHEN second = 1 THEN value ELSE 11 END", true),
    ("CASE WHEN second = 1 THEN value * 2 END", true),
    ("CASE second WHEN 1 THEN -7 WHEN 2 THEN 6 END", true),
    ("value > 1", true),
    ("NOT value > 1", true),
    ("value BETWEEN 0 AND 2 OR value IS NULL", true),
    ("second IN (1, 3)", true),
    ("\"group\" LIKE '_' AND second < 3", true),
    ("WIDTH_BUCKET(value, -1, 2, 3)", true),
    // The divisor is one step from 0 at least.
    ("value / NULLIF(other, 0)", true),
    ("1.0 * value / NULLIF(other, 0)", true),
    ("1.0 * value / (other + 2)", true),
    ("LENGTH(\"group\")", true),
    // One row is not at both ends.
    ("value - value", false),
    ("value * (3 - value)", false),
];

/// A schema with two columns of numbers.
fn schema(neighbours: Neighbours, most: u32) -> Schema {
    let bounds =
        |low: &str, high: &str| Some(Bounds::new(low.parse().unwrap(), high.parse().unwrap(), Number::ONE).unwrap());
    let texts = ["a", "b"].map(|text| Value::Text(text.to_string())).to_vec();
    let columns = [
        Column::new("person", ColumnType::Integer, None, None),
        Column::new("group", ColumnType::Text, None, Some(texts)),
        Column::new("second", ColumnType::Integer, None, Some((1..=3).map(Value::Integer).collect())),
        Column::new("value", ColumnType::Integer, bounds("-2", "5"), None),
        Column::new("other", ColumnType::Integer, bounds("-1", "8"), None),
    ];
    let unit = PrivacyUnit::Column { column: "person".to_string(), max_rows_per_unit: most };
    Schema::new(unit, neighbours, columns.map(Result::unwrap).to_vec()).unwrap()
}

/// All that one more unit may be: every value beside the ends of the other one and nulls, and every group.
fn family(schema: &Schema) -> Family {
    let integer = Cell::Integer;
    let row = |person: i64, group: &str, second: i64, value: Cell, other: Cell| -> Row {
        vec![integer(person), Cell::Text(group.to_string()), integer(second), value, other]
    };
    let mut rows = Vec::new();
    let values = || (-3..=6).map(integer).chain([integer(i64::MIN), integer(i64::MAX), Cell::Null]);
    for value in values() {
        for other in [integer(-99), integer(99), Cell::Null] {
            rows.push(row(9, "a", 1, value.clone(), other));
        }
    }
    rows.push(row(9, "a", 1, integer(5), integer(1)));
    if schema.rows_per_unit() > 1 {
        rows.retain(|row| !matches!(row[VALUE], Cell::Integer(-1 | 1 | 3)));
    }
    for (group, second) in [("a", 2), ("b", 1), ("b", 2), ("a", 3), ("z", 1)] {
        rows.extend([-2, 0, 1, 5].map(|value| row(9, group, second, integer(value), integer(8 * value.signum()))));
        rows.push(row(9, group, second, integer(-2), integer(99)));
        rows.push(row(9, group, second, integer(5), integer(-99)));
        rows.push(row(9, group, second, Cell::Null, Cell::Null));
        rows.push(row(9, group, second, Cell::Null, integer(99)));
    }
    let rest = vec![row(1, "a", 1, integer(3), integer(4)), row(2, "b", 2, Cell::Null, integer(1))];
    Family { rest, units: multisets(&rows, schema.rows_per_unit() as usize) }
}

#[test]
fn sums_of_expressions_move_as_far_as_their_derived_bounds_and_no_further() {
    check_sums(&EXPRESSIONS, schema, family);
}

/// Whether the sums of expressions move no further than is claimed, and as far where that is said.
pub(super) fn check_sums(
    expressions: &[(&str, bool)],
    schema: fn(Neighbours, u32) -> Schema,
    family: fn(&Schema) -> Family,
) {
    let price = Price::Epsilon(Amount::parse_exact("1").unwrap());
    let mut otherwise = Vec::new();
    for neighbours in [Neighbours::AddRemove, Neighbours::Substitute] {
        for most in [1, 2] {
            let schema = schema(neighbours, most);
            let family = family(&schema);
            for (expression, is_attained) in expressions {
                for group in ["", " GROUP BY \"group\""] {
                    let text = format!("SELECT SUM({expression}), VAR_POP({expression}) FROM t{group}");
                    let question = Question::parse(&text, "t", &schema).unwrap_or_else(|why| panic!("{text}: {why}"));
                    let plan = Plan::new(&question, &schema, price, &Weights::default()).unwrap();
                    let measures: Vec<Measure> = plan.parts().map(|part| part.measure.clone()).collect();
                    let query = &question.queries[0];
                    let checked = family.check(&schema, query, &measures, keeping::by_contents, Sensitivity::new);
                    let reaches = checked.unwrap_or_else(|why| panic!("{text}: {why}"));
                    let Sensitivity { l1, l2_squared } = plan.queries[0].parts[0].sensitivity;
                    if (reaches[0] == Reach { l1, l2_squared }) != *is_attained {
                        otherwise.push(format!("{text}, {neighbours:?}, {most}: {:?} of {l1}", reaches[0]));
                    }
                }
            }
        }
    }
    assert!(otherwise.is_empty(), "attained, or not attained, against what is said: {otherwise:#?}");
}
