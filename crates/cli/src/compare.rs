//! `taximeter compare`: the total of k equal costs by each odometer, filter and theorem.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use plotters::chart::SeriesLabelPosition;
use serde_json::{Value as Json, json};
use taximeter_accounting::reference::{FixedInAdvance, FixedRounds, GaussianRounds};
use taximeter_accounting::{
    Amount, Budget, Cost, Filter, FilterRule, Odometer, OdometerRule, OdometerSpec, Reading, Rounding,
};
use taximeter_service::Computed;

use crate::args::{CostArgs, MechanismDelta, RuleArgs, flag};
use crate::figure::{self, FigureAxis, FigurePanel, FigureSeries, SeriesKind, spread};
use crate::output::{Failure, print, show_cost, show_number, tell, thousands, usage};
use crate::progress::Progress;
use crate::table::TextTable;

/// The total of k equal costs by each odometer, filter and theorem
#[derive(Args)]
#[command(after_help = "Example: taximeter compare --epsilon 0.01 --rounds 1000 --at-delta 1e-6 --figure out.svg")]
pub struct CompareCommand {
    /// The number of equal costs
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=MOST_ROUNDS))]
    rounds: u64,
    /// The delta at which readings and budgets hold
    #[arg(long, value_name = "DELTA", default_value = "1e-6")]
    at_delta: String,
    #[command(flatten)]
    mechanism_delta: MechanismDelta,
    /// Draw the totals over the number of costs, as SVG
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

/// The residue filter takes a step for each round; more rounds would take minutes.
const MOST_ROUNDS: u64 = 1_000_000;

/// A computed ε, or why there is none.
type Value = Result<f64, String>;

/// The value of one rule or theorem.
struct ComparedRule {
    name: &'static str,
    value: Value,
    /// For an odometer: its guarantee and its parameters.
    detail: Option<Detail>,
}

