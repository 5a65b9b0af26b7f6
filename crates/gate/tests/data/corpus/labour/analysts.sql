-- [interval] interviews of the second quarter
SELECT COUNT(*) AS interviews
FROM labour
WHERE survey_month >= DATE '2023-04-01' AND survey_month < DATE '2023-04-01' + INTERVAL '3 months';

-- [month] participation by month, as text
SELECT TO_CHAR(survey_month, 'YYYY-MM') AS month,
       AVG(CASE WHEN status <> 'not in labour force' THEN 1.0 ELSE 0.0 END) AS participation
FROM labour
GROUP BY TO_CHAR(survey_month, 'YYYY-MM')
ORDER BY month;

-- [rank] occupations ranked by their average wage
SELECT occupation, AVG(hourly_wage) AS wage, RANK() OVER (ORDER BY AVG(hourly_wage) DESC) AS place
FROM labour
WHERE status = 'employed'
GROUP BY occupation;

-- [composition] the shares of education within each region
SELECT region, education, COUNT(*) AS n,
       ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY region), 1) AS percent
FROM labour
GROUP BY region, education
ORDER BY region, education;

-- [ratio] hourly wage implied by the weekly one
SELECT AVG(weekly_wage / NULLIF(hours, 0)) AS implied_hourly
FROM labour
WHERE status = 'employed';

-- [log] the gap of the averages in log points
SELECT LN(AVG(hourly_wage) FILTER (WHERE sex = 'male')) - LN(AVG(hourly_wage) FILTER (WHERE sex = 'female')) AS gap
FROM labour;

-- [rollup] regions, with a total
SELECT region, sex, COUNT(*) AS n
FROM labour
GROUP BY ROLLUP (region, sex);

-- [mode] the most common occupation by region
SELECT region, MODE() WITHIN GROUP (ORDER BY occupation) AS most_common
FROM labour
WHERE status = 'employed'
GROUP BY region;

-- [experience] potential experience, in bands
SELECT width_bucket(age - years_schooling - 6, 0, 50, 5) AS band, AVG(hourly_wage) AS wage, STDDEV(hourly_wage) AS sd
FROM labour
WHERE age - years_schooling - 6 >= 0
GROUP BY band
ORDER BY band;

-- [cumulative] the cumulative distribution of schooling
SELECT years_schooling, SUM(COUNT(*)) OVER (ORDER BY years_schooling) AS up_to
FROM labour
GROUP BY years_schooling
ORDER BY years_schooling;

-- [labels] two categories as one label
SELECT sex || ', ' || marital AS who, COUNT(*) AS n, AVG(hours) AS hours
FROM labour
GROUP BY sex || ', ' || marital;

-- [dispersion] the coefficient of variation and the ratio of percentiles
SELECT STDDEV(hourly_wage) / AVG(hourly_wage) AS cv,
       PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY hourly_wage) / PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY hourly_wage) AS p90_p10
FROM labour
WHERE status = 'employed' AND hourly_wage > 0;
