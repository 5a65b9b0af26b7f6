//! Filters: before a mechanism runs, continue or halt.
//!
//! One file for each rule. [`Filter`] puts them together: the rule's own branch, the free branch of basic composition beside
//! it (in [`union`]), the mechanisms' own δ_i, the bound on a single cost, and what happens on a halt.

mod additive;
pub(crate) mod advanced;
mod basic;
mod branch;
pub(crate) mod renyi;
pub(crate) mod residue;
mod rule;
mod smallest;
mod union;
pub(crate) mod whitehouse;
pub(crate) mod zcdp;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};

use crate::amount::{Amount, FineAmount};
use crate::budget::Budget;
use crate::cost::Cost;
use crate::error::Error;

use branch::Branch;
use residue::Residue;
pub use rule::FilterRule;
use union::Union;

/// How many charges are counted one by one; beyond that a count is a certified lower bound.
pub const EXACT_COUNTS: u64 = 100_000;

/// Everything about a filter that is fixed when it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilterSpec {
    /// What may be spent.
    pub budget: Budget,
    /// The theorem that decides.
    pub rule: FilterRule,
    /// The order of the Rényi filter; the best one for the budget if nothing is given.
    pub order: Option<Amount>,
    /// The largest single cost: an ε, or a μ = √(2ρ) for what has no ε.
    pub max_cost: Option<Amount>,
    /// What happens on a halt.
    pub on_halt: OnHalt,
}

impl FilterSpec {
    /// A rule with its default parameters.
    pub fn new(rule: FilterRule, budget: Budget) -> FilterSpec {
        FilterSpec { budget, rule, order: None, max_cost: None, on_halt: OnHalt::Refuse }
    }
}

/// What happens on a halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnHalt {
    /// Nothing changes, and a smaller cost may still pass. As valid as stopping, since the decision follows from declared costs
    /// that the analyst already knows.
    Refuse,
    /// The filter is closed for good, as in the paper.
    Stop,
}

/// A privacy filter: a budget, a rule and what was spent.
///
/// ```
/// use taximeter_accounting::{Budget, Cost, Filter, FilterRule, FilterSpec, Verdict};
///
/// let mut filter = Filter::new(FilterSpec::new(FilterRule::Residue, Budget::parse("1,1e-6")?))?;
/// let cost = Cost::parse_epsilon("0.01")?.cost;
/// let mut answered = 0;
/// while let Verdict::Continue(_) = filter.charge(&cost)? {
///     answered += 1;
/// }
/// assert_eq!(answered, 558);
/// # Ok::<(), taximeter_accounting::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    spec: FilterSpec,
    union: Union,
    closed: bool,
}

/// The decision on one cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The cost is admitted.
    Continue(Admission),
    /// The cost is refused.
    Halt(Refusal),
}

/// How a cost was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Whether this charge closes the rule's own branch for good, because basic composition alone admits it.
    pub closes_branch: bool,
    /// Whether this charge closes the branch of basic composition for good, because the cost has no finite ε.
    pub closes_basic: bool,
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
    fn is_by_the_rule(&self) -> bool {
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
                "nothing of the budget's delta is set aside for the mechanisms' own delta; \
                 set a part aside when the budget is made (--mechanism-delta)"
                    .to_string()
            }
            Refusal::MechanismDelta { set_aside } => {
                format!("the mechanisms' own delta would exceed the {set_aside} set aside for them (--mechanism-delta)")
            }
            Refusal::MaxCost { limit } => format!("a single cost may be at most {limit} (--max-cost)"),
            Refusal::Closed => "the filter halted before and is set to stop".to_string(),
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

    /// Of two ways to go on, the one that leads further.
    fn larger(self, other: Count) -> Count {
        let larger = if other.count > self.count { other } else { self };
        Count { at_least: self.at_least || other.at_least, ..larger }
    }
}

/// What is spent, or left, in the units of the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// Σε_i, or what is left of ε_g for basic composition; nothing if Σε_i is infinite, past ε_g, or not what decides.
    pub epsilon: Option<Amount>,
    /// Σδ_i, or what is left of what is set aside for it.
    pub delta: Amount,
    /// The share of the rule's own budget, for showing.
    pub share: f64,
}

