//! What expressions mean, in exact rational numbers and apart from everything that the gate computes: every form is a text and what SQL
//! makes of a row, written down beside each other.
//!
//! A column with bounds is clamped to them and put on its grid before anything is computed from it: numbers on the nearest step, halves
//! up, and times on the step before. Only where a column is compared with a literal, listed or looked up in a pattern, it counts as
//! it is. Null is as in PostgreSQL: LEAST and GREATEST leave it out, and conditions have three values.

use std::cmp::Ordering;
use std::rc::Rc;

use dashu::integer::IBig;
use dashu::rational::RBig;
use jiff::ToSpan;
use jiff::civil::{Date, DateTime};

use super::conditions::Condition;
use crate::question::predicate::Comparison;
use crate::question::scalar::rational;
use crate::schema::{ColumnType, Schema, Value};

/// The values of the columns; nothing is null.
pub(crate) type Row = Vec<Option<Value>>;

pub(super) type Of<T> = Rc<dyn Fn(&Row) -> Option<T>>;

/// What a value is: whole numbers divide to whole ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Whole,
    Decimal,
    Date,
    Time,
}

/// A number, the days of a date or the seconds of a time.
#[derive(Clone)]
pub(crate) struct Expression {
    pub(crate) kind: Type,
    pub(crate) text: String,
    /// The column that it is, if it is one.
    pub(crate) column: Option<usize>,
    /// The literal that it is, without quotes.
    pub(super) literal: Option<String>,
    /// The date or the time that it is for every row: a column beside it counts as it is.
    pub(super) day: Option<RBig>,
    value: Of<RBig>,
}

impl Expression {
    pub(super) fn new(kind: Type, text: String, value: impl Fn(&Row) -> Option<RBig> + 'static) -> Expression {
        Expression { kind, text, column: None, literal: None, day: None, value: Rc::new(value) }
    }

    pub(crate) fn value(&self, row: &Row) -> Option<RBig> {
        (self.value)(row)
    }

    pub(crate) fn column(schema: &Schema, at: usize) -> Expression {
        let column = &schema.columns[at];
        let kind = match column.kind {
            ColumnType::Integer => Type::Whole,
            ColumnType::Date => Type::Date,
            ColumnType::Timestamp => Type::Time,
            _ => Type::Decimal,
        };
        let bounds = column.bounds.expect("columns of numbers have bounds");
        let [low, high, grid] = [bounds.low(), bounds.high(), bounds.grid()].map(rational);
        let value = move |row: &Row| {
            let exact = match row[at].as_ref()? {
                Value::Real(value) if *value == f64::INFINITY => high.clone(),
                Value::Real(value) if *value == f64::NEG_INFINITY => low.clone(),
                value => raw(value),
            };
            let above = exact.max(low.clone()).min(high.clone()) - low.clone();
            let half = if kind == Type::Time { RBig::ZERO } else { RBig::from_parts(1.into(), 2u8.into()) };
            Some(low.clone() + grid.clone() * RBig::from((above / grid.clone() + half).floor()))
        };
        Expression { column: Some(at), ..Expression::new(kind, column.name.clone(), value) }
    }

    /// A literal number.
    pub(crate) fn number(text: &str) -> Expression {
        let value = rational(text.parse().unwrap());
        let kind = if text.contains(['.', 'e']) { Type::Decimal } else { Type::Whole };
        let shown = if text.starts_with('-') { format!("({text})") } else { text.to_string() };
        let literal = Some(text.to_string());
        Expression { literal, ..Expression::new(kind, shown, move |_| Some(value.clone())) }
    }

    /// A literal date or time with its type before it.
    pub(crate) fn dated(kind: Type, text: &str) -> Expression {
        let value = parsed(kind, text);
        let name = if kind == Type::Date { "DATE" } else { "TIMESTAMP" };
        let day = Some(value.clone());
        Expression { day, ..Expression::new(kind, format!("{name} '{text}'"), move |_| Some(value.clone())) }
    }

    /// A date or a time and a span of time: months first, and then days and seconds. A date stays one if these are whole days.
    pub(crate) fn moved(self, span: &'static str, months: i32, seconds: i64, sign: i32) -> Expression {
        let days = self.kind == Type::Date && seconds % 86_400 == 0;
        let to = if days { Type::Date } else { Type::Time };
        let from = self.kind;
        let operator = if sign < 0 { "-" } else { "+" };
        let text = format!("({} {operator} INTERVAL '{span}')", self.text);
        let unit = |kind: Type| RBig::from(if kind == Type::Date { 86_400 } else { 1 });
        let moved = move |value: RBig| {
            let whole = civil(from, &value);
            // What is left of a second stays.
            let rest = value.clone() * unit(from) - self::seconds(whole);
            let later = whole.checked_add((months * sign).months()).unwrap();
            (self::seconds(later) + rest + RBig::from(seconds * i64::from(sign))) / unit(to)
        };
        let day = self.day.clone().map(&moved);
        Expression { day, ..self.unary(to, text, moved) }
    }

