//! How long commits take: a histogram as Prometheus wants it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long transactions took, from their begin until the witness was synced.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitTimes {
    /// Bounds in seconds, the last of them infinite, and how many took at most so long.
    pub buckets: Vec<(f64, u64)>,
    /// How many there were.
    pub count: u64,
    /// How long they took in all.
    pub sum_seconds: f64,
}

/// The bounds in seconds.
const BOUNDS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5];

/// The histogram while it is counted.
#[derive(Default)]
pub(crate) struct CommitClock {
    /// How many took longer than the bound before and at most this one; the last has no bound.
    counts: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl CommitClock {
    pub(crate) fn note(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let at = BOUNDS.partition_point(|bound| *bound < time.as_secs_f64());
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn times(&self) -> CommitTimes {
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        let mut count = 0;
        let buckets = bounds
            .zip(&self.counts)
            .map(|(bound, more)| {
                count += more.load(Ordering::Relaxed);
                (bound, count)
            })
            .collect();
        CommitTimes { buckets, count, sum_seconds: self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_counts_in_every_bucket_that_is_large_enough() {
        let clock = CommitClock::default();
        for microseconds in [0, 499, 500, 501, 1_000, 30_000, 2_500_000, 2_500_001] {
            clock.note(Duration::from_micros(microseconds));
        }
        let CommitTimes { buckets, count, sum_seconds } = clock.times();
        let expected = [
            (0.0005, 3),
            (0.001, 5),
            (0.0025, 5),
            (0.005, 5),
            (0.01, 5),
            (0.025, 5),
            (0.05, 6),
            (0.1, 6),
            (0.25, 6),
            (0.5, 6),
            (1.0, 6),
            (2.5, 7),
            (f64::INFINITY, 8),
        ];
        assert_eq!(buckets, expected);
        assert_eq!(count, 8);
        assert!((sum_seconds - 5.032501).abs() < 1e-9, "{sum_seconds}");
    }
}
