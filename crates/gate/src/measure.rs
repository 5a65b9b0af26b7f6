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

/// The columns that the embedded engine has beside the declared ones: every column with bounds, clamped and put on its grid once, when
/// a row is written. Names and expressions.
pub(crate) fn steps_columns(schema: &Schema) -> Vec<(String, String)> {
    let bounded = (0..schema.columns.len()).filter(|at| schema.columns[*at].bounds.is_some());
    bounded.map(|at| (steps_name(schema, at), steps(schema, at, Dialect::Sqlite))).collect()
}

/// The name of the column that has another one in steps: one that no declared column has.
fn steps_name(schema: &Schema, at: usize) -> String {
    let mut name = format!("{} in steps", schema.columns[at].name);
    while schema.columns.iter().any(|column| column.name.eq_ignore_ascii_case(&name)) {
        name.push('\'');
    }
    name
}

/// A column, clamped to its bounds and put on its grid: the steps of the grid that it is away from 0.
///
/// A value between the bounds is put on the nearest step: ⌊(value − (low − grid/2)) / grid⌋ steps above the lower bound. The
/// numerator is at least grid/2, so the quotient is neither below ½ nor above 2³¹ + ½, but for 2⁻²² of rounding: nothing
/// overflows or underflows, which PostgreSQL would report (it does for the smallest number divided by 10, say), and no value
/// comes to lie outside of the bounds.
fn steps(schema: &Schema, at: usize, dialect: Dialect) -> String {
    let Some(bounds) = schema.columns[at].bounds else { unreachable!("only columns with bounds are summed") };
    let column = quoted(&schema.columns[at].name);
    let (low_steps, high_steps) = bounds.steps();
    let integer = schema.columns[at].kind == ColumnType::Integer;
    let real = |value: f64| match dialect {
        Dialect::Sqlite => format!("{value:?}"),
        Dialect::Postgres => format!("'{value:?}'::float8"),
    };
    let (low, high) = match integer {
        true => (bounds.low().to_string(), bounds.high().to_string()),
        false => (real(bounds.low().to_f64()), real(bounds.high().to_f64())),
    };
    let grid = bounds.grid();
    let between = match (integer, dialect, grid.to_integer()) {
        (true, _, Some(1)) => column.clone(),
        // Whole numbers are divided as such: the sum of both terms is positive.
        (true, dialect, _) => {
            let wide = if dialect == Dialect::Postgres { "::int8" } else { "" };
            let half = grid.floor() / 2;
            format!("({column}{wide} - ({low}) + {half}) / {grid} + ({low_steps})")
        }
        (false, dialect, _) => {
            let (half, grid) = (grid.to_f64() / 2.0, real(grid.to_f64()));
            let quotient = format!("({column} - ({})) / {grid}", real(bounds.low().to_f64() - half));
            match dialect {
                Dialect::Sqlite => format!("CAST({quotient} AS INTEGER) + ({low_steps})"),
                // Whole numbers of this size are exact, and the sum fits into 32 bits where the quotient need not.
                Dialect::Postgres => format!("(floor({quotient}) + {})::int4", real(low_steps as f64)),
            }
        }
    };
    format!("CASE WHEN {column} <= {low} THEN {low_steps} WHEN {column} >= {high} THEN {high_steps} ELSE {between} END")
}

#[cfg(test)]
mod tests {
    use taximeter_ledger::Neighbours;

    use super::*;
    use crate::engine::Embedded;
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
    fn sums_clamp_before_they_calculate() {
        let age = r#"CASE WHEN "age" <= -10 THEN -10 WHEN "age" >= 120 THEN 120 ELSE "age" END"#;
        let debt = |wide| {
            format!(
                r#"CASE WHEN "debt" <= -500 THEN -5 WHEN "debt" >= 1000 THEN 10 ELSE ("debt"{wide} - (-500) + 50) / 100 + (-5) END"#
            )
        };
        let real = r#"CASE WHEN "income" <= -1.0 THEN -2 WHEN "income" >= 3.0 THEN 6 ELSE CAST(("income" - (-1.25)) / 0.5 AS INTEGER) + (-2) END"#;
        let float8 = r#"CASE WHEN "income" <= '-1.0'::float8 THEN -2 WHEN "income" >= '3.0'::float8 THEN 6 ELSE (floor(("income" - ('-1.25'::float8)) / '0.5'::float8) + '-2.0'::float8)::int4 END"#;
        let steps = |name: &str, expression: &str| (name.to_string(), expression.to_string());
        let written = [steps("age in steps", age), steps("debt in steps", &debt("")), steps("income in steps", real)];
        assert_eq!(steps_columns(&schema()), written);
        for (column, centre, postgres, sqlite) in [
            (0, 0, format!("sum(({age})::int4)"), r#"sum("age in steps")"#),
            (0, 55, format!("sum(({age})::int4 - (55))"), r#"sum("age in steps" - (55))"#),
            (1, 0, format!("sum(({})::int4)", debt("::int8")), r#"sum("debt in steps")"#),
            (2, -2, format!("sum(({float8})::int4 - (-2))"), r#"sum("income in steps" - (-2))"#),
        ] {
            let measure = Measure::Steps { column, centre };
            assert_eq!(sql(None, &[], measure, Dialect::Postgres), format!("SELECT {postgres} FROM t"));
            assert_eq!(sql(None, &[], measure, Dialect::Sqlite), format!("SELECT {sqlite} FROM t"));
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
        for (column, name, value, steps) in [
            (0, "age", "-11", -10),
            (0, "age", "7", 7),
            (0, "age", "9223372036854775807", 120),
            (1, "debt", "-9223372036854775808", -5),
            (1, "debt", "-451", -5),
            (1, "debt", "-450", -4),
            (1, "debt", "0", 0),
            (1, "debt", "149", 1),
            (1, "debt", "150", 2),
            (1, "debt", "999", 10),
            (2, "income", "-9e999", -2),
            (2, "income", "-0.7500001", -2),
            (2, "income", "-0.75", -1),
            (2, "income", "-4.9e-324", 0),
            (2, "income", "0.2499999", 0),
            (2, "income", "0.25", 1),
            (2, "income", "2.9999999", 6),
            (2, "income", "9e999", 6),
            (2, "income", "NULL", 0),
        ] {
            sqlite.execute_batch(&format!("DELETE FROM data; INSERT INTO data ({name}) VALUES ({value})")).unwrap();
            for centre in [0, 3] {
                let statement =
                    sql(None, &[], Measure::Steps { column, centre }, Dialect::Sqlite).replace("FROM t", "FROM data");
                let sum: Option<i64> = sqlite.query_row(&statement, [], |row| row.get(0)).unwrap();
                assert_eq!(sum, (value != "NULL").then_some(steps - centre), "{name} = {value}");
            }
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
