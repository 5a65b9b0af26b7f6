//! *The paper's advanced filter.* Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294, revised version, Theorem 5.1, as printed.
//!
//! With S = Σε_i² and x = ε_g²/(28.04 ln(1/δ_g)), halts iff
//! K = Σ ε_i(e^{ε_i}−1)/2 + √(2 (S + x) (1 + ½ ln(S/x + 1)) ln(1/δ_g)) exceeds ε_g.
//! Needs ε_g > 0 and δ_g ∈ (0, 1/e). Guarantee: (ε_g, δ_g)-pointwise. With δ_i > 0: the corrected Lemma 3.3, see [`crate::lemma`].
//!
//! S is exact, the mean is rounded up once per charge, K is evaluated as an interval and its upper end decides.

use super::{FilterRule, largest_size};
use crate::amount::{Amount, FineAmount};
use crate::budget::Budget;
use crate::cost::Cost;
use crate::error::Error;
use crate::lemma::Leaks;
use crate::numeric::{Interval, largest_float_where};
use crate::price;

/// The state of Theorem 5.1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(from = "Stored", into = "Stored"))]
pub(crate) struct Advanced {
    epsilon: Amount,
    delta: Amount,
    sums: Sums,
    /// ε_g, rounded down.
    limit: f64,
    /// ln(1/δ_g).
    log: Interval,
    /// x, which follows from ε_g and δ_g.
    x: Interval,
    /// K rises in both of its sums, so below these two it needs no evaluation.
    safe_mean: FineAmount,
    safe_squares: FineAmount,
}

/// What is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
struct Sums {
    /// Σ ε_i(e^{ε_i}−1)/2.
    mean: FineAmount,
    /// S = Σ ε_i².
    squares: FineAmount,
    leaks: Leaks,
}

/// What is stored: the budget and the sums.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
struct Stored {
    epsilon: Amount,
    delta: Amount,
    sums: Sums,
}

impl From<Advanced> for Stored {
    fn from(Advanced { epsilon, delta, sums, .. }: Advanced) -> Stored {
        Stored { epsilon, delta, sums }
    }
}

impl From<Stored> for Advanced {
    fn from(Stored { epsilon, delta, sums }: Stored) -> Advanced {
        let log = -delta.interval().ln();
        let x = epsilon.interval().square() / (Interval::around(28.04, 1) * log);
        let (safe_mean, safe_squares) = (FineAmount::ZERO, FineAmount::ZERO);
        let fresh = Advanced { epsilon, delta, sums, limit: epsilon.interval().lo(), log, x, safe_mean, safe_squares };
        // For ε below 0.7 the mean is less than three quarters of the square.
        let at = |squares: f64| {
            let (mean, squares) = (FineAmount::at_most(0.75 * squares)?, FineAmount::at_most(squares)?);
            Some(Sums { mean, squares, leaks: Leaks::new(Amount::ZERO) })
        };
        let safe =
            largest_float_where(1e9, |squares| at(squares).is_some_and(|sums| fresh.loss_of(&sums) <= fresh.limit));
        match at(safe) {
            Some(Sums { mean, squares, .. }) => Advanced { safe_mean: mean, safe_squares: squares, ..fresh },
            None => fresh,
        }
    }
}

impl Advanced {
    pub(crate) fn new(budget: &Budget) -> Result<Advanced, Error> {
        let rule = FilterRule::Advanced.name();
        if budget.epsilon().is_zero() {
            return Err(Error::budget(rule, "needs an epsilon above 0; use basic for a budget of 0"));
        }
        require_delta_below_one_over_e(budget.composition_delta(), rule)?;
        Ok(Advanced::from(Stored {
            epsilon: budget.epsilon(),
            delta: budget.composition_delta(),
            sums: Sums {
                mean: FineAmount::ZERO,
                squares: FineAmount::ZERO,
                leaks: Leaks::new(budget.mechanism_delta()),
            },
        }))
    }

    /// Counts `times` charges, if the filter continues; nothing, and no change, if it halts.
    pub(crate) fn charge(&mut self, cost: &Cost, times: u64) -> Option<()> {
        let sums = self.sums_after(cost, times)?;
        let surely = sums.mean <= self.safe_mean && sums.squares <= self.safe_squares && sums.leaks.is_empty();
        let continues = surely || (self.loss_of(&sums) <= self.limit && sums.leaks.within());
        continues.then(|| self.sums = sums)
    }

