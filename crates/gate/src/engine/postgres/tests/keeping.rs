//! Which rows of a unit are kept.

use super::*;
use crate::engine::postgres::keep::encoded;
use crate::register::ImportedRows;

const KEY: [u8; 32] = [7; 32];

/// Orders of forty people, up to eight each, in an order that depends on the seed, and some without a person.
fn orders(seed: f64, people: &str) -> String {
    format!(
        "CREATE TABLE orders (person text, amount float8, item varchar, paid bool, count int2, noise float8);
         SELECT setseed({seed});
         INSERT INTO orders
         SELECT 'p' || person, amount * 1.1, 'item ' || amount % 3, amount % 2 = 0, amount, random()
         FROM generate_series(1, 40) AS person, generate_series(1, 8) AS amount
         WHERE amount <= 1 + person % 8 AND {people}
         ORDER BY random();
         INSERT INTO orders SELECT NULL, amount, 'lost', true, amount, 0 FROM generate_series(1, 5) AS amount;"
    )
}

fn orders_schema(most: u32) -> Schema {
    schema(
        Some(("person", most)),
        vec![
            column("person", ColumnType::Text),
            column("amount", ColumnType::Real),
            column("item", ColumnType::Text),
            column("paid", ColumnType::Boolean),
            column("count", ColumnType::Integer),
        ],
    )
}

/// Keeps rows of a table of this name.
fn keep(url: &str, name: &str, schema: &Schema, key: &[u8; 32]) -> (Table, ImportedRows) {
    keep_rows(url, &find_table(url, name).unwrap().table, schema, key, "kept").unwrap()
}

/// What is kept of the orders, sorted.
fn kept_orders(statements: &str, most: u32, key: &[u8; 32]) -> (ImportedRows, Vec<String>) {
    let url = database(statements);
    let (_, kept) = keep(&url, "orders", &orders_schema(most), key);
    let mut rows = lines(&url, "SET extra_float_digits = 1; SELECT * FROM taximeter_gate.kept");
    rows.sort();
    (kept, rows)
}

