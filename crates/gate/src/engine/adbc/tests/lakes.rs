//! Parquet files: which are found, what their columns hold, and that a changed one is noticed.

use super::*;
use crate::schema::{ColumnType, Value};

#[test]
fn files_are_named_by_a_path_a_folder_or_a_pattern_with_the_columns_of_their_partitions() {
    let mut shore = Shore::new();
    shore.write("lake/year=2024/month=1/a.parquet", "SELECT 1 AS x FROM range(2)");
    shore.write("lake/year=2025/month=2/b.parquet", "SELECT 2 AS x FROM range(3)");
    fs::write(shore.path("lake/notes.txt"), "not data").unwrap();
    for (pattern, files, rows) in [
        ("lake", 2, 5),
        ("lake/*/*/*.parquet", 2, 5),
        ("lake/year=2024/month=1/a.parquet", 1, 2),
        ("lake/year=2025", 1, 3),
    ] {
        let prepared = shore.prepare(pattern, "").unwrap();
        let Source::Adbc(AdbcSource { data: AdbcData::Lake { files: found, kept: None, .. }, .. }) = &prepared.source
        else {
            panic!("{pattern}: {:?}", prepared.source)
        };
        assert_eq!((found.len(), prepared.imported.rows), (files, rows), "{pattern}");
        let names: Vec<&str> = prepared.schema.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["x", "month", "year"], "{pattern}");
        assert_eq!(counted(&mut *shore.connect(&prepared).unwrap(), &prepared.schema), rows as i64, "{pattern}");
    }
    for (pattern, part) in
        [("lake/*.csv", "file not found"), ("nowhere", "file not found"), ("lake/notes.txt", "notes.txt")]
    {
        let Err(error) = shore.prepare(pattern, "") else { panic!("{pattern} was registered") };
        assert!(error.to_string().contains(part), "{pattern}: {error}");
    }
    let remote = Lake::find(&DriverChoice::default(), "s3://bucket/*.parquet", &shore.gate(), until()).unwrap_err();
    assert!(remote.is_input() && remote.to_string().contains("files of this machine"), "{remote}");
}

#[test]
fn columns_of_other_types_are_left_out_and_named() {
    let mut shore = Shore::new();
    let query = "SELECT 1::TINYINT a, 2::UINTEGER b, 3::UBIGINT c, 0.5::FLOAT d, 1.5::DOUBLE e, 'x' f, TRUE g, DATE '2024-01-01' h,
                 TIMESTAMP '2024-01-01' i, TIMESTAMPTZ '2024-01-01 00:00:00+00' j, TIMESTAMP_NS '2024-01-01' k, 1.25::DECIMAL(10, 2) l,
                 1::DECIMAL(38, 0) m, TIME '10:00' n, [1] o, {'a': 1} p, 'x'::BLOB q, 1.5::DECIMAL(38, 12) r, TIMESTAMP_MS '2024-01-01' s";
    shore.write("a.parquet", query);
    let lake = shore.open("a.parquet").unwrap();
    use ColumnType::{Boolean, Date, Decimal, Integer, Real, Text, Timestamp};
    let expected = [
        ("a", Integer),
        ("b", Integer),
        ("d", Real),
        ("e", Real),
        ("f", Text),
        ("g", Boolean),
        ("h", Date),
        ("i", Timestamp),
        ("j", Timestamp),
        ("k", Timestamp),
        ("l", Decimal),
        ("s", Timestamp),
    ];
    assert_eq!(lake.columns(), expected.map(|(name, kind)| (name.to_string(), kind)));
    let left_out: Vec<&str> = lake.left_out.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(left_out, ["c", "m", "n", "o", "p", "q", "r"]);
    assert_eq!(lake.left_out[0].1, "UBIGINT");
}

#[test]
fn the_last_times_of_all_can_be_read_in_utc() {
    let mut shore = Shore::new();
    let last =
        "make_timestamptz(9223372036854775806), make_timestamptz(-9223372022400000000), 'infinity'::TIMESTAMPTZ, NULL";
    shore.write("a.parquet", &format!("SELECT unnest([{last}]) AS x"));
    let prepared = shore.prepare("a.parquet", "").unwrap();
    let statement = measuring(&prepared.schema, None, &[], &[Measure::of(Quantity::Rows), Measure::non_null(0)]);
    let mut engine = shore.connect(&prepared).unwrap();
    engine.check(&prepared.schema, MOST).unwrap();
    assert_eq!(engine.run(&statement, MOST).unwrap()[0].measures, [4, 3]);
}

