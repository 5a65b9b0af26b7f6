//! Parts of dates, as numbers: of the days since 1970-01-01.

use std::collections::BTreeSet;

use jiff::civil::{Date, Weekday};

use super::scalar::Kind;

/// A part of a date, or a date cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Year,
    Quarter,
    Month,
    /// The week of ISO 8601.
    Week,
    Day,
    /// From 0, Sunday, to 6.
    DayOfWeek,
    /// From 1, Monday, to 7.
    IsoDayOfWeek,
    DayOfYear,
    /// The first day of the year, in days.
    StartOfYear,
    /// The first day of the quarter, in days.
    StartOfQuarter,
    /// The first day of the month, in days.
    StartOfMonth,
    /// The Monday of the week, in days.
    StartOfWeek,
}

impl Part {
    /// Every one.
    pub(crate) const ALL: [Part; 12] = [
        Part::Year,
        Part::Quarter,
        Part::Month,
        Part::Week,
        Part::Day,
        Part::DayOfWeek,
        Part::IsoDayOfWeek,
        Part::DayOfYear,
        Part::StartOfYear,
        Part::StartOfQuarter,
        Part::StartOfMonth,
        Part::StartOfWeek,
    ];

    /// Whether it is a date, cut off.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Part::StartOfYear | Part::StartOfQuarter | Part::StartOfMonth | Part::StartOfWeek => Kind::Date,
            _ => Kind::Integer,
        }
    }

    /// The name that engines know it by: of a function of the embedded one, of a field or a unit of the others.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Year | Part::StartOfYear => "year",
            Part::Quarter | Part::StartOfQuarter => "quarter",
            Part::Month | Part::StartOfMonth => "month",
            Part::Week | Part::StartOfWeek => "week",
            Part::Day => "day",
            Part::DayOfWeek => "dow",
            Part::IsoDayOfWeek => "isodow",
            Part::DayOfYear => "doy",
        }
    }

    /// The name of the function that the embedded engine has for it.
    pub(crate) fn function(self) -> String {
        let start = if self.kind() == Kind::Date { "start_of_" } else { "" };
        format!("taximeter_{start}{}", self.name())
    }

    /// The part of the date of a day; days beyond the calendar count as its ends.
    pub(crate) fn of(self, days: i64) -> i64 {
        let date = date(days);
        match self {
            Part::Year => date.year().into(),
            Part::Quarter => ((date.month() - 1) / 3 + 1).into(),
            Part::Month => date.month().into(),
            Part::Week => date.iso_week_date().week().into(),
            Part::Day => date.day().into(),
            Part::DayOfWeek => date.weekday().to_sunday_zero_offset().into(),
            Part::IsoDayOfWeek => date.weekday().to_monday_one_offset().into(),
            Part::DayOfYear => date.day_of_year().into(),
            Part::StartOfYear => self::days(first(date.year(), 1)),
            Part::StartOfQuarter => self::days(first(date.year(), (date.month() - 1) / 3 * 3 + 1)),
            Part::StartOfMonth => self::days(first(date.year(), date.month())),
            Part::StartOfWeek => self::days(date) - i64::from(date.weekday().since(Weekday::Monday)),
        }
    }

    /// The least and the greatest part of the dates in a range of days.
    pub(super) fn range(self, low: i64, high: i64) -> (i64, i64) {
        let (least, greatest) = match self {
            Part::Quarter => (1, 4),
            Part::Month => (1, 12),
            Part::Week => (1, 53),
            Part::Day => (1, 31),
            Part::DayOfWeek => (0, 6),
            Part::IsoDayOfWeek => (1, 7),
            Part::DayOfYear => (1, 366),
            _ => return (self.of(low), self.of(high)),
        };
        match self.few(low, high) {
            Some(values) => (*values.first().unwrap_or(&least), *values.last().unwrap_or(&greatest)),
            None => (least, greatest),
        }
    }

    /// All the parts of the dates in a range of days, if there are no more than this.
    pub(super) fn values(self, low: i64, high: i64, most: usize) -> Option<BTreeSet<i64>> {
        let days = match self {
            Part::Week | Part::StartOfWeek => 7,
            Part::StartOfMonth => 28,
            Part::StartOfQuarter => 90,
            Part::Year | Part::StartOfYear => 365,
            _ => 1,
        };
        let values = self.few(low, high).or_else(|| match self {
            Part::Year | Part::StartOfYear | Part::StartOfQuarter | Part::StartOfMonth | Part::StartOfWeek => {
                let fits = usize::try_from((high - low) / days).is_ok_and(|steps| steps <= 2 * most);
                fits.then(|| (low..high).step_by(days as usize).chain([high]).map(|day| self.of(day)).collect())
            }
            _ => {
                let (least, greatest) = self.range(low, high);
                Some((least..=greatest).collect())
            }
        })?;
        (values.len() <= most).then_some(values)
    }

    /// The parts of the dates of a year or less, one by one.
    fn few(self, low: i64, high: i64) -> Option<BTreeSet<i64>> {
        (high - low <= 366).then(|| (low..=high).map(|day| self.of(day)).collect())
    }
}

