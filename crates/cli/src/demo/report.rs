//! What the ride shows: how far every rule would have gone, what the meters say, and whether the ledger holds.

use std::path::{Path, PathBuf};

use plotters::prelude::SeriesLabelPosition;
use serde::Serialize;
use taximeter_accounting::reference::{FixedInAdvance, MixedRounds};
use taximeter_accounting::{Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Verdict};
use taximeter_api::{BudgetDocument, Computed};
use taximeter_ledger::{Location, verify};

use super::Ride;
use super::population::{DISTRICTS, Population};
use crate::figure::{Axis, Kind, Line, Panel, Scale, draw};
use crate::output::{Failure, show_number, thousands};
use crate::table::Table;

/// What the ride shows, as JSON.
#[derive(Serialize)]
pub struct Report {
    budget: BudgetDocument,
    seed: u64,
    folder: String,
    questions: usize,
    refusals: u32,
    answered: Vec<AnsweredJson>,
    fixed_in_advance_answered: usize,
    spent_epsilon: Amount,
    reading: Computed,
    fixed_in_advance_optimal: Computed,
    invalid_heuristic: Computed,
    found: Vec<usize>,
    outbreaks: Vec<usize>,
    records_verified: u64,
    figures: Vec<String>,
}

#[derive(Serialize)]
struct AnsweredJson {
    rule: &'static str,
    answered: usize,
    guarantee: String,
}

impl Report {
    pub fn new(
        ride: &Ride,
        population: &Population,
        seed: u64,
        folder: &Path,
        location: &Location,
    ) -> Result<Report, Failure> {
        let budget = ride.budget;
        let mut answered = Vec::new();
        for rule in FilterRule::ALL {
            let (count, guarantee) = (answered_by(rule, budget, &ride.charges)?, rule.guarantee(&budget));
            answered.push(AnsweredJson { rule: rule.name(), answered: count, guarantee });
        }
        let costs = ride.charges.concat();
        let fixed = MixedRounds::new(&costs)?;
        let spent = costs.iter().map(Cost::size).try_fold(Amount::ZERO, Amount::checked_add).unwrap_or(Amount::MAX);
        let verified = verify(location, None, &mut |_, _| {})?;
        let figures = [ride_figure(ride, folder)?, districts_figure(ride, population, folder)?];
        Ok(Report {
            budget: (&budget).into(),
            seed,
            folder: folder.display().to_string(),
            questions: ride.charges.len(),
            refusals: ride.refusals,
            answered,
            fixed_in_advance_answered: answered_in_advance(budget, &ride.charges)?,
            spent_epsilon: spent,
            reading: Computed(ride.meter.last().map_or(0.0, |(_, reading)| *reading)),
            fixed_in_advance_optimal: Computed(value(fixed.optimal_epsilon(budget.delta()))),
            invalid_heuristic: Computed(value(fixed.advanced_epsilon(budget.delta()))),
            found: ride.analyst.found.clone(),
            outbreaks: population.outbreaks.clone(),
            records_verified: verified.records,
            figures: figures.iter().map(|path| path.display().to_string()).collect(),
        })
    }

