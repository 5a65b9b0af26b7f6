//! Dates as text: TO_CHAR, strftime and the like, of dates whose bounds are declared.

use std::collections::BTreeMap;

use dashu::rational::RBig;
use sqlparser::ast::Expr;

use super::super::calendar::DatePart;
use super::super::scalar::{Kind, NumericExpr, TooLarge};
use super::labels::Labelled;
use super::limits;
use super::reader::Reader;
use super::spans::part_of_day;
use crate::error::Error;

/// The most days between the bounds of a date that is shown as text: 400 years.
const MOST_DAYS: i64 = 146_097;

/// A piece of a format.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    /// A number, with at least this many digits.
    Date(DatePart, usize),
    /// The last two digits of the year.
    ShortYear,
    /// The name of a month or of a day of the week.
    Name {
        part: DatePart,
        short: bool,
        letters: Letters,
    },
    /// The hour, the minute or the second: how many seconds it has, and how many there are of it.
    Time {
        size: u32,
        most: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letters {
    Capitals,
    Small,
    First,
}

/// A number that follows from a day.
type OfDay = Box<dyn Fn(i64) -> i64>;

/// How formats are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatStyle {
    /// `YYYY-MM`, as PostgreSQL's TO_CHAR.
    Template,
    /// `yyyy-MM`, as Spark's DATE_FORMAT.
    Letters,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const YEAR: Piece = Piece::Date(DatePart::Year, 4);
const MONTH: Piece = Piece::Date(DatePart::Month, 2);
const DAY: Piece = Piece::Date(DatePart::Day, 2);
const HOUR: Piece = Piece::Time { size: 3_600, most: 24 };
const MINUTE: Piece = Piece::Time { size: 60, most: 60 };
const SECOND: Piece = Piece::Time { size: 1, most: 60 };

const fn named(part: DatePart, short: bool, letters: Letters) -> Piece {
    Piece::Name { part, short, letters }
}

const WEEKDAY: DatePart = DatePart::DayOfWeek;

/// What stands for what in TO_CHAR; longer ones first.
const TEMPLATE: [(&str, Piece); 27] = [
    ("HH24", HOUR),
    ("YYYY", YEAR),
    ("yyyy", YEAR),
    ("MONTH", named(DatePart::Month, false, Letters::Capitals)),
    ("Month", named(DatePart::Month, false, Letters::First)),
    ("month", named(DatePart::Month, false, Letters::Small)),
    ("DDD", Piece::Date(DatePart::DayOfYear, 3)),
    ("DAY", named(WEEKDAY, false, Letters::Capitals)),
    ("Day", named(WEEKDAY, false, Letters::First)),
    ("day", named(WEEKDAY, false, Letters::Small)),
    ("MON", named(DatePart::Month, true, Letters::Capitals)),
    ("Mon", named(DatePart::Month, true, Letters::First)),
    ("mon", named(DatePart::Month, true, Letters::Small)),
    ("DY", named(WEEKDAY, true, Letters::Capitals)),
    ("Dy", named(WEEKDAY, true, Letters::First)),
    ("dy", named(WEEKDAY, true, Letters::Small)),
    ("YY", Piece::ShortYear),
    ("yy", Piece::ShortYear),
    ("MM", MONTH),
    ("mm", MONTH),
    ("DD", DAY),
    ("dd", DAY),
    ("ID", Piece::Date(DatePart::IsoDayOfWeek, 1)),
    ("IW", Piece::Date(DatePart::Week, 2)),
    ("MI", MINUTE),
    ("SS", SECOND),
    ("Q", Piece::Date(DatePart::Quarter, 1)),
];

/// What stands for what in formats of letters.
const LETTERS: [(&str, Piece); 14] = [
    ("yyyy", YEAR),
    ("MMMM", named(DatePart::Month, false, Letters::First)),
    ("EEEE", named(WEEKDAY, false, Letters::First)),
    ("dddd", named(WEEKDAY, false, Letters::First)),
    ("MMM", named(DatePart::Month, true, Letters::First)),
    ("EEE", named(WEEKDAY, true, Letters::First)),
    ("ddd", named(WEEKDAY, true, Letters::First)),
    ("yy", Piece::ShortYear),
    ("MM", MONTH),
    ("dd", DAY),
    ("HH", HOUR),
    ("mm", MINUTE),
    ("ss", SECOND),
    ("Q", Piece::Date(DatePart::Quarter, 1)),
];

/// What stands behind %.
const PERCENT: [(&str, Piece); 17] = [
    ("Y", YEAR),
    ("y", Piece::ShortYear),
    ("m", MONTH),
    ("d", DAY),
    ("b", named(DatePart::Month, true, Letters::First)),
    ("B", named(DatePart::Month, false, Letters::First)),
    ("a", named(WEEKDAY, true, Letters::First)),
    ("A", named(WEEKDAY, false, Letters::First)),
    ("j", Piece::Date(DatePart::DayOfYear, 3)),
    ("V", Piece::Date(DatePart::Week, 2)),
    ("u", Piece::Date(DatePart::IsoDayOfWeek, 1)),
    ("w", Piece::Date(DatePart::DayOfWeek, 1)),
    ("Q", Piece::Date(DatePart::Quarter, 1)),
    ("H", HOUR),
    ("M", MINUTE),
    ("i", MINUTE),
    ("S", SECOND),
];

impl Reader<'_> {
    /// A date or a time as text.
    pub(super) fn formatted(
        &self,
        expression: &Expr,
        date: &Expr,
        format: &str,
        style: FormatStyle,
    ) -> Result<Labelled, Error> {
        let pieces = if format.contains('%') { percent(format) } else { lettered(format, style) };
        let Some(pieces) = pieces else {
            let message = "a format may have years, quarters, months and their names, weeks of ISO, days and their names, \
                           hours, minutes and seconds, such as 'YYYY-MM', 'Mon', '%Y-%m' and '%H:%M'";
            return Err(self.refusal(expression, message));
        };
        let scalar = self.dated(date)?;
        let is_time = scalar.kind == Kind::Timestamp;
        if !is_time && pieces.iter().any(|piece| matches!(piece, Piece::Time { .. })) {
            return Err(self.refusal(date, "this is a date, and has no hours: remove them from the format"));
        }
        let days = self.to_date(date, scalar.clone())?;
        let (mut code, mut texts) = self.day_code(expression, &days, &pieces)?;
        let times: Vec<(u32, u32)> = distinct(pieces.iter().filter_map(|piece| match piece {
            Piece::Time { size, most } => Some((*size, *most)),
            _ => None,
        }));
        for (size, most) in times {
            let part = self.fitting(expression, part_of_day(scalar.clone(), size, most))?;
            let whole = NumericExpr::steps(i64::from(most), Kind::Integer, RBig::ONE);
            let made = code.times(whole, Kind::Integer).and_then(|code| code.plus(part, Kind::Integer));
            code = self.fitting(expression, made)?;
            self.few(expression, texts.len().saturating_mul(most as usize))?;
            texts = texts
                .into_iter()
                .flat_map(|(number, day, seconds)| {
                    (0..most).map(move |unit| (number * i64::from(most) + i64::from(unit), day, seconds + unit * size))
                })
                .collect();
        }
        let labels = texts.into_iter().map(|(number, day, seconds)| (number, text(&pieces, day, seconds))).collect();
        self.relabelled(expression, code, labels)
    }

    /// A number for the parts of a date that a format shows, and for every such number a day that has it.
    #[expect(clippy::type_complexity, reason = "the number, a day, and the seconds of the day")]
    fn day_code(
        &self,
        expression: &Expr,
        days: &NumericExpr,
        pieces: &[Piece],
    ) -> Result<(NumericExpr, Vec<(i64, i64, u32)>), Error> {
        let parts: Vec<DatePart> = distinct(pieces.iter().filter_map(|piece| match piece {
            Piece::Date(part, _) | Piece::Name { part, .. } => Some(*part),
            Piece::ShortYear => Some(DatePart::Year),
            Piece::Text(_) | Piece::Time { .. } => None,
        }));
        if days.high - days.low > MOST_DAYS {
            let message =
                "the bounds of this date are more than 400 years apart: ask the owner for closer ones, or use EXTRACT";
            return Err(self.refusal(expression, message));
        }
        let has = |part: DatePart| parts.contains(&part);
        let only = |allowed: &[DatePart]| parts.iter().all(|part| allowed.contains(part));
        use DatePart::{Day, DayOfYear, Month, Quarter, StartOfMonth, StartOfQuarter, Year};
        let (code, number): (Result<NumericExpr, TooLarge>, OfDay) = match () {
            () if has(Year) && ((has(Month) && has(Day)) || has(DayOfYear)) => (Ok(days.clone()), Box::new(|day| day)),
            () if has(Year) && has(Month) && only(&[Year, Quarter, Month]) => {
                (days.clone().calendar(StartOfMonth), Box::new(|day| StartOfMonth.of(day)))
            }
            () if has(Year) && has(Quarter) && only(&[Year, Quarter]) => {
                (days.clone().calendar(StartOfQuarter), Box::new(|day| StartOfQuarter.of(day)))
            }
            () => mixed(days, parts),
        };
        let mut representatives: BTreeMap<i64, i64> = BTreeMap::new();
        for day in days.low..=days.high {
            representatives.entry(number(day)).or_insert(day);
        }
        self.few(expression, representatives.len())?;
        let code = NumericExpr { kind: Kind::Integer, ..self.fitting(expression, code)? };
        Ok((code, representatives.into_iter().map(|(number, day)| (number, day, 0)).collect()))
    }

    /// Refuses more texts than there may be groups.
    pub(super) fn few(&self, expression: &Expr, count: usize) -> Result<(), Error> {
        match count > limits::GROUPS {
            true => {
                let message =
                    format!("this text may have {count} values, more than {}: make it coarser", limits::GROUPS);
                Err(self.refusal(expression, message))
            }
            false => Ok(()),
        }
    }
}

