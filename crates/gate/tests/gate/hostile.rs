//! No side door: hostile questions, on both engines, are refused before anything is charged, or answered whatever the data are.
//!
//! Every question is asked of two datasets that differ in one person. Whether there is an error, and which, must be the same.

use crate::common::{House, request};
use taximeter_gate::GateOutcome;

/// What must come of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// An error that names a position; nothing is charged.
    Refused,
    /// An answer, on whatever data.
    Answered,
}
use Fate::{Answered, Refused};

/// `_T_` stands for the dataset.
const QUESTIONS: &[(Fate, &str)] = &[
    // Arithmetic that fails on one person's value.
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE 1 / (age - 40) > 0"),
    (Refused, "SELECT SUM(1 / (age - 40)) FROM _T_"),
    (Refused, "SELECT SUM(age * 9223372036854775807) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age + 9223372036854775807 > 0"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age % 0 = 1"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE -age > 3"),
    (Answered, "SELECT SUM(age) FROM _T_"),
    (Answered, "SELECT SUM(income) FROM _T_"),
    (Answered, "SELECT AVG(income), AVG(age) FROM _T_ WHERE person <> 'eve'"),
    // Casts.
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE CAST(name AS INTEGER) > 3"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name::int > 3"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE TRY_CAST(name AS INT) IS NULL"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE income = DATE '2026-01-01'"),
    // Functions, and what can be slow or fail on one value.
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE sqrt(income) > 2"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE length(name) > 100"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE pg_sleep(10) IS NULL"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name = (SELECT name FROM _T_ LIMIT 1)"),
    (Refused, "SELECT load_extension('x') FROM _T_"),
    (Refused, "SELECT MAX(age) FROM _T_"),
    (Refused, "SELECT COUNT(*) FILTER (WHERE age > 3) FROM _T_"),
    (Refused, "SELECT COUNT(*) OVER () FROM _T_"),
    (Refused, "SELECT SUM(DISTINCT age) FROM _T_"),
    (Refused, "SELECT COUNT(DISTINCT name) FROM _T_"),
    (Refused, "SELECT CASE WHEN age = 40 THEN 1 ELSE 1/0 END FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE COALESCE(age, 1/0) > 3"),
    // Patterns.
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name ~ '(a+)+$'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name REGEXP '(a+)+$'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name SIMILAR TO '%(a|b)*%'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name LIKE '%a%a%a%a%a%a%a%a%a%b'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name LIKE 'alice\\'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name LIKE 'a!%' ESCAPE '!'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name ILIKE 'ALICE'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name LIKE region"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE name LIKE '%a%a%a%b'"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE name LIKE '_%' AND name NOT LIKE '%''; DROP TABLE%'"),
    // More than one statement, and what hides in comments.
    (Refused, "SELECT COUNT(*) FROM _T_; DELETE FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_; SELECT 1"),
    (Refused, "DELETE FROM _T_"),
    (Refused, "COMMIT; DROP TABLE _T_"),
    (Refused, "PRAGMA query_only = OFF"),
    (Refused, "SELECT COUNT(*) /* WHERE */ FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ -- WHERE age > 3"),
    (Refused, "SELECT /*+ SeqScan(_T_) */ COUNT(*) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age > 3 /*! AND 1/0 */"),
    // Names that are not what they seem.
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE аge > 3"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age＝3"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE a\u{200b}ge = 3"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE \"age\"\"\" = 3"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE \"AGE\" = 3"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE rowid = 1"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE ctid = '(0,1)'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name = \"eve\""),
    (Answered, "SELECT COUNT(*) FROM \"_T_\" WHERE \"age\" = 40 AND AGE <> 41"),
    (Answered, "SELECT COUNT(*) AS \"x\"\"; DROP TABLE data; --\" FROM _T_ WHERE name = '''; DROP TABLE data; --'"),
    // Other tables.
    (Refused, "SELECT COUNT(*) FROM sqlite_schema"),
    (Refused, "SELECT COUNT(*) FROM pg_catalog.pg_class"),
    (Refused, "SELECT COUNT(*) FROM information_schema.tables"),
    (Refused, "SELECT COUNT(*) FROM _T_, _T_ AS other"),
    (Refused, "SELECT COUNT(*) FROM _T_ NATURAL JOIN _T_"),
    (Refused, "SELECT COUNT(*) FROM (SELECT * FROM _T_)"),
    (Refused, "SELECT COUNT(*) FROM _T_ TABLESAMPLE SYSTEM (1)"),
    (Refused, "WITH x AS (SELECT 1) SELECT COUNT(*) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ UNION SELECT age FROM _T_"),
    (Refused, "SELECT COUNT(*) INTO other FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ FOR UPDATE"),
    // Rows themselves.
    (Refused, "SELECT * FROM _T_"),
    (Refused, "SELECT name FROM _T_"),
    (Refused, "SELECT name, COUNT(*) FROM _T_ GROUP BY name"),
    (Refused, "SELECT region, COUNT(*) FROM _T_ GROUP BY region HAVING COUNT(*) > 1"),
    // Numbers of all kinds.
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age = NaN"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE income > Infinity"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE income > 'NaN'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age = 9223372036854775808"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE income > 1e999"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE age > -9223372036854775808 AND age <= 9223372036854775807"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE income > 1e308 OR income < -1e308 OR income BETWEEN 5e-324 AND 1"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE NOT (income <= 3.5) AND income NOT IN (1, 2.5)"),
    (Answered, "SELECT region, SUM(income), COUNT(DISTINCT person) FROM _T_ GROUP BY region"),
    (Answered, "SELECT smoker, region, COUNT(income) FROM _T_ WHERE name IS NOT NULL GROUP BY smoker, region"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE smoker AND NOT (region IN ('north', 'south') AND name > 'a')"),
];

