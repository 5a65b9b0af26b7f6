-- [count] people of prime working age who have work
SELECT COUNT(*) FROM labour WHERE status = 'employed' AND age BETWEEN 25 AND 54;

-- [average] by a declared group, with its count, sorted
SELECT education, COUNT(*) AS n, AVG(hourly_wage) AS mean_wage
FROM labour
WHERE status = 'employed'
GROUP BY education
ORDER BY mean_wage DESC;

-- [ratio] unemployment rate by region, two conditional sums
SELECT region,
       100.0 * SUM(CASE WHEN status = 'unemployed' THEN 1 ELSE 0 END)
             / SUM(CASE WHEN status IN ('employed', 'unemployed') THEN 1 ELSE 0 END) AS unemployment_rate
FROM labour
GROUP BY region
ORDER BY unemployment_rate DESC;

-- [quantile] median earnings of women and men
select sex, percentile_cont(0.5) within group (order by weekly_wage) as median_weekly
from labour
where status = 'employed'
group by sex;

-- [bins] histogram of weekly wages in steps of 250
SELECT FLOOR(weekly_wage / 250) * 250 AS wage_bin, COUNT(*) AS workers
FROM labour
WHERE weekly_wage IS NOT NULL
GROUP BY 1
ORDER BY 1;

-- [variance] average and spread by occupation
SELECT occupation, AVG(hourly_wage) AS avg_wage, STDDEV(hourly_wage) AS sd_wage
FROM labour
GROUP BY occupation;

-- [regression] return to a year of schooling
SELECT REGR_SLOPE(hourly_wage, years_schooling) AS per_year,
       REGR_INTERCEPT(hourly_wage, years_schooling) AS intercept,
       CORR(hourly_wage, years_schooling) AS r
FROM labour
WHERE status = 'employed';

-- [case] age bands by CASE, grouped by their alias
SELECT CASE WHEN age < 25 THEN '16-24'
            WHEN age < 45 THEN '25-44'
            WHEN age < 65 THEN '45-64'
            ELSE '65+' END AS age_band,
       COUNT(*) AS people,
       AVG(hours) AS avg_hours
FROM labour
GROUP BY age_band
ORDER BY age_band;

-- [filter] union density by occupation
SELECT occupation,
       COUNT(*) FILTER (WHERE union_member) AS members,
       COUNT(*) AS workers,
       COUNT(*) FILTER (WHERE union_member) * 100.0 / COUNT(*) AS density
FROM labour
WHERE status = 'employed'
GROUP BY occupation
ORDER BY density DESC;

-- [having] occupations with enough people only
SELECT occupation, COUNT(*) AS n, ROUND(AVG(hourly_wage), 2) AS avg_wage
FROM labour
GROUP BY occupation
HAVING COUNT(*) > 50
ORDER BY avg_wage DESC;

-- [share] of the total, by a window over the answer
SELECT education,
       COUNT(*) AS n,
       COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS pct
FROM labour
GROUP BY education
ORDER BY pct DESC;

-- [cross-table] status by sex and region
SELECT region, sex, status, COUNT(*) FROM labour GROUP BY region, sex, status;

-- [open groups] the ten states with most workers; states have no categories
SELECT state, COUNT(*) AS workers
FROM labour
WHERE status = 'employed'
GROUP BY state
ORDER BY workers DESC
LIMIT 10;
