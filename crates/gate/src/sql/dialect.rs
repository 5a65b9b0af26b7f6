//! What engines write differently. Everything else is written once, by the writer.
//!
//! A grammar must not leave anything to an engine's taste: whole numbers have 64 bits and divide towards 0, sums cannot wrap, letters
//! change their case in ASCII alone, a pattern has no escapes, and nothing fails on any row. The embedded engine and PostgreSQL take
//! literals as parameters; the others get them in the text, in a form that nothing in a value can end.

mod bigquery;
mod duckdb;
mod parts;
mod postgres;
mod snowflake;
mod spark;
mod sqlite;

pub(crate) use self::parts::only_where;
use self::parts::{
    clamped_by_cases, days_steps, ends, hexadecimal, is_by_coalesce, microseconds_steps, pairwise, real_quotient,
    scaled_steps, ten_millions_times, weekday, where_it_holds, without_escapes,
};
use crate::number::Number;
use crate::question::calendar::DatePart;
use crate::question::predicate::LetterCase;
use crate::question::{commas, quoted};
use crate::schema::{Bounds, ColumnType, Value};

/// How an engine writes SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
    DuckDb,
    /// Sail, Spark and Databricks.
    Spark,
    Snowflake,
    BigQuery,
}

impl Dialect {
    pub(crate) fn grammar(self) -> &'static dyn Grammar {
        match self {
            Dialect::Sqlite => &sqlite::SqliteSql,
            Dialect::Postgres => &postgres::PostgresSql,
            Dialect::DuckDb => &duckdb::DuckDbSql,
            Dialect::Spark => &spark::SparkSql,
            Dialect::Snowflake => &snowflake::SnowflakeSql,
            Dialect::BigQuery => &bigquery::BigQuerySql,
        }
    }
}

/// The lower and the upper bound as they are compared with a column, and the steps of a value between them.
pub(crate) type Clamped = (String, String, String);

/// What is counted or summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SqlAggregate {
    Count,
    CountDistinct,
    Sum,
}

/// Which of several numbers is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    Least,
    Greatest,
}

/// How public tables come to an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supply {
    /// In a temporary table, filled from a parameter.
    Temporary,
    /// In a parameter, as JSON.
    Json,
    /// In the text of the statement.
    Values,
}

/// What a dialect must say for itself, and what most have in common. Texts that come in are complete expressions; those with an operator
/// are in parentheses.
pub(crate) trait Grammar: Sync {
    /// A name, in quotes.
    fn name(&self, name: &str) -> String {
        quoted(name)
    }

    /// The name of the type that values of a column are compared in.
    fn type_name(&self, kind: ColumnType) -> &'static str;

    /// Text in quotes, whatever is in it.
    fn text(&self, text: &str) -> String {
        format!("'{}'", text.replace('\'', "''"))
    }

    /// A literal of its type, in full or as the next parameter.
    fn literal(&self, value: &Value, _parameters: &mut Vec<Value>) -> String {
        match value {
            Value::Boolean(true) => "TRUE".to_string(),
            Value::Boolean(false) => "FALSE".to_string(),
            Value::Integer(value) => self.integer(*value),
            Value::Real(value) => self.real(*value),
            Value::Text(text) => self.text(text),
            Value::Date(_) => format!("DATE '{}'", value.plain()),
            Value::Decimal(_) | Value::Timestamp(_) => {
                format!("CAST('{}' AS {})", value.plain(), self.type_name(value.kind()))
            }
        }
    }

    /// A whole number of 64 bits.
    fn integer(&self, value: i64) -> String {
        format!("CAST({value} AS {})", self.type_name(ColumnType::Integer))
    }

    /// A binary number. The shortest text that means it is read back exactly.
    fn real(&self, value: f64) -> String {
        format!("CAST('{value:?}' AS {})", self.type_name(ColumnType::Real))
    }

    fn null(&self, kind: ColumnType) -> String {
        format!("CAST(NULL AS {})", self.type_name(kind))
    }

    /// An expression that is a whole number, in 64 bits.
    fn wide(&self, expression: &str) -> String {
        format!("CAST({expression} AS {})", self.type_name(ColumnType::Integer))
    }

    /// A column as it is compared: text by its bytes, and NaN above every number.
    fn compared(&self, column: String, _kind: ColumnType) -> String {
        column
    }

    /// A column as its different values are counted.
    fn distinct(&self, column: String, kind: ColumnType) -> String {
        self.compared(column, kind)
    }

    /// A column as it is grouped by.
    fn grouped(&self, column: String, _kind: ColumnType) -> String {
        column
    }

    /// The same text in small or capital letters, as far as they are those of ASCII.
    fn letters(&self, text: String, case: LetterCase) -> String {
        const SMALL: &str = "abcdefghijklmnopqrstuvwxyz";
        const CAPITAL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        match case {
            LetterCase::AsWritten => text,
            LetterCase::Lower => format!("translate({text}, '{CAPITAL}', '{SMALL}')"),
            LetterCase::Upper => format!("translate({text}, '{SMALL}', '{CAPITAL}')"),
        }
    }

    /// Whether text fits a pattern in which nothing is an escape, with what stands before LIKE.
    fn like(&self, text: &str, not: &str, pattern: &str, parameters: &mut Vec<Value>) -> String;

    /// The condition `… IS TRUE`, `IS FALSE` or, without a value, `IS NULL`.
    fn is(&self, condition: &str, value: Option<bool>, not: &str) -> String {
        let value = match value {
            Some(true) => "TRUE",
            Some(false) => "FALSE",
            None => "NULL",
        };
        format!("({condition}) IS {not}{value}")
    }

    /// 1 where a condition holds, 0 where it does not.
    fn truth(&self, condition: &str) -> String {
        self.wide(condition)
    }

