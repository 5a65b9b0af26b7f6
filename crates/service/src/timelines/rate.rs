//! How fast a budget is spent, and when it runs out at this rate.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

use super::Timeline;

/// How fast the budget of an account was spent lately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// From when on it was counted: seven days and less than an hour before now, or the account's first charge.
    pub since: Timestamp,
    /// The share of the budget that was spent since.
    pub spent: f64,
    /// The same for each second.
    pub per_second: f64,
    /// When nothing is left, if it goes on like this. Nothing if it does not: where nothing was spent, nothing is left to spend, the
    /// account takes no more charges, or it would last for more than ten years.
    pub runs_out: Option<Timestamp>,
}

/// The seconds of an hour, and of the days that are looked back on.
const HOUR: i64 = 3600;
const WINDOW: i64 = 7 * 24 * HOUR;

/// What less than a minute shows is no pace.
const LEAST: f64 = 60.0;

/// What lasts for longer than this lasts: ten years.
const FAR: f64 = 10.0 * 365.25 * 24.0 * HOUR as f64;

impl Rate {
    /// The rate of an account. Nothing without a budget, before the first charge and in the first minute after it, while all charges are
    /// of one moment, and where the clock says that they are all still to come.
    pub fn of(timeline: &Timeline, now: Timestamp) -> Option<Rate> {
        let left = timeline.newest()?.left?;
        let pace = timeline.pace();
        let (earliest, _) = pace.span.filter(|(earliest, latest)| earliest < latest)?;
        let since = start_of_window(now).map_or(earliest, |start| start.max(earliest));
        let seconds = now.duration_since(since).as_secs_f64();
        if !(seconds >= LEAST) {
            return None;
        }
        let spent = pace.spent_between(hour(since), hour(now));
        let per_second = spent / seconds;
        let runs_out = if timeline.is_open() { when_gone(left, per_second, now) } else { None };
        Some(Rate { since, spent, per_second, runs_out })
    }
}

/// The hour in which the window starts: whole hours are counted, so that what is spent and the time that it took belong together.
fn start_of_window(now: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second((now.as_second() - WINDOW).div_euclid(HOUR) * HOUR).ok()
}

fn hour(time: Timestamp) -> i64 {
    // Seconds are rounded towards zero, which moves nothing from an hour to another but before 1970.
    time.as_second().div_euclid(HOUR)
}

fn when_gone(left: f64, per_second: f64, now: Timestamp) -> Option<Timestamp> {
    if !(left > 0.0 && per_second > 0.0) {
        return None;
    }
    let seconds = left / per_second;
    // Also no for what is not a number.
    if !(seconds <= FAR) {
        return None;
    }
    now.checked_add(SignedDuration::from_secs(seconds.round() as i64)).ok()
}

/// What was spent in which hour, of the hours that were charged in last. At most 3 kB.
///
/// Clocks go back, so the hours are kept in the order in which they came by: what a wrong clock wrote is forgotten in time, whatever
/// it said.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// The earliest and the latest time of a charge.
    span: Option<(Timestamp, Timestamp)>,
    hours: VecDeque<(i64, f64)>,
}

/// As many hours as the window touches, and a day more for a clock that went back.
const HOURS: usize = 8 * 24;

impl Pace {
    /// Counts a charge.
    pub(super) fn spend(&mut self, time: Timestamp, share: f64) {
        let (earliest, latest) = self.span.unwrap_or((time, time));
        self.span = Some((earliest.min(time), latest.max(time)));
        let hour = hour(time);
        // It is nearly always the last.
        match self.hours.iter_mut().rev().find(|(known, _)| *known == hour) {
            Some((_, spent)) => *spent += share,
            None => {
                if self.hours.len() == HOURS {
                    self.hours.pop_front();
                }
                self.hours.push_back((hour, share));
            }
        }
    }

    fn spent_between(&self, first: i64, last: i64) -> f64 {
        let within = self.hours.iter().filter(|(hour, _)| (first..=last).contains(hour));
        // From zero: a sum of nothing would be written -0.
        within.fold(0.0, |sum, (_, spent)| sum + spent)
    }
}

#[cfg(test)]
mod tests;
