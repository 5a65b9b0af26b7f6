//! What several grammars write alike.

use super::{Clamped, Grammar, SqlAggregate};
use crate::number::Number;
use crate::question::calendar::DatePart;
use crate::schema::{Bound, Bounds, ColumnType, Value};

/// The bounds of a column of dates or times, as they are written.
pub(super) fn ends(bounds: &Bounds, kind: ColumnType) -> [Bound; 2] {
    [bounds.low(), bounds.high()].map(|end| Bound::of(end, kind))
}

/// The bounds of a column of binary numbers, and a number between them in steps above the lower one, before it is rounded down.
pub(super) fn real_quotient(column: &str, bounds: &Bounds, real: impl Fn(f64) -> String) -> Clamped {
    let [low, high, grid] = [bounds.low(), bounds.high(), bounds.grid()].map(Number::to_f64);
    let quotient = format!("({column} - ({})) / {}", real(low - grid / 2.0), real(grid));
    (real(low), real(high), quotient)
}

/// The steps of a decimal number from ten millions times the column: bounds and half a grid are whole numbers of 10⁻⁷, so what a value has
/// behind that makes no difference. The type is one of whole numbers of at least 20 digits.
pub(super) fn scaled_steps(scaled: &str, bounds: &Bounds, whole: &str, grammar: &dyn Grammar) -> Clamped {
    let [low, high] = [bounds.low(), bounds.high()].map(|end| grammar.literal(&Value::Decimal(end), &mut Vec::new()));
    let [least, grid] = [bounds.low(), bounds.grid()].map(|number| number.units() / 10i128.pow(11));
    let above = format!("(CAST(floor({scaled}) AS {whole}) - ({}))", least - grid / 2);
    let steps = grammar.quotient(&above, &format!("CAST({grid} AS {whole})"));
    (low, high, format!("({steps}) + ({})", bounds.steps().0))
}

/// Ten millions times a column of decimal numbers with at most nine digits behind the point.
pub(super) fn ten_millions_times(column: &str) -> String {
    format!("CAST({column} AS DECIMAL(28, 9)) * CAST(10000000 AS DECIMAL(8, 0))")
}

/// A date between its bounds, from the days of it.
pub(super) fn days_steps(days: String, bounds: &Bounds) -> Clamped {
    let [low, high] = ends(bounds, ColumnType::Date).map(|end| format!("DATE '{end}'"));
    (low, high, days)
}

/// The steps of a time from its microseconds since 1970-01-01.
pub(super) fn microseconds_steps(microseconds: &str, bounds: &Bounds, grammar: &dyn Grammar) -> Clamped {
    let name = grammar.type_name(ColumnType::Timestamp);
    let [low, high] = ends(bounds, ColumnType::Timestamp).map(|end| format!("CAST('{end}' AS {name})"));
    let above = format!("({microseconds} - ({}))", 1_000_000 * bounds.low().floor());
    let steps = grammar.quotient(&above, &grammar.integer(1_000_000 * bounds.grid().floor()));
    (low, high, format!("({steps}) + ({})", bounds.steps().0))
}

/// The least or the greatest of those that are not null, by a function of two that is null where one of them is.
pub(super) fn pairwise(function: &str, parts: Vec<String>) -> String {
    let pair = |one: String, other: String| format!("coalesce({function}({one}, {other}), {one}, {other})");
    parts.into_iter().reduce(pair).unwrap_or_else(|| "NULL".to_string())
}

/// A condition that is never unknown, for engines without IS TRUE or with one that fails.
pub(super) fn is_by_coalesce(condition: &str, value: Option<bool>, not: &str) -> String {
    match value {
        None => format!("({condition}) IS {not}NULL"),
        Some(true) => format!("({not}coalesce({condition}, FALSE))"),
        Some(false) if not.is_empty() => format!("(NOT coalesce({condition}, TRUE))"),
        Some(false) => format!("(coalesce({condition}, TRUE))"),
    }
}

/// What stands behind an aggregate of the rows for which a condition holds.
pub(crate) fn only_where(filter: Option<&str>) -> String {
    filter.map_or(String::new(), |filter| format!(" FILTER (WHERE {filter})"))
}

/// An aggregate of the rows for which a condition holds, where aggregates have no FILTER.
pub(super) fn where_it_holds(
    aggregate: SqlAggregate,
    term: &str,
    reach: u64,
    filter: Option<&str>,
    grammar: &dyn Grammar,
) -> String {
    let term = match (filter, term) {
        (None, term) => term.to_string(),
        (Some(filter), "*") => format!("CASE WHEN {filter} THEN 1 END"),
        (Some(filter), term) => format!("CASE WHEN {filter} THEN {term} END"),
    };
    match aggregate {
        SqlAggregate::Count => format!("count({term})"),
        SqlAggregate::CountDistinct => format!("count(DISTINCT {term})"),
        SqlAggregate::Sum => format!("sum({})", grammar.summed(&term, reach)),
    }
}

/// A column clamped by comparisons. What is not equal to itself is above all else, as in the statements of questions.
pub(super) fn clamped_by_cases(column: &str, low: &str, high: &str) -> String {
    format!("(CASE WHEN {column} < {low} THEN {low} WHEN {column} > {high} THEN {high} ELSE {column} END)")
}

/// The day of the week, or the Monday of it, by arithmetic alone: 0001-01-01 is a Monday and no date is before it.
pub(super) fn weekday(part: DatePart, days: &str, grammar: &dyn Grammar) -> Option<String> {
    let since = |sunday: i64| grammar.remainder(&format!("({days} + {})", 719_162 + sunday), &grammar.integer(7));
    match part {
        DatePart::DayOfWeek => Some(format!("({})", since(1))),
        DatePart::IsoDayOfWeek => Some(format!("({} + 1)", since(0))),
        DatePart::StartOfWeek => Some(format!("({days} - ({}))", since(0))),
        _ => None,
    }
}

/// The bytes of text in hexadecimal: no engine can mistake them for an end or an escape.
pub(super) fn hexadecimal(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02X}")).collect()
}

/// A pattern for engines in which a backslash is an escape, which it cannot be told not to be.
pub(super) fn without_escapes(pattern: &str) -> String {
    pattern.replace('\\', "\\\\")
}
