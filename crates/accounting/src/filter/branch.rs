//! The branch that is the rule's own.

use serde::{Deserialize, Serialize};

use super::additive::Additive;
use super::advanced::Advanced;
use super::renyi::ChosenOrder;
use super::residue::Residue;
use super::{Count, EXACT_COUNTS, FilterRule, renyi, rule, share, whitehouse, zcdp};
use crate::amount::{Amount, FineAmount};
use crate::budget::Budget;
use crate::cost::Cost;
use crate::error::Error;
use crate::price;

/// The state of a rule other than basic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Branch {
    /// Behind a pointer: it is larger than all the others, and they should not pay for it.
    Advanced(Box<Advanced>),
    Whitehouse(Additive),
    Zcdp(Additive),
    Renyi {
        order: ChosenOrder,
        sum: Additive,
    },
    Residue(Residue),
}

impl Branch {
    /// A branch with nothing spent; nothing for the basic rule, which has no other branch.
    ///
    /// Where there is a stored branch to compare with, its limit is kept if that is proven in fewer steps than finding the largest.
    pub(crate) fn new(
        budget: &Budget,
        rule: FilterRule,
        order: Option<Amount>,
        stored: Option<&Branch>,
    ) -> Result<Option<Branch>, Error> {
        if rule == FilterRule::Basic {
            return Ok(None);
        }
        rule::require_delta(budget, rule)?;
        let (epsilon, delta) = (budget.epsilon().interval(), budget.composition_delta().interval());
        let additive = |limit: Option<FineAmount>| {
            limit.map(Additive::new).ok_or_else(|| {
                Error::input(format!("an epsilon of {} is too large for the rule {}", budget.epsilon(), rule.name()))
            })
        };
        Ok(Some(match rule {
            FilterRule::Basic => return Ok(None),
            FilterRule::Advanced => Branch::Advanced(Box::new(Advanced::new(budget)?)),
            FilterRule::Whitehouse => Branch::Whitehouse(additive(whitehouse::limit(epsilon, delta))?),
            FilterRule::Zcdp => Branch::Zcdp(additive(zcdp::limit(epsilon, delta))?),
            FilterRule::Renyi => {
                let order = order.ok_or_else(|| Error::input("no Rényi order admits anything; use another rule"))?;
                let sum = additive(renyi::limit(order, epsilon, delta)?)?;
                Branch::Renyi { order: order.try_into()?, sum }
            }
            FilterRule::Residue => {
                let stored = match stored {
                    Some(Branch::Residue(stored)) => Some(stored.start()),
                    _ => None,
                };
                Branch::Residue(Residue::new(budget.epsilon(), budget.composition_delta(), stored)?)
            }
        }))
    }

    /// Counts so many charges, if the rule admits them all; nothing, and no change, if it halts.
    pub(crate) fn charge(&mut self, cost: &Cost, times: u64) -> Option<()> {
        match self {
            Branch::Advanced(advanced) => advanced.charge(cost, times),
            Branch::Whitehouse(sum) => sum.charge(whitehouse::price(cost), times),
            Branch::Zcdp(sum) => sum.charge(price::zcdp(cost), times),
            Branch::Renyi { order, sum } => sum.charge(order.price(cost), times),
            Branch::Residue(residue) => residue.charge(cost, times),
        }
    }

    /// Whether so many charges of a cost fit.
    pub(crate) fn admits(&self, cost: &Cost, times: u64) -> bool {
        // A bound in a few steps often settles what would take as many steps as there are charges; beyond what is counted exactly
        // it is all that is asked.
        if let Branch::Residue(residue) = self
            && (residue.surely_admits(cost, times) || (times > EXACT_COUNTS && cost.epsilon().is_some()))
        {
            return residue.surely_admits(cost, times);
        }
        self.clone().charge(cost, times).is_some()
    }

