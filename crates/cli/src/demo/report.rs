//! The report of a demo: how many questions each rule would have answered, the readings, and the verification of the ledger.

use std::path::{Path, PathBuf};

use plotters::prelude::SeriesLabelPosition;
use serde::Serialize;
use taximeter_accounting::reference::{FixedInAdvance, MixedRounds};
use taximeter_accounting::{Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Verdict};
use taximeter_ledger::{Location, verify};
use taximeter_service::{BudgetDocument, Computed};

use super::Ride;
use super::population::{DISTRICTS, Population};
use crate::figure::{FigureAxis, FigurePanel, FigureSeries, SeriesKind, draw, most_that_fit};
use crate::output::{Failure, show_number, thousands};
use crate::table::TextTable;

/// The report, as JSON.
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
            let count = shares_left(rule, budget, &ride.charges)?.len() - 1;
            answered.push(AnsweredJson { rule: rule.name(), answered: count, guarantee: rule.guarantee(&budget) });
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

    /// The report for people.
    pub fn text(&self, ride: &Ride, folder: &Path) -> String {
        let mut rules = TextTable::new(&["rule", ">answers these questions", "guarantee"]);
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
            format!("all, and {more} more glances"),
            "if all costs had been fixed before the first answer".to_string(),
        ]);
        let mut meters = TextTable::new(&["after the last answer", ">ε at δ = 1e-6", ""]);
        for (name, value, meaning) in [
            ("sum of all ε", self.spent_epsilon.approximate(), "basic composition"),
            ("odometer", self.reading.0, "valid at every moment, however the ride might have been stopped"),
            ("fixed in advance, optimum", self.fixed_in_advance_optimal.0, "not for costs chosen along the way"),
            (
                "advanced theorem, misused",
                self.invalid_heuristic.0,
                "not valid here: the costs were chosen along the way",
            ),
        ] {
            meters.row([name, &show_number(value), meaning]);
        }
        let names = |districts: &[usize]| districts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let ledger = folder.join("taximeter.db");
        let ledger = ledger.display();
        format!(
            "\nThe filter halted after {} answers. The same questions, in the same order, under each rule:\n\n{rules}\n\n{meters}\n\n\
             The odometer may read more than the budget of {} although the filter kept to it: a reading must hold at every moment,\n\
             the filter's promise only for what it admitted.\n\n\
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
        )
    }
}

fn value(bound: Option<FixedInAdvance>) -> f64 {
    bound.map_or(f64::INFINITY, FixedInAdvance::value)
}

/// The share in percent that a rule has left: before the first question, and after each question until its first refusal.
fn shares_left(rule: FilterRule, budget: Budget, charges: &[Vec<Cost>]) -> Result<Vec<f64>, Failure> {
    let mut filter = Filter::new(FilterSpec::new(rule, budget))?;
    let mut shares = vec![100.0];
    for costs in charges {
        for cost in costs {
            if let Verdict::Halt(_) = filter.charge(cost)? {
                return Ok(shares);
            }
        }
        shares.push(100.0 * filter.left().share);
    }
    Ok(shares)
}

/// The number of questions that the optimum admits for costs fixed in advance: these questions, and then glances.
fn answered_in_advance(budget: Budget, charges: &[Vec<Cost>]) -> Result<usize, Failure> {
    let glance = Cost::parse_epsilon("0.01")?.cost;
    let admits = |count: usize| -> Result<bool, Failure> {
        let mut costs = charges[..count.min(charges.len())].concat();
        costs.resize(costs.len() + count.saturating_sub(charges.len()), glance);
        Ok(value(MixedRounds::new(&costs)?.optimal_epsilon(budget.delta())) <= budget.epsilon().approximate())
    };
    most_that_fit(4 * charges.len() + 16, admits)
}

