//! Rows that are left out are nowhere in what an import writes, not even in parts of a file that hold nothing.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;

const PEOPLE: usize = 3000;

/// Every person has four rows, each with a text of its own; between them are rows without a person and rows that cannot be read.
fn csv() -> String {
    let mut csv = "person,age,note\n".to_string();
    for row in 0..4 * PEOPLE {
        // Not in the order of the people, so that rows are moved on their way.
        let person = row * 7919 % PEOPLE;
        csv += &format!("{person},{},secret-{row:06}\n", row % 90);
        if row % 5 == 0 {
            csv += &format!(",{},secret-{:06}\nx,1,secret-{:06}\n", row % 90, 100_000 + row, 200_000 + row);
        }
    }
    csv
}

/// The secrets in the bytes of all files in a folder but the one that was imported.
fn secrets(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found = BTreeSet::new();
    for file in files.filter(|file| !file.ends_with("people.csv")) {
        let bytes = fs::read(&file).unwrap();
        // A row that was moved may leave a part of itself behind, without its digits.
        let is_secret = |bytes: &&[u8]| bytes.starts_with(b"secret-") && bytes[7..].iter().all(u8::is_ascii_digit);
        let secrets = bytes.windows(13).filter(is_secret);
        found.extend(secrets.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
    }
    found
}

/// The secrets of the rows that are there.
fn kept(place: &Place) -> BTreeSet<String> {
    place.rows().into_iter().map(|row| row[2].trim_matches('\'').to_string()).collect()
}

#[test]
fn rows_that_are_left_out_are_nowhere_in_the_file() {
    for (unit, expected) in
        [("unit = { column = \"person\", max_rows_per_unit = 1 }", PEOPLE), ("unit = \"row\"", 4 * PEOPLE + 2400)]
    {
        let place = Place::new(csv());
        let declaration = format!("{unit}\n[columns.person]\ntype = \"integer\"");
        assert_eq!(place.import(&declaration, BadRows::Skip).unwrap().rows.kept, expected as u64);
        let kept = kept(&place);
        assert_eq!(kept.len(), expected);
        assert!(secrets(place.folder.path()) == kept, "{unit}: other rows are in the files, too");

        // The search finds what is left of rows that were there once.
        let connection = Connection::open(place.folder.path().join("data")).unwrap();
        connection.execute_batch("PRAGMA secure_delete = OFF; DELETE FROM data WHERE age < 30").unwrap();
        drop(connection);
        assert!(secrets(place.folder.path()) != self::kept(&place), "{unit}: nothing is found in free pages");
    }
}
