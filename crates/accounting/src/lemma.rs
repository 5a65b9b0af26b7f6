//! Mechanisms with their own δ_i > 0 under the paper's pure rules: Lemma 3.3, corrected.
//!
//! The printed lemma bounds the chance that an (ε, δ)-DP mechanism loses more than 2ε by 2δ/(ε e^ε) (its Lemma 2.3). That is
//! false for every ε > 0: randomized response leaks outright with probability δ, which is more than the bound once ε > 0.8526.
//! The exact supremum is κ = δ(1 + e^{−2ε})/(1 − e^{−ε}). With it, an odometer reads u(2ε_1, …, 2ε_k) + 2Σδ_i, and ∞ once
//! Σκ_i > δ′; a filter halts iff K(2ε_1, …, 2ε_k) + 2Σδ_i > ε_g or Σκ_i > δ′. Both hold at level δ_g + δ′.

use crate::amount::{Amount, FineAmount};
use crate::cost::Cost;
use crate::numeric::Interval;

/// What the corrected lemma adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub(crate) struct Leaks {
    /// δ′.
    pub(crate) limit: Amount,
    /// Σδ_i.
    deltas: Amount,
    /// Σκ_i; nothing if it is infinite.
    kappas: Option<FineAmount>,
}

impl Leaks {
    /// With δ′ set aside. Where nothing is, the pure rule is used as printed.
    pub(crate) fn new(set_aside: Amount) -> Leaks {
        Leaks { limit: set_aside, deltas: Amount::ZERO, kappas: Some(FineAmount::ZERO) }
    }

    /// After `times` more charges.
    pub(crate) fn counting(&self, cost: &Cost, times: u64) -> Leaks {
        let delta = cost.delta();
        if delta.is_zero() {
            return *self;
        }
        let deltas = delta.checked_times(times).and_then(|more| self.deltas.checked_add(more));
        let more =
            cost.epsilon().and_then(|epsilon| kappa(epsilon, delta)).and_then(|kappa| kappa.checked_times(times));
        let kappas = self.kappas.zip(more).and_then(|(kappas, more)| kappas.checked_add(more));
        match deltas {
            Some(deltas) => Leaks { deltas, kappas, ..*self },
            None => Leaks { kappas: None, ..*self },
        }
    }

    /// Whether no mechanism had a δ of its own.
    pub(crate) fn is_empty(&self) -> bool {
        self.deltas.is_zero() && self.kappas == Some(FineAmount::ZERO)
    }

    /// Whether Σκ_i ≤ δ′.
    pub(crate) fn within(&self) -> bool {
        self.kappas.is_some_and(|kappas| kappas.is_zero() || kappas <= self.limit.into())
    }

    /// The ε that a charge counts with: doubled where something is set aside.
    pub(crate) fn counted(&self, epsilon: Amount) -> Option<Amount> {
        if self.limit.is_zero() { Some(epsilon) } else { epsilon.checked_times(2) }
    }

    /// Whether stored sums can have come from fresh ones of the same account.
    #[cfg(feature = "serde")]
    pub(crate) fn follows(&self, fresh: &Leaks) -> bool {
        self.limit == fresh.limit && self.within()
    }

    /// 2Σδ_i.
    pub(crate) fn shift(&self) -> Interval {
        if self.deltas.is_zero() { Interval::ZERO } else { 2.0 * self.deltas.interval() }
    }
}

/// κ = δ(1 + e^{−2ε})/(1 − e^{−ε}), rounded up; nothing if it is infinite.
pub(crate) fn kappa(epsilon: Amount, delta: Amount) -> Option<FineAmount> {
    if epsilon.is_zero() {
        return delta.is_zero().then_some(FineAmount::ZERO);
    }
    let epsilon = epsilon.interval();
    let kappa = delta.interval() * (1.0 + (-2.0 * epsilon).exp()) / -(-epsilon).exp_m1();
    FineAmount::at_least(kappa.hi())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amount::Rounding;

    fn amount(text: &str) -> Amount {
        Amount::parse(text, Rounding::Up).unwrap().amount
    }

    /// RR_{ε,δ} itself: with probability δ the answer names the input and the loss is infinite.
    #[test]
    fn the_printed_lemma_is_below_the_truth_and_the_corrected_one_is_not() {
        let (epsilon, delta) = (2.0f64, 0.1);
        let chance_of_loss_above_twice_epsilon = delta;
        let printed = 2.0 * delta / (epsilon * epsilon.exp());
        assert!(printed < 0.0136 && printed < chance_of_loss_above_twice_epsilon, "as printed: {printed}");
        let corrected = kappa(amount("2"), amount("0.1")).unwrap().approximate();
        assert!(corrected >= chance_of_loss_above_twice_epsilon, "corrected: {corrected}");
    }

    /// The pair that attains κ: an extra mass δ/(1−e^{−ε}) at loss just above 2ε in one order, and its mirror image.
    #[test]
    fn kappa_is_attained_for_small_epsilon_where_the_printed_bound_fails_too() {
        for (epsilon, delta) in [(0.1f64, 1e-3), (0.5, 1e-2), (1.0, 1e-2)] {
            // P puts mass m on an outcome where Q puts m·e^{−c}, c slightly above 2ε; that costs m(1 − e^{ε−c}) = δ.
            let loss = 2.0 * epsilon * (1.0 + 1e-9);
            let mass = delta / (1.0 - (epsilon - loss).exp());
            let both_sides = mass * (1.0 + (-loss).exp());
            let printed = 2.0 * delta / (epsilon * epsilon.exp());
            assert!(both_sides > printed, "ε = {epsilon}");
            let text = |value: f64| amount(&format!("{value}"));
            let corrected = kappa(text(epsilon), text(delta)).unwrap().approximate();
            assert!(corrected >= both_sides && corrected < both_sides * 1.000_001, "ε = {epsilon}");
        }
    }

    #[test]
    fn a_delta_without_an_epsilon_is_never_within() {
        assert_eq!(kappa(Amount::ZERO, amount("1e-9")), None);
        let leaks = Leaks::new(amount("0.5"));
        assert!(leaks.within());
        let cost = Cost::approximate(Amount::ZERO, amount("1e-9")).unwrap();
        assert!(!leaks.counting(&cost, 1).within());
    }
}
