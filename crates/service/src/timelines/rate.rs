//! How fast a budget is spent, and when it runs out at that rate.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

use super::Timeline;

/// How fast the budget of an account was spent in the last seven days.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The start of the count: the full hour seven days ago, or the account's first charge if that is later.
    pub since: Timestamp,
    /// The share of the budget that was spent since.
    pub spent: f64,
    /// That share per second.
    pub per_second: f64,
    /// When nothing is left at this rate. `None` if nothing was spent, nothing is left, the account takes no more charges, or the budget
    /// lasts for more than ten years.
    pub runs_out: Option<Timestamp>,
}

/// The seconds of an hour, and of the window.
const HOUR: i64 = 3600;
const WINDOW: i64 = 7 * 24 * HOUR;

/// The shortest time, in seconds, that gives a rate.
const LEAST: f64 = 60.0;

/// The longest prediction: ten years.
const FAR: f64 = 10.0 * 365.25 * 24.0 * HOUR as f64;

impl Rate {
    /// The rate of an account. `None` without a budget, before the first charge and in the first minute after it, if all charges have the
    /// same time, and if the clock says that they are in the future.
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

/// The hour in which the window starts: whole hours are counted, so that spending and time match.
fn start_of_window(now: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second((now.as_second() - WINDOW).div_euclid(HOUR) * HOUR).ok()
}

fn hour(time: Timestamp) -> i64 {
    // Seconds are rounded towards zero, which changes the hour only before 1970.
    time.as_second().div_euclid(HOUR)
}

fn when_gone(left: f64, per_second: f64, now: Timestamp) -> Option<Timestamp> {
    if !(left > 0.0 && per_second > 0.0) {
        return None;
    }
    let seconds = left / per_second;
    // Also false for NaN.
    if !(seconds <= FAR) {
        return None;
    }
    now.checked_add(SignedDuration::from_secs(seconds.round() as i64)).ok()
}

/// What was spent in each of the last hours with charges. At most 3 kB.
///
/// Clocks can go back, so hours are kept in the order of the journal: the entries of a wrong clock are dropped with time.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// The earliest and the latest time of a charge.
    span: Option<(Timestamp, Timestamp)>,
    hours: VecDeque<(i64, f64)>,
}

/// The hours of the window, and one more day for a clock that went back.
const HOURS: usize = 8 * 24;

impl Pace {
    /// Counts a charge.
    pub(super) fn spend(&mut self, time: Timestamp, share: f64) {
        let (earliest, latest) = self.span.unwrap_or((time, time));
        self.span = Some((earliest.min(time), latest.max(time)));
        let hour = hour(time);
        // Nearly always the last one.
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
        // Starts at zero: an empty sum is -0.
        within.fold(0.0, |sum, (_, spent)| sum + spent)
    }
}

#[cfg(test)]
mod tests;
