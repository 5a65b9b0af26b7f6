use super::*;
use crate::number::Number;

fn number(text: &str) -> Number {
    text.parse().unwrap()
}

fn bounds(low: &str, high: &str, grid: &str) -> Result<Bounds, Error> {
    Bounds::new(number(low), number(high), number(grid))
}

fn column(name: &str, kind: ColumnType) -> Column {
    Column::new(name, kind, None, None).unwrap()
}

#[test]
fn bounds_are_on_the_grid_and_no_further_from_0_than_sums_allow() {
    for (low, high, grid, good) in [
        ("0", "120", "1", true),
        ("-1.5", "-0.5", "0.5", true),
        ("-1073741824", "1073741824", "1", true),
        ("-1073741825", "0", "1", false),
        ("0", "1073741825", "1", false),
        ("0", "107374182.5", "0.1", false),
        ("5", "5", "1", false),
        ("6", "5", "1", false),
        ("0", "120", "0", false),
        ("0", "120", "-1", false),
        ("0", "120", "7", false),
        ("0.5", "120", "1", false),
    ] {
        assert_eq!(bounds(low, high, grid).is_ok(), good, "{low} to {high} in steps of {grid}");
    }
}

#[test]
fn the_middle_of_bounds_is_on_the_grid() {
    for (low, high, grid, centre) in [
        ("0", "120", "1", 60),
        ("0", "121", "1", 60),
        ("-5", "4", "1", -1),
        ("-10", "-9.5", "0.1", -98),
        ("10", "12", "0.5", 22),
    ] {
        assert_eq!(bounds(low, high, grid).unwrap().centre(), centre, "{low} to {high} in steps of {grid}");
    }
}

#[test]
fn a_grid_that_is_not_declared_has_about_a_million_steps() {
    use ColumnType::{Integer, Real};
    for (low, high, kind, grid) in [
        ("0", "120", Integer, Some("1")),
        ("-1000000000", "5", Integer, Some("1")),
        ("0", "10000000000", Integer, None),
        ("0", "0.5", Integer, None),
        ("0", "1", Real, Some("0.000001")),
        ("0", "200000", Real, Some("0.1")),
        ("-200000", "1", Real, Some("0.1")),
        ("0", "999999", Real, Some("0.1")),
        ("0", "1000000", Real, Some("1")),
        ("0", "1e12", Real, Some("1000000")),
        // Finer, since the bounds are.
        ("0.25", "200000", Real, Some("0.01")),
        ("0", "1.0000001", Real, Some("0.0000001")),
        // Not so fine.
        ("0", "1.0000000001", Real, None),
    ] {
        let found = Bounds::with_default_grid(number(low), number(high), kind);
        assert_eq!(found.ok().map(|bounds| bounds.grid()), grid.map(number), "{low} to {high}");
    }
}

#[test]
fn a_column_is_declared_as_what_it_holds() {
    use ColumnType::{Boolean, Integer, Real, Text};
    let text = |text: &str| Value::Text(text.to_string());
    let unit = Some(("0", "10", "1"));
    for (kind, declared, categories, good) in [
        (Integer, unit, None, true),
        (Real, unit, None, true),
        (Real, Some(("0", "10", "0.5")), None, true),
        (Integer, Some(("0", "10", "0.5")), None, false),
        (Text, unit, None, false),
        (Boolean, unit, None, false),
        (Text, None, Some(vec![text("a"), text("A"), text("")]), true),
        (Text, None, Some(vec![text("a"), text("b"), text("a")]), false),
        (Text, None, Some(vec![text("1"), Value::Integer(1)]), false),
        (Text, None, Some(vec![text("a\0")]), false),
        (Text, None, Some(vec![text(&"a".repeat(Value::TEXT + 1))]), false),
        (Text, None, Some(Vec::new()), false),
        (Integer, None, Some(vec![Value::Integer(1), Value::Integer(2)]), true),
        (Integer, None, Some(vec![Value::Integer(1), Value::Integer(1)]), false),
        (Integer, None, Some(vec![Value::Boolean(true)]), false),
        (Integer, None, Some((0..10_001).map(Value::Integer).collect()), false),
        (Boolean, None, Some(vec![Value::Boolean(true)]), true),
        (Real, None, Some(vec![Value::Real(1.0)]), false),
    ] {
        let declared = declared.map(|(low, high, grid)| bounds(low, high, grid).unwrap());
        let shown = format!("{kind} {declared:?} {:?}", categories.iter().flatten().take(3).collect::<Vec<_>>());
        assert_eq!(Column::new("x", kind, declared, categories).is_ok(), good, "{shown}");
    }
}

#[test]
fn a_schema_tells_columns_and_units_apart() {
    let by = |column: &str, max_rows_per_unit| PrivacyUnit::Column { column: column.to_string(), max_rows_per_unit };
    let columns = || vec![column("person", ColumnType::Integer), column("size", ColumnType::Real)];
    let twice = vec![column("age", ColumnType::Integer), column("Age", ColumnType::Integer)];
    let many = (0..=Schema::COLUMNS).map(|at| column(&format!("c{at}"), ColumnType::Text)).collect();
    for (unit, columns, good) in [
        (PrivacyUnit::Row, columns(), true),
        (PrivacyUnit::Row, twice, false),
        (PrivacyUnit::Row, many, false),
        (PrivacyUnit::Row, Vec::new(), false),
        (by("person", 1), columns(), true),
        (by("person", Schema::ROWS_PER_UNIT), columns(), true),
        (by("person", 0), columns(), false),
        (by("person", Schema::ROWS_PER_UNIT + 1), columns(), false),
        (by("size", 1), columns(), false),
        (by("nobody", 1), columns(), false),
    ] {
        let shown = format!("{unit:?} of {}", names(&columns));
        assert_eq!(Schema::new(unit, Neighbours::AddRemove, columns).is_ok(), good, "{shown}");
    }
}
