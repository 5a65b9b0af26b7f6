//! WITH and sub-queries behind FROM are read as the one SELECT that they amount to, and so are words of other databases.

use super::read;
use crate::question::{Query, Question};

fn understood(text: &str) -> Question {
    read(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Everything of a question but the names of its columns.
fn meaning(text: &str) -> String {
    let Question { queries, scalars, order, hidden, offset, limit, .. } = understood(text);
    let of = |query: &Query| {
        let terms: Vec<_> = query.outputs.iter().map(|output| &output.term).collect();
        let keys: Vec<_> = query.groups.iter().map(|group| &group.key).collect();
        format!("{terms:?} {:?} {:?} {keys:?} {:?}", query.aggregates, query.filter, query.having)
    };
    let queries: Vec<String> = scalars.iter().chain(&queries).map(of).collect();
    format!("{queries:?} {order:?} {hidden} {offset} {limit:?}")
}

fn names(text: &str) -> Vec<String> {
    let question = understood(text);
    question.outputs().iter().take(question.shown()).map(|output| output.name.clone()).collect()
}

#[test]
fn sub_queries_behind_from_are_written_as_one_select() {
    for (written, plain) in [
        (
            "WITH t AS (SELECT age AS a, region FROM census WHERE employed) SELECT region, AVG(a) FROM t WHERE a > 5 GROUP BY region",
            "SELECT region, AVG(age) FROM census WHERE employed AND age > 5 GROUP BY region",
        ),
        (
            "SELECT t.r, COUNT(*) AS n FROM (SELECT c.region AS r FROM census c) AS t GROUP BY t.r ORDER BY n DESC LIMIT 2",
            "SELECT region, COUNT(*) AS n FROM census GROUP BY region ORDER BY n DESC LIMIT 2",
        ),
        (
            "SELECT COUNT(*), SUM(age) FROM (SELECT * FROM census WHERE age > 5) t",
            "SELECT COUNT(*), SUM(age) FROM census WHERE age > 5",
        ),
        ("SELECT SUM(t.age) FROM (SELECT * FROM census) t", "SELECT SUM(age) FROM census"),
        (
            "SELECT band, COUNT(*) FROM (SELECT FLOOR(age / 10.0) AS band FROM census) t GROUP BY band",
            "SELECT FLOOR(age / 10.0), COUNT(*) FROM census GROUP BY 1",
        ),
        // A name that stands for a name that stands for an expression.
        (
            "WITH a AS (SELECT age + 1 AS x FROM census), b AS (SELECT x * 2 AS y FROM a WHERE x > 3) SELECT SUM(y) FROM b WHERE y < 9",
            "SELECT SUM((age + 1) * 2) FROM census WHERE age + 1 > 3 AND (age + 1) * 2 < 9",
        ),
        // A column that is called like another one.
        ("SELECT AVG(wage) FROM (SELECT age AS wage FROM census) t", "SELECT AVG(age) FROM census"),
        // What is computed from an aggregate question.
        (
            "WITH t AS (SELECT region, COUNT(*) AS n, SUM(age) AS s FROM census GROUP BY region)
             SELECT region, s / n AS mean FROM t WHERE n > 5 ORDER BY mean LIMIT 3",
            "SELECT region, SUM(age) / COUNT(*) AS mean FROM census GROUP BY region HAVING COUNT(*) > 5 ORDER BY mean LIMIT 3",
        ),
        (
            "SELECT * FROM (SELECT region, COUNT(*) AS n FROM census GROUP BY region ORDER BY n DESC LIMIT 2) t",
            "SELECT region, COUNT(*) AS n FROM census GROUP BY region ORDER BY n DESC LIMIT 2",
        ),
        (
            "SELECT region FROM (SELECT region, COUNT(*) AS n FROM census GROUP BY region HAVING COUNT(*) > 1) t WHERE n < 9 ORDER BY n",
            "SELECT region FROM census GROUP BY region HAVING COUNT(*) > 1 AND COUNT(*) < 9 ORDER BY COUNT(*)",
        ),
        (
            "WITH t AS (SELECT age FROM census WHERE employed) SELECT COUNT(*) FROM t UNION ALL SELECT SUM(age) FROM t",
            "SELECT COUNT(*) FROM census WHERE employed UNION ALL SELECT SUM(age) FROM census WHERE employed",
        ),
        (
            "WITH t AS (SELECT age FROM census WHERE employed) SELECT COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t)",
            "SELECT COUNT(*) FROM census WHERE employed AND age > (SELECT AVG(age) FROM census WHERE employed)",
        ),
        // Other words for the same.
        (
            "SELECT region, employed, COUNT(*) FROM census GROUP BY ALL",
            "SELECT region, employed, COUNT(*) FROM census GROUP BY 1, 2",
        ),
        ("SELECT COUNT(*), SUM(age) FROM census GROUP BY ALL", "SELECT COUNT(*), SUM(age) FROM census"),
        (
            "SELECT AVG(DATEDIFF(DATE '2021-01-01', born)) FROM census",
            "SELECT AVG(DATE '2021-01-01' - born) FROM census",
        ),
        (
            "SELECT AVG(DATE_DIFF('day', born, DATE '2021-01-01')) FROM census",
            "SELECT AVG(DATE '2021-01-01' - born) FROM census",
        ),
        (
            "SELECT AVG(DATE_DIFF(DATE '2021-01-01', born, DAY)) FROM census",
            "SELECT AVG(DATE '2021-01-01' - born) FROM census",
        ),
        (
            "SELECT MAX(DATE_DIFF('year', born, seen)) FROM census",
            "SELECT MAX(EXTRACT(YEAR FROM seen) - EXTRACT(YEAR FROM born)) FROM census",
        ),
        ("SELECT SUM(POWER(age, 3)) FROM census", "SELECT SUM(age * age * age) FROM census"),
        ("SELECT POWER(COUNT(*), 2) FROM census", "SELECT COUNT(*) * COUNT(*) FROM census"),
        ("SELECT SUM(NVL(age, 3)) FROM census", "SELECT SUM(COALESCE(age, 3)) FROM census"),
    ] {
        assert_eq!(meaning(written), meaning(plain), "{written}");
        // What is written in one way is read as the same.
        let canonical = understood(written).canonical;
        assert_eq!(meaning(&canonical), meaning(plain), "{written}: {canonical}");
    }
}

#[test]
fn columns_keep_the_names_that_they_have_outside() {
    for (text, expected) in [
        (
            "WITH t AS (SELECT age AS a, region FROM census) SELECT region, AVG(a) AS m FROM t GROUP BY region",
            ["region", "m"],
        ),
        ("SELECT r, n FROM (SELECT region AS r, COUNT(*) AS n FROM census GROUP BY region) t", ["r", "n"]),
        ("SELECT * FROM (SELECT region AS r, COUNT(*) AS n FROM census GROUP BY region) t", ["r", "n"]),
        ("SELECT COUNT(*) filter, SUM(age) over FROM census", ["filter", "over"]),
        ("SELECT COUNT(*) FILTER (WHERE age > 3) filter, SUM(age) within FROM census", ["filter", "within"]),
    ] {
        assert_eq!(names(text), expected, "{text}");
    }
    assert_eq!(names("SELECT region FROM census GROUP BY region ORDER BY COUNT(*) DESC"), ["region"]);
}

#[test]
fn a_condition_on_a_noisy_number_is_a_number() {
    let text = "SELECT COUNT(*) > 10 AS large, COUNT(*) = 5 OR AVG(age) < 3 AS odd FROM census";
    assert_eq!(names(text), ["large", "odd"]);
}

#[test]
fn sub_queries_that_are_more_than_that_are_refused() {
    for (text, words) in [
        ("SELECT SUM(n) FROM (SELECT region, COUNT(*) AS n FROM census GROUP BY region) t", "groups of groups"),
        ("SELECT n, COUNT(*) FROM (SELECT COUNT(*) AS n FROM census GROUP BY region) t GROUP BY n", "groups of groups"),
        ("SELECT COUNT(*) FROM (SELECT age FROM census LIMIT 5) t", "cannot be sorted or limited"),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT age FROM census) t", "DISTINCT"),
        ("SELECT COUNT(*) FROM (SELECT age FROM census UNION ALL SELECT age FROM census) t", "UNION"),
        ("SELECT COUNT(*) FROM census JOIN (SELECT age FROM census) t ON census.age = t.age", "cannot be joined"),
        (
            "WITH t AS (SELECT age FROM census) SELECT COUNT(*) FROM census JOIN t ON census.age = t.age",
            "cannot be joined",
        ),
        ("WITH census AS (SELECT age FROM census) SELECT COUNT(*) FROM census", "call it something else"),
        ("WITH t (a) AS (SELECT age FROM census) SELECT COUNT(a) FROM t", "without a list of columns"),
        ("WITH RECURSIVE t AS (SELECT age FROM census) SELECT COUNT(*) FROM t", "RECURSIVE"),
        ("SELECT * FROM (SELECT age, region FROM census) t", "rows are never shown"),
        ("SELECT age FROM (SELECT age, region FROM census) t", "must be in GROUP BY"),
        ("WITH t AS (SELECT * FROM census) SELECT * FROM t", "rows are never shown"),
        ("SELECT person, n FROM (SELECT person, COUNT(*) AS n FROM census GROUP BY person) t", "what is protected"),
        (
            "SELECT n FROM (SELECT region, COUNT(*) AS n FROM census GROUP BY region LIMIT 2) t ORDER BY n",
            "sort and limit once",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.position().is_some() && error.to_string().contains(words), "{text}: {error}");
    }
}

/// Names that stand for names twice each grow like 2ⁿ.
#[test]
fn what_grows_without_end_is_refused_at_once() {
    let mut text = "WITH t0 AS (SELECT age AS x FROM census)".to_string();
    for step in 1..40 {
        text += &format!(", t{step} AS (SELECT x + x AS x FROM t{})", step - 1);
    }
    let error = read(&format!("{text} SELECT SUM(x) FROM t39")).unwrap_err();
    assert!(error.to_string().contains("too long"), "{error}");
}
