-- [hour] departures and mean delay by hour of the day
SELECT EXTRACT(HOUR FROM sched_dep) AS hr, COUNT(*) AS flights, ROUND(AVG(dep_delay), 1) AS delay
FROM flights WHERE NOT cancelled GROUP BY EXTRACT(HOUR FROM sched_dep) ORDER BY hr;

-- [hour] the same in SQLite
SELECT CAST(strftime('%H', sched_dep) AS INTEGER) AS hour, COUNT(*) FROM flights GROUP BY hour;

-- [weekday] by name of the day, DuckDB
SELECT dayname(flight_date) AS day, AVG(arr_delay) AS delay FROM flights GROUP BY day ORDER BY delay;

-- [weekday] weekends against weekdays
SELECT CASE WHEN EXTRACT(DOW FROM flight_date) IN (0, 6) THEN 'weekend' ELSE 'weekday' END AS part, COUNT(*) * 1.0 / COUNT(DISTINCT flight_date) AS flights_per_day FROM flights GROUP BY 1;

-- [month] monthly cancellation rate
SELECT DATE_TRUNC('month', flight_date) AS month, AVG(CASE WHEN cancelled THEN 1 ELSE 0 END) AS rate FROM flights GROUP BY 1 ORDER BY 1;

-- [month] by MONTH and YEAR functions
SELECT YEAR(flight_date) AS y, MONTH(flight_date) AS m, COUNT(*) AS n FROM flights WHERE MONTH(flight_date) IN (6, 7, 8) GROUP BY YEAR(flight_date), MONTH(flight_date) ORDER BY 1, 2;

-- [bigquery] TIMESTAMP_TRUNC and TIMESTAMP_DIFF
SELECT TIMESTAMP_TRUNC(sched_dep, MONTH) AS m, AVG(TIMESTAMP_DIFF(actual_dep, sched_dep, MINUTE)) AS late FROM flights WHERE dep_delay > 0 GROUP BY m;

-- [t-sql] DATEPART and DATEDIFF
SELECT DATEPART(hour, sched_dep) AS hr, AVG(DATEDIFF(minute, sched_dep, actual_dep)) AS wait FROM flights WHERE cancelled = 0 GROUP BY DATEPART(hour, sched_dep);

-- [join] the airline's name, sorted by lateness
SELECT a.name, COUNT(*) AS flights, AVG(f.arr_delay) AS mean_delay, AVG(CASE WHEN f.arr_delay > 15 THEN 1.0 ELSE 0 END) AS late_share
FROM flights f INNER JOIN airlines a ON a.code = f.carrier
GROUP BY a.name HAVING COUNT(*) > 30 ORDER BY late_share DESC;

-- [join] regions of destinations by both tables
SELECT ap.region, al.low_cost, COUNT(*) AS n FROM flights AS f
LEFT JOIN airports AS ap ON f.dest = ap.code
LEFT JOIN airlines AS al ON f.carrier = al.code
GROUP BY ap.region, al.low_cost ORDER BY n DESC;

-- [join] flights within one state: both ends joined
SELECT COUNT(*) FROM flights f JOIN airports o ON f.origin = o.code JOIN airports d ON f.dest = d.code WHERE o.state = d.state;

-- [open] the ten most frequent destinations and their share
SELECT dest, COUNT(*) AS n, ROUND(COUNT(*) * 100.0 / (SELECT COUNT(*) FROM flights), 2) AS pct FROM flights GROUP BY dest ORDER BY n DESC LIMIT 10;

-- [open] pairs of origin and destination
SELECT origin, dest, COUNT(*) AS n, AVG(distance) AS miles FROM flights GROUP BY origin, dest HAVING COUNT(*) > 10 ORDER BY n DESC LIMIT 5;

-- [speed] miles per hour, a division by a column
SELECT carrier, AVG(distance * 60.0 / NULLIF(air_time, 0)) AS mph FROM flights GROUP BY carrier ORDER BY mph DESC;

-- [speed] total distance over total time
SELECT carrier, SUM(distance) / (SUM(air_time) / 60.0) AS mph FROM flights WHERE air_time IS NOT NULL GROUP BY carrier;

-- [late] flights late by more than an interval
SELECT origin, COUNT(*) FROM flights WHERE actual_dep - sched_dep > INTERVAL '1 hour' GROUP BY origin;

-- [late] late by seconds
SELECT AVG(EXTRACT(EPOCH FROM actual_dep) - EXTRACT(EPOCH FROM sched_dep)) / 60 AS minutes FROM flights;