fn lines(url: &str, statement: &str) -> Vec<String> {
    query(url, statement).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn what_is_kept_depends_on_the_rows_of_the_unit_and_the_key_alone() {
    let (kept, rows) = kept_orders(&orders(0.1, "true"), 3, &KEY);
    // Five people of every size from one to eight rows: 5 · (1 + 2 + 3·6) are kept.
    assert_eq!((kept.rows, kept.kept, kept.without_unit), (185, 105, 5));
    assert_eq!(rows.len(), 105);

    let rounding =
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET extra_float_digits = -15', current_database()); END $$;";
    for (why, statements) in [
        ("the order of the rows, and columns outside of the schema", orders(0.9, "true")),
        ("the user's settings", format!("{rounding} {}", orders(0.2, "true"))),
    ] {
        assert_eq!(kept_orders(&statements, 3, &KEY).1, rows, "{why} must not matter");
    }
    let (_, others) = kept_orders(&orders(0.3, "person <> 7"), 3, &KEY);
    let without: Vec<String> = rows.iter().filter(|row| !row.starts_with("p7|")).cloned().collect();
    assert_eq!(others, without, "other units must not matter");
    assert_ne!(kept_orders(&orders(0.1, "true"), 3, &[8; 32]).1, rows, "which ones depends on the key");
    assert_eq!(kept_orders(&orders(0.1, "true"), 8, &KEY).0.kept, 180, "those with fewer rows keep all");
}

#[test]
fn equal_rows_count_like_others_and_units_are_told_apart_by_their_bytes() {
    let url = database(
        "CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         CREATE TABLE visits (person varchar COLLATE any_case, x int);
         INSERT INTO visits SELECT 'ann', 1 FROM generate_series(1, 5);
         INSERT INTO visits SELECT 'Ann', 1 FROM generate_series(1, 2);
         INSERT INTO visits VALUES ('', 1), (NULL, 1);",
    );
    let schema =
        schema(Some(("person", 3)), vec![column("person", ColumnType::Text), column("x", ColumnType::Integer)]);
    let (table, kept) = keep(&url, "visits", &schema, &KEY);
    assert_eq!((kept.rows, kept.kept, kept.without_unit), (9, 6, 1));
    let counts = "SELECT person, count(*) FROM taximeter_gate.kept GROUP BY 1 ORDER BY 2";
    assert_eq!(lines(&url, counts), ["|1", "Ann|2", "ann|3"]);

    // The copy is a table like others, with the types of the source.
    let mut engine = Postgres::connect(&url, table, ANSWER).unwrap();
    engine.check(&schema, ANSWER).unwrap();
    let units = measuring(&engine, &schema, None, &[], &[Measure::of(Quantity::Units)]);
    assert_eq!(engine.run(&units, MOST).unwrap()[0].measures, [3]);
    let found = find_table(&url, "taximeter_gate.kept").unwrap();
    assert_eq!(found.columns, kinds(&schema));
    assert_eq!(query(&url, "SELECT pg_typeof(x) FROM taximeter_gate.kept LIMIT 1").unwrap(), "integer");
}

#[test]
fn rows_that_differ_are_encoded_differently() {
    let url = database(
        "CREATE TABLE rows (a text, b text, x float8, n int, f bool);
         INSERT INTO rows VALUES
             ('a', 'bc', 0, 0, false), ('ab', 'c', 0, 0, false), ('', 'abc', 0, 0, false), (NULL, 'abc', 0, 0, false),
             ('abc', '', 0, 0, false), ('abc', NULL, 0, 0, false), (NULL, NULL, 0, 0, false), ('', '', 0, 0, false),
             ('a', 'b', '-0', 0, false), ('a', 'b', 0, 0, false), ('a', 'b', 'NaN', 0, false), ('a', 'b', 'Infinity', 0, false),
             ('a', 'b', 1, 0, false), ('a', 'b', 1.0000000000000002, 0, false), ('a', 'b', 4.9e-324, 0, false),
             ('a', 'b', NULL, 0, false), ('a', 'b', 0, NULL, false), ('a', 'b', 0, 0, NULL), ('a', 'b', 0, 0, true),
             (E'a\x01b', 'c', 0, 0, false), ('a', E'b\x01c', 0, 0, false), ('a', 'b', 0, 1, false), ('a', 'b', 0, -1, false),
             ('é', 'b', 0, 0, false), ('é', 'b', 0, 0, false);",
    );
    let columns = [
        column("a", ColumnType::Text),
        column("b", ColumnType::Text),
        column("x", ColumnType::Real),
        column("n", ColumnType::Integer),
        column("f", ColumnType::Boolean),
    ];
    let row = columns.iter().map(encoded).collect::<Vec<_>>().join(" || ");
    let counts = format!("SELECT count(*), count({row}), count(DISTINCT {row}) FROM rows");
    assert_eq!(query(&url, &counts).unwrap(), "25|25|24", "only the last two are equal");
}

#[test]
fn dates_times_and_decimals_are_encoded_and_copied_as_they_are() {
    let url = database(
        "CREATE TABLE rows (person int, d date, t timestamp, z timestamptz, p numeric(20, 3));
         INSERT INTO rows VALUES
             (1, NULL, NULL, NULL, NULL), (2, '2024-02-29', NULL, NULL, NULL), (3, NULL, '2024-02-29', NULL, NULL),
             (4, NULL, NULL, '2024-02-29', NULL), (5, 'infinity', 'infinity', 'infinity', 'NaN'),
             (6, '-infinity', '-infinity', '-infinity', 0), (7, '4713-01-01 BC', '294276-12-31 23:59:59.999999', '4713-01-01 BC', 0.001),
             (8, NULL, '2024-03-31 02:30', '2024-03-31 02:30', 1), (9, NULL, '2024-03-31 03:30', '2024-03-31 02:30', 1),
             (9, NULL, '2024-03-31 03:30', '2024-03-31 02:30', 1);",
    );
    let columns = vec![
        column("person", ColumnType::Integer),
        column("d", ColumnType::Date),
        column("t", ColumnType::Timestamp),
        column("z", ColumnType::Timestamp),
        column("p", ColumnType::Decimal),
    ];
    let row = columns[1..].iter().map(encoded).collect::<Vec<_>>().join(" || ");
    let counts = format!("SET TimeZone = 'UTC'; SELECT count(*), count({row}), count(DISTINCT {row}) FROM rows");
    assert_eq!(query(&url, &counts).unwrap().lines().last(), Some("10|10|9"), "only the last two are equal");
    let schema = schema(Some(("person", 1)), columns);
    assert_eq!(keep(&url, "rows", &schema, &KEY).1.kept, 9);
    let same = "SELECT count(*) FROM (SELECT * FROM rows INTERSECT SELECT * FROM taximeter_gate.kept) AS same";
    assert_eq!(query(&url, same).unwrap(), "9");
}

#[test]
fn the_copy_is_for_nobody_else_and_can_be_dropped() {
    let url = database(&format!(
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC; ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO PUBLIC; {}",
        orders(0.1, "true")
    ));
    let source = find_table(&url, "orders").unwrap().table;
    let (table, kept) = keep_rows(&url, &source, &orders_schema(2), &KEY, "Or\"ders v1").unwrap();
    assert_eq!((table.schema.as_str(), table.name.as_str()), ("taximeter_gate", "Or\"ders v1"));
    let privileges = "SELECT has_schema_privilege('public', 'taximeter_gate', 'USAGE'),
                             has_table_privilege('public', 'taximeter_gate.\"Or\"\"ders v1\"', 'SELECT')";
    assert_eq!(query(&url, privileges).unwrap(), "f|f");
    let analysed = "SELECT reltuples FROM pg_class WHERE relname = 'Or\"ders v1'";
    assert_eq!(query(&url, analysed).unwrap(), kept.kept.to_string());

    let (again, _) = keep_rows(&url, &source, &orders_schema(2), &KEY, "Or\"ders v1").unwrap();
    assert_ne!(again.oid, table.oid, "what was left is replaced");
    let (second, _) = keep_rows(&url, &source, &orders_schema(2), &KEY, "v2").unwrap();
    drop_table(&url, &Table { oid: source.oid, ..again.clone() }).unwrap();
    let tables = || query(&url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'taximeter_gate'").unwrap();
    assert_eq!(tables(), "2", "a table of that name with another number is another table");
    drop_table(&url, &again).unwrap();
    drop_table(&url, &again).unwrap();
    assert_eq!(tables(), "1");
    assert!(drop_table(&url, &source).unwrap_err().to_string().contains("is not a table of the gate"));
    assert!(find_table(&url, "taximeter_gate.v2").is_ok_and(|found| found.table == second));
}

#[test]
fn the_server_stops_when_the_process_that_keeps_rows_is_gone() {
    let url = new_database();
    let mut connection = open(&url, KEEP, ANSWER).unwrap();
    let left = connection.once(ANSWER, async |client| {
        let sleep = client.batch_execute("SELECT pg_sleep(3600)");
        assert!(tokio::time::timeout(Duration::from_millis(200), sleep).await.is_err());
        Err::<(), _>(SessionError::Lost("as if the program had been killed".to_string()))
    });
    assert!(left.is_err());
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    wait_until("the statement has ended", || query(&url, others).unwrap() == "0");
}

#[test]
fn what_cannot_be_kept_is_refused_and_leaves_nothing() {
    let url = database(&orders(0.1, "true"));
    let source = find_table(&url, "orders").unwrap().table;
    let all = schema(None, vec![column("amount", ColumnType::Real)]);
    let good = orders_schema(1);
    let other = Table { oid: 1, ..source.clone() };
    for (table, schema, why) in [
        (&source, &all, "only data whose unit is a column are copied"),
        (&other, &good, "another table than the one that was registered"),
    ] {
        let error = keep_rows(&url, table, schema, &KEY, "kept").unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    assert_eq!(query(&url, "SELECT count(*) FROM pg_namespace WHERE nspname = 'taximeter_gate'").unwrap(), "0");

    query(&url, "CREATE ROLE another_owner; CREATE SCHEMA taximeter_gate AUTHORIZATION another_owner").unwrap();
    query(&url, "CREATE ROLE keeper LOGIN PASSWORD 'keeper'; GRANT SELECT ON orders TO keeper").unwrap();
    let keeper = format!("postgres://keeper:keeper@{}", url.split_once('@').unwrap().1);
    let error = keep_rows(&keeper, &source, &good, &KEY, "kept").unwrap_err();
    assert!(error.to_string().contains("belongs to another_owner"), "{error}");
}