    /// How many charges of a cost fit.
    pub(crate) fn count(&self, cost: &Cost) -> Count {
        match self {
            Branch::Advanced(advanced) => {
                Count::exactly(largest_count(|times| { **advanced }.charge(cost, times).is_some()))
            }
            Branch::Whitehouse(sum) => Count::exactly(sum.count(whitehouse::price(cost))),
            Branch::Zcdp(sum) => Count::exactly(sum.count(price::zcdp(cost))),
            Branch::Renyi { order, sum } => Count::exactly(sum.count(order.price(cost))),
            Branch::Residue(residue) => residue.count(cost),
        }
    }

    /// The largest size of a cost that fits so many times.
    pub(crate) fn largest(&self, cost: &Cost, times: u64) -> Amount {
        let fits = |size: Amount| size.is_zero() || self.admits(&cost.with_size(size), times);
        match self {
            Branch::Residue(residue) if cost.epsilon().is_some() && times > 16 => {
                // Asking for every digit would take times steps for each; a close guess is lowered until it passes.
                let guess = residue.near_largest(times);
                (0..20).map(|try_| lowered(guess, try_)).find(|&size| fits(size)).unwrap_or(Amount::ZERO)
            }
            _ => super::largest_size(Amount::MAX, fits),
        }
    }

    /// The share that is spent, for showing.
    pub(crate) fn share_spent(&self) -> f64 {
        match self {
            Branch::Advanced(advanced) => advanced.share_spent(),
            Branch::Whitehouse(sum) | Branch::Zcdp(sum) | Branch::Renyi { sum, .. } => share(sum.spent(), sum.limit()),
            Branch::Residue(residue) => 1.0 - share(residue.left(), residue.start()),
        }
    }

    /// The rule's own numbers, by name.
    pub(crate) fn state(&self) -> Vec<(&'static str, f64)> {
        match self {
            Branch::Advanced(advanced) => vec![("k", advanced.loss())],
            Branch::Whitehouse(sum) => {
                vec![("squares", sum.spent().approximate()), ("squares_limit", sum.limit().approximate())]
            }
            Branch::Zcdp(sum) => vec![("rho", sum.spent().approximate()), ("rho_limit", sum.limit().approximate())],
            Branch::Renyi { order, sum } => vec![
                ("order", order.amount().approximate()),
                ("divergence", sum.spent().approximate()),
                ("divergence_limit", sum.limit().approximate()),
            ],
            Branch::Residue(residue) => {
                vec![("residue", residue.left().approximate()), ("residue_start", residue.start().approximate())]
            }
        }
    }

    /// Whether a stored branch can have come from a fresh one of the same account.
    ///
    /// The limit was computed when the account was made, perhaps by an earlier version that rounded more; it is kept, but may not
    /// be above what is proven now.
    pub(crate) fn follows(&self, fresh: &Branch) -> bool {
        let additive =
            |stored: &Additive, fresh: &Additive| stored.spent() <= stored.limit() && stored.limit() <= fresh.limit();
        match (self, fresh) {
            (Branch::Advanced(stored), Branch::Advanced(fresh)) => stored.follows(fresh),
            (Branch::Whitehouse(stored), Branch::Whitehouse(fresh)) | (Branch::Zcdp(stored), Branch::Zcdp(fresh)) => {
                additive(stored, fresh)
            }
            (Branch::Renyi { order, sum }, Branch::Renyi { order: fresh_order, sum: fresh }) => {
                order == fresh_order && additive(sum, fresh)
            }
            (Branch::Residue(stored), Branch::Residue(fresh)) => {
                stored.left() <= stored.start() && stored.start() <= fresh.start()
            }
            _ => false,
        }
    }
}

/// An amount as it is, then lowered by 10⁻¹² of it, by ten times that, and so on.
fn lowered(amount: Amount, steps: u32) -> Amount {
    let part = if steps == 0 { 0 } else { amount.units() / 10u128.pow(13u32.saturating_sub(steps)) };
    Amount::from_units(amount.units().saturating_sub(part))
}

/// The largest count for which a predicate holds that holds up to some point.
fn largest_count(holds: impl Fn(u64) -> bool) -> u64 {
    if holds(u64::MAX) {
        return u64::MAX;
    }
    let (mut good, mut bad) = (0u64, 1u64);
    while bad < u64::MAX / 2 && holds(bad) {
        (good, bad) = (bad, bad * 2);
    }
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}
