-- [days] length of stay by DATEDIFF, as MySQL has it
SELECT diagnosis, AVG(DATEDIFF(discharged, admitted)) AS days FROM health GROUP BY diagnosis;

-- [days] and as DuckDB and Snowflake have it
SELECT hospital, MEDIAN(DATE_DIFF('day', admitted, discharged)) AS days FROM health WHERE discharged IS NOT NULL GROUP BY hospital;

-- [months] and as BigQuery has it
SELECT AVG(DATE_DIFF(discharged, admitted, MONTH)) AS months FROM health;

-- [dates] first and last admission of each hospital
SELECT hospital, MIN(admitted) AS first_seen, MAX(admitted) AS last_seen, MAX(admitted) - MIN(admitted) AS days FROM health GROUP BY hospital;

-- [cte] crude readmission rates with their denominators
WITH stays AS (SELECT hospital, readmitted::int AS again FROM health)
SELECT hospital, SUM(again) AS readmissions, COUNT(*) AS stays, SUM(again) * 1000.0 / COUNT(*) AS per_1000 FROM stays GROUP BY hospital;

-- [age groups] ten-year bands by integer division
SELECT (age / 10) * 10 AS decade, COUNT(DISTINCT patient) AS patients FROM health GROUP BY (age / 10) * 10 ORDER BY decade;

-- [risk] odds of diabetes among smokers and others
SELECT smoker,
       COUNT(*) FILTER (WHERE diabetes) AS cases,
       COUNT(*) FILTER (WHERE NOT diabetes) AS controls,
       COUNT(*) FILTER (WHERE diabetes) * 1.0 / COUNT(*) FILTER (WHERE NOT diabetes) AS odds
FROM health GROUP BY smoker;

-- [hypertension] a rule of thumb in CASE, as a share
SELECT sex, AVG(CASE WHEN systolic >= 140 OR diastolic >= 90 THEN 1 WHEN systolic IS NULL THEN NULL ELSE 0 END) AS hypertensive
FROM health GROUP BY sex;

-- [missing] how complete is each measurement
SELECT COUNT(*) AS n, COUNT(bmi) * 100.0 / COUNT(*) AS bmi_known, COUNT(cholesterol) * 100.0 / COUNT(*) AS cholesterol_known FROM health;

-- [null] a group for what is missing, by the name that Oracle has
SELECT NVL(diagnosis, 'missing') AS d, COUNT(*) FROM health GROUP BY 1;

-- [epidemic curve] admissions by week of one winter
SELECT date_trunc('week', admitted) AS week, COUNT(*) AS admissions FROM health
WHERE admitted >= DATE '2022-11-01' AND admitted < DATE '2023-03-01' AND diagnosis IN ('respiratory', 'infection')
GROUP BY week HAVING COUNT(*) >= 0 ORDER BY week;

-- [median date] when half of the year's patients had come
SELECT MEDIAN(admitted) AS half FROM health WHERE EXTRACT(YEAR FROM admitted) = 2022;
