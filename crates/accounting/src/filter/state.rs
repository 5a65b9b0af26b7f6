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
pub(crate) enum State {
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

impl State {
    /// Nothing spent. Where there is a stored state to compare with, its limit is kept if that is proven in fewer steps than finding
    /// the largest.
    pub(crate) fn new(budget: &Budget, parameters: FilterParameters, stored: Option<&State>) -> Result<State, Error> {
        let rule = parameters.rule();
        let (epsilon, delta) = (budget.epsilon(), budget.composition_delta());
        let additive = |limit: Option<FineAmount>| {
            let too_large = || Error::budget(rule.name(), format!("does not take an epsilon as large as {epsilon}"));
            limit.map(Additive::new).ok_or_else(too_large)
        };
        let levels = || rule::require_delta(budget, rule).map(|()| (epsilon.interval(), delta.interval()));
        Ok(match parameters {
            FilterParameters::Basic => State::Basic(Basic::new(epsilon)),
            FilterParameters::Residue => {
                let stored = match stored {
                    Some(State::Residue(stored)) => Some(stored),
                    _ => None,
                };
                State::Residue(Residue::new(epsilon, delta, stored)?)
            }
            FilterParameters::Advanced => {
                levels()?;
                State::Advanced(Box::new(Advanced::new(budget)?))
            }
            FilterParameters::Whitehouse => {
                let (epsilon, delta) = levels()?;
                State::Whitehouse(additive(whitehouse::limit(epsilon, delta))?)
            }
            FilterParameters::Zcdp => {
                let (epsilon, delta) = levels()?;
                State::Zcdp(additive(zcdp::limit(epsilon, delta))?)
            }
            FilterParameters::Renyi { order } => {
                let (epsilon, delta) = levels()?;
                let none =
                    || Error::budget(rule.name(), "admits nothing from this budget at any order; use another rule");
                let order = order.ok_or_else(none)?;
                let sum = additive(renyi::limit(order, epsilon, delta)?)?;
                State::Renyi { order: order.try_into()?, sum }
            }
        })
    }

    /// Counts a charge, if the rule admits it; nothing, and no change, if it halts.
    pub(crate) fn charge(&mut self, cost: &Cost) -> Option<()> {
        match self {
            State::Basic(basic) => basic.charge(cost, 1),
            State::Advanced(advanced) => advanced.charge(cost, 1),
            State::Whitehouse(sum) => sum.charge(whitehouse::price(cost), 1),
            State::Zcdp(sum) => sum.charge(price::zcdp(cost), 1),
            State::Renyi { order, sum } => sum.charge(order.price(cost), 1),
            State::Residue(residue) => {
                *residue = residue.after(cost)?;
                Some(())
            }
        }
    }

    /// Whether `times` charges of a cost fit.
    pub(crate) fn admits(&self, cost: &Cost, times: u64) -> bool {
        match self {
            State::Basic(basic) => { *basic }.charge(cost, times).is_some(),
            State::Advanced(advanced) => { **advanced }.charge(cost, times).is_some(),
            State::Whitehouse(sum) => { *sum }.charge(whitehouse::price(cost), times).is_some(),
            State::Zcdp(sum) => { *sum }.charge(price::zcdp(cost), times).is_some(),
            State::Renyi { order, sum } => { *sum }.charge(order.price(cost), times).is_some(),
            State::Residue(residue) => residue.admits(cost, times),
        }
    }

    /// How many charges of a cost fit.
    pub(crate) fn count(&self, cost: &Cost) -> Count {
        match self {
            State::Basic(basic) => Count::exactly(basic.count(cost)),
            State::Advanced(_) => Count::exactly(largest_count_where(u64::MAX, |times| self.admits(cost, times))),
            State::Whitehouse(sum) => Count::exactly(sum.count(whitehouse::price(cost))),
            State::Zcdp(sum) => Count::exactly(sum.count(price::zcdp(cost))),
            State::Renyi { order, sum } => Count::exactly(sum.count(order.price(cost))),
            State::Residue(residue) => residue.count(cost),
        }
    }

    /// The largest size of a cost that fits `times` times; zero if none does.
    pub(crate) fn largest(&self, cost: &Cost, times: u64) -> Amount {
        match self {
            State::Residue(residue) => residue.largest(cost, times),
            State::Advanced(advanced) => advanced.largest(cost, times),
            _ => largest_size(Amount::MAX, |size| size.is_zero() || self.admits(&cost.with_size(size), times)),
        }
    }

    /// The share that is spent, for showing.
    pub(crate) fn share_spent(&self) -> f64 {
        match self {
            State::Basic(basic) => share(basic.spent().into(), basic.limit().into()),
            State::Advanced(advanced) => advanced.share_spent(),
            State::Whitehouse(sum) | State::Zcdp(sum) | State::Renyi { sum, .. } => share(sum.spent(), sum.limit()),
            State::Residue(residue) => residue.share_spent(),
        }
    }

    /// The rule's own numbers, by name.
    pub(crate) fn shown(&self) -> Vec<(&'static str, f64)> {
        match self {
            State::Basic(basic) => vec![("epsilon", basic.spent().approximate())],
            State::Advanced(advanced) => vec![("k", advanced.loss())],
            State::Whitehouse(sum) => {
                vec![("squares", sum.spent().approximate()), ("squares_limit", sum.limit().approximate())]
            }
            State::Zcdp(sum) => vec![("rho", sum.spent().approximate()), ("rho_limit", sum.limit().approximate())],
            State::Renyi { order, sum } => vec![
                ("order", order.amount().approximate()),
                ("divergence", sum.spent().approximate()),
                ("divergence_limit", sum.limit().approximate()),
            ],
            State::Residue(residue) => residue.shown(),
        }
    }
}
