//! Filters: before a mechanism runs, continue or halt.
//!
//! One file for each rule. [`Filter`] adds what they share: the mechanisms' own δ_i, the bound on a single cost, and what happens
//! on a halt.

mod additive;
pub(crate) mod advanced;
mod basic;
pub(crate) mod renyi;
pub(crate) mod residue;
mod rule;
mod smallest;
mod state;
#[cfg(feature = "serde")]
mod stored;
mod verdict;
pub(crate) mod whitehouse;
pub(crate) mod zcdp;

use crate::amount::{Amount, FineAmount};
use crate::budget::Budget;
use crate::cost::Cost;
use crate::error::Error;
use crate::numeric::{Interval, largest_where, require_correct_rounding};
use crate::price::{self, Order};
use crate::version::StateVersion;

use residue::Residue;
pub use rule::{FilterParameters, FilterRule};
use state::RuleState;
pub use verdict::{Balance, Count, Refusal, Verdict};

/// How many charges are counted one by one; beyond that a count is a certified lower bound.
pub const EXACT_COUNTS: u64 = 100_000;

/// Everything about a filter that is fixed when it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct FilterSpec {
    /// What may be spent.
    pub budget: Budget,
    /// The theorem that decides, with the parameters of its own.
    pub parameters: FilterParameters,
    /// The largest single cost: an ε, or a μ = √(2ρ) for what has no ε.
    pub max_cost: Option<Amount>,
    /// What happens on a halt.
    pub on_halt: OnHalt,
}

impl FilterSpec {
    /// A rule with its default parameters.
    pub fn new(rule: FilterRule, budget: Budget) -> FilterSpec {
        FilterSpec { budget, parameters: rule.into(), max_cost: None, on_halt: OnHalt::Refuse }
    }

    /// The theorem that decides.
    pub fn rule(&self) -> FilterRule {
        self.parameters.rule()
    }

    /// The same filter, with the parameters that are left open chosen for costs like this one: the order of the renyi rule.
    pub fn expecting(mut self, cost: &Cost) -> Result<FilterSpec, Error> {
        self.rule().require_takes(cost)?;
        let divergence = |order: &Order| price::renyi(order, cost).map_or(f64::INFINITY, FineAmount::approximate);
        self.choose_order(|epsilon, delta| renyi::best_order_for(epsilon, delta, divergence))?;
        Ok(self)
    }

    /// Fills in the order of the renyi rule, if it is left open.
    fn choose_order(&mut self, best: impl FnOnce(Interval, Interval) -> Option<Amount>) -> Result<(), Error> {
        if let FilterParameters::Renyi { order: order @ None } = &mut self.parameters {
            rule::require_delta(&self.budget, FilterRule::Renyi)?;
            *order = best(self.budget.epsilon().interval(), self.budget.composition_delta().interval());
        }
        Ok(())
    }
}

/// What happens on a halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
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
/// use taximeter_accounting::{Budget, Cost, Filter, FilterRule, FilterSpec};
///
/// let mut filter = Filter::new(FilterSpec::new(FilterRule::default(), Budget::parse("1,1e-6")?))?;
/// let cost = Cost::parse_epsilon("0.01")?.cost;
/// let mut answered = 0;
/// while filter.charge(&cost)?.continues() {
///     answered += 1;
/// }
/// assert_eq!(answered, 558);
/// # Ok::<(), taximeter_accounting::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "stored::StoredFilter"))]
pub struct Filter {
    version: StateVersion,
    spec: FilterSpec,
    state: RuleState,
    /// Σε_i of what was admitted; nothing if it is infinite.
    epsilon_spent: Option<Amount>,
    /// Σδ_i of it.
    delta_spent: Amount,
    closed: bool,
}

impl Filter {
    /// A filter with nothing spent.
    pub fn new(spec: FilterSpec) -> Result<Filter, Error> {
        Filter::beside(spec, None)
    }

    /// A filter with nothing spent, to compare a stored state with or to begin with.
    fn beside(mut spec: FilterSpec, stored: Option<&RuleState>) -> Result<Filter, Error> {
        require_correct_rounding()?;
        spec.choose_order(renyi::best_order)?;
        let state = RuleState::new(&spec.budget, spec.parameters, stored)?;
        let (epsilon_spent, delta_spent) = (Some(Amount::ZERO), Amount::ZERO);
        Ok(Filter { version: StateVersion, spec, state, epsilon_spent, delta_spent, closed: false })
    }

    /// What was fixed when the filter was made, with every default filled in.
    pub fn spec(&self) -> &FilterSpec {
        &self.spec
    }

    /// What would be decided about a cost. Changes nothing; takes the same time however much was charged before.
    ///
    /// An error means that the rule has no theorem for such a cost.
    pub fn decide(&self, cost: &Cost) -> Result<Verdict, Error> {
        self.clone().charge(cost)
    }

    /// Decides about a cost and, if it is admitted, counts it. A refusal changes nothing, unless the filter is set to stop.
    pub fn charge(&mut self, cost: &Cost) -> Result<Verdict, Error> {
        self.spec.rule().require_takes(cost)?;
        Ok(match self.count_in(cost) {
            Ok(()) => Verdict::Continue,
            Err(refusal) => {
                self.closed |= self.spec.on_halt == OnHalt::Stop && refusal.is_by_the_rule();
                Verdict::Halt(refusal)
            }
        })
    }

