use proptest::prelude::*;
use taximeter_ledger::Neighbours;

use super::*;
use crate::engine::Embedded;
use crate::number::Number;
use crate::schema::{Bound, Bounds, PrivacyUnit};

fn bounds(low: &str, high: &str, grid: &str) -> Option<Bounds> {
    let number = |text: &str| Number::parse(text).unwrap();
    Some(Bounds::new(number(low), number(high), number(grid)).unwrap())
}

/// An expression on one line.
fn one_line(expression: &str) -> String {
    expression.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn schema() -> Schema {
    let columns = vec![
        Column::new("age", ColumnType::Integer, bounds("-10", "120", "1"), None).unwrap(),
        Column::new("debt", ColumnType::Integer, bounds("-500", "1000", "100"), None).unwrap(),
        Column::new("income", ColumnType::Real, bounds("-1", "3", "0.5"), None).unwrap(),
    ];
    Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, columns).unwrap()
}

#[test]
fn a_value_is_clamped_before_it_is_calculated_with() {
    let age = r#"CASE WHEN "age" <= -10 THEN -10 WHEN "age" >= 120 THEN 120 ELSE "age" END"#;
    let debt = |debt| {
        format!(
            r#"CASE WHEN "debt" <= -500 THEN -5
                WHEN "debt" >= 1000 THEN 10
                ELSE ({debt} - (-500) + 50) / 100 + (-5) END"#
        )
    };
    let real = r#"CASE WHEN "income" <= -1.0 THEN -2
        WHEN "income" >= 3.0 THEN 6
        ELSE CAST(("income" - (-1.25)) / 0.5 AS INTEGER) + (-2) END"#;
    let float8 = r#"CASE WHEN "income" <= '-1.0'::float8 THEN -2
        WHEN "income" >= '3.0'::float8 THEN 6
        ELSE (floor(("income" - ('-1.25'::float8)) / '0.5'::float8) + '-2.0'::float8)::int4 END"#;
    for (column, sqlite, postgres) in
        [(0, age, age), (1, &debt(r#""debt""#), &debt(r#"("debt")::int8"#)), (2, real, float8)]
    {
        assert_eq!(steps(&schema(), column, Dialect::Sqlite), one_line(sqlite));
        assert_eq!(steps(&schema(), column, Dialect::Postgres), one_line(postgres));
    }
}

#[test]
fn the_column_in_steps_has_a_name_of_its_own() {
    let column = |name: &str| Column::new(name, ColumnType::Integer, bounds("0", "1", "1"), None).unwrap();
    let columns = vec![column("age"), column("AGE in steps"), column("Age In Steps'")];
    let schema = Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, columns).unwrap();
    let names: Vec<String> = steps_columns(&schema).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["age in steps''", "AGE in steps in steps", "Age In Steps' in steps"]);
}

#[test]
fn a_value_is_put_on_the_nearest_step_within_the_bounds() {
    let sqlite = rusqlite::Connection::open_in_memory().unwrap();
    sqlite.execute_batch(&Embedded::definition(&schema())).unwrap();
    for (name, value, steps) in [
        ("age", "-11", -10),
        ("age", "7", 7),
        ("age", "9223372036854775807", 120),
        ("debt", "-9223372036854775808", -5),
        ("debt", "-451", -5),
        ("debt", "-450", -4),
        ("debt", "0", 0),
        ("debt", "149", 1),
        ("debt", "150", 2),
        ("debt", "999", 10),
        ("income", "-9e999", -2),
        ("income", "-0.7500001", -2),
        ("income", "-0.75", -1),
        ("income", "-4.9e-324", 0),
        ("income", "0.2499999", 0),
        ("income", "0.25", 1),
        ("income", "2.9999999", 6),
        ("income", "9e999", 6),
        ("income", "NULL", 0),
    ] {
        sqlite.execute_batch(&format!("DELETE FROM data; INSERT INTO data ({name}) VALUES ({value})")).unwrap();
        let statement = format!("SELECT \"{name} in steps\" FROM data");
        let found: Option<i64> = sqlite.query_row(&statement, [], |row| row.get(0)).unwrap();
        assert_eq!(found, (value != "NULL").then_some(steps), "{name} = {value}");
    }
}

fn one_column(kind: ColumnType, bounds: Bounds) -> Schema {
    let column = Column::new("x", kind, Some(bounds), None).unwrap();
    Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, vec![column]).unwrap()
}