#[test]
fn a_file_that_was_changed_or_is_gone_is_refused_before_a_question() {
    let mut shore = Shore::new();
    let path = shore.write("a.parquet", "SELECT range AS x FROM range(10)");
    let prepared = shore.prepare("a.parquet", "").unwrap();
    let mut engine = shore.connect(&prepared).unwrap();
    assert_eq!(counted(&mut *engine, &prepared.schema), 10);

    shore.write("a.parquet", "SELECT range AS x FROM range(20)");
    let refused = |error: Error, part: &str| assert!(error.to_string().contains(part), "{error}");
    refused(engine.check(&prepared.schema, MOST).unwrap_err(), "was changed since it was registered");
    // One that changes between the check and the answer has no answer.
    let error = engine.run(&count(&prepared.schema), MOST).unwrap_err();
    assert!(error.contains("was changed"), "{error}");
    refused(shore.connect(&prepared).err().unwrap(), "register the data again, as a new version");

    fs::remove_file(&path).unwrap();
    refused(shore.connect(&prepared).err().unwrap(), "cannot be found");
}

#[test]
fn a_file_that_is_cut_or_has_a_broken_page_is_refused_when_it_is_registered() {
    let mut shore = Shore::new();
    let path = shore.write("a.parquet", "SELECT range AS x, 'name ' || range AS y FROM range(100000)");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let Err(error) = shore.prepare("a.parquet", "") else { panic!("half a file was registered") };
    assert!(error.to_string().contains("a.parquet"), "{error}");
    // What the file says about itself is whole, and the values are not.
    let mut broken = whole.clone();
    broken[4..2000].fill(0xff);
    fs::write(&path, &broken).unwrap();
    assert!(shore.prepare("a.parquet", "").is_err());
    fs::write(&path, &whole).unwrap();
    assert_eq!(shore.prepare("a.parquet", "").unwrap().imported.rows, 100_000);
}

#[test]
fn a_file_whose_column_has_another_type_than_the_first_is_refused_when_it_is_registered() {
    let mut shore = Shore::new();
    shore.write("lake/a.parquet", "SELECT 1::BIGINT AS x");
    shore.write("lake/b.parquet", "SELECT 'one' AS x");
    let Err(error) = shore.prepare("lake", "") else { panic!("text was taken for a number") };
    assert!(!error.to_string().is_empty());
    shore.write("lake/b.parquet", "SELECT 1::BIGINT AS y");
    assert!(shore.prepare("lake", "").is_err());
}

/// The steps of all rows together.
fn summed(shore: &Shore, prepared: &crate::engine::PreparedLake, at: usize) -> i64 {
    let statement = measuring(&prepared.schema, None, &[], &[Measure::sum(&prepared.schema, at, 0)]);
    let mut engine = shore.connect(prepared).unwrap();
    engine.check(&prepared.schema, MOST).unwrap();
    engine.run(&statement, MOST).unwrap()[0].measures[0]
}

fn columns_within(prepared: &crate::engine::PreparedLake) -> Vec<String> {
    let Source::Adbc(AdbcSource { data: AdbcData::Lake { within, .. }, .. }) = &prepared.source else {
        panic!("{:?}", prepared.source)
    };
    within.bounds.keys().chain(within.categories.keys()).cloned().collect()
}

const BOUNDED: &str =
    "[columns.x]\nbounds = [0, 9]\ntype = \"integer\"\n[columns.y]\nbounds = [-1, 1]\ngrid = 0.5\ntype = \"real\"";

#[test]
fn a_column_is_clamped_unless_all_its_values_are_within_its_bounds() {
    let mut shore = Shore::new();
    for (values, within, sums) in [
        ("(0, -1.0), (9, 1.0), (NULL, NULL)", &["x", "y"][..], [9, 0]),
        ("(0, -1.0), (10, 1.0)", &["y"], [9, 0]),
        ("(-1, 0.5), (9, 1.5)", &[], [9, 3]),
        ("(1, 'nan'), (2, '0.0')", &["x"], [3, 2]),
        ("(1, 'inf'), (2, '-inf')", &["x"], [3, 0]),
        ("(1, -0.0), (2, -1.0000000000000002)", &["x"], [3, -2]),
        ("(NULL, NULL)", &[], [0, 0]),
    ] {
        shore.write("a.parquet", &format!("SELECT x::BIGINT AS x, y::DOUBLE AS y FROM (VALUES {values}) AS t (x, y)"));
        let prepared = shore.prepare("a.parquet", BOUNDED).unwrap();
        assert_eq!(columns_within(&prepared), within, "{values}");
        assert_eq!([0, 1].map(|at| summed(&shore, &prepared, at)), sums, "{values}");
    }
}

