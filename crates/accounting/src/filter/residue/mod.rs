//! *The residue filter*, the default: the reach theorem (`docs/theory.md`, section 4, with its proof).
//!
//! The idea of Regehr et al. 2026, arXiv:2602.15815, is to keep what is **left**, not what is spent. The state is (w, A): the residue w
//! with the promise *no adversary who goes on from here exceeds δ_w at any level that still matters*, and the reach A = Σε_i of
//! everything admitted, beyond which the loss cannot lie. It starts at (V, 0), V the largest with δ_V(ε_g) ≤ δ′, and V = 0 if δ′ = 0.
//!
//! * An ε-DP cost is judged at the single level τ = max(0, ε_g − A) and moves the state to (w′, A + ε); see [`reach`].
//! * A proven μ-GDP mechanism moves it to (w − μ², ∞): its loss has no bound.
//! * With δ_i > 0 the same, and Σδ_i ≤ δ″.
//!
//! Guarantee: (ε_g, δ′ + δ″)-DP. While A + ε ≤ ε_g a cost is always admitted, so basic composition is contained in the rule.
//!
//! w is an integer of 10⁻⁶⁰ that is rounded down, A an integer of 10⁻³⁰ that is exact, or ∞ where it is too large to hold: both
//! roundings cost the analyst.

pub(crate) mod reach;

use super::{Count, EXACT_COUNTS, FilterRule, largest_size, share};
use crate::amount::{Amount, FineAmount};
use crate::cost::Cost;
use crate::error::Error;
use crate::numeric::normal;

/// The state (w, A), and where it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub(crate) struct Residue {
    /// ε_g.
    epsilon: Amount,
    /// V.
    start: FineAmount,
    /// w.
    left: FineAmount,
    /// A; nothing if it is infinite.
    reach: Option<Amount>,
}

impl Residue {
    /// The largest ε_g for which the normal tails are evaluated. A larger one promises nothing.
    pub(crate) const LARGEST_EPSILON: u64 = 1000;

    /// Nothing spent of the largest V, or of a V that was stored earlier, if that is proven to be small enough: a proof takes one
    /// step where a search takes sixty.
    pub(crate) fn new(epsilon: Amount, delta: Amount, stored: Option<&Residue>) -> Result<Residue, Error> {
        let start = if delta.is_zero() { FineAmount::ZERO } else { variance(epsilon, delta, stored)? };
        Ok(Residue { epsilon, start, left: start, reach: Some(Amount::ZERO) })
    }

    /// Counts `times` charges one by one; nothing, and no change, if the filter halts.
    pub(crate) fn charge(&mut self, cost: &Cost, times: u64) -> Option<()> {
        *self = (0..times).try_fold(*self, |state, _| state.after(cost))?;
        Some(())
    }

    /// The state after a charge; nothing if the filter halts.
    fn after(&self, cost: &Cost) -> Option<Residue> {
        let (left, reach) = match cost {
            Cost::Gaussian { mu } if mu.is_zero() => (self.left, self.reach),
            Cost::Gaussian { mu } => (self.left.checked_sub(mu.square())?, None),
            _ => {
                let epsilon = cost.epsilon()?;
                (reach::rest(epsilon, self.tau(), self.left)?, self.reach.and_then(|reach| reach.checked_add(epsilon)))
            }
        };
        Some(Residue { left, reach, ..*self })
    }

    /// τ, the lowest level that still matters.
    fn tau(&self) -> Amount {
        self.reach.and_then(|reach| self.epsilon.checked_sub(reach)).unwrap_or(Amount::ZERO)
    }

    /// How many charges of a cost still fit: counted one by one up to 100,000, beyond that bounded from below.
    pub(crate) fn count(&self, cost: &Cost) -> Count {
        let Some(epsilon) = cost.epsilon() else {
            return Count::exactly(self.left.count_of(cost.size().square()));
        };
        let bound = self.count_at_least(epsilon);
        if bound > EXACT_COUNTS {
            return Count::at_least(bound);
        }
        match self.fit_up_to(cost, EXACT_COUNTS + 1) {
            (count, _) if count <= EXACT_COUNTS => Count::exactly(count),
            (count, _) => Count::at_least(count),
        }
    }

    /// How many charges of a cost fit, counted one by one up to `most`, and the state after them.
    fn fit_up_to(&self, cost: &Cost, most: u64) -> (u64, Residue) {
        let mut state = *self;
        for count in 0..most {
            match state.after(cost) {
                Some(after) => state = after,
                None => return (count, state),
            }
        }
        (most, state)
    }

    /// A number of ε-DP charges that surely fit, in a few steps: by basic composition, or by a bound on the price.
    fn count_at_least(&self, epsilon: Amount) -> u64 {
        let by_adding = FineAmount::from(self.tau()).count_of(epsilon.into());
        by_adding.max(reach::count_at_least(epsilon, self.left))
    }

