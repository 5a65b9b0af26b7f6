//! Dates and times as text: ISO 8601, as databases write them. Days and microseconds since 1970-01-01, without a time zone.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time, date};

const EPOCH: Date = date(1970, 1, 1);

/// The first and the last day that a column can hold: 0001-01-01 and 9999-12-31.
pub(crate) const DAYS: [i32; 2] = [-719_162, 2_932_896];

pub(crate) const SECONDS_PER_DAY: i64 = 86_400;
pub(crate) const MICROSECONDS_PER_SECOND: i64 = 1_000_000;

/// The first and the last microsecond of those days.
pub(crate) const MICROSECONDS: [i64; 2] = {
    let day = SECONDS_PER_DAY * MICROSECONDS_PER_SECOND;
    [DAYS[0] as i64 * day, (DAYS[1] as i64 + 1) * day - 1]
};

/// Reads a day such as 2024-02-29; nothing if there is none of that name.
pub(crate) fn parse_date(text: &[u8]) -> Option<i32> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else { return None };
    let (century, year) = (two_digits(y1, y2)?, two_digits(y3, y4)?);
    let year = 100 * i16::from(century) + i16::from(year);
    let day = Date::new(year, two_digits(m1, m2)?, two_digits(d1, d2)?).ok().filter(|_| year > 0)?;
    i32::try_from(day.duration_since(EPOCH).as_secs() / SECONDS_PER_DAY).ok()
}

/// Reads a time such as 2024-02-29 13:05:00.25: with `T` or a space in the middle, with or without seconds and their fraction, or a
/// day alone for its beginning. With `Z` or an offset such as +02:00 at the end, it is converted to UTC. A fraction of a microsecond
/// is cut off.
pub(crate) fn parse_timestamp(text: &[u8]) -> Option<i64> {
    let (day, rest) = text.split_at_checked(10)?;
    let days = i64::from(parse_date(day)?);
    let seconds = days * SECONDS_PER_DAY;
    let microseconds = match rest {
        [] => seconds * MICROSECONDS_PER_SECOND,
        [b'T' | b' ', time @ ..] => {
            let (time, offset) = split_offset(time)?;
            (seconds - offset) * MICROSECONDS_PER_SECOND + time_of_day(time)?
        }
        _ => return None,
    };
    (MICROSECONDS[0]..=MICROSECONDS[1]).contains(&microseconds).then_some(microseconds)
}

/// The day as it is read; one out of range as its number.
pub(crate) fn show_date(days: i32) -> String {
    let day = SignedDuration::from_secs(i64::from(days) * SECONDS_PER_DAY);
    EPOCH.checked_add(day).map_or_else(|_| days.to_string(), |date| date.to_string())
}

/// The time as it is read, with a fraction where it has one; one out of range as its number.
pub(crate) fn show_timestamp(microseconds: i64) -> String {
    let time = EPOCH.to_datetime(Time::midnight()).checked_add(SignedDuration::from_micros(microseconds));
    let show = |time: DateTime| {
        let shown = format!("{} {:02}:{:02}:{:02}", time.date(), time.hour(), time.minute(), time.second());
        match time.subsec_nanosecond() / 1000 {
            0 => shown,
            fraction => format!("{shown}.{}", format!("{fraction:06}").trim_end_matches('0')),
        }
    };
    time.map_or_else(|_| microseconds.to_string(), show)
}