/// Several parts of a date as one number, and how it is computed from a day.
fn mixed(days: &NumericExpr, parts: Vec<DatePart>) -> (Result<NumericExpr, TooLarge>, OfDay) {
    // No part has as many values, and no year as many digits.
    const SIZE: i64 = 10_000;
    let whole = |steps: i64| NumericExpr::steps(steps, Kind::Integer, RBig::ONE);
    let mut code = Ok(whole(0));
    for part in &parts {
        code = code.and_then(|code| {
            let part = days.clone().calendar(*part)?;
            match code.as_constant() {
                Some(_) => Ok(part),
                None => code.times(whole(SIZE), Kind::Integer)?.plus(part, Kind::Integer),
            }
        });
    }
    (code, Box::new(move |day| parts.iter().fold(0, |number, part| number * SIZE + part.of(day))))
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut distinct, one| {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
        distinct
    })
}

/// A day and a time in a format.
fn text(pieces: &[Piece], day: i64, seconds: u32) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Date(part, digits) => format!("{:0digits$}", part.of(day)),
        Piece::ShortYear => format!("{:02}", DatePart::Year.of(day) % 100),
        Piece::Name { part, short, letters } => {
            let name = match part {
                DatePart::Month => MONTHS[(part.of(day) - 1) as usize],
                _ => DAYS[part.of(day) as usize],
            };
            let name = if *short { &name[..3] } else { name };
            match letters {
                Letters::Capitals => name.to_ascii_uppercase(),
                Letters::Small => name.to_ascii_lowercase(),
                Letters::First => name.to_string(),
            }
        }
        Piece::Time { size, most } => format!("{:02}", seconds / size % most),
    };
    pieces.iter().map(piece).collect()
}

