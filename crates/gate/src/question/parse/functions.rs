//! Functions of a row.

use dashu::rational::RBig;
use sqlparser::ast::{
    CeilFloorKind, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, ObjectNamePart, Value as Written,
};

use super::super::calendar::DatePart;
use super::super::predicate::{Comparison, LetterCase, Predicate};
use super::super::scalar::{Kind, NumericExpr, TooLarge, on_one_grid};
use super::literal::Literal;
use super::patterns::TextPlace;
use super::reader::{Reader, plain};
use super::scalar::Typed;
use super::spans::{julian_day, part_of_day};
use crate::error::Error;
use crate::schema::ColumnType;

/// The seconds of a day.
pub(super) const DAY: u32 = 86_400;

impl Reader<'_> {
    pub(super) fn function<'e>(&self, expression: &'e Expr, function: &'e Function) -> Result<Typed<'e>, Error> {
        self.count_operator(expression)?;
        if Reader::is_aggregate(function) {
            let message =
                "an aggregate cannot stand in another one, in WHERE or in GROUP BY: use HAVING, or a sub-query";
            return Err(self.refusal(expression, message));
        }
        let name = function.name.to_string();
        let arguments = self.arguments(expression, function)?;
        let steps = |made: Result<NumericExpr, TooLarge>| self.fitting(expression, made).map(Typed::Steps);
        match (name.as_str(), arguments.as_slice()) {
            ("ABS", [inner]) => Ok(Typed::Steps(self.number(inner)?.absolute())),
            ("FLOOR", [inner]) => steps(self.number(inner)?.floor(&RBig::ONE, Kind::Decimal)),
            ("CEIL" | "CEILING", [inner]) => steps(self.number(inner)?.ceil(&RBig::ONE, Kind::Decimal)),
            ("ROUND", [inner]) => steps(self.number(inner)?.rounded(&RBig::ONE, Kind::Decimal)),
            ("ROUND", [inner, places]) => steps(self.number(inner)?.rounded(&self.places(places)?, Kind::Decimal)),
            ("TRUNC" | "TRUNCATE", [inner]) => steps(self.number(inner)?.truncated(&RBig::ONE, Kind::Decimal)),
            ("TRUNC" | "TRUNCATE", [inner, places]) => {
                steps(self.number(inner)?.truncated(&self.places(places)?, Kind::Decimal))
            }
            ("MOD", [one, other]) => {
                self.remainder(expression, self.number(one)?, other, &self.number(other)?).map(Typed::Steps)
            }
            ("LEAST", [_, _, ..]) => steps(NumericExpr::least(self.several(expression, &arguments)?)),
            ("GREATEST", [_, _, ..]) => steps(NumericExpr::greatest(self.several(expression, &arguments)?)),
            ("COALESCE" | "IFNULL" | "NVL" | "ISNULL", [_, _, ..]) => {
                steps(NumericExpr::coalesce(self.several(expression, &arguments)?))
            }
            ("NULLIF", [one, other]) => {
                let [one, other] = self.comparable(one, other)?;
                steps(one.null_if(other))
            }
            ("IF" | "IIF" | "IFF", [condition, then, otherwise]) => {
                let (then, otherwise) = (self.scalar(then)?, self.scalar(otherwise)?);
                self.check_kinds(expression, [&then, &otherwise].into_iter())?;
                steps(NumericExpr::case(vec![(self.predicate(condition)?, then)], Some(otherwise)))
            }
            ("WIDTH_BUCKET", [inner, low, high, count]) => {
                self.bucket(expression, [inner, low, high, count]).map(Typed::Steps)
            }
            ("LOWER", [inner]) => self.in_case(inner, LetterCase::Lower),
            ("UPPER", [inner]) => self.in_case(inner, LetterCase::Upper),
            // BigQuery has the unit last.
            ("DATE_TRUNC" | "DATETIME_TRUNC" | "TIMESTAMP_TRUNC", [inner, unit])
                if is_unit(unit) && !is_unit(inner) =>
            {
                self.cut_off(expression, &self.unit(unit)?, inner).map(Typed::Steps)
            }
            ("DATE_TRUNC" | "DATETRUNC" | "DATETIME_TRUNC" | "TIMESTAMP_TRUNC", [unit, inner]) => {
                self.cut_off(expression, &self.unit(unit)?, inner).map(Typed::Steps)
            }
            ("JULIANDAY", [inner]) => steps(julian_day(self.dated(inner)?)),
            ("DATE_PART" | "DATEPART", [unit, inner]) => {
                self.extract(expression, &self.unit(unit)?, inner).map(Typed::Steps)
            }
            ("YEAR" | "QUARTER" | "MONTH" | "WEEK" | "DAY" | "HOUR" | "MINUTE" | "SECOND", [inner]) => {
                self.extract(expression, &name, inner).map(Typed::Steps)
            }
            ("LENGTH" | "CHAR_LENGTH" | "CHARACTER_LENGTH" | "LEN", [inner]) => {
                self.length(expression, inner).map(Typed::Steps)
            }
            ("STARTS_WITH" | "STARTSWITH", [of, text]) => self.has_text(of, text, TextPlace::Start).map(Typed::Truth),
            ("ENDS_WITH" | "ENDSWITH", [of, text]) => self.has_text(of, text, TextPlace::End).map(Typed::Truth),
            ("CONTAINS", [of, text]) => self.has_text(of, text, TextPlace::Anywhere).map(Typed::Truth),
            ("DATE", [inner]) => self.to_date(expression, self.scalar(inner)?).map(Typed::Steps),
            ("POWER" | "POW", [inner, exponent]) => {
                let (base, exponent) = (self.number(inner)?, self.whole_literal(exponent, 1..=4)?);
                let power = |power: Result<NumericExpr, TooLarge>, _| {
                    let (power, kind) = (power?, base.kind);
                    power.times(base.clone(), kind)
                };
                steps((1..exponent).fold(Ok(base.clone()), power))
            }
            // As other databases write it: the unit first, the unit last, or days without a unit.
            ("DATEDIFF" | "DATE_DIFF" | "TIMESTAMPDIFF", [unit, from, to]) if is_unit(unit) => {
                self.between_dates(expression, &self.unit(unit)?, from, to).map(Typed::Steps)
            }
            ("DATEDIFF" | "DATE_DIFF" | "TIMESTAMP_DIFF", [to, from, unit]) if is_unit(unit) => {
                self.between_dates(expression, &self.unit(unit)?, from, to).map(Typed::Steps)
            }
            ("DATEDIFF" | "DATE_DIFF", [to, from]) => self.between_dates(expression, "DAY", from, to).map(Typed::Steps),
            ("DATE_ADD" | "DATEADD" | "TIMESTAMP_ADD" | "TIMESTAMPADD", _) => {
                self.date_add(expression, &arguments, 1).map(Typed::Steps)
            }
            ("DATE_SUB" | "TIMESTAMP_SUB", _) => self.date_add(expression, &arguments, -1).map(Typed::Steps),
            ("LN" | "LOG" | "LOG10" | "LOG2" | "EXP" | "SQRT", [_]) => {
                let message = format!(
                    "{name}(…) of a row is not supported, because engines round it differently: use it on an aggregate, as in \
                     {name}(AVG(column)), or group the rows into bins"
                );
                Err(self.refusal(expression, message))
            }
            _ => {
                let shown: String = name.chars().take(40).collect();
                let message = format!(
                    "{shown}(…) is not supported here, with {}: the functions of a row are ABS, FLOOR, CEIL, ROUND, TRUNC, MOD, POWER, \
                     LEAST, GREATEST, COALESCE, NULLIF, IF, WIDTH_BUCKET, LOWER, UPPER, LEFT, SUBSTR, LENGTH, CONCAT, DATE_TRUNC, EXTRACT, \
                     DATE_ADD, DATE_DIFF, TO_CHAR and CAST",
                    number_of_arguments(arguments.len())
                );
                Err(self.refusal(expression, message))
            }
        }
    }

    /// The arguments of a plain function.
    pub(super) fn arguments<'e>(&self, expression: &Expr, function: &'e Function) -> Result<Vec<&'e Expr>, Error> {
        let Function {
            name,
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses }),
            within_group,
            filter: None,
            null_treatment: None,
            over: None,
        } = function
        else {
            return Err(
                self.refusal(expression, "this form of the function is not supported: write only its arguments")
            );
        };
        let plain = matches!(name.0.as_slice(), [ObjectNamePart::Identifier(name)] if name.quote_style.is_none());
        if !plain || !clauses.is_empty() || !within_group.is_empty() {
            return Err(
                self.refusal(expression, "this form of the function is not supported: write only its arguments")
            );
        }
        let argument = |argument: &'e FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Ok(argument),
            _ => Err(self.refusal(expression, "arguments are expressions, without names: only COUNT takes *")),
        };
        args.iter().map(argument).collect()
    }

    fn several(&self, expression: &Expr, arguments: &[&Expr]) -> Result<Vec<NumericExpr>, Error> {
        let parts = arguments.iter().map(|argument| self.scalar(argument)).collect::<Result<Vec<_>, Error>>()?;
        self.check_kinds(expression, parts.iter())?;
        Ok(parts)
    }

    /// The power of ten that a number is rounded to.
    fn places(&self, expression: &Expr) -> Result<RBig, Error> {
        Ok(step_of(self.whole_literal(expression, -15..=15)?))
    }

    /// A whole number that is written out, in a range.
    pub(super) fn whole_literal(&self, expression: &Expr, range: std::ops::RangeInclusive<i64>) -> Result<i64, Error> {
        let constant = self.scalar(expression)?.as_constant().filter(RBig::is_int);
        let whole = constant.and_then(|constant| i64::try_from(constant.numerator().clone()).ok());
        whole.filter(|whole| range.contains(whole)).ok_or_else(|| {
            let message = format!("a whole number from {} to {} is needed here", range.start(), range.end());
            self.refusal(expression, message)
        })
    }

    pub(super) fn floor(
        &self,
        expression: &Expr,
        inner: &Expr,
        field: &CeilFloorKind,
        round: impl Fn(NumericExpr, &RBig, Kind) -> Result<NumericExpr, TooLarge>,
    ) -> Result<NumericExpr, Error> {
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => {
                self.fitting(expression, round(self.number(inner)?, &RBig::ONE, Kind::Decimal))
            }
            _ => Err(self.refusal(expression, "FLOOR and CEIL take one number: for others use ROUND or TRUNC")),
        }
    }

    /// `WIDTH_BUCKET(x, low, high, count)`: 0 below, count + 1 from the upper end on.
    fn bucket(&self, expression: &Expr, [inner, low, high, count]: [&Expr; 4]) -> Result<NumericExpr, Error> {
        let value = self.number(inner)?;
        let (from, to) = (self.number(low)?, self.number(high)?);
        let count = self.whole_literal(count, 1..=10_000)?;
        let (Some(start), Some(end)) = (from.as_constant(), to.as_constant()) else {
            return Err(self.refusal(low, "the ends of the buckets are literals"));
        };
        if start >= end {
            return Err(self.refusal(high, "the upper end of the buckets must be above the lower one"));
        }
        let compare = |comparison, end: &NumericExpr| {
            let sides = on_one_grid([value.clone(), end.clone()]);
            sides.map(|[left, right]| Predicate::Steps { left, comparison, right })
        };
        let made = || {
            let (below, above) = (compare(Comparison::Less, &from)?, compare(Comparison::GreaterOrEqual, &to)?);
            let width = (end - start) / RBig::from(count);
            let place = value.clone().plus(from.negative(), Kind::Decimal)?.floor(&width, Kind::Decimal)?;
            let place = place.scaled(&(RBig::ONE / &width), Kind::Integer);
            let mut place = place.plus(NumericExpr::steps(1, Kind::Integer, RBig::ONE), Kind::Integer)?;
            // Outside of the ends the other branches are taken.
            (place.low, place.high) = (place.low.clamp(1, count), place.high.clamp(1, count));
            let ends = [(below, 0), (above, count + 1)];
            let ends = ends.map(|(condition, steps)| (condition, NumericExpr::steps(steps, Kind::Integer, RBig::ONE)));
            NumericExpr::case(ends.into(), Some(place))
        };
        self.fitting(expression, made())
    }

    fn in_case<'e>(&self, inner: &'e Expr, case: LetterCase) -> Result<Typed<'e>, Error> {
        match self.typed(inner)? {
            Typed::Column(operand) if self.declared(operand.column).kind == ColumnType::Text => {
                Ok(Typed::Column(super::super::predicate::Operand { case, ..operand }))
            }
            _ => Err(self.refusal(inner, "LOWER and UPPER take a column of text")),
        }
    }

    /// The unit of a date, as text.
    pub(super) fn unit(&self, expression: &Expr) -> Result<String, Error> {
        match plain(expression) {
            Expr::Value(value) => match &value.value {
                Written::SingleQuotedString(unit) => Ok(unit.to_ascii_uppercase()),
                _ => Err(self.refusal(expression, "a unit is text, such as 'month'")),
            },
            Expr::Identifier(name) => Ok(name.value.to_ascii_uppercase()),
            _ => Err(self.refusal(expression, "a unit is text, such as 'month'")),
        }
    }

    /// A date or a time, also one that is written as text.
    pub(super) fn dated(&self, expression: &Expr) -> Result<NumericExpr, Error> {
        let scalar = match self.typed(expression)? {
            Typed::Literal(literal) => literal.date_or_time(self)?,
            _ => self.scalar(expression)?,
        };
        match scalar.kind {
            Kind::Date | Kind::Timestamp | Kind::Duration => Ok(scalar),
            Kind::Integer | Kind::Decimal => {
                Err(self.refusal(expression, "this is a number, and a date or a time is needed here"))
            }
        }
    }

    /// A date or a time that is written out, in days or seconds; nothing if it is no literal.
    pub(super) fn dated_literal(&self, expression: &Expr, kind: Kind) -> Result<Option<f64>, Error> {
        let scalar = match (Literal::of(self, plain(expression)), plain(expression)) {
            (Some(literal), _) => {
                self.count_literal(plain(expression))?;
                literal.scalar_beside(kind)?
            }
            (None, Expr::TypedString(_)) => self.scalar(expression)?,
            _ => return Ok(None),
        };
        match scalar.as_constant() {
            Some(value) if scalar.kind == kind => Ok(Some(value.to_f64().value())),
            _ => Err(self.refusal(expression, "these must be two dates, or two times")),
        }
    }

    /// `EXTRACT(part FROM …)`.
    pub(super) fn extract(&self, expression: &Expr, part: &str, inner: &Expr) -> Result<NumericExpr, Error> {
        let scalar = self.dated(inner)?;
        let part = match (part, scalar.kind) {
            ("EPOCH", Kind::Duration | Kind::Timestamp) => return Ok(NumericExpr { kind: Kind::Decimal, ..scalar }),
            (_, Kind::Duration) => {
                return Err(self.refusal(expression, "the only part of a time span is EPOCH, its seconds"));
            }
            ("HOUR", Kind::Timestamp) => return self.fitting(expression, part_of_day(scalar, 3600, 24)),
            ("MINUTE", Kind::Timestamp) => return self.fitting(expression, part_of_day(scalar, 60, 60)),
            ("SECOND", Kind::Timestamp) => return self.fitting(expression, part_of_day(scalar, 1, 60)),
            ("YEAR", _) => DatePart::Year,
            ("QUARTER", _) => DatePart::Quarter,
            ("MONTH", _) => DatePart::Month,
            ("WEEK", _) => DatePart::Week,
            ("DAY", _) => DatePart::Day,
            ("DOW" | "DAYOFWEEK", _) => DatePart::DayOfWeek,
            ("ISODOW", _) => DatePart::IsoDayOfWeek,
            ("DOY" | "DAYOFYEAR", _) => DatePart::DayOfYear,
            _ => {
                let message = "the parts of a date are YEAR, QUARTER, MONTH, WEEK, DAY, DOW, ISODOW and DOY; those of a time also \
                               HOUR, MINUTE and SECOND, and EPOCH";
                return Err(self.refusal(expression, message));
            }
        };
        let days = self.to_date(inner, scalar)?;
        self.fitting(expression, days.calendar(part))
    }

    /// `DATE_TRUNC(unit, …)`: a date stays a date, a time stays a time.
    fn cut_off(&self, expression: &Expr, unit: &str, inner: &Expr) -> Result<NumericExpr, Error> {
        let scalar = self.dated(inner)?;
        let is_time = scalar.kind == Kind::Timestamp;
        let part = match unit {
            "YEAR" => DatePart::StartOfYear,
            "QUARTER" => DatePart::StartOfQuarter,
            "MONTH" => DatePart::StartOfMonth,
            "WEEK" => DatePart::StartOfWeek,
            "DAY" if !is_time => return Ok(scalar),
            "DAY" => return self.fitting(expression, scalar.floor(&RBig::from(DAY), Kind::Timestamp)),
            "HOUR" if is_time => return self.fitting(expression, scalar.floor(&RBig::from(3600), Kind::Timestamp)),
            "MINUTE" if is_time => return self.fitting(expression, scalar.floor(&RBig::from(60), Kind::Timestamp)),
            _ => {
                let message = "a date is cut off at 'year', 'quarter', 'month', 'week' or 'day', a time also at 'hour' or 'minute'";
                return Err(self.refusal(expression, message));
            }
        };
        let days = self.fitting(expression, self.to_date(inner, scalar)?.calendar(part))?;
        if is_time { self.to_timestamp(expression, days) } else { Ok(days) }
    }

    pub(super) fn to_date(&self, expression: &Expr, scalar: NumericExpr) -> Result<NumericExpr, Error> {
        match scalar.kind {
            Kind::Date => Ok(scalar),
            Kind::Timestamp => {
                let days = self.fitting(expression, scalar.floor(&RBig::from(DAY), Kind::Timestamp))?;
                Ok(days.scaled(&(RBig::ONE / RBig::from(DAY)), Kind::Date))
            }
            _ => Err(self.refusal(expression, "this is a number, and a date or a time is needed here")),
        }
    }

    pub(super) fn to_timestamp(&self, expression: &Expr, scalar: NumericExpr) -> Result<NumericExpr, Error> {
        match scalar.kind {
            Kind::Timestamp => Ok(scalar),
            Kind::Date => Ok(scalar.scaled(&RBig::from(DAY), Kind::Timestamp)),
            _ => Err(self.refusal(expression, "this is a number, and a date or a time is needed here")),
        }
    }

    /// Two sides that can be compared, on one grid: text beside a date or a time is one.
    pub(super) fn comparable(&self, left: &Expr, right: &Expr) -> Result<[NumericExpr; 2], Error> {
        let read = |one: &Expr, other: &Expr| match (self.typed(one)?, Literal::of(self, plain(other))) {
            (Typed::Literal(literal), None) if literal.text().is_some() => {
                literal.scalar_beside(self.scalar(other)?.kind)
            }
            _ => self.scalar(one),
        };
        let (mut one, mut other) = (read(left, right)?, read(right, left)?);
        match (one.kind, other.kind) {
            (Kind::Date, Kind::Timestamp) => one = self.to_timestamp(left, one)?,
            (Kind::Timestamp, Kind::Date) => other = self.to_timestamp(right, other)?,
            _ => {}
        }
        self.check_kinds(left, [&one, &other].into_iter())?;
        on_one_grid([one, other]).map_err(|error| match self.fitting(left, Err(error)) {
            Err(error) => error,
            Ok(_) => unreachable!("it is too large"),
        })
    }
}

/// Whether an argument is a unit of time that dates differ by.
fn is_unit(expression: &Expr) -> bool {
    let text = match plain(expression) {
        Expr::Identifier(name) => &name.value,
        Expr::Value(value) => match &value.value {
            Written::SingleQuotedString(text) => text,
            _ => return false,
        },
        _ => return false,
    };
    ["DAY", "MONTH", "YEAR", "WEEK", "QUARTER", "HOUR", "MINUTE", "SECOND"]
        .iter()
        .any(|unit| text.eq_ignore_ascii_case(unit))
}

/// How many arguments there are, in words.
pub(super) fn number_of_arguments(count: usize) -> String {
    if count == 1 { "1 argument".to_string() } else { format!("{count} arguments") }
}

/// The step of numbers with this many digits behind the point; before it, if that is negative.
pub(super) fn step_of(places: i64) -> RBig {
    let power = RBig::from(10).pow(places.unsigned_abs() as isize);
    if places < 0 { power } else { RBig::ONE / power }
}
