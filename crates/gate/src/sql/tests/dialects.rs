//! What the dialects of drivers write: every value is in the text, and nothing in a value is mistaken for SQL.

use super::*;

/// A sum with a condition of its own, for the rows of a group that do not fit a pattern.
fn statement(dialect: Dialect) -> Statement {
    let schema = schema();
    let young =
        Predicate::Compare { operand: Operand::plain(0), comparison: Comparison::Less, value: Value::Integer(18) };
    let like = Predicate::Like { operand: Operand::plain(3), pattern: "a\\".to_string(), negated: true };
    let measure = Measure { filter: Some(young), ..Measure::sum(&schema, 1, 0) };
    let target = Target { schema: &schema, dialect, table: "t", asked: &[] };
    Statement::measuring(&query(&schema, Some(like), &[3]), [&measure], target)
}

#[test]
fn every_dialect_of_a_driver_has_its_own_words_and_no_parameters() {
    let duckdb = concat!(
        r#"SELECT "re""gion", sum(CAST("debt in steps" AS BIGINT)) FILTER (WHERE "age" < CAST(18 AS BIGINT)) "#,
        r#"FROM t WHERE "re""gion has a category" AND "re""gion" NOT LIKE 'a\' GROUP BY 1"#
    );
    let spark = concat!(
        r#"SELECT `re"gion`, sum(CAST((CAST((CASE WHEN `debt` < -500 THEN -500 WHEN `debt` > 1000 THEN 1000 ELSE `debt` END) AS BIGINT) "#,
        r#"- (-500) + 50) div 100 + (-5) AS BIGINT)) "#,
        r#"FILTER (WHERE `age` < CAST(18 AS BIGINT)) "#,
        r#"FROM t WHERE `re"gion` IN (CAST(X'6E6F727468' AS STRING)) AND `re"gion` NOT LIKE CAST(X'615C5C' AS STRING) GROUP BY 1"#
    );
    let within = r#"(CAST(least(greatest("debt", -500), 1000) AS NUMBER(38, 0)) - (-500) + 50)"#;
    let snowflake = [
        r#"SELECT "re""gion", sum(CASE WHEN "age" < CAST(18 AS NUMBER(38, 0)) THEN "#,
        r#"CAST(CASE WHEN "debt" <= -500 THEN -5 WHEN "debt" >= 1000 THEN 10 "#,
        &format!(r#"ELSE CAST(({within} - {within} % 100) / 100 AS NUMBER(38, 0)) + (-5) END AS NUMBER(38, 0)) END) "#),
        r#"FROM t WHERE "re""gion" IN (hex_decode_string('6E6F727468')) AND "re""gion" NOT LIKE hex_decode_string('615C') GROUP BY 1"#,
    ]
    .concat();
    let bigquery = concat!(
        r#"SELECT `re"gion`, sum(CAST(CASE WHEN `age` < CAST(18 AS INT64) THEN "#,
        r#"CAST(CASE WHEN `debt` <= -500 THEN -5 WHEN `debt` >= 1000 THEN 10 "#,
        r#"ELSE div((CAST(`debt` AS INT64) - (-500) + 50), 100) + (-5) END AS INT64) END AS NUMERIC)) "#,
        r#"FROM t WHERE `re"gion` IN (CAST(from_hex('6E6F727468') AS STRING)) AND `re"gion` NOT LIKE CAST(from_hex('615C5C') AS STRING) "#,
        r#"GROUP BY 1"#
    );
    for (dialect, sql) in [
        (Dialect::DuckDb, duckdb),
        (Dialect::Spark, spark),
        (Dialect::Snowflake, &snowflake),
        (Dialect::BigQuery, bigquery),
    ] {
        let statement = statement(dialect);
        assert_eq!(statement.sql, sql, "{dialect:?}");
        assert!(statement.parameters.is_empty() && statement.tables.is_empty(), "{dialect:?}");
    }
}

#[test]
fn binary_numbers_are_put_on_their_grid_in_every_dialect() {
    let between = |column: &str, real: &str, whole: &str| {
        let real = |text: &str| format!("CAST('{text}' AS {real})");
        let (shift, grid) = (real("-1.25"), real("0.5"));
        format!("ELSE CAST(floor(({column} - ({shift})) / {grid}) AS {whole}) + (-2) END")
    };
    let cases = |column: &str| {
        let real = |text: &str| format!("CAST('{text}' AS DOUBLE)");
        let [low, high] = ["-1.0", "3.0"].map(real);
        format!("(CASE WHEN {column} < {low} THEN {low} WHEN {column} > {high} THEN {high} ELSE {column} END)")
    };
    let first = |text: String| text.trim_start_matches("ELSE ").trim_end_matches(" END").to_string();
    let duckdb = format!(
        "floor(({} - (CAST('-1.25' AS DOUBLE))) / CAST('0.5' AS DOUBLE)) + (CAST('-2.0' AS DOUBLE))",
        cases("\"income\"")
    );
    let nan = "if(is_nan(`income`), CAST('inf' AS FLOAT64), `income`)";
    let clamped = r#"least(greatest("income", CAST('-1.0' AS DOUBLE)), CAST('3.0' AS DOUBLE))"#;
    for (dialect, expected) in [
        (Dialect::DuckDb, duckdb),
        (Dialect::Spark, first(between(&cases("`income`"), "DOUBLE", "BIGINT"))),
        (Dialect::Snowflake, between(clamped, "DOUBLE", "NUMBER(38, 0)")),
        (Dialect::BigQuery, between(nan, "FLOAT64", "INT64")),
    ] {
        let sql = steps(&schema(), 2, dialect);
        assert!(sql.ends_with(&expected), "{dialect:?}: {sql}");
    }
}

/// Whatever a text or a name has in it, it stays one text and one name.
#[test]
fn nothing_in_a_value_or_a_name_is_taken_for_sql() {
    for text in ["'", "''", "\\", "\\'", "x' OR 1=1 --", "`", "\"", "a\nb", "é", "", "$$", "/*"] {
        for dialect in [Dialect::Spark, Dialect::Snowflake, Dialect::BigQuery] {
            let literal = dialect.grammar().text(text);
            let inside = literal.split('\'').nth(1).unwrap();
            assert!(inside.bytes().all(|byte| byte.is_ascii_hexdigit()) && inside.len() == 2 * text.len(), "{literal}");
        }
        let literal = Dialect::DuckDb.grammar().text(text);
        assert_eq!(literal, format!("'{}'", text.replace('\'', "''")));
        for (dialect, quote) in [(Dialect::DuckDb, '"'), (Dialect::Spark, '`'), (Dialect::Snowflake, '"')] {
            let name = dialect.grammar().name(text);
            let inside = name.strip_prefix(quote).and_then(|name| name.strip_suffix(quote)).unwrap();
            assert_eq!(inside.replace(&quote.to_string().repeat(2), &quote.to_string()), text, "{name}");
        }
    }
    assert_eq!(Dialect::BigQuery.grammar().name("a`b\\"), "`a\\`b\\\\`");
}

/// What divides is never 0; and if it were, the quotient would be null, and not fail.
#[test]
fn what_divides_is_null_instead_of_0_in_every_dialect() {
    use crate::question::scalar::{Kind, NumericExpr};

    let schema = schema();
    let debt = NumericExpr::column(1, &schema.columns[1]).unwrap();
    let zero = NumericExpr::steps(0, Kind::Integer, dashu::rational::RBig::ONE);
    let quotient = debt.clone().divided_by(debt.null_if(zero).unwrap(), Kind::Integer).unwrap();
    let measure = Measure { quantity: Quantity::Sum(crate::measure::Centred::plain(quotient)), filter: None };
    for (dialect, words) in [
        (Dialect::Sqlite, " / nullif(abs(nullif("),
        (Dialect::Postgres, " / nullif(abs(nullif("),
        (Dialect::DuckDb, " // nullif(abs(nullif("),
        (Dialect::Spark, " div nullif(abs(nullif("),
        (Dialect::Snowflake, " % nullif(abs(nullif("),
        (Dialect::BigQuery, ", nullif(abs(nullif("),
    ] {
        let target = Target { schema: &schema, dialect, table: "t", asked: &[] };
        let sql = Statement::measuring(&query(&schema, None, &[]), [&measure], target).sql;
        assert!(sql.contains(words), "{dialect:?}: {sql}");
    }
}
