//! The filter rules, each defined once: its name, its theorem, what it takes, its parameters, a sentence for people.
//!
//! Flags, forms, schemas and help are made from this. A new rule is an entry here, a file of its own and a variant of
//! [`RuleState`](super::state::RuleState).

use crate::amount::Amount;
use crate::budget::Budget;
use crate::cost::{Cost, CostKind, Number, PrivacyMeasure, above, parameter};
use crate::error::{Error, ErrorKind};
use crate::parameter::{self, Given};
use crate::theorem::{Theorem, answer_from_theorem};

/// The theorem that decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum FilterRule {
    /// Basic composition: Theorem 3.4 of the paper.
    Basic,
    /// The paper's advanced filter: Theorem 5.1.
    Advanced,
    /// Whitehouse, Ramdas, Rogers, Wu.
    Whitehouse,
    /// The sum of ρ with the conversion of Canonne, Kamath, Steinke.
    Zcdp,
    /// The sum of Rényi divergences at one order fixed in advance.
    Renyi,
    /// What is left, by the reach theorem: the default.
    #[default]
    Residue,
}

answer_from_theorem!(FilterRule, "the filter rule");

impl FilterRule {
    /// Every rule, from the oldest to the default.
    pub const ALL: [Self; 6] = [Self::Basic, Self::Advanced, Self::Whitehouse, Self::Zcdp, Self::Renyi, Self::Residue];

    fn theorem(self) -> Theorem {
        match self {
            FilterRule::Basic => Theorem {
                name: "basic",
                citation: "Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294 (revised), Theorem 3.4",
                short: "adds up every ε and every δ",
                long: "It adds up the ε and the δ of all charges, and continues while both sums are within the budget. It is the easiest \
                       to explain, and the first to stop if there are many small charges: a budget of (1, 10⁻⁶) admits 100 of \
                       ε = 0.01.",
                needs: &[PrivacyMeasure::Epsilon],
                needs_delta: false,
                parameters: &[],
            },
            FilterRule::Advanced => Theorem {
                name: "advanced",
                citation: "Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294 (revised), Theorem 5.1",
                short: "the first paper's filter, as printed",
                long: "Losses of many small charges partly cancel, so they cost less than their sum. This was the first rule proven for \
                       charges that are chosen after seeing earlier answers: a budget of (1, 10⁻⁶) admits 154 of \
                       ε = 0.01.",
                needs: &[PrivacyMeasure::Epsilon],
                needs_delta: true,
                parameters: &[],
            },
            FilterRule::Whitehouse => Theorem {
                name: "whitehouse",
                citation: "Whitehouse, Ramdas, Rogers, Wu, arXiv:2203.05481v3, Theorem 2",
                short: "counts the squares of ε; as published, without basic composition",
                long: "It adds up the squares of every ε, so a charge half as large counts a quarter as much: a budget of (1, 10⁻⁶) admits \
                       349 of ε = 0.01. It is as published: it may refuse a large charge that adding up would admit.",
                needs: &[PrivacyMeasure::Epsilon],
                needs_delta: true,
                parameters: &[],
            },
            FilterRule::Zcdp => Theorem {
                name: "zcdp",
                citation: "Feldman, Zrnic, arXiv:2008.11193v3; Canonne, Kamath, Steinke, arXiv:2004.00010v5, Prop. 7",
                short: "counts every cost as zCDP; as published, without basic composition",
                long: "It counts every charge by its ρ, the measure that suits Gaussian noise, and converts the sum to ε and δ. It \
                       takes discrete Gaussian noise too: a budget of (1, 10⁻⁶) admits 487 of ε = 0.01. It is as published: it may \
                       refuse a large charge that adding up would admit.",
                needs: &[PrivacyMeasure::Zcdp],
                needs_delta: true,
                parameters: &[],
            },
            FilterRule::Renyi => Theorem {
                name: "renyi",
                citation: "Feldman, Zrnic, arXiv:2008.11193v3, Theorem 3.3; Canonne, Kamath, Steinke, arXiv:2004.00010v5",
                short: "counts Rényi divergence at one order; takes every kind of cost; as published, without basic composition",
                long: "It counts every charge by its Rényi divergence at one order that is fixed when the account is opened, and \
                       converts the sum to ε and δ. It takes every kind of cost, subsampled Gaussian noise (DP-SGD) among them: a \
                       budget of (1, 10⁻⁶) admits 490 of ε = 0.01. It is as published: it may refuse a large charge that adding up \
                       would admit.",
                needs: &[PrivacyMeasure::Renyi],
                needs_delta: true,
                parameters: &[ORDER],
            },
            FilterRule::Residue => Theorem {
                name: "residue",
                citation: "reach theorem, docs/theory.md, section 4; after Regehr et al., arXiv:2602.15815",
                short: "tracks what is left; admits the most, and everything that adding up admits",
                long: "It tracks what is left instead of what is spent, and how large the loss can be by now. It admits everything that \
                       adding up admits, and nearly as much as would be possible if all charges were known in advance: a budget of (1, \
                       10⁻⁶) admits 558 of ε = 0.01, and the optimum is 562.",
                needs: &[PrivacyMeasure::Epsilon, PrivacyMeasure::Gdp],
                needs_delta: false,
                parameters: &[],
            },
        }
    }

