-- [rows] all columns of all rows: nothing is aggregated
SELECT * FROM labour;

-- [rows] rows of single people, sorted: nothing is aggregated
SELECT person, hourly_wage FROM labour ORDER BY hourly_wage DESC LIMIT 10;

-- [rows] the distinct values of a column without categories are facts about people
SELECT DISTINCT state FROM labour;

-- [column] a column that is neither aggregated nor grouped by
SELECT region, age, COUNT(*) FROM labour GROUP BY region;

-- [bounds] a sum of a column without bounds
SELECT SUM(person) FROM labour;

-- [rows] a list of all values in one row
SELECT string_agg(state, ',') FROM labour;

-- [rows] any value is the value of one person
SELECT ANY_VALUE(hourly_wage) FROM labour;

-- [window] a window over rows shows rows
SELECT person, RANK() OVER (ORDER BY hourly_wage) FROM labour;

-- [fails] a cast of text to a number fails on some rows, and the error would tell which
SELECT AVG(CAST(state AS INTEGER)) FROM labour;

-- [fails] a division by a column fails where it is 0
SELECT AVG(weekly_wage / hours) FROM labour;

-- [join] the private table joined to itself by a column that is not the unit's
SELECT COUNT(*) FROM labour a JOIN labour b ON a.state = b.state;

-- [correlated] a sub-query that depends on each row
SELECT COUNT(*) FROM labour l WHERE l.hourly_wage > (SELECT AVG(m.hourly_wage) FROM labour m WHERE m.state = l.state);

-- [statement] two statements
SELECT COUNT(*) FROM labour; DROP TABLE labour;
