-- [text] keywords in every case, LIMIT ALL left out, COUNT(1)
sElEcT origin, cOuNt(1) FrOm flights gRoUp bY origin oRdEr By 2 dEsC;

-- [text] a comment before and after
/* on-time report, asked weekly */
SELECT carrier, AVG(arr_delay <= 0) AS on_time FROM flights WHERE cancelled = FALSE GROUP BY carrier; -- end of report

-- [text] alias.column in quotes, ORDER BY position
SELECT "f"."origin" AS "Origin", SUM("f"."distance") AS "Miles" FROM flights AS "f" GROUP BY "f"."origin" ORDER BY 2 DESC LIMIT 2;

-- [text] ORDER BY an expression of aggregates, NULLS LAST
SELECT carrier, AVG(dep_delay) AS d FROM flights GROUP BY carrier ORDER BY AVG(dep_delay) DESC NULLS LAST LIMIT 5;

-- [text] a prefix of tail numbers
SELECT COUNT(*) FROM flights WHERE tailnum LIKE 'N1%' AND dest <> 'ATL' AND dest != 'BOS';

-- [join] destination's region by LEFT JOIN, rows without one in their own group
SELECT ap.region, COUNT(*) AS n FROM flights f LEFT JOIN airports ap ON ap.code = f.dest GROUP BY ap.region;

-- [join] a public column in WHERE
SELECT f.carrier, COUNT(*) AS n
FROM flights AS f INNER JOIN airports AS d ON f.dest = d.code
WHERE d.state = 'FL'
GROUP BY f.carrier;

-- [join] two public tables
SELECT al.low_cost, ap.region, AVG(f.dep_delay) AS delay
FROM flights f
JOIN airlines al ON al.code = f.carrier
JOIN airports ap ON ap.code = f.dest
GROUP BY al.low_cost, ap.region;

-- [join] a boolean of a public table inside an aggregate
SELECT f.origin, AVG(CASE WHEN al.low_cost THEN f.dep_delay END) AS low_cost_delay
FROM flights f JOIN airlines al ON f.carrier = al.code
GROUP BY f.origin;

-- [join] USING-like: the same airport table for the origin
SELECT o.name AS airport, COUNT(*) FROM flights f JOIN airports o ON f.origin = o.code GROUP BY o.name;

-- [open groups] pairs of origin and destination
SELECT origin, dest, COUNT(*) AS n FROM flights GROUP BY origin, dest ORDER BY n DESC LIMIT 5;

-- [open groups] busiest aircraft, with HAVING
SELECT tailnum, COUNT(*) AS flights FROM flights WHERE tailnum IS NOT NULL GROUP BY tailnum HAVING COUNT(*) >= 5;

-- [open groups] an average of each destination
SELECT dest, COUNT(*) AS n, AVG(arr_delay) AS delay FROM flights GROUP BY dest ORDER BY n DESC LIMIT 10;

-- [distinct] destinations of each carrier
SELECT carrier, COUNT(DISTINCT dest) AS destinations FROM flights GROUP BY carrier;

-- [distinct] tails and destinations at once, with a filter
SELECT COUNT(DISTINCT tailnum) AS tails, COUNT(DISTINCT dest) AS dests FROM flights WHERE flight_date < DATE '2013-07-01';

-- [dates] timestamps compared with a literal
SELECT COUNT(*) FROM flights WHERE sched_dep >= TIMESTAMP '2013-06-01 00:00:00' AND sched_dep < TIMESTAMP '2013-06-08 00:00:00';

-- [dates] a week, by day
SELECT date_trunc('day', sched_dep) AS day, COUNT(*) FROM flights
WHERE flight_date BETWEEN '2013-12-20' AND '2013-12-31' GROUP BY 1;

-- [dates] month and origin as a cross-table
SELECT EXTRACT(MONTH FROM flight_date) AS m, origin, AVG(arr_delay) FROM flights GROUP BY 1, 2;

-- [dates] morning and evening by CASE of the hour
SELECT CASE WHEN EXTRACT(HOUR FROM sched_dep) < 12 THEN 'morning' ELSE 'later' END AS part, AVG(dep_delay) FROM flights GROUP BY 1;

-- [expression] minutes to hours with a cast
SELECT AVG(air_time::numeric / 60) AS hours FROM flights;

-- [expression] delays without early departures
SELECT carrier, SUM(GREATEST(dep_delay, 0)) AS minutes_late FROM flights GROUP BY carrier;

-- [expression] the sign of a delay as a group, unary minus
SELECT dep_delay > 0 AS late, AVG(-arr_delay) AS early_by FROM flights WHERE dep_delay IS NOT NULL GROUP BY 1;

-- [expression] expected minutes in the air from the distance
SELECT AVG(air_time - distance * 0.12) AS surplus, AVG(CEIL(air_time / 60.0)) AS started_hours FROM flights;

-- [filter] late, early and cancelled side by side
SELECT origin,
       COUNT(*) FILTER (WHERE dep_delay > 15) AS late,
       COUNT(*) FILTER (WHERE dep_delay <= 0) AS early,
       COUNT(*) FILTER (WHERE cancelled) AS cancelled,
       AVG(arr_delay) FILTER (WHERE distance > 1000) AS far_delay
FROM flights GROUP BY origin;

-- [ratio] cancellation rate in percent, rounded
SELECT carrier, ROUND(100.0 * SUM(CASE WHEN cancelled THEN 1 ELSE 0 END) / COUNT(*), 2) AS pct FROM flights GROUP BY carrier
HAVING COUNT(*) > 100 ORDER BY pct DESC;

-- [share] of each origin
SELECT origin, COUNT(*) AS n, ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (), 1) AS pct FROM flights GROUP BY origin;

-- [bins] delays in steps of 30 minutes, negative ones too
SELECT FLOOR(arr_delay / 30.0) * 30 AS from_minutes, COUNT(*) FROM flights WHERE arr_delay IS NOT NULL GROUP BY from_minutes ORDER BY 1;

-- [variance] reliability of carriers
SELECT carrier, STDDEV_SAMP(arr_delay) AS sd FROM flights GROUP BY carrier ORDER BY sd;

-- [regression] speed from distance and time
SELECT REGR_SLOPE(air_time, distance) AS minutes_per_mile, REGR_INTERCEPT(air_time, distance) AS fixed, CORR(air_time, distance)
FROM flights WHERE NOT cancelled;

-- [quantile] several in one question, as functions
SELECT QUANTILE(dep_delay, 0.5) AS q50, QUANTILE(dep_delay, 0.9) AS q90, QUANTILE(dep_delay, 0.99) AS q99 FROM flights;

-- [scalar] two sub-queries in one row
SELECT (SELECT COUNT(*) FROM flights WHERE cancelled) * 1.0 / (SELECT COUNT(*) FROM flights) AS cancelled_share;

-- [having] carriers whose flights are late more often than not
SELECT carrier FROM flights GROUP BY carrier HAVING AVG(arr_delay > 0) > 0.5;

-- [count] a nested condition
SELECT COUNT(*) FROM flights
WHERE (origin = 'JFK' AND (dest IN ('LAX', 'SFO') OR distance > 2400)) AND NOT (cancelled OR dep_delay IS NULL);

-- [dates] first and last day of the records
SELECT MIN(flight_date), MAX(flight_date) FROM flights;
