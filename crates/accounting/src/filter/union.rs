//! The rule's own branch *or* basic composition, whichever admits.
//!
//! Where Σε_i ≤ ε_g the loss cannot exceed ε_g, so basic composition may stand beside any rule at no cost in δ (the paper's
//! Theorem 3.4 with any of its others). Four things make it valid, and each has a test that fails without it:
//!
//! * the basic sum counts **every** admitted charge, whichever branch admitted it;
//! * a charge with no finite ε counts there as +∞: it needs the rule's own branch, and closes basic for good;
//! * a charge that basic alone admits closes the rule's own branch for good;
//! * with δ_i > 0 both branches use the same check, Σδ_i ≤ δ″.
//!
//! What is left is the (ε_g, δ_g) promise alone: a zCDP, Rényi or GDP claim of the rule's own branch does not survive the union.
//!
//! The paper's own rules stand as printed: basic is one branch alone, and so is advanced, with a δ check of its own.

use serde::{Deserialize, Serialize};

use super::basic::Basic;
use super::branch::Branch;
use super::{Admission, Balance, Count, Refusal, share};
use crate::amount::{Amount, FineAmount};
use crate::budget::Budget;
use crate::cost::Cost;
use crate::error::Error;

/// The state of both branches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Union {
    basic: Basic,
    /// The rule's own branch; nothing for the basic rule.
    branch: Option<Branch>,
    branch_open: bool,
    delta_limit: Amount,
    delta_spent: Amount,
}

impl Union {
    pub(crate) fn new(budget: &Budget, branch: Option<Branch>) -> Union {
        let delta_limit = if branch.is_some() { budget.mechanism_delta() } else { budget.delta() };
        Union {
            basic: Basic::new(budget.epsilon()),
            branch_open: branch.is_some(),
            branch,
            delta_limit,
            delta_spent: Amount::ZERO,
        }
    }

    /// Counts a charge, or says why it is refused, and then nothing changes.
    pub(crate) fn charge(&mut self, cost: &Cost) -> Result<Admission, Refusal> {
        let mut admission = Admission { closes_branch: false, closes_basic: false };
        if cost.is_free() {
            return Ok(admission);
        }
        let set_aside = self.delta_limit;
        let delta_spent = self.delta_after(cost, 1).ok_or(Refusal::MechanismDelta { set_aside })?;
        let basic_was_open = self.is_basic_open();
        if self.open_branch().and_then(|branch| branch.charge(cost, 1)).is_some() {
            admission.closes_basic = basic_was_open && cost.epsilon().is_none();
        } else if basic_was_open && self.basic.admits(cost, 1) {
            admission.closes_branch = self.branch_open;
            self.branch_open = false;
        } else {
            return Err(Refusal::Budget);
        }
        self.basic.count_admitted(cost);
        self.delta_spent = delta_spent;
        Ok(admission)
    }

    /// Whether so many charges of a cost fit.
    pub(crate) fn admits(&self, cost: &Cost, times: u64) -> bool {
        let by_basic = || self.is_basic_open() && self.basic.admits(cost, times);
        let by_branch = || self.branch_if_open().is_some_and(|branch| branch.admits(cost, times));
        self.delta_after(cost, times).is_some() && (cost.is_free() || by_basic() || by_branch())
    }

    /// How many charges of a cost fit.
    pub(crate) fn count(&self, cost: &Cost) -> Count {
        let (branch, basic) = self.counts(cost);
        // The branch admits as many as it can; basic may admit the next one if the sum so far allows, and go on alone.
        branch.larger(basic)
    }

    /// How many charges of a cost each branch admits: the rule's own, then basic.
    pub(crate) fn counts(&self, cost: &Cost) -> (Count, Count) {
        if cost.is_free() {
            return (Count::UNBOUNDED, Count::UNBOUNDED);
        }
        let zero = Count::exactly(0);
        let by_delta = self.delta_count(cost);
        let limited = |count: Count| if count.count <= by_delta { count } else { Count::exactly(by_delta) };
        let branch = match self.branch_if_open() {
            Some(branch) if by_delta > 0 => branch.count(cost),
            _ => zero,
        };
        let basic = if self.is_basic_open() { Count::exactly(self.basic.count(cost)) } else { zero };
        (limited(branch), limited(basic))
    }

