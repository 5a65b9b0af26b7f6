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
        rule::require_delta(budget, rule)?;
        let levels = (epsilon.interval(), delta.interval());
        let additive = |limit: Option<FineAmount>| {
            let too_large = || Error::budget(rule.name(), format!("does not take an epsilon as large as {epsilon}"));
            limit.map(Additive::new).ok_or_else(too_large)
        };
        Ok(match parameters {
            FilterParameters::Basic => State::Basic(Basic::new(epsilon)),
            FilterParameters::Residue => {
                let stored = match stored {
                    Some(State::Residue(stored)) => Some(stored),
                    _ => None,
                };
                State::Residue(Residue::new(epsilon, delta, stored)?)
            }
            FilterParameters::Advanced => State::Advanced(Box::new(Advanced::new(budget)?)),
            FilterParameters::Whitehouse => State::Whitehouse(additive(whitehouse::limit(levels.0, levels.1))?),
            FilterParameters::Zcdp => State::Zcdp(additive(zcdp::limit(levels.0, levels.1))?),
            FilterParameters::Renyi { order } => {
                let none =
                    || Error::budget(rule.name(), "admits nothing from this budget at any order; use another rule");
                let order = order.ok_or_else(none)?;
                let sum = additive(renyi::limit(order, levels.0, levels.1)?)?;
                State::Renyi { order: order.try_into()?, sum }
            }
        })
    }

    /// Counts `times` charges, if the rule admits them; nothing, and no change, if it halts.
    pub(crate) fn charge(&mut self, cost: &Cost, times: u64) -> Option<()> {
        let price = self.price(cost);
        match self {
            State::Basic(basic) => basic.charge(cost, times),
            State::Advanced(advanced) => advanced.charge(cost, times),
            State::Residue(residue) => residue.charge(cost, times),
            State::Whitehouse(sum) | State::Zcdp(sum) | State::Renyi { sum, .. } => sum.charge(price, times),
        }
    }

    /// What a cost adds to the sum of a rule that has one; nothing if it is too large to hold.
    fn price(&self, cost: &Cost) -> Option<FineAmount> {
        match self {
            State::Whitehouse(_) => cost.epsilon().map(Amount::square),
            State::Zcdp(_) => price::zcdp(cost),
            State::Renyi { order, .. } => order.price(cost),
            State::Basic(_) | State::Advanced(_) | State::Residue(_) => None,
        }
    }

    /// Whether `times` charges of a cost fit.
    pub(crate) fn admits(&self, cost: &Cost, times: u64) -> bool {
        match self {
            State::Residue(residue) => residue.admits(cost, times),
            _ => self.clone().charge(cost, times).is_some(),
        }
    }

    /// How many charges of a cost fit.
    pub(crate) fn count(&self, cost: &Cost) -> Count {
        match self {
            State::Basic(basic) => Count::exactly(basic.count(cost)),
            State::Advanced(_) => Count::exactly(largest_count_where(u64::MAX, |times| self.admits(cost, times))),
            State::Residue(residue) => residue.count(cost),
            State::Whitehouse(sum) | State::Zcdp(sum) | State::Renyi { sum, .. } => {
                Count::exactly(sum.count(self.price(cost)))
            }
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
            State::Basic(basic) => share(basic.spent.into(), basic.limit.into()),
            State::Advanced(advanced) => advanced.share_spent(),
            State::Whitehouse(sum) | State::Zcdp(sum) | State::Renyi { sum, .. } => share(sum.spent, sum.limit),
            State::Residue(residue) => residue.share_spent(),
        }
    }

    /// The rule's own numbers, by name.
    pub(crate) fn shown(&self) -> Vec<(&'static str, f64)> {
        let sum = |names: [&'static str; 2], sum: &Additive| {
            vec![(names[0], sum.spent.approximate()), (names[1], sum.limit.approximate())]
        };
        match self {
            State::Basic(basic) => vec![("epsilon", basic.spent.approximate())],
            State::Advanced(advanced) => vec![("k", advanced.loss())],
            State::Whitehouse(squares) => sum(["squares", "squares_limit"], squares),
            State::Zcdp(rho) => sum(["rho", "rho_limit"], rho),
            State::Renyi { order, sum: divergence } => {
                let order = ("order", order.amount.approximate());
                [vec![order], sum(["divergence", "divergence_limit"], divergence)].concat()
            }
            State::Residue(residue) => residue.shown(),
        }
    }
}
