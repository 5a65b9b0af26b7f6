//! What a question means: answers at so large an ε that they are nearly exact, beside the truth.

use crate::common::{Setup, request, rules};
use taximeter_accounting::FilterRule;
use taximeter_gate::{AnswerDocument, Cell};

const SCHEMA: &str = r#"
    [columns.wage]
    type = "real"
    bounds = [0, 1000]
    [columns.age]
    type = "integer"
    bounds = [0, 100]
    [columns.region]
    type = "text"
    categories = ["north", "south"]
"#;

/// 1,000 rows: wages from 0 to 999 with a mean of 499.5, ages from 0 to 99, a quarter of the rows in the north.
fn setup() -> Setup {
    let setup = Setup::new();
    let row = |row: usize| format!("{row},{},{}\n", row % 100, if row.is_multiple_of(4) { "north" } else { "south" });
    let csv = format!("wage,age,region\n{}", (0..1000).map(row).collect::<String>());
    let rules = Some(rules(FilterRule::Basic, "100000,1e-6"));
    setup.register(setup.registration("people", &csv, SCHEMA, rules)).unwrap();
    setup
}

fn check(setup: &Setup, question: &str, expected: f64) {
    let answer = crate::common::answered(setup.ask(&request("people", question, "3000")));
    let rows = AnswerDocument::read(&answer.document).unwrap().rows;
    let Some([.., Cell::Estimate(estimate)]) = rows.first().map(Vec::as_slice) else { panic!("{question}: {rows:?}") };
    let value = estimate.nearest().unwrap_or(f64::NAN);
    assert!((value - expected).abs() <= 0.002 * expected.abs() + 0.5, "{question}: {value}, and not {expected}");
}

/// A factor in front of a sub-query was dropped once: its answer was put on the grid of the product.
#[test]
fn a_multiple_of_a_sub_query_is_that_multiple() {
    let setup = setup();
    for (condition, expected) in [
        ("wage > (SELECT AVG(wage) FROM people)", 500.0),
        ("wage > 1.5 * (SELECT AVG(wage) FROM people)", 250.0),
        ("wage < 0.5 * (SELECT MEDIAN(wage) FROM people)", 250.0),
        ("wage > (SELECT AVG(wage) FROM people) / 2", 750.0),
        ("wage > -(SELECT AVG(wage) FROM people) * -1.5", 250.0),
        ("wage BETWEEN 0.5 * (SELECT AVG(wage) FROM people) AND 1.5 * (SELECT AVG(wage) FROM people)", 500.0),
        ("ABS(wage - (SELECT AVG(wage) FROM people)) > 0.5 * (SELECT AVG(wage) FROM people)", 500.0),
        ("wage > ROUND(1.5 * (SELECT AVG(wage) FROM people))", 250.0),
        ("wage > 0.5 * (SELECT COUNT(*) FROM people)", 500.0),
    ] {
        check(&setup, &format!("SELECT COUNT(*) FROM people WHERE {condition}"), expected);
    }
    check(
        &setup,
        "SELECT AVG(CASE WHEN wage > 1.5 * (SELECT AVG(wage) FROM people) THEN 100 ELSE 0 END) FROM people",
        25.0,
    );
    check(&setup, "SELECT SUM(wage - 2 * (SELECT AVG(wage) FROM people)) FROM people", -499_500.0);
}

/// `*` stood for the columns of the table once, also where a sub-query had given their names to others.
#[test]
fn all_columns_of_a_sub_query_are_its_own() {
    let setup = setup();
    for (question, expected) in [
        ("SELECT AVG(wage) FROM (SELECT * FROM (SELECT age AS wage FROM people) s) t", 49.5),
        (
            "WITH d AS (SELECT region, wage / 2 AS wage FROM people), e AS (SELECT * FROM d WHERE region = 'north')
             SELECT AVG(wage) FROM e",
            249.0,
        ),
        ("SELECT AVG(late) FROM (SELECT *, wage > 899 AS late FROM (SELECT * FROM people WHERE age > 49) s) t", 0.1),
        // Names that change places.
        ("SELECT AVG(wage) FROM (SELECT * FROM (SELECT age AS wage, wage AS age FROM people) s) t", 49.5),
        ("SELECT AVG(wage) FROM (SELECT *, age AS years FROM (SELECT age AS wage, wage AS age FROM people) s) t", 49.5),
    ] {
        check(&setup, question, expected);
    }
}

#[test]
fn a_numeric_has_the_digits_that_are_asked_for() {
    let setup = setup();
    check(&setup, "SELECT COUNT(*) FROM people WHERE (wage / 10)::numeric(10, 0) = 50", 10.0);
    check(&setup, "SELECT COUNT(*) FROM people WHERE CAST(wage / 10 AS DECIMAL(10, 1)) = 50.1", 1.0);
    check(&setup, "SELECT COUNT(*) FROM people WHERE CAST(wage / 10 AS NUMERIC) = 50.1", 1.0);
    let answer = crate::common::answered(setup.ask(&request(
        "people",
        "SELECT CAST(AVG(wage) AS DECIMAL(10,1)) FROM people",
        "1",
    )));
    let rows = AnswerDocument::read(&answer.document).unwrap().rows;
    let [Cell::Estimate(estimate)] = rows[0].as_slice() else { panic!("{rows:?}") };
    let tenths = estimate.nearest().unwrap() * 10.0;
    assert!((tenths - tenths.round()).abs() < 1e-6, "{rows:?}");
}