    /// Whether it bounds |loss| itself, but for a probability of δ: that is more than DP.
    pub fn is_pointwise(self) -> bool {
        matches!(self, FilterRule::Basic | FilterRule::Advanced)
    }

    /// What the rule promises about everything that it admits from a budget.
    pub fn guarantee(self, budget: &Budget) -> String {
        match self {
            FilterRule::Basic | FilterRule::Residue if budget.delta().is_zero() => {
                format!("{}-DP, the loss never exceeds it", budget.epsilon())
            }
            FilterRule::Basic => format!("{budget}-DP, and {}-DP while every delta is 0", budget.epsilon()),
            FilterRule::Advanced => {
                format!("{budget}-pointwise: |loss| ≤ {}, except with probability {}", budget.epsilon(), budget.delta())
            }
            _ => format!("{budget}-DP"),
        }
    }
}

pub(super) const ORDER: Number = Number {
    range: above(Amount::ONE),
    ..parameter("order", "Order α", "The order of the renyi filter", "10", BEST_ORDER)
};
const BEST_ORDER: &str = "the best one for the budget and the expected cost";

/// A rule with the parameters that it has, and no others. Where nothing is given, the default is filled in when a filter is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum FilterParameters {
    /// Basic composition.
    Basic,
    /// Theorem 5.1 of the paper.
    Advanced,
    /// Whitehouse, Ramdas, Rogers, Wu.
    Whitehouse,
    /// The sum of ρ.
    Zcdp,
    /// The sum of Rényi divergences at one order.
    Renyi {
        /// α; the best one for the budget and small costs if nothing is given.
        order: Option<Amount>,
    },
    /// The reach theorem.
    Residue,
}

impl FilterParameters {
    /// The default parameters of every rule, in the order of the rules.
    const DEFAULTS: [Self; 6] =
        [Self::Basic, Self::Advanced, Self::Whitehouse, Self::Zcdp, Self::Renyi { order: None }, Self::Residue];

    /// A rule with parameters that were given by name; those that it does not have are an error.
    pub fn read(rule: FilterRule, given: Given) -> Result<FilterParameters, Error> {
        parameter::require_known(rule.name(), rule.parameters(), &given)?;
        let mut parameters = rule.into();
        if let FilterParameters::Renyi { order } = &mut parameters {
            *order = given.amount(ORDER.name)?;
        }
        Ok(parameters)
    }

    /// The parameters that are fixed, by name.
    pub fn named(&self) -> Vec<(&'static str, String)> {
        match self {
            FilterParameters::Renyi { order: Some(order) } => vec![(ORDER.name, order.to_string())],
            _ => Vec::new(),
        }
    }

    /// The rule whose parameters these are.
    pub fn rule(&self) -> FilterRule {
        match self {
            FilterParameters::Basic => FilterRule::Basic,
            FilterParameters::Advanced => FilterRule::Advanced,
            FilterParameters::Whitehouse => FilterRule::Whitehouse,
            FilterParameters::Zcdp => FilterRule::Zcdp,
            FilterParameters::Renyi { .. } => FilterRule::Renyi,
            FilterParameters::Residue => FilterRule::Residue,
        }
    }
}

impl From<FilterRule> for FilterParameters {
    /// The rule with its default parameters.
    fn from(rule: FilterRule) -> FilterParameters {
        FilterParameters::DEFAULTS[rule as usize]
    }
}

/// The rules that need a part of δ_g for themselves.
pub(crate) fn require_delta(budget: &Budget, rule: FilterRule) -> Result<(), Error> {
    if !rule.needs_delta() || !budget.composition_delta().is_zero() {
        return Ok(());
    }
    let what = match budget.delta().is_zero() {
        true => "a delta above 0",
        false => "a part of delta that is not set aside for the mechanisms",
    };
    let others = FilterRule::ALL.into_iter().rev().filter(|rule| !rule.needs_delta()).map(FilterRule::name);
    let others = others.collect::<Vec<_>>().join(" or ");
    Err(Error::budget(rule.name(), format!("needs {what}; give one, or use {others}, which need none")))
}
