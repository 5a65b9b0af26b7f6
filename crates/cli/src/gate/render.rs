//! Answers for people. They are read from the stored document, so that a repeated one looks the same.

use serde_json::Value as Json;
use taximeter_accounting::Cost;
use taximeter_api::{Computed, Problem};
use taximeter_gate::Origin;

use crate::ledger::show::{self, Lines};
use crate::output::{Failure, show_number};
use crate::table::Table;

/// An answer: the table, and what stands behind it.
pub fn answer(document: &str) -> Result<String, Failure> {
    let answer = parse(document)?;
    Ok(format!("{}\n\n{}\n\n{}", table(&answer)?, behind(&answer)?, accounts(&answer)?))
}

/// An answer in few words: the table, and a line with the meter.
pub fn short_answer(document: &str) -> Result<String, Failure> {
    let answer = parse(document)?;
    Ok(format!("{}\n{}", table(&answer)?, meter(&answer)?))
}

/// What to say about an answer that was not made just now.
pub fn origin(origin: Origin) -> Option<&'static str> {
    match origin {
        Origin::Fresh => None,
        Origin::Replayed => {
            Some("note: this is the answer that was given before under the same key; nothing was charged now")
        }
        Origin::Reused => Some("note: this is your earlier answer to the same question; nothing was charged now"),
    }
}

/// A question that cannot be answered, with a mark where it goes wrong.
pub fn with_position(question: &str, problem: Problem) -> Failure {
    let Some(at) = problem.position else { return problem.into() };
    // The line of the question that it is in, and the place in that line.
    let before: String = question.chars().take(at.saturating_sub(1)).collect();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = question[line_start..].lines().next().unwrap_or_default();
    if line.trim().is_empty() {
        return problem.into();
    }
    let column = before[line_start..].chars().count();
    const WIDTH: usize = 100;
    let shown: String = line.chars().skip(column.saturating_sub(WIDTH / 2)).take(WIDTH).collect();
    let visible: String = shown.chars().map(|c| if c.is_control() { '�' } else { c }).collect();
    Failure::Usage(format!("{problem}\n\n  {visible}\n  {}^", " ".repeat(column.min(WIDTH / 2))))
}

fn parse(document: &str) -> Result<Json, Failure> {
    serde_json::from_str(document).map_err(|error| broken(&error.to_string()))
}

fn broken(why: &str) -> Failure {
    Failure::Integrity(format!("a stored answer cannot be read: {why}"))
}

fn list<'a>(document: &'a Json, name: &str) -> Result<&'a Vec<Json>, Failure> {
    document[name].as_array().ok_or_else(|| broken(&format!("it has no {name}")))
}

fn table(answer: &Json) -> Result<Table, Failure> {
    let columns = list(answer, "columns")?;
    let mut headings = Vec::new();
    for column in columns {
        let name = column["name"].as_str().unwrap_or_default();
        match column["aggregate"].is_null() {
            true => headings.push(name.to_string()),
            false => headings.extend([format!(">{name}"), ">95% interval".to_string()]),
        }
    }
    let mut table = Table::new(&headings);
    let rows = list(answer, "rows")?;
    // The numbers of a column stand with their points below each other.
    let places = |at: usize| rows.iter().flat_map(|row| numbers(&row[at])).map(places).max().unwrap_or(0);
    let places: Vec<usize> = (0..columns.len()).map(places).collect();
    for row in rows {
        let mut cells = Vec::new();
        for ((cell, column), places) in row.as_array().into_iter().flatten().zip(columns).zip(&places) {
            if column["aggregate"].is_null() {
                cells.push(text(cell));
                continue;
            }
            let interval = match &cell["interval"] {
                Json::Array(ends) => {
                    let end = |end: Option<&Json>| end.map_or(String::new(), |end| padded(end, *places));
                    format!("{} to {}", end(ends.first()), end(ends.last()))
                }
                _ => "unknown: too few rows".to_string(),
            };
            cells.extend([
                if cell["value"].is_null() { "–".to_string() } else { padded(&cell["value"], *places) },
                interval,
            ]);
        }
        table.row(cells);
    }
    Ok(table)
}

/// The numbers of a cell: the value, and the ends of its interval.
fn numbers(cell: &Json) -> impl Iterator<Item = &Json> {
    let ends = cell["interval"].as_array().into_iter().flatten();
    std::iter::once(&cell["value"]).chain(ends).filter(|number| number.is_number())
}

