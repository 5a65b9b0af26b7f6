-- [dates] minutes between two timestamps by EPOCH
SELECT AVG(EXTRACT(EPOCH FROM (actual_dep - sched_dep)) / 60) AS minutes FROM flights;

-- [dates] an hour written by to_char
SELECT to_char(sched_dep, 'HH24') AS hour, COUNT(*) FROM flights GROUP BY 1;

-- [dates] a timestamp cast to a date
SELECT sched_dep::date AS day, COUNT(*) FROM flights WHERE sched_dep::date < '2013-01-15' GROUP BY 1;

-- [cte] the top destinations by a named question
WITH top AS (SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest) SELECT dest FROM top ORDER BY n DESC LIMIT 3;

-- [window] running total over the months of the answer
SELECT date_trunc('month', flight_date) AS m, SUM(COUNT(*)) OVER (ORDER BY date_trunc('month', flight_date)) FROM flights GROUP BY 1;

-- [join] USING
SELECT name, COUNT(*) FROM flights JOIN (SELECT code AS carrier, name FROM airlines) a USING (carrier) GROUP BY name;

-- [text] two columns as one text
SELECT origin || '-' || carrier AS pair, COUNT(*) FROM flights GROUP BY 1;

-- [sqrt] a root of a column
SELECT AVG(SQRT(distance)) AS root FROM flights;

-- [in] destinations by a sub-query of a public table
SELECT COUNT(*) FROM flights WHERE dest IN (SELECT code FROM airports WHERE region = 'west');

-- [exists] low-cost carriers by EXISTS
SELECT COUNT(*) FROM flights f WHERE EXISTS (SELECT 1 FROM airlines a WHERE a.code = f.carrier AND a.low_cost);
