-- [count] stays and patients
SELECT COUNT(*) AS stays, COUNT(DISTINCT patient) AS patients FROM health;

-- [missing] how many values are missing, by column
SELECT COUNT(*) AS rows_total,
       COUNT(*) - COUNT(bmi) AS bmi_missing,
       COUNT(*) - COUNT(systolic) AS systolic_missing,
       COUNT(*) - COUNT(cholesterol) AS cholesterol_missing
FROM health;

-- [average] blood pressure of smokers and others
SELECT smoker, AVG(systolic) AS avg_systolic, AVG(diastolic) AS avg_diastolic, COUNT(systolic) AS n
FROM health
WHERE smoker IS NOT NULL
GROUP BY smoker;

-- [dates] length of stay in days by diagnosis
SELECT diagnosis, AVG(discharged - admitted) AS avg_days
FROM health
WHERE discharged IS NOT NULL
GROUP BY diagnosis
ORDER BY avg_days DESC;

-- [dates] admissions by month
SELECT date_trunc('month', admitted) AS month, COUNT(*) AS admissions
FROM health
GROUP BY 1
ORDER BY 1;

-- [case] BMI classes
SELECT CASE WHEN bmi < 18.5 THEN 'underweight'
            WHEN bmi < 25 THEN 'normal'
            WHEN bmi < 30 THEN 'overweight'
            WHEN bmi IS NULL THEN 'unknown'
            ELSE 'obese' END AS bmi_class,
       COUNT(*) AS n
FROM health
GROUP BY 1
ORDER BY n DESC;

-- [ratio] prevalence of diabetes by sex, missing ones left out
SELECT sex, 100.0 * SUM(CASE WHEN diabetes THEN 1 ELSE 0 END) / COUNT(diabetes) AS diabetes_pct
FROM health
GROUP BY sex;

-- [quantile] median and 90th percentile of cost
SELECT MEDIAN(cost) AS median_cost,
       PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) AS p90_cost
FROM health;

-- [decimal] total and average cost by hospital
SELECT hospital, SUM(cost) AS total_cost, ROUND(AVG(cost), 2) AS avg_cost
FROM health
GROUP BY hospital
ORDER BY total_cost DESC;

-- [expression] pulse pressure as a difference of columns
SELECT AVG(systolic - diastolic) AS pulse_pressure
FROM health
WHERE systolic IS NOT NULL AND diastolic IS NOT NULL;

-- [regression] age and blood pressure
SELECT CORR(age, systolic) AS r, REGR_SLOPE(systolic, age) AS mmhg_per_year FROM health;

-- [coalesce] medications with missing ones as 0, by diagnosis, enough stays only
SELECT diagnosis, AVG(COALESCE(medications, 0)) AS meds, COUNT(*) AS n
FROM health
GROUP BY diagnosis
HAVING COUNT(*) >= 30
ORDER BY meds DESC;

-- [ratio] readmission rate by hospital with FILTER, and its share of all stays
SELECT hospital,
       COUNT(*) FILTER (WHERE readmitted) * 1.0 / COUNT(*) AS readmission_rate,
       COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS pct_of_stays
FROM health
GROUP BY hospital;
