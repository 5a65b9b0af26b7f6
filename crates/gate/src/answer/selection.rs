//! Which rows noisy numbers choose, and what that does to the intervals of those that are shown.
//!
//! * A number that is made of other noise than what chooses keeps its interval: both are independent.
//! * A count or a sum that chooses alone, by HAVING against a constant or by ORDER BY and LIMIT, has an interval that holds given that
//!   its row is shown ([`ShownValues`]), cut to intervals of all groups that hold together with a tenth of the miss.
//! * The intervals of everything else hold for all groups together.
//! * The number of rows by which an undeclared group was found is known to have reached its threshold, in all three cases.

use std::cmp::Ordering;

use super::{NoisyGroup, NoisyQuery};
use crate::plan::{MISS, Made, QueryPlan};
use crate::question::Question;
use crate::question::predicate::Comparison;
use crate::question::term::{Condition, Term};
use crate::statistics::{ShownValues, simultaneous_miss};

/// How a SELECT's rows are chosen.
pub(super) struct Selection<'a> {
    plan: &'a QueryPlan,
    /// The parts whose noise decides which rows are shown.
    choosing: Vec<usize>,
    /// The only one, with which of its noisy values are shown; one for every group.
    alone: Option<(usize, Vec<Option<ShownValues>>)>,
    /// How many groups the noisy numbers choose from; none if they do not.
    groups: usize,
}

/// The part of the miss that intervals of all groups together may use, where each also holds given that its row is shown.
const TOGETHER: f64 = 0.1;

impl<'a> Selection<'a> {
    /// Of a sub-query: its only row is taken, whatever it is.
    pub(super) fn none(plan: &'a QueryPlan) -> Self {
        Selection { plan, choosing: Vec::new(), alone: None, groups: 0 }
    }

    /// The choice of a SELECT among all of a question; counts may be clamped before they are compared.
    pub(super) fn new(question: &Question, queries: &[NoisyQuery<'a>], noisy: &NoisyQuery<'a>, clamp: bool) -> Self {
        let (query, plan) = (noisy.query, noisy.plan);
        let groups: usize = queries.iter().map(|query| query.groups.len()).sum();
        let is_shortened = question.limit.is_some() || question.offset > 0;
        let keys = question.order.iter().map(|key| &query.outputs[key.output].term);
        let keys: Vec<&Term> = keys.filter(|term| !matches!(term, Term::Group(_) | Term::Label(_))).collect();
        let sorts = is_shortened && groups > 1 && !keys.is_empty();
        let mut choosing = Vec::new();
        if let Some(having) = &query.having {
            having.walk(&mut |term| choosing.extend(own_parts(term, plan)));
        }
        if sorts {
            keys.iter().for_each(|term| term.walk(&mut |term| choosing.extend(own_parts(term, plan))));
        }
        let chooses = sorts || queries.iter().any(|query| query.query.having.is_some());
        let is_simple = queries.len() == 1 && !clamp && question.offset == 0 && (!sorts || keys.len() == 1);
        let order = question.order.split_first().filter(|_| sorts).map(|(first, ties)| LimitedOrder {
            term: &query.outputs[first.output].term,
            descending: first.descending,
            ties: ties.iter().map(|key| (&query.outputs[key.output].term, key.descending)).collect(),
            limit: question.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX),
        });
        let alone = if is_simple && chooses { alone(noisy, order) } else { None };
        Selection { plan, choosing, alone, groups: if chooses { groups } else { 0 } }
    }

