//! Parts of dates, as numbers: of the days since 1970-01-01.

use std::collections::BTreeSet;

use jiff::civil::{Date, Weekday};

use super::scalar::Kind;

/// A part of a date, or a date cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatePart {
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

impl DatePart {
    /// Every one.
    pub(crate) const ALL: [DatePart; 12] = [
        DatePart::Year,
        DatePart::Quarter,
        DatePart::Month,
        DatePart::Week,
        DatePart::Day,
        DatePart::DayOfWeek,
        DatePart::IsoDayOfWeek,
        DatePart::DayOfYear,
        DatePart::StartOfYear,
        DatePart::StartOfQuarter,
        DatePart::StartOfMonth,
        DatePart::StartOfWeek,
    ];

    /// Whether it is a date, cut off.
    pub(crate) fn kind(self) -> Kind {
        match self {
            DatePart::StartOfYear | DatePart::StartOfQuarter | DatePart::StartOfMonth | DatePart::StartOfWeek => {
                Kind::Date
            }
            _ => Kind::Integer,
        }
    }

    /// The name that engines know it by: of a function of the embedded one, of a field or a unit of the others.
    pub(crate) fn name(self) -> &'static str {
        match self {
            DatePart::Year | DatePart::StartOfYear => "year",
            DatePart::Quarter | DatePart::StartOfQuarter => "quarter",
            DatePart::Month | DatePart::StartOfMonth => "month",
            DatePart::Week | DatePart::StartOfWeek => "week",
            DatePart::Day => "day",
            DatePart::DayOfWeek => "dow",
            DatePart::IsoDayOfWeek => "isodow",
            DatePart::DayOfYear => "doy",
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
            DatePart::Year => date.year().into(),
            DatePart::Quarter => ((date.month() - 1) / 3 + 1).into(),
            DatePart::Month => date.month().into(),
            DatePart::Week => date.iso_week_date().week().into(),
            DatePart::Day => date.day().into(),
            DatePart::DayOfWeek => date.weekday().to_sunday_zero_offset().into(),
            DatePart::IsoDayOfWeek => date.weekday().to_monday_one_offset().into(),
            DatePart::DayOfYear => date.day_of_year().into(),
            DatePart::StartOfYear => self::days(first(date.year(), 1)),
            DatePart::StartOfQuarter => self::days(first(date.year(), (date.month() - 1) / 3 * 3 + 1)),
            DatePart::StartOfMonth => self::days(first(date.year(), date.month())),
            DatePart::StartOfWeek => self::days(date) - i64::from(date.weekday().since(Weekday::Monday)),
        }
    }

    /// The least and the greatest part of the dates in a range of days.
    pub(super) fn range(self, low: i64, high: i64) -> (i64, i64) {
        let (least, greatest) = match self {
            DatePart::Quarter => (1, 4),
            DatePart::Month => (1, 12),
            DatePart::Week => (1, 53),
            DatePart::Day => (1, 31),
            DatePart::DayOfWeek => (0, 6),
            DatePart::IsoDayOfWeek => (1, 7),
            DatePart::DayOfYear => (1, 366),
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
            DatePart::Week | DatePart::StartOfWeek => 7,
            DatePart::StartOfMonth => 28,
            DatePart::StartOfQuarter => 90,
            DatePart::Year | DatePart::StartOfYear => 365,
            _ => 1,
        };
        let values = self.few(low, high).or_else(|| match self {
            DatePart::Year
            | DatePart::StartOfYear
            | DatePart::StartOfQuarter
            | DatePart::StartOfMonth
            | DatePart::StartOfWeek => {
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

/// The day that many months after another one, or before it: the last of its month where that has no such day. Nothing beyond the
/// calendar.
pub(super) fn months_later(days: i64, months: i64) -> Option<i64> {
    let span = jiff::Span::new().try_months(months).ok()?;
    date(days).checked_add(span).ok().filter(|date| date.year() >= 1).map(self::days)
}

/// Days that lead from the first of a month into the month that many months later, whichever month it is.
///
/// Months have 30.436875 days on average, over the 4,800 of which the calendar is made again and again, and the first of none is more
/// than 4.4 days away from where that puts it. So the day is one of the 10th to the 19th.
pub(super) fn days_in_the_month_after(months: i64) -> i64 {
    (30_436_875 * months + 500_000).div_euclid(1_000_000) + 14
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_month_after_is_found_from_every_month_of_the_calendar() {
        let mut last = None;
        for month in 0..4_800i64 {
            let first = first(2000 + (month / 12) as i16, (month % 12 + 1) as i8);
            for months in [-4_800, -1_201, -13, -12, -1, 0, 1, 2, 11, 12, 37, 1_200, 4_799] {
                let found = date(days(first) + days_in_the_month_after(months));
                let expected = first.checked_add(jiff::Span::new().months(months)).unwrap();
                assert_eq!((found.year(), found.month()), (expected.year(), expected.month()), "{first} {months}");
                assert!((10..=20).contains(&found.day()), "{found}");
            }
            last = Some(first);
        }
        assert_eq!(last, Some(Date::constant(2399, 12, 1)));
    }

    #[test]
    fn parts_of_dates_are_those_of_the_calendar() {
        let day = |text: &str| days(text.parse().unwrap());
        for (text, part, value) in [
            ("1970-01-01", DatePart::DayOfWeek, 4),
            ("2024-02-29", DatePart::DayOfYear, 60),
            ("2024-12-30", DatePart::Week, 1),
            ("2023-01-01", DatePart::Week, 52),
            ("2023-01-01", DatePart::IsoDayOfWeek, 7),
            ("2023-01-01", DatePart::DayOfWeek, 0),
            ("2013-08-09", DatePart::Quarter, 3),
            ("2013-08-09", DatePart::StartOfQuarter, day("2013-07-01")),
            ("2013-08-09", DatePart::StartOfMonth, day("2013-08-01")),
            ("2013-08-09", DatePart::StartOfWeek, day("2013-08-05")),
            ("2013-08-09", DatePart::StartOfYear, day("2013-01-01")),
            ("1969-12-31", DatePart::Year, 1969),
            ("0001-01-01", DatePart::Month, 1),
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
            for part in DatePart::ALL {
                let all: BTreeSet<i64> = (low..=high).map(|day| part.of(day)).collect();
                let values = part.values(low, high, 10_000).unwrap();
                assert!(values.is_superset(&all), "{part:?}");
                let (least, greatest) = part.range(low, high);
                assert!(least <= *all.first().unwrap() && *all.last().unwrap() <= greatest, "{part:?}");
                assert!(values.first() >= Some(&least) && values.last() <= Some(&greatest), "{part:?}");
            }
        }
        assert_eq!(DatePart::StartOfWeek.values(day("0001-01-01"), day("9999-12-31"), 10_000), None);
    }
}
