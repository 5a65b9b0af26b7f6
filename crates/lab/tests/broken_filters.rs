//! Filters made wrong on purpose: the battery's judgement must catch each.

use taximeter_accounting::{
    Amount, Budget, Cost, Filter, FilterRule, FilterSpec, FineAmount, Verdict, residue_after, residue_of,
};
use taximeter_lab::certify::{Check, Claim, follow};
use taximeter_lab::engine::filters::{Grid, Objective, in_cells, worst_of};
use taximeter_lab::engine::graph::StateGraph;
use taximeter_lab::engine::solver::End;
use taximeter_lab::{Decides, Error};

const CELLS: usize = 1 << 17;

struct Setting {
    budget: Budget,
    grid: Grid,
    start: f64,
}

fn setting(budget: &str, costs: &[&str]) -> Setting {
    let budget = Budget::parse(budget).unwrap();
    let costs: Vec<Amount> = costs.iter().map(|text| Amount::parse_exact(text).unwrap()).collect();
    Setting { budget, grid: Grid::new(&costs).unwrap(), start: residue_of(&budget).unwrap().approximate() }
}

fn fine(value: f64) -> FineAmount {
    FineAmount::at_most(value).unwrap()
}

/// What `certify` would say of states of one's own, claimed to be a valid filter.
fn check(setting: &Setting, graph: impl Fn(End) -> StateGraph) -> Check {
    let graphs = [graph(End::Lower), graph(End::Upper)];
    let case = worst_of(&graphs, &setting.budget, &setting.grid, Objective::Dp, &|_| {});
    let delta = setting.budget.delta().approximate();
    Check { name: "a filter of one's own".to_string(), claim: Claim::Valid, worst: case.delta, delta }
}

/// Caught beyond doubt: even the lower end is above δ.
fn assert_caught(setting: &Setting, graph: impl Fn(End) -> StateGraph) {
    let check = check(setting, graph);
    assert!(!check.passes() && check.worst.lower > check.delta, "{:?}", check.worst);
}

fn right(setting: &Setting, end: End) -> StateGraph {
    in_cells(&setting.grid, setting.start, end, CELLS, |cost, left| {
        residue_after(cost.size(), fine(left)).map(FineAmount::approximate)
    })
}

#[test]
fn the_right_filter_passes() {
    for (budget, costs) in [("1,1e-6", vec!["0.01", "0.02", "0.04", "0.08"]), ("0.5,1e-3", vec!["0.05", "0.1", "0.2"])]
    {
        let setting = setting(budget, &costs);
        let check = check(&setting, |end| right(&setting, end));
        assert!(check.passes(), "{budget}: {:?}", check.worst);
    }
}

/// The first charge is not counted.
#[test]
fn a_filter_that_forgets_a_cost_once_is_caught() {
    let setting = setting("1,1e-6", &["0.01", "0.02", "0.04", "0.08"]);
    assert_caught(&setting, |end| {
        let counted = right(&setting, end);
        let states = counted.states();
        // One state more, from which every charge leads to the start.
        StateGraph::new(&setting.grid.moves, states + 1, |state, at| {
            if state == states { Some(states - 1) } else { counted.after(state, at) }
        })
    });
}

/// w′ = w − ε² + ε⁴/(6w) in place of w − ε² − ε⁴/(6w).
#[test]
fn a_filter_with_a_sign_flipped_is_caught() {
    let setting = setting("1,1e-2", &["0.05", "0.1", "0.2"]);
    assert_caught(&setting, |end| {
        in_cells(&setting.grid, setting.start, end, CELLS, |cost, left| {
            let square = cost.size().approximate().powi(2);
            Some(left - square + square * square / (6.0 * left)).filter(|rest| *rest >= 0.0 && *rest < left)
        })
    });
}

/// The charges are joined onto what is spent: s′ = join(ε, s), admitted while s′ ≤ V.
#[test]
fn a_filter_that_joins_what_is_spent_is_caught() {
    let setting = setting("0.1,0.1", &["0.02", "0.04", "0.2"]);
    // Each step is searched for, so fewer cells.
    assert_caught(&setting, |end| {
        in_cells(&setting.grid, setting.start, end, 1 << 14, |cost, left| {
            let spent = setting.start - left;
            let joined = join(&setting, cost.size(), spent)?;
            Some(setting.start - joined).filter(|rest| *rest >= 0.0 && *rest < left)
        })
    });
}

/// join(ε, s): the smallest W whose rest after ε is at least s, by bisection on the library's own step.
fn join(setting: &Setting, epsilon: Amount, spent: f64) -> Option<f64> {
    let fits = |whole: f64| residue_after(epsilon, fine(whole)).is_some_and(|rest| rest.approximate() >= spent);
    let mut bounds = (spent, spent + 2.0 * epsilon.approximate().powi(2));
    if spent > setting.start || !fits(bounds.1) {
        return None;
    }
    for _ in 0..50 {
        let middle = 0.5 * (bounds.0 + bounds.1);
        if fits(middle) {
            bounds.1 = middle;
        } else {
            bounds.0 = middle;
        }
    }
    Some(bounds.1)
}

/// A library filter that is told of every charge but the first.
#[derive(Clone)]
struct Forgetful {
    filter: Filter,
    forgot: bool,
}

impl Decides for Forgetful {
    fn admits(&mut self, cost: &Cost) -> Result<bool, Error> {
        if !self.forgot {
            self.forgot = true;
            return Ok(matches!(self.filter.decide(cost)?, Verdict::Continue(_)));
        }
        self.filter.admits(cost)
    }
}

/// A filter whose branches are never closed: the residue rule and basic composition side by side, each with its own memory.
#[derive(Clone)]
struct Unclosed {
    residue: FineAmount,
    sum: Amount,
    limit: Amount,
}

impl Decides for Unclosed {
    fn admits(&mut self, cost: &Cost) -> Result<bool, Error> {
        if let Some(rest) = residue_after(cost.size(), self.residue) {
            self.residue = rest;
            return Ok(true);
        }
        let sum = self.sum.checked_add(cost.size()).filter(|sum| *sum <= self.limit);
        self.sum = sum.unwrap_or(self.sum);
        Ok(sum.is_some())
    }
}

#[test]
fn the_battery_catches_filters_that_are_wrong_around_the_rule() {
    let budget = Budget::parse("0.5,0.05").unwrap();
    let costs = ["0.15", "0.3"].map(|text| Cost::parse_epsilon(text).unwrap().cost);
    let judge = |check: Check| (check.passes(), check.worst.lower > check.delta);
    for rule in FilterRule::ALL {
        let filter = Filter::new(FilterSpec::new(rule, budget)).unwrap();
        assert_eq!(
            judge(follow(rule.name().to_string(), &filter, &budget, &costs).unwrap()),
            (true, false),
            "{rule:?}"
        );
    }
    let filter = Filter::new(FilterSpec::new(FilterRule::Residue, budget)).unwrap();
    let forgetful = Forgetful { filter, forgot: false };
    assert_eq!(judge(follow("forgetful".to_string(), &forgetful, &budget, &costs).unwrap()), (false, true));
    let unclosed = Unclosed { residue: residue_of(&budget).unwrap(), sum: Amount::ZERO, limit: budget.epsilon() };
    assert_eq!(judge(follow("unclosed".to_string(), &unclosed, &budget, &costs).unwrap()), (false, true));
}