/// What a charge would cost beyond itself: the branch that it closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forfeit {
    /// How many of the usual costs would fit without this charge.
    pub without: Count,
    /// How many of them the rule's own branch still admits after this charge.
    pub branch: Count,
    /// How many of them basic composition still admits after this charge.
    pub basic: Count,
}

impl Filter {
    /// A filter with nothing spent.
    pub fn new(spec: FilterSpec) -> Result<Filter, Error> {
        Filter::beside(spec, None)
    }

    /// A filter with nothing spent, to compare a stored state with or to begin with.
    fn beside(mut spec: FilterSpec, stored: Option<&Union>) -> Result<Filter, Error> {
        let (budget, rule) = (&spec.budget, spec.rule);
        if spec.order.is_some() && rule != FilterRule::Renyi {
            return Err(Error::input(format!("the order is a parameter of the renyi rule, not of {}", rule.name())));
        }
        if rule == FilterRule::Renyi && spec.order.is_none() {
            rule::require_delta(budget, rule)?;
            spec.order = renyi::best_order(budget.epsilon().interval(), budget.composition_delta().interval());
        }
        let union = Union::new(budget, Branch::new(budget, rule, spec.order, stored.and_then(Union::branch))?);
        Ok(Filter { spec, union, closed: false })
    }

    /// What was fixed when the filter was made, with every default filled in.
    pub fn spec(&self) -> &FilterSpec {
        &self.spec
    }

    /// What would be decided about a cost. Changes nothing; takes the same time however much was charged before.
    ///
    /// An error means that the rule has no theorem for such a cost.
    pub fn decide(&self, cost: &Cost) -> Result<Verdict, Error> {
        let mut union = self.union.clone();
        Ok(match self.check(cost)?.and_then(|()| union.charge(cost)) {
            Ok(admission) => Verdict::Continue(admission),
            Err(refusal) => Verdict::Halt(refusal),
        })
    }

    /// Decides about a cost and, if it is admitted, counts it. A refusal changes nothing, unless the filter is set to stop.
    pub fn charge(&mut self, cost: &Cost) -> Result<Verdict, Error> {
        Ok(match self.check(cost)?.and_then(|()| self.union.charge(cost)) {
            Ok(admission) => Verdict::Continue(admission),
            Err(refusal) => {
                self.closed |= self.spec.on_halt == OnHalt::Stop && refusal.is_by_the_rule();
                Verdict::Halt(refusal)
            }
        })
    }

    /// What is decided before the rule is asked.
    fn check(&self, cost: &Cost) -> Result<Result<(), Refusal>, Error> {
        self.spec.rule.require_takes(cost)?;
        Ok(match self.spec.max_cost {
            _ if self.closed => Err(Refusal::Closed),
            Some(limit) if !cost.is_within(limit) => Err(Refusal::MaxCost { limit }),
            _ => Ok(()),
        })
    }

    /// How many more costs like this one fit.
    pub fn count(&self, cost: &Cost) -> Result<Count, Error> {
        Ok(match self.check(cost)? {
            Ok(()) => self.union.count(cost),
            Err(_) => Count::exactly(0),
        })
    }

    /// How many more costs like this one each branch admits by itself: the rule's own, then basic composition beside it.
    pub fn counts(&self, cost: &Cost) -> Result<(Count, Count), Error> {
        Ok(match self.check(cost)? {
            Ok(()) => self.union.counts(cost),
            Err(_) => (Count::exactly(0), Count::exactly(0)),
        })
    }

    /// The largest cost of the same kind, with the same δ, that fits so many times; nothing if none does.
    ///
    /// Exact to the last place for the rules that add up. For the residue rule and more than a few charges it is within a
    /// millionth of the largest.
    pub fn largest(&self, cost: &Cost, times: u64) -> Result<Option<Cost>, Error> {
        self.spec.rule.require_takes(cost)?;
        if self.closed {
            return Ok(None);
        }
        let size = self.union.largest(cost, times.max(1));
        let size = match self.spec.max_cost {
            Some(limit) if !cost.with_size(size).is_within(limit) => {
                largest_size(size, |size| cost.with_size(size).is_within(limit))
            }
            _ => size,
        };
        Ok(Some(cost.with_size(size)).filter(|cost| !cost.size().is_zero()))
    }

