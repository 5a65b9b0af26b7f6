//! Division by an expression.

use super::Writer;
use crate::question::scalar::NumericExpr;

impl Writer<'_> {
    /// The quotient of two, the second of which is positive or null. Nothing makes it 0; and if something did, the quotient would be null
    /// there, and would not fail.
    pub(super) fn divided(&mut self, one: &NumericExpr, other: &NumericExpr, nearest: bool) -> String {
        let value = self.scalar(one);
        let by = format!("nullif({}, {})", self.scalar(other), self.constant(0));
        if !nearest {
            return format!("({})", self.grammar().quotient(&value, &by));
        }
        // Halves away from 0, as for a literal.
        let twice = match (one.low >= 0, one.high <= 0) {
            (true, _) => format!("(2 * {value} + {by})"),
            (_, true) => format!("(2 * {value} - {by})"),
            _ => format!("(2 * {value} + CASE WHEN {value} < 0 THEN - {by} ELSE {by} END)"),
        };
        format!("({})", self.grammar().quotient(&twice, &format!("(2 * {by})")))
    }
}
