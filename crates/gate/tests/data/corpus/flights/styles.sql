-- [first and last] the records' period, and how long it is
SELECT MIN(sched_dep) AS first_departure, MAX(sched_dep) AS last_departure, MAX(flight_date) - MIN(flight_date) + 1 AS days FROM flights;

-- [on time] A14 by carrier, from a derived table
SELECT carrier, AVG(on_time) AS a14 FROM (SELECT carrier, CASE WHEN arr_delay <= 14 THEN 1 ELSE 0 END AS on_time FROM flights WHERE NOT cancelled) f
GROUP BY carrier ORDER BY a14 DESC;

-- [cte] the busiest destinations, named and shortened
WITH top AS (SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest) SELECT dest, n FROM top ORDER BY n DESC LIMIT 5;

-- [cte] sorted by what is not shown
WITH top AS (SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest) SELECT dest FROM top ORDER BY n DESC LIMIT 3;

-- [day] a timestamp as a day
SELECT sched_dep::date AS day, COUNT(*) AS departures FROM flights WHERE sched_dep::date BETWEEN '2013-07-01' AND '2013-07-07' GROUP BY 1 ORDER BY 1;

-- [taxi] minutes between two timestamps
SELECT origin, AVG(EXTRACT(EPOCH FROM (actual_dep - sched_dep)) / 60.0) AS minutes FROM flights GROUP BY origin;

-- [left join] flights of airports that the table does not have
SELECT COALESCE(a.name, 'unknown') AS airport, COUNT(*) AS n FROM flights f LEFT JOIN airports a ON f.dest = a.code GROUP BY 1 ORDER BY n DESC LIMIT 5;

-- [union] two periods side by side from one named selection
WITH late AS (SELECT flight_date, carrier FROM flights WHERE dep_delay >= 60)
SELECT 'summer' AS season, COUNT(*) AS n FROM late WHERE MONTH(flight_date) IN (6, 7, 8)
UNION ALL
SELECT 'winter', COUNT(*) FROM late WHERE MONTH(flight_date) IN (12, 1, 2);

-- [share] carriers' market share, large ones only
SELECT carrier, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share FROM flights GROUP BY carrier HAVING COUNT(*) > 50 ORDER BY share DESC;

-- [regression] does distance explain the time in the air
SELECT REGR_SLOPE(air_time, distance) AS minutes_per_mile, REGR_INTERCEPT(air_time, distance) AS fixed, CORR(air_time, distance) AS r FROM flights WHERE air_time > 0;

-- [hour] by date_part, written in another way
SELECT date_part('hour', sched_dep) AS h, COUNT(*) FILTER (WHERE cancelled) * 100.0 / COUNT(*) AS cancelled_percent FROM flights GROUP BY h ORDER BY h;

-- [speed] miles per hour, from sums, of what was flown
SELECT carrier, SUM(distance) / (SUM(air_time) / 60.0) AS mph FROM flights WHERE cancelled IS NOT TRUE GROUP BY ALL;