    /// The interval of a part of a group, in steps.
    pub(super) fn interval(&self, group: usize, place: usize, noisy: i128) -> [i128; 2] {
        let all = |miss: f64| self.given_found(place, noisy, miss);
        match &self.alone {
            _ if !self.choosing.contains(&place) => all(MISS),
            Some((part, shown)) if *part == place => match shown[group] {
                None => all(MISS),
                Some(shown) => {
                    let [low, high] = all(simultaneous_miss(TOGETHER * MISS, self.groups));
                    let (noise, miss) = (&self.plan.parts[place].noise, (1.0 - TOGETHER) * MISS);
                    let most = noisy.saturating_sub(low).max(high.saturating_sub(noisy));
                    let [shown_low, shown_high] =
                        shown.interval(noisy, noise.law(), miss, noise.half_width(miss), most);
                    [low.max(shown_low), high.min(shown_high)]
                }
            },
            _ => all(self.together()),
        }
    }

    /// With which probability the interval of something that is made of these parts may miss.
    pub(super) fn miss(&self, parts: &[usize]) -> f64 {
        if parts.iter().any(|part| self.choosing.contains(part)) { self.together() } else { MISS }
    }

    /// The part that is known to have reached a threshold, and which.
    pub(super) fn found(&self) -> Option<(usize, f64)> {
        self.plan.threshold.map(|(part, least)| (part, least as f64))
    }

    /// What is said of the intervals.
    pub(super) fn describe(&self) -> Option<String> {
        match (&self.alone, self.groups) {
            (_, 0) => None,
            (Some((_, shown)), _) if shown.iter().all(Option::is_none) => None,
            (Some(_), _) => Some(
                "the noisy numbers choose which rows are shown; the interval of the number that chooses holds in 95 % of the answers \
                 in which its row is shown"
                    .to_string(),
            ),
            (None, groups) => Some(format!(
                "the intervals of all {groups} groups hold together, since the noisy numbers choose which are shown"
            )),
        }
    }

    fn together(&self) -> f64 {
        simultaneous_miss(MISS, self.groups)
    }

    /// The interval of a part whose row is shown anyway; of the part by which groups are found, given that this one was.
    pub(super) fn given_found(&self, place: usize, noisy: i128, miss: f64) -> [i128; 2] {
        let noise = &self.plan.parts[place].noise;
        let reach = noise.half_width(miss);
        match self.plan.threshold {
            // What is found has at least one row.
            Some((part, least)) if part == place => {
                ShownValues::AtLeast(least).interval(noisy, noise.law(), miss, reach, (noisy - 1).max(0))
            }
            _ => [noisy.saturating_sub(reach), noisy.saturating_add(reach)],
        }
    }
}

/// What the rows are sorted by, and how many are shown.
struct LimitedOrder<'q> {
    term: &'q Term,
    descending: bool,
    /// The values of groups that decide between equal ones, and whether the greater one comes first.
    ties: Vec<(&'q Term, bool)>,
    limit: usize,
}

impl LimitedOrder<'_> {
    /// Every group's place among those that are equal to it.
    fn places(&self, groups: &[NoisyGroup]) -> Vec<usize> {
        let mut sorted: Vec<usize> = (0..groups.len()).collect();
        sorted.sort_by(|one, other| {
            let compare = |(term, descending): &(&Term, bool)| match term {
                Term::Group(at) => {
                    let ordering = groups[*one].keys[*at].compare(&groups[*other].keys[*at]);
                    if *descending { ordering.reverse() } else { ordering }
                }
                _ => Ordering::Equal,
            };
            self.ties.iter().map(compare).fold(Ordering::Equal, Ordering::then)
        });
        let mut places = vec![0; groups.len()];
        sorted.into_iter().enumerate().for_each(|(place, group)| places[group] = place);
        places
    }
}

