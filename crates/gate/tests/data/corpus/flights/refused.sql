-- [rows] all rows
select * from flights limit 100;

-- [rows] the most delayed flights are single rows
SELECT flight_date, carrier, tailnum, arr_delay FROM flights ORDER BY arr_delay DESC LIMIT 10;

-- [join] the public table is joined on a column that is not unique there
SELECT COUNT(*) FROM flights f JOIN airports a ON f.origin = a.region;

-- [join] not an equality of one key
SELECT COUNT(*) FROM flights f JOIN airports a ON f.dest > a.code;

-- [join] a product of tables
SELECT COUNT(*) FROM flights CROSS JOIN airports;

-- [join] the private table joined to itself: connections of one aircraft
SELECT COUNT(*) FROM flights a JOIN flights b ON a.tailnum = b.tailnum AND a.dest = b.origin;

-- [groups] more groups than are answered: minutes of a year
SELECT date_trunc('minute', sched_dep), COUNT(*) FROM flights GROUP BY 1;

-- [fails] a division by a column that may be 0
SELECT AVG(distance / air_time) FROM flights;

-- [overflow] the derived range is beyond what is summed exactly
SELECT SUM(distance * distance * distance * distance * distance * distance) FROM flights;

-- [time] what depends on the day of asking
SELECT COUNT(*) FROM flights WHERE flight_date > CURRENT_DATE - 30;

-- [lock] a statement that changes or locks something
SELECT COUNT(*) FROM flights FOR UPDATE;

-- [table] a table of the engine itself
SELECT COUNT(*) FROM pg_catalog.pg_stat_activity;

-- [recursion] a recursive question
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM flights, r;
