-- [interval] a month from its first day
SELECT carrier, COUNT(*) AS departures
FROM flights
WHERE flight_date >= DATE '2013-03-01' AND flight_date < DATE '2013-03-01' + INTERVAL '1 month'
GROUP BY carrier
ORDER BY departures DESC;

-- [on time] left within a quarter of an hour of the schedule
SELECT origin, AVG(CASE WHEN actual_dep <= sched_dep + INTERVAL '15 minutes' THEN 1 ELSE 0 END) AS otp
FROM flights
WHERE NOT cancelled
GROUP BY origin;

-- [speed] miles per hour in the air
SELECT carrier, AVG(distance * 60.0 / NULLIF(air_time, 0)) AS mph
FROM flights
WHERE air_time > 0
GROUP BY carrier
ORDER BY mph DESC;

-- [rank] airports by delay, with dense ranks
SELECT origin, ROUND(AVG(dep_delay), 1) AS delay, DENSE_RANK() OVER (ORDER BY AVG(dep_delay)) AS place
FROM flights
GROUP BY origin
ORDER BY place;

-- [share] each carrier's share at each airport
SELECT origin, carrier, COUNT(*) AS flights, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY origin) AS share
FROM flights
GROUP BY origin, carrier
ORDER BY origin, share DESC;

-- [running] flights since the beginning of the year, by month
SELECT EXTRACT(MONTH FROM flight_date) AS month, COUNT(*) AS flights,
       SUM(COUNT(*)) OVER (ORDER BY EXTRACT(MONTH FROM flight_date)) AS year_to_date
FROM flights
GROUP BY EXTRACT(MONTH FROM flight_date)
ORDER BY month;

-- [cube] cancellations by origin and carrier, with all totals
SELECT origin, cancelled, COUNT(*) AS n FROM flights GROUP BY CUBE (origin, cancelled);

-- [route] routes as one text
SELECT CONCAT(origin, '-', carrier) AS line, COUNT(*) AS n, AVG(arr_delay) AS delay FROM flights GROUP BY CONCAT(origin, '-', carrier) ORDER BY n DESC LIMIT 10;

-- [weekday] delays by the name of the weekday
SELECT TO_CHAR(flight_date, 'Dy') AS weekday, AVG(dep_delay) AS delay FROM flights GROUP BY TO_CHAR(flight_date, 'Dy');

-- [moving average] a three-month moving average of the delay
SELECT DATE_TRUNC('month', flight_date) AS month, AVG(AVG(arr_delay)) OVER (ORDER BY DATE_TRUNC('month', flight_date) ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS smoothed
FROM flights
GROUP BY DATE_TRUNC('month', flight_date)
ORDER BY month;

-- [top] the busiest three carriers, in the words of SQL Server
SELECT TOP 3 carrier, COUNT(*) AS n FROM flights GROUP BY carrier ORDER BY n DESC;

-- [prefix] destinations that begin with S
SELECT COUNT(*) AS n FROM flights WHERE LEFT(dest, 1) = 'S' AND carrier != 'UA';

-- [hours] by hour of the scheduled departure, evening only
SELECT EXTRACT(HOUR FROM sched_dep) AS hour, COUNT(*) AS n, 100.0 * SUM(CASE WHEN dep_delay > 30 THEN 1 END) / COUNT(*) AS late
FROM flights
WHERE EXTRACT(HOUR FROM sched_dep) BETWEEN 17 AND 22
GROUP BY hour
ORDER BY hour;

-- [qualify] the two most delayed carriers
SELECT carrier, AVG(dep_delay) AS delay FROM flights GROUP BY carrier QUALIFY ROW_NUMBER() OVER (ORDER BY AVG(dep_delay) DESC) <= 2;
