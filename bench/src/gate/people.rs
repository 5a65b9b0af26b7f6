//! The people of the benchmark: a CSV file of as many rows as wished, every unit with two rows.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The columns in an engine that has dates and booleans.
pub const TABLE: &str = "(person bigint, age bigint, region text, city text, day date, income double precision, visits bigint, \
                         smoker boolean)";

/// The same in SQLite.
pub const SQLITE_TABLE: &str = "(person INTEGER, age INTEGER, region TEXT, city TEXT, day INTEGER, income REAL, visits INTEGER, \
                                smoker INTEGER)";

/// What the owner declares. The cities are not declared.
pub const SCHEMA: &str = r#"
    [columns.person]
    type = "integer"
    [columns.age]
    type = "integer"
    bounds = [0, 99]
    [columns.region]
    type = "text"
    categories = ["north", "east", "south", "west"]
    [columns.city]
    type = "text"
    [columns.day]
    type = "date"
    bounds = ["2015-01-01", "2024-12-31"]
    [columns.income]
    type = "real"
    bounds = [0, 200000]
    grid = 0.5
    [columns.visits]
    type = "integer"
    bounds = [0, 50]
    [columns.smoker]
    type = "boolean"
"#;

/// A public table: the country of every region.
pub const AREAS: [(&str, &str); 4] = [("north", "inland"), ("east", "coast"), ("south", "coast"), ("west", "inland")];

/// The rows of the public table, as SQL writes them.
pub fn areas() -> String {
    AREAS.map(|(region, country)| format!("('{region}', '{country}')")).join(", ")
}

/// The statements that make the table of the diary, another one about the same people: a row for every tenth.
pub const DIARY: &str =
    "CREATE TABLE diary (person bigint); INSERT INTO diary SELECT DISTINCT person FROM people WHERE person % 10 = 0";

/// What the owner declares about the diary.
pub const DIARY_SCHEMA: &str = "[columns.person]\ntype = \"integer\"\n";

/// Writes the diary for this number of rows to a CSV file.
pub fn write_diary(path: &Path, rows: u64) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "person")?;
    for person in (0..rows.div_ceil(2)).step_by(10) {
        writeln!(file, "{person}")?;
    }
    file.flush()
}

/// Writes this number of rows to a CSV file.
pub fn write_csv(path: &Path, rows: u64) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(file, "person,age,region,city,day,income,visits,smoker")?;
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for row in 0..rows {
        // xorshift64: repeatable, and good enough to spread values.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let region = ["north", "east", "south", "west"][(state >> 60) as usize % 4];
        let (age, visits, cents) = (state % 100, (state >> 20) % 40, (state >> 30) % 15_000_000);
        let (city, smoker) = ((state >> 40) % 300, (state >> 8).is_multiple_of(5));
        let (year, month, day) = (2015 + (state >> 12) % 10, 1 + (state >> 24) % 12, 1 + (state >> 28) % 28);
        write!(file, "{},{age},{region},city-{city},{year}-{month:02}-{day:02},", row / 2)?;
        writeln!(file, "{}.{:02},{visits},{smoker}", cents / 100, cents % 100)?;
    }
    file.flush()
}
