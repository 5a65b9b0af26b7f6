//! Which tables and columns may be asked about.

use super::*;

#[test]
fn what_is_not_stored_rows_is_refused_with_what_to_do() {
    let url = database(
        "CREATE TABLE plain (x int);
         CREATE VIEW a_view AS SELECT 1 / x AS x FROM plain;
         CREATE MATERIALIZED VIEW unfilled AS SELECT x FROM plain WITH NO DATA;
         CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
         CREATE FOREIGN TABLE elsewhere (x int) SERVER nowhere;
         CREATE TABLE parts (x int) PARTITION BY RANGE (x);
         CREATE INDEX an_index ON plain (x);
         CREATE INDEX parts_index ON parts (x);
         CREATE SEQUENCE a_sequence;
         CREATE TYPE a_pair AS (x int, y int);
         CREATE TABLE secured (x int); ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
         CREATE TABLE parent (x int); CREATE TABLE child () INHERITS (parent);
         CREATE TABLE odd (price money, hour time);
         CREATE TABLE nothing_in_it ();",
    );
    for (name, why) in [
        ("a_view", "is a view, whose expressions may fail on a row; make a materialised view"),
        ("unfilled", "REFRESH MATERIALIZED VIEW"),
        ("elsewhere", "is a foreign table"),
        ("parts", "is a partitioned table"),
        ("an_index", "is an index"),
        ("parts_index", "is an index"),
        ("a_sequence", "is a sequence"),
        ("a_pair", "is not a table (its relkind is c)"),
        ("secured", "has row-level security"),
        ("parent", "has tables that inherit from it"),
        ("odd", "has no column that questions can use"),
        ("nothing_in_it", "has no column that questions can use"),
        ("missing", "there is no table \"missing\" in the schema \"public\""),
        ("other.plain", "there is no table \"plain\" in the schema \"other\""),
        ("a.b.c", "is not the name of a table"),
    ] {
        let error = find_table(&url, name).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(why), "{name}: {error}");
    }
    for name in ["plain", "public.PLAIN", "child"] {
        assert!(find_table(&url, name).is_ok(), "{name}");
    }
}

#[test]
fn columns_are_taken_by_their_exact_type() {
    let url = database(
        "CREATE DOMAIN positive AS int CHECK (value > 0);
         CREATE SCHEMA \"Sales\";
         CREATE TABLE \"Sales\".\"Or.ders\" (
             a int2, b int4, c int8, d float4, e float8, f text, g varchar(7), h bool,
             gone int, \"I \"\"x\"\" \" int, j int GENERATED ALWAYS AS (b + 1) STORED,
             k numeric, k2 numeric(10, 2), l date, m timestamptz, m2 timestamp(0), n positive, u time,
             o int[], p char(3), q bytea, r name, s \"char\", t oid
         );
         ALTER TABLE \"Sales\".\"Or.ders\" DROP COLUMN gone;",
    );
    let found = find_table(&url, "\"Sales\".\"Or.ders\"").unwrap();
    assert_eq!((found.table.schema.as_str(), found.table.name.as_str()), ("Sales", "Or.ders"));
    let columns: Vec<(&str, ColumnType)> = found.columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    use ColumnType::*;
    assert_eq!(
        columns,
        [
            ("a", Integer),
            ("b", Integer),
            ("c", Integer),
            ("d", Real),
            ("e", Real),
            ("f", Text),
            ("g", Text),
            ("h", Boolean),
            ("I \"x\" ", Integer),
            ("j", Integer),
            ("k", Decimal),
            ("k2", Decimal),
            ("l", Date),
            ("m", Timestamp),
            ("m2", Timestamp),
        ]
    );
    let left_out: Vec<(&str, &str)> = found.left_out.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect();
    assert_eq!(
        left_out,
        [
            ("n", "public.positive"),
            ("u", "time without time zone"),
            ("o", "integer[]"),
            ("p", "character(3)"),
            ("q", "bytea"),
            ("r", "name"),
            ("s", "\"char\""),
            ("t", "oid"),
        ]
    );
    let (mut engine, schema) = connected(&url, "\"Sales\".\"Or.ders\"");
    assert_eq!(asked(&engine), "ONLY \"Sales\".\"Or.ders\"");
    check_count(&mut engine, &schema, 0);
}

