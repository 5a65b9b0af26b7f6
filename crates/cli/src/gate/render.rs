//! Answers for people. They are read from the stored document, so that a repeated one looks the same.

use serde_json::Number as Decimal;
use taximeter_gate::{
    AnswerColumn, AnswerDocument, Cell, DatedEstimate, DummyAnswer, Estimate, MeasuredPart, Origin, PayingAccount,
    Value,
};
use taximeter_service::words::{grouped, show_scale};
use taximeter_service::{Problem, StudyRequest};

use crate::key_values::KeyValues;
use crate::ledger::show;
use crate::output::{Failure, thousands};
use crate::table::TextTable;

/// An answer: the table, and what stands behind it.
pub fn answer(document: &str) -> Result<String, Failure> {
    let answer = AnswerDocument::read(document)?;
    let table = table(&answer.columns, &answer.rows);
    Ok(format!("{table}\n\n{}\n\n{}", details(&answer), accounts(&answer.accounts)))
}

/// An answer from made-up rows, marked as such before and after the table.
pub fn dummy(answer: &DummyAnswer) -> String {
    let mut lines = KeyValues::default();
    lines.add(
        "made up",
        format!("every number above; from {} made-up rows of {}", thousands(answer.dummy_rows.into()), answer.dataset),
    );
    lines.add("charged", "nothing, and no data were read");
    lines.add("would cost", show::costs(&[answer.cost]));
    noise(&mut lines, &answer.measured_parts(), &answer.post_processing);
    format!("MADE UP: these numbers say nothing about the data.\n\n{}\n\n{lines}", table(&answer.columns, &answer.rows))
}

/// An answer in few words: the table, what was done to the noisy numbers, and a line with the meter.
pub fn short_answer(document: &str) -> Result<String, Failure> {
    let answer = AnswerDocument::read(document)?;
    let afterwards: String = answer.post_processing.iter().map(|step| format!("\nafterwards: {step}")).collect();
    Ok(format!("{}{afterwards}\n{}", table(&answer.columns, &answer.rows), meter(&answer)))
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
    let message = format!("{problem}\n\n  {visible}\n  {}^", " ".repeat(column.min(WIDTH / 2)));
    Failure::Question { message, line: before.matches('\n').count() as u64 }
}

/// A study that cannot be planned, with a mark where one of its questions goes wrong.
pub fn in_study(study: &StudyRequest, problem: Problem) -> Failure {
    let at = problem.question.and_then(|number| number.checked_sub(1));
    match at.and_then(|at| study.questions.get(at)) {
        Some(question) => with_position(&question.sql, problem),
        None => problem.into(),
    }
}

fn table(answer_columns: &[AnswerColumn], rows: &[Vec<Cell>]) -> TextTable {
    let mut headings = Vec::new();
    let mut columns = Vec::new();
    for (at, column) in answer_columns.iter().enumerate() {
        let cells = rows.iter().filter_map(|row| row.get(at));
        if column.aggregate.is_none() {
            headings.push(column.name.clone());
            columns.push(cells.map(group).collect());
            continue;
        }
        let cells: Vec<&Cell> = cells.collect();
        // A value that is chosen, such as the most frequent one, has no interval.
        if cells.iter().all(|cell| matches!(cell, Cell::Group(_))) && !cells.is_empty() {
            headings.push(column.name.clone());
            columns.push(cells.into_iter().map(group).collect());
            continue;
        }
        headings.extend([format!(">{}", column.name), ">95% interval".to_string()]);
        columns.extend(<[Vec<String>; 2]>::from(noisy_columns(&cells)));
    }
    let mut table = TextTable::new(&headings);
    for at in 0..rows.len() {
        table.row(columns.iter().map(|column| column.get(at).cloned().unwrap_or_default()));
    }
    table
}

