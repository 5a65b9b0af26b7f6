-- [missing] missing rates of three columns
SELECT COUNT(*) AS stays,
       ROUND(100.0 * SUM(CASE WHEN bmi IS NULL THEN 1 ELSE 0 END) / COUNT(*), 1) AS pct_bmi_missing,
       1 - COUNT(cholesterol) / COUNT(*)::float AS cholesterol_missing,
       AVG((smoker IS NULL)::int) AS smoker_missing
FROM health;

-- [missing] missing rate by hospital, worst first
SELECT hospital, COUNT(*) - COUNT(cholesterol) AS missing, 100.0 * (COUNT(*) - COUNT(cholesterol)) / COUNT(*) AS pct
FROM health GROUP BY hospital ORDER BY pct DESC;

-- [missing] any of three is missing
SELECT COUNT(*) FROM health WHERE bmi IS NULL OR systolic IS NULL OR cholesterol IS NULL;

-- [missing] the number of missing values in a row, as groups
SELECT (CASE WHEN bmi IS NULL THEN 1 ELSE 0 END) + (CASE WHEN cholesterol IS NULL THEN 1 ELSE 0 END) + (CASE WHEN smoker IS NULL THEN 1 ELSE 0 END) AS n_missing, COUNT(*)
FROM health GROUP BY 1 ORDER BY 1;

-- [coalesce] imputing the mean
SELECT AVG(COALESCE(cholesterol, 200)) AS imputed, AVG(cholesterol) AS complete_cases FROM health;

-- [bins] classes of BMI by the WHO, unknown apart
SELECT CASE WHEN bmi IS NULL THEN 'unknown' WHEN bmi < 18.5 THEN 'underweight' WHEN bmi < 25 THEN 'normal'
            WHEN bmi < 30 THEN 'overweight' ELSE 'obese' END AS class,
       COUNT(*) AS n, ROUND(AVG(systolic)::numeric, 1) AS sbp
FROM health GROUP BY class ORDER BY n DESC;

-- [length] average stay in days in PostgreSQL
SELECT diagnosis, AVG(discharged - admitted) AS los, MAX(discharged - admitted) AS longest FROM health GROUP BY diagnosis;

-- [length] stay in days in SQLite
SELECT hospital, AVG(julianday(discharged) - julianday(admitted)) AS los FROM health GROUP BY hospital;

-- [length] stay in days in BigQuery
SELECT hospital, AVG(DATE_DIFF(discharged, admitted, DAY)) AS los FROM health GROUP BY hospital;

-- [length] stays of more than a week in T-SQL
SELECT COUNT(*) AS long_stays FROM health WHERE DATEDIFF(day, admitted, discharged) > 7;

-- [units] patients, and stays per patient
SELECT COUNT(DISTINCT patient) AS patients, COUNT(*) * 1.0 / COUNT(DISTINCT patient) AS stays_per_patient FROM health WHERE admitted >= DATE '2022-01-01';

-- [units] patients by hospital
SELECT hospital, COUNT(DISTINCT patient) AS patients FROM health GROUP BY hospital ORDER BY 2 DESC;

-- [rate] readmission rate with boolean average
SELECT diagnosis, AVG(CASE WHEN readmitted THEN 1.0 ELSE 0.0 END) AS readmission_rate, COUNT(*) AS n FROM health GROUP BY diagnosis HAVING COUNT(*) >= 50 ORDER BY readmission_rate DESC LIMIT 3;

-- [ratio] odds ratio of readmission of smokers
SELECT (SUM(CASE WHEN smoker AND readmitted THEN 1 ELSE 0 END) * 1.0 * SUM(CASE WHEN NOT smoker AND NOT readmitted THEN 1 ELSE 0 END))
     / (SUM(CASE WHEN smoker AND NOT readmitted THEN 1 ELSE 0 END) * 1.0 * SUM(CASE WHEN NOT smoker AND readmitted THEN 1 ELSE 0 END)) AS odds_ratio
