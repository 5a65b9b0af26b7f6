//! A table in memory that answers the statements of the embedded engine.

use std::collections::BTreeMap;

use rusqlite::{Connection, params_from_iter};

use super::Row;
use crate::engine::{Embedded, add_functions, exact_rows};
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
        let rows = exact_rows(&self.0, statement).unwrap();
        rows.into_iter().map(|row| (row.keys[0].plain(), row.measures)).collect()
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
        let keys: Vec<Vec<Value>> = query.groups.iter().map(|group| values(&group.key)).collect();
        let groups = keys.iter().map(Vec::len).product();
        let mut answers = vec![vec![0; groups]; statement.measures];
        for row in exact_rows(&self.0, statement).unwrap() {
            let mut group = 0;
            for (keys, key) in keys.iter().zip(&row.keys) {
                let found = keys.iter().position(|other| other == key);
                group = group * keys.len() + found.expect("every key is one that is answered");
            }
            for (answer, measured) in answers.iter_mut().zip(row.measures) {
                answer[group] = measured;
            }
        }
        answers
    }
}

/// The values of a key as the engine has them.
fn values(key: &GroupKey) -> Vec<Value> {
    match key {
        GroupKey::Column { column: _, values } => values.clone(),
        GroupKey::Steps { scalar: _, values } => values.iter().map(|(steps, _)| Value::Integer(*steps)).collect(),
        GroupKey::Open { .. } => unreachable!("the groups are declared"),
    }
}