const SCHEMA: &str = r#"
    unit = { column = "person", max_rows_per_unit = 2 }
    [columns.person]
    type = "text"
    [columns.age]
    type = "integer"
    bounds = [0, 120]
    [columns.income]
    type = "real"
    bounds = [-1000, 100000]
    grid = 1000
    [columns.name]
    type = "text"
    [columns.region]
    type = "text"
    categories = ["north", "south"]
    [columns.smoker]
    type = "boolean"
    categories = [true, false]
"#;

/// Ordinary people.
fn quiet() -> Vec<String> {
    let regions = ["north", "south"];
    (0..50)
        .map(|row| format!("p{row},{},{}.5,name{row},{},{}", 20 + row, 100 * row, regions[row % 2], row % 3 == 0))
        .collect()
}

/// The same and one person more, who has everything that breaks programs: the values differ, the person is one.
fn loud() -> Vec<String> {
    let long = "a".repeat(20_000);
    let mut rows = quiet();
    for row in [
        "eve,40,NaN,alice\\,north,true",
        "eve,9223372036854775807,Infinity,'; DROP TABLE data; --,east,false",
        "eve,-9223372036854775808,-Infinity,%_%,south,",
        "eve,0,5e-324,\u{1f600}\u{200b},,true",
        "eve,40,1.7976931348623157e308,,north,true",
        ",40,3,nobody,north,true",
    ] {
        rows.push(row.to_string());
    }
    rows.push(format!("eve,,,{long},north,true"));
    rows
}

/// Asks everything of both datasets, and checks what comes of it.
fn check(house: &House, datasets: [&str; 2]) {
    for (fate, question) in QUESTIONS {
        let mut messages = Vec::new();
        for dataset in datasets {
            let before = house.charges(dataset);
            let request = request(dataset, &question.replace("_T_", dataset), "0.001");
            let came = match house.gate.ask(&request) {
                Ok(GateOutcome::Answered(_)) => Answered,
                Ok(other) => panic!("{question} of {dataset}: {other:?}; {:?}", house.gate.catalog().failures(1)),
                Err(error) => {
                    assert!(error.is_input() && error.position().is_some(), "{question}: {error}");
                    messages.push(error.to_string().replace(dataset, ""));
                    Refused
                }
            };
            assert_eq!(came, *fate, "{question} of {dataset}: {messages:?}");
            assert_eq!(house.charges(dataset) - before, u64::from(came == Answered), "{question}");
        }
        assert!(messages.windows(2).all(|pair| pair[0] == pair[1]), "{question}: {messages:?}");
    }
}