    /// The same for people.
    pub fn text(&self, ride: &Ride, folder: &Path) -> Result<String, Failure> {
        let mut rules = Table::new(&["rule", ">answers these questions", "guarantee"]);
        for AnsweredJson { rule, answered, guarantee } in &self.answered {
            let stops = match *answered == self.questions {
                true => format!("all {}", thousands(self.questions as u64)),
                false => format!("stops after {}", thousands(*answered as u64)),
            };
            let mark = if *rule == "residue" { "residue (this ride)" } else { rule };
            rules.row([mark.to_string(), stops, guarantee.clone()]);
        }
        let more = self.fixed_in_advance_answered.saturating_sub(self.questions);
        rules.row([
            "fixed in advance, optimum".to_string(),
            format!("all, and {more} glances more"),
            "had every cost been known before the first answer".to_string(),
        ]);
        let mut meters = Table::new(&["after the last answer", ">ε at δ = 1e-6", ""]);
        let row = |name: &str, value: f64, meaning: &str| [name.to_string(), show_number(value), meaning.to_string()];
        meters.row(row("sum of all ε", self.spent_epsilon.approximate(), "basic composition"));
        meters.row(row("odometer", self.reading.0, "valid at every moment, however the ride might have been stopped"));
        meters.row(row(
            "fixed in advance, optimum",
            self.fixed_in_advance_optimal.0,
            "not for costs chosen along the way",
        ));
        meters.row(row(
            "advanced theorem, misused",
            self.invalid_heuristic.0,
            "not valid here: the costs were chosen along the way",
        ));
        let names = |districts: &[usize]| districts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let ledger = folder.join("taximeter.db");
        let ledger = ledger.display();
        Ok(format!(
            "\nThe filter halted after {} answers. The same questions, in the same order, under each rule:\n\n{rules}\n\n{meters}\n\n\
             The odometer may read more than the budget of {} although the filter kept it: a reading must hold wherever one looks,\n\
             the filter's promise only for what it let happen.\n\n\
             The analyst reports outbreaks in districts {}; there were outbreaks in {}.\n\
             The ledger was verified: {} records, every hash and every decision recomputed.\n\
             Figures: {}\n\n\
             Try next:  taximeter account show people --ledger {ledger}\n\
             {:11}taximeter history people --limit 5 --ledger {ledger}\n\
             {:11}taximeter ask people \"SELECT COUNT(*) FROM people\" --epsilon 0.001 --explain --ledger {ledger}\n\
             {:11}taximeter plan --budget 1,1e-6 --epsilon 0.01",
            thousands(self.questions as u64),
            ride.budget.epsilon(),
            names(&self.found),
            names(&self.outbreaks),
            thousands(self.records_verified),
            self.figures.join(", "),
            "",
            "",
            ""
        ))
    }
}

fn value(bound: Option<FixedInAdvance>) -> f64 {
    bound.map_or(f64::INFINITY, FixedInAdvance::value)
}

/// How many of the questions, in their order, a rule admits before its first refusal.
fn answered_by(rule: FilterRule, budget: Budget, charges: &[Vec<Cost>]) -> Result<usize, Failure> {
    let mut filter = Filter::new(FilterSpec::new(rule, budget))?;
    for (answered, costs) in charges.iter().enumerate() {
        for cost in costs {
            if let Verdict::Halt(_) = filter.charge(cost)? {
                return Ok(answered);
            }
        }
    }
    Ok(charges.len())
}

/// How many questions the optimum admits if all are fixed in advance: these, and then glances.
fn answered_in_advance(budget: Budget, charges: &[Vec<Cost>]) -> Result<usize, Failure> {
    let glance = Cost::parse_epsilon("0.01")?.cost;
    let admits = |count: usize| -> Result<bool, Failure> {
        let mut costs = charges[..count.min(charges.len())].concat();
        costs.resize(costs.len() + count.saturating_sub(charges.len()), glance);
        Ok(value(MixedRounds::new(&costs)?.optimal_epsilon(budget.delta())) <= budget.epsilon().approximate())
    };
    let (mut admitted, mut refused) = (0, 4 * charges.len() + 16);
    while refused - admitted > 1 {
        let middle = (admitted + refused) / 2;
        if admits(middle)? { admitted = middle } else { refused = middle }
    }
    Ok(admitted)
}