/// The steps of values as the embedded engine computes them.
fn computed(schema: &Schema, values: &[Option<i64>]) -> Vec<Option<i64>> {
    let sqlite = rusqlite::Connection::open_in_memory().unwrap();
    sqlite.execute_batch(&Embedded::definition(schema)).unwrap();
    let mut insert = sqlite.prepare("INSERT INTO data (x) VALUES (?1)").unwrap();
    values.iter().for_each(|value| assert_eq!(insert.execute([value]).unwrap(), 1));
    let mut select = sqlite.prepare("SELECT \"x in steps\" FROM data ORDER BY rowid").unwrap();
    let steps = select.query_map([], |row| row.get(0)).unwrap();
    steps.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn dates_times_and_decimals_are_clamped_before_they_are_calculated_with() {
    let calendar = |low: &str, high: &str, grid: &str, kind| {
        let end = |text: &str| Bound::parse(text).unwrap().number(kind).unwrap();
        Bounds::new(end(low), end(high), Number::parse(grid).unwrap()).unwrap()
    };
    let day = calendar("1969-12-31", "2024-02-29", "1", ColumnType::Date);
    let time = calendar("1969-12-31", "2024-02-29 13:05", "60", ColumnType::Timestamp);
    for (kind, bounds, sqlite, postgres) in [
        (
            ColumnType::Date,
            day,
            r#"CASE WHEN "x" <= -1 THEN -1 WHEN "x" >= 19782 THEN 19782 ELSE "x" END"#,
            r#"CASE WHEN "x" <= DATE '1969-12-31' THEN -1
                WHEN "x" >= DATE '2024-02-29' THEN 19782
                ELSE "x" - DATE '1970-01-01' END"#,
        ),
        (
            ColumnType::Timestamp,
            time,
            r#"CASE WHEN "x" <= -86400000000 THEN -1440
                WHEN "x" >= 1709211900000000 THEN 28486865
                ELSE ("x" - (-86400000000)) / 60000000 + (-1440) END"#,
            r#"CASE WHEN "x" <= TIMESTAMP '1969-12-31 00:00:00' THEN -1440
                WHEN "x" >= TIMESTAMP '2024-02-29 13:05:00' THEN 28486865
                ELSE (extract(epoch FROM date_trunc('second', "x"))::int8 - (-86400)) / 60 + (-1440) END"#,
        ),
        (
            ColumnType::Decimal,
            bounds("-1", "3", "0.5").unwrap(),
            r#"CASE WHEN "x" <= -1000000 THEN -2
                WHEN "x" >= 3000000 THEN 6
                ELSE ("x" - (-1000000) + 250000) / 500000 + (-2) END"#,
            r#"CASE WHEN "x" <= '-1'::numeric THEN -2
                WHEN "x" >= '3'::numeric THEN 6
                ELSE (div(2 * ("x" - '-1'::numeric) + '0.5'::numeric, 2 * '0.5'::numeric) + (-2))::int4 END"#,
        ),
    ] {
        let schema = one_column(kind, bounds);
        assert_eq!(steps(&schema, 0, Dialect::Sqlite), one_line(sqlite));
        assert_eq!(steps(&schema, 0, Dialect::Postgres), one_line(postgres));
    }
}

/// What is in the file, in units of 10⁻¹⁸ of what the bounds are in.
fn exact(kind: ColumnType, stored: i64) -> i128 {
    match kind {
        ColumnType::Date => i128::from(stored) * 10i128.pow(18),
        _ => i128::from(stored) * 10i128.pow(12),
    }
}

/// The steps in exact arithmetic: clamped, then the step below it, or for a number the nearest one.
fn evaluated(kind: ColumnType, bounds: &Bounds, stored: i64) -> i64 {
    let grid = bounds.grid().units();
    let clamped = exact(kind, stored).clamp(bounds.low().units(), bounds.high().units());
    let half = if kind == ColumnType::Decimal { grid / 2 } else { 0 };
    i64::try_from((clamped + half).div_euclid(grid)).unwrap()
}

/// Any bounds that a column of this type can have, near 0 and far from it.
fn any_bounds(kind: ColumnType) -> BoxedStrategy<Bounds> {
    let grids: &[&str] = match kind {
        ColumnType::Date => &["1"],
        ColumnType::Timestamp => &["1", "60", "3600", "86400", "7"],
        _ => &["0.000001", "0.000003", "0.01", "0.5", "1", "250", "0.75"],
    };
    let steps = |bits: u32| prop::array::uniform2(-(1i64 << bits)..=1 << bits);
    let bounds = move |(grid, ends): (&str, [i64; 2])| {
        let grid = Number::parse(grid).unwrap();
        let [one, other] = ends.map(|steps| grid.times(steps.into()).unwrap());
        let bounds = Bounds::new(one.min(other), one.max(other), grid).ok()?;
        Column::new("x", kind, Some(bounds), None).is_ok().then_some(bounds)
    };
    (prop::sample::select(grids.to_vec()), (0..=30u32).prop_flat_map(steps))
        .prop_filter_map("no bounds", bounds)
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: taximeter_testing::random_inputs(100),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_embedded_engine_computes_the_steps_of_exact_arithmetic(
        (kind, bounds) in prop::sample::select(vec![ColumnType::Date, ColumnType::Timestamp, ColumnType::Decimal])
            .prop_flat_map(|kind| (Just(kind), any_bounds(kind))),
        anywhere in prop::collection::vec(any::<i64>(), 1..20),
        near in prop::collection::vec(-3_000_000i64..3_000_000, 1..20),
    ) {
        let (first, last) = match kind {
            ColumnType::Date => (-719_162, 2_932_896),
            ColumnType::Timestamp => (-62_135_596_800_000_000, 253_402_300_799_999_999),
            _ => (-999_999_999_999_999_999, 999_999_999_999_999_999),
        };
        let unit = if kind == ColumnType::Date { 1 } else { 1_000_000 };
        let end = |number: Number| (number.times(unit).unwrap().floor()).clamp(first, last);
        let near = |end: i64| near.iter().map(move |near| end + near).chain([end - 1, end, end + 1]);
        let around = |end: i64| near(end).map(|value| value.clamp(first, last)).collect::<Vec<_>>();
        let range = i128::from(last) - i128::from(first) + 1;
        let anywhere = anywhere.iter().map(|value| first + i128::from(*value).rem_euclid(range) as i64);
        let mut values: Vec<i64> = anywhere.chain(around(end(bounds.low()))).chain(around(end(bounds.high()))).collect();
        values.extend([first, last, 0]);
        let found = computed(&one_column(kind, bounds), &values.iter().copied().map(Some).chain([None]).collect::<Vec<_>>());
        let mut expected: Vec<Option<i64>> = values.iter().map(|value| Some(evaluated(kind, &bounds, *value))).collect();
        expected.push(None);
        prop_assert_eq!(found, expected);
    }
}
