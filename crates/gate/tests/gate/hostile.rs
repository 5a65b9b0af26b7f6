//! No side door: hostile questions, on all engines, are refused before anything is charged, or answered whatever the data are.
//!
//! Every question is asked of two datasets that differ in one person. Whether there is an error, and which, must be the same.

use crate::common::{Setup, request};
use taximeter_gate::GateOutcome;

/// What must come of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// An error that says where; nothing is charged.
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
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE -age > 3"),
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
    (Answered, "SELECT MAX(age) FROM _T_"),
    (Answered, "SELECT COUNT(*) FILTER (WHERE age > 3) FROM _T_"),
    (Refused, "SELECT COUNT(*) OVER () FROM _T_"),
    (Refused, "SELECT SUM(DISTINCT age) FROM _T_"),
    (Answered, "SELECT COUNT(DISTINCT name) FROM _T_"),
    (Refused, "SELECT CASE WHEN age = 40 THEN 1 ELSE 1/0 END FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE COALESCE(age, 1/0) > 3"),
    // Patterns.
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name ~ '(a+)+$'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name REGEXP '(a+)+$'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name SIMILAR TO '%(a|b)*%'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name LIKE '%a%a%a%a%a%a%a%a%a%b'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name LIKE 'alice\\'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name LIKE 'a!%' ESCAPE '!'"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE name ILIKE 'ALICE'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name LIKE region"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE name LIKE '%a%a%a%b'"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE name LIKE '%a%a%a_%b' AND name NOT LIKE '%.*_[%'"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE name LIKE '_%' AND name NOT LIKE '%''; DROP TABLE%'"),
    // More than one statement, and what hides in comments.
    (Refused, "SELECT COUNT(*) FROM _T_; DELETE FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_; SELECT 1"),
    (Refused, "DELETE FROM _T_"),
    (Refused, "COMMIT; DROP TABLE _T_"),
    (Refused, "PRAGMA query_only = OFF"),
    (Answered, "SELECT COUNT(*) /* WHERE */ FROM _T_"),
    (Answered, "SELECT COUNT(*) FROM _T_ -- WHERE age > 3"),
    (Answered, "SELECT /*+ SeqScan(_T_) */ COUNT(*) FROM _T_"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE age > 3 /*! AND 1/0 */"),
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
    (Answered, "SELECT COUNT(*) FROM (SELECT * FROM _T_)"),
    (Refused, "SELECT * FROM (SELECT * FROM _T_) t"),
    (Refused, "SELECT * FROM (SELECT name, age FROM _T_) t"),
    (Refused, "WITH t AS (SELECT * FROM _T_) SELECT name FROM t"),
    (Refused, "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT 1 FROM t) SELECT COUNT(*) FROM t"),
    (Refused, "WITH t AS (SELECT COUNT(*) AS n FROM t) SELECT n FROM t"),
    (Refused, "SELECT COUNT(*) FROM (SELECT age FROM _T_ LIMIT 1) t"),
    (Refused, "SELECT COUNT(*) FROM (SELECT DISTINCT age FROM _T_) t"),
    (Refused, "SELECT SUM(n) FROM (SELECT region, COUNT(*) AS n FROM _T_ GROUP BY region) t"),
    (Refused, "SELECT COUNT(*) FROM (SELECT name, COUNT(*) AS n FROM _T_ GROUP BY name) t WHERE n > 1"),
    (Refused, "SELECT COUNT(*) FROM (SELECT 1 / (age - 40) AS x FROM _T_) t WHERE x > 1"),
    (Refused, "SELECT SUM(x) FROM (SELECT age / income AS x FROM _T_) t"),
    (
        Refused,
        "WITH a AS (SELECT person AS p, age FROM _T_), b AS (SELECT p, AVG(age) AS m FROM a GROUP BY p) SELECT p, m FROM b",
    ),
    (Refused, "SELECT COUNT(*) FROM _T_ JOIN (SELECT person FROM _T_) t ON _T_.person = t.person"),
    (
        Answered,
        "WITH t AS (SELECT age AS a, region FROM _T_ WHERE smoker) SELECT region, AVG(a) FROM t GROUP BY region",
    ),
    (
        Answered,
        "SELECT r, n FROM (SELECT region AS r, COUNT(*) AS n FROM _T_ GROUP BY region) t WHERE n > 5 ORDER BY n",
    ),
    (Answered, "SELECT MIN(born), MAX(born), MEDIAN(born) FROM _T_"),
    (Refused, "SELECT MAX(born) + 1 FROM _T_"),
    (Refused, "SELECT MIN(region) FROM _T_"),
    (Refused, "SELECT COUNT(*) FILTER (age > 3) FROM _T_"),
    (Refused, "SELECT COUNT(*) FILTER ( FROM _T_"),
    (Answered, "SELECT COUNT(*) filter FROM _T_"),
    (Answered, "SELECT region FROM _T_ GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1"),
    (Refused, "SELECT COUNT(*) FROM _T_ TABLESAMPLE SYSTEM (1)"),
    (Answered, "WITH x AS (SELECT 1) SELECT COUNT(*) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ UNION SELECT age FROM _T_"),
    (Refused, "SELECT COUNT(*) INTO other FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ FOR UPDATE"),
    // Rows themselves.
    (Refused, "SELECT * FROM _T_"),
    (Refused, "SELECT name FROM _T_"),
    (Refused, "SELECT name, COUNT(*) FROM _T_ GROUP BY name"),
    (Answered, "SELECT region, COUNT(*) FROM _T_ GROUP BY region HAVING COUNT(*) > 1"),
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
    // Division.
    (Refused, "SELECT SUM(age / income) FROM _T_"),
    (Refused, "SELECT SUM(age / age) FROM _T_"),
    (Refused, "SELECT SUM(age / 0) FROM _T_"),
    (Refused, "SELECT SUM(age / (1 - 1)) FROM _T_"),
    (Refused, "SELECT SUM(age / 0.0) FROM _T_"),
    (Refused, "SELECT SUM(age % 0) FROM _T_"),
    (Refused, "SELECT SUM(MOD(age, 0)) FROM _T_"),
    (Refused, "SELECT SUM(age % age) FROM _T_"),
    (Answered, "SELECT SUM(age / NULLIF(age, 0)) FROM _T_"),
    (Refused, "SELECT SUM(1 / age) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age / (age - 40) = 1"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE 10 / wage > 3"),
    (Refused, "SELECT AVG(income / age) FROM _T_ GROUP BY region"),
    (Refused, "SELECT FLOOR(age / income), COUNT(*) FROM _T_ GROUP BY 1"),
    // Groups that an engine tells apart and an answer would not.
    (Refused, "SELECT age * 0.000000000000000001 + 1 AS k, COUNT(*) FROM _T_ GROUP BY 1"),
    (Refused, "SELECT MODE() WITHIN GROUP (ORDER BY age * 0.000000000000000001 + 1) FROM _T_"),
    (Answered, "SELECT ROUND(age * 0.000000000000000001 + 1, 6) AS k, COUNT(*) FROM _T_ GROUP BY 1"),
    (Refused, "SELECT SUM(CASE WHEN age = 40 THEN age / 0 END) FROM _T_"),
    (Refused, "SELECT SUM(CASE WHEN age <> 0 THEN 1 / age END) FROM _T_"),
    (Refused, "SELECT COUNT(*) FILTER (WHERE 1 / age > 0) FROM _T_"),
    (Answered, "SELECT SUM(age) / COUNT(*) FROM _T_"),
    (Answered, "SELECT SUM(income) / NULLIF(SUM(age), 0) FROM _T_"),
    (Answered, "SELECT COUNT(*) / 0 FROM _T_"),
    (Answered, "SELECT AVG(age / 7), AVG(wage / 3) FROM _T_"),
    (Answered, "SELECT COUNT(*) / (COUNT(*) - COUNT(*)) FROM _T_"),
    (Answered, "SELECT SQRT(SUM(age) - 1000000) FROM _T_"),
    // Division by columns, at the ends of their bounds.
    (Answered, "SELECT AVG(income / NULLIF(age, 0)), SUM(age / NULLIF(age - 40, 0)) FROM _T_"),
    (Answered, "SELECT SUM(wage / NULLIF(income, 0)), MEDIAN(1.0 / NULLIF(wage, 0)) FROM _T_"),
    (Answered, "SELECT SUM(age / (age + 1)), SUM(1.0 * age / (age - 1000)) FROM _T_"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE income / NULLIF(income - income, 0) > 1"),
    (Answered, "SELECT SUM(age / NULLIF(age, 0) / NULLIF(age, 0)) FROM _T_"),
    (Refused, "SELECT SUM(age / NULLIF(age, 1)) FROM _T_"),
    (Refused, "SELECT SUM(age / NULLIF(0, age)) FROM _T_"),
    (Refused, "SELECT SUM(age / COALESCE(NULLIF(age, 0), 0)) FROM _T_"),
    (Refused, "SELECT SUM(age / (CASE WHEN age > 0 THEN age END)) FROM _T_"),
    (Refused, "SELECT SUM(age / FLOOR(NULLIF(age, 0) / 7.0)) FROM _T_"),
    (Refused, "SELECT SUM(age % NULLIF(age, 0)) FROM _T_"),
    // Spans of time, and dates beyond the calendar.
    (
        Answered,
        "SELECT COUNT(*) FROM _T_ WHERE born + INTERVAL '1 month' > DATE '2000-02-29' - INTERVAL '1 year 2 days'",
    ),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE DATEADD(month, -11, born) > DATE_SUB('2000-01-01', INTERVAL 3 DAY)"),
    (Answered, "SELECT AVG(DATE_ADD(born, age) - born) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born + INTERVAL '99999 years' > '2000-01-01'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born - INTERVAL '9000 years' > '2000-01-01'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born + INTERVAL '9223372036854775807 days' > '2000-01-01'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born + INTERVAL '1e400 days' > '2000-01-01'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born + age * INTERVAL '1 month' > '2000-01-01'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born + INTERVAL name > '2000-01-01'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE DATEADD(month, age, born) > '2000-01-01'"),
    (Refused, "SELECT SUM(INTERVAL '1 day') FROM _T_"),
    // Text that is computed.
    (Answered, "SELECT TO_CHAR(born, 'YYYY'), COUNT(*) FROM _T_ GROUP BY 1"),
    (Answered, "SELECT UPPER(region) || '; DROP TABLE data; --' AS x, COUNT(*) FROM _T_ GROUP BY x"),
    (
        Answered,
        "SELECT COUNT(*) FROM _T_ WHERE region || '''' = 'north''' OR LEFT(region, 1) < 'o' OR LENGTH(name) > 3",
    ),
    (
        Answered,
        "SELECT COUNT(*) FROM _T_ WHERE STARTS_WITH(name, 'al') OR RIGHT(name, 2) <> 'ce' OR SUBSTR(name, 2) = 'lice'",
    ),
    (Answered, "SELECT AVG(LENGTH(region)), COUNT(DISTINCT region || 'x'), COUNT(TO_CHAR(born, 'Mon')) FROM _T_"),
    (Refused, "SELECT TO_CHAR(born, 'YYYY-MM-DD'), TO_CHAR(born, 'DDD'), COUNT(*) FROM _T_ GROUP BY 1, 2"),
    (Refused, "SELECT TO_CHAR(born, name), COUNT(*) FROM _T_ GROUP BY 1"),
    (Refused, "SELECT name || region, COUNT(*) FROM _T_ GROUP BY 1"),
    (Refused, "SELECT REPLACE(region, 'o', name), COUNT(*) FROM _T_ GROUP BY 1"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE STARTS_WITH(name, '%')"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE LEFT(name, 2) = '_%'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE LEFT(name, age) = 'ab'"),
    // Windows and groupings.
    (
        Answered,
        "SELECT region, LN(COUNT(*)), EXP(SUM(age)), POWER(AVG(age), 1000), LOG(COUNT(*) - COUNT(*)) FROM _T_ GROUP BY region",
    ),
    (Answered, "SELECT region, LAG(AVG(age), 10000) OVER (ORDER BY region) FROM _T_ GROUP BY region"),
    (
        Answered,
        "SELECT region, SUM(COUNT(*)) OVER (ORDER BY COUNT(*) ROWS BETWEEN 5 FOLLOWING AND 3 FOLLOWING) FROM _T_ GROUP BY region",
    ),
    (Answered, "SELECT region, smoker, COUNT(*) FROM _T_ GROUP BY CUBE (region, smoker) ORDER BY region, smoker"),
    (Answered, "SELECT COUNT(*) FROM _T_ GROUP BY GROUPING SETS ((), (), (smoker))"),
    (Answered, "SELECT region, MODE(smoker), MODE(FLOOR(income / 10000)) FROM _T_ GROUP BY region"),
    (
        Answered,
        "SELECT [region], COUNT(*) AS `n` FROM `_T_` GROUP BY [region] QUALIFY RANK() OVER (ORDER BY COUNT(*)) = 1",
    ),
    (Refused, "SELECT COUNT(*) FROM _T_ GROUP BY CUBE (region, smoker, age > 1, age > 2)"),
    (Refused, "SELECT COUNT(*) FROM _T_ GROUP BY ROLLUP (person)"),
    (Refused, "SELECT MODE(name) FROM _T_"),
    (Refused, "SELECT MODE(region) || 'x' FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ HAVING MODE(age) > 5"),
    (Refused, "SELECT RANK() OVER (ORDER BY name) FROM _T_"),
    (
        Refused,
        "SELECT region, SUM(COUNT(*)) OVER (ORDER BY region ROWS BETWEEN age PRECEDING AND CURRENT ROW) FROM _T_ GROUP BY region",
    ),
    (Refused, "SELECT TOP (SELECT COUNT(*) FROM _T_) COUNT(*) FROM _T_"),
    // Overflow, and numbers beyond the grid.
    (Refused, "SELECT SUM(wage * wage * wage * wage * wage * wage) FROM _T_"),
    (
        Refused,
        "SELECT SUM(income * income * income * income * income * income * income * income * income * income * income) FROM _T_",
    ),
    (Refused, "SELECT SUM(age + 9223372036854775807) FROM _T_"),
    (Refused, "SELECT SUM(age * 1e30) FROM _T_"),
    (Refused, "SELECT SUM(age * 999999999999999999 + wage * 0.000001) FROM _T_"),
    (Refused, "SELECT SUM(POWER(age, 99)) FROM _T_"),
    (Refused, "SELECT SUM(EXP(age)) FROM _T_"),
    (Refused, "SELECT SUM(age ^ 9) FROM _T_"),
    (Refused, "SELECT SUM(age << 62) FROM _T_"),
    (Refused, "SELECT SUM(ROUND(age, 99)) FROM _T_"),
    (Refused, "SELECT SUM(ROUND(age, age)) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born + 5000000 > DATE '2000-01-01'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born - 5000000 > DATE '2000-01-01'"),
    (Refused, "SELECT SUM(WIDTH_BUCKET(age, 100, 0, 5)) FROM _T_"),
    (Refused, "SELECT SUM(WIDTH_BUCKET(age, 0, 100, 99999999)) FROM _T_"),
    (Refused, "SELECT SUM(WIDTH_BUCKET(age, income, 100, 5)) FROM _T_"),
    (Answered, "SELECT SUM(age * age * age) FROM _T_"),
    (Answered, "SELECT SUM(ABS(income) - 99999) FROM _T_"),
    (Answered, "SELECT SUM(wage * 0.000001) FROM _T_"),
    (Answered, "SELECT SUM(-wage) FROM _T_"),
    (Answered, "SELECT SUM(age * 123456789012345678) FROM _T_"),
    (Answered, "SELECT SUM(FLOOR(income / 7) * 7 - CEIL(wage)) FROM _T_"),
    (Answered, "SELECT SUM(ROUND(wage, -9)) FROM _T_"),
    (Answered, "SELECT SUM(0), AVG(5), STDDEV(7), MEDIAN(3) FROM _T_"),
    (Refused, "SELECT region, COUNT(DISTINCT person) FROM _T_ WHERE region = 'east' GROUP BY region"),
    (Answered, "SELECT SUM(TRUNC(income / 3, 5)) FROM _T_"),
    (Answered, "SELECT SUM(LEAST(age, income, wage, 5)) FROM _T_"),
    (Answered, "SELECT SUM(GREATEST(age, NULL)) FROM _T_"),
    (Answered, "SELECT SUM(COALESCE(age, income, 0)) FROM _T_"),
    (Answered, "SELECT SUM(NULLIF(age, 40)) FROM _T_"),
    (Answered, "SELECT VARIANCE(age), STDDEV(income), CORR(age, income), REGR_SLOPE(wage, age) FROM _T_"),
    (Answered, "SELECT MEDIAN(income), MIN(wage), MAX(age), QUANTILE(age, 0.99) FROM _T_"),
    (Answered, "SELECT MEDIAN(age * age - 100) FROM _T_"),
    // Text that is no number, and no date.
    (Refused, "SELECT SUM(name) FROM _T_"),
    (Refused, "SELECT SUM(name + 1) FROM _T_"),
    (Refused, "SELECT SUM(-name) FROM _T_"),
    (Refused, "SELECT SUM(CAST(name AS NUMERIC)) FROM _T_"),
    (Refused, "SELECT SUM(name::date - born) FROM _T_"),
    (Refused, "SELECT SUM(CAST(age AS TEXT)) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE CAST(name AS DATE) > '2000-01-01'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE DATE(name) > '2000-01-01'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE EXTRACT(YEAR FROM name) = 5"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name > 5"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name = age"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE name || region = 'x'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE CONCAT(name, region) = 'x'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE SUBSTRING(name FROM 1 FOR 2) = 'ab'"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE LEFT(name, 2) = 'ab'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE TRIM(name) = 'ab'"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE POSITION('a' IN name) > 0"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born > 'yesterday'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born > '2024-02-30'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born > 5"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born > age"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born + income > DATE '2000-01-01'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born LIKE '2000%'"),
    (Refused, "SELECT SUM(born) FROM _T_"),
    (Refused, "SELECT SUM(born * 2) FROM _T_"),
    (Refused, "SELECT SUM(born - age) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born < CURRENT_DATE"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE born < now()"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE born + INTERVAL '1 day' > '2000-01-01'"),
    (Refused, "SELECT DATE_TRUNC('century', born), COUNT(*) FROM _T_ GROUP BY 1"),
    (Refused, "SELECT EXTRACT(MILLENNIUM FROM born), COUNT(*) FROM _T_ GROUP BY 1"),
    (Refused, "SELECT SUM(CASE WHEN smoker THEN 'a' ELSE 1 END) FROM _T_"),
    (Refused, "SELECT SUM(CASE WHEN name THEN 1 END) FROM _T_"),
    (Refused, "SELECT SUM(COALESCE(born, 5)) FROM _T_"),
    (Answered, "SELECT EXTRACT(YEAR FROM born), COUNT(*) FROM _T_ GROUP BY 1"),
    (Answered, "SELECT DATE_TRUNC('year', born), AVG(age) FROM _T_ GROUP BY 1"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE born BETWEEN '1900-01-01' AND '2100-01-01'"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE born = '0001-01-01' OR born = '9999-12-31'"),
    (Answered, "SELECT AVG(DATE '2020-01-01' - born) FROM _T_"),
    (Answered, "SELECT SUM(EXTRACT(DOY FROM born)) FROM _T_"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE born + 30 > DATE '2000-01-01'"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE lower(name) = 'alice' OR upper(name) LIKE 'A%'"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE name = region"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE name IS DISTINCT FROM region"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE wage = 999999999999.999999 OR wage < 0"),
    // Functions that fail, wait, or tell something.
    (Refused, "SELECT SUM(random()) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE random() < 0.5"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE randomblob(1000000000) IS NULL"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE pg_read_file('/etc/passwd') = 'x'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE current_setting('x') = 'x'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE version() = 'x'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE current_user = name"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE hex(zeroblob(1000000000)) = 'x'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE generate_series(1, 1000000000) = 1"),
    (Refused, "SELECT SUM(LN(age)) FROM _T_"),
    (Refused, "SELECT SUM(SQRT(age)) FROM _T_"),
    (Refused, "SELECT SUM(LENGTH(name)) FROM _T_"),
    (Refused, "SELECT STRING_AGG(name, ',') FROM _T_"),
    (Refused, "SELECT ARRAY_AGG(age) FROM _T_"),
    (Answered, "SELECT MODE() WITHIN GROUP (ORDER BY age) FROM _T_"),
    (Refused, "SELECT ANY_VALUE(name) FROM _T_"),
    (Refused, "SELECT MIN(name) FROM _T_"),
    (Refused, "SELECT GROUP_CONCAT(name) FROM _T_"),
    (Refused, "SELECT TOTAL(age) FROM _T_"),
    (Refused, "SELECT json_group_array(name) FROM _T_"),
    // Aggregates and sub-queries where they do not belong.
    (Refused, "SELECT SUM(AVG(age)) FROM _T_"),
    (Refused, "SELECT COUNT(COUNT(*)) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE COUNT(*) > 5"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE AVG(age) > 5"),
    (Refused, "SELECT COUNT(*) FROM _T_ GROUP BY AVG(age)"),
    (Refused, "SELECT COUNT(*) FROM _T_ GROUP BY COUNT(*)"),
    (Refused, "SELECT SUM(age) FILTER (WHERE COUNT(*) > 5) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age > (SELECT age FROM _T_)"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age > (SELECT age FROM _T_ LIMIT 1)"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age IN (SELECT age FROM _T_)"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE EXISTS (SELECT 1 FROM _T_)"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age > ALL (SELECT age FROM _T_)"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age > (SELECT AVG(age) FROM _T_ GROUP BY region)"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age > (SELECT AVG(age), 1 FROM _T_)"),
    (
        Refused,
        "SELECT COUNT(*) FROM _T_ WHERE age > (SELECT AVG(age) FROM _T_ x WHERE x.region = _T_.region AND y.age > 1)",
    ),
    (Refused, "SELECT COUNT(*) FROM _T_ o WHERE age > (SELECT AVG(age) FROM _T_ i WHERE i.region = o.region)"),
    (Refused, "SELECT (SELECT name FROM _T_) FROM _T_"),
    (Refused, "SELECT age FROM _T_ HAVING COUNT(*) > 1"),
    (Refused, "SELECT COUNT(*) FROM _T_ HAVING age > 1"),
    (Answered, "SELECT RANK() OVER (ORDER BY COUNT(*)) FROM _T_"),
    (Refused, "SELECT SUM(age) OVER (PARTITION BY name) FROM _T_"),
    (Answered, "SELECT SUM(COUNT(*)) OVER (ORDER BY region) FROM _T_ GROUP BY region"),
    (Answered, "SELECT SUM(AVG(age)) OVER () FROM _T_ GROUP BY region"),
    (Refused, "SELECT LAG(COUNT(*)) OVER () FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ LIMIT (SELECT COUNT(*) FROM _T_)"),
    (Refused, "SELECT COUNT(*) FROM _T_ OFFSET age"),
    (Refused, "SELECT COUNT(*) FROM _T_ ORDER BY name"),
    (Refused, "SELECT COUNT(*) FROM _T_ ORDER BY random()"),
    (Refused, "SELECT COUNT(*) FROM _T_ GROUP BY person"),
    (Refused, "SELECT COUNT(*) FROM _T_ GROUP BY income"),
    (Refused, "SELECT COUNT(*) FROM _T_ GROUP BY wage"),
    (Refused, "SELECT COUNT(*) FROM _T_ GROUP BY FLOOR(wage * 100)"),
    (Refused, "SELECT COUNT(*) FROM _T_ GROUP BY LOWER(name)"),
    (Refused, "SELECT COUNT(*) FROM _T_ GROUP BY random()"),
    (Refused, "SELECT DISTINCT age FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ EXCEPT SELECT COUNT(*) FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ UNION ALL SELECT age FROM _T_"),
    (Refused, "SELECT COUNT(*) FROM _T_ UNION ALL SELECT COUNT(*) FROM sqlite_schema"),
    (Refused, "SELECT COUNT(*) FROM _T_ a JOIN _T_ b ON a.person = b.person"),
    (Refused, "SELECT COUNT(*) FROM _T_ CROSS JOIN _T_"),
    (Refused, "SELECT COUNT(*) FROM '_T_'"),
    (Refused, "SELECT COUNT(*) FROM _T_ WHERE age = - -40"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE age > (SELECT AVG(age) FROM _T_)"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE income > (SELECT MEDIAN(income) FROM _T_)"),
    (Answered, "SELECT (SELECT COUNT(*) FROM _T_) / (SELECT COUNT(*) FROM _T_ WHERE smoker)"),
    (Answered, "SELECT COUNT(*) + (SELECT COUNT(*) - (SELECT COUNT(*) FROM _T_ WHERE age = 40) FROM _T_) FROM _T_"),
    (Answered, "SELECT COUNT(*) - (SELECT SUM(COUNT(*)) OVER () FROM _T_) FROM _T_"),
    (Answered, "SELECT region, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () FROM _T_ GROUP BY region"),
    (Answered, "SELECT region, COUNT(*) AS n FROM _T_ GROUP BY region HAVING n > 0 ORDER BY n DESC LIMIT 1 OFFSET 1"),
    (Answered, "SELECT COUNT(*) FROM _T_ UNION ALL SELECT SUM(age) FROM _T_"),
    (Answered, "SELECT age > 40 AS old, smoker, COUNT(*) FROM _T_ GROUP BY age > 40, smoker"),
    (Answered, "SELECT FLOOR(income / 10000) * 10000 AS bin, COUNT(*) FROM _T_ GROUP BY bin"),
    (
        Answered,
        "SELECT CASE WHEN age < 18 THEN 'child' WHEN age >= 18 THEN 'adult' END AS stage, COUNT(*) FROM _T_ GROUP BY stage",
    ),
    (Answered, "SELECT COALESCE(region, 'none') AS r, COUNT(*) FROM _T_ GROUP BY r"),
    (Refused, "SELECT region, COUNT(*) FROM _T_ WHERE region = 'east' GROUP BY region"),
    (Answered, "SELECT WIDTH_BUCKET(age, 0, 100, 5) AS b, COUNT(*) FROM _T_ GROUP BY b"),
    (
        Answered,
        "SELECT COUNT(DISTINCT CASE WHEN smoker THEN person END), COUNT(DISTINCT age), COUNT(DISTINCT wage) FROM _T_",
    ),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE (age > 40) IS NOT TRUE"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE age BETWEEN SYMMETRIC 41 AND 39"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE age IS DISTINCT FROM NULL"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE TRUE"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE 1 = 0"),
    (Answered, "SELECT COUNT(*) FROM _T_ WHERE NULL"),
    (Answered, "SELECT AVG(age > 40), SUM(smoker), COUNT_IF(income > 0) FROM _T_"),
    (Answered, "SELECT COUNT(1), COUNT(age) FILTER (WHERE smoker IS NULL) FROM _T_"),
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
    [columns.born]
    type = "date"
    bounds = ["1900-01-01", "2024-12-31"]
    [columns.wage]
    type = "decimal"
    bounds = [0, 5000]
    grid = 0.01
"#;

const HEADER: &str = "person,age,income,name,region,smoker,born,wage";

/// Ordinary people.
fn quiet() -> Vec<String> {
    let regions = ["north", "south"];
    (0..50)
        .map(|row| {
            let (region, smoker) = (regions[row % 2], row % 3 == 0);
            format!("p{row},{},{}.5,name{row},{region},{smoker},19{}-02-28,{row}.25", 20 + row, 100 * row, 10 + row)
        })
        .collect()
}

/// The same and one person more, who has everything that breaks programs: the values differ, the person is one.
fn loud() -> Vec<String> {
    let long = "a".repeat(20_000);
    let mut rows = quiet();
    for row in [
        "eve,40,NaN,alice\\,north,true,0001-01-01,999999999999.999999",
        "eve,9223372036854775807,Infinity,'; DROP TABLE data; --,east,false,9999-12-31,-999999999999.999999",
        "eve,-9223372036854775808,-Infinity,%_%,south,,1970-01-01,0",
        "eve,0,5e-324,\u{1f600}\u{200b},,true,2000-02-29,0.000001",
        "eve,40,1.7976931348623157e308,,north,true,,",
        ",40,3,nobody,north,true,1999-12-31,5000.01",
    ] {
        rows.push(row.to_string());
    }
    rows.push(format!("eve,,,{long},north,true,1900-01-01,"));
    rows
}

/// Asks everything of both datasets, and checks what comes of it.
fn check(setup: &Setup, datasets: [&str; 2]) {
    for (fate, question) in QUESTIONS {
        let mut messages = Vec::new();
        for dataset in datasets {
            let before = setup.charges(dataset);
            let request = request(dataset, &question.replace("_T_", dataset), "0.001");
            let came = match setup.gate.ask(&request) {
                Ok(GateOutcome::Answered(_)) => Answered,
                Ok(other) => panic!("{question} of {dataset}: {other:?}; {:?}", setup.gate.catalog().failures(1)),
                Err(error) => {
                    // What is wrong with the price has no place in the question.
                    let placed = error.position().is_some() || error.to_string().contains("a delta");
                    assert!(error.is_input() && placed, "{question}: {error}");
                    messages.push(error.to_string().replace(dataset, ""));
                    Refused
                }
            };
            assert_eq!(came, *fate, "{question} of {dataset}: {messages:?}");
            assert_eq!(setup.charges(dataset) - before, u64::from(came == Answered), "{question}");
        }
        assert!(messages.windows(2).all(|pair| pair[0] == pair[1]), "{question}: {messages:?}");
    }
}

#[test]
fn hostile_questions_to_the_embedded_engine() {
    assert!(QUESTIONS.len() >= 200);
    assert!(QUESTIONS.iter().filter(|(fate, _)| *fate == Refused).count() >= 150);
    let setup = Setup::new();
    for (name, rows) in [("quiet", quiet()), ("loud5", loud())] {
        let csv = format!("{HEADER}\n{}\n", rows.join("\n"));
        setup.add(name, &csv, SCHEMA, "1000,1e-6");
    }
    check(&setup, ["quiet", "loud5"]);
}

#[test]
fn very_long_and_very_deep_questions_are_refused() {
    let setup = Setup::new();
    setup.add("people", &format!("{HEADER}\n{}\n", quiet().join("\n")), SCHEMA, "1,1e-6");
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
        format!(
            "SELECT {} FROM people",
            (0..17).map(|n| format!("SUM(age + {n}) AS a{n}")).collect::<Vec<_>>().join(", ")
        ),
        format!("SELECT COUNT(*) FROM people WHERE age = {}", "1".repeat(1_000_000)),
        format!("SELECT SUM({}) FROM people", ["age"; 300].join(" + ")),
        format!("SELECT SUM({}age{}) FROM people", "ROUND(".repeat(20), " / 3)".repeat(20)),
        format!("SELECT SUM({}age{}) FROM people", "CASE WHEN smoker THEN ".repeat(200), " END".repeat(200)),
        format!("SELECT COUNT(*) FROM people WHERE age{}", " = 1".repeat(400)),
        format!("SELECT COUNT(*) FROM people HAVING COUNT(*) > 1{}", " AND COUNT(*) > 1".repeat(200)),
        format!("SELECT COUNT(*) FROM people{}", " UNION ALL SELECT COUNT(*) FROM people".repeat(8)),
        format!(
            "SELECT COUNT(*) FROM people WHERE age > {}1{}",
            "(SELECT AVG(age) FROM people WHERE age > ".repeat(9),
            ")".repeat(9)
        ),
    ] {
        let error = setup.gate.ask(&request("people", &question, "0.001")).unwrap_err();
        assert!(error.is_input() && error.position().is_some(), "{error}");
        assert!(error.to_string().len() < 500, "{error}");
    }
    assert_eq!(setup.charges("people"), 0);
}

#[test]
#[cfg(feature = "driver-tests")]
fn hostile_questions_to_duckdb() {
    use taximeter_gate::{CsvEngine, Data, DriverChoice};

    let setup = Setup::new();
    for (name, rows) in [("quiet", quiet()), ("loud5", loud())] {
        let csv = format!("{HEADER}\n{}\n", rows.join("\n"));
        let rules = crate::common::rules(taximeter_accounting::FilterRule::Residue, "1000,1e-6");
        let mut registration = setup.registration(name, &csv, SCHEMA, Some(rules));
        let Data::Csv { engine, .. } = &mut registration.data else { panic!("it is a file") };
        *engine = CsvEngine::Duckdb(DriverChoice::default());
        setup.register(registration).unwrap();
    }
    check(&setup, ["quiet", "loud5"]);
}

#[test]
#[cfg(feature = "driver-tests")]
fn hostile_questions_to_a_cluster() {
    use taximeter_accounting::FilterRule;
    use taximeter_gate::{Data, DriverChoice, Registration, RemoteService, RemoteTable};
    use taximeter_testing::PrivateSail;

    use crate::common::{account, declaration, rules};

    let setup = Setup::new();
    let sail = PrivateSail::start(2, setup.path()).unwrap_or_else(|message| panic!("{message}"));
    let types = "{person: 'VARCHAR', age: 'BIGINT', income: 'DOUBLE', name: 'VARCHAR', region: 'VARCHAR', smoker: 'BOOLEAN', born: 'DATE',
                  wage: 'DECIMAL(18, 6)'}";
    for (name, rows) in [("quiet", quiet()), ("loud5", loud())] {
        let csv = setup.csv(&format!("{HEADER}\n{}\n", rows.join("\n")));
        let read = format!("SELECT * FROM read_csv('{}', header = TRUE, columns = {types})", csv.display());
        let path = crate::duckdb::parquet(&setup, &format!("{name}.parquet"), &read);
        let (service, table) = (RemoteService::Flightsql, format!("parquet.{}", path.display()));
        let table = RemoteTable { service, uri: sail.uri(), table, credentials: None };
        let data = Data::Remote { table, driver: DriverChoice { driver: "flightsql".to_string(), entry: None } };
        // A cluster has rows as its units.
        let schema = declaration(&SCHEMA.replace("unit = { column = \"person\", max_rows_per_unit = 2 }", ""));
        let rules = Some(rules(FilterRule::Residue, "1000,1e-6"));
        setup.register(Registration { rules, ..Registration::new(account(name), schema, data) }).unwrap();
    }
    check(&setup, ["quiet", "loud5"]);
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
        let setup = Setup::new();
        for (name, rows) in [("quiet", quiet()), ("loud5", loud())] {
            let columns = "person text, age int8, income float8, name text, region text, smoker bool, born date, wage numeric(18, 6)";
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
            setup.register(registration).unwrap();
        }
        check(&setup, ["quiet", "loud5"]);
    }
}
