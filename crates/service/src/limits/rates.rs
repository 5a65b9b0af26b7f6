//! The rate limit of each token.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::{Code, Problem};

/// A token bucket for each token: it holds one second of requests and fills at the rate limit.
pub(crate) struct Rates {
    requests_per_second: u32,
    /// By token; only valid tokens have one.
    buckets: Mutex<HashMap<String, Bucket>>,
}

/// The level of a bucket, in billionths of a request: N requests per second are exactly N billionths per nanosecond.
struct Bucket {
    level: u64,
    since: Instant,
}

/// One request.
const REQUEST: u64 = 1_000_000_000;

/// The number of buckets at which full ones are dropped.
const MANY: usize = 16_384;

impl Rates {
    /// A limit in requests per second for each token; 0 for no limit.
    pub(crate) fn new(requests_per_second: u32) -> Rates {
        Rates { requests_per_second, buckets: Mutex::default() }
    }

    /// Counts a request of a token, and rejects it above the limit.
    pub(crate) fn take(&self, token: &str) -> Result<(), Problem> {
        match self.requests_per_second == 0 || self.take_at(token, Instant::now()) {
            true => Ok(()),
            false => Err(Problem::new(
                Code::TooManyRequests,
                format!(
                    "this token makes more than {} requests a second; wait a second and slow down, or ask for one token per program",
                    self.requests_per_second
                ),
            )),
        }
    }

    fn take_at(&self, token: &str, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(token) {
            return bucket.take(self.requests_per_second, now);
        }
        if buckets.len() >= MANY {
            // A full bucket is the same as none.
            buckets.retain(|_, bucket| bucket.level_at(self.requests_per_second, now) < self.full());
        }
        let bucket = Bucket { level: self.full() - REQUEST, since: now };
        buckets.insert(token.to_string(), bucket);
        true
    }

    fn full(&self) -> u64 {
        u64::from(self.requests_per_second) * REQUEST
    }
}

impl Bucket {
    fn level_at(&self, rate: u32, now: Instant) -> u64 {
        let nanoseconds = u64::try_from(now.saturating_duration_since(self.since).as_nanos()).unwrap_or(u64::MAX);
        let filled = nanoseconds.saturating_mul(u64::from(rate));
        self.level.saturating_add(filled).min(u64::from(rate) * REQUEST)
    }

    fn take(&mut self, rate: u32, now: Instant) -> bool {
        let level = self.level_at(rate, now);
        let is_enough = level >= REQUEST;
        // A slower thread may bring a time before `since`: it adds nothing and takes nothing away.
        *self = Bucket { level: level - if is_enough { REQUEST } else { 0 }, since: self.since.max(now) };
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// How many of `requests` at one moment are accepted.
    fn taken(rates: &Rates, token: &str, now: Instant, requests: usize) -> usize {
        (0..requests).filter(|_| rates.take_at(token, now)).count()
    }

    #[test]
    fn a_token_has_a_second_of_requests_at_once_and_then_its_rate() {
        let start = Instant::now();
        for rate in [1_u32, 3, 7, 500] {
            let rates = Rates::new(rate);
            assert_eq!(taken(&rates, "a", start, 1000), rate as usize, "the burst at {rate}");
            assert_eq!(taken(&rates, "b", start, 1), 1, "the others have their own");
            // The next one comes after exactly 1/rate of a second, and not a nanosecond before.
            let next = Duration::from_nanos(REQUEST.div_ceil(u64::from(rate)));
            assert_eq!(taken(&rates, "a", start + next - Duration::from_nanos(1), 2), 0, "early at {rate}");
            assert_eq!(taken(&rates, "a", start + next, 2), 1, "in time at {rate}");
            assert_eq!(
                taken(&rates, "a", start + Duration::from_secs(3600), 1000),
                rate as usize,
                "no more is saved up"
            );
        }
    }

    #[test]
    fn no_fraction_is_lost_in_a_day_of_small_steps() {
        let (rates, start) = (Rates::new(3), Instant::now());
        assert_eq!(taken(&rates, "a", start, 10), 3);
        let step = Duration::from_micros(86_413);
        let requests = (1..=100_000).map(|at| taken(&rates, "a", start + step * at, 5)).sum::<usize>();
        assert_eq!(requests as u128, (step * 100_000).as_nanos() * 3 / u128::from(REQUEST));
    }

    #[test]
    fn a_time_that_goes_back_fills_nothing() {
        let (rates, start) = (Rates::new(2), Instant::now());
        assert_eq!(taken(&rates, "a", start + Duration::from_secs(5), 3), 2);
        assert_eq!(taken(&rates, "a", start, 3), 0);
        assert_eq!(taken(&rates, "a", start + Duration::from_secs(5), 3), 0);
    }

    #[test]
    fn a_rate_of_zero_is_no_limit_and_full_buckets_are_dropped() {
        assert!((0..10_000).all(|_| Rates::new(0).take("a").is_ok()));
        let (rates, start) = (Rates::new(1), Instant::now());
        for token in 0..MANY {
            rates.take_at(&token.to_string(), start);
        }
        rates.take_at("one more", start + Duration::from_secs(2));
        assert_eq!(rates.buckets.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_request_above_the_limit_says_what_to_do() {
        let rates = Rates::new(1);
        assert!(rates.take("a").is_ok());
        let problem = rates.take("a").unwrap_err();
        assert_eq!(problem.code, Code::TooManyRequests);
        assert!(problem.detail.contains("more than 1 requests a second"), "{}", problem.detail);
    }
}
