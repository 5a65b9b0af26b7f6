mod left_out;
mod types;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value as Stored;
use tempfile::TempDir;

use super::*;

const KEY: [u8; 32] = [7; 32];

/// A folder with a CSV file.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new(csv: impl AsRef<[u8]>) -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("people.csv"), csv).unwrap();
        Place { folder }
    }

    fn import_with(&self, declaration: &str, key: &[u8; 32], bad_rows: BadRows) -> Result<Imported, Error> {
        let declaration = Declaration::of_rows(declaration);
        let path = |name| self.folder.path().join(name);
        import(&path("people.csv"), &CsvForm::default(), &declaration, &path("data"), key, bad_rows, &mut |_, _| {})
    }

    /// Imports a file that is written in another form.
    fn import_form(&self, form: &CsvForm) -> Result<Imported, Error> {
        let (path, declaration) = (|name| self.folder.path().join(name), Declaration::of_rows(""));
        import(&path("people.csv"), form, &declaration, &path("data"), &KEY, BadRows::Refuse, &mut |_, _| {})
    }

    fn import(&self, declaration: &str, bad_rows: BadRows) -> Result<Imported, Error> {
        self.import_with(declaration, &KEY, bad_rows)
    }

    /// What is in the file, sorted, since the order means nothing.
    fn rows(&self) -> Vec<Vec<String>> {
        let connection = Connection::open(self.folder.path().join("data")).unwrap();
        let mut all = connection.prepare("SELECT * FROM data").unwrap();
        let columns = all.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|at| Ok(shown(row.get(at)?))).collect();
        let mut rows = all.query_map([], row).unwrap().collect::<Result<Vec<Vec<String>>, _>>().unwrap();
        rows.sort();
        rows
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn shown(value: Stored) -> String {
    match value {
        Stored::Null => "null".to_string(),
        Stored::Integer(value) => value.to_string(),
        Stored::Real(value) => format!("{value:?}"),
        Stored::Text(text) => format!("'{text}'"),
        Stored::Blob(_) => unreachable!("no column holds bytes"),
    }
}

#[test]
fn values_are_kept_in_the_types_that_are_declared_or_found() {
    let place = Place::new("id,height,name,member,zip\n1,1.5,Ann,TRUE,01\n2,2,\"O\"\"Neil, B\",false,2\n,NaN,,,\n");
    let imported = place.import("[columns.zip]\ntype = \"real\"", BadRows::Refuse).unwrap();
    let kinds: Vec<_> = imported.schema.columns().iter().map(|column| column.kind().to_string()).collect();
    assert_eq!(kinds, ["integer", "real", "text", "boolean", "real"]);
    assert_eq!(
        (imported.rows.rows, imported.rows.kept, imported.rows.without_unit, imported.rows.bad_rows),
        (3, 3, 0, 0)
    );
    let expected = [
        ["1", "1.5", "'Ann'", "1", "1.0"],
        ["2", "2.0", "'O\"Neil, B'", "0", "2.0"],
        ["null", "null", "null", "null", "null"],
    ];
    assert_eq!(place.rows(), expected);
}