struct Detail {
    two_sided: bool,
    guarantee: String,
    parameters: Vec<(&'static str, String)>,
}

/// Everything that is compared, at one number of rounds.
struct RuleComparison {
    odometers: Vec<ComparedRule>,
    filters: Vec<ComparedRule>,
    theorems: Vec<ComparedRule>,
}

impl CompareCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let cost = self.cost.cost()?;
        let at_delta = flag("--at-delta", &self.at_delta, Rounding::Down)?;
        let mechanism_delta = self.mechanism_delta.amount()?;
        if self.rules.has_slack() && mechanism_delta.is_zero() {
            return Err(usage("--slack needs a part of delta set aside with --mechanism-delta"));
        }
        let expected = expected(&cost, self.rounds, at_delta);
        let base = &OdometerSpec { mechanism_delta, expected, ..OdometerSpec::new(OdometerRule::default(), at_delta) };
        let comparison = self.compare(&cost, self.rounds, base, &Progress::new("comparing").shares())?;
        if let Some(path) = &self.figure {
            self.draw(&cost, base, path)?;
        }
        let document = document(cost, self.rounds, at_delta, &comparison);
        print(self.json, &document, || text(&cost, self.rounds, at_delta, &comparison))
    }

    fn compare(
        &self,
        cost: &Cost,
        rounds: u64,
        base: &OdometerSpec,
        progress: &dyn Fn(f64),
    ) -> Result<RuleComparison, Failure> {
        let total = (OdometerRule::ALL.len() + FilterRule::ALL.len()) as f64;
        let mut odometers = Vec::new();
        for rule in OdometerRule::ALL {
            odometers.push(self.reading(rule, cost, rounds, base)?);
        }
        let mut filters = Vec::new();
        for rule in FilterRule::ALL {
            progress((odometers.len() + filters.len()) as f64 / total);
            filters.push(ComparedRule {
                name: rule.name(),
                value: self.smallest(rule, cost, rounds, base)?,
                detail: None,
            });
        }
        Ok(RuleComparison { odometers, filters, theorems: theorems(cost, rounds, base.at_delta) })
    }

    fn reading(
        &self,
        rule: OdometerRule,
        cost: &Cost,
        rounds: u64,
        base: &OdometerSpec,
    ) -> Result<ComparedRule, Failure> {
        let spec = self.rules.odometer(rule, base)?;
        let read = || {
            let mut odometer = Odometer::new(spec)?;
            odometer.charge_times(cost, rounds)?;
            Ok::<_, taximeter_accounting::Error>((odometer.reading(), odometer.spec().parameters.named()))
        };
        Ok(match read() {
            Ok((reading @ Reading { unbounded, guarantee, .. }, parameters)) => ComparedRule {
                name: rule.name(),
                value: unbounded.map_or_else(|| Ok(reading.printed()), |why| Err(why.to_string())),
                detail: Some(Detail { two_sided: guarantee.two_sided, guarantee: guarantee.to_string(), parameters }),
            },
            Err(error) => ComparedRule { name: rule.name(), value: Err(error.to_string()), detail: None },
        })
    }

    fn smallest(&self, rule: FilterRule, cost: &Cost, rounds: u64, base: &OdometerSpec) -> Result<Value, Failure> {
        let budget = Budget::new(Amount::ONE, base.at_delta)?.with_mechanism_delta(base.mechanism_delta)?;
        let spec = self.rules.filter(rule, budget)?;
        Ok(match Filter::smallest_epsilon(&spec, cost, rounds) {
            Ok(Some(epsilon)) => Ok(epsilon),
            Ok(None) if !cost.delta().is_zero() => Err("too little delta is set aside (--mechanism-delta)".to_string()),
            Ok(None) => Err(format!("no epsilon up to {} is enough", Filter::LARGEST_EPSILON)),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Everything over the number of rounds.
    fn draw(&self, cost: &Cost, base: &OdometerSpec, path: &std::path::Path) -> Result<(), Failure> {
        let mut comparisons = Vec::new();
        for rounds in Progress::over("drawing", spread(1.0, self.rounds as f64, 40).into_iter()) {
            comparisons.push((rounds, self.compare(cost, rounds, base, &|_| {})?));
        }
        let lines = |rows: fn(&RuleComparison) -> &[ComparedRule], kind: SeriesKind| -> Vec<FigureSeries> {
            let line = |at: usize| {
                let value = |(rounds, comparison): &(u64, RuleComparison)| {
                    rows(comparison)[at].value.as_ref().ok().map(|value| (*rounds as f64, *value))
                };
                let points: Vec<_> = comparisons.iter().filter_map(value).collect();
                let before = if kind == SeriesKind::Reference { "fixed in advance: " } else { "" };
                let end = points.last().map_or(String::new(), |point| format!(": {:.3} at the end", point.1));
                let name = rows(&comparisons[0].1)[at].name;
                FigureSeries::new(kind, format!("{before}{name}{end}")).through(points)
            };
            (0..rows(&comparisons[0].1).len()).map(line).collect()
        };
        let panel = |title: &'static str, rows: fn(&RuleComparison) -> &[ComparedRule]| {
            let own = lines(rows, SeriesKind::Own);
            let values = |skipped: usize| own.iter().skip(skipped).flat_map(|line| &line.points).map(|point| point.1);
            // Basic composition, the first, is far above the others; it may leave the chart, so that the others stay distinct.
            let highest = values(1).fold(0.0, f64::max) * 1.5;
            let lowest = values(0).fold(highest, f64::min) * 0.8;
            // Basic composition is the same for costs fixed in advance, and drawn once.
            let references = lines(|comparison| &comparison.theorems, SeriesKind::Reference).into_iter().skip(1);
            FigurePanel {
                title,
                x: FigureAxis::logarithmic("number of costs"),
                y: FigureAxis::logarithmic("ε").from(lowest, highest),
                lines: references.chain(own).collect(),
                // The lines rise from the lower left to the upper right.
                legend: SeriesLabelPosition::LowerRight,
            }
        };
        let panels = [
            panel("Odometers: what they read", |comparison| &comparison.odometers),
            panel("Filters: the smallest budget that admits them", |comparison| &comparison.filters),
        ];
        let title = format!("Costs of {} each, at δ = {}", show_cost(cost), base.at_delta);
        figure::draw(path, &title, &panels)?;
        tell(&format!("wrote {}", path.display()));
        Ok(())
    }
}

/// The total by the default odometer. The parameters of the other odometers are chosen for this reading.
fn expected(cost: &Cost, rounds: u64, at_delta: Amount) -> Amount {
    let read = || {
        let mut odometer = Odometer::new(OdometerSpec::new(OdometerRule::default(), at_delta)).ok()?;
        odometer.charge_times(cost, rounds).ok()?;
        Some(Amount::at_most(odometer.reading().value)).filter(|reading| !reading.is_zero())
    };
    read().unwrap_or(Amount::ONE)
}

/// The theorems for parameters fixed in advance.
fn theorems(cost: &Cost, rounds: u64, delta: Amount) -> Vec<ComparedRule> {
    let values = match (cost, FixedRounds::new(cost, rounds)) {
        (Cost::Gaussian { mu }, _) => [None, None, GaussianRounds::new(*mu, rounds).optimal_epsilon(delta)],
        (_, Ok(fixed)) => [fixed.basic_epsilon(delta), fixed.advanced_epsilon(delta), fixed.optimal_epsilon(delta)],
        (_, Err(_)) => [None; 3],
    };
    let why = || "no theorem for such costs at this delta".to_string();
    let names = ["basic", "advanced", "optimal"].into_iter();
    let row = |(name, value): (_, Option<FixedInAdvance>)| ComparedRule {
        name,
        value: value.map(FixedInAdvance::value).ok_or_else(why),
        detail: None,
    };
    names.zip(values).map(row).collect()
}

fn document(cost: Cost, rounds: u64, at_delta: Amount, comparison: &RuleComparison) -> Json {
    let rows = |rows: &[ComparedRule], key: &str, number: &str| -> Json {
        let row = |row: &ComparedRule| {
            let mut object = json!({ key: row.name, number: row.value.as_ref().ok().map(|value| Computed(*value)) });
            if let Err(reason) = &row.value {
                object["reason"] = json!(reason);
            }
            if let Some(detail) = &row.detail {
                object["guarantee"] = json!(detail.guarantee);
                let named = detail.parameters.iter().map(|(name, value)| (name.to_string(), json!(value)));
                object["parameters"] = Json::Object(named.collect());
            }
            object
        };
        rows.iter().map(row).collect()
    };
    json!({
        "cost": cost,
        "rounds": rounds,
        "at_delta": at_delta,
        "odometers": rows(&comparison.odometers, "rule", "reading"),
        "filters": rows(&comparison.filters, "rule", "epsilon"),
        "fixed_in_advance": rows(&comparison.theorems, "theorem", "epsilon"),
    })
}

fn text(cost: &Cost, rounds: u64, at_delta: Amount, comparison: &RuleComparison) -> String {
    let mut table = TextTable::new(&["", "rule", ">ε", ""]);
    for (what, rows) in [
        ("odometer reads", &comparison.odometers),
        ("filter needs a budget of", &comparison.filters),
        ("if all were fixed in advance", &comparison.theorems),
    ] {
        for (at, row) in rows.iter().enumerate() {
            let what = if at == 0 { what } else { "" };
            match &row.value {
                Ok(value) => table.row([what, row.name, &show_number(*value), &detail(row)]),
                Err(reason) => table.row([what, row.name, "–", reason]),
            }
        }
    }
    format!("{} costs of {} each, at δ = {at_delta}:\n\n{table}", thousands(rounds), show_cost(cost))
}

/// The sides that a reading bounds, and its parameters.
fn detail(row: &ComparedRule) -> String {
    let Some(detail) = &row.detail else { return String::new() };
    let sides = if detail.two_sided { "two-sided" } else { "one-sided" };
    let parameters = detail.parameters.iter().map(|(name, value)| format!(", {name} {value}"));
    format!("{sides}{}", parameters.collect::<String>())
}
