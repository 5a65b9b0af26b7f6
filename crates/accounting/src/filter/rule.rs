//! The names of the filter rules, what each takes and what it promises.

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::cost::{Cost, CostKind};
use crate::error::Error;

/// The theorem that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// What is left, by the join theorem: the default.
    Residue,
}

impl FilterRule {
    /// Every rule, from the oldest to the default.
    pub const ALL: [FilterRule; 6] = [
        FilterRule::Basic,
        FilterRule::Advanced,
        FilterRule::Whitehouse,
        FilterRule::Zcdp,
        FilterRule::Renyi,
        FilterRule::Residue,
    ];

    /// The name in commands and documents.
    pub fn name(self) -> &'static str {
        match self {
            FilterRule::Basic => "basic",
            FilterRule::Advanced => "advanced",
            FilterRule::Whitehouse => "whitehouse",
            FilterRule::Zcdp => "zcdp",
            FilterRule::Renyi => "renyi",
            FilterRule::Residue => "residue",
        }
    }

    /// The rule of a name.
    pub fn from_name(name: &str) -> Result<FilterRule, Error> {
        FilterRule::ALL.into_iter().find(|rule| rule.name() == name).ok_or_else(|| {
            let names = FilterRule::ALL.map(FilterRule::name).join(", ");
            Error::input(format!("there is no filter rule {name:?}; the rules are {names}"))
        })
    }

    /// The paper, its version and the theorem.
    pub fn citation(self) -> &'static str {
        match self {
            FilterRule::Basic => "Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294 (revised), Theorem 3.4",
            FilterRule::Advanced => "Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294 (revised), Theorem 5.1",
            FilterRule::Whitehouse => "Whitehouse, Ramdas, Rogers, Wu, arXiv:2203.05481v3, Theorem 2",
            FilterRule::Zcdp => {
                "Feldman, Zrnic, arXiv:2008.11193v3; Canonne, Kamath, Steinke, arXiv:2004.00010v5, Prop. 7"
            }
            FilterRule::Renyi => {
                "Feldman, Zrnic, arXiv:2008.11193v3, Theorem 3.3; Canonne, Kamath, Steinke, arXiv:2004.00010v5"
            }
            FilterRule::Residue => "after Regehr et al., arXiv:2602.15815; join theorem in docs/theory.md",
        }
    }

    /// Whether the rule has a theorem for a kind of cost.
    pub fn takes(self, kind: CostKind) -> bool {
        match kind {
            CostKind::Epsilon | CostKind::Laplace | CostKind::RandomizedResponse | CostKind::Exponential => true,
            CostKind::Gaussian => matches!(self, FilterRule::Residue | FilterRule::Zcdp | FilterRule::Renyi),
            CostKind::DiscreteGaussian | CostKind::Zcdp => matches!(self, FilterRule::Zcdp | FilterRule::Renyi),
        }
    }

    /// An error that names a rule that takes the cost, if this one does not.
    pub fn require_takes(self, cost: &Cost) -> Result<(), Error> {
        let kind = cost.kind();
        if self.takes(kind) {
            return Ok(());
        }
        let others: Vec<_> =
            FilterRule::ALL.into_iter().filter(|rule| rule.takes(kind)).map(FilterRule::name).collect();
        Err(Error::unsupported_cost(format!(
            "the rule {} has no theorem for a cost known as {cost}; use one of: {}",
            self.name(),
            others.join(", ")
        )))
    }

    /// What the rule promises about everything that it admits from a budget.
    pub fn guarantee(self, budget: &Budget) -> String {
        match self {
            FilterRule::Basic if budget.delta().is_zero() => {
                format!("{}-DP, the loss never exceeds it", budget.epsilon())
            }
            FilterRule::Basic => format!("{budget}-DP, and {}-DP while every delta is 0", budget.epsilon()),
            FilterRule::Advanced => {
                format!("{budget}-pointwise: |loss| ≤ {} but for a probability of {}", budget.epsilon(), budget.delta())
            }
            _ => format!("{budget}-DP"),
        }
    }
}

/// All rules but basic need a part of δ_g for themselves.
pub(crate) fn require_delta(budget: &Budget, rule: FilterRule) -> Result<(), Error> {
    if !budget.composition_delta().is_zero() {
        return Ok(());
    }
    let what = if budget.delta().is_zero() {
        "a delta above 0"
    } else {
        "a part of delta that is not set aside for the mechanisms"
    };
    Err(Error::input(format!("the rule {} needs {what}; give one, or use --rule basic", rule.name())))
}
