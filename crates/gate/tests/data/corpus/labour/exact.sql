-- [count] employment rate with CASE and a cast
SELECT region,
       CAST(SUM(CASE WHEN status = 'employed' THEN 1 ELSE 0 END) AS FLOAT) / COUNT(*) AS employment_rate
FROM labour
WHERE age BETWEEN 16 AND 64
GROUP BY region
ORDER BY employment_rate DESC;

-- [rate] unemployment rate: unemployed over the labour force, in percent, rounded
SELECT sex, ROUND(100.0 * COUNT(*) FILTER (WHERE status = 'unemployed')
       / NULLIF(COUNT(*) FILTER (WHERE status IN ('employed', 'unemployed')), 0), 2) AS "Unemployment rate (%)"
FROM labour GROUP BY sex;

-- [snowflake] COUNT_IF and IFF
SELECT education, COUNT_IF(union_member) AS members, SUM(IFF(hours >= 40, 1, 0)) AS full_time FROM labour WHERE status = 'employed' GROUP BY education;

-- [bigquery] COUNTIF and SAFE_DIVIDE
SELECT occupation, SAFE_DIVIDE(COUNTIF(union_member), COUNT(union_member)) AS union_share
FROM `labour` WHERE occupation IS NOT NULL GROUP BY occupation;

-- [t-sql] brackets, TOP and a wage band with IIF
SELECT TOP 3 [occupation], AVG([hourly_wage]) AS [mean wage] FROM [labour] WHERE IIF(hours >= 35, 1, 0) = 1 GROUP BY [occupation] ORDER BY [mean wage] DESC;

-- [quantiles] four quantiles of the weekly wage in one question
SELECT PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY weekly_wage) AS p10,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY weekly_wage) AS p50,
       PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY weekly_wage) AS p90,
       PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY weekly_wage) / PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY weekly_wage) AS p90_p10
FROM labour WHERE weekly_wage IS NOT NULL;

-- [quantile] median by group with DISC
SELECT sex, percentile_disc(0.5) within group (order by hours) as median_hours from labour where status='employed' group by sex

-- [weighted] average wage weighted by hours
SELECT region, SUM(hourly_wage * hours) / SUM(hours) AS weighted_wage FROM labour WHERE hourly_wage IS NOT NULL AND hours IS NOT NULL GROUP BY region;

-- [expression] annual pay by 52 weeks, in thousands
SELECT sex, ROUND(AVG(weekly_wage * 52 / 1000.0), 1) AS annual_k FROM labour GROUP BY sex;

-- [bins] age bands by ten years, with labels made of text
SELECT CAST(FLOOR(age / 10) * 10 AS INTEGER) AS decade, COUNT(*) AS n, AVG(hourly_wage) AS wage FROM labour GROUP BY CAST(FLOOR(age / 10) * 10 AS INTEGER) ORDER BY decade;

-- [bins] width_bucket of wages
SELECT width_bucket(hourly_wage, 0, 60, 6) AS bucket, COUNT(*) FROM labour WHERE hourly_wage IS NOT NULL GROUP BY bucket ORDER BY bucket;

-- [ntile] quartiles of occupations by average wage
SELECT occupation, AVG(hourly_wage) AS wage, NTILE(4) OVER (ORDER BY AVG(hourly_wage) DESC) AS quartile FROM labour WHERE occupation IS NOT NULL GROUP BY occupation;

-- [window] a named window
SELECT region, sex, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER w, 1) AS pct
FROM labour GROUP BY region, sex WINDOW w AS (PARTITION BY region);

-- [window] two functions over one named window
SELECT occupation, AVG(hourly_wage) AS wage, RANK() OVER byw AS rank, PERCENT_RANK() OVER byw AS pr
FROM labour WHERE occupation IS NOT NULL GROUP BY occupation WINDOW byw AS (ORDER BY AVG(hourly_wage) DESC);

