//! Public tables in SQL. Of a table only the key and the columns that the query uses are sent, and numbers in steps are computed here.
//!
//! Engines limit how many parameters a statement has, so SQLite and PostgreSQL get each table as one, a list of rows in JSON. PostgreSQL
//! joins the rows as they come; SQLite needs a table with a key to look them up, and is given a temporary one. Other engines get
//! the rows as literals.
//!
//! DuckDB joins row by row. It computes a function of a text column once for every entry of the column's dictionary, so a table of few
//! rows with a key of text is a function there, in place of a join.

use serde_json::Value as Json;

use super::dialect::{Dialect, Supply};
use super::{ROWS, Writer};
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

/// The most rows of a table that is a function: a key is compared with one after the other.
const MOST_LOOKED_UP: usize = 16;

impl Writer<'_> {
    pub(super) fn is_public(&self, at: usize) -> bool {
        self.joins.iter().any(|join| join.has(at))
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
        let place = self.joins.iter().position(|join| join.has(at)).expect("only columns of joined tables are named");
        if let Some(lookup) = self.lookup(place, (at, form)) {
            return lookup;
        }
        self.used.insert((at, form));
        let column = format!("{}.{}", self.table(place), self.field(at, form));
        if self.joins[place].keeps_all { self.grammar().perhaps(column) } else { column }
    }

    /// What is behind FROM: the rows of the dataset, or of a SELECT in parentheses, beside public tables.
    pub(super) fn source(&mut self, rows: &str) -> String {
        let named = !self.joins.is_empty() || rows.starts_with('(');
        let mut from = if named { format!("{rows} AS {}", self.grammar().name(ROWS)) } else { rows.to_string() };
        for (place, join) in self.joins.iter().enumerate() {
            if self.is_looked_up(place) {
                continue;
            }
            let on = self.compared(Operand::plain(join.on));
            let (key, form) = join.key_field();
            self.used.insert((key, form));
            let word = if join.keeps_all { "LEFT JOIN" } else { self.grammar().join() };
            let (table, key) = (self.table(place), self.field(key, form));
            from += &format!(" {word} {table} ON {on} = {table}.{key}");
        }
        from
    }

    /// Whether a table is a function of the column that its key equals.
    fn is_looked_up(&self, place: usize) -> bool {
        let join = &self.joins[place];
        let is_text = !self.is_public(join.on) && self.kind(join.on) == ColumnType::Text;
        let rows = self.keyed(place).take(MOST_LOOKED_UP + 1).count();
        self.may_look_up && self.grammar().looks_up() && is_text && (1..=MOST_LOOKED_UP).contains(&rows)
    }

    /// A column of a table that is a function.
    fn lookup(&mut self, place: usize, used: (usize, Form)) -> Option<String> {
        if !self.is_looked_up(place) {
            return None;
        }
        let join = &self.joins[place];
        let key = self.compared(Operand::plain(join.on));
        let column = |used| commas(self.keyed(place).map(|row| self.literal_cell(join, row, used)));
        Some(lookup(&column(join.key_field()), &column(used), &key))
    }

    /// The conditions that rows have their counterparts in tables that are functions.
    pub(super) fn counterparts(&mut self) -> Vec<String> {
        let mut conditions = Vec::new();
        for (place, join) in self.joins.iter().enumerate() {
            if self.is_looked_up(place) && !join.keeps_all {
                let on = self.compared(Operand::plain(join.on));
                let keys = commas(self.keyed(place).map(|row| self.literal_cell(join, row, join.key_field())));
                conditions.push(self.grammar().is_in_a_group(format!("{on} IN ({keys})")));
            }
        }
        conditions
    }

    /// The tables that are needed, and what comes before SELECT. Call it when everything else is written.
    pub(super) fn public_tables(&mut self) -> (Vec<TemporaryTable>, String) {
        let places: Vec<usize> = (0..self.joins.len()).filter(|place| !self.is_looked_up(*place)).collect();
        if places.is_empty() {
            return (Vec::new(), String::new());
        }
        let places = places.into_iter();
        let tables: Vec<_> = match self.grammar().supply() {
            Supply::Temporary => return (places.map(|place| self.temporary(place)).collect(), String::new()),
            Supply::Json => places.map(|place| self.with_json(place)).collect(),
            Supply::Values => places.map(|place| self.with_values(place)).collect(),
        };
        (Vec::new(), format!("WITH {} ", commas(tables)))
    }

    fn table(&self, place: usize) -> String {
        self.grammar().name(&format!("public_{}", place + 1))
    }

    fn field(&self, at: usize, form: Form) -> String {
        self.grammar().name(&match form {
            Form::Plain => format!("c{at}"),
            Form::Steps => format!("s{at}"),
            Form::Text => format!("t{at}"),
        })
    }

    /// The columns of a table that are used.
    fn columns(&self, place: usize) -> Vec<(usize, Form)> {
        self.used.iter().filter(|(at, _)| self.joins[place].has(*at)).copied().collect()
    }

    /// The rows of a table that have a key: one without has no counterpart.
    fn keyed(&self, place: usize) -> impl Iterator<Item = usize> {
        let join = &self.joins[place];
        (0..join.table.row_count()).filter(|row| join.table.rows()[*row][join.key].is_some())
    }

    /// What a column holds where it is used.
    fn held(&self, join: &Join, (at, form): (usize, Form)) -> ColumnType {
        match form {
            Form::Plain => column(join, at).kind,
            Form::Steps => ColumnType::Integer,
            Form::Text => ColumnType::Text,
        }
    }

    /// The columns of a table that are used, and its rows with them, as JSON.
    fn rows(&self, place: usize) -> (Vec<(usize, Form)>, Value) {
        let (join, used) = (&self.joins[place], self.columns(place));
        let cells = |row: usize| used.iter().map(|(at, form)| self.cell(join, row, *at, *form)).collect();
        let content = Json::Array(self.keyed(place).map(|row| Json::Array(cells(row))).collect());
        (used, Value::Text(content.to_string()))
    }

    /// A table of the embedded engine. Its key is unique there, too: a row of the dataset cannot become two.
    fn temporary(&self, place: usize) -> TemporaryTable {
        let (join, (used, rows)) = (&self.joins[place], self.rows(place));
        let types = |used: &(usize, Form)| self.grammar().type_name(self.held(join, *used));
        let defined = used.iter().map(|used| format!("{} {}", self.field(used.0, used.1), types(used)));
        let (key, form) = join.key_field();
        let key = self.field(key, form);
        let (name, columns) = (self.table(place), commas(defined));
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
    fn with_json(&mut self, place: usize) -> String {
        let (join, (used, rows)) = (&self.joins[place], self.rows(place));
        let parameter = self.literal(&rows);
        let names = commas(used.iter().map(|(at, form)| self.field(*at, *form)));
        let fields = used.iter().enumerate().map(|(index, used)| {
            format!("(\"value\" ->> {index})::{}", self.grammar().type_name(self.held(join, *used)))
        });
        let source = format!("jsonb_array_elements({parameter}::jsonb) AS \"row\"(\"value\")");
        format!("{} ({names}) AS MATERIALIZED (SELECT {} FROM {source})", self.table(place), commas(fields))
    }

    /// A table in the text of the statement. One without rows has one that no row of the dataset is a counterpart of.
    fn with_values(&self, place: usize) -> String {
        let (join, used) = (&self.joins[place], self.columns(place));
        let columns: Vec<(String, ColumnType)> =
            used.iter().map(|used| (self.field(used.0, used.1), self.held(join, *used))).collect();
        let cells = |row: usize| commas(used.iter().map(|used| self.literal_cell(join, row, *used)));
        let mut rows: Vec<String> = self.keyed(place).map(|row| format!("({})", cells(row))).collect();
        if rows.is_empty() {
            let nulls = used.iter().map(|used| self.grammar().null(self.held(join, *used)));
            rows.push(format!("({})", commas(nulls)));
        }
        self.grammar().table(&self.table(place), &columns, &rows)
    }

    /// A field in the text of a statement.
    fn literal_cell(&self, join: &Join, row: usize, (at, form): (usize, Form)) -> String {
        let stored = || join.table.rows()[row][at - join.first].as_ref();
        let value = match form {
            Form::Plain => stored().cloned(),
            Form::Steps => join.table.steps(row, at - join.first).map(Value::Integer),
            Form::Text => stored().map(|value| Value::Text(value.plain())),
        };
        let null = || self.grammar().null(self.held(join, (at, form)));
        value.map_or_else(null, |value| self.grammar().literal(&value, &mut Vec::new()))
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

/// The value beside a key; null where there is none.
pub(super) fn lookup(keys: &str, values: &str, key: &str) -> String {
    format!("map([{keys}], [{values}])[{key}]")
}
