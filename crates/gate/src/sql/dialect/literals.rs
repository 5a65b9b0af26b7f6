//! Days of the week by arithmetic, and text that no engine misunderstands.

use super::Grammar;
use crate::question::calendar::DatePart;

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