FROM health;

-- [ratio] relative risk from two sub-queries
SELECT (SELECT AVG(readmitted::int) FROM health WHERE diabetes) / (SELECT AVG(readmitted::int) FROM health WHERE NOT diabetes) AS relative_risk;

-- [cross] a cross table with FILTER
SELECT hospital,
       COUNT(*) FILTER (WHERE sex = 'F') AS women,
       COUNT(*) FILTER (WHERE sex = 'M') AS men,
       COUNT(*) FILTER (WHERE smoker) AS smokers,
       AVG(cost) FILTER (WHERE age >= 65) AS cost_65
FROM health GROUP BY hospital;

-- [dates] admissions by month of the year, as text
SELECT to_char(admitted, 'Mon') AS month, COUNT(*) AS admissions FROM health WHERE EXTRACT(MONTH FROM admitted) BETWEEN 1 AND 3 GROUP BY 1;

-- [dates] admissions by year and quarter
SELECT EXTRACT(YEAR FROM admitted) AS y, EXTRACT(QUARTER FROM admitted) AS q, COUNT(*), SUM(cost) FROM health WHERE admitted BETWEEN '2022-01-01' AND '2022-12-31' GROUP BY y, q ORDER BY y, q;

-- [dates] growth from one year to the next
WITH yearly AS (SELECT date_trunc('year', admitted) AS yr, COUNT(*) AS n FROM health GROUP BY 1)
SELECT yr, n, n - LAG(n) OVER (ORDER BY yr) AS change, ROUND(100.0 * n / LAG(n) OVER (ORDER BY yr) - 100, 1) AS pct FROM yearly ORDER BY yr;

-- [dates] within the last 180 days of the study
SELECT COUNT(*) FROM health WHERE admitted >= DATE '2023-12-31' - INTERVAL '180 days';

-- [quantile] IQR of cost
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost) AS q1, MEDIAN(cost) AS med, PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY cost) AS q3 FROM health WHERE diagnosis = 'heart';

-- [quantile] approximate quantile of BigQuery and Snowflake
SELECT hospital, APPROX_PERCENTILE(cost, 0.5) AS median_cost FROM health GROUP BY hospital;

-- [pressure] mean arterial and pulse pressure
SELECT sex, AVG((systolic + 2 * diastolic) / 3.0) AS map, AVG(systolic - diastolic) AS pulse FROM health GROUP BY sex;

-- [distinct from] changed status with missing values
SELECT COUNT(*) FROM health WHERE smoker IS DISTINCT FROM diabetes;

-- [distinct from] not a smoker, unknown counted with them
SELECT COUNT(*) FROM health WHERE smoker IS NOT DISTINCT FROM TRUE OR diabetes IS UNKNOWN;

-- [quoted] a quoted name with a space
SELECT COUNT(DISTINCT h."Post Code") AS areas FROM health AS h WHERE h."Post Code" LIKE '9%';

-- [having] hospitals with a total above a number
SELECT hospital, SUM(cost) AS total, SUM(cost) / SUM(SUM(cost)) OVER () AS share FROM health GROUP BY hospital HAVING SUM(cost) > 100000 ORDER BY share DESC;

-- [grouping] totals by cube
SELECT COALESCE(sex, 'all') AS sex, COUNT(*) FROM health GROUP BY ROLLUP (sex);

-- [standard] age-standardised rate with literal weights
SELECT 0.6 * AVG(readmitted::int) FILTER (WHERE age < 65) + 0.4 * AVG(readmitted::int) FILTER (WHERE age >= 65) AS standardised FROM health;

-- [zscore] one hospital's mean against the overall spread
SELECT hospital, (AVG(cost) - (SELECT AVG(cost) FROM health)) / (SELECT STDDEV(cost) FROM health) AS z FROM health GROUP BY hospital;
