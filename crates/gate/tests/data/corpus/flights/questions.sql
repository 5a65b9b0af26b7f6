-- [average] delay by carrier, worst first
SELECT carrier, COUNT(*) AS flights, AVG(dep_delay) AS avg_delay
FROM flights
GROUP BY carrier
ORDER BY avg_delay DESC;

-- [expression] share of late departures, a comparison as a number
SELECT origin, AVG(dep_delay > 15) AS share_late FROM flights GROUP BY origin;

-- [join] names of airlines from a public table
SELECT a.name, COUNT(*) AS flights, AVG(f.arr_delay) AS avg_arr_delay
FROM flights f
JOIN airlines a ON f.carrier = a.code
GROUP BY a.name
ORDER BY flights DESC;

-- [open groups] the ten most frequent destinations, which nobody declared
SELECT dest, COUNT(*) AS n
FROM flights
GROUP BY dest
ORDER BY n DESC
LIMIT 10;

-- [dates] flights and cancellations by month
SELECT date_trunc('month', flight_date) AS month,
       COUNT(*) AS flights,
       SUM(CASE WHEN cancelled THEN 1 ELSE 0 END) AS cancelled
FROM flights
GROUP BY month
ORDER BY month;

-- [dates] delay by hour of the day, from a timestamp
SELECT EXTRACT(HOUR FROM sched_dep) AS hour, AVG(dep_delay) AS avg_delay
FROM flights
WHERE NOT cancelled
GROUP BY 1
ORDER BY 1;

-- [dates] by day of the week
SELECT EXTRACT(DOW FROM flight_date) AS dow, COUNT(*) AS n FROM flights GROUP BY EXTRACT(DOW FROM flight_date) ORDER BY dow;

-- [distinct] aircraft in use
SELECT COUNT(DISTINCT tailnum) AS aircraft FROM flights;

-- [quantile] median and 95th percentile of delay by origin
SELECT origin,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY arr_delay) AS p50,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY arr_delay) AS p95
FROM flights
GROUP BY origin;

-- [bins] histogram of distance
SELECT width_bucket(distance, 0, 3000, 6) AS bucket, COUNT(*) FROM flights GROUP BY bucket ORDER BY bucket;

-- [minmax] shortest and longest time in the air
SELECT MIN(air_time) AS shortest, MAX(air_time) AS longest FROM flights WHERE air_time IS NOT NULL;

-- [union] cancellations and delays in one table
SELECT 'cancelled' AS what, COUNT(*) AS n FROM flights WHERE cancelled
UNION ALL
SELECT 'late by an hour or more', COUNT(*) FROM flights WHERE dep_delay >= 60;

-- [scalar] carriers' delay beside the overall one
SELECT carrier, AVG(arr_delay) - (SELECT AVG(arr_delay) FROM flights) AS above_average
FROM flights
GROUP BY carrier
ORDER BY above_average DESC;

-- [ratio] minutes made up in the air, by distance class
SELECT CASE WHEN distance < 500 THEN 'short' WHEN distance < 1500 THEN 'medium' ELSE 'long' END AS haul,
       AVG(dep_delay - arr_delay) AS made_up,
       SUM(distance) * 60.0 / SUM(air_time) AS mph
FROM flights
WHERE NOT cancelled AND arr_delay IS NOT NULL
GROUP BY 1;
