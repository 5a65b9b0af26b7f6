//! The lab, and what planning needs beside filters and odometers.

use pyo3::prelude::*;
use serde::Serialize;
use taximeter_accounting::{Amount, Budget, Filter, FilterRule, OdometerRule, Rounding};
use taximeter_lab::engine::Bracket;
use taximeter_lab::engine::filters::{Grid, Objective, Rule, worst};
use taximeter_lab::engine::stopping::stopping_time;
use taximeter_lab::{Boundary, Sides};
use taximeter_service::{Computed, FilterRequest, Problem, specs};

use crate::amount::amount;
use crate::cost::PyCost;
use crate::problem::{OrRaise, bad_input, json, unreadable};
use crate::waiting::wait;

/// The names of the filter rules and of the odometer rules.
#[pyfunction]
pub fn rule_names() -> (Vec<&'static str>, Vec<&'static str>) {
    (FilterRule::ALL.map(FilterRule::name).into(), OdometerRule::ALL.map(OdometerRule::name).into())
}

/// The smallest ε of a budget with which a filter admits a number of costs; None if there is none.
#[pyfunction]
pub fn smallest_epsilon(py: Python<'_>, request: &str, cost: &PyCost, times: u64) -> PyResult<Option<f64>> {
    let request: FilterRequest = serde_json::from_str(request).map_err(|error| unreadable(py, error))?;
    let (spec, _) = specs(Some(&request), None, FilterRule::default()).or_raise(py)?;
    let spec = spec.ok_or_else(|| bad_input(py, "budget", "a filter needs a budget"))?;
    let cost = cost.0;
    wait(py, move || Filter::smallest_epsilon(&spec, &cost, times))?.or_raise(py)
}

/// Two numbers with the true probability between them.
#[derive(Serialize)]
struct ProbabilityText {
    lower: Computed,
    upper: Computed,
}

impl From<Bracket> for ProbabilityText {
    fn from(bracket: Bracket) -> ProbabilityText {
        ProbabilityText { lower: Computed(bracket.lower), upper: Computed(bracket.upper) }
    }
}

/// The probability that the stopping-time adversary, who plays randomized response, sees the loss leave these readings.
#[pyfunction]
pub fn stopping_time_attack(
    py: Python<'_>,
    epsilon: &Bound<'_, PyAny>,
    readings: Vec<f64>,
    two_sided: bool,
) -> PyResult<String> {
    let epsilon = amount("epsilon", epsilon, Rounding::Up)?;
    if epsilon.is_zero() {
        return Err(bad_input(py, "epsilon", "an attack needs an epsilon above 0"));
    }
    let sides = if two_sided { Sides::Both } else { Sides::Above };
    let attack = move || {
        let boundary = Boundary::from_formula(readings.len(), |rounds| readings[rounds - 1]);
        stopping_time(epsilon, &boundary, |_, _| {}).on(sides)
    };
    json(&ProbabilityText::from(wait(py, attack)?))
}

/// What the best adaptive adversary achieves against a filter rule on a grid of costs.
#[derive(Serialize)]
struct WorstText {
    rule: &'static str,
    is_valid: bool,
    claimed: bool,
    delta: ProbabilityText,
    first_move: Option<Amount>,
}

/// The exact δ of the best adaptive adversary against a filter rule.
#[pyfunction]
pub fn worst_case(
    py: Python<'_>,
    rule: &str,
    epsilon: &Bound<'_, PyAny>,
    delta: &Bound<'_, PyAny>,
    grid: Vec<Bound<'_, PyAny>>,
    pointwise: bool,
) -> PyResult<String> {
    let Some(rule) = Rule::all().find(|known| known.name() == rule) else {
        let known = Rule::all().map(Rule::name).collect::<Vec<_>>().join(", ");
        return Err(bad_input(py, "rule", &format!("{rule:?} is not a rule; choose one of {known}")));
    };
    let down = |name, value| amount(name, value, Rounding::Down);
    let budget = Budget::new(down("epsilon", epsilon)?, down("delta", delta)?).or_raise(py)?;
    let costs = grid.iter().map(|cost| amount("grid", cost, Rounding::Up)).collect::<PyResult<Vec<_>>>()?;
    let objective = if pointwise { Objective::Pointwise } else { Objective::Dp };
    let search = move || {
        let told = |error: taximeter_lab::Error| Problem::bad_request(error.to_string());
        let grid = Grid::new(&costs).map_err(told)?;
        let case = worst(rule, &budget, &grid, objective, &|_| {}).map_err(told)?;
        let first_move = case.strategy.first_move.map(|steps| grid.cost(steps).size());
        Ok::<_, Problem>((case.delta, first_move))
    };
    let (delta, first_move) = wait(py, search)?.or_raise(py)?;
    let (is_valid, claimed) = (rule.is_valid(), rule.claims(objective));
    json(&WorstText { rule: rule.name(), is_valid, claimed, delta: delta.into(), first_move })
}
