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

        let mut left = Vec::new();
        let mut term = Interval::ONE;
        let mut below = 0.0;
        for count in (0..mode).rev() {
            let ratio = whole(count + 1) / (whole(rounds - count) * odds);
            term = term * ratio;
            if term.hi() < NEGLIGIBLE {
                // Further terms fall faster than a geometric series of this ratio.
                below = geometric(term.hi(), ratio.hi(), count + 1);
                break;
            }
            left.push(BinomialTerm { count, probability: term });
        }
        left.reverse();
        left.push(BinomialTerm { count: mode, probability: Interval::ONE });
        let mut term = Interval::ONE;
        let mut above = 0.0;
        for count in mode + 1..=rounds {
            let ratio = whole(rounds - count + 1) * odds / whole(count);
            term = term * ratio;
            if term.hi() < NEGLIGIBLE {
                above = geometric(term.hi(), ratio.hi(), rounds - count + 1);
                break;
            }
            left.push(BinomialTerm { count, probability: term });
        }
        let listed = left.iter().fold(Interval::ZERO, |sum, outcome| sum + outcome.probability);
        let total = listed + Interval::between(0.0, below + above);
        for outcome in &mut left {
            outcome.probability = outcome.probability / total;
        }
        let scaled = |rest: f64| (Interval::point(rest) / total).hi();
        Binomial { outcomes: left, below: scaled(below), above: scaled(above) }
    }
}

/// At least the sum of a number of terms from this one on, each at most `ratio` times the one before.
fn geometric(first: f64, ratio: f64, terms: u64) -> f64 {
    let bound = if ratio < 0.999 { first / (1.0 - ratio) } else { first * terms as f64 };
    bound * 1.000_001
}
