//! What a rule has counted.

use super::additive::Additive;
use super::advanced::Advanced;
use super::basic::Basic;
use super::renyi::ChosenOrder;
use super::residue::Residue;
use super::{Count, FilterParameters, largest_size, renyi, rule, share, whitehouse, zcdp};
use crate::amount::{Amount, FineAmount};
use crate::budget::Budget;
use crate::cost::Cost;
use crate::error::Error;
use crate::numeric::largest_count_where;
use crate::price;

/// The state of a rule.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub(crate) enum RuleState {
    Basic(Basic),
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

impl RuleState {
    /// Nothing spent. Where there is a stored state to compare with, its limit is kept if that is proven in fewer steps than finding
    /// the largest.
    pub(crate) fn new(
        budget: &Budget,
        parameters: FilterParameters,
        stored: Option<&RuleState>,
    ) -> Result<RuleState, Error> {
        let rule = parameters.rule();
        let (epsilon, delta) = (budget.epsilon(), budget.composition_delta());
        rule::require_delta(budget, rule)?;
        let levels = (epsilon.interval(), delta.interval());
        let additive = |limit: Option<FineAmount>| {
            let too_large = || Error::budget(rule.name(), format!("does not take an epsilon as large as {epsilon}"));
            limit.map(Additive::new).ok_or_else(too_large)
        };
        Ok(match parameters {
            FilterParameters::Basic => RuleState::Basic(Basic::new(epsilon)),
            FilterParameters::Residue => {
                let stored = match stored {
                    Some(RuleState::Residue(stored)) => Some(stored),
                    _ => None,
                };
                RuleState::Residue(Residue::new(epsilon, delta, stored)?)
            }
            FilterParameters::Advanced => RuleState::Advanced(Box::new(Advanced::new(budget)?)),
            FilterParameters::Whitehouse => RuleState::Whitehouse(additive(whitehouse::limit(levels.0, levels.1))?),
            FilterParameters::Zcdp => RuleState::Zcdp(additive(zcdp::limit(levels.0, levels.1))?),
            FilterParameters::Renyi { order } => {
                let none =
                    || Error::budget(rule.name(), "admits nothing from this budget at any order; use another rule");
                let order = order.ok_or_else(none)?;
                let sum = additive(renyi::limit(order, levels.0, levels.1)?)?;
                RuleState::Renyi { order: order.try_into()?, sum }
            }
        })
    }

    /// Counts `times` charges, if the rule admits them; nothing, and no change, if it halts.
    pub(crate) fn charge(&mut self, cost: &Cost, times: u64) -> Option<()> {
        let price = self.price(cost);
        match self {
            RuleState::Basic(basic) => basic.charge(cost, times),
            RuleState::Advanced(advanced) => advanced.charge(cost, times),
            RuleState::Residue(residue) => residue.charge(cost, times),
            RuleState::Whitehouse(sum) | RuleState::Zcdp(sum) | RuleState::Renyi { sum, .. } => {
                sum.charge(price, times)
            }
        }
    }

    /// What a cost adds to the sum of a rule that has one; nothing if it is too large to hold.
    fn price(&self, cost: &Cost) -> Option<FineAmount> {
        match self {
            RuleState::Whitehouse(_) => cost.epsilon().map(Amount::square),
            RuleState::Zcdp(_) => price::zcdp(cost),
            RuleState::Renyi { order, .. } => order.price(cost),
            RuleState::Basic(_) | RuleState::Advanced(_) | RuleState::Residue(_) => None,
        }
    }

    /// Whether `times` charges of a cost fit.
    pub(crate) fn admits(&self, cost: &Cost, times: u64) -> bool {
        match self {
            RuleState::Residue(residue) => residue.admits(cost, times),
            _ => self.clone().charge(cost, times).is_some(),
        }
    }

    /// How many charges of a cost fit.
    pub(crate) fn count(&self, cost: &Cost) -> Count {
        match self {
            RuleState::Basic(basic) => Count::exactly(basic.count(cost)),
            RuleState::Advanced(_) => Count::exactly(largest_count_where(u64::MAX, |times| self.admits(cost, times))),
            RuleState::Residue(residue) => residue.count(cost),
            RuleState::Whitehouse(sum) | RuleState::Zcdp(sum) | RuleState::Renyi { sum, .. } => {
                Count::exactly(sum.count(self.price(cost)))
            }
        }
    }

    /// The largest size of a cost that fits `times` times; zero if none does.
    pub(crate) fn largest(&self, cost: &Cost, times: u64) -> Amount {
        match self {
            RuleState::Residue(residue) => residue.largest(cost, times),
            RuleState::Advanced(advanced) => advanced.largest(cost, times),
            _ => largest_size(Amount::MAX, |size| size.is_zero() || self.admits(&cost.with_size(size), times)),
        }
    }

    /// The share that is spent, for showing.
    pub(crate) fn share_spent(&self) -> f64 {
        match self {
            RuleState::Basic(basic) => share(basic.spent.into(), basic.limit.into()),
            RuleState::Advanced(advanced) => advanced.share_spent(),
            RuleState::Whitehouse(sum) | RuleState::Zcdp(sum) | RuleState::Renyi { sum, .. } => {
                share(sum.spent, sum.limit)
            }
            RuleState::Residue(residue) => residue.share_spent(),
        }
    }

    /// The rule's own numbers, by name.
    pub(crate) fn shown(&self) -> Vec<(&'static str, f64)> {
        let sum = |names: [&'static str; 2], sum: &Additive| {
            vec![(names[0], sum.spent.approximate()), (names[1], sum.limit.approximate())]
        };
        match self {
            RuleState::Basic(basic) => vec![("epsilon", basic.spent.approximate())],
            RuleState::Advanced(advanced) => vec![("k", advanced.loss())],
            RuleState::Whitehouse(squares) => sum(["squares", "squares_limit"], squares),
            RuleState::Zcdp(rho) => sum(["rho", "rho_limit"], rho),
            RuleState::Renyi { order, sum: divergence } => {
                let order = ("order", order.amount.approximate());
                [vec![order], sum(["divergence", "divergence_limit"], divergence)].concat()
            }
            RuleState::Residue(residue) => residue.shown(),
        }
    }
}
