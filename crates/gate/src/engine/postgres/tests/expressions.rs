//! Expressions mean the same in PostgreSQL: exactly the same integers as an evaluator in rational numbers.

use taximeter_testing::random_inputs;

use super::*;
use crate::schema::Value;
use crate::sql::tests::dataset::schema as world;
use crate::sql::tests::meaning::Row;
use crate::sql::tests::random::Dice;
use crate::sql::tests::world::RandomQuestion;

/// The columns of the dataset that all expressions are about.
const TABLE: &str = "CREATE TABLE t (
    whole int8, tens int8, amount float8, price numeric, born date, seen timestamp, flag bool, word text, label varchar
)";

fn literal(value: &Option<Value>) -> String {
    match value {
        None => "NULL".to_string(),
        Some(Value::Real(value)) => format!("'{value:?}'").replace("inf", "Infinity"),
        Some(value) => value.to_string(),
    }
}

fn fill(writer: &mut Connection, rows: &[Row]) {
    let mut statements = "TRUNCATE public.t;".to_string();
    for row in rows {
        statements += &format!("INSERT INTO public.t VALUES ({});", crate::question::commas(row.iter().map(literal)));
    }
    execute(writer, &statements).unwrap();
}

#[test]
fn postgres_computes_what_expressions_mean() {
    let url = database(TABLE);
    let schema = world();
    let (mut engine, _) = connected(&url, "t");
    engine.check(&schema, ANSWER).unwrap();
    let mut writer = open(&url, KEEP, ANSWER).unwrap();
    let table = asked(&engine);
    let target = Target { schema: &schema, dialect: Dialect::Postgres, table: &table, asked: &[] };
    let (mut asked, mut answered) = (0, 0);
    for seed in 0..random_inputs(60).into() {
        let mut dice = Dice::new(seed, schema.clone());
        let rows = dice.rows(25);
        fill(&mut writer, &rows);
        for _ in 0..30 {
            asked += 1;
            let Ok(difference) =
                RandomQuestion::random(&mut dice).difference(&rows, &mut engine, target, str::to_string)
            else {
                continue;
            };
            assert_eq!(difference, None, "{}", difference.as_deref().unwrap_or_default());
            answered += 1;
        }
    }
    assert!(10 * answered > 9 * asked, "only {answered} of {asked} were answered");
}
