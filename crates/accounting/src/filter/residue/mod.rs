//! *The residue filter*, the default. After Regehr et al. 2026, arXiv:2602.15815: keep what is **left**, not what is spent.
//!
//! The state is a residue w ≥ 0 with the promise *whatever the analyst does from here on is √w-GDP*. It starts at V, the largest
//! V with δ_V(ε_g) ≤ δ′. A proven μ-GDP mechanism moves w to w − μ². An ε-DP mechanism moves w to the largest w′ with
//! join(ε, w′) ≤ w, where join(ε, w′) is the smallest W such that randomized response followed by anything √w′-GDP is √W-GDP
//! ([`join`]). Where there is no such w′ ≥ 0 the filter halts. Guarantee: (ε_g, δ′ + δ″)-DP with Σδ_i ≤ δ″. What this branch alone
//! admits of pure and Gaussian costs is moreover √V-GDP; the union with basic composition does not keep that. `docs/theory.md`
//! has the proof.
//!
//! The residue is an integer of 10⁻⁶⁰, and every price is rounded up: the w′ that is kept is never larger than the true one.

pub(crate) mod join;

use serde::{Deserialize, Serialize};

use super::{Count, EXACT_COUNTS};
use crate::amount::{Amount, FineAmount};
use crate::cost::Cost;
use crate::error::Error;
use crate::numeric::normal;

/// What is left, as μ².
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Residue {
    start: FineAmount,
    left: FineAmount,
}

impl Residue {
    /// The largest ε_g for which the normal tails are evaluated. A promise of more means nothing to anybody.
    pub(crate) const LARGEST_EPSILON: u64 = 1000;

    /// Nothing spent of the largest V, or of a V that was stored earlier, if that is proven to be small enough: a proof takes one
    /// step where a search takes sixty.
    pub(crate) fn new(epsilon: Amount, delta: Amount, stored: Option<FineAmount>) -> Result<Residue, Error> {
        if Amount::from_whole(Residue::LARGEST_EPSILON).is_none_or(|largest| epsilon > largest) {
            return Err(Error::input(format!(
                "the residue filter takes budgets up to an epsilon of {}, not {epsilon}; use --rule basic",
                Residue::LARGEST_EPSILON
            )));
        }
        let (epsilon, delta) = (epsilon.interval(), delta.interval());
        let is_proven = |start: &FineAmount| normal::is_variance_within(start.upper(), epsilon, delta);
        let start = stored.filter(is_proven).unwrap_or_else(|| {
            let largest = normal::largest_variance(epsilon, delta);
            FineAmount::at_most(largest).expect("the variance of a budget up to 1000 is small")
        });
        Ok(Residue { start, left: start })
    }

    /// Counts so many charges, if the filter continues; nothing, and no change, if it halts.
    pub(crate) fn charge(&mut self, cost: &Cost, times: u64) -> Option<()> {
        if cost.size().is_zero() {
            return Some(());
        }
        self.left = if let Cost::Gaussian { mu } = cost {
            self.left.checked_sub(mu.square().checked_times(times)?)?
        } else {
            let epsilon = cost.epsilon()?;
            (0..times).try_fold(self.left, |left, _| join::rest(epsilon, left))?
        };
        Some(())
    }

    /// How many charges of a cost still fit: counted one by one up to 100,000, beyond that bounded from below.
    pub(crate) fn count(&self, cost: &Cost) -> Count {
        let Some(epsilon) = cost.epsilon() else {
            return Count::exactly(self.left.count_of(cost.size().square()));
        };
        if epsilon.is_zero() {
            return Count::UNBOUNDED;
        }
        let bound = join::count_at_least(epsilon, self.left);
        if bound > EXACT_COUNTS {
            return Count::at_least(bound);
        }
        let mut left = self.left;
        for count in 0..=EXACT_COUNTS {
            match join::rest(epsilon, left) {
                Some(rest) => left = rest,
                None => return Count::exactly(count),
            }
        }
        Count::at_least(EXACT_COUNTS + 1)
    }

    /// Whether a bound in a few steps shows that so many charges of a cost fit.
    pub(crate) fn surely_admits(&self, cost: &Cost, times: u64) -> bool {
        cost.epsilon().is_some_and(|epsilon| !epsilon.is_zero() && join::count_at_least(epsilon, self.left) >= times)
    }

    /// A size near the largest that fits so many times, where asking step by step would take too long; it must be checked.
    pub(crate) fn near_largest(&self, times: u64) -> Amount {
        if times > EXACT_COUNTS {
            return super::largest_size(self.left.coarse(crate::Rounding::Up), |epsilon| {
                epsilon.is_zero() || join::count_at_least(epsilon, self.left) >= times
            });
        }
        join::near_largest(self.left.interval().middle(), times)
    }

    /// w.
    pub(crate) fn left(&self) -> FineAmount {
        self.left
    }

    /// V.
    pub(crate) fn start(&self) -> FineAmount {
        self.start
    }
}