#[test]
fn hostile_questions_to_the_embedded_engine() {
    assert!(QUESTIONS.iter().filter(|(fate, _)| *fate == Refused).count() >= 40);
    let house = House::new();
    for (name, rows) in [("quiet", quiet()), ("loud5", loud())] {
        let csv = format!("person,age,income,name,region,smoker\n{}\n", rows.join("\n"));
        house.add(name, &csv, SCHEMA, "1000,1e-6");
    }
    check(&house, ["quiet", "loud5"]);
}

#[test]
fn very_long_and_very_deep_questions_are_refused() {
    let house = House::new();
    house.add("people", &format!("person,age,income,name,region,smoker\n{}\n", quiet().join("\n")), SCHEMA, "1,1e-6");
    let numbers = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    for question in [
        format!("SELECT COUNT(*) FROM people WHERE age IN ({})", numbers(100_000)),
        format!("SELECT COUNT(*) FROM people WHERE age IN ({})", numbers(1_100)),
        format!("SELECT COUNT(*) FROM people WHERE {}age = 1{}", "(".repeat(5_000), ")".repeat(5_000)),
        format!("SELECT COUNT(*) FROM people WHERE {}age = 1{}", "(".repeat(40), ")".repeat(40)),
        format!("SELECT COUNT(*) FROM people WHERE age = 1{}", " OR age = 1".repeat(50_000)),
        format!("SELECT COUNT(*) FROM people WHERE {} age = 1", "NOT ".repeat(100_000)),
        format!("SELECT COUNT(*) FROM people WHERE name = '{}'", "x".repeat(1_000_000)),
        format!("SELECT COUNT(*) FROM people WHERE {}", ["name LIKE '%aaaa%b'"; 9].join(" OR ")),
        format!("SELECT {} FROM people", vec!["COUNT(*)"; 17].join(", ")),
        format!("SELECT COUNT(*) FROM people WHERE age = {}", "1".repeat(1_000_000)),
    ] {
        let error = house.gate.ask(&request("people", &question, "0.001")).unwrap_err();
        assert!(error.is_input() && error.position().is_some(), "{error}");
        assert!(error.to_string().len() < 500, "{error}");
    }
    assert_eq!(house.charges("people"), 0);
}

#[cfg(feature = "server-tests")]
mod postgres {
    use taximeter_accounting::FilterRule;
    use taximeter_gate::{Data, Registration};
    use taximeter_testing::{PrivatePostgres, query};

    use super::*;
    use crate::common::{account, declaration, rules};

    #[test]
    fn hostile_questions_to_postgresql() {
        let server = PrivatePostgres::shared();
        let url = server.new_database().unwrap();
        let house = House::new();
        for (name, rows) in [("quiet", quiet()), ("loud5", loud())] {
            let columns = "person text, age int8, income float8, name text, region text, smoker bool";
            query(&url, &format!("CREATE TABLE {name} ({columns})")).unwrap();
            for row in rows {
                let values: Vec<String> =
                    row.split(',')
                        .map(|field| {
                            if field.is_empty() {
                                "NULL".to_string()
                            } else {
                                format!("'{}'", field.replace('\'', "''"))
                            }
                        })
                        .collect();
                query(&url, &format!("INSERT INTO {name} VALUES ({})", values.join(", "))).unwrap();
            }
            let data = Data::Postgres { url: url.clone(), table: name.to_string() };
            let rules = Some(rules(FilterRule::Residue, "1000,1e-6"));
            let registration = Registration { rules, ..Registration::new(account(name), declaration(SCHEMA), data) };
            house.register(registration).unwrap();
        }
        check(&house, ["quiet", "loud5"]);
    }
}
