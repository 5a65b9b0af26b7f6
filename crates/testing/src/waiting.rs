//! Waiting for what must come, however busy the machine is.

use std::time::{Duration, Instant};

/// How long something is waited for that must come. It is only there to end a test that is broken, and far longer than anything takes.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Waits until something holds. `what` is for the message: "… until {what}".
///
/// # Panics
///
/// If it does not hold within [`PATIENCE`].
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} until {what}");
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
