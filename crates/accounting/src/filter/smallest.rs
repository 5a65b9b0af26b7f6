//! The smallest budget that admits a number of equal costs, or a list of costs.

use super::residue::Residue;
use super::{Filter, FilterRule, FilterSpec, Verdict};
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
        let sum = cost.epsilon().and_then(|epsilon| epsilon.checked_times(times));
        smallest(spec, sum, 1e-10, |filter| filter.admits(cost, times))
    }

    /// The smallest ε_g with which a filter like the given one admits a list of costs in this order, rounded up to about six digits: as
    /// [`smallest_epsilon`](Filter::smallest_epsilon), for costs that differ. The list is charged about twenty times.
    pub fn smallest_epsilon_of(spec: &FilterSpec, costs: &[Cost]) -> Result<Option<f64>, Error> {
        costs.iter().try_for_each(|cost| spec.rule().require_takes(cost))?;
        let sum = costs.iter().try_fold(Amount::ZERO, |sum, cost| sum.checked_add(cost.epsilon()?));
        smallest(spec, sum, 1e-6, |filter| filter.admits_all(costs))
    }

    /// Whether it admits a list of costs in this order. Changes nothing.
    pub fn admits_all(&self, costs: &[Cost]) -> bool {
        let mut after = self.clone();
        costs.iter().all(|cost| after.charge(cost).is_ok_and(Verdict::continues))
    }
}

/// The smallest ε_g of a filter that admits some costs, which add up to `sum`, up to a relative error.
fn smallest(
    spec: &FilterSpec,
    sum: Option<Amount>,
    error: f64,
    admits: impl Fn(&Filter) -> bool,
) -> Result<Option<f64>, Error> {
    let with = |epsilon: f64| -> Result<Filter, Error> {
        let budget = Budget::new(Amount::at_most(epsilon), spec.budget.delta())?;
        let budget = budget.with_mechanism_delta(spec.budget.mechanism_delta())?;
        Filter::new(FilterSpec { budget, ..spec.clone() })
    };
    // What fails for the largest ε_g fails for its δ or its parameters. A smaller one may also be too small for a chosen order.
    let is_enough = |epsilon: f64| with(epsilon).is_ok_and(|filter| admits(&filter));
    let by_basic = sum.map_or(f64::INFINITY, Amount::upper);
    if spec.rule() == FilterRule::Basic
        || (spec.rule() == FilterRule::Residue && spec.budget.composition_delta().is_zero())
    {
        return Ok(is_enough(by_basic).then_some(by_basic));
    }
    let largest = Filter::LARGEST_EPSILON as f64;
    let with_largest = with(largest)?;
    // Where adding up is part of the rule, what it needs is enough.
    let mut enough = match by_basic < largest && is_enough(by_basic) {
        true => by_basic,
        false if admits(&with_largest) => largest,
        false => return Ok(None),
    };
    let mut too_little = 0.0;
    // Halving finds the scale, then the digits.
    while enough - too_little > error * enough && enough > 1e-25 {
        let middle = if too_little == 0.0 { enough / 2.0 } else { 0.5 * (too_little + enough) };
        if is_enough(middle) {
            enough = middle;
        } else {
            too_little = middle;
        }
    }
    Ok(Some(enough))
}
