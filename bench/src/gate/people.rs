//! The people of the benchmark: a CSV file of as many rows as wished, every unit with two rows.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The columns, as SQLite and PostgreSQL both read them.
pub const TABLE: &str =
    "(person bigint, age bigint, region text, income double precision, visits bigint, smoker boolean)";

/// What the owner declares.
pub const SCHEMA: &str = r#"
    [columns.person]
    type = "integer"
    [columns.age]
    type = "integer"
    bounds = [0, 120]
    [columns.region]
    type = "text"
    categories = ["north", "east", "south", "west"]
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

/// Writes so many rows.
pub fn write_csv(path: &Path, rows: u64) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(file, "person,age,region,income,visits,smoker")?;
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for row in 0..rows {
        // xorshift64: repeatable, and good enough to spread values.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let region = ["north", "east", "south", "west"][(state >> 60) as usize % 4];
        let (age, visits, cents) = (state % 100, (state >> 20) % 40, (state >> 30) % 15_000_000);
        let smoker = (state >> 8).is_multiple_of(5);
        writeln!(file, "{},{age},{region},{}.{:02},{visits},{smoker}", row / 2, cents / 100, cents % 100)?;
    }
    file.flush()
}