    /// The quotient by an expression that is null where it is 0: of whole numbers a whole one, and of others to two places, which are fewer
    /// than those of the grid that it is on.
    pub(crate) fn divided_by(self, by: Expression) -> Expression {
        let whole = self.kind == Type::Whole && by.kind == Type::Whole;
        let kind = if whole { Type::Whole } else { Type::Decimal };
        let quotient = format!("{} / NULLIF({}, 0)", self.text, by.text);
        let text = if whole { format!("({quotient})") } else { format!("ROUND({quotient}, 2)") };
        Expression::new(kind, text, move |row| {
            let by = by.value(row)?;
            let quotient = (by != RBig::ZERO).then(|| self.value(row)).flatten()? / by;
            let hundred = RBig::from(100);
            Some(if whole { towards_0(&quotient) } else { nearest(&(quotient * hundred.clone())) / hundred })
        })
    }

    /// A literal date or time in quotes alone.
    pub(crate) fn quoted(kind: Type, text: &str) -> Expression {
        let value = parsed(kind, text);
        let literal = Some(text.to_string());
        Expression { literal, ..Expression::new(kind, format!("'{text}'"), move |_| Some(value.clone())) }
    }

    pub(super) fn is_whole_literal(&self) -> bool {
        self.literal.is_some() && self.kind == Type::Whole
    }

    fn unary(self, kind: Type, text: String, of: impl Fn(RBig) -> RBig + 'static) -> Expression {
        Expression::new(kind, text, move |row| Some(of(self.value(row)?)))
    }

    /// Two numbers with + - or * between them; days are added to a date, and the difference of two dates is in days.
    pub(crate) fn binary(self, operator: &'static str, other: Expression) -> Expression {
        let kind = match (self.kind, other.kind) {
            (Type::Date, Type::Date) => Type::Whole,
            (Type::Date, _) => Type::Date,
            (Type::Whole, Type::Whole) => Type::Whole,
            _ => Type::Decimal,
        };
        let text = format!("({} {operator} {})", self.text, other.text);
        let of = move |one: RBig, other: RBig| match operator {
            "+" => one + other,
            "-" => one - other,
            _ => one * other,
        };
        let days = other.literal.as_ref().map(|days| rational(days.parse().unwrap()));
        let day = self.day.clone().zip(days).map(|(day, days)| of(day, days)).filter(|_| kind == Type::Date);
        let value = move |row: &Row| Some(of(self.value(row)?, other.value(row)?));
        Expression { day, ..Expression::new(kind, text, value) }
    }

    /// The quotient by a literal: of whole numbers a whole one, towards 0.
    pub(crate) fn divided(self, by: Expression) -> Expression {
        let whole = self.kind == Type::Whole && by.kind == Type::Whole;
        let kind = if whole { Type::Whole } else { Type::Decimal };
        let text = format!("({} / {})", self.text, by.text);
        Expression::new(kind, text, move |row| {
            let quotient = self.value(row)? / by.value(row)?;
            Some(if whole { towards_0(&quotient) } else { quotient })
        })
    }

    /// What is left of a whole number, with its sign.
    pub(crate) fn remainder(self, by: Expression) -> Expression {
        let text = format!("({} % {})", self.text, by.text);
        Expression::new(Type::Whole, text, move |row| {
            let (value, by) = (self.value(row)?, by.value(row)?);
            Some(value.clone() - towards_0(&(value / by.clone())) * by)
        })
    }

    /// A literal with a sign before it is still a literal.
    pub(crate) fn negative(self) -> Expression {
        let (kind, text) = (self.kind, format!("(- {})", self.text));
        let literal = self.literal.as_ref().filter(|literal| !literal.starts_with('-'));
        let literal = literal.map(|literal| format!("-{literal}"));
        Expression { literal, ..self.unary(kind, text, |value| -value) }
    }

    pub(crate) fn absolute(self) -> Expression {
        let (kind, text) = (self.kind, format!("ABS({})", self.text));
        self.unary(kind, text, |value| if value < RBig::ZERO { -value } else { value })
    }

    /// ROUND and TRUNC to places, FLOOR and CEIL.
    pub(crate) fn rounded(self, function: &'static str, places: Option<i32>) -> Expression {
        let text = match places {
            Some(places) => format!("{function}({}, {places})", self.text),
            None => format!("{function}({})", self.text),
        };
        let ten = RBig::from(10).pow(places.unwrap_or(0).unsigned_abs() as isize);
        let scale = if places.unwrap_or(0) < 0 { RBig::ONE / ten } else { ten };
        self.unary(Type::Decimal, text, move |value| {
            let scaled = value * scale.clone();
            let whole = match function {
                "FLOOR" => RBig::from(scaled.floor()),
                "CEIL" => RBig::from(scaled.ceil()),
                "TRUNC" => towards_0(&scaled),
                _ => nearest(&scaled),
            };
            whole / scale.clone()
        })
    }

