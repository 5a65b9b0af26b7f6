//! Averages of small groups: how often they are published, and what is published then.

use std::fmt::Write;

use serde::Serialize;
use taximeter_accounting::Amount;
use taximeter_gate::{Cell, Price};

use super::measure::{Fallible, ask, open, request};

/// Wages as in a labour survey, from 0 to 3,000.
const SCHEMA: &str = "unit = \"row\"\n[columns.wage]\nbounds = [0, 3000]\n";

/// The mean of every group.
const MEAN: f64 = 399.0;

/// What was published of groups of one size.
#[derive(Debug, Serialize)]
pub struct Published {
    /// How many rows each group has.
    pub rows: usize,
    pub asked: u64,
    pub published: u64,
    /// How many of the published averages are above the truth.
    pub above: u64,
    pub held: u64,
}

/// Asks for the averages of groups of one size, at ε = 0.1.
pub fn measure(rows: usize, groups: usize, asks: u32) -> Fallible<Published> {
    let folder = tempfile::tempdir()?;
    let mut csv = "job,wage\n".to_string();
    for job in 0..groups {
        for row in 0..rows {
            // As often above the mean as below it, by as much.
            let off = if row < rows / 2 * 2 { 100 * (row as i64 % 2 * 2 - 1) } else { 0 };
            writeln!(csv, "{job},{}", MEAN as i64 + off)?;
        }
    }
    let jobs: Vec<String> = (0..groups).map(|job| job.to_string()).collect();
    let schema = format!("{SCHEMA}[columns.job]\ncategories = [{}]", jobs.join(", "));
    let gate = open(folder.path(), &csv, &schema)?;
    let price = Price::Epsilon(Amount::parse_exact("0.1")?);
    let mut seen = Published { rows, asked: 0, published: 0, above: 0, held: 0 };
    for _ in 0..asks {
        let answer = ask(&gate, &request("SELECT job, AVG(wage) FROM survey GROUP BY job", price)?)?;
        for estimate in answer.rows.iter().filter_map(|row| row.last().and_then(Cell::estimate)) {
            seen.asked += 1;
            if let (Some(value), Some(ends)) = (&estimate.value, &estimate.interval) {
                let [low, high] = ends.each_ref().map(|end| end.as_f64().unwrap_or(f64::NAN));
                seen.published += 1;
                seen.above += u64::from(value.as_f64() > Some(MEAN));
                seen.held += u64::from(low <= MEAN && MEAN <= high);
            }
        }
    }
    Ok(seen)
}
