//! Questions that are understood, and what they come to.

use super::*;

fn check(text: &str, canonical: &str) {
    match read(text) {
        Ok(question) => assert_eq!(question.canonical(DATASET, &schema()), canonical, "{text}"),
        Err(error) => panic!("{text}: {error}"),
    }
}

/// What a condition comes to.
fn check_where(condition: &str, canonical: &str) {
    check(
        &format!("SELECT COUNT(*) FROM census WHERE {condition}"),
        &format!("SELECT COUNT(*) AS \"COUNT(*)\" FROM \"census\" WHERE {canonical}"),
    );
}

#[test]
fn aggregates_and_groups_are_read() {
    for (text, canonical) in [
        ("SELECT COUNT(*) FROM census", r#"SELECT COUNT(*) AS "COUNT(*)" FROM "census""#),
        ("select count ( * )\n\tfrom CENSUS ;", r#"SELECT COUNT(*) AS "COUNT(*)" FROM "census""#),
        (r#"SELECT COUNT(AGE) FROM "census""#, r#"SELECT COUNT("age") AS "COUNT(age)" FROM "census""#),
        (
            "SELECT COUNT(DISTINCT person) people FROM census",
            r#"SELECT COUNT(DISTINCT "person") AS "people" FROM "census""#,
        ),
        (
            "SELECT SUM(income) AS total, AVG((age)) FROM census",
            r#"SELECT SUM("income") AS "total", AVG("age") AS "AVG(age)" FROM "census""#,
        ),
        (
            r#"SELECT SUM("_Odd ""one""") FROM census"#,
            r#"SELECT SUM("_Odd ""one""") AS "SUM(_Odd ""one"")" FROM "census""#,
        ),
        (
            "SELECT Region, COUNT(*) AS n FROM census GROUP BY region, employed",
            r#"SELECT "region" AS "region", COUNT(*) AS "n" FROM "census" GROUP BY "region", "employed""#,
        ),
        (
            "SELECT COUNT(*) AS \"größe von ⊤\" FROM census GROUP BY zone LIMIT 7",
            "SELECT COUNT(*) AS \"größe von ⊤\" FROM \"census\" GROUP BY \"zone\" LIMIT 7",
        ),
        (
            "SELECT COUNT(*) AS case FROM census GROUP BY zone",
            r#"SELECT COUNT(*) AS "case" FROM "census" GROUP BY "zone""#,
        ),
    ] {
        check(text, canonical);
    }
}

#[test]
fn an_answer_is_sorted_by_what_it_shows() {
    let head = "SELECT region, COUNT(*) AS n, SUM(age) FROM census GROUP BY region";
    let canonical =
        r#"SELECT "region" AS "region", COUNT(*) AS "n", SUM("age") AS "SUM(age)" FROM "census" GROUP BY "region""#;
    for (tail, written) in [
        ("ORDER BY n", "ORDER BY 2"),
        ("ORDER BY N DESC", "ORDER BY 2 DESC"),
        ("ORDER BY \"n\" ASC, region", "ORDER BY 2, 1"),
        ("ORDER BY count(*) DESC", "ORDER BY 2 DESC"),
        ("ORDER BY SUM(\"age\")", "ORDER BY 3"),
        ("ORDER BY \"SUM(age)\"", "ORDER BY 3"),
        ("ORDER BY 3, 1 DESC LIMIT 5", "ORDER BY 3, 1 DESC LIMIT 5"),
        ("LIMIT 18446744073709551615", "LIMIT 18446744073709551615"),
    ] {
        check(&format!("{head} {tail}"), &format!("{canonical} {written}"));
    }
    // An alias comes before a column of the same name, as in PostgreSQL.
    check(
        "SELECT region AS r, COUNT(*) AS region FROM census GROUP BY region ORDER BY region",
        r#"SELECT "region" AS "r", COUNT(*) AS "region" FROM "census" GROUP BY "region" ORDER BY 2"#,
    );
    check(
        "SELECT region AS r, COUNT(*) FROM census GROUP BY region ORDER BY region",
        r#"SELECT "region" AS "r", COUNT(*) AS "COUNT(*)" FROM "census" GROUP BY "region" ORDER BY 1"#,
    );
}

#[test]
fn conditions_are_read_with_the_precedence_of_sql() {
    for (condition, canonical) in [
        ("age = 18", r#""age" = 18"#),
        ("age != 18", r#""age" <> 18"#),
        ("18 <= age", r#""age" >= 18"#),
        ("18 > age", r#""age" < 18"#),
        ("18 <> age", r#""age" <> 18"#),
        ("((age) < (+5))", r#""age" < 5"#),
        ("age > - 5", r#""age" > -5"#),
        ("employed", r#""employed" = TRUE"#),
        ("NOT employed", r#"NOT ("employed" = TRUE)"#),
        ("employed <> false", r#""employed" <> FALSE"#),
        ("employed IN (TRUE)", r#""employed" IN (TRUE)"#),
        ("NOT NOT NOT employed", r#"NOT ("employed" = TRUE)"#),
        ("age=1 OR age=2 AND employed", r#"("age" = 1 OR ("age" = 2 AND "employed" = TRUE))"#),
        ("(age=1 OR age=2) AND employed", r#"(("age" = 1 OR "age" = 2) AND "employed" = TRUE)"#),
        ("NOT age = 1 AND employed", r#"(NOT ("age" = 1) AND "employed" = TRUE)"#),
        ("NOT (age = 1 AND employed)", r#"NOT ("age" = 1 AND "employed" = TRUE)"#),
        ("age=1 AND (age=2 AND age=3) AND age=4", r#"("age" = 1 AND "age" = 2 AND "age" = 3 AND "age" = 4)"#),
        ("age IN (1, -2, 3.0)", r#""age" IN (1, -2, 3)"#),
        ("name NOT IN ('a', 'it''s')", r#""name" NOT IN ('a', 'it''s')"#),
        ("age BETWEEN 18 AND 65 AND employed", r#"("age" >= 18 AND "age" <= 65 AND "employed" = TRUE)"#),
        ("age NOT BETWEEN 18 AND 65", r#"("age" < 18 OR "age" > 65)"#),
        ("NOT age BETWEEN 18 AND 65", r#"NOT ("age" >= 18 AND "age" <= 65)"#),
        ("name BETWEEN 'a' AND 'b'", r#"("name" >= 'a' AND "name" <= 'b')"#),
        ("name LIKE 'a%_'", r#""name" LIKE 'a%_'"#),
        ("name NOT LIKE '%--/*é'", r#""name" NOT LIKE '%--/*é'"#),
        ("age IS NULL OR name IS NOT NULL", r#"("age" IS NULL OR "name" IS NOT NULL)"#),
        ("NOT age IS NULL", r#"NOT ("age" IS NULL)"#),
        // Words of SQL, and of the language, that are columns here.
        (r#""like" = 5"#, r#""like" = 5"#),
        ("date = '2020' AND year > 1 AND filter = 2", r#"("date" = '2020' AND "year" > 1 AND "filter" = 2)"#),
    ] {
        check_where(condition, canonical);
    }
}

#[test]
fn fractions_are_folded_exactly_for_whole_numbers() {
    for (condition, canonical) in [
        ("age > 17.5", r#""age" >= 18"#),
        ("age >= 17.5", r#""age" >= 18"#),
        ("age < 17.5", r#""age" <= 17"#),
        ("age <= 17.5", r#""age" <= 17"#),
        ("17.5 < age", r#""age" >= 18"#),
        ("age > -17.5", r#""age" >= -17"#),
        ("age < -17.5", r#""age" <= -18"#),
        ("age > 18.0", r#""age" > 18"#),
        ("age = 1.8e1", r#""age" = 18"#),
        ("age > 0.000000000000000001", r#""age" >= 1"#),
        ("age < 999999999999999999.5", r#""age" <= 999999999999999999"#),
        ("age BETWEEN 17.5 AND 20.5", r#"("age" >= 18 AND "age" <= 20)"#),
        ("age NOT BETWEEN 17.5 AND 20.5", r#"("age" <= 17 OR "age" >= 21)"#),
        ("age = 9223372036854775807", r#""age" = 9223372036854775807"#),
        ("age = -9223372036854775808", r#""age" = -9223372036854775808"#),
        ("age = 00000000000000000000000000000000000000000000000000000000000000000018", r#""age" = 18"#),
    ] {
        check_where(condition, canonical);
    }
}

#[test]
fn real_columns_take_the_nearest_binary_number() {
    for (condition, canonical) in [
        ("income > 17.5", r#""income" > 17.5"#),
        ("income = 1", r#""income" = 1.0"#),
        ("income = .5 OR income = 5.", r#"("income" = 0.5 OR "income" = 5.0)"#),
        ("income = 0.1000000000000000055511151231257827", r#""income" = 0.1"#),
        ("income <> -0.0", r#""income" <> 0.0"#),
        ("income < 1e300", r#""income" < 1e300"#),
        ("income IN (-1.5, 1e-7)", r#""income" IN (-1.5, 1e-7)"#),
    ] {
        check_where(condition, canonical);
    }
}

#[test]
fn questions_that_are_the_same_are_written_the_same() {
    let schema = schema();
    let canonical = |text: &str| read(text).unwrap().canonical(DATASET, &schema);
    assert_eq!(
        canonical("select COUNT( * ), avg(AGE) from Census where 18<age and not not employed"),
        canonical("SELECT count(*), AVG(\"age\") FROM census\nWHERE (age > (18)) AND employed = TRUE;"),
    );
}