    /// Counts a cost, or says why it is refused, and then nothing changes.
    fn count_in(&mut self, cost: &Cost) -> Result<(), Refusal> {
        self.check(cost)?;
        if cost.is_free() {
            return Ok(());
        }
        let set_aside = self.delta_limit();
        let delta_spent = self.delta_after(cost, 1).ok_or(Refusal::MechanismDelta { set_aside })?;
        self.state.charge(cost, 1).ok_or(Refusal::Budget)?;
        self.epsilon_spent = self.epsilon_spent.and_then(|sum| sum.checked_add(cost.epsilon()?));
        self.delta_spent = delta_spent;
        Ok(())
    }

    /// What is decided before the rule is asked.
    fn check(&self, cost: &Cost) -> Result<(), Refusal> {
        match self.spec.max_cost {
            _ if self.closed => Err(Refusal::Closed),
            Some(limit) if !cost.is_within(limit) => Err(Refusal::MaxCost { limit }),
            _ => Ok(()),
        }
    }

    /// How many more costs like this one fit.
    pub fn count(&self, cost: &Cost) -> Result<Count, Error> {
        self.spec.rule().require_takes(cost)?;
        if self.check(cost).is_err() {
            return Ok(Count::exactly(0));
        }
        if cost.is_free() {
            return Ok(Count::UNBOUNDED);
        }
        let by_delta = FineAmount::from(self.delta_left()).count_of(cost.delta().into());
        let by_rule = if by_delta > 0 { self.state.count(cost) } else { Count::exactly(0) };
        Ok(if by_rule.count <= by_delta { by_rule } else { Count::exactly(by_delta) })
    }

    /// The largest cost of the same kind, with the same δ, that fits `times` times; nothing if none does.
    ///
    /// Exact to the last place for the rules that add up, and for the residue rule up to 16 times. Up to 100,000 times it is within a
    /// millionth of the largest, beyond that within a ten-thousandth.
    pub fn largest(&self, cost: &Cost, times: u64) -> Result<Option<Cost>, Error> {
        self.spec.rule().require_takes(cost)?;
        let times = times.max(1);
        if self.closed || self.delta_after(cost, times).is_none() {
            return Ok(None);
        }
        let largest = cost.with_size(self.state.largest(cost, times));
        let cut = match self.spec.max_cost {
            Some(limit) if !largest.is_within(limit) => {
                cost.with_size(largest_size(largest.size(), |size| cost.with_size(size).is_within(limit)))
            }
            _ => largest,
        };
        // Cut to the bound on one cost, a cost of the advanced rule may be too small for its own δ.
        let fits = !cut.size().is_zero() && (cut == largest || self.state.admits(&cut, times));
        Ok(fits.then_some(cut))
    }

    /// Whether `times` charges of a cost fit, whatever the bound on a single cost.
    fn admits(&self, cost: &Cost, times: u64) -> bool {
        self.delta_after(cost, times).is_some() && (cost.is_free() || self.state.admits(cost, times))
    }

    /// What is spent.
    pub fn spent(&self) -> Balance {
        Balance { epsilon: self.epsilon_spent, delta: self.delta_spent, share: self.state.share_spent() }
    }

    /// What is left.
    pub fn left(&self) -> Balance {
        let adds_up = matches!(self.spec.rule(), FilterRule::Basic | FilterRule::Residue);
        let epsilon = self.epsilon_spent.filter(|_| adds_up);
        Balance {
            epsilon: epsilon.and_then(|spent| self.spec.budget.epsilon().checked_sub(spent)),
            delta: self.delta_left(),
            share: 1.0 - self.state.share_spent(),
        }
    }

    /// Whether the filter halted for good.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The rule's own numbers, by name, for showing.
    pub fn state(&self) -> Vec<(&'static str, f64)> {
        self.state.shown()
    }

    /// What the filter promises about everything that it admits.
    pub fn guarantee(&self) -> String {
        self.spec.rule().guarantee(&self.spec.budget)
    }

    /// What the mechanisms' own δ_i may come to: all of δ_g for basic composition, which needs none for itself.
    fn delta_limit(&self) -> Amount {
        match self.spec.rule() {
            FilterRule::Basic => self.spec.budget.delta(),
            _ => self.spec.budget.mechanism_delta(),
        }
    }

    fn delta_left(&self) -> Amount {
        self.delta_limit().checked_sub(self.delta_spent).unwrap_or(Amount::ZERO)
    }

    /// Σδ_i after `times` charges; nothing if it exceeds what is set aside.
    fn delta_after(&self, cost: &Cost, times: u64) -> Option<Amount> {
        let delta = self.delta_spent.checked_add(cost.delta().checked_times(times)?)?;
        (delta <= self.delta_limit()).then_some(delta)
    }
}

/// One step of the residue filter by itself: what is left of a residue after an ε-DP charge at level τ; nothing if the filter halts.
///
/// For those who study the rule; a [`Filter`] does this and everything around it.
pub fn residue_after(epsilon: Amount, tau: Amount, residue: FineAmount) -> Option<FineAmount> {
    residue::reach::rest(epsilon, tau, residue)
}

/// The residue with which a budget starts, or an error if the rule does not take it.
pub fn residue_of(budget: &Budget) -> Result<FineAmount, Error> {
    require_correct_rounding()?;
    Ok(Residue::new(budget.epsilon(), budget.composition_delta(), None)?.start())
}

/// The largest amount up to a limit for which a predicate holds that holds up to some point; zero if it holds nowhere.
pub(crate) fn largest_size(limit: Amount, holds: impl Fn(Amount) -> bool) -> Amount {
    Amount::from_units(largest_where(limit.units(), |units| holds(Amount::from_units(units))))
}

/// `part` of `whole`, for showing.
fn share(part: FineAmount, whole: FineAmount) -> f64 {
    if whole.is_zero() { 1.0 } else { (part.interval().middle() / whole.interval().middle()).clamp(0.0, 1.0) }
}