-- [made up] made up time in the air
SELECT carrier, AVG(dep_delay - arr_delay) AS gained, SUM(CASE WHEN arr_delay < dep_delay THEN 1 ELSE 0 END) AS caught_up FROM flights GROUP BY carrier HAVING AVG(dep_delay - arr_delay) > 0;

-- [bins] delay classes
SELECT CASE WHEN cancelled THEN 'cancelled' WHEN dep_delay <= 0 THEN 'on time' WHEN dep_delay <= 15 THEN 'slightly late' WHEN dep_delay <= 60 THEN 'late' ELSE 'very late' END AS class, COUNT(*) AS n
FROM flights GROUP BY class ORDER BY n DESC;

-- [bins] a histogram of distance by 500 miles
SELECT 500 * (distance / 500) AS miles, COUNT(*) FROM flights GROUP BY 1 ORDER BY 1;

-- [bins] time of day in four parts
SELECT CASE WHEN EXTRACT(HOUR FROM sched_dep) < 6 THEN 'night' WHEN EXTRACT(HOUR FROM sched_dep) < 12 THEN 'morning' WHEN EXTRACT(HOUR FROM sched_dep) < 18 THEN 'afternoon' ELSE 'evening' END AS daypart, MEDIAN(dep_delay) AS med
FROM flights WHERE cancelled = FALSE GROUP BY daypart;

-- [text] to_char of a month that WHERE restricts
SELECT to_char(flight_date, 'YYYY-MM') AS ym, COUNT(*) FROM flights WHERE flight_date >= '2013-11-01' GROUP BY ym ORDER BY ym;

-- [text] strftime of a month that WHERE restricts by BETWEEN
SELECT strftime('%Y-%m', flight_date) AS ym, SUM(distance) AS miles FROM flights WHERE flight_date BETWEEN '2013-02-01' AND '2013-04-30' GROUP BY ym;

-- [share] share of each carrier at each airport
SELECT origin, carrier, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY origin) AS share FROM flights GROUP BY origin, carrier ORDER BY origin, share DESC;

-- [topk] the two busiest carriers of each airport by QUALIFY
SELECT origin, carrier, COUNT(*) AS n FROM flights GROUP BY origin, carrier QUALIFY ROW_NUMBER() OVER (PARTITION BY origin ORDER BY COUNT(*) DESC) <= 2;

-- [moving] three-month moving average
SELECT date_trunc('month', flight_date) AS m, COUNT(*) AS n, AVG(COUNT(*)) OVER (ORDER BY date_trunc('month', flight_date) ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS ma3 FROM flights GROUP BY 1 ORDER BY 1;

-- [cumulative] share up to a month, with a named window
SELECT EXTRACT(MONTH FROM flight_date) AS m, SUM(COUNT(*)) OVER w AS running FROM flights GROUP BY 1 WINDOW w AS (ORDER BY EXTRACT(MONTH FROM flight_date) ROWS UNBOUNDED PRECEDING);

-- [scalar] later than the carrier average of all
SELECT COUNT(*) AS later FROM flights WHERE dep_delay > (SELECT AVG(dep_delay) + 2 * STDDEV(dep_delay) FROM flights);

-- [extremes] first and last flight, and the span
SELECT MIN(flight_date) AS first, MAX(flight_date) AS last, MAX(flight_date) - MIN(flight_date) AS days FROM flights;

-- [distinct] planes by carrier
SELECT carrier, COUNT(DISTINCT tailnum) AS planes, 1.0 * COUNT(*) / COUNT(DISTINCT tailnum) AS flights_per_plane FROM flights GROUP BY carrier;

-- [sqrt] root mean square delay
SELECT SQRT(AVG(dep_delay * dep_delay)) AS rms FROM flights;

-- [regression] delay on distance by origin
SELECT origin, REGR_SLOPE(arr_delay, dep_delay) AS b, CORR(arr_delay, dep_delay) AS r FROM flights GROUP BY origin;

-- [union] three periods
SELECT 'Q1' AS period, AVG(dep_delay) AS delay FROM flights WHERE flight_date < '2013-04-01'
UNION ALL SELECT 'Q2', AVG(dep_delay) FROM flights WHERE flight_date >= '2013-04-01' AND flight_date < '2013-07-01'
UNION ALL SELECT 'H2', AVG(dep_delay) FROM flights WHERE flight_date >= '2013-07-01';

