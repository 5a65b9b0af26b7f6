-- [rows] patients one by one: nothing is aggregated
SELECT patient, age, diagnosis FROM health WHERE "Post Code" = '61445';

-- [rows] the newest rows
SELECT * FROM health ORDER BY admitted DESC LIMIT 5;

-- [unit] grouped by the patient: every group is one person
SELECT patient, SUM(cost) FROM health GROUP BY patient;

-- [rows] all values of a group in a list
SELECT hospital, array_agg(cost) FROM health GROUP BY hospital;

-- [column] an unknown column, with a similar name that exists
SELECT AVG(systolc) FROM health;

-- [bounds] the sum of text
SELECT SUM("Post Code") FROM health;

-- [join] two private tables on a column that is not the unit's
SELECT COUNT(*) FROM health h JOIN labour l ON h.age = l.age;

-- [join] a private table joined to itself: pairs of patients of one post code
SELECT COUNT(*) FROM health a, health b WHERE a."Post Code" = b."Post Code" AND a.patient <> b.patient;

-- [fails] a cast of text fails on some rows
SELECT AVG("Post Code"::integer) FROM health;

-- [fails] a square root of a difference fails below 0
SELECT AVG(SQRT(systolic - diastolic)) FROM health;

-- [exists] a condition on other rows of the same patient
SELECT COUNT(*) FROM health h WHERE EXISTS (SELECT 1 FROM health g WHERE g.patient = h.patient AND g.readmitted);

-- [subquery] a list of patients from the private table
SELECT COUNT(*) FROM health WHERE patient IN (SELECT patient FROM health WHERE cost > 40000);

-- [random] a random sample of rows
SELECT COUNT(*) FROM health WHERE RANDOM() < 0.1;

-- [file] a function that reads a file
SELECT pg_read_file('/etc/passwd'), COUNT(*) FROM health;
