-- [derived] average number of stays per patient by a sub-query for each patient
SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM health GROUP BY patient) AS t;

-- [derived] patients with three or more stays
SELECT COUNT(*) FROM (SELECT patient FROM health GROUP BY patient HAVING COUNT(*) >= 3) AS frequent;

-- [dates] other words for the days between two dates
SELECT AVG(DATEDIFF('day', admitted, discharged)) FROM health;

-- [dates] date_part instead of EXTRACT
SELECT date_part('year', admitted) AS y, COUNT(*) FROM health GROUP BY 1;

-- [dates] an interval added to a date
SELECT COUNT(*) FROM health WHERE discharged > admitted + INTERVAL '30 days';

-- [text] the first characters of a post code as the group
SELECT LEFT("Post Code", 1) AS area, COUNT(*) FROM health GROUP BY 1;

-- [mode] the most frequent diagnosis
SELECT MODE() WITHIN GROUP (ORDER BY diagnosis) FROM health;

-- [expression] BMI class from a square
SELECT AVG(POWER(bmi - 25, 2)) FROM health;
