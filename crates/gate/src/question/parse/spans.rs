//! Spans of time: INTERVAL, what adds one to a date, and the time since a beginning.

use dashu::rational::RBig;
use sqlparser::ast::{BinaryOperator, Expr, Interval};

use super::super::calendar::DatePart;
use super::super::scalar::{Kind, NumericExpr, TooLarge, rational};
use super::functions::DAY;
use super::literal::Literal;
use super::reader::{Reader, plain};
use crate::error::Error;
use crate::number::Number;

/// A span of time: some months, which have no fixed length, and some seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    months: i64,
    seconds: RBig,
}

/// What one of a unit is: months or seconds.
enum SpanUnit {
    Months(i64),
    Seconds(u32),
}

/// The most months, and the most days, of a span: as many as the calendar has.
const MOST_MONTHS: i64 = 12 * 9_999;
const MOST_DAYS: u32 = 366 * 9_999;

impl Reader<'_> {
    /// The span that an expression is, if it is one: `INTERVAL '1 month'`, `INTERVAL 30 DAY`, or a whole multiple of one.
    pub(super) fn span(&self, expression: &Expr) -> Result<Option<Span>, Error> {
        match plain(expression) {
            Expr::Interval(interval) => self.interval(expression, interval).map(Some),
            Expr::BinaryOp { left, op: BinaryOperator::Multiply, right } => {
                let (factor, inner) =
                    if matches!(plain(left), Expr::Interval(_)) { (right, left) } else { (left, right) };
                let (Expr::Interval(interval), Some(literal)) = (plain(inner), Literal::of(self, plain(factor))) else {
                    return Ok(None);
                };
                let span = self.interval(inner, interval)?;
                let times = literal.number().and_then(Number::to_integer).filter(|times| times.abs() <= MOST_MONTHS);
                match times {
                    Some(times) => self.checked(expression, span.times(times)).map(Some),
                    // A fraction of a span that has a fixed length is a number of seconds.
                    None if span.months == 0 => Ok(None),
                    None => Err(self.refusal(expression, "a number of months is a whole number")),
                }
            }
            _ => Ok(None),
        }
    }

    /// A date or a time plus or minus a span, if an expression is that.
    pub(super) fn moved_date(
        &self,
        expression: &Expr,
        left: &Expr,
        operator: &BinaryOperator,
        right: &Expr,
    ) -> Result<Option<NumericExpr>, Error> {
        let (date, span) = match operator {
            BinaryOperator::Plus => match (self.span(right)?, self.span(left)?) {
                (Some(_), Some(_)) | (None, None) => return Ok(None),
                (Some(span), None) => (left, span),
                (None, Some(span)) => (right, span),
            },
            BinaryOperator::Minus => match self.span(right)? {
                Some(span) if self.span(left)?.is_none() => (left, span.back()),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.moved(expression, date, &span).map(Some)
    }

    fn checked(&self, expression: &Expr, span: Option<Span>) -> Result<Span, Error> {
        let most = RBig::from(DAY) * RBig::from(MOST_DAYS);
        let fits =
            |span: &Span| span.months.abs() <= MOST_MONTHS && span.seconds <= most && span.seconds >= -most.clone();
        span.filter(fits).ok_or_else(|| {
            let message = "a span of time is written like INTERVAL '30 days', '1 month' or '01:30:00', with years, months, weeks, \
                           days, hours, minutes and seconds, and is not longer than the calendar";
            self.refusal(expression, message)
        })
    }

    fn interval(&self, expression: &Expr, interval: &Interval) -> Result<Span, Error> {
        let Interval {
            value,
            leading_field,
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: None,
        } = interval
        else {
            return Err(self.refusal(expression, "a span of time is written like INTERVAL '30 days', without TO"));
        };
        let Some(literal) = Literal::of(self, plain(value)) else {
            return Err(self.refusal(value, "a span of time is written out: INTERVAL '30 days'"));
        };
        self.count_literal(value)?;
        let span = match (leading_field, literal.text(), literal.number()) {
            (None, Some(text), _) => Span::parse(text),
            (Some(unit), Some(text), _) => {
                Number::parse(text.trim()).ok().and_then(|number| Span::of(number, &unit.to_string()))
            }
            (Some(unit), None, Some(number)) => Span::of(number, &unit.to_string()),
            _ => None,
        };
        self.checked(expression, span)
    }

    /// A span as a number of seconds, where it has one.
    pub(super) fn seconds(&self, expression: &Expr, span: &Span) -> Result<NumericExpr, Error> {
        if span.months != 0 {
            let message =
                "a month has no fixed number of days: add it to a date, or write days, as in INTERVAL '30 days'";
            return Err(self.refusal(expression, message));
        }
        let grid = RBig::from_parts(1.into(), span.seconds.denominator().clone());
        let steps = i64::try_from(span.seconds.numerator().clone()).map_err(|_| TooLarge::Range);
        self.fitting(expression, steps.map(|steps| NumericExpr::steps(steps, Kind::Duration, grid)))
    }

    /// A date or a time, moved by a span: by its months first, as PostgreSQL does. A date stays one if the span has whole days.
    pub(super) fn moved(&self, expression: &Expr, from: &Expr, span: &Span) -> Result<NumericExpr, Error> {
        let mut moved = self.dated(from)?;
        if moved.kind == Kind::Duration {
            let seconds = self.seconds(expression, span)?;
            return self.fitting(expression, moved.plus(seconds, Kind::Duration));
        }
        if span.months != 0 {
            moved = self.months_later(expression, moved, span.months)?;
        }
        if span.seconds == RBig::ZERO {
            return Ok(moved);
        }
        let days = span.seconds.clone() / RBig::from(DAY);
        if moved.kind == Kind::Date && days.is_int() {
            let days = i64::try_from(days.numerator().clone()).map_err(|_| TooLarge::Range);
            let made = days.and_then(|days| moved.plus(NumericExpr::steps(days, Kind::Integer, RBig::ONE), Kind::Date));
            return self.fitting(expression, made);
        }
        let seconds = self.seconds(expression, &Span { months: 0, ..span.clone() })?;
        self.fitting(expression, self.to_timestamp(from, moved)?.plus(seconds, Kind::Timestamp))
    }

    /// A date or a time some months later.
    fn months_later(&self, expression: &Expr, from: NumericExpr, months: i64) -> Result<NumericExpr, Error> {
        if from.kind == Kind::Date {
            return self.fitting(expression, from.months_later(months));
        }
        let day = self.fitting(expression, from.clone().floor(&RBig::from(DAY), Kind::Timestamp))?;
        let made = from.plus(day.clone().negative(), Kind::Timestamp).and_then(|mut time| {
            // What is left of a day.
            let whole = (RBig::from(DAY) / time.grid.clone()).floor();
            (time.low, time.high) = (0, i64::try_from(whole).map_err(|_| TooLarge::Range)? - 1);
            let date = day.scaled(&(RBig::ONE / RBig::from(DAY)), Kind::Date).months_later(months)?;
            date.scaled(&RBig::from(DAY), Kind::Timestamp).plus(time, Kind::Timestamp)
        });
        self.fitting(expression, made)
    }

    /// `DATE_ADD(date, INTERVAL …)`, `DATE_ADD(date, days)` or `DATEADD(unit, number, date)`, added or subtracted.
    pub(super) fn date_add(&self, expression: &Expr, arguments: &[&Expr], sign: i64) -> Result<NumericExpr, Error> {
        let (date, span) = match arguments {
            [unit, number, date] => {
                let unit = self.unit(unit)?;
                let Some(literal) = Literal::of(self, plain(number)) else {
                    return self.units_later(expression, date, &unit, number, sign);
                };
                (*date, literal.number().and_then(|number| Span::of(number, &unit)))
            }
            [date, span] => match self.span(span)? {
                Some(span) => (*date, Some(span)),
                None => return self.units_later(expression, date, "DAY", span, sign),
            },
            _ => {
                let message = "write DATE_ADD(date, INTERVAL '30 days'), or date + INTERVAL '30 days'";
                return Err(self.refusal(expression, message));
            }
        };
        let span = self.checked(expression, span)?;
        self.moved(expression, date, &self.checked(expression, span.times(sign))?)
    }

    /// As many units later as a number of the row says.
    fn units_later(
        &self,
        expression: &Expr,
        date: &Expr,
        unit: &str,
        number: &Expr,
        sign: i64,
    ) -> Result<NumericExpr, Error> {
        let (from, number) = (self.dated(date)?, self.number(number)?);
        let seconds = match SpanUnit::of(unit) {
            Some(SpanUnit::Seconds(seconds)) => i64::from(seconds) * sign,
            _ => return Err(self.refusal(expression, "months and years are added by a literal, days by any number")),
        };
        let whole = number.kind == Kind::Integer && seconds % i64::from(DAY) == 0;
        let made = match from.kind == Kind::Date && whole {
            true => from.plus(number.scaled(&RBig::from(seconds / i64::from(DAY)), Kind::Integer), Kind::Date),
            false => self
                .to_timestamp(date, from)?
                .plus(number.scaled(&RBig::from(seconds), Kind::Duration), Kind::Timestamp),
        };
        self.fitting(expression, made)
    }

    /// How many times a unit of time begins between two dates or times: days, unless it says otherwise.
    pub(super) fn between_dates(
        &self,
        expression: &Expr,
        unit: &str,
        from: &Expr,
        to: &Expr,
    ) -> Result<NumericExpr, Error> {
        let count = |one: &Expr| {
            let scalar = self.dated(one)?;
            let time = |seconds: u32| {
                let floor = self.to_timestamp(one, scalar.clone())?.floor(&RBig::from(seconds), Kind::Timestamp);
                Ok(self.fitting(one, floor)?.scaled(&(RBig::ONE / RBig::from(seconds)), Kind::Integer))
            };
            let parts = |part: DatePart, each: i64| {
                let date = self.to_date(one, scalar.clone())?;
                let year = date.clone().calendar(DatePart::Year);
                let years =
                    year.and_then(|year| year.times(NumericExpr::steps(each, Kind::Integer, RBig::ONE), Kind::Integer));
                self.fitting(one, years.and_then(|years| years.plus(date.calendar(part)?, Kind::Integer)))
            };
            match unit {
                "YEAR" => self.fitting(one, self.to_date(one, scalar.clone())?.calendar(DatePart::Year)),
                "QUARTER" => parts(DatePart::Quarter, 4),
                "MONTH" => parts(DatePart::Month, 12),
                "WEEK" => {
                    // Weeks begin on Mondays, and 1970-01-05 was one.
                    let monday = self.to_date(one, scalar.clone())?.calendar(DatePart::StartOfWeek);
                    let since = NumericExpr::steps(-4, Kind::Integer, RBig::ONE);
                    let week = monday
                        .and_then(|monday| monday.plus(since, Kind::Integer)?.floor(&RBig::from(7), Kind::Integer));
                    Ok(self.fitting(one, week)?.scaled(&(RBig::ONE / RBig::from(7)), Kind::Integer))
                }
                "HOUR" => time(3_600),
                "MINUTE" => time(60),
                "SECOND" => time(1),
                _ => self.to_date(one, scalar),
            }
        };
        let (from, to) = (count(from)?, count(to)?);
        self.fitting(expression, to.plus(from.negative(), Kind::Integer))
    }
}

impl Span {
    /// A number of units.
    fn of(number: Number, unit: &str) -> Option<Span> {
        match SpanUnit::of(unit)? {
            SpanUnit::Months(months) => {
                let months = number.to_integer()?.checked_mul(months)?;
                Some(Span { months, seconds: RBig::ZERO })
            }
            SpanUnit::Seconds(seconds) => Some(Span { months: 0, seconds: rational(number) * RBig::from(seconds) }),
        }
    }

    /// `1 year 2 months`, `-3 days`, `01:30:00`, `1 day 12:00`.
    fn parse(text: &str) -> Option<Span> {
        let mut span = Span { months: 0, seconds: RBig::ZERO };
        let mut words = text.split_whitespace().peekable();
        words.peek()?;
        while let Some(word) = words.next() {
            let part = match word.contains(':') {
                true => Span::clock(word)?,
                false => {
                    // The number and its unit may be written as one: 30days.
                    let digits = word.find(|letter: char| letter.is_alphabetic()).unwrap_or(word.len());
                    let (number, unit) = word.split_at(digits);
                    let unit = if unit.is_empty() { words.next()? } else { unit };
                    Span::of(Number::parse(number).ok()?, unit)?
                }
            };
            span = Span { months: span.months.checked_add(part.months)?, seconds: span.seconds + part.seconds };
        }
        Some(span)
    }

    /// Hours, minutes and seconds.
    fn clock(text: &str) -> Option<Span> {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let parts: Vec<&str> = digits.split(':').collect();
        let mut seconds = RBig::ZERO;
        for (part, size) in parts.iter().zip([3_600u32, 60, 1]) {
            let number = Number::parse(part).ok().filter(|number| *number >= Number::ZERO)?;
            seconds += rational(number) * RBig::from(size);
        }
        (2..=3).contains(&parts.len()).then(|| Span { months: 0, seconds: if negative { -seconds } else { seconds } })
    }

    fn times(&self, times: i64) -> Option<Span> {
        Some(Span { months: self.months.checked_mul(times)?, seconds: self.seconds.clone() * RBig::from(times) })
    }

    /// The same in the other direction.
    pub(super) fn back(&self) -> Span {
        Span { months: -self.months, seconds: -self.seconds.clone() }
    }
}

impl SpanUnit {
    /// A unit by its name, also in the plural.
    fn of(name: &str) -> Option<SpanUnit> {
        let name = name.to_ascii_uppercase();
        Some(match name.strip_suffix('S').unwrap_or(&name) {
            "YEAR" | "YR" | "Y" | "YYYY" => SpanUnit::Months(12),
            "QUARTER" => SpanUnit::Months(3),
            "MONTH" | "MON" => SpanUnit::Months(1),
            "WEEK" | "W" => SpanUnit::Seconds(7 * DAY),
            "DAY" | "D" => SpanUnit::Seconds(DAY),
            "HOUR" | "HR" | "H" => SpanUnit::Seconds(3_600),
            "MINUTE" | "MIN" => SpanUnit::Seconds(60),
            "SECOND" | "SEC" => SpanUnit::Seconds(1),
            _ => return None,
        })
    }
}

/// The hour, minute or second of a time: the whole units of its size, without those of the next larger one.
pub(super) fn part_of_day(scalar: NumericExpr, size: u32, most: u32) -> Result<NumericExpr, TooLarge> {
    let unit = scalar.floor(&RBig::from(size), Kind::Timestamp)?;
    let next = unit.clone().floor(&RBig::from(size * most), Kind::Timestamp)?;
    let part = unit.plus(next.negative(), Kind::Timestamp)?;
    let mut part = part.scaled(&(RBig::ONE / RBig::from(size)), Kind::Integer);
    (part.low, part.high) = (0, i64::from(most) - 1);
    Ok(part)
}

/// Days since noon of the first day of the Julian calendar, as SQLite has them.
pub(super) fn julian_day(scalar: NumericExpr) -> Result<NumericExpr, TooLarge> {
    let days = match scalar.kind {
        Kind::Timestamp => scalar.scaled(&(RBig::ONE / RBig::from(DAY)), Kind::Decimal),
        _ => NumericExpr { kind: Kind::Decimal, ..scalar },
    };
    let half_days = NumericExpr::steps(4_881_175, Kind::Decimal, RBig::ONE / RBig::from(2));
    days.plus(half_days, Kind::Decimal)
}