    /// The quotient of two whole numbers, rounded towards 0.
    fn quotient(&self, one: &str, other: &str) -> String;

    /// What is left, with the sign of the first.
    fn remainder(&self, one: &str, other: &str) -> String {
        format!("{one} % {other}")
    }

    /// The least or the greatest of those that are not null.
    fn extreme(&self, parts: Vec<String>, extreme: Extreme) -> String {
        match extreme {
            Extreme::Least => format!("least({})", commas(parts)),
            Extreme::Greatest => format!("greatest({})", commas(parts)),
        }
    }

    /// A part of the date of a number of days.
    fn calendar(&self, part: DatePart, days: &str) -> String;

    /// The same of a column of dates within their bounds, where such a column is beside it.
    fn calendar_of_date(&self, _part: DatePart, _date: &str) -> Option<String> {
        None
    }

    /// What is summed, as it is summed without wrapping: no row adds more than `reach`, either way, and there are any number of rows.
    fn summed(&self, term: &str, reach: u64) -> String;

    /// An aggregate of the rows for which a condition holds. The term of a count of rows is `*`.
    fn aggregate(&self, aggregate: SqlAggregate, term: &str, reach: u64, filter: Option<&str>) -> String {
        let measured = match aggregate {
            SqlAggregate::Count => format!("count({term})"),
            SqlAggregate::CountDistinct => format!("count(DISTINCT {term})"),
            SqlAggregate::Sum => format!("sum({})", self.summed(term, reach)),
        };
        measured + &only_where(filter)
    }

    /// A hash of several values, to sort by; nothing where none is known to be there, or to fail on no value.
    fn hash(&self, _parts: &str) -> Option<String> {
        None
    }

    /// A column clamped to its bounds before anything is computed of it, null where it is; nothing where each end has a branch of its own.
    fn clamped_first(&self, _column: &str, _kind: ColumnType, _low: &str, _high: &str) -> Option<String> {
        None
    }

    /// A value between the bounds, for an engine that may compute it where it is not.
    fn within(&self, column: &str, _low: &str, _high: &str) -> String {
        column.to_string()
    }

    /// Whether rows are grouped by the engine's own program, and not by the statement.
    fn engine_groups(&self) -> bool {
        false
    }

    /// Whether a column in steps is beside it: stored, or in a view.
    fn stores_steps(&self) -> bool {
        false
    }

    /// Whether a column that says if it has one of its categories is beside it.
    fn stores_categories(&self) -> bool {
        false
    }

    /// A column in steps as a whole number of 64 bits.
    fn stored_steps(&self, column: String, _kind: ColumnType) -> String {
        column
    }

    /// The sum of such a column, where there is a faster form. No row adds more than `reach`, either way.
    fn stored_sum(&self, _column: &str, _kind: ColumnType, _reach: u64, _filter: &str) -> Option<String> {
        None
    }

    /// Whether the middle of a column's range is taken from its sum, and not from every value of it.
    fn centres_sums(&self, _reach: u64) -> bool {
        false
    }

    /// The condition that a column is one of the values that make groups: true or not, never unknown.
    fn is_in_a_group(&self, condition: String) -> String {
        condition
    }

    /// How a whole number is put on the nearest step: ⌊(value − low + ⌊grid/2⌋) / grid⌋ steps above the lower bound. What is divided is
    /// positive.
    fn integer_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        let (low, grid) = (bounds.low(), bounds.grid());
        let between = match grid == Number::ONE {
            true => column.to_string(),
            false => {
                let above = format!("({} - ({low}) + {})", self.wide(column), grid.floor() / 2);
                format!("{} + ({})", self.quotient(&above, &grid.to_string()), bounds.steps().0)
            }
        };
        (low.to_string(), bounds.high().to_string(), between)
    }

    /// How a binary number is put on the nearest step: ⌊(value − (low − grid/2)) / grid⌋ steps above the lower bound. The numerator is at
    /// least grid/2, so the quotient is neither below ½ nor above 2³¹ + ½, but for 2⁻²² of rounding: nothing overflows or underflows, which
    /// PostgreSQL would report (it does for the smallest number divided by 10, say), and no value comes to lie outside of the bounds.
    fn real_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        let (low, high, quotient) = real_quotient(column, bounds, |value| self.real(value));
        let floor = self.wide(&format!("floor({quotient})"));
        (low, high, format!("{floor} + ({})", bounds.steps().0))
    }

    /// How a decimal number is put on the nearest step, exactly.
    fn decimal_steps(&self, column: &str, bounds: &Bounds) -> Clamped;

    /// How a date becomes its days. Infinite ones are beyond the bounds.
    fn date_steps(&self, column: &str, bounds: &Bounds) -> Clamped;

    /// How a time is put on the step before it. The lower bound is on the grid, so what is divided is not negative.
    fn timestamp_steps(&self, column: &str, bounds: &Bounds) -> Clamped;

    fn supply(&self) -> Supply {
        Supply::Values
    }

    /// Whether `map([keys], [values])[key]` is the value beside a key, null where the key is not there, and faster than a join.
    fn looks_up(&self) -> bool {
        false
    }

    /// A public table for a statement: its columns, and its rows, of which there is at least one.
    fn table(&self, name: &str, columns: &[(String, ColumnType)], rows: &[String]) -> String {
        let names = columns.iter().map(|(name, _)| name);
        format!("{name} ({}) AS (SELECT * FROM VALUES {})", commas(names), commas(rows))
    }

    /// The word for a join that leaves out the rows without a counterpart.
    fn join(&self) -> &'static str {
        "JOIN"
    }

    /// A column of a public table of which some rows have no counterpart.
    fn perhaps(&self, column: String) -> String {
        column
    }
}