#[test]
fn rows_that_cannot_be_read_are_reported_with_the_lines_where_they_start() {
    let check = |csv: &[u8], expected: &[(u64, &str)]| {
        let place = Place::new(csv);
        let declaration = "[columns.age]\ntype = \"integer\"\n[columns.name]\ntype = \"text\"";
        let shown = String::from_utf8_lossy(csv);
        let imported = place.import(declaration, BadRows::Skip).unwrap();
        assert_eq!(imported.rows.first_bad_rows.len(), expected.len(), "{shown:?} {:?}", imported.rows.first_bad_rows);
        assert_eq!(imported.rows.bad_rows, expected.len() as u64, "{shown:?}");
        assert_eq!(imported.rows.kept, imported.rows.rows - imported.rows.bad_rows, "{shown:?}");
        assert_eq!(imported.rows.kept, place.rows().len() as u64, "{shown:?}");
        for (bad, (line, part)) in imported.rows.first_bad_rows.iter().zip(expected) {
            assert_eq!(bad.line, *line, "{shown:?} {:?}", imported.rows.first_bad_rows);
            assert!(bad.why.contains(part), "{shown:?}: {:?} does not say {part:?}", bad.why);
        }
    };
    check(b"age,name\n1,a\nx,b\n3,c\n", &[(3, r#""x" in the column "age" is not integer"#)]);
    check(b"age,name\n1,a\n1.5,b", &[(3, "type as real")]);
    check(b"age,name\nabc,b", &[(2, "type as text")]);
    check(b"age,name\r\n1,a\r\nx,b\r\n3,c\r\ny,d\r\n", &[(3, "\"x\""), (5, "\"y\"")]);
    check(b"age,name\n\n\nx,b\n\ny,c\n", &[(4, "\"x\""), (6, "\"y\"")]);
    check(b"\"age\",name\n1,\"two\nlines\"\nx,\"more\nthan\ntwo\"\ny,c\n", &[(4, "\"x\""), (7, "\"y\"")]);
    check(b"age,name\r\n1,\"two\r\nlines\"\r\nx,\"a\r\nb\"\r\ny,c", &[(4, "\"x\""), (6, "\"y\"")]);
    check(b"age,name\n1\n1,a,b\n2,c\n", &[(2, "1 fields, but the header has 2"), (3, "3 fields")]);
    check(b"age,name\n1,\xff\n\xff,a\n", &[(2, "\"name\" is not UTF-8"), (3, "\"age\" is not UTF-8")]);
    check(b"age,name\n1,a\0b\n", &[(2, "NUL")]);
    check(b"age,name\n\x1a\n1,a\n", &[(2, "1 fields")]);
    check(
        &[b"age,name\n1,", "x".repeat((1 << 16) + 1).as_bytes(), b"\n2,a\n"].concat(),
        &[(2, "longer than 65536 bytes")],
    );
    // Across the reader's buffers.
    let many: String = (0..30_000).map(|at| format!("{at},name\n")).collect();
    check(format!("age,name\n{many}x,y\n").as_bytes(), &[(30_002, "\"x\"")]);
    check(format!("age,name\n{many}x,y\n").replace('\n', "\r\n").as_bytes(), &[(30_002, "\"x\"")]);
}

#[test]
fn a_row_after_the_first_ones_must_fit_the_types_found_in_them() {
    let many: String = (0..10_000).map(|at| format!("{at}\n")).collect();
    let place = Place::new(format!("age\n{many}1.5\n"));
    let message = place.import("", BadRows::Refuse).unwrap_err().to_string();
    assert!(message.contains("line 10002") && message.contains("declare the column's type as real"), "{message}");
    assert_eq!(place.import("[columns.age]\ntype = \"real\"", BadRows::Refuse).unwrap().rows.kept, 10_001);
}

#[test]
fn one_bad_row_is_enough_to_import_nothing_unless_bad_rows_are_skipped() {
    let bad: String = (0..25).map(|_| "x\n").collect();
    let place = Place::new(format!("age\n1\n{bad}2\n"));
    let declaration = "[columns.age]\ntype = \"integer\"";
    let error = place.import(declaration, BadRows::Refuse).unwrap_err();
    let message = error.to_string();
    assert!(error.is_input(), "{message}");
    for part in ["25 of 27 rows", "line 3:", "line 22:", "and 5 more", "skip these rows"] {
        assert!(message.contains(part), "{message} does not say {part:?}");
    }
    assert!(!message.contains("line 23:"), "{message}");
    assert_eq!(place.names(), ["people.csv"]);

    let imported = place.import(declaration, BadRows::Skip).unwrap();
    assert_eq!(
        (imported.rows.rows, imported.rows.kept, imported.rows.bad_rows, imported.rows.first_bad_rows.len()),
        (27, 2, 25, 20)
    );
    assert_eq!(place.rows(), [["1"], ["2"]]);
}

#[test]
fn a_quote_that_is_never_closed_swallows_no_rows() {
    for (csv, line) in [
        ("age,name\n1,a\n2,\"b\n3,c\n", "line 3"),
        ("age,name\r\n1,a\r\n2,\"b\r\n3,c\r\n", "line 3"),
        ("age,name\n1,a\n2,\"", "line 3"),
        ("age,\"name\n1,a\n", "line 1"),
        ("age\n\"\n\x1a\n", "line 2"),
    ] {
        let place = Place::new(csv);
        for bad_rows in [BadRows::Refuse, BadRows::Skip] {
            let message = place.import("", bad_rows).unwrap_err().to_string();
            assert!(message.contains(line) && message.contains("never closed"), "{csv:?}: {message}");
        }
        assert_eq!(place.names(), ["people.csv"], "{csv:?}");
    }
    assert_eq!(Place::new("age,name\n1,\"a\"").import("", BadRows::Refuse).unwrap().rows.kept, 1);
}

#[test]
fn a_row_without_end_is_not_read_to_the_end() {
    let place = Place::new(["age,name\n1,\"", &"x".repeat(70 << 20)].concat());
    let message = place.import("", BadRows::Skip).unwrap_err().to_string();
    assert!(message.contains("longer than 67108864 bytes"), "{message}");
    assert_eq!(place.names(), ["people.csv"]);
}

#[test]
fn headers_that_cannot_be_used_are_refused() {
    let many: Vec<String> = (0..257).map(|at| format!("c{at}")).collect();
    let long = "x".repeat(64);
    for (csv, part) in [
        (&b""[..], "is empty"),
        (b"\n\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"a,,c\n", "column 2 has no name"),
        (b"a, \n", "column 2 has no name"),
        (b"Age,b,aGE\n", "the columns \"Age\" and \"aGE\" have the same name"),
        (b"a,\xff\n", "column 2 is not UTF-8"),
        (b"a,\"b\nc\"\n", "control characters"),
        (long.as_bytes(), "1 to 63 bytes"),
        (many.join(",").as_bytes(), "between 1 and 256 columns; this one has 257"),
    ] {
        let place = Place::new(csv);
        let error = place.import("", BadRows::Skip).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(part), "{:?}: {error}", String::from_utf8_lossy(csv));
        assert_eq!(place.names(), ["people.csv"]);
    }
}

#[test]
fn a_byte_order_mark_and_blanks_around_names_are_skipped() {
    let place = Place::new(b"\xef\xbb\xbf\"age\", na\"me \n1,a\n");
    let imported = place.import("", BadRows::Refuse).unwrap();
    let names: Vec<_> = imported.schema.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, ["age", "na\"me"]);
    assert_eq!(place.rows(), [["1", "'a'"]]);
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (path, part) in
        [(folder.path().join("none.csv"), "file not found"), (folder.path().to_path_buf(), "is a folder")]
    {
        let target = folder.path().join("data");
        let error =
            import(&path, &CsvForm::default(), &Declaration::of_rows(""), &target, &KEY, BadRows::Skip, &mut |_, _| {})
                .unwrap_err();
        assert!(error.is_input() && error.to_string().contains(part), "{error}");
    }
    let place = Place::new("age\n1\n");
    let target = place.folder.path().join("nowhere").join("data");
    let csv = place.folder.path().join("people.csv");
    let error =
        import(&csv, &CsvForm::default(), &Declaration::of_rows(""), &target, &KEY, BadRows::Skip, &mut |_, _| {})
            .unwrap_err();
    assert!(error.to_string().contains("its folder must exist"), "{error}");
}

#[test]
fn a_wrong_declaration_is_found_before_the_file_is_read() {
    let many: String = (0..50_000).map(|at| format!("{at},a\n")).collect();
    let place = Place::new(format!("age,name\n{many}"));
    for declaration in [
        "[columns.height]\ntype = \"real\"",
        "[columns.name]\nbounds = [0, 1]",
        "unit = { column = \"person\", max_rows_per_unit = 1 }",
        "unit = { column = \"age\", max_rows_per_unit = 1 }\n[columns.age]\ntype = \"real\"",
    ] {
        let declaration = Declaration::of_rows(declaration);
        let path = |name| place.folder.path().join(name);
        let mut progress = |_, _| panic!("rows were read");
        let imported = import(
            &path("people.csv"),
            &CsvForm::default(),
            &declaration,
            &path("data"),
            &KEY,
            BadRows::Skip,
            &mut progress,
        );
        assert!(imported.unwrap_err().is_input());
        assert_eq!(place.names(), ["people.csv"]);
    }
}

#[test]
fn an_import_that_stops_halfway_leaves_nothing_behind() {
    let many: String = (0..50_000).map(|at| format!("{at}\n")).collect();
    let place = Place::new(format!("age\n{many}"));
    let path = |name| place.folder.path().join(name);
    let stopped = catch_unwind(AssertUnwindSafe(|| {
        let mut progress = |_, _| {
            assert_eq!(place.names().len(), 2, "the unfinished file has a name of its own");
            assert!(!path("data").exists());
            panic!("stopped");
        };
        import(
            &path("people.csv"),
            &CsvForm::default(),
            &Declaration::of_rows(""),
            &path("data"),
            &KEY,
            BadRows::Refuse,
            &mut progress,
        )
    }));
    assert!(stopped.is_err());
    assert_eq!(place.names(), ["people.csv"]);
}

#[test]
fn files_that_are_already_there_are_left_alone() {
    for name in ["data", "data.importing"] {
        let place = Place::new("age\n1\n");
        fs::write(place.folder.path().join(name), "mine").unwrap();
        let message = place.import("", BadRows::Refuse).unwrap_err().to_string();
        assert!(message.contains("already there"), "{message}");
        assert_eq!(fs::read(place.folder.path().join(name)).unwrap(), b"mine");
        assert_eq!(place.names().len(), 2);
    }
}

#[test]
fn progress_reaches_the_length_of_the_file_and_the_fingerprint_is_its_hash() {
    let many: String = (0..50_000).map(|at| format!("{at}\n")).collect();
    let csv = format!("age\n{many}");
    let place = Place::new(&csv);
    let path = |name| place.folder.path().join(name);
    let mut seen = Vec::new();
    let mut progress = |done, total| seen.push((done, total));
    let imported = import(
        &path("people.csv"),
        &CsvForm::default(),
        &Declaration::of_rows(""),
        &path("data"),
        &KEY,
        BadRows::Refuse,
        &mut progress,
    )
    .unwrap();
    assert_eq!(imported.fingerprint, blake3::hash(csv.as_bytes()));
    assert!(seen.len() > 5 && seen.is_sorted(), "{seen:?}");
    assert_eq!(seen.last(), Some(&(csv.len() as u64, csv.len() as u64)));
}

#[test]
fn rows_without_a_unit_are_left_out_and_counted() {
    let place = Place::new("person,age\na,1\n,2\nb,3\n\"\",4\nb,x\n");
    let declaration = "unit = { column = \"person\", max_rows_per_unit = 5 }\n[columns.age]\ntype = \"integer\"";
    let imported = place.import(declaration, BadRows::Skip).unwrap();
    assert_eq!(
        (imported.rows.rows, imported.rows.kept, imported.rows.without_unit, imported.rows.bad_rows),
        (5, 2, 2, 1)
    );
    assert_eq!(place.rows(), [["'a'", "1"], ["'b'", "3"]]);
}

#[test]
fn columns_may_have_the_names_that_sqlite_and_the_import_use() {
    let unit = "unit = { column = \"person\", max_rows_per_unit = 1 }";
    for names in ["rowid,oid,_ROWID_", "c0,c1,place", "read,data,contents"] {
        let place = Place::new(format!("person,{names}\n1,5,5,5\n1,5,5,5\n2,6,6,6\n"));
        assert_eq!(place.import(unit, BadRows::Refuse).unwrap().rows.kept, 2, "{names}");
    }
}

#[test]
fn the_rows_of_a_unit_stand_together() {
    let rows: String = (0..3000).map(|at| format!("{},{at}\n", at % 1000)).collect();
    let place = Place::new(format!("person,age\n{rows}"));
    place.import("unit = { column = \"person\", max_rows_per_unit = 2 }", BadRows::Refuse).unwrap();
    let connection = Connection::open(place.folder.path().join("data")).unwrap();
    let mut people = connection.prepare("SELECT person FROM data").unwrap();
    let people: Vec<i64> = people.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(people.len() == 2000 && people.is_sorted(), "{people:?}");
}

#[test]
fn fields_are_separated_by_what_the_first_line_has_most_often() {
    for (csv, expected) in [
        ("age;name\n1;a,b\n", [["1", "'a,b'"]]),
        ("age\tname\n1\ta b\n", [["1", "'a b'"]]),
        ("age|name\n1|a;b\n", [["1", "'a;b'"]]),
        ("\n\"a;g;e\",name\n1,a\n", [["1", "'a'"]]),
        ("age,na;me\n1,a\n", [["1", "'a'"]]),
    ] {
        let place = Place::new(csv);
        place.import_form(&CsvForm::default()).unwrap();
        assert_eq!(place.rows(), expected, "{csv:?}");
    }
    let place = Place::new("a,b;name\n1,5;x\n");
    place.import_form(&CsvForm { delimiter: Some(';'), ..CsvForm::default() }).unwrap();
    assert_eq!(place.rows(), [["'1,5'", "'x'"]]);
    for delimiter in ['"', '\n', '→'] {
        let error = place.import_form(&CsvForm { delimiter: Some(delimiter), ..CsvForm::default() }).unwrap_err();
        assert!(error.is_input() && error.to_string().contains("cannot separate fields"), "{error}");
    }
}

#[test]
fn text_is_read_in_the_encoding_of_the_file() {
    let latin1 = || CsvForm { encoding: Some("latin1".to_string()), ..CsvForm::default() };
    let place = Place::new(b"age,gr\xf6\xdfe\n1,Zo\xeb\n");
    assert!(place.import_form(&CsvForm::default()).unwrap_err().to_string().contains("UTF-8"));
    let imported = place.import_form(&latin1()).unwrap();
    assert_eq!(imported.schema.columns()[1].name(), "größe");
    assert_eq!(place.rows(), [["1", "'Zoë'"]]);
    // A byte order mark says it as well.
    let utf16: Vec<u8> = "\u{feff}age,größe\n1,Zoë\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let place = Place::new(utf16);
    assert_eq!(place.import_form(&CsvForm::default()).unwrap().fingerprint, imported.fingerprint, "the same text");
    assert_eq!(place.rows(), [["1", "'Zoë'"]]);
    let unknown = CsvForm { encoding: Some("klingon".to_string()), ..CsvForm::default() };
    assert!(place.import_form(&unknown).unwrap_err().to_string().contains("it is not known; give for instance utf-8"));
}

#[test]
fn words_for_missing_values_are_nothing() {
    let place = Place::new("age,NA\n1,a\nNA,NA\n-,b\n");
    let missing = ["NA", "-"].map(str::to_string).to_vec();
    let imported = place.import_form(&CsvForm { missing, ..CsvForm::default() }).unwrap();
    assert_eq!(imported.schema.columns()[0].kind(), crate::schema::ColumnType::Integer);
    assert_eq!(place.rows(), [["1", "'a'"], ["null", "'b'"], ["null", "null"]]);
}

#[test]
fn files_of_other_formats_are_called_by_their_names() {
    for (bytes, what) in
        [(&b"PAR1\x15\x04\x15"[..], "a Parquet file"), (b"\x1f\x8b\x08", "gzip"), (b"PK\x03\x04", "Excel")]
    {
        let error = Place::new(bytes).import("", BadRows::Skip).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(what), "{error}");
    }
}

#[test]
fn the_key_decides_which_rows_are_kept() {
    let rows: String = (0..1000).map(|at| format!("1,{at}\n")).collect();
    let kept = |key: [u8; 32]| {
        let place = Place::new(format!("person,age\n{rows}"));
        let unit = "unit = { column = \"person\", max_rows_per_unit = 10 }";
        place.import_with(unit, &key, BadRows::Refuse).unwrap();
        place.rows()
    };
    assert_eq!(kept([1; 32]), kept([1; 32]));
    assert_ne!(kept([1; 32]), kept([2; 32]));
}

/// A row of the property below: a unit, and contents that are often the same.
type Contents = (String, i64, Option<i64>);

/// What is kept of every unit, when these rows are imported in this order.
fn kept(rows: &[Contents], most: u32, unit_type: &str) -> BTreeMap<String, Vec<Vec<String>>> {
    let line = |(unit, first, second): &Contents| {
        format!("{first},{unit},{}\n", second.map_or(String::new(), |second| second.to_string()))
    };
    let place = Place::new(format!("first,person,second\n{}", rows.iter().map(line).collect::<String>()));
    let declaration = format!(
        "unit = {{ column = \"person\", max_rows_per_unit = {most} }}
        [columns]\nperson.type = \"{unit_type}\"\nfirst.type = \"real\"\nsecond.type = \"integer\""
    );
    let imported = place.import(&declaration, BadRows::Refuse).unwrap();
    let mut units = BTreeMap::<_, Vec<_>>::new();
    for row in place.rows() {
        units.entry(row[1].trim_matches('\'').to_string()).or_default().push(row);
    }
    assert_eq!(imported.rows.kept, units.values().map(|rows| rows.len() as u64).sum::<u64>());
    units
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(taximeter_testing::random_inputs(48)))]

    #[test]
    fn what_is_kept_of_a_unit_depends_on_its_own_rows_alone(
        (rows, shuffled) in prop::collection::vec(("[1-4]", 0..4i64, prop::option::of(0..3i64)), 0..40)
            .prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        most in 1..6u32,
        unit_type in prop::sample::select(vec!["integer", "text"]),
    ) {
        let all = kept(&rows, most, unit_type);
        prop_assert_eq!(&all, &kept(&shuffled, most, unit_type));
        for unit in ["1", "2", "3", "4"] {
            let own: Vec<_> = rows.iter().filter(|row| row.0 == unit).cloned().collect();
            let kept_rows = all.get(unit).cloned().unwrap_or_default();
            prop_assert_eq!(kept_rows.len(), own.len().min(most as usize));
            prop_assert_eq!(kept(&own, most, unit_type).remove(unit).unwrap_or_default(), kept_rows.clone());
            // Each was there at least as often.
            for row in &kept_rows {
                let as_read = |(_, first, second): &Contents| {
                    row[0] == format!("{first}.0") && row[2] == second.map_or("null".to_string(), |second| second.to_string())
                };
                let times = kept_rows.iter().filter(|other| *other == row).count();
                prop_assert!(own.iter().filter(|own| as_read(own)).count() >= times);
            }
        }
    }
}
