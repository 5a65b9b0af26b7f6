//! Searches; what they return is what the predicate itself accepted.

/// The last number for which a predicate holds, between one for which it holds and a later one for which it does not.
fn last_where(mut good: u128, mut bad: u128, holds: impl Fn(u128) -> bool) -> u128 {
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        *(if holds(middle) { &mut good } else { &mut bad }) = middle;
    }
    good
}

/// The largest number up to a limit for which a predicate holds that holds up to some point; zero if it holds nowhere.
pub(crate) fn largest_where(limit: u128, holds: impl Fn(u128) -> bool) -> u128 {
    if holds(limit) { limit } else { last_where(0, limit, holds) }
}

/// The largest count up to a limit for which a predicate holds that holds up to some point, in few questions where it is small.
pub(crate) fn largest_count_where(limit: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut good, mut bad) = (0, 1);
    while holds(bad) {
        if bad == limit {
            return limit;
        }
        (good, bad) = (bad, bad.saturating_mul(2).min(limit));
    }
    last_where(good.into(), bad.into(), |count| holds(count as u64)) as u64
}

/// The largest non-negative number up to `limit` for which a predicate holds that holds up to some point and not after it.
///
/// Walks the bits, so it ends on two neighbouring numbers after at most 63 questions. Zero if it holds nowhere.
pub(crate) fn largest_float_where(limit: f64, holds: impl Fn(f64) -> bool) -> f64 {
    f64::from_bits(largest_where(limit.to_bits().into(), |bits| holds(f64::from_bits(bits as u64))) as u64)
}

/// The smallest non-negative number up to `limit` for which a predicate holds that holds from some point on.
///
/// Nothing if it does not hold at the limit.
pub(crate) fn smallest_float_where(limit: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    if !holds(limit) {
        return None;
    }
    let last_without = largest_float_where(limit, |value| !holds(value));
    Some(if last_without == 0.0 && holds(0.0) { 0.0 } else { last_without.next_up().min(limit) })
}

/// Where a function of one variable with a single peak has it, to about nine digits: for choosing parameters, not for bounds.
pub(crate) fn peak(mut left: f64, mut right: f64, value: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let mut inner_left = right - GOLDEN * (right - left);
    let mut inner_right = left + GOLDEN * (right - left);
    let (mut value_left, mut value_right) = (value(inner_left), value(inner_right));
    for _ in 0..100 {
        if value_left < value_right {
            left = inner_left;
            (inner_left, value_left) = (inner_right, value_right);
            inner_right = left + GOLDEN * (right - left);
            value_right = value(inner_right);
        } else {
            right = inner_right;
            (inner_right, value_right) = (inner_left, value_left);
            inner_left = right - GOLDEN * (right - left);
            value_left = value(inner_left);
        }
    }
    0.5 * (left + right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_end_at_the_last_number_that_was_accepted() {
        assert_eq!(largest_float_where(100.0, |x| x * x <= 3.0), 1.732_050_807_568_877_2);
        assert_eq!(largest_float_where(1.0, |_| true), 1.0);
        assert_eq!(largest_float_where(1.0, |x| x <= 0.0), 0.0);
        assert_eq!(smallest_float_where(100.0, |x| x * x >= 3.0), Some(1.732_050_807_568_877_4));
        assert_eq!(smallest_float_where(1.0, |x| x > 2.0), None);
        assert_eq!(smallest_float_where(1.0, |_| true), Some(0.0));
    }

    #[test]
    fn a_peak_is_found() {
        assert!((peak(-10.0, 10.0, |x| -(x - 3.0) * (x - 3.0)) - 3.0).abs() < 1e-7);
    }
}
