//! What is refused: where, and with which words. The place is marked with `¦`, which is taken out of the text.

use super::*;

fn check(schema: &Schema, marked: &str, fragment: &str) {
    let at = marked.chars().position(|letter| letter == '¦').expect("the place is marked") + 1;
    let text = marked.replacen('¦', "", 1);
    let error = match Question::parse(&text, DATASET, schema) {
        Ok(question) => panic!("{text} was read as {}", question.canonical(DATASET, schema)),
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

#[test]
fn only_one_plain_select_is_answered() {
    check_all(&[
        ("¦", "write SELECT COUNT(*) FROM \"census\""),
        ("  ¦;", "begins with SELECT"),
        ("¦DELETE FROM census", "begins with SELECT"),
        ("¦EXPLAIN SELECT COUNT(*) FROM census", "begins with SELECT"),
        ("¦(SELECT COUNT(*) FROM census)", "begins with SELECT"),
        ("¦FROM census SELECT COUNT(*)", "begins with SELECT"),
        ("¦WITH a AS (SELECT 1) SELECT COUNT(*) FROM census", "begins with SELECT"),
        ("¦\"SELECT\" COUNT(*) FROM census", "begins with SELECT"),
        ("SELECT COUNT(*) FROM census¦; SELECT COUNT(*) FROM census", "one question"),
        ("SELECT COUNT(*) FROM census¦;;", "one question"),
        ("SELECT COUNT(*) FROM census ¦UNION SELECT COUNT(*) FROM census", "only one SELECT"),
        ("SELECT COUNT(*) FROM census WHERE employed ¦UNION ALL SELECT 1", "only one SELECT"),
        ("SELECT ¦DISTINCT region, COUNT(*) FROM census GROUP BY region", "SELECT DISTINCT"),
        ("SELECT ¦ALL COUNT(*) FROM census", "ANY, SOME and ALL"),
        ("SELECT ¦TOP 5 COUNT(*) FROM census", "only LIMIT"),
        ("SELECT COUNT(*) ¦INTO t FROM census", "only reads"),
        ("SELECT COUNT(*) FROM census WHERE employed ¦FOR UPDATE", "only reads"),
        ("SELECT COUNT(*) FROM census WHERE employed ¦HAVING COUNT(*) > 5", "groups cannot be left out"),
        ("SELECT COUNT(*) FROM census ¦HAVING COUNT(*) > 5", "groups cannot be left out"),
        ("SELECT COUNT(*) FROM census LIMIT 5 ¦OFFSET 5", "only LIMIT"),
        ("SELECT COUNT(*) FROM census LIMIT 5¦, 5", "expected the end"),
        ("SELECT COUNT(*) FROM census ¦FETCH FIRST 5 ROWS ONLY", "only LIMIT"),
        ("SELECT COUNT(*) FROM census ¦WINDOW w AS (ORDER BY age)", "window functions"),
        ("SELECT COUNT(*) FROM census WHERE employed ¦QUALIFY 1 = 1", "groups cannot be left out"),
        ("SELECT COUNT(*) FROM census WHERE employed ¦settings", "expected the end"),
        ("SELECT COUNT(*) FROM census LIMIT ¦0", "a whole number from 1"),
        ("SELECT COUNT(*) FROM census LIMIT ¦1.5", "a whole number from 1"),
        ("SELECT COUNT(*) FROM census LIMIT ¦-1", "a whole number from 1"),
        ("SELECT COUNT(*) FROM census LIMIT ¦18446744073709551616", "a whole number from 1"),
        ("SELECT COUNT(*) FROM census LIMIT ¦ALL", "ANY, SOME and ALL"),
        ("SELECT COUNT(*) FROM census LIMIT¦", "before the end"),
        ("SELECT COUNT(*) FROM census WHERE ¦SELECT", "sub-queries"),
    ]);
}

#[test]
fn only_the_dataset_itself_is_asked() {
    check_all(&[
        ("SELECT COUNT(*)¦", "add FROM \"census\""),
        ("SELECT COUNT(*) FROM¦", "the name of the dataset"),
        ("SELECT COUNT(*) FROM ¦people", "there is no dataset \"people\""),
        ("SELECT COUNT(*) FROM ¦\"Census\"", "there is no dataset"),
        ("SELECT COUNT(*) FROM census ¦c", "aliases"),
        ("SELECT COUNT(*) FROM census ¦AS c", "aliases"),
        ("SELECT COUNT(*) FROM census¦, census", "joins"),
        ("SELECT COUNT(*) FROM census¦.people", "schemas"),
        ("SELECT COUNT(*) FROM census ¦JOIN census ON 1 = 1", "joins are not answered"),
        ("SELECT COUNT(*) FROM census ¦LEFT JOIN census ON 1 = 1", "joins"),
        ("SELECT COUNT(*) FROM census ¦NATURAL JOIN census", "joins are not answered"),
        ("SELECT COUNT(*) FROM census ¦TABLESAMPLE BERNOULLI (5)", "all rows"),
        ("SELECT COUNT(*) FROM census ¦WITH (NOLOCK)", "WITH is not answered"),
        ("SELECT COUNT(*) FROM census ¦USE INDEX (a)", "hints"),
        ("SELECT COUNT(*) FROM census¦(5)", "the dataset's name is followed by"),
        ("SELECT COUNT(*) FROM ¦(SELECT age FROM census)", "the name of the dataset"),
        ("SELECT COUNT(*) FROM ¦((((census))))", "the name of the dataset"),
        ("SELECT COUNT(*) FROM ¦'census'", "the name of the dataset"),
        ("SELECT COUNT(*) FROM LATERAL ¦(SELECT 1)", "the dataset's name is followed by"),
    ]);
}

#[test]
fn only_aggregates_and_groups_are_shown() {
    check_all(&[
        ("SELECT ¦* FROM census", "rows are never shown"),
        ("SELECT COUNT(*), ¦* FROM census", "rows are never shown"),
        ("SELECT ¦census.* FROM census", "without a dot"),
        ("SELECT ¦age FROM census", "must be in GROUP BY"),
        ("SELECT COUNT(*), ¦region FROM census", "must be in GROUP BY"),
        ("SELECT ¦region FROM census GROUP BY region", "nothing is counted"),
        ("SELECT ¦1 FROM census", "only COUNT, SUM, AVG"),
        ("SELECT ¦'a', COUNT(*) FROM census", "only COUNT, SUM, AVG"),
        ("SELECT ¦age = 1 FROM census", "only COUNT, SUM, AVG"),
        ("SELECT ¦(age, age) FROM census", "only COUNT, SUM, AVG"),
        ("SELECT ¦MAX(age) FROM census", "MAX(…) is not answered"),
        ("SELECT ¦lower(name) FROM census", "lower(…) is not answered"),
        ("SELECT ¦\"COUNT\"(*) FROM census", "COUNT(…) is not answered"),
        ("SELECT ¦pg_catalog.count(*) FROM census", "without a dot"),
        ("SELECT COUNT(¦1) FROM census", "write COUNT(*)"),
        ("SELECT COUNT(¦nothing) FROM census", "there is no column \"nothing\"; the columns are person, age"),
        ("SELECT COUNT(¦\"Age\") FROM census", "told apart by case"),
        ("SELECT ¦COUNT(age, name) FROM census", "exactly one column"),
        ("SELECT ¦COUNT() FROM census", "exactly one column"),
        ("SELECT COUNT(DISTINCT ¦age) FROM census", "COUNT(DISTINCT person)"),
        ("SELECT ¦SUM(DISTINCT age) FROM census", "DISTINCT is only for"),
        ("SELECT COUNT(DISTINCT ¦*) FROM census", "ask for COUNT(*)"),
        ("SELECT COUNT(¦ALL age) FROM census", "ANY, SOME and ALL"),
        ("SELECT ¦SUM(*) FROM census", "only COUNT is of *"),
        ("SELECT SUM(¦height) FROM census", "no declared bounds"),
        ("SELECT AVG(¦name) FROM census", "cannot be summed"),
        ("SELECT SUM(¦5) FROM census", "of one column"),
        ("SELECT SUM(age ¦+ 1) FROM census", "no arithmetic"),
        ("SELECT SUM(age ¦* 2) FROM census", "no arithmetic"),
        ("SELECT SUM(¦CASE WHEN employed THEN 1 END) FROM census", "CASE is not answered"),
        ("SELECT SUM(age¦::int) FROM census", "casts are not answered"),
        ("SELECT SUM(¦CAST(age AS int)) FROM census", "casts are not answered"),
        ("SELECT COUNT(*) ¦OVER () FROM census", "window functions"),
        ("SELECT COUNT(*) ¦WITHIN GROUP (ORDER BY age) FROM census", "window functions"),
        ("SELECT COUNT(*) ¦FILTER (WHERE employed) FROM census", "FILTER is not answered"),
        ("SELECT ¦COUNT(age WHERE employed) FROM census", "nothing behind it"),
        ("SELECT ¦COUNT(age ORDER BY age) FROM census", "nothing behind it"),
        ("SELECT COUNT(*) AS n, ¦COUNT(age) AS N FROM census", "two columns of the answer"),
        ("SELECT COUNT(*), ¦count(*) FROM census", "two columns of the answer"),
        ("SELECT COUNT(*) AS ¦\"\" FROM census", "a name has 1 to 100 bytes"),
        ("SELECT COUNT(*) AS ¦\"a\tb\" FROM census", "no control characters"),
        ("SELECT COUNT(*) AS ¦'n' FROM census", "double quotes"),
        ("SELECT COUNT(*) ¦'n' FROM census", "text cannot follow here"),
        ("SELECT ¦FROM census", "nothing is asked for before FROM"),
        ("SELECT COUNT(*), ¦FROM census", "nothing is asked for before FROM"),
    ]);
    check(&schema_of_rows(), "SELECT COUNT(DISTINCT ¦person) FROM census", "write COUNT(*)");
    let many: Vec<_> = (1..=17).map(|n| format!("{}SUM(age) AS a{n}", if n == 17 { "¦" } else { "" })).collect();
    check_all(&[(&format!("SELECT {} FROM census", many.join(", ")), "at most 16 aggregates")]);
}

#[test]
fn only_columns_with_categories_are_grouped_by() {
    check_all(&[
        ("SELECT COUNT(*) FROM census GROUP BY ¦age", "no declared categories"),
        ("SELECT COUNT(*) FROM census GROUP BY region, ¦REGION", "already"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦1", "only columns"),
        ("SELECT region AS r, COUNT(*) FROM census GROUP BY ¦r", "there is no column \"r\""),
        ("SELECT COUNT(*) FROM census GROUP BY zone, ¦year", "10100 groups"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦ROLLUP(region)", "one question for each grouping"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦GROUPING SETS (region)", "one question for each grouping"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦ALL", "ANY, SOME and ALL"),
        ("SELECT COUNT(*) FROM census GROUP BY ¦(region, employed)", "only columns"),
        ("SELECT COUNT(*) FROM census GROUP BY region ¦WITH ROLLUP", "WITH is not answered"),
        ("SELECT COUNT(*) FROM census GROUP BY¦", "before the end"),
    ]);
}

#[test]
fn only_what_is_shown_is_sorted_by() {
    check_all(&[
        ("SELECT COUNT(*) FROM census ORDER BY ¦2", "from 1 to 1"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦0", "from 1 to 1"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦-1", "from 1 to 1"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦age", "must be in GROUP BY"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦nothing", "there is no column"),
        ("SELECT COUNT(*) FROM census GROUP BY region ORDER BY ¦region", "behind SELECT"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦SUM(age)", "behind SELECT"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦'COUNT(*)'", "behind SELECT"),
        ("SELECT COUNT(*) FROM census ORDER BY (¦SELECT 1)", "sub-queries"),
        ("SELECT COUNT(*) FROM census ORDER BY 1 ¦NULLS FIRST", "nothing in an answer is null"),
        ("SELECT COUNT(*) FROM census ORDER BY 1 DESC ¦NULLS LAST", "nothing in an answer is null"),
        ("SELECT COUNT(*) FROM census ORDER BY 1 ¦USING <", "joins"),
        ("SELECT COUNT(*) FROM census ORDER BY ¦ALL", "ANY, SOME and ALL"),
    ]);
}

#[test]
fn conditions_compare_a_column_with_a_literal() {
    let table = [
        ("¦1 = 1", "not with another literal"),
        ("¦TRUE", "conditions on columns"),
        ("¦age", "is not true or false"),
        ("age = ¦year", "not with another column"),
        ("¦nothing = 1", "there is no column"),
        ("¦census.age = 1", "without a dot"),
        ("age = ¦NULL", "IS NULL"),
        ("age IN (1, ¦NULL)", "IS NULL"),
        ("age NOT ¦NULL", "IS NULL"),
        ("employed IS ¦TRUE", "IS is for NULL alone"),
        ("employed IS NOT ¦FALSE", "IS is for NULL alone"),
        ("employed IS ¦UNKNOWN", "IS is for NULL alone"),
        ("age IS ¦DISTINCT FROM 5", "IS is for NULL alone"),
        ("age IS¦", "IS is for NULL alone"),
        ("¦5 IS NULL", "this condition is about a column"),
        ("age ¦+ 1 = 2", "no arithmetic"),
        ("age ¦- 1 = 2", "no arithmetic"),
        ("age ¦-1 = 2", "no arithmetic"),
        ("age ¦* 2 = 2", "no arithmetic"),
        ("age ¦/ 2 = 2", "no arithmetic"),
        ("age ¦% 2 = 0", "no arithmetic"),
        ("name ¦|| 'a' = 'b'", "no arithmetic"),
        ("age = ¦- -1", "a sign is written once"),
        ("age = ¦-(1)", "a sign is written once"),
        ("age = ¦-age", "a sign is written once"),
        ("¦abs(age) = 1", "abs(…) is not answered"),
        ("¦date(name) = 1", "no literals of time"),
        ("¦COUNT(*) > 5", "only a column and a literal"),
        ("age = (¦SELECT MAX(age) FROM census)", "sub-queries"),
        ("age IN (¦SELECT age FROM census)", "sub-queries"),
        ("¦EXISTS (SELECT 1)", "sub-queries"),
        ("age = ¦ANY (SELECT 1)", "ANY, SOME and ALL"),
        ("age = ¦CASE WHEN employed THEN 1 END", "CASE is not answered"),
        ("age = ¦CAST('1' AS int)", "casts are not answered"),
        ("age = '1'¦::int", "casts are not answered"),
        ("date > ¦TIMESTAMP '2020-01-01'", "no literals of time"),
        ("date > ¦date '2020-01-01'", "leave the type or the prefix out"),
        ("age > ¦INTERVAL '1' DAY", "no literals of time"),
        ("name = ¦E'a\\n'", "leave the type or the prefix out"),
        ("name = ¦N'a'", "with nothing before them"),
        ("name = ¦X'61'", "with nothing before them"),
        ("name = U¦&'a'", "no arithmetic"),
        ("name = ¦$$a$$", "with nothing before them"),
        ("name = ¦$1", "no parameters"),
        ("name = ¦?", "no parameters"),
        ("name = ¦:a", "no parameters"),
        ("name = ¦@a", "no parameters"),
        ("age = ¦0x10", "decimal digits"),
        ("age = ¦5L", "no suffix"),
        ("age = 5¦_000", "expected the end"),
        ("name = ¦\"north\"", "text is written in single quotes"),
        ("name = ¦`north`", "U+0060"),
        ("name = ¦[north]", "not of the language"),
        ("name = 'a' ¦'b'", "text cannot follow here"),
        ("age ¦== 1", "written ="),
        ("age ¦<=> 1", "not of the language"),
        ("name ¦ILIKE 'a'", "write LIKE"),
        ("name ¦SIMILAR TO 'a'", "regular expressions"),
        ("name ¦REGEXP 'a'", "regular expressions"),
        ("name ¦~ 'a'", "regular expressions"),
        ("name ¦!~* 'a'", "regular expressions"),
        ("name LIKE 'a' ¦ESCAPE 'b'", "no escapes"),
        ("name LIKE ¦'a\\'", "backslash"),
        ("name LIKE ¦name", "a literal is needed"),
        ("name LIKE ¦5", "a pattern is text"),
        ("age LIKE ¦'5'", "LIKE is for text"),
        ("¦'a' LIKE 'a'", "about a column"),
        ("name LIKE ¦'%%%%%'", "more than 4 %"),
        ("name LIKE ¦'a\0'", "NUL"),
        ("name = ¦'a\0'", "NUL"),
        ("name = 'a' ¦COLLATE \"C\"", "leave COLLATE out"),
        ("¦(age, year) = (1, 2)", "only a column and a literal"),
        ("age IN ¦5", "expected ("),
        ("age IN (¦)", "expected"),
        ("age IN (1, ¦age)", "a literal is needed"),
        ("¦1 IN (age)", "about a column"),
        ("age BETWEEN ¦year AND 5", "a literal is needed"),
        ("¦age = 1 = 1", "only a column and a literal"),
        ("age = ¦NOT employed", "a literal is needed"),
        ("AND ¦employed", "expected the end"),
        ("¦where = 1", "a word of the language"),
        ("¦age AND employed", "is not true or false"),
        ("(age = 1¦", "before the end"),
        ("age = 1¦)", "expected the end"),
    ];
    for (marked, fragment) in table {
        check_all(&[(&format!("SELECT COUNT(*) FROM census WHERE {marked}"), fragment)]);
    }
}

#[test]
fn literals_are_of_the_type_of_their_column() {
    for (marked, fragment) in [
        ("age = ¦17.5", "none equals this one"),
        ("age <> ¦-17.5", "none equals this one"),
        ("age IN (17, ¦17.5)", "none equals this one"),
        ("age > ¦9223372036854775808", "64 bits"),
        ("age > ¦-9223372036854775809", "64 bits"),
        ("age < ¦1e30", "more than 18 digits before the point"),
        ("age < ¦1e-30", "more than 18 decimal places"),
        ("age = ¦'18'", "without quotes"),
        ("age = ¦TRUE", "compare it with a number"),
        ("income = ¦'18'", "without quotes"),
        ("income < ¦1e400", "finite"),
        ("income IN (1, ¦-1e400)", "finite"),
        ("name = ¦18", "text in single quotes"),
        ("name IN ('a', ¦TRUE)", "text in single quotes"),
        ("employed = ¦1", "TRUE or FALSE"),
        ("employed = ¦'true'", "TRUE or FALSE"),
        ("employed < ¦TRUE", "= or <>"),
        ("¦TRUE >= employed", "= or <>"),
        ("employed BETWEEN ¦FALSE AND TRUE", "= or <>"),
        ("income = ¦NaN", "there is no column"),
        ("income = ¦-Infinity", "a sign is written once"),
    ] {
        check_all(&[(&format!("SELECT COUNT(*) FROM census WHERE {marked}"), fragment)]);
    }
}

#[test]
fn comments_and_look_alikes_are_refused_where_they_begin() {
    check_all(&[
        ("¦-- all\nSELECT COUNT(*) FROM census", "comments"),
        ("SELECT COUNT(*) FROM census ¦-- all", "comments"),
        ("SELECT COUNT(*) FROM census WHERE age > ¦--1", "comments"),
        ("SELECT ¦/*+ hint */ COUNT(*) FROM census", "comments"),
        ("SELECT COUNT(*)\n\nFROM census\nWHERE ¦/* a */ employed", "comments"),
        ("SELECT COUNT(*) FROM census ¦/* open", "cannot be read"),
        ("SELECT COUNT(*) FROM census WHERE name = ¦'open", "cannot be read"),
        ("SELECT COUNT(*) FROM ¦\"census", "cannot be read"),
        ("SELECT COUNT(¦аge) FROM census", "U+0430"),
        ("SELECT COUNT(*) FROM census WHERE age ¦＝ 1", "U+FF1D"),
        ("SELECT COUNT(*)¦\u{a0}FROM census", "only looks like a blank"),
        ("SELECT COUNT(*) FROM census WHERE name = 'é😀' AND age > ¦\u{2003}5", "only looks like a blank"),
        ("SELECT COUNT(*) FROM census WHERE name = ¦‘a’", "U+2018"),
        ("SELECT COUNT(*) FROM census WHERE age ¦\0= 1", "U+0000"),
        ("SELECT COUNT(*)\r\nFROM census\r\nWHERE name = 'é\n😀'\n  AND ¦nothing", "there is no column"),
    ]);
}

#[test]
fn an_unknown_name_lists_a_bounded_number_of_columns() {
    let columns = (1..=256).map(|n| Column::new(&format!("c{n}"), ColumnType::Integer, None, None).unwrap()).collect();
    let schema = Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, columns).unwrap();
    check(&schema, "SELECT COUNT(¦nothing) FROM census", "the columns are c1, c2, c3");
    check(&schema, "SELECT COUNT(¦nothing) FROM census", "c20 and 236 more");
    let long = format!("SELECT COUNT(¦{}) FROM census", "a".repeat(9_000));
    check(&schema, &long, &format!("no column \"{}\"…;", "a".repeat(40)));
}