fn first(year: i16, month: i8) -> Date {
    Date::new(year, month, 1).expect("every month has a first day")
}

/// The date of a number of days since 1970-01-01; the ends of the calendar beyond it.
pub(crate) fn date(days: i64) -> Date {
    let days = i32::try_from(days.clamp(-800_000, 3_000_000)).expect("it is clamped");
    Date::constant(1970, 1, 1).saturating_add(jiff::Span::new().days(days))
}

/// The days since 1970-01-01.
pub(crate) fn days(date: Date) -> i64 {
    let since = Date::constant(1970, 1, 1).until(date).expect("both are in the calendar");
    since.get_days().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_dates_are_those_of_the_calendar() {
        let day = |text: &str| days(text.parse().unwrap());
        for (text, part, value) in [
            ("1970-01-01", Part::DayOfWeek, 4),
            ("2024-02-29", Part::DayOfYear, 60),
            ("2024-12-30", Part::Week, 1),
            ("2023-01-01", Part::Week, 52),
            ("2023-01-01", Part::IsoDayOfWeek, 7),
            ("2023-01-01", Part::DayOfWeek, 0),
            ("2013-08-09", Part::Quarter, 3),
            ("2013-08-09", Part::StartOfQuarter, day("2013-07-01")),
            ("2013-08-09", Part::StartOfMonth, day("2013-08-01")),
            ("2013-08-09", Part::StartOfWeek, day("2013-08-05")),
            ("2013-08-09", Part::StartOfYear, day("2013-01-01")),
            ("1969-12-31", Part::Year, 1969),
            ("0001-01-01", Part::Month, 1),
        ] {
            assert_eq!(part.of(day(text)), value, "{part:?} of {text}");
        }
        assert_eq!((day("1970-01-01"), day("2000-01-01"), day("1969-12-31")), (0, 10_957, -1));
    }

    #[test]
    fn the_values_of_a_range_are_those_of_its_days() {
        let day = |text: &str| days(text.parse().unwrap());
        for (low, high) in [("2013-01-01", "2013-12-31"), ("2012-11-15", "2014-02-03"), ("1900-01-01", "2024-12-31")] {
            let (low, high) = (day(low), day(high));
            for part in Part::ALL {
                let all: BTreeSet<i64> = (low..=high).map(|day| part.of(day)).collect();
                let values = part.values(low, high, 10_000).unwrap();
                assert!(values.is_superset(&all), "{part:?}");
                let (least, greatest) = part.range(low, high);
                assert!(least <= *all.first().unwrap() && *all.last().unwrap() <= greatest, "{part:?}");
                assert!(values.first() >= Some(&least) && values.last() <= Some(&greatest), "{part:?}");
            }
        }
        assert_eq!(Part::StartOfWeek.values(day("0001-01-01"), day("9999-12-31"), 10_000), None);
    }
}
