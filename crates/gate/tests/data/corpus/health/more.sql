-- [text] mixed case, semicolon after blank, alias without AS
Select h.sex, Count(*) n From health h Where h.age >= 65 Group By h.sex ;

-- [text] a column with a blank in its name
SELECT COUNT(*) FROM health WHERE "Post Code" LIKE '61%';

-- [text] every literal on its own line, comments, upper()
SELECT
    hospital
  , COUNT(*) AS stays   -- not patients
FROM
    health
WHERE
    upper(hospital) IN (
        'GENERAL'
      , 'MERCY'
    )
GROUP BY
    hospital
;

-- [distinct] patients by hospital
SELECT hospital, COUNT(DISTINCT patient) AS patients FROM health GROUP BY hospital ORDER BY patients DESC;

-- [distinct] post codes, which are no units
SELECT COUNT(DISTINCT "Post Code") AS post_codes FROM health WHERE diagnosis = 'infection';

-- [ratio] stays per patient
SELECT COUNT(*)::numeric / COUNT(DISTINCT patient) AS stays_per_patient FROM health;

-- [missing] share of rows with any missing reading
SELECT AVG(CASE WHEN bmi IS NULL OR systolic IS NULL OR cholesterol IS NULL THEN 1 ELSE 0 END) AS incomplete FROM health;

-- [missing] by hospital, counted with FILTER
SELECT hospital, COUNT(*) FILTER (WHERE bmi IS NULL) AS without_bmi, COUNT(*) AS n
FROM health GROUP BY hospital;

-- [missing] those who do not smoke, or did not say
SELECT COUNT(*) FROM health WHERE smoker IS NOT TRUE;

-- [missing] NULLIF of a code for unknown
SELECT AVG(NULLIF(medications, 0)) AS meds_of_users FROM health;

-- [where] readings that are different from normal, missing ones included
SELECT COUNT(*) FROM health WHERE diabetes IS DISTINCT FROM FALSE;

-- [where] hypertension by either number
SELECT sex, COUNT(*) AS hypertensive FROM health WHERE systolic >= 140 OR diastolic >= 90 GROUP BY sex;

-- [expression] mean arterial pressure: (systolic + 2 * diastolic) / 3
SELECT hospital, AVG((systolic + 2 * diastolic) / 3.0) AS map FROM health GROUP BY hospital;

-- [expression] cost in thousands, capped at 20
SELECT diagnosis, AVG(LEAST(cost / 1000, 20)) AS capped_thousands FROM health GROUP BY diagnosis;

-- [expression] a comparison as a number
SELECT sex, AVG(systolic > 140) AS share_high FROM health GROUP BY sex;

-- [expression] boolean cast to a number and added up
SELECT SUM(CAST(smoker AS INTEGER)) AS smokers, SUM(diabetes::int) AS diabetics FROM health;

-- [expression] risk points, bounded by construction
SELECT AVG(CASE WHEN smoker THEN 2 ELSE 0 END + CASE WHEN bmi >= 30 THEN 1 ELSE 0 END + CASE WHEN diabetes THEN 1 ELSE 0 END) AS risk
FROM health;

-- [dates] stays that began in a year
SELECT COUNT(*) FROM health WHERE admitted >= '2022-01-01' AND admitted < '2023-01-01';

-- [dates] by weekday
SELECT EXTRACT(DOW FROM admitted) AS weekday, COUNT(*) FROM health GROUP BY weekday ORDER BY weekday;

-- [dates] by year and quarter
SELECT EXTRACT(YEAR FROM admitted) AS y, EXTRACT(QUARTER FROM admitted) AS q, AVG(cost) AS cost
FROM health GROUP BY 1, 2 ORDER BY 1, 2;

-- [dates] long stays: a difference of dates in a condition
SELECT hospital, COUNT(*) AS long_stays FROM health WHERE discharged - admitted > 14 GROUP BY hospital;

-- [dates] bins of the length of stay
SELECT FLOOR((discharged - admitted) / 7) AS weeks, COUNT(*) AS n FROM health WHERE discharged IS NOT NULL GROUP BY weeks;

-- [bins] decades of age and BMI by fives
SELECT FLOOR(age / 10) * 10 AS decade, FLOOR(bmi / 5) * 5 AS bmi_from, COUNT(*) AS n
FROM health GROUP BY decade, bmi_from;

-- [bins] width_bucket of cholesterol
SELECT width_bucket(cholesterol, 100, 300, 8) AS b, COUNT(*) FROM health GROUP BY 1 ORDER BY 1;

-- [case] group by a boolean expression
SELECT age >= 65 AS senior, AVG(cost) AS avg_cost, COUNT(*) FROM health GROUP BY age >= 65;

-- [variance] spread of blood pressure by sex
SELECT sex, VAR_SAMP(systolic) AS var, STDDEV(systolic) AS sd, AVG(systolic) AS mean FROM health GROUP BY sex;

-- [ratio] coefficient of variation
SELECT STDDEV(cost) / AVG(cost) AS cv FROM health;

-- [regression] cost explained by days
SELECT REGR_SLOPE(cost, discharged - admitted) AS per_day, REGR_INTERCEPT(cost, discharged - admitted) AS base FROM health;

-- [quantile] median by group
SELECT diagnosis, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY cholesterol) AS median_chol FROM health GROUP BY diagnosis;

-- [quantile] median length of stay
SELECT MEDIAN(discharged - admitted) AS median_days FROM health;

-- [minmax] range of ages
SELECT sex, MIN(age), MAX(age) FROM health GROUP BY sex;

-- [open groups] post codes with most stays
SELECT "Post Code" AS zip, COUNT(*) AS n FROM health GROUP BY "Post Code" ORDER BY n DESC LIMIT 10;

-- [scalar] share of stays above the median cost's double
SELECT 100.0 * COUNT(*) / (SELECT COUNT(cost) FROM health) AS pct FROM health WHERE cost > 12000;

-- [union] stays and patients in two lines
SELECT 'stays' AS what, COUNT(*) AS n FROM health
UNION ALL
SELECT 'patients' AS what, COUNT(DISTINCT patient) AS n FROM health;

-- [having] on an average that is not shown
SELECT hospital FROM health GROUP BY hospital HAVING AVG(cost) > 8000;

-- [share] within the whole, rounded
SELECT diagnosis, ROUND(100.0 * SUM(cost) / SUM(SUM(cost)) OVER (), 1) AS pct_of_cost FROM health GROUP BY diagnosis;

-- [cross-table] three booleans
SELECT smoker, diabetes, readmitted, COUNT(*) FROM health GROUP BY smoker, diabetes, readmitted;