    pub(crate) fn cast(self, to: &'static str) -> Expression {
        let text = format!("CAST({} AS {to})", self.text);
        match to {
            "INTEGER" => self.unary(Type::Whole, text, |value| nearest(&value)),
            "DATE" => {
                let is_date = self.kind == Type::Date;
                let day = move |value: RBig| {
                    if is_date { value } else { RBig::from((value / RBig::from(86_400)).floor()) }
                };
                let same = self.day.clone().filter(|_| is_date);
                Expression { day: same, ..self.unary(Type::Date, text, day) }
            }
            _ => self.unary(Type::Decimal, text, |value| value),
        }
    }

    /// A date as the time at which it begins.
    pub(crate) fn cast_to_time(self) -> Expression {
        let text = format!("CAST({} AS TIMESTAMP)", self.text);
        let day = self.day.clone().map(|day| day * RBig::from(86_400));
        Expression { day, ..self.unary(Type::Time, text, |value| value * RBig::from(86_400)) }
    }

    /// LEAST, GREATEST or COALESCE.
    pub(crate) fn several(function: &'static str, parts: Vec<Expression>) -> Expression {
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        let text = format!("{function}({})", texts.join(", "));
        Expression::new(common(&parts), text, move |row| {
            let mut known = parts.iter().filter_map(|part| part.value(row));
            match function {
                "LEAST" => known.min(),
                "GREATEST" => known.max(),
                _ => known.next(),
            }
        })
    }

    pub(crate) fn null_if(self, other: Expression) -> Expression {
        let text = format!("NULLIF({}, {})", self.text, other.text);
        Expression::new(self.kind, text, move |row| {
            let value = self.value(row)?;
            (other.value(row) != Some(value.clone())).then_some(value)
        })
    }

    /// CASE with conditions.
    pub(crate) fn case(branches: Vec<(Condition, Expression)>, otherwise: Option<Expression>) -> Expression {
        let mut text = "CASE".to_string();
        branches.iter().for_each(|(when, then)| text += &format!(" WHEN {} THEN {}", when.text, then.text));
        Expression::chosen(text, branches, otherwise)
    }

    /// CASE with values that are compared with one.
    pub(crate) fn switch(self, branches: Vec<(Expression, Expression)>, otherwise: Option<Expression>) -> Expression {
        let mut text = format!("CASE {}", self.text);
        branches.iter().for_each(|(when, then)| text += &format!(" WHEN {} THEN {}", when.text, then.text));
        let equal = |when| self.clone().compared(Comparison::Equal, when);
        let branches = branches.into_iter().map(|(when, then)| (equal(when), then)).collect();
        Expression::chosen(text, branches, otherwise)
    }

    fn chosen(mut text: String, branches: Vec<(Condition, Expression)>, otherwise: Option<Expression>) -> Expression {
        if let Some(otherwise) = &otherwise {
            text += &format!(" ELSE {}", otherwise.text);
        }
        let values: Vec<Expression> = branches.iter().map(|(_, value)| value).chain(&otherwise).cloned().collect();
        Expression::new(common(&values), text + " END", move |row| {
            let taken = branches.iter().find(|(when, _)| when.holds(row) == Some(true));
            taken.map(|(_, then)| then).or(otherwise.as_ref())?.value(row)
        })
    }

    pub(crate) fn bucket(self, low: Expression, high: Expression, count: i32) -> Expression {
        let text = format!("WIDTH_BUCKET({}, {}, {}, {count})", self.text, low.text, high.text);
        Expression::new(Type::Whole, text, move |row| {
            let (value, low, high) = (self.value(row)?, low.value(row)?, high.value(row)?);
            Some(match () {
                () if value < low => RBig::ZERO,
                () if value >= high => RBig::from(count + 1),
                () => RBig::from(((value - low.clone()) * RBig::from(count) / (high - low)).floor()) + RBig::ONE,
            })
        })
    }

    pub(crate) fn part(self, part: &'static str) -> Expression {
        let (kind, text) = (self.kind, format!("EXTRACT({part} FROM {})", self.text));
        self.unary(if part == "EPOCH" { Type::Decimal } else { Type::Whole }, text, move |value| {
            if part == "EPOCH" {
                return value;
            }
            let time = civil(kind, &value);
            let date = time.date();
            RBig::from(match part {
                "YEAR" => i32::from(date.year()),
                "QUARTER" => i32::from((date.month() + 2) / 3),
                "MONTH" => date.month().into(),
                "WEEK" => date.iso_week_date().week().into(),
                "DAY" => date.day().into(),
                "DOW" => i32::from(date.weekday().to_monday_one_offset()) % 7,
                "ISODOW" => date.weekday().to_monday_one_offset().into(),
                "DOY" => date.day_of_year().into(),
                "HOUR" => time.hour().into(),
                "MINUTE" => time.minute().into(),
                _ => time.second().into(),
            })
        })
    }