/// Draws the readings during the ride, and what every rule had left.
fn ride_figure(ride: &Ride, folder: &Path) -> Result<PathBuf, Failure> {
    let rounds = ride.charges.len();
    let mut sum = 0.0;
    let sums = (1..).zip(&ride.charges).map(|(round, costs)| {
        sum += costs.iter().map(|cost| cost.size().approximate()).sum::<f64>();
        (f64::from(round), sum)
    });
    let sums = FigureSeries::new(SeriesKind::Own, "sum of all ε").through(sums);
    let readings = (1..).zip(&ride.meter).map(|(round, (_, reading))| (f64::from(round), *reading));
    let readings = FigureSeries::new(SeriesKind::Own, "odometer").through(readings);
    let epsilon = ride.budget.epsilon().approximate();
    let budget =
        FigureSeries::new(SeriesKind::Reference, "the budget").through([(0.0, epsilon), (rounds as f64, epsilon)]);
    let mut optimal = FigureSeries::new(SeriesKind::Reference, "fixed in advance, optimum");
    let mut misused = FigureSeries::new(SeriesKind::Reference, "advanced theorem, misused");
    for count in (1..=rounds).filter(|count| count.is_multiple_of((rounds / 40).max(1)) || *count == rounds) {
        let fixed = MixedRounds::new(&ride.charges[..count].concat())?;
        optimal.points.push((count as f64, value(fixed.optimal_epsilon(ride.budget.delta()))));
        misused.points.push((count as f64, value(fixed.advanced_epsilon(ride.budget.delta()))));
    }
    let mut left = Vec::new();
    for rule in FilterRule::ALL {
        let shares = (0..).map(f64::from).zip(shares_left(rule, ride.budget, &ride.charges)?);
        left.push(FigureSeries::new(SeriesKind::Own, rule.name()).through(shares));
    }
    let panels = [
        FigurePanel {
            title: "What the meters read",
            x: FigureAxis::linear("answered questions"),
            y: FigureAxis::linear("ε at δ = 1e-6").from(0.0, 3.0),
            lines: vec![sums, readings, budget, optimal, misused],
            legend: SeriesLabelPosition::UpperLeft,
        },
        FigurePanel {
            title: "What every rule has left",
            x: FigureAxis::linear("answered questions").from(0.0, rounds as f64),
            y: FigureAxis::linear("% of its budget").from(0.0, 100.0),
            lines: left,
            legend: SeriesLabelPosition::UpperRight,
        },
    ];
    let path = folder.join("ride.svg");
    draw(&path, "A ride on a budget of (1, 1e-6)", &panels)?;
    Ok(path)
}

/// Draws what the analyst saw, and the truth.
fn districts_figure(ride: &Ride, population: &Population, folder: &Path) -> Result<PathBuf, Failure> {
    let glances = f64::from(ride.analyst.rounds.max(1));
    let by_district =
        |value: &dyn Fn(usize) -> f64| (0..DISTRICTS).map(|at| (at as f64, value(at))).collect::<Vec<_>>();
    let truth = FigureSeries::new(SeriesKind::Bars, "the truth").through(by_district(&|at| population.sick[at] as f64));
    let seen = FigureSeries::new(SeriesKind::Dots, "seen through the noise")
        .through(by_district(&|at| ride.analyst.glances[at] / glances));
    // Leaves room for the legend at the top, and for noise below 0.
    let values = || truth.points.iter().chain(&seen.points).map(|(_, value)| *value);
    let (lowest, highest) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let panel = FigurePanel {
        title: "The mean of all glances, and the truth",
        x: FigureAxis::linear("district").from(-1.0, DISTRICTS as f64),
        y: FigureAxis::linear("people who are sick").from(lowest, 1.25 * highest),
        lines: vec![truth, seen],
        legend: SeriesLabelPosition::UpperRight,
    };
    let path = folder.join("districts.svg");
    draw(&path, &format!("What the analyst saw in {} glances of ε = 0.01", ride.analyst.rounds), &[panel])?;
    Ok(path)
}
