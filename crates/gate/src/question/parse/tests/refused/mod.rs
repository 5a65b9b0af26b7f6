//! What is refused: where, and with which words. The place is marked with `¦`, which is taken out of the text.

mod rows;
mod shown;

use super::*;

fn check(schema: &Schema, marked: &str, fragment: &str) {
    let at = marked.chars().position(|letter| letter == '¦').expect("the place is marked") + 1;
    let text = marked.replacen('¦', "", 1);
    let error = match Question::parse(&text, DATASET, schema) {
        Ok(question) => panic!("{text} was read as {}", question.canonical),
        Err(error) => error,
    };
    assert!(error.is_input(), "{text}: {error}");
    assert!(error.to_string().contains(fragment), "{text}: {error}");
    assert_eq!(error.position(), Some(at), "{text}: {error}");
}

fn check_all(table: &[(&str, &str)]) {
    for (marked, fragment) in table {
        check(&schema(), marked, fragment);
    }
}

fn check_conditions(table: &[(&str, &str)]) {
    for (marked, fragment) in table {
        check(&schema(), &format!("SELECT COUNT(*) FROM census WHERE {marked}"), fragment);
    }
}

#[test]
fn only_one_plain_select_is_answered() {
    check_all(&[
        ("¦", "nothing is asked"),
        ("  ¦;", "a question begins with SELECT"),
        ("¦DELETE FROM census", "a question begins with SELECT"),
        ("¦EXPLAIN SELECT COUNT(*) FROM census", "a question begins with SELECT"),
        ("¦(SELECT COUNT(*) FROM census)", "a question begins with SELECT"),
        ("¦FROM census SELECT COUNT(*)", "a question begins with SELECT"),
        ("¦VALUES (1)", "a question begins with SELECT"),
        ("¦\"SELECT\" COUNT(*) FROM census", "a question begins with SELECT"),
        ("SELECT COUNT(*) FROM census¦; SELECT COUNT(*) FROM census", "only one question is answered at a time"),
        ("SELECT COUNT(*) FROM census¦;;", "only one question is answered at a time"),
        ("SELECT ¦COUNT(*) FROM census GROUP BY CUBE(region, employed, b, zone)", "this has more than 8 groupings"),
        (
            "SELECT ¦COUNT(*) FROM census GROUP BY ROLLUP(region, employed), CUBE(b, zone)",
            "this has more than 8 groupings",
        ),
        ("SELECT COUNT(*) FROM census ¦EXCEPT SELECT COUNT(*) FROM census", "only UNION ALL joins questions"),
        ("SELECT COUNT(*) FROM census ¦INTERSECT SELECT COUNT(*) FROM census", "only UNION ALL joins questions"),
    ]);
}

