//! The limit on failed sign-ins.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most failed sign-ins from one network per [`WINDOW`].
const MOST: u32 = 10;

/// How long failed sign-ins count.
const WINDOW: Duration = Duration::from_secs(60);

/// How many networks are remembered. Beyond that the oldest is forgotten: tokens cannot be guessed anyway, and an attacker with many
/// addresses must not lock others out.
const PLACES: usize = 4096;

/// Failed sign-ins by network.
#[derive(Default)]
pub(crate) struct Attempts(Mutex<HashMap<IpAddr, Window>>);

struct Window {
    began: Instant,
    count: u32,
}

impl Attempts {
    /// Counts an attempt, and returns whether it is within the limit. A successful one is [forgiven](Attempts::forgive).
    pub(super) fn take(&self, from: IpAddr, now: Instant) -> bool {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |window: &Window| now.saturating_duration_since(window.began) >= WINDOW;
        if places.len() >= PLACES && !places.contains_key(&network(from)) {
            places.retain(|_, window| !is_over(window));
            let oldest = places.iter().min_by_key(|(_, window)| window.began).map(|(place, _)| *place);
            if let Some(place) = oldest.filter(|_| places.len() >= PLACES) {
                places.remove(&place);
            }
        }
        let window = places.entry(network(from)).or_insert(Window { began: now, count: 0 });
        if is_over(window) {
            *window = Window { began: now, count: 0 };
        }
        window.count += 1;
        window.count <= MOST
    }

    /// Takes back a successful attempt.
    pub(super) fn forgive(&self, from: IpAddr) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(window) = places.get_mut(&network(from)) {
            window.count = window.count.saturating_sub(1);
        }
    }
}

/// The network of an address: a household has 2^64 IPv6 addresses. An IPv4 address in IPv6 notation counts as IPv4.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        address @ IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_has_ten_attempts_a_minute() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        let [one, other]: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().unwrap());
        let taken = |from, now| (0..25).filter(|_| attempts.take(from, now)).count();
        assert_eq!(taken(one, start), 10);
        assert_eq!(taken(other, start), 10);
        assert_eq!(taken(one, start + WINDOW / 2), 0);
        assert_eq!(taken(one, start + WINDOW), 10);
    }

    #[test]
    fn a_successful_attempt_does_not_count() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        let from = "192.0.2.1".parse().unwrap();
        for _ in 0..100 {
            assert!(attempts.take(from, start));
            attempts.forgive(from);
        }
    }

    #[test]
    fn addresses_of_one_household_are_one_network() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        let taken = (0..25).filter(|at| attempts.take(format!("2001:db8:1:2::{at}").parse().unwrap(), start)).count();
        assert_eq!(taken, 10);
        assert!(attempts.take("2001:db8:1:3::1".parse().unwrap(), start));
    }

    #[test]
    fn ipv4_addresses_count_separately_in_any_notation() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        let taken = |from: &str| (0..25).filter(|_| attempts.take(from.parse().unwrap(), start)).count();
        assert_eq!(taken("::ffff:192.0.2.1"), 10);
        assert_eq!(taken("192.0.2.1"), 0);
        assert_eq!(taken("::ffff:192.0.2.2"), 10);
    }

    #[test]
    fn an_attacker_with_many_addresses_does_not_lock_others_out() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        let place = |at: usize| IpAddr::from(u32::try_from(at).unwrap().to_be_bytes());
        for at in 0..2 * PLACES {
            assert!(attempts.take(place(at), start + Duration::from_millis(at as u64)));
        }
        assert_eq!(attempts.0.lock().unwrap().len(), PLACES);
        // The newest is remembered, and the oldest is not.
        let counts = |at: usize| attempts.0.lock().unwrap().contains_key(&place(at));
        assert!(counts(2 * PLACES - 1) && counts(PLACES) && !counts(PLACES - 1));
        assert!(attempts.take("192.0.2.1".parse().unwrap(), start + 2 * WINDOW));
        assert_eq!(attempts.0.lock().unwrap().len(), 1);
    }
}
