-- [cte] wages of employees by education, with a named selection
WITH employees AS (
  SELECT education, sex, hourly_wage, hours FROM labour WHERE status = 'employed' AND hourly_wage IS NOT NULL
)
SELECT education, COUNT(*) AS n, AVG(hourly_wage) AS wage FROM employees GROUP BY education ORDER BY wage DESC;

-- [derived] computed columns in a derived table
SELECT t.band, COUNT(*) AS people, AVG(t.annual) AS annual
FROM (SELECT CASE WHEN age < 25 THEN '16-24' WHEN age < 55 THEN '25-54' ELSE '55+' END AS band, weekly_wage * 52 AS annual FROM labour) AS t
GROUP BY t.band;

-- [cte] the gap between women and men from one aggregate question
WITH w AS (
  SELECT occupation,
         AVG(hourly_wage) FILTER (WHERE sex = 'female') AS women,
         AVG(hourly_wage) FILTER (WHERE sex = 'male') AS men
  FROM labour GROUP BY occupation
)
SELECT occupation, women / men AS ratio, 100 * (men - women) / men AS gap_percent FROM w ORDER BY ratio;

-- [order] sorted by what is not shown
SELECT occupation, AVG(hours) AS hours FROM labour GROUP BY occupation ORDER BY COUNT(*) DESC LIMIT 3;

-- [group by all] the keys are what is shown
SELECT region, sex, COUNT(*) AS n, AVG(age) AS age FROM labour GROUP BY ALL;

-- [flag] a condition on a noisy number as a column
SELECT region, COUNT(*) AS n, COUNT(*) > 200 AS is_large FROM labour GROUP BY region;

-- [rate] the unemployment rate by region in the labour force
SELECT region,
       100.0 * SUM(CASE WHEN status = 'unemployed' THEN 1 ELSE 0 END)
             / NULLIF(SUM(CASE WHEN status <> 'not in labour force' THEN 1 ELSE 0 END), 0) AS unemployment_rate
FROM labour GROUP BY region;

-- [moments] the variance by hand
SELECT SUM(POWER(hours, 2)) / COUNT(hours) - POWER(AVG(hours), 2) AS variance FROM labour WHERE status = 'employed';

-- [percentile] deciles and their ratio
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY hourly_wage) AS p90,
       PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY hourly_wage) AS p10,
       PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY hourly_wage) / PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY hourly_wage) AS ratio
FROM labour WHERE status = 'employed';

-- [scalar] part-time share below and above the median wage
SELECT AVG(CASE WHEN hours < 35 THEN 1.0 ELSE 0.0 END) AS part_time
FROM labour WHERE hourly_wage NOT BETWEEN 0 AND (SELECT MEDIAN(hourly_wage) FROM labour);

-- [year] a function of other databases
SELECT YEAR(survey_month) AS y, MONTH(survey_month) AS m, COUNT(*) FROM labour GROUP BY YEAR(survey_month), MONTH(survey_month) ORDER BY y, m;

-- [nested] one sub-query in another
SELECT region, mean FROM (
  SELECT region, AVG(pay) AS mean FROM (SELECT region, hourly_wage * hours AS pay FROM labour WHERE hours > 0) inner_rows GROUP BY region
) by_region WHERE mean > 100;
