//! Dates moved by months, from parts of dates that every engine has.

use dashu::rational::RBig;

use super::{Kind, Node, NumericExpr, TooLarge};
use crate::question::calendar::{DatePart, days_in_the_month_after, months_later};

impl NumericExpr {
    /// A date some months later, or earlier: on the same day of the month, or on the last one of a month that has no such day.
    ///
    /// It goes up with the date, so its range is that of its ends.
    pub(crate) fn months_later(self, months: i64) -> Result<NumericExpr, TooLarge> {
        let later = |days: i64| months_later(days, months).ok_or(TooLarge::Range);
        let (low, high) = (later(self.low)?, later(self.high)?);
        if let Node::Constant(_) = self.node {
            return Ok(NumericExpr::steps(low, Kind::Date, RBig::ONE));
        }
        let days = |days: i64| NumericExpr::steps(days, Kind::Integer, RBig::ONE);
        let first = self.clone().calendar(DatePart::StartOfMonth)?;
        let first_after = |months: i64| {
            first.clone().plus(days(days_in_the_month_after(months)), Kind::Date)?.calendar(DatePart::StartOfMonth)
        };
        let same_day =
            first_after(months)?.plus(self.calendar(DatePart::Day)?.plus(days(-1), Kind::Integer)?, Kind::Date)?;
        let last_day = first_after(months + 1)?.plus(days(-1), Kind::Date)?;
        let moved = NumericExpr::least(vec![same_day, last_day])?;
        Ok(NumericExpr { low, high, ..moved })
    }
}
