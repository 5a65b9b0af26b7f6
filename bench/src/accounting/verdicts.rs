//! The slowest verdict: costs of every kind and size, and close to what is left, asked of filters in several states.

use std::fmt;
use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::Instant;

use serde::Serialize;
use taximeter_accounting::{Amount, Budget, Cost, CostKind, Error, Filter, FilterRule, FilterSpec};

use super::{Effort, progress};
use crate::figure::{Figure, Wanted, duration};
use crate::table::PrintedTable;
use crate::table::TableColumn::{Number, Text};

/// The slowest verdict of every rule.
#[derive(Serialize)]
pub struct Verdicts {
    /// One row for each rule.
    pub rows: Vec<VerdictRow>,
}

/// The slowest verdict of one rule.
#[derive(Serialize)]
pub struct VerdictRow {
    rule: &'static str,
    cases: usize,
    /// The slowest case, each taken at its fastest answer: the computation is the same each time, the rest is the machine.
    pub slowest_case_nanoseconds: Figure,
    slowest_case: String,
    /// The slowest answer of all, with whatever else the machine did meanwhile.
    slowest_answer_nanoseconds: f64,
}

/// Someone waits for a verdict.
const WANTED: Wanted = Wanted::AtMost(1e6);

/// Small, usual and large, each with half of its δ set aside for the mechanisms.
const BUDGETS: [&str; 3] = ["0.1,1e-9", "1,1e-6", "10,1e-5"];

impl Verdicts {
    /// Asks every rule.
    pub fn measure(effort: &Effort) -> Result<Verdicts, String> {
        let rows = FilterRule::ALL.into_iter().map(|rule| {
            progress(format_args!("filter {}: the slowest verdict", rule.name()));
            slowest(rule, effort).map_err(|error| error.to_string())
        });
        Ok(Verdicts { rows: rows.collect::<Result<_, _>>()? })
    }
}

fn slowest(rule: FilterRule, effort: &Effort) -> Result<VerdictRow, Error> {
    let (mut cases, mut slowest_case, mut slowest_answer, mut described) = (0, 0.0, 0.0f64, String::new());
    for text in BUDGETS {
        let budget = Budget::parse(text)?;
        let budget = budget.with_mechanism_delta(Amount::from_units(budget.delta().units() / 2))?;
        for (filter, charges) in states(Filter::new(FilterSpec::new(rule, budget))?)? {
            for cost in costs(&filter, effort)? {
                let (fastest, slowest) = answers(&filter, &cost, effort.verdict_repetitions)?;
                cases += 1;
                slowest_answer = slowest_answer.max(slowest);
                if fastest > slowest_case {
                    slowest_case = fastest;
                    described = format!("{cost} after {charges} charges on ({text})");
                }
            }
        }
    }
    Ok(VerdictRow {
        rule: rule.name(),
        cases,
        slowest_case_nanoseconds: Figure::new(slowest_case, Some(WANTED)),
        slowest_case: described,
        slowest_answer_nanoseconds: slowest_answer,
    })
}

/// A filter untouched, half used, one charge before its end and at its end, with the number of charges behind each.
fn states(mut filter: Filter) -> Result<Vec<(Filter, usize)>, Error> {
    const HUNDRED: NonZeroU64 = NonZeroU64::new(100).unwrap();
    let cost = Cost::Pure { epsilon: filter.spec().budget.epsilon().split(HUNDRED) };
    let mut states = vec![filter.clone()];
    while filter.charge(&cost)?.continues() {
        states.push(filter.clone());
    }
    let last = states.len() - 1;
    let mut chosen = vec![0, last / 2, last.saturating_sub(1), last];
    chosen.dedup();
    Ok(chosen.into_iter().map(|charges| (states[charges].clone(), charges)).collect())
}

/// Costs of every kind that the rule takes, of all sizes and around the largest that fits.
fn costs(filter: &Filter, effort: &Effort) -> Result<Vec<Cost>, Error> {
    let rule = filter.spec().rule();
    let kinds = CostKind::ALL.into_iter().filter(|&kind| rule.takes(kind)).map(CostKind::example);
    let with_delta = Cost::approximate(Amount::ONE, Amount::parse_exact("1e-12")?)?;
    let mut costs = Vec::new();
    for usual in kinds.chain([with_delta]) {
        let largest = filter.largest(&usual, 1)?.map_or(Amount::ZERO, |cost| cost.size());
        let sizes = sizes(effort.sizes_per_decade).chain(near(largest));
        costs.extend(sizes.map(|size| usual.with_size(size)));
    }
    Ok(costs)
}

/// From the smallest amount to a thousand.
fn sizes(per_decade: u32) -> impl Iterator<Item = Amount> {
    let decades = Amount::PLACES + 3;
    (0..=decades * per_decade)
        .map(move |step| Amount::at_most(1e-30 * 10f64.powf(f64::from(step) / f64::from(per_decade))))
}

/// An amount, its neighbours, and what is a tenth, a hundredth, and so on, to either side of it.
fn near(amount: Amount) -> impl Iterator<Item = Amount> {
    let units = amount.units();
    let steps = (1..=15).map(move |digits| units / 10u128.pow(digits)).chain([0, 1]);
    steps.flat_map(move |step| [units.saturating_sub(step), units.saturating_add(step)]).map(Amount::from_units)
}

/// The fastest and the slowest of some equal questions, in nanoseconds.
fn answers(filter: &Filter, cost: &Cost, repetitions: usize) -> Result<(f64, f64), Error> {
    let (mut fastest, mut slowest) = (f64::INFINITY, 0.0f64);
    for _ in 0..repetitions {
        let start = Instant::now();
        black_box(black_box(filter).decide(black_box(cost))?);
        let elapsed = start.elapsed().as_nanos() as f64;
        (fastest, slowest) = (fastest.min(elapsed), slowest.max(elapsed));
    }
    Ok((fastest, slowest))
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "The slowest verdict: every kind of cost from 1e-30 to 1000 and around the largest that fits, on fresh, half used\n\
             and used up filters; a case is as slow as its fastest answer, the rest is the machine\n"
        )?;
        let mut table = PrintedTable::new([
            Text("rule"),
            Number("cases"),
            Number("slowest case"),
            Number("target"),
            Number("slowest answer"),
            Text("which case"),
        ]);
        for row in &self.rows {
            table.row([
                row.rule.to_string(),
                row.cases.to_string(),
                row.slowest_case_nanoseconds.show(duration),
                row.slowest_case_nanoseconds.show_wanted(duration),
                duration(row.slowest_answer_nanoseconds),
                row.slowest_case.clone(),
            ]);
        }
        write!(f, "{table}")
    }
}
