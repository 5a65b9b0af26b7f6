-- [cte] an aggregate question with a name, and a computation on it
WITH by_sex AS (SELECT sex, AVG(hourly_wage) AS w FROM labour GROUP BY sex)
SELECT MAX(w) - MIN(w) AS gap FROM by_sex;

-- [expression] hourly pay from weekly pay: a division by a column, which is NULL where it is 0
SELECT AVG(weekly_wage / NULLIF(hours, 0)) FROM labour;

-- [expression] LN of a wage, as economists have it
SELECT education, AVG(LN(hourly_wage)) FROM labour WHERE hourly_wage > 0 GROUP BY education;

-- [rollup] totals beside groups
SELECT region, sex, COUNT(*) FROM labour GROUP BY ROLLUP (region, sex);

-- [window] rank of groups in the answer
SELECT occupation, AVG(hourly_wage) AS w, RANK() OVER (ORDER BY AVG(hourly_wage) DESC) AS place FROM labour GROUP BY occupation;

-- [derived] a sub-query in FROM that only names an expression
SELECT band, COUNT(*) FROM (SELECT CASE WHEN age < 40 THEN 'young' ELSE 'old' END AS band FROM labour) t GROUP BY band;

-- [log] the log wage gap, Mincer style
SELECT sex, AVG(LN(hourly_wage)) AS log_wage
FROM labour
WHERE hourly_wage >= 1
GROUP BY sex;

-- [log] log wage by sex, geometric mean
SELECT sex, EXP(AVG(LN(hourly_wage))) AS geometric_mean FROM labour WHERE hourly_wage > 0 GROUP BY sex;

-- [cte] gap between men and women by a self join of named aggregates
WITH w AS (SELECT sex, AVG(hourly_wage) AS wage FROM labour GROUP BY sex)
SELECT m.wage - f.wage AS gap, 1 - f.wage / m.wage AS relative_gap
FROM w m CROSS JOIN w f WHERE m.sex = 'male' AND f.sex = 'female';
