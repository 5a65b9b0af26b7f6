-- [text] lower-case keywords, table alias, alias.column, COUNT(1), no semicolon
select l.region, count(1) as n from labour l where l.age >= 65 group by l.region order by n desc

-- [text] names in quotes, a block comment, a unicode alias
SELECT "region", AVG("hourly_wage") AS "Löhne" /* before tax */
FROM "labour" AS "l"
GROUP BY "region";

-- [text] line comments inside, FETCH FIRST
SELECT occupation, SUM(weekly_wage) AS payroll -- all workers
FROM labour
-- only those who work full time
WHERE hours >= 35
GROUP BY occupation
ORDER BY payroll DESC
FETCH FIRST 3 ROWS ONLY;

-- [text] ILIKE and lower() on text
SELECT COUNT(*) FROM labour WHERE education ILIKE '%COLLEGE%' OR lower(marital) = 'widowed';

-- [text] LIMIT with OFFSET: the second five
SELECT state, COUNT(*) n FROM labour GROUP BY state ORDER BY n DESC LIMIT 5 OFFSET 5;

-- [where] IS DISTINCT FROM keeps those who were not asked
SELECT COUNT(*) AS not_known_members FROM labour WHERE status = 'employed' AND union_member IS DISTINCT FROM TRUE;

-- [where] an expression in WHERE, BETWEEN SYMMETRIC
SELECT COUNT(*) FROM labour WHERE hourly_wage * 40 > 1500 AND age BETWEEN SYMMETRIC 60 AND 30;

-- [expression] weekly pay scaled to a year
SELECT sex, AVG(weekly_wage * 52) AS annual_pay FROM labour WHERE hours >= 35 GROUP BY sex;

-- [expression] potential experience: age less schooling less six, never below 0
SELECT education, AVG(GREATEST(age - years_schooling - 6, 0)) AS experience
FROM labour
WHERE status = 'employed'
GROUP BY education;

-- [expression] overtime beyond 40 hours
SELECT occupation, SUM(GREATEST(hours - 40, 0)) AS overtime_hours, AVG(ABS(hours - 40)) AS distance_from_40
FROM labour GROUP BY occupation ORDER BY 2 DESC;

-- [expression] share of people below a low wage as the average of a comparison
SELECT region, AVG((hourly_wage < 15)::int) AS low_paid FROM labour GROUP BY region;

-- [expression] COALESCE counts missing hours as 0, CAST to whole numbers
SELECT AVG(COALESCE(hours, 0)) AS hours, SUM(CAST(weekly_wage AS INTEGER)) AS payroll FROM labour WHERE status = 'employed';

-- [case] the simple form, and an aggregate of a CASE without ELSE
SELECT CASE sex WHEN 'female' THEN 'women' ELSE 'men' END AS who,
       AVG(CASE WHEN union_member THEN hourly_wage END) AS union_wage,
       AVG(CASE WHEN NOT union_member THEN hourly_wage END) AS other_wage
FROM labour
GROUP BY 1;

-- [case] sums of CASE as a wide table
SELECT marital,
       SUM(CASE WHEN status = 'employed' THEN 1 ELSE 0 END) AS employed,
       SUM(CASE WHEN status = 'unemployed' THEN 1 ELSE 0 END) AS unemployed,
       SUM(CASE WHEN status = 'not in labour force' THEN 1 ELSE 0 END) AS outside
FROM labour
GROUP BY marital;

-- [ratio] gender pay gap in one row
SELECT 1 - AVG(hourly_wage) FILTER (WHERE sex = 'female') / AVG(hourly_wage) FILTER (WHERE sex = 'male') AS gap
FROM labour
WHERE status = 'employed' AND hours >= 35;

-- [ratio] employment rate, dividing by NULLIF of a count
SELECT sex, ROUND(100.0 * COUNT(*) FILTER (WHERE status = 'employed') / NULLIF(COUNT(*), 0), 1) AS employment_rate
FROM labour
WHERE age BETWEEN 16 AND 64
GROUP BY sex;

-- [bins] width_bucket of wages
SELECT width_bucket(hourly_wage, 0, 60, 12) AS bucket, COUNT(*) AS n
FROM labour WHERE hourly_wage IS NOT NULL GROUP BY bucket ORDER BY bucket;

-- [bins] decades of age, two keys
SELECT age / 10 * 10 AS decade, sex, AVG(weekly_wage) FROM labour GROUP BY 1, 2 ORDER BY 1, 2;

-- [bins] ROUND to tens instead of FLOOR
SELECT ROUND(hours / 10.0) * 10 AS about, COUNT(*) FROM labour WHERE hours IS NOT NULL GROUP BY ROUND(hours / 10.0) * 10;

-- [dates] by month of the survey
SELECT date_trunc('month', survey_month) AS month, COUNT(*) AS asked,
       AVG(CASE WHEN status = 'unemployed' THEN 1.0 ELSE 0.0 END) AS unemployed
FROM labour GROUP BY 1 ORDER BY 1;

-- [dates] by quarter with EXTRACT, and a comparison with a date
SELECT EXTRACT(QUARTER FROM survey_month) AS quarter, AVG(hourly_wage) AS wage
FROM labour WHERE survey_month >= DATE '2023-04-01' GROUP BY EXTRACT(QUARTER FROM survey_month);

-- [variance] all four spreads of one column
SELECT VARIANCE(hourly_wage), VAR_POP(hourly_wage), STDDEV_SAMP(hourly_wage), STDDEV_POP(hourly_wage) FROM labour;

-- [regression] covariance of tenure and wage
SELECT COVAR_SAMP(tenure, hourly_wage) AS cov, COVAR_POP(tenure, hourly_wage) AS cov_pop FROM labour;

-- [quantile] quartiles, and the ratio of the 90th to the 10th percentile
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY hourly_wage) AS q1,
       MEDIAN(hourly_wage) AS q2,
       PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY hourly_wage) AS q3,
       QUANTILE(hourly_wage, 0.9) / QUANTILE(hourly_wage, 0.1) AS d9_d1
FROM labour;

-- [minmax] youngest and oldest worker
SELECT MIN(age) AS youngest, MAX(age) AS oldest FROM labour WHERE status = 'employed';

-- [distinct] states in the survey
SELECT COUNT(DISTINCT state) FROM labour;

-- [union] two questions in one table
SELECT 'employed' AS who, COUNT(*) AS n FROM labour WHERE status = 'employed'
UNION ALL
SELECT 'unemployed', COUNT(*) FROM labour WHERE status = 'unemployed';

-- [scalar] share of all by a scalar sub-query
SELECT occupation, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM labour WHERE status = 'employed') AS share
FROM labour
WHERE status = 'employed'
GROUP BY occupation;

-- [scalar] how many earn more than the average
SELECT COUNT(*) FROM labour WHERE hourly_wage > (SELECT AVG(hourly_wage) FROM labour);

-- [having] on an alias of an average, with an OR
SELECT state, AVG(hourly_wage) AS w, COUNT(*) AS n FROM labour GROUP BY state HAVING COUNT(*) >= 40 AND AVG(hourly_wage) > 20;

-- [where] a group that the condition rules out is not answered
SELECT region, COUNT(*) AS n FROM labour WHERE region IN ('west', 'south') GROUP BY region ORDER BY n LIMIT 2;

-- [decimal] exact sums of money with a cast
SELECT SUM(weekly_wage::numeric) AS payroll, AVG(weekly_wage) AS mean FROM labour WHERE weekly_wage >= 1000.50;
