//! Public tables in SQL: each is one parameter, a list of rows in JSON, whatever the number of rows. Engines limit how many parameters a
//! statement has.
//!
//! Of a table only the key and the columns that the query uses are sent. Numbers in steps are computed here, so that both engines find
//! them ready. PostgreSQL joins the rows as they come; SQLite needs a table with a key to look them up, and is given a temporary one.

use serde_json::Value as Json;

use super::{Dialect, ROWS, Writer};
use crate::question::predicate::Operand;
use crate::question::{Join, commas};
use crate::schema::{Column, ColumnType, Value};

/// A table of the embedded engine that is there for a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TemporaryTable {
    /// The statement that makes it.
    pub(crate) create: String,
    /// The statement that fills it with the rows, its one parameter.
    pub(crate) fill: String,
    pub(crate) rows: Value,
}

/// How a column of a public table is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// As it is.
    Plain,
    /// In steps of its grid.
    Steps,
    /// A whole number as text, to be compared with text.
    Text,
}

impl Writer<'_> {
    pub(super) fn is_public(&self, at: usize) -> bool {
        at >= self.target.schema.columns.len()
    }

    /// What a column holds.
    pub(super) fn kind(&self, at: usize) -> ColumnType {
        match self.joins.iter().find(|join| join.has(at)) {
            Some(join) => column(join, at).kind,
            None => self.target.schema.columns[at].kind,
        }
    }

    /// A column of a public table.
    pub(super) fn public(&mut self, at: usize, form: Form) -> String {
        self.used.insert((at, form));
        let place = self.joins.iter().position(|join| join.has(at)).expect("only columns of joined tables are named");
        let column = format!("{}.{}", table(place), field(at, form));
        match (self.joins[place].keeps_all, self.target.dialect) {
            // Where a condition leaves out what has no counterpart, SQLite would make a plain join of a LEFT JOIN, and go through all
            // rows of the dataset for each of the public table. It does not look into functions.
            (true, Dialect::Sqlite) => format!("coalesce({column}, NULL)"),
            _ => column,
        }
    }

    /// What is behind FROM: the rows of the dataset, or of a SELECT in parentheses, beside public tables.
    pub(super) fn source(&mut self, rows: &str) -> String {
        let named = !self.joins.is_empty() || rows.starts_with('(');
        let mut from = if named { format!("{rows} AS {ROWS}") } else { rows.to_string() };
        for (place, join) in self.joins.iter().enumerate() {
            let on = self.compared(Operand::plain(join.on));
            let (key, form) = join.key_field();
            self.used.insert((key, form));
            let word = match (join.keeps_all, self.target.dialect) {
                (true, _) => "LEFT JOIN",
                (false, Dialect::Postgres) => "JOIN",
                // There it means that the rows of the dataset are gone through, and not those of the public table.
                (false, Dialect::Sqlite) => "CROSS JOIN",
            };
            from += &format!(" {word} {0} ON {on} = {0}.{1}", table(place), field(key, form));
        }
        from
    }

    /// The tables that are needed, and what comes before SELECT. Call it when everything else is written.
    pub(super) fn public_tables(&mut self) -> (Vec<TemporaryTable>, String) {
        let places = 0..self.joins.len();
        match self.target.dialect {
            _ if self.joins.is_empty() => (Vec::new(), String::new()),
            Dialect::Sqlite => (places.map(|place| self.temporary(place)).collect(), String::new()),
            Dialect::Postgres => {
                let tables: Vec<_> = places.map(|place| self.with(place)).collect();
                (Vec::new(), format!("WITH {} ", commas(tables)))
            }
        }
    }

    /// The columns of a table that are used, and its rows with them.
    fn rows(&self, place: usize) -> (Vec<(usize, Form)>, Value) {
        let join = &self.joins[place];
        let used: Vec<(usize, Form)> = self.used.iter().filter(|(at, _)| join.has(*at)).copied().collect();
        // A row without a key has no counterpart.
        let rows = (0..join.table.row_count()).filter(|row| join.table.rows()[*row][join.key].is_some());
        let cells = |row: usize| used.iter().map(|(at, form)| self.cell(join, row, *at, *form)).collect();
        let content = Json::Array(rows.map(|row| Json::Array(cells(row))).collect());
        (used, Value::Text(content.to_string()))
    }

    /// A table of the embedded engine. Its key is unique there, too: a row of the dataset cannot become two.
    fn temporary(&self, place: usize) -> TemporaryTable {
        let (join, (used, rows)) = (&self.joins[place], self.rows(place));
        let types = |(at, form): &(usize, Form)| match (form, column(join, *at).kind) {
            (Form::Text, _) | (Form::Plain, ColumnType::Text) => "TEXT",
            (Form::Plain, ColumnType::Real) => "REAL",
            _ => "INTEGER",
        };
        let defined = used.iter().map(|used| format!("{} {}", field(used.0, used.1), types(used)));
        let (key, form) = join.key_field();
        let key = field(key, form);
        let (name, columns) = (table(place), commas(defined));
        let read = commas((0..used.len()).map(|index| format!("\"value\" ->> {index}")));
        TemporaryTable {
            create: format!(
                "DROP TABLE IF EXISTS temp.{name}; CREATE TEMP TABLE {name} ({columns}, PRIMARY KEY ({key})) STRICT, WITHOUT ROWID"
            ),
            fill: format!("INSERT INTO temp.{name} SELECT {read} FROM json_each(?1)"),
            rows,
        }
    }

    /// A table of PostgreSQL. What is converted was written here: it cannot fail.
    fn with(&mut self, place: usize) -> String {
        let (join, (used, rows)) = (&self.joins[place], self.rows(place));
        let parameter = self.parameter(rows);
        let names = commas(used.iter().map(|(at, form)| field(*at, *form)));
        let fields = used.iter().enumerate().map(|(index, (at, form))| {
            let kind = match (form, column(join, *at).kind) {
                (Form::Text, _) => "text",
                (Form::Steps, _) | (_, ColumnType::Integer) => "int8",
                (_, ColumnType::Real) => "float8",
                (_, ColumnType::Text) => "text",
                (_, ColumnType::Boolean) => "bool",
                (_, ColumnType::Date) => "date",
                (_, ColumnType::Timestamp) => "timestamp",
                (_, ColumnType::Decimal) => "numeric",
            };
            format!("(\"value\" ->> {index})::{kind}")
        });
        let source = format!("jsonb_array_elements({parameter}::jsonb) AS \"row\"(\"value\")");
        format!("{} ({names}) AS MATERIALIZED (SELECT {} FROM {source})", table(place), commas(fields))
    }

    /// A field as the engine gets it: as it stores it, or as text that it converts exactly.
    fn cell(&self, join: &Join, row: usize, at: usize, form: Form) -> Json {
        if form == Form::Steps {
            return join.table.steps(row, at - join.first).map_or(Json::Null, Json::from);
        }
        let Some(value) = &join.table.rows()[row][at - join.first] else { return Json::Null };
        match (value, self.target.dialect) {
            (value, _) if form == Form::Text => Json::String(value.plain()),
            (Value::Integer(value), _) => Json::from(*value),
            (Value::Boolean(value), Dialect::Sqlite) => Json::from(i64::from(*value)),
            (Value::Date(days), Dialect::Sqlite) => Json::from(*days),
            (Value::Timestamp(microseconds), Dialect::Sqlite) => Json::from(*microseconds),
            (Value::Decimal(number), Dialect::Sqlite) => number.to_millionths().map_or(Json::Null, Json::from),
            (value, _) => Json::String(value.plain()),
        }
    }
}

impl Join {
    /// The key by its place in the question, and how it is compared.
    fn key_field(&self) -> (usize, Form) {
        (self.first + self.key, if self.as_text { Form::Text } else { Form::Plain })
    }
}

/// A column of a table by its place in the question.
fn column(join: &Join, at: usize) -> &Column {
    &join.table.columns()[at - join.first]
}

fn table(place: usize) -> String {
    format!("\"public {}\"", place + 1)
}

fn field(at: usize, form: Form) -> String {
    match form {
        Form::Plain => format!("\"c{at}\""),
        Form::Steps => format!("\"s{at}\""),
        Form::Text => format!("\"t{at}\""),
    }
}