/// How many decimal places a number is written with.
fn places(number: &Json) -> usize {
    number.to_string().split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

/// A number with so many decimal places, or with its own if those are more.
fn padded(number: &Json, most: usize) -> String {
    let missing = most.saturating_sub(places(number));
    let point = if places(number) == 0 && missing > 0 { "." } else { "" };
    format!("{}{point}{}", text(number), "0".repeat(missing))
}

/// The scale of noise, with six digits.
pub fn scale(value: f64) -> String {
    if !(1e-4..1e15).contains(&value) {
        return show_number(value);
    }
    let places = (5.0 - value.log10().floor()).max(0.0) as usize;
    let shown = format!("{value:.places$}");
    grouped(if shown.contains('.') { shown.trim_end_matches('0').trim_end_matches('.') } else { &shown })
}

/// A value without quotes, whole numbers with their thousands apart.
fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Number(number) => grouped(number.as_str()),
        other => other.to_string(),
    }
}

/// A number with its thousands apart.
pub fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let (whole, fraction) =
        digits.split_once('.').map_or((digits, String::new()), |(whole, rest)| (whole, format!(".{rest}")));
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_string();
    }
    let mut shown = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    format!("{sign}{shown}{fraction}")
}

fn cost(document: &Json) -> Result<String, Failure> {
    let cost = Cost::from_json(&document.to_string()).map_err(|error| broken(&error.to_string()))?.cost;
    Ok(show::costs(&[cost]))
}

fn behind(answer: &Json) -> Result<Lines, Failure> {
    let mut lines = Lines::default();
    lines.add("charged", cost(&answer["cost"])?);
    for column in list(answer, "columns")? {
        for part in column["parts"].as_array().into_iter().flatten() {
            lines.add(
                "noise",
                format!(
                    "{}: {} of scale {}, paid with {}",
                    part["measure"].as_str().unwrap_or_default(),
                    part["noise"].as_str().unwrap_or_default(),
                    part["scale"].as_f64().map_or("∞".to_string(), scale),
                    cost(&part["cost"])?
                ),
            );
        }
    }
    for step in list(answer, "post_processing")? {
        lines.add("afterwards", text(step));
    }
    lines.add("protects", text(&answer["protects"]));
    lines.add("record", text(&answer["receipt"]["sequence"]));
    lines.add("key", text(&answer["key"]));
    Ok(lines)
}

fn accounts(answer: &Json) -> Result<Table, Failure> {
    let mut table = Table::new(&["account", ">left", "guarantee", ">reading"]);
    for account in list(answer, "accounts")? {
        let filter = account["filter_guarantee"].as_str().unwrap_or("no budget");
        table.row([
            text(&account["account"]),
            show::share(account["left"].as_f64()),
            filter.to_string(),
            show::reading(account["reading"].as_f64().map(Computed), false),
        ]);
    }
    Ok(table)
}

/// What every account has left, in a line.
fn meter(answer: &Json) -> Result<String, Failure> {
    let accounts = list(answer, "accounts")?.iter().map(|account| {
        let (left, reading) = (account["left"].as_f64(), account["reading"].as_f64().map(Computed));
        format!("{}: {} left, reading {}", text(&account["account"]), show::share(left), show::reading(reading, false))
    });
    Ok(format!("[{} charged; {}]", cost(&answer["cost"])?, accounts.collect::<Vec<_>>().join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, shown) in [("1234567", "1,234,567"), ("-1234.5", "-1,234.5"), ("12", "12"), ("1e30", "1e30")] {
            assert_eq!(grouped(number), shown);
        }
    }

    #[test]
    fn scales_have_six_digits() {
        for (value, shown) in [
            (100.0, "100"),
            (8571428.571428573, "8,571,429"),
            (42.857142857142854, "42.8571"),
            (0.008345274, "0.00834527"),
            (1e30, "1e30"),
        ] {
            assert_eq!(scale(value), shown);
        }
    }

    #[test]
    fn the_numbers_of_a_column_have_the_same_places() {
        let number = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        for (written, shown) in [("-1234.5", "-1,234.500"), ("7", "7.000"), ("0.125", "0.125")] {
            assert_eq!(padded(&number(written), 3), shown);
        }
        assert_eq!(padded(&number("7"), 0), "7");
    }
}