    /// The largest size of a cost that fits `times` times; zero if none does.
    ///
    /// K rises in ε and Σκ_i falls: the largest is where K ends, if Σκ_i allows anything there.
    pub(crate) fn largest(&self, cost: &Cost, times: u64) -> Amount {
        let within = |size: Amount| {
            let sums = self.sums_after(&cost.with_size(size), times);
            sums.is_some_and(|sums| self.loss_of(&sums) <= self.limit)
        };
        let largest = largest_size(Amount::MAX, within);
        if { *self }.charge(&cost.with_size(largest), times).is_some() { largest } else { Amount::ZERO }
    }

    /// The sums after `times` charges, within the budget or not; nothing if they are too large to hold.
    fn sums_after(&self, cost: &Cost, times: u64) -> Option<Sums> {
        let Sums { mean, squares, leaks } = &self.sums;
        let epsilon = leaks.counted(cost.epsilon()?)?;
        if epsilon.is_zero() {
            return Some(Sums { leaks: leaks.counting(cost, times), ..self.sums });
        }
        let more_mean = FineAmount::at_least(price::printed_mean(epsilon.interval().raised()).hi())?;
        let more_squares = epsilon.square();
        Some(Sums {
            mean: mean.checked_add(more_mean.checked_times(times)?)?,
            squares: squares.checked_add(more_squares.checked_times(times)?)?,
            leaks: leaks.counting(cost, times),
        })
    }

    /// The state after `times` charges, within the budget or not, to look at K.
    #[cfg(test)]
    pub(crate) fn counting(&self, cost: &Cost, times: u64) -> Option<Advanced> {
        Some(Advanced { sums: self.sums_after(cost, times)?, ..*self })
    }

    /// K, rounded up, with 2Σδ_i added where the corrected lemma asks for it.
    pub(crate) fn loss(&self) -> f64 {
        self.loss_of(&self.sums)
    }

    fn loss_of(&self, sums: &Sums) -> f64 {
        let Advanced { log, x, .. } = *self;
        (sums.mean.interval() + deviation(sums.squares.interval(), x, log) + sums.leaks.shift()).hi()
    }

    /// How far K has come from where it starts to ε_g, for showing.
    pub(crate) fn share_spent(&self) -> f64 {
        let start = self.loss_of(&Sums { mean: FineAmount::ZERO, squares: FineAmount::ZERO, ..self.sums });
        ((self.loss() - start) / (self.epsilon.approximate() - start)).clamp(0.0, 1.0)
    }

    /// Whether stored sums can have come from fresh ones of the same account.
    #[cfg(feature = "serde")]
    pub(crate) fn follows(&self, fresh: &Advanced) -> bool {
        let same =
            (self.epsilon, self.delta) == (fresh.epsilon, fresh.delta) && self.sums.leaks.follows(&fresh.sums.leaks);
        same && self.loss() <= self.limit
    }
}

/// √(2 (S + x) (1 + ½ ln(S/x + 1)) L), how far the loss strays from its mean in Theorems 5.1 and 6.5 and Lemma 6.4, rounded up.
pub(crate) fn deviation(squares: Interval, x: Interval, log: Interval) -> Interval {
    (2.0 * (squares + x) * (1.0 + 0.5 * (squares / x).raised().ln_1p()) * log).raised().sqrt()
}

/// Theorems 5.1 and 6.5 and Lemma 6.4 are stated for δ_g ∈ (0, 1/e).
pub(crate) fn require_delta_below_one_over_e(delta: Amount, rule: &'static str) -> Result<(), Error> {
    // 1/e, rounded down.
    const ONE_OVER_E: Amount = Amount::from_units(367_879_441_171_442_321_595_523_770_161);
    if delta.is_zero() || delta >= ONE_OVER_E {
        let why = format!("needs a delta above 0 and below 1/e = 0.3678…, without what is set aside; it has {delta}");
        return Err(Error::budget(rule, why));
    }
    Ok(())
}
