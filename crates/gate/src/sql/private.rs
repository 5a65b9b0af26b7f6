//! Two private tables as one: every row of a unit beside each of its rows in the other table. What is asked of one table is asked of it.

use super::dialect::Dialect;
use crate::question::commas;
use crate::schema::Schema;
use crate::steps::{steps_name, unused_name};

/// A table of rows that count.
#[derive(Clone, Copy)]
pub(crate) struct PrivateRows<'a> {
    pub(crate) schema: &'a Schema,
    /// An identifier that is already quoted.
    pub(crate) table: &'a str,
}

/// The columns of a question with names of their own: two tables may have columns of one name.
pub(crate) fn with_own_names(columns: &Schema, joined: std::ops::Range<usize>) -> Schema {
    let mut named = columns.clone();
    for at in joined {
        named.columns[at].name = unused_name(columns, &format!("joined {at}"));
    }
    named
}

/// Both tables as one behind FROM, with all columns of the first, and from a place on those of the other. A unit is equal to itself by
/// its bytes, and null is no unit.
pub(crate) fn joined_rows(
    own: PrivateRows,
    other: PrivateRows,
    names: &Schema,
    first: usize,
    keeps_all: bool,
    dialect: Dialect,
) -> String {
    let grammar = dialect.grammar();
    let columns = |rows: PrivateRows, side: &str, first: usize| {
        let mut columns = Vec::new();
        for (at, column) in rows.schema.columns.iter().enumerate() {
            let mut add = |stored: &str, name: &str| {
                columns.push(format!("{side}.{} AS {}", grammar.name(stored), grammar.name(name)));
            };
            add(&column.name, &names.columns[first + at].name);
            if grammar.stores_steps() && column.bounds.is_some() {
                add(&steps_name(rows.schema, at), &steps_name(names, first + at));
            }
        }
        columns
    };
    let unit = |rows: PrivateRows, side: &str| {
        let unit = &rows.schema.columns[rows.schema.unit_column().expect("tables are joined on their units")];
        grammar.compared(format!("{side}.{}", grammar.name(&unit.name)), unit.kind)
    };
    let [one, two] = ["one", "two"].map(|side| grammar.name(side));
    let all = commas(columns(own, &one, 0).into_iter().chain(columns(other, &two, first)));
    let word = if keeps_all { "LEFT JOIN" } else { "JOIN" };
    let on = format!("{} = {}", unit(own, &one), unit(other, &two));
    format!("(SELECT {all} FROM {} AS {one} {word} {} AS {two} ON {on})", own.table, other.table)
}