    /// What a charge would close, in numbers of the usual cost; nothing if it closes nothing or is refused.
    pub fn forfeit(&self, cost: &Cost, usual: &Cost) -> Result<Option<Forfeit>, Error> {
        let mut union = self.union.clone();
        match self.check(cost)?.and_then(|()| union.charge(cost)) {
            Ok(admission) if admission.closes_branch || admission.closes_basic => {
                let (branch, basic) = union.counts(usual);
                Ok(Some(Forfeit { without: self.count(usual)?, branch, basic }))
            }
            _ => Ok(None),
        }
    }

    /// What is spent.
    pub fn spent(&self) -> Balance {
        self.union.spent()
    }

    /// What is left.
    pub fn left(&self) -> Balance {
        self.union.left()
    }

    /// Whether the filter halted for good.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The rule's own numbers, by name, for showing.
    pub fn state(&self) -> Vec<(&'static str, f64)> {
        self.union.state()
    }

    /// Whether the rule's own branch is still open; a charge that only basic composition admits closes it.
    pub fn is_branch_open(&self) -> bool {
        self.union.is_branch_open()
    }

    /// Whether the branch of basic composition is still open; a charge without a finite ε closes it.
    pub fn is_basic_open(&self) -> bool {
        self.union.is_basic_open()
    }

    /// What the filter promises about everything that it admits.
    pub fn guarantee(&self) -> String {
        self.spec.rule.guarantee(&self.spec.budget)
    }
}

/// One step of the residue filter by itself: what is left of a residue after an ε-DP charge; nothing if the filter halts.
///
/// For those who study the rule; a [`Filter`] does this and everything around it.
pub fn residue_after(epsilon: Amount, residue: FineAmount) -> Option<FineAmount> {
    if epsilon.is_zero() { Some(residue) } else { residue::join::rest(epsilon, residue) }
}

/// The residue with which a budget starts, or an error if the rule does not take it.
pub fn residue_of(budget: &Budget) -> Result<FineAmount, Error> {
    rule::require_delta(budget, FilterRule::Residue)?;
    Ok(Residue::new(budget.epsilon(), budget.composition_delta(), None)?.start())
}

/// The version of the stored form of filters and odometers.
pub(crate) const STATE_VERSION: u32 = 1;

/// A filter as it is stored: its sums and limits are integers, equal on every machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    spec: FilterSpec,
    union: Union,
    closed: bool,
}

impl Serialize for Filter {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut stored = serializer.serialize_struct("Filter", 4)?;
        stored.serialize_field("version", &STATE_VERSION)?;
        stored.serialize_field("spec", &self.spec)?;
        stored.serialize_field("union", &self.union)?;
        stored.serialize_field("closed", &self.closed)?;
        stored.end()
    }
}

impl<'de> Deserialize<'de> for Filter {
    /// Reads a stored filter. Limits that were computed when it was made are kept as they were.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { version, spec, union, closed } = Stored::deserialize(deserializer)?;
        let read = || {
            check_version(version)?;
            let fresh = Filter::beside(spec, Some(&union))?;
            union.check(&fresh.union)?;
            Ok::<_, Error>(Filter { union, closed, ..fresh })
        };
        read().map_err(serde::de::Error::custom)
    }
}

/// A state of another version is not read.
pub(crate) fn check_version(version: u32) -> Result<(), Error> {
    if version != STATE_VERSION {
        return Err(Error::input(format!(
            "the state has version {version}; this program reads version {STATE_VERSION}"
        )));
    }
    Ok(())
}

/// The largest amount up to a limit for which a predicate holds that holds up to some point; zero if it holds nowhere.
pub(crate) fn largest_size(limit: Amount, holds: impl Fn(Amount) -> bool) -> Amount {
    if holds(limit) {
        return limit;
    }
    let (mut good, mut bad) = (0u128, limit.units());
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(Amount::from_units(middle)) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Amount::from_units(good)
}

/// `part` of `whole`, for showing.
fn share(part: FineAmount, whole: FineAmount) -> f64 {
    if whole.is_zero() { 1.0 } else { (part.interval().middle() / whole.interval().middle()).clamp(0.0, 1.0) }
}