/// A column divides where it is never 0: where NULLIF makes that null, and where its bounds leave 0 out.
#[test]
fn a_column_that_is_never_0_divides() {
    let setup = setup();
    let quotients = |of: fn(f64, f64) -> Option<f64>| {
        let all: Vec<f64> = (0..1000).filter_map(|row| of(f64::from(row), f64::from(row % 100))).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let by_age = quotients(|wage, age| (age != 0.0).then(|| wage / age));
    let limited = quotients(|wage, age| Some((wage / (age + 1.0)).min(20.0)));
    for (question, expected) in [
        ("SELECT 1000 * AVG(wage / NULLIF(age, 0)) FROM people", 1000.0 * by_age),
        ("SELECT 1000 * AVG(LEAST(wage / (age + 1), 20)) FROM people", 1000.0 * limited),
        ("SELECT COUNT(wage / NULLIF(age, 0)) FROM people", 990.0),
        ("SELECT SUM(age / NULLIF(age, 0)) FROM people", 990.0),
        ("SELECT SUM(7 / (age - 200)) FROM people", 0.0),
        ("SELECT COUNT(*) FROM people WHERE age / NULLIF(50 - age, 0) >= 1", 250.0),
    ] {
        check(&setup, question, expected);
    }
}

#[test]
fn groupings_windows_and_texts_are_those_of_sql() {
    let setup = setup();
    for (question, expected) in [
        ("SELECT region, COUNT(*) FROM people GROUP BY ROLLUP (region) ORDER BY COUNT(*) DESC", 1000.0),
        ("SELECT GROUPING(region) AS g, COUNT(*) FROM people GROUP BY CUBE (region) ORDER BY 2", 250.0),
        (
            "SELECT COALESCE(region, 'everyone') AS r, age >= 50 AS old, COUNT(*) FROM people
             GROUP BY GROUPING SETS ((region), (age >= 50), ()) HAVING COUNT(*) BETWEEN 400 AND 600",
            500.0,
        ),
        ("SELECT UPPER(LEFT(region, 1)) || '.' AS r, COUNT(*) FROM people GROUP BY r ORDER BY 2 DESC", 750.0),
        ("SELECT COUNT(*) FROM people WHERE CONCAT(region, '!') = 'north!' OR LENGTH(region) > 5", 250.0),
        ("SELECT AVG(LENGTH(region) + age) FROM people", 54.5),
        ("SELECT region, RANK() OVER (ORDER BY COUNT(*) DESC) FROM people GROUP BY region", 2.0),
        (
            "SELECT region, 100.0 * SUM(COUNT(*)) OVER (ORDER BY region) / SUM(COUNT(*)) OVER () FROM people GROUP BY region",
            25.0,
        ),
        (
            "SELECT region, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY region DESC) FROM people GROUP BY region",
            -500.0,
        ),
        (
            "SELECT r, n FROM (SELECT region AS r, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*)) AS place FROM people
             GROUP BY region) t WHERE place = 2",
            750.0,
        ),
        (
            "SELECT region, SUM(n) OVER () AS people FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) t",
            1000.0,
        ),
        ("SELECT 1000 * LN(AVG(wage)) FROM people", 1000.0 * 499.5f64.ln()),
        ("SELECT SQRT(EXP(LOG(10, 100)) * POWER(COUNT(*), 2)) FROM people", 1000.0 * std::f64::consts::E),
    ] {
        check(&setup, question, expected);
    }
    let mode = "SELECT region, MODE() WITHIN GROUP (ORDER BY CASE WHEN age < 30 THEN 'young' ELSE 'old' END) AS m
                FROM people GROUP BY region";
    let answer = crate::common::answered(setup.ask(&request("people", mode, "3000")));
    let document = AnswerDocument::read(&answer.document).unwrap();
    let old = Cell::Group(taximeter_gate::Value::Text("old".to_string()));
    assert!(document.rows.iter().all(|row| row[1] == old), "{document:?}");
    assert!(document.post_processing.iter().any(|said| said.contains("rows fewer")), "{document:?}");
}

/// SQL applies HAVING before a total. The total here is of all groups, and the answer says so.
#[test]
fn a_total_is_of_all_groups_also_beside_having() {
    let setup = setup();
    let shares =
        "SELECT region, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY region";
    for question in
        [format!("{shares} HAVING COUNT(*) > 500"), format!("SELECT region, share FROM ({shares}) t WHERE n > 500")]
    {
        check(&setup, &question, 75.0);
        let answer = crate::common::answered(setup.ask(&request("people", &question, "3000")));
        let said = AnswerDocument::read(&answer.document).unwrap().post_processing;
        assert!(said.iter().any(|text| text.contains("includes those that are not shown")), "{said:?}");
    }
}

#[test]
fn words_of_other_databases_mean_the_same() {
    let setup = setup();
    for (question, expected) in [
        ("SELECT TOP 1 region, COUNT(*) AS n FROM people GROUP BY region ORDER BY n DESC", 750.0),
        ("SELECT COUNT(*) AS `n` FROM [people] WHERE [wage] > 899", 100.0),
        ("SELECT SUM(ISNULL(age, 7)) FROM people", 49_500.0),
        ("SELECT COUNT(*) FROM people WHERE IF(wage > 899, 'a', 'b') = 'a'", 100.0),
        ("SELECT COUNTIF(wage > 899) FROM people", 100.0),
        ("SELECT 100 * SAFE_DIVIDE(COUNTIF(wage > 899), COUNT(*)) FROM people", 10.0),
        ("SELECT APPROX_PERCENTILE(wage, 0.25) FROM people", 250.0),
        ("SELECT SUM(IFF(wage > 899, 1, 0)) FROM people", 100.0),
    ] {
        check(&setup, question, expected);
    }
}