#[test]
fn clauses_are_followed_by_what_belongs_to_them() {
    check_all(&[
        ("SELECT ¦COUNT(*) FROM census UNION SELECT COUNT(*) FROM census", "questions are joined by UNION ALL only"),
        ("SELECT COUNT(*) FROM census WHERE employed UNION ALL SELECT 1¦", "say what it is about"),
        ("SELECT COUNT(*) FROM census LIMIT 5¦, 10", "LIMIT is followed by one number: write LIMIT 10 OFFSET 5"),
        ("SELECT COUNT(*) FROM census LIMIT 5¦, age", "expected the end of the question"),
        ("SELECT COUNT(*) FROM census LIMIT 5¦,", "expected the end of the question"),
        ("SELECT COUNT(*) FROM census LIMIT ¦0", "LIMIT is followed by a whole number from 1 on"),
        ("SELECT COUNT(*) FROM census LIMIT ¦1.5", "LIMIT is followed by a whole number from 1 on"),
        ("SELECT COUNT(*) FROM census LIMIT ¦-1", "LIMIT is followed by a whole number from 1 on"),
        ("SELECT COUNT(*) FROM census LIMIT ¦18446744073709551616", "LIMIT is followed by a whole number from 1 on"),
        ("SELECT COUNT(*) FROM census LIMIT¦", "expected an expression before the end"),
        ("SELECT COUNT(*) FROM census ¦TABLESAMPLE BERNOULLI (5)", "a question only reads, all rows and without locks"),
        ("SELECT COUNT(*) FROM census ¦WITH (NOLOCK)", "WITH is not supported"),
        ("SELECT COUNT(*) FROM census USE ¦INDEX (a)", "expected the end of the question"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦2", "an answer is sorted by what it shows"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦0", "an answer is sorted by what it shows"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦-1", "an answer is sorted by what it shows"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦age", "must be in GROUP BY"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦nothing", "column \"nothing\" not found"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦'COUNT(*)'", "this is not a number"),
        ("SELECT COUNT(*) FROM census ORDER BY 1 ¦USING <", "expected the end of the question"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦ALL", "column \"ALL\" not found"),
        (
            "SELECT COUNT(*) FROM census WHERE age > ¦(SELECT AVG(age) FROM census GROUP BY region)",
            "a sub-query is one aggregate without groups, such as",
        ),
        (
            "SELECT COUNT(*) FROM census WHERE age > ¦(SELECT AVG(age) FROM census UNION ALL SELECT 1)",
            "a sub-query is one SELECT of one aggregate, without ORDER",
        ),
        ("SELECT COUNT(*) FROM census HAVING ¦age > 5", "must be in GROUP BY"),
        ("SELECT region, COUNT(*) FROM census GROUP BY region HAVING region = ¦'north'", "this is not a number"),
        (
            "SELECT region, COUNT(*) FROM census GROUP BY region HAVING ¦COUNT(*)",
            "conditions on answers compare numbers, such as COUNT(*) >",
        ),
        (
            "SELECT region, COUNT(*) FROM census GROUP BY region HAVING ¦COUNT(*) LIKE 'a'",
            "conditions on answers compare numbers, such as COUNT(*) >",
        ),
        ("SELECT region, ¦COUNT(*) % 5 FROM census GROUP BY region", "noisy numbers are combined with + - * and /"),
        (
            "SELECT COUNT(*) FROM census UNION ALL SELECT ¦region, COUNT(*) FROM census GROUP BY region",
            "the questions that UNION ALL joins have different numbers",
        ),
        ("SELECT COUNT(*) FROM census UNION ALL SELECT COUNT(*) FROM ¦people", "dataset \"people\" not found here"),
        (
            "SELECT COUNT(*) FROM census UNION ALL SELECT COUNT(*) FROM census ORDER BY ¦age",
            "an answer is sorted by what it shows",
        ),
        ("SELECT COUNT(*) FROM census FETCH FIRST 5 ¦PERCENT ROWS ONLY", "expected the end of the question"),
        ("SELECT COUNT(*) FROM census FETCH FIRST 5 ROWS ¦WITH TIES", "WITH is not supported"),
        ("SELECT COUNT(*) FROM census OFFSET ¦-1", "OFFSET is followed by a whole number from 0 on"),
        ("SELECT COUNT(*) FROM census OFFSET ¦age", "OFFSET is followed by a whole number from 0 on"),
        ("SELECT ¦d.age FROM census c", "table \"d\" not found"),
        ("SELECT COUNT(¦d.age) FROM census c", "table \"d\" not found"),
        ("SELECT COUNT(¦c.d.age) FROM census c", "table \"c\" not found"),
        (
            "SELECT COUNT(*) FROM census WHERE age > ¦(SELECT AVG(age) FROM census HAVING COUNT(*) > 5)",
            "a sub-query is one aggregate without groups, such as",
        ),
        (
            "SELECT COUNT(*) FROM census WHERE age > ¦(SELECT AVG(age) FROM census ORDER BY 1)",
            "a sub-query is one SELECT of one aggregate, without ORDER",
        ),
        ("SELECT region, COUNT(*) FROM census GROUP BY region HAVING ¦age > 5", "must be in GROUP BY"),
        ("SELECT region, COUNT(*) FROM census GROUP BY region HAVING COUNT(*) > ¦'x'", "this is not a number"),
        ("SELECT region, COUNT(*) FROM census GROUP BY region HAVING ¦nothing > 5", "column \"nothing\" not found"),
        ("SELECT region, COUNT(*) FROM census GROUP BY region ORDER BY ¦age", "must be in GROUP BY"),
        ("SELECT region, COUNT(*) FROM census GROUP BY region ORDER BY ¦random()", "RANDOM(…) is not supported here"),
        ("SELECT COUNT(*) FROM census LIMIT 5 OFFSET ¦1.5", "OFFSET is followed by a whole number from 0 on"),
        ("SELECT COUNT(*) FROM census LIMIT ¦NULL", "LIMIT is followed by a whole number from 1 on"),
        ("SELECT COUNT(*) FROM census ¦VALUES (1)", "lists of rows and sub-queries about rows are not supported"),
    ]);
}

#[test]
fn sub_queries_are_single_numbers_and_windows_are_over_groups() {
    check_all(&[
        ("SELECT COUNT(*) FROM census ¦WINDOW w", "a window is named after GROUP BY and HAVING"),
        ("SELECT COUNT(*) FROM ¦LATERAL (SELECT 1)", "a dataset is joined to a public table by JOIN or LEFT JOIN"),
        ("SELECT ¦COUNT(*) OVER () FROM census", "nothing is counted or summed"),
        ("SELECT COUNT(*) FROM census ORDER BY (SELECT 1)¦", "say what it is about"),
        (
            "SELECT COUNT(*) FROM census WHERE ¦age IN (SELECT age FROM census)",
            "a list is of literals, as in region IN ('north', 'south')",
        ),
        (
            "SELECT COUNT(*) FROM census WHERE ¦EXISTS (SELECT 1)",
            "lists of rows and sub-queries about rows are not supported",
        ),
        ("SELECT COUNT(*) FROM census WHERE age = ¦ANY (SELECT 1)", "ANY and SOME are not supported"),
        (
            "SELECT COUNT(*) FROM census c WHERE age > (SELECT AVG(age) FROM census d WHERE ¦c.region = d.region)",
            "table \"c\" not found",
        ),
        ("SELECT COUNT(*) FROM census WHERE age > (SELECT ¦age FROM census)", "must be in GROUP BY"),
        (
            "SELECT COUNT(*) FROM census WHERE age > ¦(SELECT AVG(age), COUNT(*) FROM census)",
            "a sub-query is one aggregate without groups, such as",
        ),
        (
            "SELECT COUNT(*) FROM census WHERE age > ¦(SELECT AVG(age) FROM census LIMIT 1)",
            "a sub-query is one SELECT of one aggregate, without ORDER",
        ),
        ("SELECT SUM(¦age) OVER () FROM census", "must be in GROUP BY"),
        (
            "SELECT COUNT(*) FROM census WHERE ¦name IN (SELECT name FROM census)",
            "a list is of literals, as in region IN ('north', 'south')",
        ),
        ("SELECT (SELECT 1) FROM census¦", "say what it is about"),
        ("SELECT ¦(SELECT COUNT(*) FROM census) FROM census", "nothing is counted or summed"),
        (
            "SELECT SUM(COUNT(*)) OVER ¦w FROM census GROUP BY region WINDOW v AS (ORDER BY COUNT(*))",
            "there is no window \"w\" that this can begin with",
        ),
        (
            "SELECT SUM(COUNT(*)) OVER (¦w PARTITION BY region) FROM census GROUP BY region WINDOW w AS (ORDER BY region)",
            "there is no window \"w\" that this can begin with",
        ),
        // A window that names itself, or one that is not named yet.
        ("SELECT RANK() OVER w FROM census WINDOW w AS (ORDER BY RANK() OVER ¦w)", "there is no window \"w\""),
        ("SELECT RANK() OVER w FROM census WINDOW w AS (ORDER BY RANK() OVER (¦w))", "there is no window \"w\""),
        (
            "SELECT RANK() OVER v FROM census WINDOW w AS (ORDER BY COUNT(*)), v AS (ORDER BY RANK() OVER ¦w)",
            "there is no window \"w\"",
        ),
        (
            "SELECT ¦VARIANCE(COUNT(*)) OVER (ORDER BY region) FROM census GROUP BY region",
            "the supported window functions are RANK, DENSE_RANK, ROW_NUMBER, NTILE",
        ),
        ("SELECT ¦ROW_NUMBER() OVER () FROM census", "ROW_NUMBER needs an order"),
        ("SELECT ¦LAG(COUNT(*)) OVER () FROM census", "LAG needs an order"),
        ("SELECT ¦NTILE(0) OVER (ORDER BY COUNT(*)) FROM census", "NTILE takes a whole number of parts"),
        ("SELECT ¦NTILE(4) OVER () FROM census", "NTILE needs an order"),
        ("SELECT RANK() OVER (ORDER BY ¦age) FROM census", "must be in GROUP BY"),
        ("SELECT RANK() OVER (PARTITION BY ¦COUNT(*) ORDER BY COUNT(*)) FROM census", "PARTITION BY names keys"),
        ("SELECT RANK() OVER (ORDER BY ¦1), COUNT(*) FROM census", "rows are sorted by a key or an aggregate"),
        ("SELECT ¦LAG(COUNT(*), -1) OVER (ORDER BY region) FROM census GROUP BY region", "a whole number of rows"),
        ("SELECT LAG(¦region) OVER (ORDER BY region), COUNT(*) FROM census GROUP BY region", "takes numbers"),
        (
            "SELECT ¦SUM(RANK() OVER (ORDER BY COUNT(*))) OVER () FROM census GROUP BY region",
            "a window function cannot contain another one",
        ),
        (
            "SELECT ¦SUM(COUNT(*)) OVER (ORDER BY region RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM census GROUP BY region",
            "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
        ),
        (
            "SELECT ¦region, COUNT(*), RANK() OVER (ORDER BY COUNT(*)) FROM census GROUP BY ROLLUP (region)",
            "window functions do not work with several groupings",
        ),
        ("SELECT COUNT(*) FROM census WHERE age > (SELECT COUNT(*) FROM ¦people)", "dataset \"people\" not found here"),
        (
            "SELECT COUNT(*) FROM census c WHERE age > (SELECT AVG(age) FROM census WHERE age < ¦c.age)",
            "table \"c\" not found",
        ),
        ("SELECT COUNT(*) FROM census WHERE age > (SELECT 5)¦", "say what it is about"),
        ("SELECT COUNT(*) FROM census WHERE ¦age > ALL (SELECT age FROM census)", "this expression is not supported"),
        (
            "SELECT COUNT(*) FROM census GROUP BY ¦(SELECT AVG(age) FROM census)",
            "this has more than 10000 values by its bounds",
        ),
        ("SELECT COUNT(*) FROM census LIMIT ¦(SELECT 1)", "LIMIT is followed by a whole number from 1 on"),
    ]);
}

/// Other tables, and what the parser knows and the language does not. The place is the beginning of what is refused, or of all of it.
#[test]
fn only_the_dataset_itself_is_asked() {
    for text in [
        "SELECT COUNT(*) FROM census, census",
        "SELECT COUNT(*) FROM census.people",
        "SELECT COUNT(*) FROM census JOIN census ON 1 = 1",
        "SELECT COUNT(*) FROM census LEFT JOIN census ON 1 = 1",
        "SELECT COUNT(*) FROM census NATURAL JOIN census",
        "SELECT COUNT(*) FROM census(5)",
        "SELECT COUNT(*) FROM ((((census))))",
        "SELECT COUNT(*) FROM census LIMIT 5 FETCH FIRST 5 ROWS ONLY",
        "SELECT COUNT(*) FROM census AS c (a, b)",
        "SELECT COUNT(*) FROM census CROSS JOIN census",
        "SELECT COUNT(*) FROM census FULL JOIN census",
        "SELECT COUNT(*) FROM census a, census b",
        "SELECT COUNT(*) FROM census a JOIN census b ON a.person = b.person",
        "SELECT COUNT(*) FROM pg_catalog.pg_class",
        "SELECT COUNT(*) FROM generate_series(1, 10)",
        "SELECT COUNT(*) FROM (VALUES (1)) AS t",
        "SELECT COUNT(*) FROM (census)",
    ] {
        let error = read(text).unwrap_err();
        assert!(error.is_input() && error.position().is_some(), "{text}: {error}");
    }
}

/// Two sub-queries about the same are one SELECT; these are nine.
#[test]
fn a_question_has_at_most_eight_selects() {
    let select = |n: usize| format!("SELECT COUNT(*) FROM census WHERE age > {n}");
    let united = |count| (1..=count).map(select).collect::<Vec<_>>().join(" UNION ALL ");
    assert!(read(&united(8)).is_ok());
    check(&schema(), &united(9).replacen("COUNT", "¦COUNT", 1), "at most 8 SELECTs");
    let inner = |count| (1..=count).map(|n| format!("({})", select(n))).collect::<Vec<_>>().join(" + ");
    assert!(read(&format!("SELECT {}", inner(7))).is_ok());
    check(&schema(), &format!("SELECT ¦{}", inner(8)), "at most 8 SELECTs");
}

#[test]
fn an_unknown_name_lists_a_bounded_number_of_columns() {
    let columns = (1..=256).map(|n| Column::new(&format!("c{n}"), ColumnType::Integer, None, None).unwrap()).collect();
    let schema = Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, columns).unwrap();
    check(&schema, "SELECT COUNT(¦nothing) FROM census", "the columns are c1, c2, c3");
    check(&schema, "SELECT COUNT(¦nothing) FROM census", "c20 and 236 more");
    let long = format!("SELECT COUNT(¦{}) FROM census", "a".repeat(9_000));
    check(&schema, &long, &format!("column \"{}\"… not found;", "a".repeat(40)));
}