#[test]
fn a_materialised_view_is_a_table_and_children_are_not_counted() {
    let url = database(
        "CREATE TABLE parent (x int); INSERT INTO parent VALUES (1), (2);
         CREATE MATERIALIZED VIEW copied AS SELECT x FROM parent;",
    );
    let (mut engine, schema) = connected(&url, "copied");
    check_count(&mut engine, &schema, 2);
    let (mut engine, schema) = connected(&url, "parent");
    query(&url, "CREATE TABLE child () INHERITS (parent); INSERT INTO child VALUES (3)").unwrap();
    engine.check(&schema, ANSWER).unwrap();
    check_count(&mut engine, &schema, 2);
}

#[test]
fn a_fingerprint_is_that_of_one_table() {
    let url = database("CREATE TABLE one (x int); CREATE TABLE two (x int);");
    let fingerprint = |url: &str, name: &str| find_table(url, name).unwrap().fingerprint;
    let first = fingerprint(&url, "one");
    assert_eq!(fingerprint(&url, "one"), first);
    assert_ne!(fingerprint(&url, "two"), first);
    assert_ne!(fingerprint(&database("CREATE TABLE one (x int)"), "one"), first);
    query(&url, "DROP TABLE one; CREATE TABLE one (x int)").unwrap();
    assert_ne!(fingerprint(&url, "one"), first);
}

#[test]
fn what_the_user_may_not_read_is_left_out_and_named() {
    let url = database(
        "CREATE ROLE visitor LOGIN PASSWORD 'visitor';
         CREATE TABLE half (open int, closed int); GRANT SELECT (open) ON half TO visitor; INSERT INTO half VALUES (1, 1);
         CREATE TABLE closed (x int);
         CREATE SCHEMA inner_room; CREATE TABLE inner_room.thing (x int); GRANT SELECT ON inner_room.thing TO visitor;",
    );
    let visitor = as_visitor(&url, "visitor");
    let found = find_table(&visitor, "half").unwrap();
    assert_eq!(found.columns, [("open".to_string(), ColumnType::Integer)]);
    assert_eq!(found.left_out, [("closed".to_string(), "integer, which this user may not read".to_string())]);
    let (mut engine, schema) = connected(&visitor, "half");
    check_count(&mut engine, &schema, 1);
    query(&url, "REVOKE SELECT (open) ON half FROM visitor").unwrap();
    let error = engine.check(&schema, ANSWER).unwrap_err();
    assert!(error.to_string().contains("which this user may not read now"), "{error}");
    for (name, why) in [("closed", "may not read"), ("inner_room.thing", "a schema that this user may not use")] {
        let error = find_table(&visitor, name).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// The URL of the same database for another user.
fn as_visitor(url: &str, password: &str) -> String {
    let (_, place) = url.split_once('@').unwrap();
    format!("postgres://visitor:{password}@{place}")
}

#[test]
fn a_place_that_cannot_be_reached_is_told_without_the_password() {
    let url = new_database();
    let password = url.split(':').nth(2).unwrap().split('@').next().unwrap();
    let (no_server, no_database) = ("postgres://ann:hush@127.0.0.1:1/books", format!("{url}_missing"));
    for (url, secret, why) in [
        (url.replace(password, "hush"), "hush", "password authentication failed"),
        (no_server.to_string(), "hush", "error connecting to server"),
        (no_database, password, "does not exist"),
        (format!("{url}?sslmode=require"), password, "does not offer TLS"),
        ("postgres://ann:hush".to_string(), "hush", "the form is postgres://"),
    ] {
        let error = find_table(&url, "plain").unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains(secret), "{error}");
    }
}

#[test]
fn a_database_that_is_not_utf8_is_refused() {
    let server = PrivatePostgres::shared();
    let statement = "CREATE DATABASE latin_data ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    query(&server.url("postgres"), statement).unwrap();
    let error = find_table(&server.url("latin_data"), "plain").unwrap_err();
    assert!(error.to_string().contains("server_encoding = LATIN1"), "{error}");
}