/// The time of day without its offset, and the offset in seconds: 0 for none and for `Z`.
fn split_offset(time: &[u8]) -> Option<(&[u8], i64)> {
    if let [time @ .., b'Z'] = time {
        return Some((time, 0));
    }
    let Some(at) = time.iter().position(|byte| matches!(byte, b'+' | b'-')) else { return Some((time, 0)) };
    let (time, offset) = time.split_at(at);
    let (hours, minutes) = match *offset {
        [_, h1, h2] => (two_digits(h1, h2)?, 0),
        [_, h1, h2, m1, m2] | [_, h1, h2, b':', m1, m2] => (two_digits(h1, h2)?, two_digits(m1, m2)?),
        _ => return None,
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = 3600 * i64::from(hours) + 60 * i64::from(minutes);
    Some((time, if offset[0] == b'-' { -seconds } else { seconds }))
}

/// The microseconds since midnight.
fn time_of_day(time: &[u8]) -> Option<i64> {
    let (clock, fraction) = match time.iter().position(|byte| *byte == b'.') {
        Some(at) => (&time[..at], &time[at + 1..]),
        None => (time, &b"0"[..]),
    };
    let (hour, minute, second) = match *clock {
        [h1, h2, b':', m1, m2] if clock.len() == time.len() => (two_digits(h1, h2)?, two_digits(m1, m2)?, 0),
        [h1, h2, b':', m1, m2, b':', s1, s2] => (two_digits(h1, h2)?, two_digits(m1, m2)?, two_digits(s1, s2)?),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 59 || !(1..=9).contains(&fraction.len()) {
        return None;
    }
    let whole = 3600 * i64::from(hour) + 60 * i64::from(minute) + i64::from(second);
    Some(whole * MICROSECONDS_PER_SECOND + microseconds(fraction)?)
}

/// The digits behind the point of a second.
fn microseconds(fraction: &[u8]) -> Option<i64> {
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = fraction.iter().chain(std::iter::repeat(&b'0')).take(6);
    Some(digits.fold(0, |number, digit| 10 * number + i64::from(digit - b'0')))
}

fn two_digits(tens: u8, ones: u8) -> Option<i8> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| (byte - b'0') as i8);
    Some(10 * digit(tens)? + digit(ones)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2024-02-29", 19_782),
            ("0001-01-01", DAYS[0]),
            ("9999-12-31", DAYS[1]),
            ("0004-02-29", -718_008),
        ] {
            assert_eq!((parse_date(text.as_bytes()), show_date(days).as_str()), (Some(days), text));
        }
    }

    #[test]
    fn every_day_reads_back_as_it_is_shown() {
        // The calendar repeats after 400 years.
        for days in (DAYS[0]..DAYS[0] + 146_097).chain(DAYS[1] - 146_097..=DAYS[1]) {
            assert_eq!(parse_date(show_date(days).as_bytes()), Some(days), "{days}");
        }
    }

    #[test]
    fn what_is_no_day_is_refused() {
        for text in [
            "",
            "2024",
            "2024-02",
            "2023-02-29",
            "1900-02-29",
            "2024-02-30",
            "2024-13-01",
            "2024-00-10",
            "2024-01-00",
            "2024-04-31",
            "0000-01-01",
            "10000-01-01",
            "-001-01-01",
            "2024-1-01",
            "24-01-01",
            "20240101",
            "2024/01/01",
            "01.02.2024",
            " 2024-01-01",
            "2024-01-01 ",
            "2024-01-01T00:00:00",
            "２０２４-01-01",
            "infinity",
            "today",
        ] {
            assert_eq!(parse_date(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn times_are_read_in_utc_and_shown_in_one_way() {
        for (text, shown) in [
            ("2024-02-29", "2024-02-29 00:00:00"),
            ("2024-02-29 13:05", "2024-02-29 13:05:00"),
            ("2024-02-29T13:05:07", "2024-02-29 13:05:07"),
            ("2024-02-29T13:05:07Z", "2024-02-29 13:05:07"),
            ("2024-02-29 13:05:07.5", "2024-02-29 13:05:07.5"),
            ("2024-02-29 13:05:07.000001", "2024-02-29 13:05:07.000001"),
            ("2024-02-29 13:05:07.123456789", "2024-02-29 13:05:07.123456"),
            ("1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"),
            ("2024-03-01 01:30+02:00", "2024-02-29 23:30:00"),
            ("2024-02-29 23:30:00.25-0130", "2024-03-01 01:00:00.25"),
            ("2024-02-29 13:05:00+00", "2024-02-29 13:05:00"),
            ("0001-01-01", "0001-01-01 00:00:00"),
            ("9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999"),
        ] {
            let read = parse_timestamp(text.as_bytes());
            assert_eq!(read.map(show_timestamp).as_deref(), Some(shown), "{text}");
            assert_eq!(parse_timestamp(shown.as_bytes()), read, "{text}");
        }
        assert_eq!(parse_timestamp(b"1969-12-31 23:59:59.999999"), Some(-1));
        assert_eq!(MICROSECONDS.map(Some), [&b"0001-01-01"[..], b"9999-12-31 23:59:59.999999"].map(parse_timestamp));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "13:05",
            "2023-02-29 13:05:00",
            "2024-02-29 24:00",
            "2024-02-29 13:60",
            "2024-02-29 13:05:60",
            "2024-02-29 13",
            "2024-02-29 1:05",
            "2024-02-29 13:05:00.",
            "2024-02-29 13:05.5",
            "2024-02-29 13:05:00,5",
            "2024-02-29 13:05:00.1234567890",
            "2024-02-29 13:05:00.-1",
            "2024-02-29  13:05",
            "2024-02-29x13:05",
            "2024-02-29 13:05 +02:00",
            "2024-02-29 13:05+24:00",
            "2024-02-29 13:05+02:60",
            "2024-02-29 13:05+2",
            "2024-02-29 13:05ZZ",
            "2024-02-29Z",
            "2024-02-29 13:05 PM",
            "2024-02-29 13:05:00 UTC",
            "infinity",
            "0001-01-01 00:00+00:01",
            "9999-12-31 23:59:59-01",
            "2024-02-29 13:05:00+02:00:00",
            "2024-02-2é 13:05",
        ] {
            assert_eq!(parse_timestamp(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn every_time_reads_back_as_it_is_shown() {
        let mut microseconds = MICROSECONDS[0];
        while microseconds <= MICROSECONDS[1] {
            assert_eq!(parse_timestamp(show_timestamp(microseconds).as_bytes()), Some(microseconds));
            microseconds += 3_155_695_201_234_567;
        }
    }
}
