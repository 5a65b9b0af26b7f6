//! `taximeter compare`: what k equal costs add up to, by each odometer, filter and theorem.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;
use taximeter_accounting::reference::{FixedRounds, GaussianRounds};
use taximeter_accounting::{Amount, Budget, Cost, Filter, FilterRule, Odometer, OdometerRule, Rounding};

use crate::args::{CostArgs, Level, MechanismDelta, RuleArgs, flag};
use crate::figure::{self, Line, Panel};
use crate::output::{Computed, Failure, print_json, print_line, show_number, thousands};
use crate::table::Table;

/// What k equal costs add up to, by each odometer, filter and theorem.
#[derive(Args)]
#[command(after_help = "Example: taximeter compare --epsilon 0.01 --rounds 1000 --at-delta 1e-6 --figure out.svg")]
pub struct Compare {
    /// How many equal costs there are
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=MOST_ROUNDS))]
    rounds: u64,
    /// The delta at which readings and budgets hold
    #[arg(long, value_name = "DELTA", default_value = "1e-6")]
    at_delta: String,
    #[command(flatten)]
    mechanism_delta: MechanismDelta,
    /// Draw everything over the number of costs, as SVG
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cost: CostArgs,
    #[command(flatten)]
    rules: RuleArgs,
}

/// The residue filter takes a step for each; more would take minutes.
const MOST_ROUNDS: u64 = 1_000_000;

/// A computed ε, or why there is none.
type Value = Result<f64, String>;

#[derive(Serialize)]
struct Document {
    cost: Cost,
    rounds: u64,
    at_delta: Amount,
    odometers: Vec<OdometerJson>,
    filters: Vec<FilterJson>,
    fixed_in_advance: Vec<TheoremJson>,
}

