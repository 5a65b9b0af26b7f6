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
    use ColumnType::{Boolean, Date, Decimal, Integer, Real, Text, Timestamp};
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
        (Date, unit, Some(vec![Value::Date(0), Value::Date(-719_162)]), true),
        (Date, Some(("0", "10", "5")), None, false),
        (Date, Some(("-719163", "10", "1")), None, false),
        (Date, None, Some(vec![Value::Date(2_932_897)]), false),
        (Date, None, Some(vec![Value::Timestamp(0)]), false),
        (Timestamp, Some(("0", "86400", "3600")), Some(vec![Value::Timestamp(-1)]), true),
        (Timestamp, Some(("0", "1", "0.5")), None, false),
        (Timestamp, Some(("0", "302400000000", "86400")), None, false),
        (Timestamp, None, Some(vec![Value::Timestamp(i64::MAX)]), false),
        (Decimal, Some(("0", "10", "0.000001")), Some(vec![Value::Decimal(number("0.5"))]), true),
        (Decimal, Some(("0", "1", "0.0000001")), None, false),
        (Decimal, Some(("0", "1000000000000", "1000")), None, false),
        (Decimal, None, Some(vec![Value::Decimal(number("0.0000001"))]), false),
        (Decimal, None, Some(vec![Value::Integer(1)]), false),
    ] {
        let declared = declared.map(|(low, high, grid)| bounds(low, high, grid).unwrap());
        let shown = format!("{kind} {declared:?} {:?}", categories.iter().flatten().take(3).collect::<Vec<_>>());
        assert_eq!(Column::new("x", kind, declared, categories).is_ok(), good, "{shown}");
    }
}

#[test]
fn a_value_reads_back_as_it_is_shown() {
    use ColumnType::{Boolean, Date, Decimal, Integer, Real, Text, Timestamp};
    for (kind, text, shown, written) in [
        (Boolean, "true", "true", "TRUE"),
        (Integer, "-7", "-7", "-7"),
        (Real, "1.50", "1.5", "1.5"),
        (Text, "o'clock", "o'clock", "'o''clock'"),
        (Date, "2024-02-29", "2024-02-29", "DATE '2024-02-29'"),
        (Date, "0001-01-01", "0001-01-01", "DATE '0001-01-01'"),
        (Timestamp, "2024-02-29", "2024-02-29 00:00:00", "TIMESTAMP '2024-02-29 00:00:00'"),
        (Timestamp, "1969-12-31T23:59:59.50+01", "1969-12-31 22:59:59.5", "TIMESTAMP '1969-12-31 22:59:59.5'"),
        (Decimal, "12.50", "12.5", "12.5"),
        (Decimal, "-999999999999.999999", "-999999999999.999999", "-999999999999.999999"),
    ] {
        let value = Value::parse(text, kind).unwrap();
        assert_eq!((value.plain().as_str(), value.to_string().as_str()), (shown, written));
        assert_eq!((value.kind(), value.check()), (kind, Ok(())));
        assert_eq!(Value::parse(shown, kind).unwrap(), value);
        let stored = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), value, "{stored}");
        let json = value.json();
        assert_eq!(json.as_str().map_or_else(|| json.to_string(), str::to_string), shown);
    }
}

/// In ascending order; those of one line are equal.
#[test]
fn values_of_all_types_have_one_order() {
    let decimal = |text: &str| Value::Decimal(number(text));
    let ascending = [
        vec![Value::Boolean(false)],
        vec![Value::Boolean(true)],
        vec![Value::Real(f64::NEG_INFINITY)],
        vec![Value::Real(-1e300)],
        vec![Value::Integer(i64::MIN), Value::Real(-(2f64.powi(63)))],
        vec![Value::Real(-0.5), decimal("-0.5")],
        vec![Value::Integer(0), Value::Real(0.0), Value::Real(-0.0), decimal("0")],
        vec![decimal("0.1")],
        // The nearest binary number is a little larger.
        vec![Value::Real(0.1)],
        vec![Value::Real(0.5), decimal("0.5")],
        vec![Value::Integer(1), Value::Real(1.0), decimal("1")],
        vec![Value::Real(1.5)],
        vec![Value::Real(2f64.powi(53)), Value::Integer(1 << 53)],
        vec![Value::Integer((1 << 53) + 1)],
        vec![Value::Integer(i64::MAX)],
        vec![Value::Real(2f64.powi(63))],
        vec![Value::Real(f64::MAX)],
        vec![Value::Real(f64::INFINITY)],
        vec![Value::Date(-7)],
        vec![Value::Date(7)],
        vec![Value::Timestamp(1)],
        vec![Value::Text("1".to_string())],
        vec![Value::Text("a".to_string())],
    ];
    for (at, equal) in ascending.iter().enumerate() {
        for (other_at, others) in ascending.iter().enumerate() {
            for (one, other) in equal.iter().flat_map(|one| others.iter().map(move |other| (one, other))) {
                assert_eq!(one.compare(other), at.cmp(&other_at), "{one} {other}");
            }
        }
    }
}

#[test]
fn what_is_not_a_value_of_a_type_is_refused_with_the_form_it_has() {
    for (kind, text, why) in [
        (ColumnType::Date, "2023-02-29", "write it as 2024-02-29, from 0001-01-01 to 9999-12-31"),
        (ColumnType::Date, "2024-02-29 00:00", "write it as 2024-02-29"),
        (ColumnType::Timestamp, "noon", "write it as 2024-02-29 13:05:00"),
        (ColumnType::Decimal, "0.0000001", "at most 12 digits before the point and 6 after it"),
        (ColumnType::Decimal, "NaN", "write it as -12.5"),
        (ColumnType::Integer, "1.5", "declare another type"),
    ] {
        let error = Value::parse(text, kind).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(why), "{error}");
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