#[test]
fn a_text_is_compared_with_its_categories_unless_it_has_no_others() {
    let mut shore = Shore::new();
    let schema = "[columns.x]\ncategories = [\"it's\", \"b\"]\n[columns.y]\ncategories = [\"it's\"]";
    for (values, within, counts) in [
        ("('it''s', 'it''s'), ('b', NULL), (NULL, 'it''s')", &["x", "y"][..], [[1, 1], [2, 0]]),
        ("('B', 'it''s'), ('b', 'it''s'), ('it''s', '')", &["y"][..0], [[1, 1], [2, 0]]),
        ("('it''s', 'its'), ('b', 'it''s'), ('b', NULL)", &["x"], [[1, 2], [1, 0]]),
    ] {
        shore.write("a.parquet", &format!("SELECT * FROM (VALUES {values}) AS t (x, y)"));
        let prepared = shore.prepare("a.parquet", schema).unwrap();
        assert_eq!(columns_within(&prepared), within, "{values}");
        let mut engine = shore.connect(&prepared).unwrap();
        engine.check(&prepared.schema, MOST).unwrap();
        for (at, counts) in counts.into_iter().enumerate() {
            let statement = measuring(&prepared.schema, None, &[at], &[Measure::of(Quantity::Rows)]);
            let count = |name: &str, rows: &[ExactRow]| {
                let of = rows.iter().find(|row| row.keys == [Value::Text(name.to_string())]);
                of.map_or(0, |row| row.measures[0])
            };
            let rows = engine.run(&statement, MOST).unwrap();
            assert_eq!(["it's", "b"].map(|name| count(name, &rows)), counts, "{values}, {statement:?}");
            assert_eq!(rows.len(), counts.iter().filter(|count| **count > 0).count(), "{rows:?}");
        }
    }
}

/// Another file with the same size and time of change takes its place. What was found out about the first does not hold for it.
#[cfg(unix)]
#[test]
fn a_file_that_anything_was_changed_about_is_clamped() {
    let mut shore = Shore::new();
    let path = shore.write("a.parquet", "SELECT 5::BIGINT AS x, 0.5::DOUBLE AS y");
    let before = fs::metadata(&path).unwrap();
    let prepared = shore.prepare("a.parquet", BOUNDED).unwrap();
    assert_eq!(columns_within(&prepared), ["x", "y"]);
    let mut open = shore.connect(&prepared).unwrap();
    open.check(&prepared.schema, MOST).unwrap();
    shore.write("a.parquet", "SELECT 99::BIGINT AS x, 0.5::DOUBLE AS y");
    fs::File::options().write(true).open(&path).unwrap().set_modified(before.modified().unwrap()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), before.len(), "the test needs files of one size");
    let statement = measuring(&prepared.schema, None, &[], &[Measure::sum(&prepared.schema, 0, 0)]);
    // While a question is answered, it is noticed; then and later, values are clamped.
    assert!(open.run(&statement, MOST).unwrap_err().contains("was touched"));
    open.check(&prepared.schema, MOST).unwrap();
    assert_eq!(open.run(&statement, MOST).unwrap()[0].measures, [9]);
    assert_eq!(summed(&shore, &prepared, 0), 9);
}

/// The numbers of rows that have these texts, and nothing for other groups.
fn count_texts(engine: &mut dyn Engine, schema: &Schema, texts: &[&str]) -> Result<Vec<i64>, String> {
    let statement = measuring(schema, None, &[0], &[Measure::of(Quantity::Rows)]);
    let rows = engine.run(&statement, MOST)?;
    let of = |text: &&str| rows.iter().find(|row| row.keys == [Value::Text(text.to_string())]);
    let counts: Vec<i64> = texts.iter().map(|text| of(text).map_or(0, |row| row.measures[0])).collect();
    assert_eq!(counts.iter().filter(|count| **count > 0).count(), rows.len(), "{rows:?}");
    Ok(counts)
}

const NAMED: &str = "[columns.x]\ntype = \"text\"\ncategories = [\"a\", \"b\"]";

#[cfg(unix)]
#[test]
fn a_file_that_anything_was_changed_about_is_compared_with_the_categories() {
    let mut shore = Shore::new();
    let path = shore.write("a.parquet", "SELECT unnest(['a', 'b', 'b']) AS x");
    let before = fs::metadata(&path).unwrap();
    let prepared = shore.prepare("a.parquet", NAMED).unwrap();
    assert_eq!(columns_within(&prepared), ["x"]);
    let mut open = shore.connect(&prepared).unwrap();
    open.check(&prepared.schema, MOST).unwrap();
    shore.write("a.parquet", "SELECT unnest(['a', 'z', 'z']) AS x");
    fs::File::options().write(true).open(&path).unwrap().set_modified(before.modified().unwrap()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), before.len(), "the test needs files of one size");
    let error = count_texts(&mut *open, &prepared.schema, &["a", "b"]).unwrap_err();
    assert!(error.contains("was touched"), "{error}");
    for engine in [&mut open, &mut shore.connect(&prepared).unwrap()] {
        engine.check(&prepared.schema, MOST).unwrap();
        assert_eq!(count_texts(&mut **engine, &prepared.schema, &["a", "b"]), Ok(vec![1, 0]));
    }
}