    /// The largest size of a cost that fits so many times.
    pub(crate) fn largest(&self, cost: &Cost, times: u64) -> Amount {
        if self.delta_after(cost, times).is_none() {
            return Amount::ZERO;
        }
        let branch = self.branch_if_open().map_or(Amount::ZERO, |branch| branch.largest(cost, times));
        let basic = match (self.is_basic_open(), cost.epsilon(), std::num::NonZeroU64::new(times)) {
            (true, Some(_), Some(times)) => self.basic.left().map_or(Amount::ZERO, |left| left.split(times)),
            _ => Amount::ZERO,
        };
        branch.max(basic)
    }

    pub(crate) fn spent(&self) -> Balance {
        let share = match self.branch_if_open() {
            Some(branch) => branch.share_spent(),
            None => self.basic_share(self.basic.spent()),
        };
        Balance { epsilon: self.basic.spent(), delta: self.delta_spent, share }
    }

    pub(crate) fn left(&self) -> Balance {
        let epsilon = if self.is_basic_open() { self.basic.left() } else { None };
        let delta = self.delta_limit.checked_sub(self.delta_spent).unwrap_or(Amount::ZERO);
        Balance { epsilon, delta, share: 1.0 - self.spent().share }
    }

    pub(crate) fn state(&self) -> Vec<(&'static str, f64)> {
        match &self.branch {
            Some(branch) => branch.state(),
            None => vec![("epsilon", self.basic.spent().map_or(f64::INFINITY, Amount::approximate))],
        }
    }

    pub(crate) fn is_branch_open(&self) -> bool {
        self.branch_open
    }

    /// Basic stands alone, or beside a rule that is not one of the paper's own; and every charge so far had a finite ε.
    pub(crate) fn is_basic_open(&self) -> bool {
        !matches!(self.branch, Some(Branch::Advanced(_))) && self.basic.left().is_some()
    }

    /// The rule's own branch; nothing for the basic rule.
    pub(crate) fn branch(&self) -> Option<&Branch> {
        self.branch.as_ref()
    }

    /// Whether a stored state can have come from a fresh one of the same account.
    pub(crate) fn check(&self, fresh: &Union) -> Result<(), Error> {
        let branch = match (&self.branch, &fresh.branch) {
            (Some(stored), Some(fresh)) => stored.follows(fresh),
            (stored, fresh) => stored == fresh,
        };
        let sums = self.basic.limit() == fresh.basic.limit()
            && self.delta_limit == fresh.delta_limit
            && self.delta_spent <= self.delta_limit
            && (!self.branch_open || self.branch.is_some())
            && (self.branch_open || self.basic.left().is_some());
        match branch && sums {
            true => Ok(()),
            false => Err(Error::input("the stored filter state does not belong to its budget and rule")),
        }
    }

    fn branch_if_open(&self) -> Option<&Branch> {
        self.branch.as_ref().filter(|_| self.branch_open)
    }

    fn open_branch(&mut self) -> Option<&mut Branch> {
        self.branch.as_mut().filter(|_| self.branch_open)
    }

    /// Σδ_i after so many charges; nothing if it exceeds what is set aside.
    fn delta_after(&self, cost: &Cost, times: u64) -> Option<Amount> {
        let delta = self.delta_spent.checked_add(cost.delta().checked_times(times)?)?;
        (delta <= self.delta_limit).then_some(delta)
    }

    fn delta_count(&self, cost: &Cost) -> u64 {
        let left = self.delta_limit.checked_sub(self.delta_spent).unwrap_or(Amount::ZERO);
        FineAmount::from(left).count_of(cost.delta().into())
    }

    fn basic_share(&self, epsilon: Option<Amount>) -> f64 {
        epsilon.map_or(1.0, |epsilon| share(epsilon.into(), self.basic.limit().into()))
    }
}
