//! On a server of its own: what is refused, which rows are kept, and that no row can make a question fail.

mod asking;
mod expressions;
mod finding;
mod keeping;
mod same_answers;

use crate::engine::postgres::find::SourceTable;
use std::time::Duration;

use taximeter_ledger::Neighbours;
use taximeter_testing::{PATIENCE, PrivatePostgres, query, wait_until};

use super::session::{ANSWER, KEEP};
use super::*;
use crate::measure::{Measure, Quantity};
use crate::number::Number;
use crate::question::predicate::{Operand, Predicate};
use crate::schema::{Bound, Bounds, Column, PrivacyUnit, Value};
use crate::sql::tests::query as query_of;
use crate::sql::{Dialect, Target};

const MOST: Duration = PATIENCE;

fn new_database() -> String {
    PrivatePostgres::shared().new_database().unwrap()
}

/// A database in which these statements were executed.
fn database(statements: &str) -> String {
    let url = new_database();
    query(&url, statements).unwrap();
    url
}

fn number(text: &str) -> Number {
    Number::parse(text).unwrap()
}

fn bounds(low: &str, high: &str, grid: &str) -> Option<Bounds> {
    Some(Bounds::new(number(low), number(high), number(grid)).unwrap())
}

fn column(name: &str, kind: ColumnType) -> Column {
    Column::new(name, kind, None, None).unwrap()
}

fn schema(unit: Option<(&str, u32)>, columns: Vec<Column>) -> Schema {
    let unit = unit.map_or(PrivacyUnit::Row, |(column, max_rows_per_unit)| PrivacyUnit::Column {
        column: column.to_string(),
        max_rows_per_unit,
    });
    Schema::new(unit, Neighbours::AddRemove, columns).unwrap()
}

/// The schema of a table as it is found, with nothing declared about it.
fn found_schema(found: &SourceTable) -> Schema {
    schema(None, found.columns.iter().map(|(name, kind)| column(name, *kind)).collect())
}

/// A table that was found and checked, with its schema.
fn connected(url: &str, name: &str) -> (Postgres, Schema) {
    let found = find_table(url, name).unwrap();
    let schema = found_schema(&found);
    let mut engine = Postgres::connect(url, found.table, ANSWER).unwrap();
    engine.check(&schema, ANSWER).unwrap();
    (engine, schema)
}

/// The table that an engine asks, as SQL writes it.
fn asked(engine: &Postgres) -> String {
    format!("ONLY {}", engine.table.quoted())
}

/// The statement that measures what is asked of a table.
fn measuring(
    engine: &Postgres,
    schema: &Schema,
    filter: Option<Predicate>,
    groups: &[usize],
    measures: &[Measure],
) -> Statement {
    let target = Target { schema, dialect: Dialect::Postgres, table: &asked(engine), asked: &[] };
    Statement::measuring(&query_of(schema, filter, groups), measures, target)
}

fn rows() -> Measure {
    Measure::of(Quantity::Rows)
}

fn count_rows(engine: &Postgres, schema: &Schema) -> Statement {
    measuring(engine, schema, None, &[], &[rows()])
}

fn check_count(engine: &mut Postgres, schema: &Schema, count: i64) {
    let statement = count_rows(engine, schema);
    assert_eq!(engine.run(&statement, MOST).unwrap(), [ExactRow { keys: vec![], measures: vec![count] }]);
}

/// Executes statements without starting a program for each.
fn execute(connection: &mut Connection, statements: &str) -> Result<(), SessionError> {
    connection.once(ANSWER, async |client| Ok(client.batch_execute(statements).await?))
}
