//! What a filter answers: its verdict on a cost, how many more fit, and what is spent or left.

use crate::amount::Amount;

/// The decision on one cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The cost is admitted.
    Continue,
    /// The cost is refused.
    Halt(Refusal),
}

impl Verdict {
    /// Whether the cost is admitted.
    pub fn continues(self) -> bool {
        self == Verdict::Continue
    }
}

/// Why a cost was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The rule's theorem does not allow it.
    Budget,
    /// The mechanisms' own δ_i would exceed what is set aside for them.
    MechanismDelta {
        /// What is set aside.
        set_aside: Amount,
    },
    /// The single cost is over the bound on one cost.
    MaxCost {
        /// The bound.
        limit: Amount,
    },
    /// The filter halted before and was set to stop.
    Closed,
}

impl Refusal {
    /// Whether the rule itself halted. A cost over the bound on one cost, or one that needs a δ where none is set aside, is turned
    /// away before the rule is asked, and closes nothing.
    pub(super) fn is_by_the_rule(&self) -> bool {
        match self {
            Refusal::Budget => true,
            Refusal::MechanismDelta { set_aside } => !set_aside.is_zero(),
            Refusal::MaxCost { .. } | Refusal::Closed => false,
        }
    }

    /// The reason in words, with what to do.
    pub fn reason(&self) -> String {
        match self {
            Refusal::Budget => "the budget does not admit it".to_string(),
            Refusal::MechanismDelta { set_aside } if set_aside.is_zero() => {
                "no part of the budget's delta is set aside for the mechanisms' own delta; set a part aside when you create the budget"
                    .to_string()
            }
            Refusal::MechanismDelta { set_aside } => {
                format!("the mechanisms' own delta would exceed the {set_aside} set aside for them")
            }
            Refusal::MaxCost { limit } => format!("a single cost may be at most {limit}"),
            Refusal::Closed => "the filter halted before and is set to stop".to_string(),
        }
    }

    /// The parameter that sets the limit, if it is not the budget itself.
    pub fn parameter(&self) -> Option<&'static str> {
        match self {
            Refusal::MechanismDelta { .. } => Some("mechanism_delta"),
            Refusal::MaxCost { .. } => Some("max_cost"),
            Refusal::Budget | Refusal::Closed => None,
        }
    }
}

/// How many charges fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The number.
    pub count: u64,
    /// Whether it is only a lower bound.
    pub at_least: bool,
}

impl Count {
    /// What costs nothing fits without end.
    pub const UNBOUNDED: Count = Count { count: u64::MAX, at_least: true };

    pub(crate) fn exactly(count: u64) -> Count {
        Count { count, at_least: count == u64::MAX }
    }

    pub(crate) fn at_least(count: u64) -> Count {
        Count { count, at_least: true }
    }
}

/// What is spent, or left, in the units of the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// Σε_i, nothing if it is infinite; or ε_g − Σε_i, which adding up still admits, where it is part of the rule.
    pub epsilon: Option<Amount>,
    /// Σδ_i, or what is left of what is set aside for it.
    pub delta: Amount,
    /// The share of the rule's own budget, for showing.
    pub share: f64,
}
