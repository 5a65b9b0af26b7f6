//! How much of an account's budget each principal spent.

use std::collections::HashMap;

use jiff::Timestamp;
use taximeter_ledger::Who;

use super::curve::Point;

/// Who made charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spender<'a> {
    /// A name in the journal.
    Named(&'a Who),
    /// Charges without a name.
    Unnamed,
    /// All names after the first [`Spenders::NAMES`].
    Others,
}

/// The charges of one spender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    /// How many charges.
    pub charges: u64,
    /// The share of the budget that they took.
    pub budget: f64,
    /// What they added to the reading; `None` if one of them left it without a bound.
    pub reading: Option<f64>,
    /// The time of the newest charge.
    pub newest: Timestamp,
}

/// How much of an account's budget each principal spent. All shares, what was given up, and what is left add up to the whole.
///
/// At most [`NAMES`](Spenders::NAMES) names are kept, the first ones: that is at most 250 kB, even if all names are long.
#[derive(Clone, Debug, Default)]
pub struct Spenders {
    named: HashMap<Who, Spent>,
    unnamed: Option<Spent>,
    others: Option<Spent>,
    given_up: f64,
}

impl Spenders {
    /// The most names.
    pub const NAMES: usize = 1000;

    /// Counts a charge by what it changed.
    pub(super) fn charge(&mut self, who: Option<Who>, before: Option<&Point>, after: &Point) {
        let nothing = Spent { charges: 0, budget: 0.0, reading: Some(0.0), newest: after.time };
        let spent = match who {
            None => self.unnamed.get_or_insert(nothing),
            Some(who) if self.named.len() < Spenders::NAMES || self.named.contains_key(&who) => {
                self.named.entry(who).or_insert(nothing)
            }
            Some(_) => self.others.get_or_insert(nothing),
        };
        spent.charges += 1;
        spent.budget += fall(before, after);
        spent.reading = spent.reading.zip(rise(before, after)).map(|(sum, more)| sum + more);
        spent.newest = after.time;
    }

    /// Counts what was left when an account stopped: it was not spent, and cannot be spent any more.
    pub(super) fn give_up(&mut self, before: Option<&Point>, after: &Point) {
        self.given_up += fall(before, after);
    }

    /// The share of the budget that was left when the account was halted, closed or exhausted.
    pub fn given_up(&self) -> f64 {
        self.given_up
    }

    /// All spenders, the largest share of the budget first, then the largest addition to the reading. The others, which are many, come
    /// last.
    pub fn by_budget(&self) -> Vec<(Spender<'_>, &Spent)> {
        let named = self.named.iter().map(|(who, spent)| (Spender::Named(who), spent));
        let mut all: Vec<_> = named.chain(self.unnamed.iter().map(|spent| (Spender::Unnamed, spent))).collect();
        let added = |spent: &Spent| spent.reading.unwrap_or(f64::INFINITY);
        all.sort_by(|(one, less), (other, more)| {
            let by_budget = more.budget.total_cmp(&less.budget);
            let by_reading = by_budget.then(added(more).total_cmp(&added(less)));
            by_reading.then(more.charges.cmp(&less.charges)).then_with(|| one.name().cmp(&other.name()))
        });
        all.extend(self.others.iter().map(|spent| (Spender::Others, spent)));
        all
    }
}

impl Spender<'_> {
    /// The name, if there is one.
    fn name(&self) -> Option<&str> {
        match self {
            Spender::Named(who) => Some(who.as_str()),
            Spender::Unnamed | Spender::Others => None,
        }
    }
}

/// How much less of the budget is left after a record than before it.
pub(super) fn fall(before: Option<&Point>, after: &Point) -> f64 {
    let left = before.and_then(|before| before.left).zip(after.left);
    left.map_or(0.0, |(before, after)| before - after)
}

/// How much more the odometer reads; `None` if it lost its bound.
fn rise(before: Option<&Point>, after: &Point) -> Option<f64> {
    match (before.and_then(|before| before.reading), after.reading) {
        (Some(before), Some(after)) => Some(after - before),
        (Some(_), None) => None,
        // Without a bound before, nothing can be added to it.
        (None, _) => Some(0.0),
    }
}

#[cfg(test)]
mod tests;
