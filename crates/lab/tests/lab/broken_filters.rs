//! Filters made wrong on purpose: the battery's judgement must catch each.

use taximeter_accounting::{
    Amount, Budget, Cost, Filter, FilterRule, FilterSpec, FineAmount, residue_after, residue_of,
};
use taximeter_lab::certify::{Check, Claim, follow};
use taximeter_lab::engine::filters::{Grid, Objective, worst_of};
use taximeter_lab::engine::graph::StateGraph;
use taximeter_lab::engine::solver::End;
use taximeter_lab::engine::states::in_cells;
use taximeter_lab::{Decides, Error};

const CELLS: usize = 1 << 15;

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
    in_cells(&setting.grid, setting.budget.epsilon(), setting.start, end, CELLS, |cost, tau, left| {
        residue_after(cost.size(), tau, fine(left)).map(FineAmount::approximate)
    })
    .unwrap()
}

#[test]
fn the_right_filter_passes() {
    for (budget, costs) in [("1,1e-2", vec!["0.02", "0.04", "0.08"]), ("0.5,1e-3", vec!["0.1", "0.2"])] {
        let setting = setting(budget, &costs);
        let check = check(&setting, |end| right(&setting, end));
        assert!(check.passes(), "{budget}: {:?}", check.worst);
    }
}

/// The first charge is not counted.
#[test]
fn a_filter_that_forgets_a_cost_once_is_caught() {
    let setting = setting("1,1e-2", &["0.04", "0.08"]);
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
        in_cells(&setting.grid, Amount::ZERO, setting.start, end, CELLS, |cost, _, left| {
            let square = cost.size().approximate().powi(2);
            Some(left - square + square * square / (6.0 * left)).filter(|rest| *rest >= 0.0 && *rest < left)
        })
        .unwrap()
    });
}

/// The charges are joined onto what is spent: s′ = join(ε, s), admitted while s′ ≤ V.
#[test]
fn a_filter_that_joins_what_is_spent_is_caught() {
    let setting = setting("0.1,0.1", &["0.02", "0.04", "0.2"]);
    // Each step is searched for, so fewer cells.
    assert_caught(&setting, |end| {
        in_cells(&setting.grid, Amount::ZERO, setting.start, end, 1 << 14, |cost, _, left| {
            let spent = setting.start - left;
            let joined = join(&setting, cost.size(), spent)?;
            Some(setting.start - joined).filter(|rest| *rest >= 0.0 && *rest < left)
        })
        .unwrap()
    });
}

/// join(ε, s): the smallest W whose rest after ε is at least s, by bisection on the library's own step.
fn join(setting: &Setting, epsilon: Amount, spent: f64) -> Option<f64> {
    let fits =
        |whole: f64| residue_after(epsilon, Amount::ZERO, fine(whole)).is_some_and(|rest| rest.approximate() >= spent);
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

/// What is wrong with a residue filter that is asked itself.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    Nothing,
    /// The first charge is not counted.
    FirstIsFree,
    /// τ = max(0, ε_g − A + ε).
    LevelBehind,
    /// A is not increased by a cost with a δ of its own.
    OnePathWithoutReach,
    /// τ = ε_g − A, below 0 too.
    LevelBelowZero,
    /// The join rule and basic composition side by side, each with its own memory.
    Unclosed,
    /// A refused request takes A back to 0.
    RefusalResets,
}

/// The residue filter as the formula book has it, with a flaw.
#[derive(Clone, PartialEq)]
struct Flawed {
    flaw: Flaw,
    budget: Budget,
    residue: FineAmount,
    reach: Amount,
    delta: Amount,
    charges: u32,
}

impl Flawed {
    fn new(flaw: Flaw, budget: Budget) -> Flawed {
        let residue = residue_of(&budget).unwrap();
        Flawed { flaw, budget, residue, reach: Amount::ZERO, delta: Amount::ZERO, charges: 0 }
    }

    fn level(&self, epsilon: Amount) -> Amount {
        let limit = self.budget.epsilon();
        let tau = limit.checked_sub(self.reach);
        match self.flaw {
            Flaw::LevelBehind => limit.checked_add(epsilon).unwrap().checked_sub(self.reach).unwrap_or(Amount::ZERO),
            // By symmetry the inequality at −τ is the one at τ.
            Flaw::LevelBelowZero => tau.or(self.reach.checked_sub(limit)).unwrap(),
            Flaw::Unclosed => Amount::ZERO,
            _ => tau.unwrap_or(Amount::ZERO),
        }
    }
}

impl Decides for Flawed {
    fn admits(&mut self, cost: &Cost) -> Result<bool, Error> {
        let (epsilon, reach) = (cost.size(), self.reach.checked_add(cost.size()).unwrap());
        let delta = self.delta.checked_add(cost.delta()).unwrap();
        let rest = residue_after(epsilon, self.level(epsilon), self.residue);
        let by_adding = self.flaw == Flaw::Unclosed && rest.is_none() && reach <= self.budget.epsilon();
        if delta > self.budget.mechanism_delta() || rest.is_none() && !by_adding {
            if self.flaw == Flaw::RefusalResets {
                self.reach = Amount::ZERO;
            }
            return Ok(false);
        }
        self.charges += 1;
        if self.flaw == Flaw::FirstIsFree && self.charges == 1 {
            return Ok(true);
        }
        self.delta = delta;
        self.residue = rest.unwrap_or(self.residue);
        let counts = match self.flaw {
            Flaw::OnePathWithoutReach => cost.delta().is_zero(),
            Flaw::Unclosed => by_adding,
            _ => true,
        };
        self.reach = if counts { reach } else { self.reach };
        Ok(true)
    }
}

#[test]
fn the_battery_catches_every_flaw() {
    let amount = |text: &str| Amount::parse_exact(text).unwrap();
    let budget = Budget::parse("0.5,0.02").unwrap().with_mechanism_delta(amount("0.005")).unwrap();
    let leaking = Cost::approximate(amount("0.15"), amount("0.0005")).unwrap();
    let costs = [leaking, Cost::Pure { epsilon: amount("0.25") }, Cost::Pure { epsilon: amount("0.15") }];
    let judge = |flaw| follow(format!("{flaw:?}"), &Flawed::new(flaw, budget), &budget, &costs).unwrap();
    for rule in FilterRule::ALL {
        let filter = Filter::new(FilterSpec::new(rule, budget)).unwrap();
        let check = follow(rule.name().to_string(), &filter, &budget, &costs).unwrap();
        assert!(check.passes(), "{check:?}");
        // Without a flaw ours is the one of the library.
        assert!(rule != FilterRule::Residue || check.worst == judge(Flaw::Nothing).worst);
    }
    for flaw in [
        Flaw::FirstIsFree,
        Flaw::LevelBehind,
        Flaw::OnePathWithoutReach,
        Flaw::LevelBelowZero,
        Flaw::Unclosed,
        Flaw::RefusalResets,
    ] {
        let check = judge(flaw);
        assert!(!check.passes() && check.worst.lower > check.delta, "{check:?}");
    }
}
