//! *The paper's advanced filter.* Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294, revised version, Theorem 5.1, as printed.
//!
//! With S = Σε_i² and x = ε_g²/(28.04 ln(1/δ_g)), halts iff
//! K = Σ ε_i(e^{ε_i}−1)/2 + √(2 (S + x) (1 + ½ ln(S/x + 1)) ln(1/δ_g)) exceeds ε_g.
//! Needs ε_g > 0 and δ_g ∈ (0, 1/e). Guarantee: (ε_g, δ_g)-pointwise. With δ_i > 0: the corrected Lemma 3.3, see [`crate::lemma`].
//!
//! S is exact, the mean is rounded up once per charge, K is evaluated as an interval and its upper end decides.

use serde::{Deserialize, Serialize};

use crate::amount::{Amount, FineAmount};
use crate::budget::Budget;
use crate::cost::Cost;
use crate::error::Error;
use crate::lemma::Leaks;
use crate::numeric::Interval;
use crate::price;

/// The sums of Theorem 5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Advanced {
    epsilon: Amount,
    delta: Amount,
    /// Σ ε_i(e^{ε_i}−1)/2.
    mean: FineAmount,
    /// S = Σ ε_i².
    squares: FineAmount,
    leaks: Leaks,
}

impl Advanced {
    pub(crate) fn new(budget: &Budget) -> Result<Advanced, Error> {
        if budget.epsilon().is_zero() {
            return Err(Error::input("the advanced filter needs an epsilon above 0; with 0 use --rule basic"));
        }
        require_delta_below_one_over_e(budget.composition_delta(), "the advanced filter")?;
        Ok(Advanced {
            epsilon: budget.epsilon(),
            delta: budget.composition_delta(),
            mean: FineAmount::ZERO,
            squares: FineAmount::ZERO,
            leaks: Leaks::new(budget.mechanism_delta()),
        })
    }

    /// The sums after so many charges; nothing if the filter halts.
    pub(crate) fn after(&self, cost: &Cost, times: u64) -> Option<Advanced> {
        let next = self.counting(cost, times)?;
        let within = next.loss().hi() <= self.epsilon.interval().lo();
        (within && next.leaks.within()).then_some(next)
    }

    /// The sums after so many charges, within the budget or not; nothing if they are too large to hold.
    pub(crate) fn counting(&self, cost: &Cost, times: u64) -> Option<Advanced> {
        let epsilon = self.leaks.counted(cost.epsilon()?)?;
        let (mean, square) = match epsilon.is_zero() {
            true => (FineAmount::ZERO, FineAmount::ZERO),
            false => (FineAmount::at_least(price::printed_mean(epsilon.interval()).hi())?, epsilon.checked_square()?),
        };
        Some(Advanced {
            mean: self.mean.checked_add(mean.checked_times(times)?)?,
            squares: self.squares.checked_add(square.checked_times(times)?)?,
            leaks: self.leaks.counting(cost, times),
            ..*self
        })
    }

    /// K, with 2Σδ_i added where the corrected lemma asks for it.
    pub(crate) fn loss(&self) -> Interval {
        let epsilon = self.epsilon.interval();
        let log = -self.delta.interval().ln();
        let squares = self.squares.interval();
        let x = epsilon.square() / (Interval::around(28.04, 1) * log);
        let deviation = (2.0 * (squares + x) * (1.0 + 0.5 * (squares / x).ln_1p()) * log).sqrt();
        self.mean.interval() + deviation + self.leaks.shift()
    }

    /// How far K has come from where it starts to ε_g, for showing.
    pub(crate) fn share_spent(&self) -> f64 {
        let start = Advanced { mean: FineAmount::ZERO, squares: FineAmount::ZERO, ..*self }.loss().middle();
        ((self.loss().middle() - start) / (self.epsilon.approximate() - start)).clamp(0.0, 1.0)
    }

    /// Whether stored sums can have come from fresh ones of the same account.
    pub(crate) fn follows(&self, fresh: &Advanced) -> bool {
        let same = (self.epsilon, self.delta) == (fresh.epsilon, fresh.delta) && self.leaks.follows(&fresh.leaks);
        same && self.loss().hi() <= self.epsilon.interval().lo()
    }
}

/// Theorems 5.1 and 6.5 and Lemma 6.4 are stated for δ_g ∈ (0, 1/e).
pub(crate) fn require_delta_below_one_over_e(delta: Amount, what: &str) -> Result<(), Error> {
    // 1/e, rounded down.
    const ONE_OVER_E: Amount = Amount::from_units(367_879_441_171_442_321_595_523_770_161);
    if delta.is_zero() || delta >= ONE_OVER_E {
        return Err(Error::input(format!(
            "{what} needs a delta above 0 and below 1/e = 0.3678…, beyond what is set aside for the mechanisms; it has {delta}"
        )));
    }
    Ok(())
}