    /// Whether `times` charges of a cost fit; beyond what is counted exactly, whether a bound in a few steps shows that they do.
    pub(crate) fn admits(&self, cost: &Cost, times: u64) -> bool {
        match cost.epsilon() {
            None => self.left.count_of(cost.size().square()) >= times,
            Some(epsilon) if epsilon.is_zero() || self.count_at_least(epsilon) >= times => true,
            Some(_) if times > EXACT_COUNTS => false,
            Some(_) => { *self }.charge(cost, times).is_some(),
        }
    }

    /// The largest size of a cost that fits `times` times: to the last digit for a few, to a millionth for more.
    pub(crate) fn largest(&self, cost: &Cost, times: u64) -> Amount {
        let fits = |size: Amount| size.is_zero() || self.admits(&cost.with_size(size), times);
        if cost.epsilon().is_none() || times <= 16 {
            return largest_size(Amount::MAX, fits);
        }
        // What surely fits; and more than twice that does not, because a price is at least ε²/(1 + ε²/4) where adding up ends.
        let surely = largest_size(Amount::MAX, |size| size.is_zero() || self.count_at_least(size) >= times);
        if times > EXACT_COUNTS {
            return surely;
        }
        self.near_largest(cost, times, surely, fits)
    }

    /// The size at which `times` charges just fit, from below, to a millionth.
    ///
    /// The number that fits falls about with the square of the size: the next guess follows from how many did.
    fn near_largest(&self, cost: &Cost, times: u64, surely: Amount, fits: impl Fn(Amount) -> bool) -> Amount {
        const CLOSE: u128 = 2_000_000;
        let (mut good, mut bad) = (surely, None::<Amount>);
        let mut guess = Amount::at_most(surely.approximate() * 1.01).max(Amount::from_units(surely.units() + 1));
        for _ in 0..60 {
            let admitted = self.count_up_to(&cost.with_size(guess), times);
            let scale = (admitted / times as f64).sqrt();
            if admitted >= times as f64 {
                good = good.max(guess)
            } else {
                bad = Some(guess)
            }
            let Some(bad) = bad else {
                guess = Amount::at_most(guess.approximate() * scale.clamp(1.001, 2.0));
                continue;
            };
            let gap = bad.units().saturating_sub(good.units());
            if gap <= good.units() / CLOSE + 1 {
                break;
            }
            // A little below where `times` of them would fit, so that one side is closed in on soon.
            let next = Amount::at_most(guess.approximate() * scale * (1.0 - 2e-7));
            let inside = next > good && next < bad;
            guess = if inside { next } else { Amount::from_units(good.units() + gap / 2) };
        }
        debug_assert!(fits(good), "what was found good is not taken");
        good
    }

    /// How many charges fit, counting on until twice as many, with the share of the last one that is left over.
    fn count_up_to(&self, cost: &Cost, times: u64) -> f64 {
        match self.fit_up_to(cost, times) {
            (count, _) if count < times => count as f64,
            (_, state) => times as f64 + state.left.interval().middle() / cost.size().square().interval().middle(),
        }
    }

    /// The share of V that is spent; without one, of ε_g. For showing.
    pub(crate) fn share_spent(&self) -> f64 {
        match self.start.is_zero() {
            true => self.reach.map_or(1.0, |reach| share(reach.into(), self.epsilon.into())),
            false => 1.0 - share(self.left, self.start),
        }
    }

    /// w, V and A, for showing.
    pub(crate) fn shown(&self) -> Vec<(&'static str, f64)> {
        let reach = self.reach.map_or(f64::INFINITY, Amount::approximate);
        vec![("residue", self.left.approximate()), ("residue_start", self.start.approximate()), ("reach", reach)]
    }

    /// Whether a stored state can have come from a fresh one of the same account, with this Σε_i.
    #[cfg(feature = "serde")]
    pub(crate) fn follows(&self, fresh: &Residue, sum: Option<Amount>) -> bool {
        self.epsilon == fresh.epsilon && self.left <= self.start && self.start <= fresh.start && self.reach == sum
    }

    /// V.
    pub(crate) fn start(&self) -> FineAmount {
        self.start
    }
}

/// The largest V with δ_V(ε_g) ≤ δ′, or the stored one if it is proven.
fn variance(epsilon: Amount, delta: Amount, stored: Option<&Residue>) -> Result<FineAmount, Error> {
    if Amount::from_whole(Residue::LARGEST_EPSILON).is_none_or(|largest| epsilon > largest) {
        let largest = Residue::LARGEST_EPSILON;
        let why = format!("takes budgets up to an epsilon of {largest}, not {epsilon}; use basic");
        return Err(Error::budget(FilterRule::Residue.name(), why));
    }
    let (epsilon, delta) = (epsilon.interval(), delta.interval());
    let is_proven = |start: &FineAmount| normal::is_variance_within(start.upper(), epsilon, delta);
    Ok(stored.map(Residue::start).filter(is_proven).unwrap_or_else(|| {
        let largest = normal::largest_variance(epsilon, delta);
        FineAmount::at_most(largest).expect("the variance of a budget up to 1000 is small")
    }))
}
