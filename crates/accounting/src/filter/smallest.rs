//! The smallest budget that admits a number of equal costs.

use super::residue::Residue;
use super::{Filter, FilterRule, FilterSpec};
use crate::amount::Amount;
use crate::budget::Budget;
use crate::cost::Cost;
use crate::error::Error;

impl Filter {
    /// The largest ε_g that [`smallest_epsilon`](Filter::smallest_epsilon) tries.
    pub const LARGEST_EPSILON: u64 = Residue::LARGEST_EPSILON;

    /// The smallest ε_g with which a filter like the given one admits `times` equal costs, rounded up to about ten digits.
    ///
    /// The ε of the given budget is not used; its δ and what is set aside are. Nothing if no ε_g that is tried is enough, or none at
    /// all because of the costs' own δ.
    pub fn smallest_epsilon(spec: &FilterSpec, cost: &Cost, times: u64) -> Result<Option<f64>, Error> {
        spec.rule().require_takes(cost)?;
        let with = |epsilon: f64| -> Result<Filter, Error> {
            let budget = Budget::new(Amount::at_most(epsilon), spec.budget.delta())?;
            let budget = budget.with_mechanism_delta(spec.budget.mechanism_delta())?;
            Filter::new(FilterSpec { budget, ..spec.clone() })
        };
        // What fails for the largest ε_g fails for its δ or its parameters. A smaller one may also be too small for a chosen order.
        let admits = |epsilon: f64| with(epsilon).is_ok_and(|filter| filter.admits(cost, times));
        let sum = cost.epsilon().and_then(|epsilon| epsilon.checked_times(times));
        let by_basic = sum.map_or(f64::INFINITY, Amount::upper);
        if spec.rule() == FilterRule::Basic
            || (spec.rule() == FilterRule::Residue && spec.budget.composition_delta().is_zero())
        {
            return Ok(admits(by_basic).then_some(by_basic));
        }
        let mut enough = Filter::LARGEST_EPSILON as f64;
        if !with(enough)?.admits(cost, times) {
            return Ok(None);
        }
        // Where adding up is part of the rule, what it needs is enough.
        if by_basic < enough && admits(by_basic) {
            enough = by_basic;
        }
        let mut too_little = 0.0;
        // Halving finds the scale, then the digits.
        while enough - too_little > 1e-10 * enough && enough > 1e-25 {
            let middle = if too_little == 0.0 { enough / 2.0 } else { 0.5 * (too_little + enough) };
            if admits(middle) {
                enough = middle;
            } else {
                too_little = middle;
            }
        }
        Ok(Some(enough))
    }
}