/// A format of letters; nothing if one of them means nothing here.
fn lettered(format: &str, style: FormatStyle) -> Option<Vec<Piece>> {
    let table = if style == FormatStyle::Template { &TEMPLATE[..] } else { &LETTERS[..] };
    let quotes = if style == FormatStyle::Template { '"' } else { '\'' };
    let (mut pieces, mut rest) = (Vec::new(), format);
    while let Some(letter) = rest.chars().next() {
        if letter == quotes {
            let (inside, behind) = rest[1..].split_once(quotes)?;
            pieces.push(Piece::Text(inside.to_string()));
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix("FM").filter(|_| style == FormatStyle::Template) {
            // Names are not padded here anyway; a number is shown without zeros in front.
            let (written, piece) = table.iter().find(|(written, _)| behind.starts_with(written))?;
            pieces.push(match piece {
                Piece::Date(part, _) => Piece::Date(*part, 1),
                other => other.clone(),
            });
            rest = &behind[written.len()..];
        } else if let Some((written, piece)) = table.iter().find(|(written, _)| rest.starts_with(written)) {
            pieces.push(piece.clone());
            rest = &rest[written.len()..];
        } else if letter.is_alphanumeric() {
            return None;
        } else {
            pieces.push(Piece::Text(letter.to_string()));
            rest = &rest[letter.len_utf8()..];
        }
    }
    Some(pieces)
}

/// A format with %.
fn percent(format: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            pieces.push(Piece::Text(letter.to_string()));
            continue;
        }
        match letters.next()? {
            '%' => pieces.push(Piece::Text("%".to_string())),
            'F' => pieces.extend([YEAR, Piece::Text("-".to_string()), MONTH, Piece::Text("-".to_string()), DAY]),
            letter => {
                let mut name = [0; 4];
                let name: &str = letter.encode_utf8(&mut name);
                pieces.push(PERCENT.iter().find(|(written, _)| *written == name)?.1.clone());
            }
        }
    }
    Some(pieces)
}