/// What was found out about a file is not true of it.
#[test]
fn a_view_with_a_group_that_is_no_category_is_refused() {
    let mut shore = Shore::new();
    for (texts, is_refused) in [("'a', 'b', NULL", false), ("'a', 'b', 'c'", true), ("'A'", true), ("'a', ''", true)] {
        shore.write("a.parquet", &format!("SELECT unnest([{texts}]) AS x"));
        let mut lake = shore.open("a.parquet").unwrap();
        let schema = Declaration::of_rows(NAMED).schema(&lake.columns()).unwrap();
        let categories = schema.columns[0].categories.iter().flatten().map(Value::to_string).collect();
        let within = ColumnsWithin { categories: [("x".to_string(), categories)].into(), ..ColumnsWithin::default() };
        let rows = lake.select(&schema).unwrap();
        view::create(&mut lake.connection, &rows, &schema, &within, until()).unwrap();
        let checked = view::check(&mut lake.connection, &schema, until());
        assert_eq!(checked.is_err(), is_refused, "{texts}");
        if let Err(error) = checked {
            assert!(error.to_string().contains("contradict what the files state about them"), "{error}");
        }
        // Compared, the same rows make no other groups.
        view::create(&mut lake.connection, &rows, &schema, &ColumnsWithin::default(), until()).unwrap();
        view::check(&mut lake.connection, &schema, until()).unwrap();
    }
}

/// A file that says it has no nulls, and has some: it is refused, or they make no group.
#[test]
fn a_file_that_is_wrong_about_nulls_fails_no_question() {
    let mut shore = Shore::new();
    let query =
        "SELECT CASE WHEN range < 1234 THEN NULL WHEN range % 2 = 0 THEN 'a' ELSE 'b' END AS x FROM range(5000)";
    let path = shore.write("a.parquet", query);
    let mut bytes = fs::read(&path).unwrap();
    let said = bytes.len() - 8;
    let footer = said - u32::from_le_bytes(bytes[said..said + 4].try_into().unwrap()) as usize;
    // Twice the number of nulls in groups of seven bits, behind the sign of a number of 64 bits.
    let mut changed = 0;
    for at in footer..said - 3 {
        if bytes[at] & 0x0f == 6 && bytes[at + 1..at + 3] == [0xa4, 0x13] {
            bytes[at + 1..at + 3].copy_from_slice(&[0x80, 0x00]);
            changed += 1;
        }
    }
    assert!(changed > 0);
    fs::write(&path, bytes).unwrap();
    match shore.prepare("a.parquet", NAMED) {
        Ok(prepared) => {
            let mut engine = shore.connect(&prepared).unwrap();
            engine.check(&prepared.schema, MOST).unwrap();
            assert_eq!(count_texts(&mut *engine, &prepared.schema, &["a", "b"]), Ok(vec![1883, 1883]));
        }
        Err(error) => assert!(error.to_string().contains("contradict what the files state about them"), "{error}"),
    }
}

/// The greatest value that a file says a column has is used by the engine, and is wrong.
#[test]
fn a_file_that_is_wrong_about_its_values_is_refused() {
    let mut shore = Shore::new();
    let greatest = 1_234.567_89_f64;
    let path = shore.write("a.parquet", &format!("SELECT 1::BIGINT AS x, unnest([0.5, {greatest}])::DOUBLE AS y"));
    let mut bytes = fs::read(&path).unwrap();
    let said = bytes.len() - 8;
    let footer = said - u32::from_le_bytes(bytes[said..said + 4].try_into().unwrap()) as usize;
    let mut changed = 0;
    for at in footer..said - 8 {
        if bytes[at..at + 8] == greatest.to_le_bytes() {
            bytes[at..at + 8].copy_from_slice(&1.0_f64.to_le_bytes());
            changed += 1;
        }
    }
    assert!(changed > 0);
    fs::write(&path, bytes).unwrap();
    let Err(error) = shore.prepare("a.parquet", BOUNDED) else { panic!("a value beyond its bounds would count") };
    assert!(error.to_string().contains("contradict the minimum or maximum that the files state"), "{error}");
}
