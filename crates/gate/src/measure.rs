//! What an engine computes: integers, from SQL that is written here and nowhere else.
//!
//! Every expression is one that cannot fail on any row: comparisons of a column with a parameter of its own type, LIKE with a short
//! pattern, IS NULL, and for sums a CASE that clamps first, so that the arithmetic behind it stays within 2³¹ steps. The embedded
//! engine computes that CASE when a row is written, and sums what it kept.
//!
//! Both engines give the same answer: text is compared by its bytes, `_` in a pattern is one character, nothing in it is an escape,
//! and −0 equals 0. The exception is NaN, which only PostgreSQL can store: there it is a number above every other, infinity
//! included, and equal to itself. It is not null, `x > 5` finds it, and a sum takes it for the upper bound. To treat it as
//! null, store null.

use crate::question::{Comparison, Predicate, Question, commas, quoted};
use crate::schema::{ColumnType, Schema, Value};
use crate::steps::{steps, steps_name};

/// One integer for every group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// How many rows.
    Rows,
    /// How many rows where a column is not null.
    NonNull(usize),
    /// How many different units.
    Units,
    /// The sum of a column, clamped to its bounds and put on its grid, in steps of the grid away from `centre`.
    Steps { column: usize, centre: i64 },
}

impl Measure {
    /// What it is, for people.
    pub(crate) fn describe(self, schema: &Schema) -> String {
        let column = |at: usize| &schema.columns[at].name;
        match self {
            Measure::Rows => "number of rows".to_string(),
            Measure::NonNull(at) => format!("number of rows with {}", column(at)),
            Measure::Units => "number of units".to_string(),
            Measure::Steps { column: at, centre: 0 } => format!("sum of {}", column(at)),
            Measure::Steps { column: at, .. } => format!("sum of {} from the middle of its bounds", column(at)),
        }
    }
}

/// How an engine writes SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A statement that is ready to run: group columns first, then measures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Value>,
    /// The types of the group columns.
    pub(crate) keys: Vec<ColumnType>,
    /// How many measures follow them. Each is a 64-bit integer; null means 0.
    pub(crate) measures: usize,
}

impl Statement {
    /// Writes the statement for a question. `table` is an identifier that is already quoted.
    pub(crate) fn new(
        question: &Question,
        measures: &[Measure],
        schema: &Schema,
        dialect: Dialect,
        table: &str,
    ) -> Statement {
        let mut writer = Writer { schema, dialect, parameters: Vec::new() };
        let groups = question.groups.iter().map(|at| writer.grouped(*at)).collect::<Vec<_>>();
        let measured = measures.iter().map(|measure| writer.measure(*measure)).collect::<Vec<_>>();
        let mut sql = format!("SELECT {} FROM {table}", commas(groups.iter().chain(&measured)));
        let mut conditions = Vec::new();
        for at in &question.groups {
            // Rows outside the declared categories are left out here, not by the reader of the answer.
            let categories = schema.columns[*at].categories.as_deref().unwrap_or_default();
            conditions.push(writer.any_of(*at, categories, false));
        }
        if let Some(filter) = &question.filter {
            conditions.push(writer.predicate(filter));
        }
        if !conditions.is_empty() {
            sql += &format!(" WHERE {}", conditions.join(" AND "));
        }
        if !groups.is_empty() {
            sql += &format!(" GROUP BY {}", commas(1..=groups.len()));
        }
        let keys = question.groups.iter().map(|at| schema.columns[*at].kind).collect();
        Statement { sql, parameters: writer.parameters, keys, measures: measures.len() }
    }
}

struct Writer<'a> {
    schema: &'a Schema,
    dialect: Dialect,
    parameters: Vec<Value>,
}