#[derive(Serialize)]
struct OdometerJson {
    rule: &'static str,
    reading: Option<Computed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct FilterJson {
    rule: &'static str,
    epsilon: Option<Computed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct TheoremJson {
    theorem: &'static str,
    epsilon: Option<Computed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Everything that is compared, at one number of rounds.
struct Comparison {
    odometers: Vec<(OdometerRule, Value)>,
    filters: Vec<(FilterRule, Value)>,
    theorems: Vec<(&'static str, Value)>,
}

impl Compare {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let cost = self.cost.cost()?;
        let at_delta = flag("--at-delta", &self.at_delta, Rounding::Down)?;
        let level = Level { at_delta, mechanism_delta: self.mechanism_delta.amount()?, expected: Amount::ONE };
        let comparison = self.compare(&cost, self.rounds, level)?;
        if let Some(path) = &self.figure {
            self.draw(&cost, level, path)?;
        }
        if self.json {
            print_json(&document(cost, self.rounds, at_delta, comparison))?;
        } else {
            print_line(&text(&cost, self.rounds, at_delta, &comparison))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn compare(&self, cost: &Cost, rounds: u64, level: Level) -> Result<Comparison, Failure> {
        let mut odometers = Vec::new();
        for rule in OdometerRule::ALL {
            odometers.push((rule, self.reading(rule, cost, rounds, level)?));
        }
        let mut filters = Vec::new();
        for rule in FilterRule::ALL {
            filters.push((rule, self.smallest(rule, cost, rounds, level)?));
        }
        Ok(Comparison { odometers, filters, theorems: theorems(cost, rounds, level.at_delta) })
    }

    fn reading(&self, rule: OdometerRule, cost: &Cost, rounds: u64, level: Level) -> Result<Value, Failure> {
        let spec = self.rules.odometer(rule, level)?;
        let read = || {
            let mut odometer = Odometer::new(spec)?;
            odometer.charge_times(cost, rounds)?;
            Ok::<_, taximeter_accounting::Error>(odometer.reading())
        };
        Ok(match read() {
            Ok(reading) => reading.unbounded.map_or(Ok(reading.value), |why| Err(why.to_string())),
            Err(error) => Err(error.to_string()),
        })
    }

    fn smallest(&self, rule: FilterRule, cost: &Cost, rounds: u64, level: Level) -> Result<Value, Failure> {
        let budget = Budget::new(Amount::ONE, level.at_delta)?.with_mechanism_delta(level.mechanism_delta)?;
        let spec = self.rules.filter(rule, budget)?;
        Ok(match Filter::smallest_epsilon(&spec, cost, rounds) {
            Ok(Some(epsilon)) => Ok(epsilon),
            Ok(None) if !cost.delta().is_zero() => {
                Err("no epsilon up to 1000, with so little delta set aside (--mechanism-delta)".to_string())
            }
            Ok(None) => Err("no epsilon up to 1000 is enough".to_string()),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Everything over the number of rounds.
    fn draw(&self, cost: &Cost, level: Level, path: &std::path::Path) -> Result<(), Failure> {
        let points = round_numbers(self.rounds);
        let progress = ProgressBar::new(points.len() as u64);
        let mut comparisons = Vec::new();
        for &rounds in &points {
            comparisons.push((rounds, self.compare(cost, rounds, level)?));
            progress.inc(1);
        }
        progress.finish_and_clear();
        let line = |name: &str, value: &dyn Fn(&Comparison) -> &Value| Line {
            name: name.to_string(),
            points: comparisons
                .iter()
                .filter_map(|(rounds, comparison)| {
                    value(comparison).as_ref().ok().map(|value| (*rounds as f64, *value))
                })
                .collect(),
        };
        let references = || (1..3).map(|at| line(THEOREM_LABELS[at], &|comparison| &comparison.theorems[at].1));
        let odometers = OdometerRule::ALL.iter().enumerate();
        let filters = FilterRule::ALL.iter().enumerate();
        let panels = [
            Panel {
                title: "Odometers: what they read".to_string(),
                lines: odometers
                    .map(|(at, rule)| line(rule.name(), &|comparison| &comparison.odometers[at].1))
                    .collect(),
                references: references().collect(),
            },
            Panel {
                title: "Filters: the smallest budget that admits them".to_string(),
                lines: filters.map(|(at, rule)| line(rule.name(), &|comparison| &comparison.filters[at].1)).collect(),
                references: references().collect(),
            },
        ];
        let title = format!("Costs of {cost} each, at δ = {}", level.at_delta);
        figure::draw(path, &title, "number of costs", "ε", &panels)?;
        eprintln!("wrote {}", path.display());
        Ok(())
    }
}

const THEOREMS: [&str; 3] = ["basic", "advanced", "optimal"];
/// As they stand in a figure, where basic composition is drawn once.
const THEOREM_LABELS: [&str; 3] =
    ["fixed in advance: basic", "fixed in advance: advanced", "fixed in advance: optimal"];

/// The theorems for parameters fixed in advance.
fn theorems(cost: &Cost, rounds: u64, delta: Amount) -> Vec<(&'static str, Value)> {
    let values = match (cost, FixedRounds::new(cost, rounds)) {
        (Cost::Gaussian { mu }, _) => [None, None, GaussianRounds::new(*mu, rounds).optimal_epsilon(delta)],
        (_, Ok(fixed)) => [fixed.basic_epsilon(delta), fixed.advanced_epsilon(delta), fixed.optimal_epsilon(delta)],
        (_, Err(_)) => [None; 3],
    };
    let why = || "no theorem for such costs at this delta".to_string();
    THEOREMS
        .into_iter()
        .zip(values)
        .map(|(name, value)| (name, value.map(|value| value.value()).ok_or_else(why)))
        .collect()
}

/// About forty whole numbers from 1 to the last, evenly spread on a logarithmic scale.
fn round_numbers(last: u64) -> Vec<u64> {
    const POINTS: u32 = 40;
    let mut numbers: Vec<u64> =
        (0..=POINTS).map(|at| (last as f64).powf(f64::from(at) / f64::from(POINTS)).round() as u64).collect();
    numbers.dedup();
    numbers
}

fn document(cost: Cost, rounds: u64, at_delta: Amount, comparison: Comparison) -> Document {
    let split = |value: Value| match value {
        Ok(value) => (Some(Computed(value)), None),
        Err(reason) => (None, Some(reason)),
    };
    Document {
        cost,
        rounds,
        at_delta,
        odometers: comparison
            .odometers
            .into_iter()
            .map(|(rule, value)| {
                let (reading, reason) = split(value);
                OdometerJson { rule: rule.name(), reading, reason }
            })
            .collect(),
        filters: comparison
            .filters
            .into_iter()
            .map(|(rule, value)| {
                let (epsilon, reason) = split(value);
                FilterJson { rule: rule.name(), epsilon, reason }
            })
            .collect(),
        fixed_in_advance: comparison
            .theorems
            .into_iter()
            .map(|(theorem, value)| {
                let (epsilon, reason) = split(value);
                TheoremJson { theorem, epsilon, reason }
            })
            .collect(),
    }
}

fn text(cost: &Cost, rounds: u64, at_delta: Amount, comparison: &Comparison) -> String {
    let mut table = Table::new(&["", "rule", ">ε", ""]);
    let mut section = |what: &str, name: &str, value: &Value| match value {
        Ok(value) => table.row([what, name, &show_number(*value), ""]),
        Err(reason) => table.row([what, name, "–", reason]),
    };
    let first = |at: usize, what: &'static str| if at == 0 { what } else { "" };
    for (at, (rule, value)) in comparison.odometers.iter().enumerate() {
        section(first(at, "odometer reads"), rule.name(), value);
    }
    for (at, (rule, value)) in comparison.filters.iter().enumerate() {
        section(first(at, "filter needs a budget of"), rule.name(), value);
    }
    for (at, (theorem, value)) in comparison.theorems.iter().enumerate() {
        section(first(at, "if all were fixed in advance"), theorem, value);
    }
    format!("{} costs of {cost} each, at δ = {at_delta}:\n\n{table}", thousands(rounds))
}
