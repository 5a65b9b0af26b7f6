//! The battery: every rule against the best adversary that the engine knows, one line each.
//!
//! A valid rule passes if the upper end of its worst case is at most δ; an invalid one must be caught: the lower end of its worst
//! case is above δ.

use taximeter_accounting::{
    Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Odometer, OdometerRule, OdometerSpec,
};

use crate::boundary::{Boundary, Sides};
use crate::engine::Bracket;
use crate::engine::filters::{Grid, Objective, Rule, worst};
use crate::engine::heuristics::Heuristic;
use crate::engine::odometers;
use crate::engine::solver::Steps;
use crate::engine::stopping::stopping_time;
use crate::engine::tree;
use crate::error::Error;
use crate::games::Decides;

/// What is claimed of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It keeps its promise.
    Valid,
    /// It is known not to.
    Invalid,
}

/// One line of the battery.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What was attacked, and with what.
    pub name: String,
    /// What is claimed of it.
    pub claim: Claim,
    /// What the best adversary achieves.
    pub worst: Bracket,
    /// What it may achieve at most.
    pub delta: f64,
}

impl Check {
    /// Whether the claim stands.
    pub fn passes(&self) -> bool {
        match self.claim {
            Claim::Valid => self.worst.upper <= self.delta,
            Claim::Invalid => self.worst.lower > self.delta,
        }
    }

    /// What the best adversary achieves, as a share of what it may.
    pub fn ratio(&self) -> Bracket {
        self.worst.over(self.delta)
    }
}

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertifyEffort {
    /// Less than a minute.
    Quick,
    /// A few minutes.
    Full,
}

/// Runs the battery and tells each line as it comes. `progress` is told a share of the work.
pub fn battery(
    effort: CertifyEffort,
    tell: &mut dyn FnMut(&Check),
    progress: &dyn Fn(f64),
) -> Result<Vec<Check>, Error> {
    let mut jobs: Vec<Job> = Vec::new();
    trees(&mut jobs)?;
    on_grids(effort, &mut jobs)?;
    readings(effort, &mut jobs)?;
    invalid(&mut jobs)?;
    let total = jobs.len() as f64;
    let mut checks = Vec::new();
    for (done, job) in jobs.into_iter().enumerate() {
        let check = job(&|share| progress((done as f64 + share) / total))?;
        tell(&check);
        checks.push(check);
    }
    Ok(checks)
}

/// One check, to be run with a progress of its own.
type Job = Box<dyn FnOnce(&dyn Fn(f64)) -> Result<Check, Error>>;

/// A filter, valid or not, asked at every node of the tree of what it admits and refuses, against the budget that it claims to keep.
pub fn follow<F: Decides + Clone + PartialEq>(
    name: String,
    filter: &F,
    budget: &Budget,
    costs: &[Cost],
) -> Result<Check, Error> {
    let worst = tree::follow(filter, costs, budget.epsilon())?;
    Ok(Check { name, claim: Claim::Valid, worst, delta: budget.delta().approximate() })
}

/// The rules that take a budget: without a δ only those that need none.
fn rules_for(budget: &Budget) -> impl Iterator<Item = FilterRule> {
    let is_pure = budget.delta().is_zero();
    FilterRule::ALL.into_iter().filter(move |rule| !is_pure || !rule.needs_delta())
}

