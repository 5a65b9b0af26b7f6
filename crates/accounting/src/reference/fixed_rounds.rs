//! k equal rounds of (ε, δ)-DP, fixed in advance.

use super::FixedInAdvance;
use super::binomial::Binomial;
use crate::amount::Amount;
use crate::budget::Budget;
use crate::cost::Cost;
use crate::error::Error;
use crate::filter::Count;
use crate::numeric::{Interval, largest_count_where, smallest_float_where};

/// A number of rounds of the same (ε, δ)-DP cost.
#[derive(Clone, Copy, Debug)]
pub struct FixedRounds {
    epsilon: Amount,
    delta: Amount,
    rounds: u64,
}

impl FixedRounds {
    /// The most rounds for which the optimum is computed.
    pub const MOST: u64 = 1_000_000_000;

    /// A number of rounds of a cost; an error if it has no finite ε.
    pub fn new(cost: &Cost, rounds: u64) -> Result<FixedRounds, Error> {
        let epsilon = super::epsilon_of(cost)?;
        if rounds > FixedRounds::MOST {
            return Err(Error::parameter("rounds", rounds, format!("at most {} are computed", FixedRounds::MOST)));
        }
        Ok(FixedRounds { epsilon, delta: cost.delta(), rounds })
    }

    /// *Basic composition*: kε, with kδ ≤ δ_g. Nothing if the δ do not fit.
    pub fn basic_epsilon(&self, delta_g: Amount) -> Option<FixedInAdvance> {
        self.delta_left(delta_g)?;
        let sum = self.epsilon.checked_times(self.rounds)?;
        Some(FixedInAdvance(sum.upper()))
    }

    /// *Advanced composition.* Dwork, Rothblum, Vadhan, FOCS 2010, Theorem III.3: kε(e^ε−1) + ε√(2k ln(1/δ̂)) with δ̂ = δ_g − kδ.
    /// Nothing if there is no δ̂ > 0.
    pub fn advanced_epsilon(&self, delta_g: Amount) -> Option<FixedInAdvance> {
        let left = self.delta_left(delta_g).filter(|left| !left.is_zero())?;
        let (epsilon, k) = (self.epsilon.interval(), Interval::around(self.rounds as f64, 1));
        let bound = epsilon * epsilon.exp_m1() * k + epsilon * (-2.0 * k * left.interval().ln()).sqrt();
        Some(FixedInAdvance(bound.hi()))
    }

    /// *Optimal composition.* Kairouz, Oh, Viswanath, arXiv:1311.0776v4, Theorem 3.3: the exact
    /// δ(ε_g) = 1 − (1−δ)^k (1 − Σ_l C(k,l) [e^{(k−l)ε} − e^{ε_g + lε}]_+/(1+e^ε)^k), rounded up.
    pub fn optimal_delta(&self, epsilon_g: Amount) -> FixedInAdvance {
        FixedInAdvance(self.delta_at(&self.losses(), epsilon_g.interval()).hi().min(1.0))
    }

    /// The smallest ε_g at which [`optimal_delta`](FixedRounds::optimal_delta) is at most δ_g, rounded up; nothing if there is none.
    pub fn optimal_epsilon(&self, delta_g: Amount) -> Option<FixedInAdvance> {
        let most = self.epsilon.checked_times(self.rounds)?.upper();
        let losses = self.losses();
        let fits = |epsilon: f64| self.delta_at(&losses, Interval::point(epsilon)).hi() <= delta_g.interval().lo();
        // At the sum of all ε at most Σδ_i is left, whatever rounding makes of it.
        smallest_float_where(most, fits).map(FixedInAdvance).or_else(|| self.basic_epsilon(delta_g))
    }

    /// The smallest t with P(Loss > t) ≤ δ for k rounds of RR_ε, rounded up: what no bound that holds at δ can be below.
    pub fn loss_quantile(&self, delta: Amount) -> FixedInAdvance {
        let (losses, delta) = (self.losses(), delta.interval().lo());
        let mut tail = losses.below;
        for outcome in &losses.outcomes {
            tail = (tail + outcome.probability.hi()).next_up();
            if tail > delta {
                let net = self.rounds as f64 - 2.0 * outcome.count as f64;
                return FixedInAdvance((net * self.epsilon.interval()).hi());
            }
        }
        FixedInAdvance(0.0)
    }

    /// How many rounds of a cost the advanced theorem admits.
    pub fn advanced_count(cost: &Cost, budget: &Budget) -> Result<Count, Error> {
        let fits = |rounds: u64| {
            let bound = FixedRounds::new(cost, rounds).ok().and_then(|fixed| fixed.advanced_epsilon(budget.delta()));
            bound.is_some_and(|bound| bound.value() <= budget.epsilon().interval().lo())
        };
        count_rounds(cost, fits)
    }

    /// How many rounds of a cost the optimal theorem admits.
    pub fn optimal_count(cost: &Cost, budget: &Budget) -> Result<Count, Error> {
        let fits = |rounds: u64| {
            FixedRounds::new(cost, rounds).is_ok_and(|fixed| {
                let by_basic = fixed.delta_left(budget.delta()).is_some()
                    && fixed.epsilon.checked_times(rounds).is_some_and(|sum| sum <= budget.epsilon());
                by_basic || fixed.optimal_delta(budget.epsilon()).value() <= budget.delta().interval().lo()
            })
        };
        count_rounds(cost, fits)
    }

    /// δ_g − kδ.
    fn delta_left(&self, delta_g: Amount) -> Option<Amount> {
        delta_g.checked_sub(self.delta.checked_times(self.rounds)?)
    }

    fn losses(&self) -> Binomial {
        Binomial::new(self.epsilon.interval(), self.rounds)
    }

    fn delta_at(&self, losses: &Binomial, epsilon_g: Interval) -> Interval {
        let epsilon = self.epsilon.interval();
        let mut sum = Interval::between(0.0, losses.below);
        for outcome in &losses.outcomes {
            let net = self.rounds as f64 - 2.0 * outcome.count as f64;
            let excess = net * epsilon - epsilon_g;
            if excess.hi() <= 0.0 {
                break;
            }
            // 1 − e^{ε_g − loss}, where that is positive.
            let part = -(-excess).exp_m1();
            sum = sum + outcome.probability * part.not_negative();
        }
        if self.delta.is_zero() {
            return sum;
        }
        // 1 − (1−δ)^k (1 − s) = s + (1 − s)(1 − (1−δ)^k).
        let k = Interval::around(self.rounds as f64, 1);
        let leak = -(k * (-self.delta.interval()).ln_1p()).exp_m1();
        sum + (1.0 - sum).not_negative() * leak
    }
}

/// The largest number of rounds for which a predicate holds that holds up to some point.
fn count_rounds(cost: &Cost, fits: impl Fn(u64) -> bool) -> Result<Count, Error> {
    if cost.is_free() {
        return Ok(Count::UNBOUNDED);
    }
    FixedRounds::new(cost, 1)?;
    let count = largest_count_where(FixedRounds::MOST, fits);
    Ok(if count == FixedRounds::MOST { Count::at_least(count) } else { Count::exactly(count) })
}