impl Writer<'_> {
    fn column(&self, at: usize) -> String {
        quoted(&self.schema.columns[at].name)
    }

    /// A column as it is compared. The database's own collations may depend on the machine.
    fn compared(&self, at: usize) -> String {
        match (self.dialect, self.schema.columns[at].kind) {
            (Dialect::Postgres, ColumnType::Text) => format!("{} COLLATE \"C\"", self.column(at)),
            _ => self.column(at),
        }
    }

    /// A column as it is grouped by.
    fn grouped(&self, at: usize) -> String {
        match (self.dialect, self.schema.columns[at].kind) {
            (Dialect::Postgres, ColumnType::Integer) => format!("{}::int8", self.column(at)),
            (Dialect::Postgres, ColumnType::Text) => format!("{}::text COLLATE \"C\"", self.column(at)),
            // 1.5 and 1.50 are the same group; as text, since a number has any number of digits.
            (Dialect::Postgres, ColumnType::Decimal) => format!("trim_scale({})::text", self.column(at)),
            _ => self.column(at),
        }
    }

    /// A literal, as a parameter.
    fn parameter(&mut self, value: Value) -> String {
        let kind = value.kind();
        self.parameters.push(value);
        let number = self.parameters.len();
        match self.dialect {
            Dialect::Sqlite => format!("?{number}"),
            Dialect::Postgres => {
                let name = match kind {
                    ColumnType::Integer => "int8",
                    ColumnType::Real => "float8",
                    ColumnType::Text => "text",
                    ColumnType::Boolean => "bool",
                    ColumnType::Date => "date",
                    ColumnType::Timestamp => "timestamp",
                    // Literals have few digits: the cast cannot fail.
                    ColumnType::Decimal => "text::numeric",
                };
                format!("${number}::{name}")
            }
        }
    }

    fn measure(&self, measure: Measure) -> String {
        match measure {
            Measure::Rows => "count(*)".to_string(),
            Measure::NonNull(at) => format!("count({})", self.column(at)),
            Measure::Units => {
                let unit = self.schema.unit_column().expect("units are counted by their column");
                format!("count(DISTINCT {})", self.compared(unit))
            }
            Measure::Steps { column, centre } => {
                let steps = match self.dialect {
                    Dialect::Sqlite => quoted(&steps_name(self.schema, column)),
                    // The sum of 32-bit integers is a 64-bit one; that of 64-bit ones is a slow decimal number.
                    Dialect::Postgres => format!("({})::int4", steps(self.schema, column, self.dialect)),
                };
                // A value is at most 2³⁰ steps away from the middle of its bounds, rounded.
                if centre == 0 { format!("sum({steps})") } else { format!("sum({steps} - ({centre}))") }
            }
        }
    }

    fn any_of(&mut self, at: usize, values: &[Value], negated: bool) -> String {
        let compared = self.compared(at);
        let values: Vec<_> = values.iter().map(|value| self.parameter(value.clone())).collect();
        format!("{compared} {}IN ({})", if negated { "NOT " } else { "" }, commas(values))
    }

    fn predicate(&mut self, predicate: &Predicate) -> String {
        match predicate {
            Predicate::Compare { column, comparison, value } => self.compare(*column, *comparison, value),
            Predicate::In { column, values, negated } => self.any_of(*column, values, *negated),
            Predicate::Like { column, pattern, negated } => {
                let not = if *negated { "NOT " } else { "" };
                let pattern = self.parameter(Value::Text(pattern.clone()));
                // A backslash is an escape in PostgreSQL unless there is none, and fails at the end of a pattern if a row gets there.
                let escape = if self.dialect == Dialect::Postgres { " ESCAPE ''" } else { "" };
                format!("{} {not}LIKE {pattern}{escape}", self.compared(*column))
            }
            Predicate::IsNull { column, negated } => {
                format!("{} IS {}NULL", self.column(*column), if *negated { "NOT " } else { "" })
            }
            Predicate::And(parts) => self.joined(parts, " AND "),
            Predicate::Or(parts) => self.joined(parts, " OR "),
            Predicate::Not(inner) => format!("NOT ({})", self.predicate(inner)),
        }
    }

    fn compare(&mut self, at: usize, comparison: Comparison, value: &Value) -> String {
        let value = self.parameter(value.clone());
        format!("{} {} {value}", self.compared(at), comparison.symbol())
    }

    fn joined(&mut self, parts: &[Predicate], word: &str) -> String {
        let parts: Vec<_> = parts.iter().map(|part| self.predicate(part)).collect();
        format!("({})", parts.join(word))
    }
}

#[cfg(test)]
mod tests {
    use taximeter_ledger::Neighbours;

    use super::*;
    use crate::number::Number;
    use crate::schema::{Bounds, Column, PrivacyUnit};

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
        let question = Question { outputs: vec![], filter, groups: groups.to_vec(), order: vec![], limit: None };
        Statement::new(&question, &[measure], &schema(), dialect, "t").sql
    }

    #[test]
    fn sums_are_of_steps_away_from_the_centre() {
        let steps = |column| steps(&schema(), column, Dialect::Postgres);
        for (column, centre, postgres, sqlite) in [
            (0, 0, format!("sum(({})::int4)", steps(0)), r#"sum("age in steps")"#),
            (0, 55, format!("sum(({})::int4 - (55))", steps(0)), r#"sum("age in steps" - (55))"#),
            (1, 0, format!("sum(({})::int4)", steps(1)), r#"sum("debt in steps")"#),
            (2, -2, format!("sum(({})::int4 - (-2))", steps(2)), r#"sum("income in steps" - (-2))"#),
        ] {
            let measure = Measure::Steps { column, centre };
            assert_eq!(sql(None, &[], measure, Dialect::Postgres), format!("SELECT {postgres} FROM t"));
            assert_eq!(sql(None, &[], measure, Dialect::Sqlite), format!("SELECT {sqlite} FROM t"));
        }
    }

    #[test]
    fn text_is_compared_by_its_bytes_and_patterns_have_no_escapes() {
        let like = Predicate::Like { column: 3, pattern: "a\\".to_string(), negated: true };
        assert_eq!(
            sql(Some(like.clone()), &[3], Measure::Units, Dialect::Postgres),
            r#"SELECT "re""gion"::text COLLATE "C", count(DISTINCT "age") FROM t WHERE "re""gion" COLLATE "C" IN ($1::text) AND "re""gion" COLLATE "C" NOT LIKE $2::text ESCAPE '' GROUP BY 1"#
        );
        assert_eq!(
            sql(Some(like), &[3], Measure::Units, Dialect::Sqlite),
            r#"SELECT "re""gion", count(DISTINCT "age") FROM t WHERE "re""gion" IN (?1) AND "re""gion" NOT LIKE ?2 GROUP BY 1"#
        );
    }
}
