//! The time, and waiting: the one place where the writer and its witnesses ask for either.
//!
//! In a simulation both are made up; see `simulation/`.

use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The time of day, to the millisecond.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millisecond(milliseconds()).unwrap_or_default()
}

fn milliseconds() -> i64 {
    #[cfg(any(test, feature = "simulation"))]
    if let Some(simulated) = crate::simulation::milliseconds() {
        return simulated;
    }
    Timestamp::now().as_millisecond()
}

/// The time that deadlines are measured by: it never goes back.
pub(crate) fn instant() -> Instant {
    #[cfg(any(test, feature = "simulation"))]
    if let Some(simulated) = crate::simulation::instant() {
        return simulated;
    }
    Instant::now()
}

/// Waits.
pub(crate) fn pause(time: Duration) {
    #[cfg(any(test, feature = "simulation"))]
    if crate::simulation::pause(time) {
        return;
    }
    thread::sleep(time);
}
