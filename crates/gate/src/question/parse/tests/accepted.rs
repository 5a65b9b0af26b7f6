//! Questions that are understood, and what they come to.

use dashu::rational::RBig;

use super::*;
use crate::question::aggregate::{Aggregate, Argument, Function, PairFunction};
use crate::question::group::GroupKey;
use crate::question::predicate::Predicate;
use crate::question::scalar::{Kind, NumericExpr};
use crate::question::term::Term;

fn understood(text: &str) -> Question {
    read(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What a question is written as, once its layout is gone.
fn check(text: &str, canonical: &str) {
    assert_eq!(understood(text).canonical, canonical, "{text}");
}

fn filter(condition: &str) -> Option<Predicate> {
    let mut question = understood(&format!("SELECT COUNT(*) FROM census WHERE {condition}"));
    question.queries.remove(0).filter
}

/// Two ways to write the same condition.
fn check_where(condition: &str, same_as: &str) {
    assert_eq!(filter(condition), filter(same_as), "{condition}");
}

fn aggregates(list: &str) -> Vec<Aggregate> {
    understood(&format!("SELECT {list} FROM census")).queries.remove(0).aggregates
}

/// Two ways to write the same aggregate.
fn check_aggregate(aggregate: &str, same_as: &str) {
    assert_eq!(aggregates(aggregate), aggregates(same_as), "{aggregate}");
}

/// The expression that is summed.
fn summed(expression: &str) -> NumericExpr {
    match aggregates(&format!("SUM({expression})")).remove(0).function {
        Function::Sum(scalar) => scalar,
        other => panic!("{other:?}"),
    }
}

#[test]
fn aggregates_and_groups_are_read() {
    for (text, canonical) in [
        ("SELECT COUNT(*) FROM census", "SELECT COUNT(*) FROM census"),
        ("select count ( * )\n\tfrom CENSUS ;", "SELECT COUNT(*) FROM census"),
        (r#"SELECT COUNT(AGE) FROM "census""#, "SELECT COUNT(age) FROM census"),
        ("SELECT COUNT(DISTINCT person) people FROM census", "SELECT COUNT(DISTINCT person) AS people FROM census"),
        ("SELECT SUM(income) AS total, AVG((age)) FROM census", "SELECT SUM(income) AS total, AVG((age)) FROM census"),
        (r#"SELECT SUM("_Odd ""one""") FROM census"#, r#"SELECT SUM("_Odd ""one""") FROM census"#),
        (
            "SELECT Region, COUNT(*) AS n FROM census GROUP BY region, employed",
            "SELECT region, COUNT(*) AS n FROM census GROUP BY region, employed",
        ),
        (
            "SELECT COUNT(*) AS \"größe von ⊤\" FROM census GROUP BY zone LIMIT 7",
            "SELECT COUNT(*) AS \"größe von ⊤\" FROM census GROUP BY zone LIMIT 7",
        ),
        ("SELECT ALL COUNT(ALL age) FROM census", "SELECT ALL COUNT(ALL age) FROM census"),
    ] {
        check(text, canonical);
    }
}

#[test]
fn layout_comments_and_names_of_the_table_are_left_out() {
    for text in [
        "-- all\nSELECT COUNT(*), SUM(\"größe\") AS g FROM census WHERE age > 5",
        "SELECT count(*), sum(größe) AS g FROM census WHERE age > 5 -- all",
        "SELECT /*+ hint */ COUNT(*), SUM(größe) AS g\n\nFROM census\nWHERE /* a */ age > 5;",
        "SELECT COUNT(*), SUM(c.größe) AS g FROM census c WHERE c.age > 5",
        "SELECT COUNT(*), SUM(c.\"größe\") AS g FROM census AS c WHERE C.AGE > 5",
        "SELECT COUNT(*), SUM(census.größe) AS g FROM CENSUS WHERE \"census\".\"age\" > 5",
    ] {
        check(text, "SELECT COUNT(*), SUM(\"größe\") AS g FROM census WHERE age > 5");
    }
}

#[test]
fn an_answer_is_sorted_by_what_it_shows() {
    let head = "SELECT region, COUNT(*) AS n, SUM(age) FROM census GROUP BY region";
    for (tail, order, [offset, limit]) in [
        ("ORDER BY n", vec![(1, false)], [None, None]),
        ("ORDER BY N DESC", vec![(1, true)], [None, None]),
        ("ORDER BY \"n\" ASC, region", vec![(1, false), (0, false)], [None, None]),
        ("ORDER BY count(*) DESC NULLS LAST", vec![(1, true)], [None, None]),
        ("ORDER BY SUM(\"age\")", vec![(2, false)], [None, None]),
        ("ORDER BY \"SUM(age)\"", vec![(2, false)], [None, None]),
        ("ORDER BY 3, 1 DESC LIMIT 5", vec![(2, false), (0, true)], [None, Some(5)]),
        ("LIMIT 18446744073709551615", vec![], [None, Some(u64::MAX)]),
        ("LIMIT ALL", vec![], [None, None]),
        ("LIMIT 5 OFFSET 6", vec![], [Some(6), Some(5)]),
        ("OFFSET 6 ROWS FETCH NEXT 5 ROWS ONLY", vec![], [Some(6), Some(5)]),
        ("FETCH FIRST ROW ONLY", vec![], [None, Some(1)]),
        ("OFFSET 3", vec![], [Some(3), None]),
    ] {
        let question = understood(&format!("{head} {tail}"));
        let keys: Vec<_> = question.order.iter().map(|key| (key.output, key.descending)).collect();
        assert_eq!((keys, question.offset, question.limit), (order, offset.unwrap_or(0), limit), "{tail}");
    }
    // An alias comes before a column of the same name, as in PostgreSQL.
    for (text, output) in [
        ("SELECT region AS r, COUNT(*) AS region FROM census GROUP BY region ORDER BY region", 1),
        ("SELECT region AS r, COUNT(*) FROM census GROUP BY region ORDER BY region", 0),
    ] {
        assert_eq!(understood(text).order[0].output, output, "{text}");
    }
}

#[test]
fn conditions_are_read_with_the_precedence_of_sql() {
    for (condition, same_as) in [
        ("age != 18", "age <> 18"),
        ("18 <= age", "age >= 18"),
        ("18 > age", "age < 18"),
        ("18 <> age", "age <> 18"),
        ("((age) < (+5))", "age < 5"),
        ("age > - 5", "age > -5"),
        ("employed", "employed = TRUE"),
        ("NOT NOT NOT employed", "NOT employed"),
        ("age=1 OR age=2 AND employed", "age = 1 OR (age = 2 AND employed = TRUE)"),
        ("NOT age = 1 AND employed", "(NOT (age = 1)) AND employed"),
        ("age=1 AND (age=2 AND age=3) AND age=4", "age = 1 AND age = 2 AND age = 3 AND age = 4"),
        ("age IN (1, -2, 3.0)", "age IN (1, -2, 3)"),
        ("age BETWEEN 18 AND 65 AND employed", "age >= 18 AND age <= 65 AND employed"),
        ("age NOT BETWEEN 18 AND 65", "age < 18 OR age > 65"),
        ("NOT age BETWEEN 18 AND 65", "NOT (age >= 18 AND age <= 65)"),
        ("name BETWEEN 'a' AND 'b'", "name >= 'a' AND name <= 'b'"),
        ("age NOT NULL", "age IS NOT NULL"),
        ("(employed) = TRUE", "employed"),
        ("(age = 1) = TRUE", "age = 1"),
        ("(age = 1) <> TRUE", "NOT age = 1"),
        ("FALSE = (age = 1)", "NOT age = 1"),
        // Words of SQL that are columns here.
        ("date = '2020' AND year > 1 AND filter = 2", "\"date\" = '2020' AND \"year\" > 1 AND \"filter\" = 2"),
        (r#""like" = 5"#, r#"5 = "like""#),
    ] {
        check_where(condition, same_as);
    }
    for (one, other) in [
        ("(age=1 OR age=2) AND employed", "age=1 OR age=2 AND employed"),
        ("NOT age = 1 AND employed", "NOT (age = 1 AND employed)"),
        ("name NOT IN ('a', 'it''s')", "name IN ('a', 'it''s')"),
        ("name NOT LIKE '%--/*é'", "name LIKE '%--/*é'"),
        ("name LIKE 'a%_'", "name ILIKE 'a%_'"),
        ("age IS NULL OR name IS NOT NULL", "age IS NULL OR name IS NULL"),
    ] {
        assert_ne!(filter(one), filter(other), "{one}");
    }
}

#[test]
fn fractions_are_folded_exactly_for_whole_numbers() {
    for (condition, same_as) in [
        ("age > 17.5", "age >= 18"),
        ("age >= 17.5", "age >= 18"),
        ("age < 17.5", "age <= 17"),
        ("age <= 17.5", "age <= 17"),
        ("17.5 < age", "age >= 18"),
        ("age > -17.5", "age >= -17"),
        ("age < -17.5", "age <= -18"),
        ("age > 18.0", "age > 18"),
        ("age = 1.8e1", "age = 18"),
        ("age > 0.000000000000000001", "age >= 1"),
        ("age < 999999999999999999.5", "age <= 999999999999999999"),
        ("age BETWEEN 17.5 AND 20.5", "age >= 18 AND age <= 20"),
        ("age NOT BETWEEN 17.5 AND 20.5", "age <= 17 OR age >= 21"),
        ("age = 00000000000000000000000000000000000000000000000000000000000000000018", "age = 18"),
        // Real columns take the nearest binary number.
        ("income = .5 OR income = 5.", "income = 0.5 OR income = 5"),
        ("income = 0.1000000000000000055511151231257827", "income = 0.1"),
        ("income <> -0.0", "income <> 0"),
        ("wage = 1.50", "wage = 1.5"),
    ] {
        check_where(condition, same_as);
    }
    assert_ne!(filter("age = 9223372036854775807"), filter("age = 9223372036854775806"));
    assert_ne!(filter("income < 1e300"), filter("income < 1e299"));
}

#[test]
fn conditions_of_every_form_are_read() {
    for (condition, same_as) in [
        ("age IS DISTINCT FROM 5", "NOT (age IS NOT DISTINCT FROM 5)"),
        ("age IS NOT DISTINCT FROM NULL", "age IS NULL"),
        ("NULL IS DISTINCT FROM age", "NOT age IS NULL"),
        ("age IS DISTINCT FROM größe", "NOT age IS NOT DISTINCT FROM größe"),
        ("age BETWEEN SYMMETRIC 65 AND 18", "age BETWEEN 65 AND 18 OR age BETWEEN 18 AND 65"),
        ("age NOT BETWEEN SYMMETRIC 65 AND 18", "age NOT BETWEEN 65 AND 18 AND age NOT BETWEEN 18 AND 65"),
        ("age between symmetric (65) and 18", "age BETWEEN SYMMETRIC 65 AND 18"),
        (
            "wage BETWEEN SYMMETRIC age + 1 AND 2 * age",
            "wage BETWEEN age + 1 AND 2 * age OR wage BETWEEN 2 * age AND age + 1",
        ),
        (
            "wage BETWEEN SYMMETRIC CAST(age AS INTEGER) AND 2",
            "wage BETWEEN age::int AND 2 OR wage BETWEEN 2 AND age::int",
        ),
        ("wage BETWEEN SYMMETRIC age::int AND 2", "wage BETWEEN age::int AND 2 OR wage BETWEEN 2 AND age::int"),
        ("name ILIKE 'AnN%'", "LOWER(name) LIKE 'ann%'"),
        ("lower(name) = 'ann'", "LOWER(name) = 'ann'"),
        ("upper(name) IN ('ANN', 'BO')", "UPPER(name) IN ('ANN', 'BO')"),
        ("employed IS TRUE", "(employed) IS TRUE"),
        ("(age > 5) IS UNKNOWN", "(age > 5) IS NULL"),
        ("(age > 5) IS NOT UNKNOWN", "(age > 5) IS NOT NULL"),
        ("TRUE", "5 IS NOT NULL"),
        ("age IN (größe, 5)", "age = größe OR age = 5"),
        ("age NOT IN (größe, 5)", "NOT (age = größe OR age = 5)"),
        ("5 IN (age)", "5 = age"),
        ("census.age = 1", "age = 1"),
        ("born >= '2000-01-01'", "'2000-01-01' <= born"),
        ("seen >= '2024-02-29'", "seen >= '2024-02-29 00:00:00'"),
        ("CAST(seen AS DATE) = '2024-02-29'", "DATE(seen) = DATE '2024-02-29'"),
        ("seen::date = CAST('2024-02-29' AS DATE)", "DATE(seen) = DATE '2024-02-29'"),
        ("born + 30 > DATE '2000-01-01'", "born + 30 > '2000-01-01'"),
        ("EXTRACT(YEAR FROM born) = 2000", "date_part('year', born) = 2000"),
        ("EXTRACT(MONTH FROM born) = 2", "MONTH(born) = 2"),
        ("DATE_TRUNC('month', born) = '2000-02-01'", "date_trunc('MONTH', born) = DATE '2000-02-01'"),
        ("age + 1 = 2", "(age + 1) = 2"),
        ("age = 1 - -1", "age = 1 - (-1)"),
        ("MOD(age, 2) = 0", "age % 2 = 0"),
        ("ceiling(wage) > 5", "CEIL(wage) > 5"),
        ("truncate(wage, 1) > 5", "TRUNC(wage, 1) > 5"),
        ("ifnull(age, 0) > 5", "COALESCE(age, 0) > 5"),
        ("IF(employed, 1, 0) = 1", "CASE WHEN employed THEN 1 ELSE 0 END = 1"),
        ("CASE age WHEN 1 THEN TRUE ELSE FALSE END = 1", "CASE WHEN age = 1 THEN TRUE ELSE FALSE END = 1"),
    ] {
        check_where(condition, same_as);
    }
    for condition in ["name = region", "lower(name) <> upper(region)", "employed = b", "(age > 5) = (wage > 5)"] {
        assert!(filter(condition).is_some(), "{condition}");
    }
}

/// The range of an expression follows from the declared ones by interval arithmetic, on a grid that no value falls off.
#[test]
fn the_bounds_of_expressions_are_derived() {
    for (expression, low, high, grid) in [
        ("age", "0", "120", "1"),
        ("wage", "0", "5000", "1/100"),
        ("age + größe", "0", "370", "1"),
        ("age - größe", "-250", "120", "1"),
        ("age - 1.5", "-3/2", "237/2", "1/2"),
        ("age * größe", "0", "30000", "1"),
        ("age * -2", "-240", "0", "2"),
        ("age * 0.5", "0", "60", "1/2"),
        ("-\"_Odd \"\"one\"\"\" * age", "-600", "600", "1"),
        ("age / 7", "0", "17", "1"),
        ("age / -7", "-17", "0", "1"),
        ("age / 7.0", "0", "120/7", "1/7"),
        ("wage / 3", "0", "5000/3", "1/300"),
        ("age % 7", "0", "6", "1"),
        ("\"_Odd \"\"one\"\"\" % 3", "-2", "2", "1"),
        ("ABS(\"_Odd \"\"one\"\"\")", "0", "5", "1"),
        ("ABS(age - 200)", "80", "200", "1"),
        ("FLOOR(wage / 100) * 100", "0", "5000", "100"),
        ("CEIL(wage / 7)", "0", "715", "1"),
        ("ROUND(wage / 7)", "0", "714", "1"),
        ("ROUND(wage, 1)", "0", "5000", "1/10"),
        ("ROUND(wage, -2)", "0", "5000", "100"),
        ("TRUNC(-wage / 7)", "-714", "0", "1"),
        ("LEAST(age, 18)", "0", "18", "1"),
        ("GREATEST(wage, 18)", "18", "5000", "1/100"),
        ("COALESCE(age, -1)", "-1", "120", "1"),
        ("NULLIF(age, 0)", "0", "120", "1"),
        ("CASE WHEN employed THEN wage END", "0", "5000", "1/100"),
        ("CASE WHEN employed THEN 1 ELSE 0 END", "0", "1", "1"),
        ("CASE region WHEN 'north' THEN -3 WHEN 'south' THEN 2.5 END", "-3", "5/2", "1/2"),
        ("age > 18", "0", "1", "1"),
        ("employed", "0", "1", "1"),
        ("NOT employed AND age > 5", "0", "1", "1"),
        ("IF(employed, 2, 7)", "2", "7", "1"),
        ("CAST(wage AS INTEGER)", "0", "5000", "1"),
        ("CAST(age AS NUMERIC) / 8", "0", "15", "1/8"),
        ("WIDTH_BUCKET(age, 0, 100, 5)", "0", "6", "1"),
        ("EXTRACT(YEAR FROM born)", "1950", "2020", "1"),
        ("EXTRACT(DOW FROM born)", "0", "6", "1"),
        ("EXTRACT(HOUR FROM seen)", "0", "23", "1"),
        ("DATE '2020-12-31' - born", "0", "25932", "1"),
        ("EXTRACT(EPOCH FROM seen - TIMESTAMP '2024-01-01')", "0", "31622340", "1"),
        ("DATEDIFF('day', DATE '1950-01-01', born)", "0", "25932", "1"),
        ("DATEDIFF('month', DATE '1950-01-01', born)", "0", "851", "1"),
        ("DATEDIFF(minute, TIMESTAMP '2024-01-01', seen)", "0", "527039", "1"),
        ("EXTRACT(YEAR FROM born + INTERVAL '1 year')", "1951", "2021", "1"),
        ("EXTRACT(DAY FROM DATE '2024-01-31' + INTERVAL '1 month')", "29", "29", "1"),
        ("age / NULLIF(age, 0)", "0", "120", "1"),
        ("age / NULLIF(\"_Odd \"\"one\"\"\", 0)", "-120", "120", "1"),
        ("wage / (age + 1)", "0", "5000", "1/100000"),
        ("-wage / (age - 200)", "0", "125/2", "1/10000000"),
        ("LENGTH(region)", "4", "5", "1"),
    ] {
        let NumericExpr { grid: own, low: least, high: greatest, .. } = summed(expression);
        let ends = [least, greatest].map(|end| (own.clone() * RBig::from(end)).to_string());
        assert_eq!([&ends[0], &ends[1], &own.to_string()], [low, high, grid], "{expression}");
    }
}

/// A sum is of at most 2³⁰ steps, as of declared bounds: finer grids are made coarser.
#[test]
fn what_is_summed_has_no_more_steps_than_declared_bounds() {
    for expression in ["wage * wage", "wage * 1.23456789", "income / 3 * 0.0001", "wage * age * 7.77"] {
        let scalar = summed(expression);
        let steps = scalar.low.abs().max(scalar.high.abs());
        assert!(steps <= 1 << 30, "{expression}: {steps}");
    }
}

#[test]
fn aggregates_of_every_form_are_read() {
    for (aggregate, same_as) in [
        ("COUNT(1)", "COUNT(*)"),
        ("COUNT('x')", "COUNT(*)"),
        ("COUNT(ALL age)", "COUNT(age)"),
        ("MEAN(age)", "AVG(age)"),
        ("VAR_SAMP(age)", "VARIANCE(age)"),
        ("STDDEV_SAMP(age)", "STDDEV(age)"),
        ("MEDIAN(age)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)"),
        ("QUANTILE(age, 0.25)", "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY age)"),
        ("PERCENTILE(age, 0.25)", "PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY age DESC)"),
        ("QUANTILE_CONT(age, 0.9)", "APPROX_QUANTILE(age, 0.9)"),
        ("MIN(age)", "QUANTILE(age, 0)"),
        ("MODE(region)", "MODE() WITHIN GROUP (ORDER BY region)"),
        ("MAX(age)", "QUANTILE(age, 1)"),
        ("COUNT_IF(age > 5)", "SUM(age > 5)"),
        ("SUM(CASE WHEN age > 5 THEN wage END)", "SUM(CASE WHEN 5 < age THEN (wage) END)"),
        ("AVG(age > 5 AND employed)", "AVG((age > 5) AND employed)"),
        ("COUNT(DISTINCT CASE WHEN employed THEN person END)", "COUNT(DISTINCT person) FILTER (WHERE employed)"),
        (
            "COUNT(DISTINCT CASE region WHEN 'north' THEN age END)",
            "COUNT(DISTINCT age) FILTER (WHERE region = 'north')",
        ),
    ] {
        check_aggregate(aggregate, same_as);
    }
    let columns = columns();
    let place = |name: &str| columns.iter().position(|column| column.name == name).unwrap();
    let column = |name: &str| NumericExpr::column(place(name), &columns[place(name)]).unwrap();
    for (aggregate, function) in [
        ("COUNT(*)", Function::Rows),
        ("COUNT(name)", Function::NonNull(Argument::Column(place("name")))),
        ("COUNT(DISTINCT person)", Function::Units),
        ("COUNT(DISTINCT name)", Function::Distinct(Argument::Column(place("name")))),
        ("SUM(age)", Function::Sum(column("age"))),
        ("AVG(wage)", Function::Average(column("wage"))),
        ("VAR_POP(age)", Function::Spread { of: column("age"), sample: false, root: false }),
        ("VARIANCE(age)", Function::Spread { of: column("age"), sample: true, root: false }),
        ("STDDEV_POP(age)", Function::Spread { of: column("age"), sample: false, root: true }),
        ("STDDEV(age)", Function::Spread { of: column("age"), sample: true, root: true }),
        ("QUANTILE(age, 0.1)", Function::Quantile { of: column("age"), fraction: "0.1".parse().unwrap() }),
    ] {
        assert_eq!(aggregates(aggregate)[0].function, function, "{aggregate}");
    }
    for (name, function) in [
        ("COVAR_POP", PairFunction::PopulationCovariance),
        ("COVAR_SAMP", PairFunction::SampleCovariance),
        ("CORR", PairFunction::Correlation),
        ("REGR_SLOPE", PairFunction::Slope),
        ("REGR_INTERCEPT", PairFunction::Intercept),
        ("REGR_R2", PairFunction::Correlation),
    ] {
        let pair = Function::Pair { function, y: column("wage"), x: column("age") };
        assert_eq!(aggregates(&format!("{name}(wage, age)"))[0].function, pair, "{name}");
    }
}

#[test]
fn an_aggregate_that_stands_twice_is_asked_for_once() {
    let asked = |list: &str| aggregates(list).len();
    assert_eq!(asked("COUNT(*), COUNT(*) * 2 AS twice, SUM(age) / COUNT(*) AS mean"), 2);
    assert_eq!(asked("AVG(age) AS a, AVG(age + 0) AS b, AVG(age) FILTER (WHERE employed) AS c"), 3);
    let question = understood("SELECT region FROM census GROUP BY region HAVING COUNT(*) > 5 AND COUNT(*) < 9");
    assert_eq!(question.queries[0].aggregates.len(), 1);
}

/// The first and the last value of a key, and how many there are.
fn check_key(key: &str, count: usize, ends: [Value; 2]) {
    for text in [
        format!("SELECT {key} AS k, COUNT(*) FROM census GROUP BY {key}"),
        format!("SELECT {key} AS k, COUNT(*) FROM census GROUP BY k"),
        format!("SELECT {key} AS k, COUNT(*) FROM census GROUP BY 1"),
        format!("SELECT ({key}) AS k, COUNT(*) FROM census GROUP BY ({key})"),
    ] {
        let question = understood(&text);
        let query = &question.queries[0];
        assert_eq!(query.outputs[0].term, Term::Group(0), "{text}");
        let values = query.groups[0].values().unwrap_or_else(|| panic!("{text} is open"));
        assert_eq!((values.len(), [values[0], values[values.len() - 1]]), (count, [&ends[0], &ends[1]]), "{text}");
    }
}

#[test]
fn keys_have_the_values_that_follow_from_the_declaration() {
    let integers = |low, high| [Value::Integer(low), Value::Integer(high)];
    let texts = |low: &str, high: &str| [low, high].map(|text| Value::Text(text.to_string()));
    let truths = || [false, true].map(Value::Boolean);
    let dates = |low: &str, high: &str| [low, high].map(|text| Value::parse(text, ColumnType::Date).unwrap());
    let times = |low: &str, high: &str| [low, high].map(|text| Value::parse(text, ColumnType::Timestamp).unwrap());
    check_key("region", 3, texts("north", "it's"));
    check_key("b", 2, truths());
    check_key("zone", 100, integers(1, 100));
    check_key("age", 121, integers(0, 120));
    check_key("FLOOR(age / 10) * 10", 13, integers(0, 120));
    check_key("age / 10", 13, integers(0, 12));
    check_key("age % 3", 3, integers(0, 2));
    check_key("ROUND(wage, -3)", 6, integers(0, 5000));
    check_key("FLOOR(wage / 250) * 250", 21, integers(0, 5000));
    check_key("FLOOR(wage / 2500) / 2", 3, [Value::Integer(0), Value::Integer(1)]);
    check_key("WIDTH_BUCKET(wage, 0, 5000, 10)", 12, integers(0, 11));
    check_key("age > 18", 2, truths());
    check_key("employed AND age IS NULL", 2, truths());
    check_key("name IS NULL", 2, truths());
    check_key("CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END", 3, texts("child", "old"));
    check_key("CASE WHEN age < 18 THEN 'young' WHEN age > 65 THEN 'young' END", 1, texts("young", "young"));
    check_key("CASE WHEN age < 18 THEN 1 ELSE 2 END", 2, integers(1, 2));
    check_key("CASE region WHEN 'north' THEN 'n' ELSE region END", 4, texts("n", "it's"));
    check_key("COALESCE(region, 'nowhere')", 4, texts("north", "nowhere"));
    check_key("UPPER(region)", 3, texts("NORTH", "IT'S"));
    check_key("EXTRACT(YEAR FROM born)", 71, integers(1950, 2020));
    check_key("EXTRACT(MONTH FROM seen)", 12, integers(1, 12));
    check_key("EXTRACT(DOW FROM seen)", 7, integers(0, 6));
    check_key("EXTRACT(HOUR FROM seen)", 24, integers(0, 23));
    check_key("DATE_TRUNC('year', born)", 71, dates("1950-01-01", "2020-01-01"));
    check_key("DATE_TRUNC('quarter', born)", 284, dates("1950-01-01", "2020-10-01"));
    check_key("DATE_TRUNC('month', seen)", 12, times("2024-01-01 00:00:00", "2024-12-01 00:00:00"));
    check_key("DATE(seen)", 366, dates("2024-01-01", "2024-12-31"));
    check_key("CAST(seen AS DATE)", 366, dates("2024-01-01", "2024-12-31"));
    check_key("TO_CHAR(born, 'YYYY')", 71, texts("1950", "2020"));
    check_key("TO_CHAR(seen, 'YYYY-MM')", 12, texts("2024-01", "2024-12"));
    check_key("TO_CHAR(seen, 'FMDD Month')", 366, texts("1 January", "31 December"));
    check_key("TO_CHAR(seen, 'HH24 \"h\"')", 24, texts("00 h", "23 h"));
    check_key("strftime('%m', born)", 12, texts("01", "12"));
    check_key("DATE_FORMAT(seen, 'EEE')", 7, texts("Sun", "Sat"));
    check_key("LEFT(region, 1) || '.'", 3, texts("n.", "i."));
    check_key("CONCAT(region, '/', CASE WHEN employed THEN 'yes' ELSE 'no' END)", 6, texts("north/yes", "it's/no"));
    check_key("SUBSTR(region, 3, 2)", 3, texts("rt", "'s"));
    check_key("RIGHT(region, 2)", 2, texts("th", "'s"));
    check_key("LENGTH(region)", 2, integers(4, 5));
    check_key("NULLIF(region, 'north')", 2, texts("south", "it's"));
    check_key("DATE_TRUNC('month', born + INTERVAL '1 month')", 852, dates("1950-02-01", "2021-01-01"));
}

#[test]
fn a_column_of_which_nothing_is_declared_is_an_open_key() {
    for column in ["name", "seen", "filter", "date"] {
        let question = understood(&format!("SELECT {column}, COUNT(*) FROM census GROUP BY {column}"));
        assert!(
            matches!(question.queries[0].groups[0].key, GroupKey::Open { .. }) && question.queries[0].is_open(),
            "{column}"
        );
    }
}

/// A condition once narrowed the columns of a key while it was read. A sub-query there had a smaller sensitivity than its SQL, and a key
/// that gets too large outside of WHERE was accepted.
#[test]
fn conditions_narrow_the_values_of_a_key_and_not_its_expressions() {
    let scalar = |question: &Question| match &question.queries[0].groups[0].key {
        GroupKey::Steps { scalar, .. } => scalar.clone(),
        other => panic!("{other:?} is no expression"),
    };
    for key in [
        "CASE WHEN (SELECT SUM(age) FROM census) > 5000 THEN 1 ELSE 0 END",
        "CASE WHEN (SELECT MEDIAN(age) FROM census) > age THEN 1 ELSE 0 END",
        "FLOOR(age / 10) * 10",
        "age * 2 + 1",
        "TO_CHAR(born, 'YYYY-MM')",
        "EXTRACT(YEAR FROM born)",
        "born",
    ] {
        let ask = |filter: &str| understood(&format!("SELECT COUNT(*) FROM census {filter} GROUP BY {key}"));
        let few = ask("WHERE age <= 1 AND born >= '2020-12-01'");
        let all = if key == "born" { ask("WHERE born >= '2000-01-01'") } else { ask("") };
        assert_eq!((scalar(&few), &few.scalars), (scalar(&all), &all.scalars), "{key}");
        assert!(few.queries[0].group_count() <= all.queries[0].group_count(), "{key}");
    }
    let large = "income * income * income * income";
    let few = (0..9).map(|steps| format!("income = {steps}")).collect::<Vec<_>>().join(" OR ");
    for filter in [String::new(), format!("WHERE {few}")] {
        let error = read(&format!("SELECT COUNT(*) FROM census {filter} GROUP BY {large}")).unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
    }
}

#[test]
fn groups_that_the_condition_rules_out_are_not_answered() {
    for (condition, count) in [
        ("region IN ('north', 'south')", 2),
        ("region = 'north' AND age > 5", 1),
        ("region = 'north' OR age > 5", 3),
        ("NOT region = 'north'", 2),
        ("region <> 'north' AND region <> 'south'", 1),
        ("region IS NOT NULL", 3),
    ] {
        let question = understood(&format!("SELECT region, COUNT(*) FROM census WHERE {condition} GROUP BY region"));
        assert_eq!(question.queries[0].group_count(), Some(count), "{condition}");
    }
    for (key, condition, count) in [
        ("EXTRACT(HOUR FROM seen)", "EXTRACT(HOUR FROM seen) BETWEEN 17 AND 22", 6),
        ("EXTRACT(HOUR FROM seen)", "EXTRACT(HOUR FROM seen) < 5.5 OR NOT EXTRACT(HOUR FROM seen) <> 23", 7),
        ("TO_CHAR(born, 'YYYY')", "TO_CHAR(born, 'YYYY') >= '2010' AND age > 5", 11),
        ("LEFT(region, 1)", "LEFT(region, 1) IN ('n', 's') OR age > 5", 3),
        ("FLOOR(age / 10) * 10", "FLOOR(age / 10) * 10 <> 20", 12),
        // A value beyond the bounds is in the group at the end.
        ("age", "age < 0", 1),
        ("age", "age > 500 OR age >= 119", 2),
        ("age", "age >= 60 AND name = 'x'", 61),
        ("FLOOR(age / 10) * 10", "age >= 45 AND age < 70", 3),
        ("FLOOR(age / 10) * 10", "70 > age * 1", 7),
        ("CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END", "age >= 18", 2),
        ("TO_CHAR(born, 'YYYY-MM')", "born >= '2020-11-01'", 2),
        ("strftime('%Y', born)", "born BETWEEN '2012-05-01' AND '2014-02-01'", 3),
        ("DATE_TRUNC('month', born)", "born < DATE '1950-01-01' + INTERVAL '2 months'", 2),
        ("EXTRACT(YEAR FROM born)", "born IN ('1960-01-01', '1962-05-05')", 3),
        ("EXTRACT(YEAR FROM born)", "born < '1960-01-01' OR name = 'x'", 71),
        ("EXTRACT(YEAR FROM born)", "NOT born < '2019-01-01'", 71),
        // A factor and a change of type change what a step is worth.
        ("age", "age * 2 > 100", 121),
        ("age", "age / 2.0 < 10", 121),
        ("EXTRACT(YEAR FROM born)", "born >= TIMESTAMP '1990-01-01 00:00:00'", 71),
        // Many values by the bounds, few in the rows.
        ("born", "born >= '2020-12-25'", 7),
        ("age * age", "age < 5", 17),
        ("EXTRACT(YEAR FROM born) * 100 + EXTRACT(MONTH FROM born)", "born BETWEEN '2012-11-05' AND '2013-02-01'", 8),
        ("-age", "age < 5", 5),
        ("ABS(age - 60)", "age < 5", 61),
        ("COALESCE(age, 100)", "age < 5", 6),
    ] {
        let question = understood(&format!("SELECT {key}, COUNT(*) FROM census WHERE {condition} GROUP BY {key}"));
        assert_eq!(question.queries[0].group_count(), Some(count), "{key}, {condition}");
    }
}

/// Groups of a column of which nothing is declared, or too much, are those that WHERE names.
#[test]
fn groups_that_the_condition_names_are_all_there_are() {
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::Text(text.to_string())).collect::<Vec<_>>();
    let numbers = |numbers: &[i64]| numbers.iter().map(|number| Value::Integer(*number)).collect::<Vec<_>>();
    let days = |days: &[&str]| days.iter().map(|day| Value::parse(day, ColumnType::Date).unwrap()).collect::<Vec<_>>();
    let cents = |cents: &[&str]| cents.iter().map(|cents| Value::Decimal(cents.parse().unwrap())).collect::<Vec<_>>();
    for (column, condition, values) in [
        ("name", "name IN ('b', 'a', 'b')", texts(&["a", "b"])),
        ("name", "name = 'a'", texts(&["a"])),
        ("name", "'a' = name AND age > 5", texts(&["a"])),
        ("name", "name = 'a' OR (name = 'B' AND age > 5) OR name IN ('c')", texts(&["B", "a", "c"])),
        ("name", "name IN ('a', 'b', 'c') AND name <> 'b' AND NOT name = 'c'", texts(&["a"])),
        ("name", "name IN ('a', 'b') AND name IN ('b', 'c')", texts(&["b"])),
        ("name", "name IN ('a', 'b') AND name LIKE 'a%'", texts(&["a", "b"])),
        ("name", "(name = 'a') IS TRUE", texts(&["a"])),
        ("name", "name IS NOT DISTINCT FROM 'a'", texts(&["a"])),
        ("filter", "filter BETWEEN 3 AND 5", numbers(&[3, 4, 5])),
        ("filter", "filter > 3 AND filter <= 5 AND filter < 9", numbers(&[4, 5])),
        ("filter", "filter > 3.5 AND filter < 5.5", numbers(&[4, 5])),
        ("filter", "filter BETWEEN SYMMETRIC 5 AND 4 OR filter = -1", numbers(&[-1, 4, 5])),
        // Beyond the bounds there are values too: only sums are clamped.
        ("age", "age IN (7, 121)", numbers(&[7, 121])),
        ("age", "age BETWEEN 119 AND 121", numbers(&[119, 120, 121])),
        ("born", "born > '2024-02-28' AND born < '2024-03-02'", days(&["2024-02-29", "2024-03-01"])),
        ("wage", "wage IN (1.50, 2)", cents(&["1.5", "2"])),
    ] {
        let question =
            understood(&format!("SELECT {column}, COUNT(*) FROM census WHERE {condition} GROUP BY {column}"));
        let group = &question.queries[0].groups[0];
        assert_eq!(group.values(), Some(values.iter().collect()), "{condition}");
        assert!(group.is_named(&question.schema), "{condition}");
    }
    for (column, condition) in [
        ("name", "name IN ('a') OR name IS NULL"),
        ("name", "name IN ('a') OR age > 5"),
        ("name", "name NOT IN ('a')"),
        ("name", "LOWER(name) IN ('a')"),
        ("name", "name BETWEEN 'a' AND 'b'"),
        ("name", "(name = 'a') IS NOT FALSE"),
        ("name", "date IN ('a')"),
        ("filter", "filter > 3"),
        ("filter", "filter BETWEEN 1 AND 10001"),
        ("filter", "filter BETWEEN -9223372036854775808 AND 9223372036854775807"),
        ("filter", "filter BETWEEN 1 AND 9000 OR filter BETWEEN 10001 AND 19000"),
        ("seen", "seen BETWEEN '2024-01-01' AND '2024-01-02'"),
    ] {
        let question =
            understood(&format!("SELECT {column}, COUNT(*) FROM census WHERE {condition} GROUP BY {column}"));
        assert!(question.queries[0].is_open(), "{condition}");
    }
}

#[test]
fn answers_are_computed_with() {
    for text in [
        "SELECT SUM(wage) / NULLIF(COUNT(*), 0) FROM census",
        "SELECT ROUND(AVG(age), 1), FLOOR(AVG(wage)), CEIL(SUM(age)), ABS(SUM(age)), SQRT(VARIANCE(age)) FROM census",
        "SELECT COALESCE(AVG(age), 0), LEAST(COUNT(*), 5), GREATEST(COUNT(age), 5, 6) FROM census",
        "SELECT CASE WHEN COUNT(*) > 5 THEN AVG(age) ELSE NULL END AS a FROM census",
        "SELECT CAST(AVG(age) AS INTEGER), AVG(age)::numeric FROM census",
        "SELECT -COUNT(*) AS n, +COUNT(*) AS p, 100.0 * COUNT(age) / COUNT(*) AS share FROM census",
        "SELECT region, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share FROM census GROUP BY region",
        "SELECT FLOOR(age / 10) * 10 AS bin, COUNT(*) FROM census GROUP BY FLOOR(age / 10)",
        "SELECT region, COUNT(*) FROM census GROUP BY region HAVING COUNT(*) BETWEEN 5 AND 10 OR AVG(age) IS NULL",
        "SELECT region, COUNT(*) AS n FROM census GROUP BY region HAVING n > 5 AND NOT AVG(age) < 30",
        "SELECT year AS y, COUNT(*) FROM census GROUP BY year HAVING y > 5 ORDER BY y",
        "SELECT 'all' AS what, COUNT(*) AS n FROM census",
        "SELECT region, COUNT(*) FROM census GROUP BY region HAVING COUNT(*) BETWEEN SYMMETRIC 10 AND 5",
    ] {
        understood(text);
    }
}

/// At the ends of the calendar a coarser grid has no point beyond them.
#[test]
fn the_first_and_the_last_times_have_a_least_and_a_greatest_one() {
    let [low, high] =
        ["0001-01-01", "9999-12-31 23:00"].map(|end| Bound::parse(end).unwrap().number(ColumnType::Timestamp).unwrap());
    let bounds = Bounds::new(low, high, "3600".parse().unwrap()).unwrap();
    let seen = Column::new("seen", ColumnType::Timestamp, Some(bounds), None).unwrap();
    let schema = Schema::new(PrivacyUnit::Row, Neighbours::AddRemove, vec![seen]).unwrap();
    for question in ["MIN(seen + INTERVAL '1 second')", "MAX(seen + INTERVAL '59 minutes')", "MEDIAN(seen)"] {
        let text = format!("SELECT {question} FROM t");
        assert!(Question::parse(&text, "t", &schema).is_ok(), "{text}");
    }
}

#[test]
fn several_questions_are_asked_at_once() {
    let question = understood(
        "SELECT 'north' AS what, COUNT(*) AS n FROM census WHERE region = 'north'
         UNION ALL SELECT 'all', COUNT(*) FROM census UNION ALL SELECT region, COUNT(*) FROM census GROUP BY region
         ORDER BY n DESC LIMIT 2",
    );
    assert_eq!((question.queries.len(), question.scalars.len()), (3, 0));
    assert_eq!((question.order[0].output, question.order[0].descending, question.limit), (1, true, Some(2)));

    for (text, scalars) in [
        ("SELECT COUNT(*) FROM census WHERE age > (SELECT AVG(age) FROM census)", 1),
        ("SELECT COUNT(*) * 1.0 / (SELECT COUNT(*) FROM census) AS share FROM census WHERE employed", 1),
        ("SELECT (SELECT COUNT(*) FROM census WHERE employed) / (SELECT COUNT(*) FROM census) AS share", 2),
        ("SELECT (SELECT COUNT(*) FROM census) AS a, (SELECT COUNT(*) FROM census c) AS b", 1),
        ("SELECT AVG(age - (SELECT AVG(age) FROM census)) FROM census", 1),
        (
            "SELECT COUNT(*) FROM census WHERE age > (SELECT AVG(age) FROM census WHERE wage > (SELECT MEDIAN(wage) FROM census))",
            2,
        ),
        ("SELECT region, COUNT(*) FROM census GROUP BY region HAVING COUNT(*) > (SELECT COUNT(*) / 5 FROM census)", 1),
    ] {
        assert_eq!(understood(text).scalars.len(), scalars, "{text}");
    }
}

/// The answer of a sub-query is within the bounds of what it is about, on a finer grid.
#[test]
fn the_answer_of_a_sub_query_has_a_range() {
    for (query, low, high) in [
        ("SELECT AVG(age) FROM census", 0, 120),
        ("SELECT MEDIAN(wage) FROM census", 0, 5000),
        ("SELECT MAX(age - 100) FROM census", -100, 20),
    ] {
        let Some(Predicate::Steps { right, .. }) = filter(&format!("age > ({query})")) else { panic!("{query}") };
        assert_eq!(right.range(), [low, high].map(RBig::from), "{query}");
        assert_eq!(right.kind, Kind::Decimal);
    }
}

#[test]
fn questions_that_are_the_same_are_written_the_same() {
    let canonical = |text: &str| understood(text).canonical;
    assert_eq!(
        canonical("select COUNT( * ), avg(AGE) from Census where 18<age and not not employed"),
        canonical("SELECT count(*), AVG(\"age\") FROM census\nWHERE 18 < age AND NOT NOT EMPLOYED;"),
    );
    assert_ne!(
        canonical("SELECT COUNT(*) FROM census WHERE age BETWEEN SYMMETRIC 65 AND 18"),
        canonical("SELECT COUNT(*) FROM census WHERE age BETWEEN 65 AND 18"),
    );
    // One quote and two, and a backslash before one.
    let texts = ["''''", "''''''", r"'\'''", r"'\\'''"];
    let all: std::collections::BTreeSet<_> =
        texts.iter().map(|text| canonical(&format!("SELECT COUNT(*) FROM census WHERE name = {text}"))).collect();
    assert_eq!(all.len(), texts.len());
}