-- [regression] Mincer: slope of wage on schooling, with R²
SELECT REGR_SLOPE(hourly_wage, years_schooling) AS slope, REGR_INTERCEPT(hourly_wage, years_schooling) AS const, REGR_R2(hourly_wage, years_schooling) AS r2, REGR_COUNT(hourly_wage, years_schooling) AS n FROM labour;

-- [corr] correlation by group
SELECT sex, CORR(age, hourly_wage) AS r, COVAR_SAMP(age, hourly_wage) AS cov FROM labour GROUP BY sex;

-- [stddev] coefficient of variation
SELECT education, STDDEV_SAMP(hourly_wage) / AVG(hourly_wage) AS cv FROM labour GROUP BY education;

-- [ratio] gap by conditional averages
SELECT region, AVG(CASE WHEN sex = 'female' THEN hourly_wage END) / AVG(CASE WHEN sex = 'male' THEN hourly_wage END) AS ratio
FROM labour GROUP BY region HAVING COUNT(hourly_wage) > 20;

-- [union] two margins with labels
SELECT 'by sex' AS margin, sex AS level, COUNT(*) AS n FROM labour GROUP BY sex
UNION ALL
SELECT 'by region', region, COUNT(*) FROM labour GROUP BY region
ORDER BY margin, level;

-- [scalar] share above the overall mean
SELECT AVG(CASE WHEN weekly_wage > (SELECT AVG(weekly_wage) FROM labour) THEN 1.0 ELSE 0.0 END) AS share_above FROM labour WHERE weekly_wage IS NOT NULL;

-- [open] states nobody declared, top five by people, with a second aggregate
SELECT state, COUNT(*) AS n, AVG(age) AS mean_age FROM labour GROUP BY state ORDER BY n DESC FETCH FIRST 5 ROWS ONLY;

-- [dates] monthly series by quarter with strftime
SELECT strftime('%m', survey_month) AS month, AVG(hours) AS hours FROM labour WHERE survey_month >= '2023-07-01' GROUP BY 1 ORDER BY 1;

-- [distinct] occupations and states
SELECT COUNT(DISTINCT state) AS states, COUNT(DISTINCT occupation) AS occupations FROM labour;

-- [boolean] union members by IS TRUE, IS NOT TRUE
SELECT SUM(CASE WHEN union_member IS TRUE THEN 1 ELSE 0 END) AS members, SUM(CASE WHEN union_member IS NOT TRUE THEN 1 ELSE 0 END) AS others FROM labour;

-- [text] ILIKE, lower and NOT LIKE
SELECT COUNT(*) FROM labour WHERE lower(education) LIKE '%college%' OR education ILIKE 'BACH%' AND marital NOT LIKE 'never%';

-- [symmetric] hours between two numbers in either order
SELECT COUNT(*) AS n, AVG(hours) FROM labour WHERE hours BETWEEN SYMMETRIC 45 AND 20;

-- [sqrt] standard error of a mean
SELECT sex, AVG(hourly_wage) AS mean, STDDEV(hourly_wage) / SQRT(COUNT(hourly_wage)) AS se FROM labour GROUP BY sex;

-- [case] dependency: people by number of children, grouped as 3+
SELECT CASE children WHEN 0 THEN 'none' WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'three or more' END AS kids, COUNT(*), AVG(hours) FROM labour GROUP BY 1;

-- [bounds] overtime hours by GREATEST
SELECT AVG(GREATEST(hours - 40, 0)) AS overtime, SUM(LEAST(hours, 40)) AS regular FROM labour WHERE hours IS NOT NULL;

-- [squares] mean square by multiplication and POW
SELECT AVG(hours * hours) AS m2, AVG(POW(hours - 40, 2)) AS spread, AVG(ABS(hours - 40)) AS mad FROM labour;

-- [topk] best paid occupation within each region
SELECT region, occupation, w FROM (
  SELECT region, occupation, AVG(hourly_wage) AS w, ROW_NUMBER() OVER (PARTITION BY region ORDER BY AVG(hourly_wage) DESC) AS rn
  FROM labour GROUP BY region, occupation) t
WHERE rn = 1 ORDER BY region;
