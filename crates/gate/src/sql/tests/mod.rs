//! What statements look like, and that they compute what SQL means.

mod conditions;
pub(crate) mod dataset;
mod dialects;
mod differential;
pub(crate) mod meaning;
pub(crate) mod random;
pub(crate) mod world;

use taximeter_ledger::Neighbours;

use super::*;
use crate::measure::Centred;
use crate::number::Number;
use crate::question::group::Group;
use crate::question::predicate::Comparison;
use crate::schema::{Bounds, Column, PrivacyUnit};
use crate::steps::steps;

/// A query about the rows for which a condition holds, grouped by columns with categories.
pub(crate) fn query(schema: &Schema, filter: Option<Predicate>, groups: &[usize]) -> Query {
    let group = |at: &usize| {
        let column = &schema.columns[*at];
        let values = column.categories.clone().expect("groups have categories");
        Group { key: GroupKey::Column { column: *at, values }, name: column.name.clone() }
    };
    let groups = groups.iter().map(group).collect();
    Query {
        outputs: Vec::new(),
        aggregates: Vec::new(),
        filter,
        groups,
        group_limit: None,
        having: None,
        joins: Vec::new(),
        private: None,
    }
}

impl Measure {
    /// A measure of all rows.
    pub(crate) fn of(quantity: Quantity) -> Measure {
        Measure { quantity, filter: None }
    }

    /// The sum of the steps of a column away from a centre.
    pub(crate) fn sum(schema: &Schema, column: usize, centre: i64) -> Measure {
        let scalar = NumericExpr::column(column, &schema.columns[column]).expect("sums are of columns with bounds");
        Measure::of(Quantity::Sum(Centred { scalar, centre }))
    }

    /// The number of rows where a column is not null.
    pub(crate) fn non_null(column: usize) -> Measure {
        Measure::of(Quantity::NonNull(Argument::Column(column)))
    }
}

fn bounds(low: &str, high: &str, grid: &str) -> Option<Bounds> {
    let number = |text: &str| Number::parse(text).unwrap();
    Some(Bounds::new(number(low), number(high), number(grid)).unwrap())
}

fn schema() -> Schema {
    let north = Some(vec![Value::Text("north".to_string())]);
    let columns = vec![
        Column::new("age", ColumnType::Integer, bounds("-10", "120", "1"), None).unwrap(),
        Column::new("debt", ColumnType::Integer, bounds("-500", "1000", "100"), None).unwrap(),
        Column::new("income", ColumnType::Real, bounds("-1", "3", "0.5"), None).unwrap(),
        Column::new("re\"gion", ColumnType::Text, None, north).unwrap(),
    ];
    let unit = PrivacyUnit::Column { column: "age".to_string(), max_rows_per_unit: 1 };
    Schema::new(unit, Neighbours::AddRemove, columns).unwrap()
}

fn sql(filter: Option<Predicate>, groups: &[usize], measure: Measure, dialect: Dialect) -> String {
    let schema = schema();
    let target = Target { schema: &schema, dialect, table: "t", asked: &[] };
    Statement::measuring(&query(&schema, filter, groups), [&measure], target).sql
}

#[test]
fn sums_are_of_steps_away_from_the_centre() {
    let steps = |column| steps(&schema(), column, Dialect::Postgres);
    for (column, centre, postgres, sqlite) in [
        (0, 0, format!("sum((({})::int8)::int4)", steps(0)), r#"sum("age in steps")"#),
        (0, 55, format!("sum((({})::int8 - (55))::int4)", steps(0)), r#"sum("age in steps" - (55))"#),
        (1, 0, format!("sum((({})::int8)::int4)", steps(1)), r#"sum("debt in steps")"#),
        (2, -2, format!("sum((({})::int8 - (-2))::int4)", steps(2)), r#"sum("income in steps" - (-2))"#),
    ] {
        let measure = || Measure::sum(&schema(), column, centre);
        assert_eq!(sql(None, &[], measure(), Dialect::Postgres), format!("SELECT {postgres} FROM t"));
        assert_eq!(sql(None, &[], measure(), Dialect::Sqlite), format!("SELECT {sqlite} FROM t"));
    }
}

#[test]
fn text_is_compared_by_its_bytes_and_patterns_have_no_escapes() {
    let like = Predicate::Like { operand: Operand::plain(3), pattern: "a\\".to_string(), negated: true };
    let units = || Measure::of(Quantity::Units);
    assert_eq!(
        sql(Some(like.clone()), &[3], units(), Dialect::Postgres),
        concat!(
            r#"SELECT "re""gion"::text COLLATE "C", count(DISTINCT "age") FROM t WHERE "re""gion" COLLATE "C" IN ($1::text) "#,
            r#"AND "re""gion" COLLATE "C" NOT LIKE $2::text ESCAPE '' GROUP BY 1"#
        )
    );
    assert_eq!(
        sql(Some(like), &[3], units(), Dialect::Sqlite),
        r#"SELECT "re""gion", "age" FROM t WHERE "re""gion" NOT LIKE ?1"#
    );
}

#[test]
fn a_condition_of_a_measure_is_its_own() {
    let operand = Operand::plain(0);
    let filter = Predicate::Compare { operand, comparison: Comparison::Less, value: Value::Integer(18) };
    let measure = Measure { quantity: Quantity::Rows, filter: Some(filter) };
    let (schema, all) = (schema(), Measure::of(Quantity::Rows));
    let target = Target { schema: &schema, dialect: Dialect::Sqlite, table: "t", asked: &[] };
    let written = |measures: [&Measure; 2]| Statement::measuring(&query(&schema, None, &[]), measures, target).sql;
    assert_eq!(written([&measure, &all]), r#"SELECT count(*) FILTER (WHERE "age" < ?1), count(*) FROM t"#);
    // One that all have is a condition of the rows.
    assert_eq!(written([&measure, &measure]), r#"SELECT count(*), count(*) FROM t WHERE "age" < ?1"#);
}