/// The only part that chooses, and which of its noisy values are shown in each group; `None` where more than one part chooses, or not
/// by plain comparisons in one direction.
fn alone(noisy: &NoisyQuery, order: Option<LimitedOrder>) -> Option<(usize, Vec<Option<ShownValues>>)> {
    let (query, plan) = (noisy.query, noisy.plan);
    let having = match &query.having {
        None => None,
        Some(condition) => Some(compared(condition, plan)?),
    };
    let sorted = match &order {
        None => None,
        Some(order) => Some(single(order.term, plan)?),
    };
    let part = match (having, sorted) {
        (Some((part, _)), Some(other)) if part != other => return None,
        (Some((part, _)), _) | (None, Some(part)) => part,
        (None, None) => return None,
    };
    let having = having.map(|(_, shown)| shown);
    let value = |group: &NoisyGroup| group.parts[part];
    let found = plan.threshold.filter(|(at, _)| *at == part).map(|(_, least)| ShownValues::AtLeast(least));
    let places = order.as_ref().map_or(Vec::new(), |order| order.places(&noisy.groups));
    // The first one that LIMIT leaves out.
    let mut sorted: Vec<(usize, i128)> = noisy.groups.iter().map(value).enumerate().collect();
    sorted.retain(|(_, steps)| having.is_none_or(|having| having.contains(*steps)));
    let left_out = order.and_then(|order| {
        sorted.sort_by(|one, other| {
            let ordering = if order.descending { other.1.cmp(&one.1) } else { one.1.cmp(&other.1) };
            ordering.then(places[one.0].cmp(&places[other.0]))
        });
        sorted.get(order.limit).map(|(group, steps)| (*group, *steps, order.descending))
    });
    let shown = |group: usize| -> Result<Option<ShownValues>, Conflict> {
        let limit = left_out.map(|(other, steps, descending)| match (descending, places[group] < places[other]) {
            (true, true) => ShownValues::AtLeast(steps),
            (true, false) => ShownValues::AtLeast(steps + 1),
            (false, true) => ShownValues::AtMost(steps),
            (false, false) => ShownValues::AtMost(steps - 1),
        });
        let mut all = None;
        for bound in [found.filter(|_| having.is_some() || limit.is_some()), having, limit].into_iter().flatten() {
            all = Some(match all {
                None => bound,
                Some(before) => bound.and(before).ok_or(Conflict)?,
            });
        }
        Ok(all)
    };
    let shown: Result<Vec<_>, Conflict> = (0..noisy.groups.len()).map(shown).collect();
    Some((part, shown.ok()?))
}

/// Bounds on both sides.
struct Conflict;

/// The part that a plain count or sum is.
fn single(term: &Term, plan: &QueryPlan) -> Option<usize> {
    let Term::Aggregate(at) = term else { return None };
    match &plan.aggregates[*at] {
        Made::Parts(places) if places.len() == 1 => Some(places[0]),
        _ => None,
    }
}

/// A count or a sum that is compared with a constant: its part, and which values pass.
fn compared(condition: &Condition, plan: &QueryPlan) -> Option<(usize, ShownValues)> {
    let Condition::Compare(one, comparison, Term::Constant(constant)) = condition else { return None };
    let part = single(one, plan)?;
    let grid = plan.parts[part].step;
    let near = (constant / grid).round();
    if near.abs() > 1e15 {
        return None;
    }
    // As the condition is decided: the product is compared.
    let first = |passes: &dyn Fn(f64) -> bool| (-2..=2).map(|step| near + f64::from(step)).find(|at| passes(at * grid));
    match comparison {
        Comparison::Greater => first(&|value| value > *constant).map(|at| (part, ShownValues::AtLeast(at as i128))),
        Comparison::GreaterOrEqual => {
            first(&|value| value >= *constant).map(|at| (part, ShownValues::AtLeast(at as i128)))
        }
        Comparison::Less => first(&|value| value >= *constant).map(|at| (part, ShownValues::AtMost(at as i128 - 1))),
        Comparison::LessOrEqual => {
            first(&|value| value > *constant).map(|at| (part, ShownValues::AtMost(at as i128 - 1)))
        }
        Comparison::Equal | Comparison::NotEqual => None,
    }
}

/// The parts of an aggregate.
pub(super) fn own_parts(term: &Term, plan: &QueryPlan) -> Vec<usize> {
    match term {
        Term::Aggregate(at) => match &plan.aggregates[*at] {
            Made::Parts(places) => places.clone(),
            Made::Quantile(_) | Made::Mode(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}