/// The filters themselves, with everything around their rules: Gaussians between other costs, the mechanisms' own δ, and refusals.
fn trees(jobs: &mut Vec<Job>) -> Result<(), Error> {
    // A budget, what of it is set aside, and costs as JSON.
    let settings: [(&str, &str, &[&str]); 9] = [
        ("0.5,0.05", "0", &[r#"{"epsilon":"0.15"}"#, r#"{"epsilon":"0.3"}"#]),
        ("0.3,0.1", "0", &[r#"{"epsilon":"0.2"}"#, r#"{"epsilon":"0.3"}"#]),
        ("1,0.02", "0", &[r#"{"epsilon":"0.2"}"#, r#"{"epsilon":"0.7"}"#]),
        ("0.6", "0", &[r#"{"epsilon":"0.1"}"#, r#"{"epsilon":"0.2"}"#]),
        ("0.5,0.05", "0", &[r#"{"epsilon":"0.3"}"#, r#"{"gaussian":"0.2"}"#]),
        ("0.3,0.1", "0", &[r#"{"epsilon":"0.2"}"#, r#"{"gaussian":"0.3"}"#, r#"{"epsilon":"0.3"}"#]),
        ("1,0.02", "0", &[r#"{"epsilon":"0.8"}"#, r#"{"gaussian":"0.2"}"#, r#"{"epsilon":"0.25"}"#]),
        ("0.5,0.1", "0.04", &[r#"{"epsilon":"0.2","delta":"0.02"}"#, r#"{"epsilon":"0.3"}"#, r#"{"epsilon":"0.2"}"#]),
        ("0.4,0.1", "0.03", &[r#"{"epsilon":"0.2","delta":"0.01"}"#, r#"{"gaussian":"0.25"}"#, r#"{"epsilon":"0.3"}"#]),
    ];
    for (text, set_aside, costs) in settings {
        let budget = Budget::parse(text)?.with_mechanism_delta(Amount::parse_exact(set_aside)?)?;
        let costs = costs.iter().map(|text| Ok(Cost::from_json(text)?.cost)).collect::<Result<Vec<Cost>, Error>>()?;
        let shown = costs.iter().map(|cost| format!("({cost})")).collect::<Vec<_>>().join(" ");
        for rule in rules_for(&budget).filter(|rule| costs.iter().all(|cost| rule.takes(cost.kind()))) {
            let filter = Filter::new(FilterSpec::new(rule, budget))?;
            let name = format!(
                "filter {} itself on ({text}), {set_aside} of it for the mechanisms, costs {shown}: DP",
                rule.name()
            );
            let costs = costs.clone();
            jobs.push(Box::new(move |_| follow(name, &filter, &budget, &costs)));
        }
    }
    Ok(())
}

/// Budgets and grids on which every filter is tried: many small steps, a few large ones, a large one among small ones, and no δ.
fn grids(effort: CertifyEffort) -> Vec<(&'static str, &'static [&'static str])> {
    let quick: [(&str, &[&str]); 7] = [
        ("1,1e-2", &["0.02", "0.04", "0.08"]),
        ("0.5,1e-3", &["0.01", "0.02", "0.05"]),
        ("0.1,0.1", &["0.2", "0.3"]),
        ("1,1e-2", &["0.1", "0.3", "0.7"]),
        ("1,1e-2", &["0.05", "0.5"]),
        ("1,1e-6", &["0.01", "0.5"]),
        ("1", &["0.1", "0.3", "0.5"]),
    ];
    let full: [(&str, &[&str]); 6] = [
        ("1,1e-6", &["0.01", "0.02", "0.04", "0.08"]),
        ("4,1e-6", &["0.05", "0.1", "0.5"]),
        ("2,1e-4", &["0.05", "0.25"]),
        ("0.25,1e-9", &["0.005", "0.01", "0.02"]),
        ("8,1e-6", &["0.25", "1", "2"]),
        ("1,1e-6", &["0.01", "0.1", "0.3", "0.9"]),
    ];
    match effort {
        CertifyEffort::Quick => quick.to_vec(),
        CertifyEffort::Full => quick.into_iter().chain(full).collect(),
    }
}

fn parse_grid(costs: &[&str]) -> Result<Grid, Error> {
    let costs = costs.iter().map(|text| Amount::parse_exact(text)).collect::<Result<Vec<_>, _>>()?;
    Grid::new(&costs)
}

fn filter_job(rule: Rule, budget: &str, costs: &[&str], objective: Objective) -> Result<Job, Error> {
    let (parsed, grid) = (Budget::parse(budget)?, parse_grid(costs)?);
    let claim = if rule.is_valid() { Claim::Valid } else { Claim::Invalid };
    let promise = match objective {
        Objective::Dp => "DP",
        Objective::Pointwise => "pointwise",
    };
    let name = format!("filter {} on ({budget}), costs {}: {promise}", rule.name(), costs.join(" "));
    Ok(Box::new(move |progress| {
        let case = worst(rule, &parsed, &grid, objective, progress)?;
        Ok(Check { name, claim, worst: case.delta, delta: parsed.delta().approximate() })
    }))
}

fn on_grids(effort: CertifyEffort, jobs: &mut Vec<Job>) -> Result<(), Error> {
    for (budget, costs) in grids(effort) {
        for rule in rules_for(&Budget::parse(budget)?).map(Rule::Filter) {
            // The paper's own rules promise more than DP.
            for objective in [Objective::Dp, Objective::Pointwise].into_iter().filter(|&promise| rule.claims(promise)) {
                jobs.push(filter_job(rule, budget, costs, objective)?);
            }
        }
    }
    Ok(())
}

fn readings(effort: CertifyEffort, jobs: &mut Vec<Job>) -> Result<(), Error> {
    let mut rides = vec![("0.01", 1000, "1e-6"), ("0.1", 1000, "1e-2"), ("1", 200, "1e-4")];
    if effort == CertifyEffort::Full {
        rides.extend([("0.001", 100_000, "1e-6"), ("0.01", 100_000, "1e-2"), ("0.3", 10_000, "1e-6")]);
    }
    for (epsilon, rounds, delta) in rides {
        let budget = Budget::new(Amount::ONE, Amount::parse_exact(delta)?)?;
        let alone = OdometerRule::ALL.map(|rule| (rule.name(), OdometerSpec::new(rule, budget.delta())));
        let default = OdometerRule::default();
        let beside = format!("{} with the scale of a budget of 1", default.name());
        for (shown, spec) in alone.into_iter().chain([(beside.as_str(), OdometerSpec::beside(default, &budget))]) {
            let odometer = Odometer::new(spec)?;
            let epsilon = Amount::parse_exact(epsilon)?;
            let name = format!("odometer {shown} at {delta}, stopped in {rounds} rounds of {epsilon}");
            jobs.push(Box::new(move |progress| {
                let (sides, delta) = (Sides::of(&odometer), odometer.spec().at_delta.approximate());
                let readings = Boundary::of_odometer(odometer, &Cost::Pure { epsilon }, rounds)?;
                let tell = |round, _| progress(round as f64 / rounds as f64);
                let worst = stopping_time(epsilon, &readings, tell).on(sides);
                Ok(Check { name, claim: Claim::Valid, worst, delta })
            }));
        }
    }
    // The stitched reading is a function of V alone, and those of the paper are smallest, for their V, with the smallest costs: so
    // with these the best adaptive adversary on a grid bounds every other one on it.
    for rule in [OdometerRule::Stitched, OdometerRule::Advanced, OdometerRule::FreeX] {
        let delta = if effort == CertifyEffort::Quick { "1e-2" } else { "1e-6" };
        let mut odometer = Odometer::new(OdometerSpec::new(rule, Amount::parse_exact(delta)?))?;
        let sides = Sides::of(&odometer);
        let grid = parse_grid(&["0.02", "0.04", "0.08"])?;
        let largest = Amount::ONE;
        let name = format!("odometer {} at {delta}, best adaptive play of 0.02 0.04 0.08", rule.name());
        jobs.push(Box::new(move |_| {
            let square = grid.step.approximate().powi(2);
            let states = (largest.approximate() / square).ceil() as usize + 1;
            let mut readings = vec![odometer.reading().value];
            for _ in 1..=states {
                odometer.charge(&grid.cost(1))?;
                readings.push(odometer.reading().value);
            }
            let reading = |v: f64| readings[((v / square).round() as usize).min(states)];
            let worst = odometers::worst(&grid, largest, sides, Steps::TwoPoint, &reading);
            Ok(Check { name, claim: Claim::Valid, worst, delta: odometer.spec().at_delta.approximate() })
        }));
    }
    Ok(())
}

/// What must be caught.
fn invalid(jobs: &mut Vec<Job>) -> Result<(), Error> {
    jobs.push(filter_job(Rule::Optimal, "0.1,0.10425709561931122589", &["0.2", "0.3"], Objective::Dp)?);
    jobs.push(filter_job(Rule::RenyiMin, "2.5,1e-4", &["0.05", "0.3"], Objective::Dp)?);
    for heuristic in Heuristic::ALL {
        let epsilon = Amount::parse_exact("0.01")?;
        let (rounds, delta) = (1000, Amount::parse_exact("1e-6")?);
        let name = format!("odometer {} at 1e-6, stopped in {rounds} rounds of {epsilon}", heuristic.name());
        jobs.push(Box::new(move |_| {
            let readings = heuristic.readings(epsilon, delta, rounds);
            let worst = stopping_time(epsilon, &readings, |_, _| {}).on(Sides::Both);
            Ok(Check { name, claim: Claim::Invalid, worst, delta: delta.approximate() })
        }));
    }
    Ok(())
}