    /// The seconds between two times.
    pub(crate) fn seconds_since(self, other: Expression) -> Expression {
        let text = format!("EXTRACT(EPOCH FROM {} - {})", self.text, other.text);
        Expression::new(Type::Decimal, text, move |row| Some(self.value(row)? - other.value(row)?))
    }

    pub(crate) fn cut_off(self, unit: &'static str) -> Expression {
        let (kind, text) = (self.kind, format!("DATE_TRUNC('{unit}', {})", self.text));
        let day = self.day.clone().filter(|_| kind == Type::Date && unit == "day");
        let cut_off = self.unary(kind, text, move |value| {
            let time = civil(kind, &value);
            let date = time.date();
            let start = match unit {
                "year" => date.first_of_year().to_datetime(Default::default()),
                "quarter" => Date::new(date.year(), (date.month() + 2) / 3 * 3 - 2, 1).unwrap().into(),
                "month" => date.first_of_month().into(),
                "week" => date.checked_sub((date.weekday().to_monday_one_offset() - 1).days()).unwrap().into(),
                "day" => date.into(),
                "hour" => date.at(time.hour(), 0, 0, 0),
                _ => date.at(time.hour(), time.minute(), 0, 0),
            };
            seconds(start) / RBig::from(if kind == Type::Date { 86_400 } else { 1 })
        });
        Expression { day, ..cut_off }
    }
}

fn common(parts: &[Expression]) -> Type {
    let kind = parts[0].kind;
    if parts.iter().all(|part| part.kind == kind) { kind } else { Type::Decimal }
}

fn towards_0(value: &RBig) -> RBig {
    RBig::from(if *value < RBig::ZERO { value.ceil() } else { value.floor() })
}

/// Halves away from 0.
pub(crate) fn nearest(value: &RBig) -> RBig {
    let half = RBig::from_parts(1.into(), 2u8.into());
    let whole: IBig = if *value < RBig::ZERO { (value - half).ceil() } else { (value + half).floor() };
    RBig::from(whole)
}

/// A finite number, the days of a date, or the seconds of a time, exactly.
fn raw(value: &Value) -> RBig {
    match value {
        Value::Integer(value) => RBig::from(*value),
        Value::Real(value) => RBig::try_from(*value).expect("it is finite"),
        Value::Decimal(number) => rational(*number),
        Value::Date(days) => RBig::from(*days),
        Value::Timestamp(micros) => RBig::from(*micros) / RBig::from(1_000_000),
        Value::Boolean(_) | Value::Text(_) => unreachable!("it is no number"),
    }
}

/// The order of a column's value and a literal: binary numbers are compared as such.
pub(super) fn beside(value: &Value, literal: &str) -> Ordering {
    match value {
        Value::Real(value) => value.partial_cmp(&literal.parse().unwrap()).expect("none is NaN"),
        Value::Date(_) => raw(value).cmp(&parsed(Type::Date, literal)),
        Value::Timestamp(_) => raw(value).cmp(&parsed(Type::Time, literal)),
        _ => raw(value).cmp(&rational(literal.parse().unwrap())),
    }
}

/// The order of a column's value and a date or a time, if the value is compared as it is: a date beside a time is not.
pub(super) fn beside_day(value: &Value, day: &Expression) -> Option<Ordering> {
    let known = day.day.clone()?;
    match (value, day.kind) {
        (Value::Date(_), Type::Date) | (Value::Timestamp(_), Type::Time) => Some(raw(value).cmp(&known)),
        (Value::Timestamp(_), Type::Date) => Some(raw(value).cmp(&(known * RBig::from(86_400)))),
        _ => None,
    }
}

fn parsed(kind: Type, text: &str) -> RBig {
    let days = kind == Type::Date;
    let time = if days { text.parse::<Date>().unwrap().into() } else { text.parse::<DateTime>().unwrap() };
    seconds(time) / RBig::from(if days { 86_400 } else { 1 })
}

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

fn seconds(time: DateTime) -> RBig {
    RBig::from(time.duration_since(EPOCH).as_secs())
}

/// The date or time of days or seconds.
fn civil(kind: Type, value: &RBig) -> DateTime {
    let whole = i64::try_from(value.floor()).unwrap();
    let unit = if kind == Type::Date { 86_400 } else { 1 };
    EPOCH.checked_add(jiff::SignedDuration::from_secs(whole * unit)).unwrap()
}
