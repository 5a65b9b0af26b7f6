//! `taximeter plan --error`: what a precision costs, and how many such answers a budget gives.

use std::process::ExitCode;

use serde::Serialize;
use taximeter_accounting::{Budget, Cost, Count, Filter, FilterRule, FilterSpec};
use taximeter_gate::{NoiseKind, Number, cost_of_count};
use taximeter_service::BudgetDocument;

use crate::output::{Failure, in_flag, print, show_cost, show_count, show_share, thousands};
use crate::table::TextTable;

/// The errors beside the one that is wanted, as multiples of it.
const MULTIPLES: [(u32, u32); 5] = [(1, 2), (1, 1), (2, 1), (5, 1), (10, 1)];

#[derive(Serialize)]
struct PrecisionDocument {
    budget: BudgetDocument,
    rows: Option<u64>,
    max_rows_per_unit: u32,
    rule: &'static str,
    errors: Vec<PricedError>,
}

#[derive(Serialize)]
struct PricedError {
    /// The half width of the 95% interval.
    error: f64,
    /// Whether it is the one that was asked for.
    wanted: bool,
    /// As a share of the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    cost: Cost,
    /// How many such counts the budget answers by the default rule, and by adding up.
    answers: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
    by_adding_up: u64,
}

pub fn run(error: &str, rows: Option<u64>, most: u32, budget: Budget, json: bool) -> Result<ExitCode, Failure> {
    let wanted = Number::parse(error).map_err(in_flag("--error"))?.to_f64();
    let priced = |(times, part): (u32, u32)| {
        let width = wanted * f64::from(times) / f64::from(part);
        let number = Number::parse(&format!("{width:.9}")).map_err(in_flag("--error"))?;
        let cost = cost_of_count(number, NoiseKind::Laplace, most)?;
        let count = |rule| Filter::new(FilterSpec::new(rule, budget))?.count(&cost);
        let (own, basic): (Count, Count) = (count(FilterRule::default())?, count(FilterRule::Basic)?);
        Ok(PricedError {
            error: width,
            wanted: times == part,
            share: rows.map(|rows| width / rows as f64),
            cost,
            answers: own.count,
            at_least: own.at_least,
            by_adding_up: basic.count,
        })
    };
    let errors = MULTIPLES.into_iter().map(priced).collect::<Result<_, Failure>>()?;
    let rule = FilterRule::default().name();
    let document = PrecisionDocument { budget: (&budget).into(), rows, max_rows_per_unit: most, rule, errors };
    print(json, &document, || document.text(&budget))
}

impl PrecisionDocument {
    fn text(&self, budget: &Budget) -> String {
        let of_rows = self.rows.map_or(String::new(), |rows| format!(" of {} rows", thousands(rows)));
        let unit = match self.max_rows_per_unit {
            1 => "one row of a person counts".to_string(),
            most => format!("{most} rows of a person count"),
        };
        let heading = format!(">of {}", self.rows.map_or(String::new(), thousands));
        let mut headings = vec![">within ±", "cost", ">answers", ">by adding up", ""];
        if self.rows.is_some() {
            headings.insert(1, &heading);
        }
        let mut table = TextTable::new(&headings);
        for error in &self.errors {
            let mut row = vec![show_width(error.error)];
            row.extend(error.share.map(show_share));
            let answers = Count { count: error.answers, at_least: error.at_least };
            let wanted = if error.wanted { "← wanted" } else { "" };
            row.extend([
                show_cost(&error.cost),
                show_count(answers),
                thousands(error.by_adding_up),
                wanted.to_string(),
            ]);
            table.row(row);
        }
        format!(
            "Counts{of_rows}, where {unit}.\n\
             What an error costs, and how many such answers a budget of {budget} gives by {}:\n\n{table}\n\n\
             In 95 of 100 answers the truth is within the error.",
            self.rule
        )
    }
}

/// A width without digits that say nothing.
fn show_width(width: f64) -> String {
    let text = format!("{width:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
