//! A table in memory that answers the statements of the embedded engine.

use std::collections::BTreeMap;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, params_from_iter};

use super::Row;
use crate::engine::{Embedded, add_functions};
use crate::question::group::GroupKey;
use crate::question::{Query, commas};
use crate::schema::{Schema, Value};
use crate::sql::Statement;

/// The name of the table, quoted.
pub(super) const TABLE: &str = Embedded::TABLE;

pub(super) struct Database(Connection);

impl Database {
    pub(super) fn new(schema: &Schema) -> Database {
        let connection = Connection::open_in_memory().unwrap();
        let table = format!("PRAGMA case_sensitive_like=ON; {}", Embedded::definition(schema));
        connection.execute_batch(&table).unwrap();
        add_functions(&connection).unwrap();
        Database(connection)
    }

    /// What the statement says of groups that are not declared, by their one key.
    pub(super) fn groups(&self, statement: &Statement) -> BTreeMap<String, Vec<i64>> {
        let mut prepared = self.0.prepare_cached(&statement.sql).unwrap();
        let parameters = params_from_iter(statement.parameters.iter().map(cell));
        let row = |row: &rusqlite::Row<'_>| {
            let measures = (1..=statement.measures).map(|at| Ok(row.get::<_, Option<i64>>(at)?.unwrap_or(0)));
            Ok((row.get(0)?, measures.collect::<Result<_, rusqlite::Error>>()?))
        };
        prepared.query_map(parameters, row).unwrap().map(Result::unwrap).collect()
    }

    /// Puts these rows in the place of all others.
    pub(super) fn fill(&self, rows: &[Row]) {
        self.0.prepare_cached(&format!("DELETE FROM {TABLE}")).unwrap().execute([]).unwrap();
        for row in rows {
            let values = commas((1..=row.len()).map(|number| format!("?{number}")));
            let mut insert = self.0.prepare_cached(&format!("INSERT INTO {TABLE} VALUES ({values})")).unwrap();
            insert.execute(params_from_iter(row)).unwrap();
        }
    }

    /// What the statement says: for every measure a number for every group, one that is not there has 0.
    pub(super) fn ask(&self, statement: &Statement, query: &Query) -> Vec<Vec<i64>> {
        let keys: Vec<Vec<Cell>> = query.groups.iter().map(|group| cells(&group.key)).collect();
        let groups = keys.iter().map(Vec::len).product();
        let mut answers = vec![vec![0; groups]; statement.measures];
        let mut prepared = self.0.prepare_cached(&statement.sql).unwrap();
        let mut rows = prepared.query(params_from_iter(statement.parameters.iter().map(cell))).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let mut group = 0;
            for (at, keys) in keys.iter().enumerate() {
                let key: Cell = row.get(at).unwrap();
                let found = keys.iter().position(|other| *other == key);
                group = group * keys.len() + found.expect("every key is one that is answered");
            }
            for (at, answer) in answers.iter_mut().enumerate() {
                let measured: Option<i64> = row.get(keys.len() + at).unwrap();
                answer[group] = measured.unwrap_or(0);
            }
        }
        answers
    }
}

/// The values of a key as the engine has them.
fn cells(key: &GroupKey) -> Vec<Cell> {
    match key {
        GroupKey::Column { column: _, values } => values.iter().map(cell).collect(),
        GroupKey::Steps { scalar: _, values } => values.iter().map(|(steps, _)| Cell::Integer(*steps)).collect(),
        GroupKey::Open { .. } => unreachable!("the groups are declared"),
    }
}

/// A literal as the embedded engine stores it.
fn cell(value: &Value) -> Cell {
    match value {
        Value::Boolean(value) => Cell::Integer(i64::from(*value)),
        Value::Integer(value) => Cell::Integer(*value),
        Value::Real(value) => Cell::Real(*value),
        Value::Text(text) => Cell::Text(text.clone()),
        Value::Date(days) => Cell::Integer(i64::from(*days)),
        Value::Timestamp(microseconds) => Cell::Integer(*microseconds),
        Value::Decimal(number) => Cell::Integer(number.to_millionths().unwrap()),
    }
}
