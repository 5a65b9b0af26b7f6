//! What is refused: where, and with which words. The place is marked with `¦`, which is taken out of the text.

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
        ("¦WITH a AS (SELECT 1) SELECT COUNT(*) FROM census", "a question begins with SELECT"),
        ("¦\"SELECT\" COUNT(*) FROM census", "a question begins with SELECT"),
        ("SELECT COUNT(*) FROM census¦; SELECT COUNT(*) FROM census", "only one question is answered at a time"),
        ("SELECT COUNT(*) FROM census¦;;", "only one question is answered at a time"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦ROLLUP(region)", "groups are a list of expressions"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦GROUPING SETS (region)", "groups are a list of expressions"),
        ("SELECT COUNT(*) FROM census ¦EXCEPT SELECT COUNT(*) FROM census", "only UNION ALL joins questions"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦CUBE(region)", "groups are a list of expressions"),
        ("SELECT COUNT(*) FROM census ¦INTERSECT SELECT COUNT(*) FROM census", "only UNION ALL joins questions"),
    ]);
}

#[test]
fn clauses_are_followed_by_what_belongs_to_them() {
    check_all(&[
        ("SELECT ¦COUNT(*) FROM census UNION SELECT COUNT(*) FROM census", "questions are joined by UNION ALL only"),
        ("SELECT COUNT(*) FROM census WHERE employed UNION ALL SELECT 1¦", "say what it is about"),
        ("SELECT COUNT(*) FROM census LIMIT 5¦, 5", "expected the end of the question"),
        ("SELECT COUNT(*) FROM census LIMIT ¦0", "LIMIT is followed by a whole number from 1 on"),
        ("SELECT COUNT(*) FROM census LIMIT ¦1.5", "LIMIT is followed by a whole number from 1 on"),
        ("SELECT COUNT(*) FROM census LIMIT ¦-1", "LIMIT is followed by a whole number from 1 on"),
        ("SELECT COUNT(*) FROM census LIMIT ¦18446744073709551616", "LIMIT is followed by a whole number from 1 on"),
        ("SELECT COUNT(*) FROM census LIMIT¦", "expected an expression before the end"),
        ("SELECT COUNT(*) FROM census ¦TABLESAMPLE BERNOULLI (5)", "a question only reads, all rows and without locks"),
        ("SELECT COUNT(*) FROM census ¦WITH (NOLOCK)", "WITH is not answered"),
        ("SELECT COUNT(*) FROM census USE ¦INDEX (a)", "expected the end of the question"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦2", "an answer is sorted by what it shows"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦0", "an answer is sorted by what it shows"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦-1", "an answer is sorted by what it shows"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦age", "must be in GROUP BY"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦nothing", "column \"nothing\" not found"),
        ("SELECT COUNT(*) FROM census GROUP BY region ORDER BY ¦region", "an answer is sorted by what it shows"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦SUM(age)", "an answer is sorted by what it shows"),
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
        ("SELECT region, ¦COUNT(*) % 5 FROM census GROUP BY region", "answers are computed with + - * and /"),
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
        ("SELECT COUNT(*) FROM census FETCH FIRST 5 ROWS ¦WITH TIES", "WITH is not answered"),
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
        ("SELECT region, COUNT(*) FROM census GROUP BY region ORDER BY ¦random()", "RANDOM(…) is not answered here"),
        ("SELECT COUNT(*) FROM census LIMIT 5 OFFSET ¦1.5", "OFFSET is followed by a whole number from 0 on"),
        ("SELECT COUNT(*) FROM census LIMIT ¦NULL", "LIMIT is followed by a whole number from 1 on"),
        ("SELECT COUNT(*) FROM census ¦VALUES (1)", "lists of rows and sub-queries about rows are not answered"),
    ]);
}

#[test]
fn keys_of_groups_have_few_values_that_are_known() {
    check_all(&[
        ("SELECT DISTINCT ¦region, COUNT(*) FROM census GROUP BY region", "SELECT DISTINCT is not answered"),
        ("SELECT ¦region FROM census GROUP BY region", "nothing is counted or summed"),
        ("SELECT COUNT(*) FROM census GROUP BY region, ¦REGION", "region is grouped by already"),
        ("SELECT ¦COUNT(*) FROM census GROUP BY 1", "an aggregate cannot stand in another one, in WHERE or in"),
        ("SELECT COUNT(*) FROM census GROUP BY zone, ¦year", "this makes 10100 groups, more than 10000"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦(region, employed)", "this expression is not answered"),
        ("SELECT COUNT(*) FROM census GROUP BY region ¦WITH ROLLUP", "WITH is not answered"),
        ("SELECT COUNT(*) FROM census GROUP BY¦", "expected an expression before the end"),
        ("SELECT person, COUNT(*) FROM census GROUP BY ¦person", "is what is protected"),
        ("SELECT wage, COUNT(*) FROM census GROUP BY ¦wage", "holds decimal numbers"),
        ("SELECT income, COUNT(*) FROM census GROUP BY ¦income", "holds real numbers"),
        (
            "SELECT ¦DATE_TRUNC('fortnight', born), COUNT(*) FROM census GROUP BY 1",
            "a date is cut off at 'year', 'quarter', 'month', 'week' or",
        ),
        (
            "SELECT ¦DATE_TRUNC('hour', born), COUNT(*) FROM census GROUP BY 1",
            "a date is cut off at 'year', 'quarter', 'month', 'week' or",
        ),
        ("SELECT EXTRACT(¦CENTURY FROM born), COUNT(*) FROM census GROUP BY 1", "expected date/time field"),
        (
            "SELECT ¦EXTRACT(HOUR FROM born), COUNT(*) FROM census GROUP BY 1",
            "the parts of a date are YEAR, QUARTER, MONTH, WEEK, DAY,",
        ),
        (
            "SELECT FLOOR(wage), COUNT(*) FROM census GROUP BY FLOOR(wage), ¦age",
            "this makes 605121 groups, more than 10000",
        ),
        (
            "SELECT FLOOR(income), COUNT(*) FROM census GROUP BY ¦FLOOR(income)",
            "this has more than 10000 values by its bounds",
        ),
        (
            "SELECT wage / 100, COUNT(*) FROM census GROUP BY ¦wage / 100",
            "this has more than 10000 values by its bounds",
        ),
        ("SELECT COUNT(*) FROM census GROUP BY ¦2", "a place from 1 to 1 is needed here"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦0", "a place from 1 to 1 is needed here"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦'a'", "a place from 1 to 1 is needed here"),
        ("SELECT ¦5 AS x, COUNT(*) FROM census GROUP BY x", "a literal is the same for every row"),
        ("SELECT ¦COUNT(*) AS n FROM census GROUP BY n", "an aggregate cannot stand in another one, in WHERE or in"),
        (
            "SELECT LOWER(name), COUNT(*) FROM census GROUP BY ¦LOWER(name)",
            "the column \"name\" has no declared categories, so its values",
        ),
        (
            "SELECT COALESCE(¦name, 'x'), COUNT(*) FROM census GROUP BY 1",
            "the column \"name\" has no declared categories, so its values",
        ),
        (
            "SELECT WIDTH_BUCKET(age, 100, ¦0, 5), COUNT(*) FROM census GROUP BY 1",
            "the upper end of the buckets must be above the lower one",
        ),
        (
            "SELECT WIDTH_BUCKET(age, 0, 100, ¦0), COUNT(*) FROM census GROUP BY 1",
            "a whole number from 1 to 10000 is needed here",
        ),
        (
            "SELECT WIDTH_BUCKET(age, ¦income, 100, 5), COUNT(*) FROM census GROUP BY 1",
            "the ends of the buckets are literals",
        ),
        (
            "SELECT ¦DATEDIFF('day', born, DATE '2020-01-01'), COUNT(*) FROM census GROUP BY 1",
            "this has more than 10000 values by its bounds",
        ),
        ("SELECT region, ¦name FROM census GROUP BY region", "must be in GROUP BY"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦height", "holds real numbers"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦age + wage", "this has more than 10000 values by its bounds"),
        (
            "SELECT COUNT(*) FROM census GROUP BY ¦DATE_TRUNC('day', born)",
            "this has more than 10000 values by its bounds",
        ),
        ("SELECT COUNT(*) FROM census GROUP BY ¦nothing", "column \"nothing\" not found"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦AVG(age)", "an aggregate cannot stand in another one, in WHERE or in"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦random()", "RANDOM(…) is not answered here, with 0 arguments"),
        (
            "SELECT COUNT(*) FROM census GROUP BY CASE WHEN employed THEN ¦name END",
            "the column \"name\" has no declared categories, so its values",
        ),
        ("SELECT COUNT(*) FROM census WHERE region = 'nowhere' GROUP BY ¦region", "no group is left"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦CASE WHEN employed THEN NULL END", "no group is left"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦NULL", "a place from 1 to 1 is needed here"),
    ]);
}

#[test]
fn only_aggregates_and_groups_are_shown() {
    check_all(&[
        ("SELECT ¦TOP 5 COUNT(*) FROM census", "an answer is shortened by LIMIT"),
        ("SELECT COUNT(*) ¦INTO t FROM census", "a question only reads, all rows and without locks"),
        ("SELECT COUNT(*)¦", "say what it is about"),
        ("SELECT COUNT(*) FROM¦", "expected identifier before the end"),
        ("SELECT COUNT(*) FROM ¦people", "dataset \"people\" not found here"),
        ("SELECT COUNT(*) FROM ¦\"Census\"", "dataset \"Census\" not found here"),
        ("SELECT COUNT(*), ¦* FROM census", "rows are never shown"),
        ("SELECT ¦age FROM census", "must be in GROUP BY"),
        ("SELECT COUNT(*), ¦region FROM census", "must be in GROUP BY"),
        ("SELECT ¦1 FROM census", "nothing is counted or summed"),
        ("SELECT ¦age = 1 FROM census", "answers are computed with + - * and /"),
        ("SELECT ¦(age, age) FROM census", "this cannot be asked for"),
        ("SELECT ¦lower(name) FROM census", "LOWER(…) is not answered here"),
        ("SELECT COUNT(¦nothing) FROM census", "column \"nothing\" not found"),
        ("SELECT COUNT(¦\"Age\") FROM census", "column \"Age\" not found"),
        ("SELECT ¦COUNT(age, name) FROM census", "COUNT is not answered with 2 arguments"),
        ("SELECT ¦COUNT() FROM census", "COUNT is not answered with 0 arguments"),
        ("SELECT ¦SUM(DISTINCT age) FROM census", "DISTINCT is only for COUNT, and WITHIN GROUP for"),
        ("SELECT SUM(¦height) FROM census", "has no declared bounds"),
        ("SELECT AVG(¦name) FROM census", "holds text"),
        (
            "SELECT ¦COUNT(*) WITHIN GROUP (ORDER BY age) FROM census",
            "DISTINCT is only for COUNT, and WITHIN GROUP for",
        ),
        ("SELECT ¦COUNT(age WHERE employed) FROM census", "an aggregate has nothing behind its arguments"),
        ("SELECT ¦COUNT(age ORDER BY age) FROM census", "an aggregate has nothing behind its arguments"),
        ("SELECT COUNT(*) AS n, ¦COUNT(age) AS N FROM census", "two columns of the answer are called \"N\""),
        ("SELECT COUNT(*), ¦count(*) FROM census", "two columns of the answer are called \"COUNT(*)\""),
        ("SELECT COUNT(*) AS ¦\"\" FROM census", "a name has 1 to 100 bytes and no control characters"),
        ("SELECT COUNT(*) AS ¦\"a\tb\" FROM census", "a name has 1 to 100 bytes and no control characters"),
        ("SELECT COUNT(*) AS ¦'n' FROM census", "names are written in double quotes, text in single ones"),
        ("SELECT COUNT(*) ¦'n' FROM census", "text cannot follow here"),
        ("SELECT ¦FROM census", "nothing is asked for before FROM"),
        ("SELECT COUNT(*), ¦FROM census", "nothing is asked for before FROM"),
        ("SELECT COUNT(¦аge) FROM census", "column \"аge\" not found"),
        ("SELECT SUM(CAST(¦name AS INTEGER)) FROM census", "holds text"),
        ("SELECT SUM(¦name::numeric) FROM census", "holds text"),
        ("SELECT SUM(¦CAST(age AS TEXT)) FROM census", "numbers are converted to INTEGER, NUMERIC or REAL, and"),
        ("SELECT SUM(¦AVG(age)) FROM census", "an aggregate cannot stand in another one, in WHERE or in"),
        ("SELECT COUNT(¦COUNT(*)) FROM census", "an aggregate cannot stand in another one, in WHERE or in"),
        ("SELECT ¦foo(age) FROM census", "FOO(…) is not answered here"),
        ("SELECT SUM(¦foo(age)) FROM census", "FOO(…) is not answered here, with 1 argument"),
        ("SELECT SUM(¦SQRT(age)) FROM census", "SQRT(…) is not answered here, with 1 argument"),
        ("SELECT SUM(¦random()) FROM census", "RANDOM(…) is not answered here, with 0 arguments"),
        (
            "SELECT SUM(CASE WHEN employed THEN ¦'a' ELSE 'b' END) FROM census",
            "this is text, and a number is needed here",
        ),
        ("SELECT SUM(CASE WHEN ¦age THEN 1 END) FROM census", "this is not true or false"),
        ("SELECT SUM(¦LOWER(name)) FROM census", "holds text"),
        ("SELECT ¦LOWER(age) FROM census", "LOWER(…) is not answered here"),
        ("SELECT SUM(ROUND(age, ¦1.5)) FROM census", "a whole number from -15 to 15 is needed here"),
        ("SELECT SUM(ROUND(age, ¦99)) FROM census", "a whole number from -15 to 15 is needed here"),
        ("SELECT SUM(ROUND(age, ¦age)) FROM census", "a whole number from -15 to 15 is needed here"),
        ("SELECT SUM(¦ROUND(income, 15)) FROM census", "this may get too large for its number of digits"),
        (
            "SELECT PERCENTILE_CONT(¦1.5) WITHIN GROUP (ORDER BY age) FROM census",
            "a quantile is of a literal from 0 to 1, such as 0.5",
        ),
        (
            "SELECT PERCENTILE_CONT(¦age) WITHIN GROUP (ORDER BY age) FROM census",
            "a quantile is of a literal from 0 to 1, such as 0.5",
        ),
        ("SELECT ¦PERCENTILE_CONT(0.5) FROM census", "PERCENTILE_CONT is not answered with 1 argument"),
        ("SELECT ¦MEDIAN(age, 2) FROM census", "MEDIAN is not answered with 2 arguments"),
        ("SELECT ¦QUANTILE(age) FROM census", "QUANTILE is not answered with 1 argument"),
        ("SELECT ¦MODE(age) FROM census", "MODE(…) is not answered here"),
        ("SELECT ¦MODE() WITHIN GROUP (ORDER BY age) FROM census", "this function is not answered in this form"),
        ("SELECT ¦STRING_AGG(name, ',') FROM census", "STRING_AGG(…) is not answered here"),
        ("SELECT ¦ARRAY_AGG(age) FROM census", "ARRAY_AGG(…) is not answered here"),
        ("SELECT ¦CORR(age) FROM census", "CORR is not answered with 1 argument"),
        ("SELECT CORR(age, ¦name) FROM census", "holds text"),
        ("SELECT MIN(¦name) FROM census", "holds text"),
        ("SELECT COUNT(¦NULL) FROM census", "NULL is never counted"),
        ("SELECT SUM(¦NULL) FROM census", "NULL has no sum"),
        ("SELECT SUM(¦'a') FROM census", "this is text, and a number is needed here"),
        ("SELECT COUNT(DISTINCT ¦LOWER(name)) FROM census", "different values are counted of a column or a number"),
        ("SELECT ¦COUNT(DISTINCT age, name) FROM census", "DISTINCT is only for COUNT, and WITHIN GROUP for"),
        ("SELECT COUNT(DISTINCT ¦employed AND b) FROM census", "different values are counted of a column or a number"),
        ("SELECT ¦COUNT(*) > 5 FROM census", "answers are computed with + - * and /"),
        ("SELECT ¦CAST(COUNT(*) AS TEXT) FROM census", "answers are numbers"),
        ("SELECT ¦SQRT(COUNT(*), 2) FROM census", "SQRT(…) is not answered here"),
        ("SELECT ¦x AS y, y AS x FROM census", "nested more than 64 deep"),
        ("SELECT ¦COUNT(*) + n AS n FROM census", "nested more than 64 deep"),
        ("SELECT ¦GREATEST(COUNT(*)) FROM census", "GREATEST(…) is not answered here"),
        ("SELECT SUM(¦GREATEST(age)) FROM census", "GREATEST(…) is not answered here, with 1 argument"),
        ("SELECT SUM(NULLIF(age, ¦'x')) FROM census", "this is text, and a number is needed here"),
        ("SELECT SUM(FLOOR(age ¦TO DAY)) FROM census", "expected )"),
        (
            "SELECT SUM(age) FILTER (WHERE ¦COUNT(*) > 5) FROM census",
            "an aggregate cannot stand in another one, in WHERE or in",
        ),
        ("SELECT SUM(age) FILTER (WHERE ¦age) FROM census", "this is not true or false"),
        ("SELECT ¦\"größe\", GRÖSSE FROM census", "must be in GROUP BY"),
        ("SELECT ¦floor, COUNT(*) FROM census", "column \"floor\" not found"),
        ("SELECT AVG(¦COALESCE(age)) FROM census", "COALESCE(…) is not answered here, with 1 argument"),
        ("SELECT AVG(COALESCE(age, ¦'x')) FROM census", "this is text, and a number is needed here"),
        ("SELECT AVG(¦NULLIF(age)) FROM census", "NULLIF(…) is not answered here, with 1 argument"),
        ("SELECT AVG(CASE WHEN ¦name THEN 1 END) FROM census", "this is not true or false"),
        ("SELECT AVG(CASE name WHEN ¦5 THEN 1 END) FROM census", "holds text"),
        ("SELECT AVG(¦POWER(age, 6)) FROM census", "POWER(…) is not answered here, with 2 arguments"),
        ("SELECT AVG(¦EXP(age)) FROM census", "EXP(…) is not answered here, with 1 argument"),
        ("SELECT AVG(¦LN(age)) FROM census", "LN(…) is not answered here, with 1 argument"),
        ("SELECT AVG(¦LENGTH(name)) FROM census", "LENGTH(…) is not answered here, with 1 argument"),
        ("SELECT AVG(¦FLOOR(age, 2)) FROM census", "FLOOR and CEIL are of one number"),
        ("SELECT ¦load_extension('x') FROM census", "LOAD_EXTENSION(…) is not answered here"),
        (
            "SELECT COUNT(*) FILTER (WHERE ¦random() < 0.5) FROM census",
            "RANDOM(…) is not answered here, with 0 arguments",
        ),
        ("SELECT SUM(age) FILTER (WHERE ¦nothing) FROM census", "column \"nothing\" not found"),
        ("SELECT COUNT(*) + ¦age FROM census", "must be in GROUP BY"),
        ("SELECT COUNT(*) ¦|| 'x' FROM census", "text cannot be put together"),
        ("SELECT ¦LOWER(COUNT(*)) FROM census", "LOWER(…) is not answered here"),
        (
            "SELECT ¦AVG(age) WITHIN GROUP (ORDER BY age) FROM census",
            "DISTINCT is only for COUNT, and WITHIN GROUP for",
        ),
        (
            "SELECT ¦PERCENTILE_CONT(0.5, 0.6) WITHIN GROUP (ORDER BY age) FROM census",
            "DISTINCT is only for COUNT, and WITHIN GROUP for",
        ),
        ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY ¦name) FROM census", "holds text"),
        ("SELECT QUANTILE(age, ¦'0.5') FROM census", "a quantile is of a literal from 0 to 1, such as 0.5"),
        ("SELECT REGR_SLOPE(age, ¦name) FROM census", "holds text"),
        ("SELECT ¦REGR_R2(age, wage) FROM census", "REGR_R2(…) is not answered here"),
        ("SELECT ¦GROUP_CONCAT(name) FROM census", "GROUP_CONCAT(…) is not answered here"),
        ("SELECT ¦ANY_VALUE(name) FROM census", "ANY_VALUE(…) is not answered here"),
        ("SELECT COUNT(*) FROM ¦sqlite_schema", "dataset \"sqlite_schema\" not found here"),
        ("SELECT COUNT(*) FROM ¦unnest(ARRAY[1])", "lists of rows and sub-queries about rows are not answered"),
        ("SELECT COUNT(*) FROM ¦'census'", "names are written in double quotes, text in single ones"),
    ]);
    let many: Vec<_> = (1..=17).map(|n| format!("{}SUM(age + {n}) AS a{n}", if n == 17 { "¦" } else { "" })).collect();
    check_all(&[(&format!("SELECT {} FROM census", many.join(", ")), "at most 16 aggregates")]);
}

#[test]
fn expressions_cannot_fail_on_a_row() {
    check_all(&[
        ("SELECT ¦* FROM census", "rows are never shown"),
        ("SELECT census.¦* FROM census", "rows are never shown"),
        ("SELECT ¦\"COUNT\"(*) FROM census", "this function is not answered in this form"),
        ("SELECT ¦pg_catalog.count(*) FROM census", "this function is not answered in this form"),
        ("SELECT COUNT(DISTINCT ¦*) FROM census", "rows are never shown"),
        ("SELECT ¦SUM(*) FROM census", "only COUNT is of *"),
        ("SELECT AVG(age / ¦height) FROM census", "has no declared bounds"),
        ("SELECT AVG(age / ¦0) FROM census", "only a literal other than 0 divides, since a division by 0"),
        ("SELECT AVG(age / ¦(1 - 1)) FROM census", "only a literal other than 0 divides, since a division by 0"),
        ("SELECT SUM(age / ¦wage) FROM census", "only a literal other than 0 divides, since a division by 0"),
        ("SELECT SUM(age % ¦0) FROM census", "a remainder is of whole numbers by a whole literal other"),
        ("SELECT SUM(age % ¦wage) FROM census", "a remainder is of whole numbers by a whole literal other"),
        ("SELECT SUM(wage % ¦2) FROM census", "a remainder is of whole numbers by a whole literal other"),
        (
            "SELECT SUM(¦wage * wage * wage * wage * wage * wage) FROM census",
            "this may get too large for its number of digits",
        ),
        ("SELECT SUM(age * ¦9223372036854775807) FROM census", "it has more than 18 digits before the point"),
        ("SELECT SUM(age + ¦9223372036854775807) FROM census", "it has more than 18 digits before the point"),
        (
            "SELECT SUM(¦EXTRACT(EPOCH FROM born)) FROM census",
            "the parts of a date are YEAR, QUARTER, MONTH, WEEK, DAY,",
        ),
        ("SELECT SUM(¦born) FROM census", "this is a date, and a number is needed here"),
        ("SELECT SUM(¦born + born) FROM census", "dates are calculated with so"),
        ("SELECT SUM(¦born * 2) FROM census", "dates are calculated with so"),
        ("SELECT SUM(¦seen - born) FROM census", "dates are calculated with so"),
        ("SELECT SUM(¦seen - seen) FROM census", "this is a time span, and a number is needed here"),
        ("SELECT SUM(¦age - born) FROM census", "dates are calculated with so"),
        ("SELECT MIN(¦born) FROM census", "this is a date, and a number is needed here"),
        ("SELECT SUM(¦LEAST(age, born)) FROM census", "these are of different types"),
        ("SELECT AVG(age + ¦name) FROM census", "holds text"),
        ("SELECT AVG(age * ¦1e30) FROM census", "it has more than 18 digits before the point"),
        ("SELECT AVG(age * ¦0.0000000000000000001) FROM census", "it has more than 18 decimal places"),
        ("SELECT AVG(age ¦-> 'x') FROM census", "this sign is not of the language"),
        ("SELECT QUANTILE(age, ¦-0.5) FROM census", "a quantile is of a literal from 0 to 1, such as 0.5"),
    ]);
}

#[test]
fn sub_queries_are_single_numbers_and_windows_are_totals() {
    check_all(&[
        (
            "SELECT COUNT(*) FROM census ¦WINDOW w AS (ORDER BY age)",
            "of window functions only SUM(…) OVER () is answered",
        ),
        ("SELECT COUNT(*) FROM ¦LATERAL (SELECT 1)", "a dataset is joined to a public table by JOIN or LEFT JOIN"),
        ("SELECT ¦COUNT(*) OVER () FROM census", "of window functions only SUM(…) OVER () of a count or a sum"),
        ("SELECT COUNT(*) FROM census ORDER BY (SELECT 1)¦", "say what it is about"),
        (
            "SELECT COUNT(*) FROM census WHERE ¦age IN (SELECT age FROM census)",
            "a list is of literals, as in region IN ('north', 'south')",
        ),
        (
            "SELECT COUNT(*) FROM census WHERE ¦EXISTS (SELECT 1)",
            "lists of rows and sub-queries about rows are not answered",
        ),
        ("SELECT COUNT(*) FROM census WHERE age = ¦ANY (SELECT 1)", "ANY and SOME are not answered"),
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
        (
            "SELECT ¦RANK() OVER (ORDER BY COUNT(*)) FROM census",
            "of window functions only SUM(…) OVER () of a count or a sum",
        ),
        (
            "SELECT SUM(COUNT(*)) OVER (¦PARTITION BY region) FROM census GROUP BY region",
            "of window functions only SUM(…) OVER () is answered",
        ),
        (
            "SELECT ¦SUM(COUNT(*)) OVER (ORDER BY region) FROM census GROUP BY region",
            "of window functions only SUM(…) OVER () of a count or a sum",
        ),
        (
            "SELECT ¦AVG(COUNT(*)) OVER () FROM census GROUP BY region",
            "of window functions only SUM(…) OVER () of a count or a sum",
        ),
        (
            "SELECT region, ¦COUNT(*) OVER () FROM census GROUP BY region",
            "of window functions only SUM(…) OVER () of a count or a sum",
        ),
        ("SELECT SUM(¦age) OVER () FROM census", "must be in GROUP BY"),
        (
            "SELECT COUNT(*) FROM census WHERE ¦name IN (SELECT name FROM census)",
            "a list is of literals, as in region IN ('north', 'south')",
        ),
        ("SELECT (SELECT 1) FROM census¦", "say what it is about"),
        ("SELECT ¦(SELECT COUNT(*) FROM census) FROM census", "nothing is counted or summed"),
        (
            "SELECT SUM(COUNT(*)) OVER (), SUM(¦AVG(age)) OVER () FROM census GROUP BY region",
            "of window functions only SUM(…) OVER () of a count or a sum",
        ),
        (
            "SELECT SUM(¦AVG(age)) OVER () FROM census GROUP BY region",
            "of window functions only SUM(…) OVER () of a count or a sum",
        ),
        (
            "SELECT SUM(¦COUNT(*) * 2) OVER () FROM census GROUP BY region",
            "of window functions only SUM(…) OVER () of a count or a sum",
        ),
        (
            "SELECT ¦SUM(COUNT(*)) OVER w FROM census GROUP BY region",
            "of window functions only SUM(…) OVER () of a count or a sum",
        ),
        (
            "SELECT ¦MAX(COUNT(*)) OVER () FROM census GROUP BY region",
            "of window functions only SUM(…) OVER () of a count or a sum",
        ),
        ("SELECT ¦ROW_NUMBER() OVER () FROM census", "of window functions only SUM(…) OVER () of a count or a sum"),
        ("SELECT ¦LAG(COUNT(*)) OVER () FROM census", "of window functions only SUM(…) OVER () of a count or a sum"),
        ("SELECT COUNT(*) FROM census WHERE age > (SELECT COUNT(*) FROM ¦people)", "dataset \"people\" not found here"),
        (
            "SELECT COUNT(*) FROM census c WHERE age > (SELECT AVG(age) FROM census WHERE age < ¦c.age)",
            "table \"c\" not found",
        ),
        ("SELECT COUNT(*) FROM census WHERE age > (SELECT 5)¦", "say what it is about"),
        ("SELECT COUNT(*) FROM census WHERE ¦age > ALL (SELECT age FROM census)", "this expression is not answered"),
        (
            "SELECT COUNT(*) FROM census GROUP BY ¦(SELECT AVG(age) FROM census)",
            "this has more than 10000 values by its bounds",
        ),
        ("SELECT COUNT(*) FROM census LIMIT ¦(SELECT 1)", "LIMIT is followed by a whole number from 1 on"),
    ]);
}

#[test]
fn conditions_are_true_or_false_on_every_row() {
    check_conditions(&[
        ("employed ¦FOR UPDATE", "a question only reads, all rows and without locks"),
        ("employed ¦QUALIFY 1 = 1", "rows of an answer are chosen by HAVING"),
        ("employed ¦settings", "expected the end of the question"),
        ("¦SELECT", "is a word of the language"),
        ("age = ¦year", "has no declared bounds"),
        ("¦nothing = 1", "column \"nothing\" not found"),
        ("age = ¦NULL", "nothing equals NULL, not even NULL"),
        ("age IN (1, ¦NULL)", "nothing equals NULL, not even NULL"),
        ("age IS¦", "expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM after"),
        ("name ¦|| 'a' = 'b'", "text cannot be put together"),
        ("date(¦name) = 1", "holds text"),
        ("¦COUNT(*) > 5", "an aggregate cannot stand in another one, in WHERE or in"),
        ("age = CAST(¦'1' AS int)", "this is text, and a number is needed here"),
        ("age = ¦'1'::int", "this is text, and a number is needed here"),
        ("¦date > TIMESTAMP '2020-01-01'", "holds text"),
        ("¦date > date '2020-01-01'", "holds text"),
        ("age > ¦INTERVAL '1' DAY", "spans of time are not answered"),
        ("name = ¦E'a\n'", "text is written in single quotes with nothing before them"),
        ("name = ¦N'a'", "numbers are written in decimal digits, and text in single"),
        ("name = ¦X'61'", "numbers are written in decimal digits, and text in single"),
        ("name = U¦&'a'", "this operator is not answered"),
        ("name = ¦$$a$$", "numbers are written in decimal digits, and text in single"),
        ("name = ¦$1", "there are no parameters"),
        ("name = ¦?", "there are no parameters"),
        ("name = ¦:a", "there are no parameters"),
        ("name = ¦@a", "there are no parameters"),
        ("age = ¦0x10", "numbers are written in decimal digits, and text in single"),
        ("age = ¦5L", "numbers have no suffix"),
        ("age = 5¦_000", "expected the end of the question"),
        ("name = ¦\"north\"", "column \"north\" not found"),
        ("name = ¦[north]", "this sign is not of the language"),
        ("name = 'a' ¦'b'", "text cannot follow here"),
        ("age ¦== 1", "this is written ="),
        ("age ¦<=> 1", "this sign is not of the language"),
        ("name ¦SIMILAR TO 'a'", "regular expressions are not answered"),
        ("name ¦REGEXP 'a'", "regular expressions are not answered"),
        ("name ¦~ 'a'", "regular expressions are not answered"),
        ("name ¦!~* 'a'", "regular expressions are not answered"),
        ("name LIKE 'a' ¦ESCAPE 'b'", "LIKE has no escapes here"),
        ("name LIKE ¦'a\\'", "the pattern has a backslash or a NUL, which engines read"),
        ("name LIKE ¦name", "a pattern is text in single quotes"),
        ("name LIKE ¦5", "a pattern is text in single quotes"),
        ("age LIKE ¦'5'", "holds no text"),
        ("¦'a' LIKE 'a'", "LIKE is for a column of text"),
        ("name LIKE ¦'%%%%%'", "the pattern has more than 4 %"),
        ("name LIKE ¦'a\0'", "the pattern has a backslash or a NUL, which engines read"),
        ("name = ¦'a\0'", "text has a NUL character, which no engine holds"),
        ("name = 'a' ¦COLLATE \"C\"", "text is compared by its bytes"),
        ("¦(age, year) = (1, 2)", "this expression is not answered"),
        ("age IN ¦5", "expected ("),
        ("age IN (¦)", "expected an expression"),
        ("age BETWEEN ¦year AND 5", "has no declared bounds"),
        ("AND ¦employed", "expected the end of the question"),
        ("¦where = 1", "is a word of the language"),
        ("(age = 1¦", "expected ) before the end"),
        ("age = 1¦)", "expected the end of the question"),
        ("age > --1¦", "expected an expression before the end"),
        ("¦AVG(age) > 5", "an aggregate cannot stand in another one, in WHERE or in"),
        ("¦random() < 0.5", "RANDOM(…) is not answered here, with 0 arguments"),
        ("¦pg_sleep(10) IS NULL", "PG_SLEEP(…) is not answered here, with 1 argument"),
        ("born < ¦CURRENT_DATE", "an answer does not depend on when it is asked for"),
        ("born < ¦now()", "an answer does not depend on when it is asked for"),
        ("born > ¦5", "holds dates"),
        ("¦born > age", "these are of different types"),
        ("born > ¦'2020-02-30'", "is not a value of a column that holds date; write it as"),
        ("born > ¦DATE '2020-13-01'", "is not a value of a column that holds date; write it as"),
        ("born > ¦DATE 5", "a date is written in single quotes, such as DATE"),
        ("¦COALESCE(born, 5) > DATE '2000-01-01'", "these are of different types"),
        ("¦CASE WHEN employed THEN born ELSE 5 END > DATE '2000-01-01'", "these are of different types"),
        ("¦born + 5000000 > DATE '2000-01-01'", "this may get too large for its number of digits"),
        ("name ¦|| 'x' = 'y'", "text cannot be put together"),
        ("born BETWEEN '2000-01-01' AND ¦5", "holds dates"),
        ("¦INTERVAL '1' DAY > 5", "spans of time are not answered"),
        ("POSITION('a' IN ¦name) > 0", "expected ("),
        ("SUBSTRING(name FROM 1 ¦FOR 2) = 'ab'", "a question only reads, all rows and without locks"),
        ("¦TRIM(name) = 'ab'", "TRIM(…) is not answered here, with 1 argument"),
        ("age IN (age, ¦year)", "has no declared bounds"),
        ("¦name = age", "holds text"),
        ("age ¦AT TIME ZONE 'UTC' > 5", "expected the end of the question"),
        ("age > ¦CURRENT_TIMESTAMP", "an answer does not depend on when it is asked for"),
        ("¦now() > '2020-01-01'", "an answer does not depend on when it is asked for"),
        ("seen < ¦localtime", "an answer does not depend on when it is asked for"),
        ("age ¦^ 2 > 5", "this operator is not answered"),
        ("age ¦& 2 > 5", "this operator is not answered"),
        ("age ¦| 2 > 5", "this operator is not answered"),
        ("¦~age > 5", "regular expressions are not answered"),
        ("age ¦<< 2 > 5", "this sign is not of the language"),
        ("age ¦DIV 2 > 5", "this operator is not answered"),
        ("employed ¦XOR b", "this operator is not answered"),
        ("age ¦ISNULL", "this is written IS NULL or IS NOT NULL"),
        ("name ¦MATCH 'a'", "regular expressions are not answered"),
        ("name ¦GLOB 'a*'", "regular expressions are not answered"),
        ("¦try_cast(name AS INTEGER) > 5", "a conversion is written CAST(… AS …), and is of numbers and"),
        ("¦convert(name, CHAR) = 'a'", "a conversion is written CAST(… AS …), and is of numbers and"),
        ("¦ARRAY[1] = age", "only single columns and single literals are compared"),
        ("age = 1 BETWEEN SYMMETRIC¦", "expected an expression before the end"),
        ("born = ¦20200101", "holds dates"),
        ("born IN ('2020-01-01', ¦'x')", "is not a value of a column that holds date; write it as"),
        ("seen = ¦'2024-01-01 25:00'", "is not a value of a column that holds timestamp; write it"),
        ("seen > ¦5", "holds times"),
        ("born LIKE ¦'2020%'", "holds no text"),
        ("born = ¦seen + 1", "dates are calculated with so"),
        ("¦DATE(age) = '2020-01-01'", "this is a number, and a date or a time is needed here"),
        ("¦CAST(age AS DATE) = '2020-01-01'", "this is a number, and a date or a time is needed here"),
        ("EXTRACT(YEAR FROM ¦age) = 5", "this is a number, and a date or a time is needed here"),
        ("EXTRACT(YEAR FROM ¦name) = 5", "holds text"),
        ("¦YEAR(born, 5) = 5", "YEAR(…) is not answered here, with 2 arguments"),
        ("born - ¦'x' > 5", "this is text, and a number is needed here"),
        ("wage = ¦1.0000001", "is not a value of a column that holds decimal; write it as"),
        ("region IN (¦)", "expected an expression"),
        ("¦MEDIAN(age) > 5", "an aggregate cannot stand in another one, in WHERE or in"),
        ("¦COUNT(age) > 5", "an aggregate cannot stand in another one, in WHERE or in"),
        ("¦(age, wage) IN ((1, 2))", "this expression is not answered"),
        ("¦age.x = 5", "table \"age\" not found"),
        ("¦c.age = 5", "table \"c\" not found"),
    ]);
}

#[test]
fn literals_are_of_the_type_of_their_column() {
    check_conditions(&[
        ("¦age", "this is not true or false"),
        ("¦age AND employed", "this is not true or false"),
        ("age = ¦- -1", "a sign is written once"),
        ("age = ¦+ -1", "a sign is written once"),
        ("age - ¦- - 1 > 5", "a sign is written once"),
        ("age = ¦17.5", "holds whole numbers"),
        ("age <> ¦-17.5", "holds whole numbers"),
        ("age IN (17, ¦17.5)", "holds whole numbers"),
        ("age > ¦9223372036854775808", "this is outside the whole numbers of 64 bits"),
        ("age > ¦-9223372036854775809", "this is outside the whole numbers of 64 bits"),
        ("age < ¦1e30", "it has more than 18 digits before the point"),
        ("age < ¦1e-30", "it has more than 18 decimal places"),
        ("age = ¦'18'", "holds numbers"),
        ("age = ¦TRUE", "holds numbers"),
        ("income = ¦'18'", "holds numbers"),
        ("income < ¦1e400", "a number must be finite"),
        ("income IN (1, ¦-1e400)", "a number must be finite"),
        ("name = ¦18", "holds text"),
        ("name IN ('a', ¦TRUE)", "holds text"),
        ("employed = ¦1", "is true or false"),
        ("employed = ¦'true'", "is true or false"),
        ("employed < ¦TRUE", "is true or false"),
        ("¦TRUE >= employed", "is true or false"),
        ("employed BETWEEN ¦FALSE AND TRUE", "is true or false"),
        ("income = ¦NaN", "column \"NaN\" not found"),
        ("income = -¦Infinity", "column \"Infinity\" not found"),
        ("wage = ¦'x'", "holds numbers"),
    ]);
}

#[test]
fn look_alikes_are_refused_where_they_begin() {
    check_all(&[
        ("SELECT COUNT(*) FROM census WHERE name = ¦`north`", "the character U+0060 is not of the language"),
        ("SELECT COUNT(*) FROM census ¦/* open", "this cannot be read"),
        ("SELECT COUNT(*) FROM census WHERE name = ¦'open", "this cannot be read"),
        ("SELECT COUNT(*) FROM ¦\"census", "this cannot be read"),
        ("SELECT COUNT(*) FROM census WHERE age ¦＝ 1", "the character U+FF1D is not of the language"),
        ("SELECT COUNT(*)¦\u{a0}FROM census", "the character U+00A0 only looks like a blank"),
        (
            "SELECT COUNT(*) FROM census WHERE name = 'é😀' AND age > ¦\u{2003}5",
            "the character U+2003 only looks like a blank",
        ),
        ("SELECT COUNT(*) FROM census WHERE name = ¦‘a’", "the character U+2018 is not of the language"),
        ("SELECT COUNT(*) FROM census WHERE age ¦\0= 1", "the character U+0000 is not of the language"),
        ("SELECT COUNT(*)\nFROM census\nWHERE name = 'é\n😀'\n  AND ¦nothing", "column \"nothing\" not found"),
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
        "SELECT COUNT(*) FROM (SELECT age FROM census)",
        "SELECT COUNT(*) FROM ((((census))))",
        "SELECT COUNT(*) FROM census GROUP BY ALL",
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