/// The noisy values of a column and their intervals, with the decimal points of numbers aligned.
fn noisy_columns(cells: &[&Cell]) -> (Vec<String>, Vec<String>) {
    let estimates = cells.iter().filter_map(|cell| cell.estimate());
    let numbers = estimates.flat_map(|estimate| estimate.value.iter().chain(estimate.interval.iter().flatten()));
    let most = numbers.map(places).max().unwrap_or(0);
    let value = |estimate: &Estimate| estimate.value.as_ref().map_or("–".to_string(), |value| padded(value, most));
    let interval = |estimate: &Estimate| match (&estimate.interval, &estimate.value) {
        (Some([low, high]), _) => format!("{} to {}", padded(low, most), padded(high, most)),
        (None, Some(_)) => "not known".to_string(),
        (None, None) => too_few(estimate),
    };
    let noisy = |cell: &&Cell| match cell {
        Cell::Group(_) => (group(cell), "not known".to_string()),
        Cell::Estimate(estimate) => (value(estimate), interval(estimate)),
        Cell::Dated(DatedEstimate { interval, value }) => {
            let interval = interval.as_ref().map(|[low, high]| format!("{low} to {high}"));
            (value.clone(), interval.unwrap_or("not known".to_string()))
        }
    };
    cells.iter().map(noisy).unzip()
}

/// That there is no value: too few rows, for this noise. Of an average, the sum and the count are known.
fn too_few(estimate: &Estimate) -> String {
    let (Some(sum), Some(count)) = (&estimate.sum, &estimate.count) else { return "too few rows".to_string() };
    let shown = |number: &Decimal| grouped(number.as_str());
    let part = |part: &Estimate| match part {
        Estimate { value: Some(value), interval: Some([low, high]), .. } => {
            format!("{} ({} to {})", shown(value), shown(low), shown(high))
        }
        _ => "–".to_string(),
    };
    format!("too few rows: sum {} of {} rows", part(sum), part(count))
}

/// How many decimal places a number is written with.
fn places(number: &Decimal) -> usize {
    number.as_str().split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

/// A number with at least this number of decimal places.
fn padded(number: &Decimal, least: usize) -> String {
    let missing = least.saturating_sub(places(number));
    let point = if places(number) == 0 && missing > 0 { "." } else { "" };
    format!("{}{point}{}", grouped(number.as_str()), "0".repeat(missing))
}

/// The value of a group without quotes; numbers are grouped by thousands.
fn group(cell: &Cell) -> String {
    match cell {
        Cell::Group(value @ (Value::Text(_) | Value::Date(_) | Value::Timestamp(_))) => value.plain(),
        Cell::Group(value) => grouped(&value.plain()),
        Cell::Estimate(_) | Cell::Dated(_) => String::new(),
    }
}

/// How the answer was made and paid for.
fn details(answer: &AnswerDocument) -> KeyValues {
    let mut lines = KeyValues::default();
    lines.add("charged", show::costs(&[answer.cost]));
    noise(&mut lines, &answer.measured_parts(), &answer.post_processing);
    lines.add("protects", &answer.protects);
    lines.add("record", grouped(&answer.receipt.sequence.to_string()));
    lines.add("key", &answer.key);
    lines
}

/// The noise on the numbers, and what was done to them afterwards.
fn noise(lines: &mut KeyValues, parts: &[&MeasuredPart], post_processing: &[String]) {
    for part in parts {
        let (scale, cost) = (show_scale(part.scale.0), show::costs(&[part.cost]));
        lines.add("noise", format!("{}: {} of scale {scale}, paid with {cost}", part.measure, part.noise));
    }
    for step in post_processing {
        lines.add("afterwards", step);
    }
}

fn accounts(accounts: &[PayingAccount]) -> TextTable {
    let mut table = TextTable::new(&["account", ">left", "guarantee", ">reading"]);
    for account in accounts {
        let filter = account.filter_guarantee.as_deref().unwrap_or("no budget");
        table.row([account.account.to_string(), left(account), filter.to_string(), reading(account)]);
    }
    table
}

/// What every account has left, in a line.
fn meter(answer: &AnswerDocument) -> String {
    let accounts = answer
        .accounts
        .iter()
        .map(|account| format!("{}: {} left, reading {}", account.account, left(account), reading(account)));
    format!("[{} charged; {}]", show::costs(&[answer.cost]), accounts.collect::<Vec<_>>().join("; "))
}

fn left(account: &PayingAccount) -> String {
    show::share(account.left.map(|left| left.0))
}

fn reading(account: &PayingAccount) -> String {
    show::reading(account.reading, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_column_have_the_same_places() {
        let number = |text: &str| serde_json::from_str::<Decimal>(text).unwrap();
        for (written, shown) in [("-1234.5", "-1,234.500"), ("7", "7.000"), ("0.125", "0.125")] {
            assert_eq!(padded(&number(written), 3), shown);
        }
        assert_eq!(padded(&number("7"), 0), "7");
    }
}
