//! DuckDB: sums of 64-bit numbers have 128 bits, and CASE computes a branch for its own rows alone. Tried with version 1.5.

use super::{
    Clamped, Grammar, clamped_by_cases, days_steps, microseconds_steps, real_quotient, scaled_steps,
    ten_millions_times, weekday,
};
use crate::question::calendar::DatePart;
use crate::question::commas;
use crate::question::scalar::Kind;
use crate::schema::{Bounds, ColumnType, Value};

pub(super) struct DuckDbSql;

impl Grammar for DuckDbSql {
    fn type_name(&self, kind: ColumnType) -> &'static str {
        match kind {
            ColumnType::Integer => "BIGINT",
            ColumnType::Real => "DOUBLE",
            ColumnType::Text => "VARCHAR",
            ColumnType::Boolean => "BOOLEAN",
            ColumnType::Date => "DATE",
            ColumnType::Timestamp => "TIMESTAMP",
            ColumnType::Decimal => "DECIMAL(18, 6)",
        }
    }

    /// No pattern has an escape unless it is given. With `_`, LIKE tries every place for every `%`: a long text would take hours. The time
    /// of a regular expression grows with the text alone.
    fn like(&self, text: &str, not: &str, pattern: &str, _: &mut Vec<Value>) -> String {
        if pattern.contains('_') && pattern.matches('%').count() > 1 {
            return format!("({not}regexp_full_match({text}, {}, 's'))", self.text(&regular_expression(pattern)));
        }
        format!("{text} {not}LIKE {}", self.text(pattern))
    }

    /// `/` would be a division of binary numbers.
    fn quotient(&self, one: &str, other: &str) -> String {
        format!("{one} // {other}")
    }

    fn calendar(&self, part: DatePart, days: &str) -> String {
        let date = format!("(DATE '1970-01-01' + CAST({days} AS INTEGER))");
        self.calendar_of_date(part, &date).or_else(|| weekday(part, days, self)).expect("days of the week are computed")
    }

    /// Computed once for every entry of a dictionary, which arithmetic with dates is not.
    fn calendar_of_date(&self, part: DatePart, date: &str) -> Option<String> {
        match (part, part.kind()) {
            (DatePart::DayOfWeek | DatePart::IsoDayOfWeek | DatePart::StartOfWeek, _) => None,
            (_, Kind::Date) => {
                Some(format!("(CAST(date_trunc('{}', {date}) AS DATE) - DATE '1970-01-01')", part.name()))
            }
            _ => Some(self.wide(&format!("extract({} FROM {date})", part.name()))),
        }
    }

    fn hash(&self, parts: &str) -> Option<String> {
        Some(format!("sha256(concat_ws(' ', {parts}))"))
    }

    fn stores_steps(&self) -> bool {
        true
    }

    fn stores_categories(&self) -> bool {
        true
    }

    /// Binary numbers on their grid are whole ones, and stay binary until they are calculated with.
    fn stored_steps(&self, column: String, kind: ColumnType) -> String {
        if kind == ColumnType::Real { self.wide(&column) } else { column }
    }

    /// Whole numbers are added exactly in binary as long as no sum reaches 2⁵³: files have at most 2³² rows.
    fn stored_sum(&self, column: &str, kind: ColumnType, reach: u64, filter: &str) -> Option<String> {
        let is_exact = kind == ColumnType::Real && reach <= 1 << 21;
        is_exact.then(|| format!("CAST(sum({column}){filter} AS HUGEINT)"))
    }

    fn centres_sums(&self, _: u64) -> bool {
        true
    }

    /// A condition on a text is tried once for every entry of a dictionary where it is one expression, and for every row where the
    /// optimiser divides it.
    fn is_in_a_group(&self, condition: String) -> String {
        format!("coalesce({condition}, FALSE)")
    }

    /// The functions ignore null, and are computed once for every entry of a dictionary.
    fn clamped_first(&self, column: &str, kind: ColumnType, low: &str, high: &str) -> Option<String> {
        Some(match kind {
            ColumnType::Integer | ColumnType::Date => {
                format!("(CASE WHEN {column} IS NULL THEN NULL ELSE least(greatest({column}, {low}), {high}) END)")
            }
            _ => clamped_by_cases(column, low, high),
        })
    }

    fn real_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        let (low, high, quotient) = real_quotient(column, bounds, |value| self.real(value));
        let floor = format!("floor({quotient})");
        let least = bounds.steps().0;
        (low, high, if least == 0 { floor } else { format!("{floor} + ({})", self.real(least as f64)) })
    }

    /// The sum of 64-bit numbers is a HUGEINT.
    fn summed(&self, term: &str, _: u64) -> String {
        self.wide(term)
    }

    fn decimal_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        scaled_steps(&ten_millions_times(column), bounds, "HUGEINT", self)
    }

    fn date_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        days_steps(format!("({column} - DATE '1970-01-01')"), bounds)
    }

    fn timestamp_steps(&self, column: &str, bounds: &Bounds) -> Clamped {
        microseconds_steps(&format!("epoch_us({column})"), bounds, self)
    }

    /// Computed once for every entry of a dictionary.
    fn looks_up(&self) -> bool {
        true
    }

    fn table(&self, name: &str, columns: &[(String, ColumnType)], rows: &[String]) -> String {
        let names = columns.iter().map(|(name, _)| name);
        format!("{name} ({}) AS MATERIALIZED (VALUES {})", commas(names), commas(rows))
    }
}

/// What a pattern of LIKE matches, for RE2.
fn regular_expression(pattern: &str) -> String {
    let part = |sign: char| match sign {
        '%' => ".*".to_string(),
        '_' => ".".to_string(),
        sign if sign.is_ascii_punctuation() => format!("\\{sign}"),
        sign => sign.to_string(),
    };
    pattern.chars().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_would_be_tried_at_every_place_are_regular_expressions() {
        let like = |not, pattern| DuckDbSql.like("city", not, pattern, &mut Vec::new());
        assert_eq!(like("", "%a_"), "city LIKE '%a_'");
        assert_eq!(like("NOT ", "%a%b%"), "city NOT LIKE '%a%b%'");
        assert_eq!(like("", "%a.b_c%"), r"(regexp_full_match(city, '.*a\.b.c.*', 's'))");
        assert_eq!(like("NOT ", "%it's_ü\\%"), r"(NOT regexp_full_match(city, '.*it\''s.ü\\.*', 's'))");
    }
}
