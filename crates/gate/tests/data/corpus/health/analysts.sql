-- [incidence] admissions by month
SELECT strftime('%Y-%m', admitted) AS month, COUNT(*) AS admissions
FROM health
GROUP BY month
ORDER BY month;

-- [window] admissions of a month beside those of the month before
SELECT DATE_TRUNC('month', admitted) AS month, COUNT(*) AS n,
       COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', admitted)) AS change
FROM health
GROUP BY 1
ORDER BY 1;

-- [follow-up] stays that ended within thirty days
SELECT diagnosis, AVG(CASE WHEN discharged <= admitted + INTERVAL '30 days' THEN 1.0 ELSE 0 END) AS within_30
FROM health
GROUP BY diagnosis;

-- [pulse] the ratio of the pressures
SELECT AVG(CAST(systolic AS FLOAT) / diastolic) AS ratio FROM health WHERE diastolic IS NOT NULL;

-- [odds] the odds ratio of readmission for smokers
SELECT (SUM(CASE WHEN smoker AND readmitted THEN 1 ELSE 0 END) * 1.0 * SUM(CASE WHEN NOT smoker AND NOT readmitted THEN 1 ELSE 0 END))
     / NULLIF(SUM(CASE WHEN smoker AND NOT readmitted THEN 1 ELSE 0 END) * SUM(CASE WHEN NOT smoker AND readmitted THEN 1 ELSE 0 END), 0) AS odds_ratio
FROM health;

-- [log odds] the same on the log scale
SELECT LN(COUNT(*) FILTER (WHERE readmitted) * 1.0 / COUNT(*) FILTER (WHERE NOT readmitted)) AS log_odds FROM health WHERE age >= 65;

-- [grouping sets] by sex, by smoking, and in all
SELECT sex, smoker, COUNT(*) AS n, AVG(cost) AS cost
FROM health
GROUP BY GROUPING SETS ((sex), (smoker), ());

-- [rank] hospitals by their average cost, the three dearest
SELECT hospital, cost FROM (
  SELECT hospital, AVG(cost) AS cost, ROW_NUMBER() OVER (ORDER BY AVG(cost) DESC) AS r FROM health GROUP BY hospital
) ranked WHERE r <= 3;

-- [short] initials of hospitals
SELECT LEFT(hospital, 3) AS short, COUNT(DISTINCT patient) AS patients FROM health GROUP BY LEFT(hospital, 3) ORDER BY patients DESC;

-- [season] admissions by name of the month
SELECT TO_CHAR(admitted, 'Mon') AS month, COUNT(*) AS n FROM health GROUP BY 1;

-- [stay] stays by length
SELECT CASE WHEN discharged - admitted = 0 THEN 'same day' WHEN discharged - admitted <= 7 THEN 'week' ELSE 'longer' END AS stay,
       COUNT(*) AS n, MEDIAN(cost) AS cost, AVG(bmi) AS bmi
FROM health GROUP BY 1 ORDER BY n DESC;

-- [cumulative incidence] the running share of infections
SELECT EXTRACT(YEAR FROM admitted) AS year, COUNT(*) AS n,
       SUM(COUNT(*)) OVER (ORDER BY EXTRACT(YEAR FROM admitted) ROWS UNBOUNDED PRECEDING) * 1.0 / SUM(COUNT(*)) OVER () AS share
FROM health WHERE diagnosis = 'infection' GROUP BY EXTRACT(YEAR FROM admitted) ORDER BY year;

-- [daily cost] the cost of a day in hospital
SELECT hospital, AVG(cost / NULLIF(discharged - admitted, 0)) AS cost_per_day FROM health GROUP BY hospital HAVING COUNT(*) >= 20;