/// The meters along the ride, and what every rule had left.
fn ride_figure(ride: &Ride, folder: &Path) -> Result<PathBuf, Failure> {
    let rounds = ride.charges.len();
    let mut sum = 0.0;
    let sums = ride.charges.iter().enumerate().map(|(at, costs)| {
        sum += costs.iter().map(|cost| cost.size().approximate()).sum::<f64>();
        ((at + 1) as f64, sum)
    });
    let readings = ride.meter.iter().enumerate().map(|(at, (_, reading))| ((at + 1) as f64, *reading));
    let (mut optimal, mut misused) = (Vec::new(), Vec::new());
    for count in (1..=rounds).filter(|count| count.is_multiple_of((rounds / 40).max(1)) || *count == rounds) {
        let fixed = MixedRounds::new(&ride.charges[..count].concat())?;
        optimal.push((count as f64, value(fixed.optimal_epsilon(ride.budget.delta()))));
        misused.push((count as f64, value(fixed.advanced_epsilon(ride.budget.delta()))));
    }
    let line = |name: &str, points: Vec<(f64, f64)>, kind: Kind| Line { name: name.to_string(), points, kind };
    let epsilon = ride.budget.epsilon().approximate();
    let meters = Panel {
        title: "What the meters read".to_string(),
        x: Axis::new("answered questions", Scale::Linear),
        y: Axis { range: Some((0.0, 3.0)), ..Axis::new("ε at δ = 1e-6", Scale::Linear) },
        lines: vec![
            line("sum of all ε", sums.collect(), Kind::Own),
            line("odometer", readings.collect(), Kind::Own),
            line("the budget", vec![(0.0, epsilon), (rounds as f64, epsilon)], Kind::Reference),
            line("fixed in advance, optimum", optimal, Kind::Reference),
            line("advanced theorem, misused", misused, Kind::Reference),
        ],
        legend: SeriesLabelPosition::UpperLeft,
    };
    let mut lines = Vec::new();
    for rule in FilterRule::ALL {
        let mut filter = Filter::new(FilterSpec::new(rule, ride.budget))?;
        let mut points = vec![(0.0, 100.0)];
        'ride: for (at, costs) in ride.charges.iter().enumerate() {
            for cost in costs {
                if let Verdict::Halt(_) = filter.charge(cost)? {
                    break 'ride;
                }
            }
            points.push(((at + 1) as f64, 100.0 * filter.left().share));
        }
        lines.push(line(rule.name(), points, Kind::Own));
    }
    let left = Panel {
        title: "What every rule has left".to_string(),
        x: Axis { range: Some((0.0, rounds as f64)), ..Axis::new("answered questions", Scale::Linear) },
        y: Axis { range: Some((0.0, 100.0)), ..Axis::new("% of its budget", Scale::Linear) },
        lines,
        legend: SeriesLabelPosition::UpperRight,
    };
    let path = folder.join("ride.svg");
    draw(&path, "A ride on a budget of (1, 1e-6)", &[meters, left])?;
    Ok(path)
}

/// What the analyst saw, beside what only the storyteller knows.
fn districts_figure(ride: &Ride, population: &Population, folder: &Path) -> Result<PathBuf, Failure> {
    let truth: Vec<_> = (0..DISTRICTS).map(|district| (district as f64, population.sick[district] as f64)).collect();
    let glances = f64::from(ride.analyst.rounds.max(1));
    let seen = (0..DISTRICTS).map(|district| (district as f64, ride.analyst.glances[district] / glances));
    let seen: Vec<_> = seen.collect();
    // Room for the legend above, and for noise below 0.
    let values = || truth.iter().chain(&seen).map(|(_, value)| *value);
    let (lowest, highest) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let panel = Panel {
        title: format!("The mean of {} glances of ε = 0.01, and the truth", ride.analyst.rounds),
        x: Axis { range: Some((-1.0, DISTRICTS as f64)), ..Axis::new("district", Scale::Linear) },
        y: Axis { range: Some((lowest, 1.25 * highest)), ..Axis::new("people who are sick", Scale::Linear) },
        lines: vec![
            Line { name: "the truth".to_string(), points: truth, kind: Kind::Bars },
            Line { name: "seen through the noise".to_string(), points: seen, kind: Kind::Dots },
        ],
        legend: SeriesLabelPosition::UpperRight,
    };
    let path = folder.join("districts.svg");
    draw(&path, "What the analyst saw", &[panel])?;
    Ok(path)
}
