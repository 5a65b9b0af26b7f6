//! The losses of k rounds of randomized response: a binomial distribution, certified.

use crate::numeric::Interval;

/// A term of the distribution: the number of ⊥ among the outcomes and its probability under b = 0.
pub(super) struct BinomialTerm {
    /// How many of the k outcomes speak for b = 1; the loss is (k − 2·count)ε.
    pub(super) count: u64,
    pub(super) probability: Interval,
}

/// The probabilities of the counts that matter, and a bound on each side of what was left out.
pub(super) struct Binomial {
    pub(super) outcomes: Vec<BinomialTerm>,
    /// The probability of fewer ⊥ than any outcome listed: the largest losses.
    pub(super) below: f64,
    /// The probability of more.
    pub(super) above: f64,
}

/// Terms this much smaller than the largest are left out: far below any δ that an amount can hold.
const NEGLIGIBLE: f64 = 1e-50;

impl Binomial {
    /// k rounds of RR_ε.
    ///
    /// Terms follow from their neighbour, P(l+1)/P(l) = (k−l)/(l+1)·e^{−ε}, from the largest outwards; their sum is 1, which
    /// gives the scale.
    pub(super) fn new(epsilon: Interval, rounds: u64) -> Binomial {
        let odds = (-epsilon).exp();
        let k = rounds as f64;
        let mode = ((k + 1.0) * (odds.middle() / (1.0 + odds.middle()))).floor().clamp(0.0, k) as u64;
        let whole = |value: u64| Interval::around(value as f64, 1);

        let ratio_down = |count: u64| whole(count + 1) / (whole(rounds - count) * odds);
        let ratio_up = |count: u64| whole(rounds - count + 1) * odds / whole(count);
        let (mut outcomes, below) = outwards(mode, |distance| mode - distance, ratio_down);
        let (upper, above) = outwards(rounds - mode, |distance| mode + distance, ratio_up);
        outcomes.reverse();
        outcomes.push(BinomialTerm { count: mode, probability: Interval::ONE });
        outcomes.extend(upper);

        let listed = outcomes.iter().fold(Interval::ZERO, |sum, outcome| sum + outcome.probability);
        let total = listed + Interval::between(0.0, below + above);
        for outcome in &mut outcomes {
            outcome.probability = outcome.probability / total;
        }
        let scaled = |rest: f64| (Interval::point(rest) / total).hi();
        Binomial { outcomes, below: scaled(below), above: scaled(above) }
    }
}

/// The terms on one side of the largest, each a ratio times the one before, and at least the sum of those left out.
fn outwards(number: u64, count_at: impl Fn(u64) -> u64, ratio: impl Fn(u64) -> Interval) -> (Vec<BinomialTerm>, f64) {
    let (mut terms, mut term) = (Vec::new(), Interval::ONE);
    for distance in 1..=number {
        let count = count_at(distance);
        let ratio = ratio(count);
        term = term * ratio;
        if term.hi() < NEGLIGIBLE {
            // Further terms fall faster than a geometric series of this ratio.
            return (terms, geometric(term.hi(), ratio.hi(), number - distance + 1));
        }
        terms.push(BinomialTerm { count, probability: term });
    }
    (terms, 0.0)
}

/// At least the sum of a number of terms from this one on, each at most `ratio` times the one before.
fn geometric(first: f64, ratio: f64, terms: u64) -> f64 {
    let bound = if ratio < 0.999 { first / (1.0 - ratio) } else { first * terms as f64 };
    bound * 1.000_001
}
