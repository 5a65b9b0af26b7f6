//! `taximeter plan`: how many equal costs a budget admits, what a precision costs, and what a whole study needs.

mod precision;
mod study;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_accounting::reference::{FixedRounds, GaussianRounds};
use taximeter_accounting::{Budget, Cost, Count, Filter, FilterRule, Refusal, Verdict};
use taximeter_service::BudgetDocument;

use crate::advice;
use crate::args::{CostArgs, MechanismDelta, RuleArgs, budget};
use crate::gate::GateArgs;
use crate::output::{Failure, print, show_cost, show_count, usage};
use crate::table::TextTable;
use study::NamedStudy;

/// How many equal costs a budget admits, what a precision costs, or what a study needs
///
/// With --budget and a cost: how many such costs each rule admits. With --error: what a count of that precision costs, and how many a
/// budget answers. With --questions: what each question of a study costs, and which budget they need together under the rule of the
/// account that pays; a study is a file in TOML, or some files of SQL. Nothing is charged.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter plan --budget 1,1e-6 --epsilon 0.01
  taximeter plan --error 50 --rows 100000
  taximeter plan --questions study.toml
  taximeter plan --dataset people --questions towns.sql ages.sql --error 20
  taximeter plan --dataset people --questions towns.sql --error 20 --questions median.sql --error 0.5

A study is a file like this; a question has an error, an epsilon (with a delta for open groups) or a gaussian:

  dataset = \"people\"

  [[questions]]
  name = \"older people by region\"
  sql = \"SELECT region, COUNT(*) FROM people WHERE age >= 65 GROUP BY region\"
  error = \"20\"
  times = 4")]
pub struct PlanCommand {
    /// The budget: epsilon and delta, for instance 1,1e-6; without delta, delta is 0 [default with --error: 1,1e-6]
    #[arg(long, value_name = "EPSILON,DELTA")]
    budget: Option<String>,
    #[command(flatten)]
    mechanism_delta: MechanismDelta,
    /// The error of a count, or of the questions in files of SQL: the 95% interval is at most ± WIDTH. For several files, one error for
    /// all, or one for each in the same order
    #[arg(long, value_name = "WIDTH")]
    error: Vec<String>,
    /// With --error, for a count: the number of rows, to show the error as a share of it
    #[arg(long, requires = "error", conflicts_with = "questions", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
    /// With --error, for a count: how many rows of one person may count
    #[arg(long, value_name = "K", requires = "error", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with = "questions")]
    max_rows_per_unit: u32,
    /// A study: a file with questions, each with the error or the cost that is wanted; or files of SQL whose names end in .sql, with one
    /// question each, and with --dataset and --error
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "budget")]
    questions: Vec<PathBuf>,
    /// With files of SQL: the dataset that they ask
    #[arg(long, value_name = "DATASET", requires = "questions")]
    dataset: Option<String>,
    #[command(flatten)]
    cost: CostArgs,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    gate: GateArgs,
}

#[derive(Serialize)]
struct Document {
    budget: BudgetDocument,
    cost: Cost,
    rules: Vec<RuleJson>,
    fixed_in_advance: FixedJson,
}

/// The number of queries that a rule admits, or why there is no number.
#[derive(Serialize)]
struct RuleJson {
    rule: &'static str,
    queries: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<String>,
}

#[derive(Serialize)]
struct FixedJson {
    advanced: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    advanced_at_least: bool,
    optimal: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    optimal_at_least: bool,
}

impl PlanCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        if !self.questions.is_empty() {
            return study::run(&self.study()?, &self.gate);
        }
        if let Some((error, others)) = self.error.split_first() {
            if !others.is_empty() {
                return Err(usage("--error is given more than once; without --questions, give it once"));
            }
            let budget = budget(self.budget.as_deref().unwrap_or("1,1e-6"), &self.mechanism_delta)?;
            return precision::run(error, self.rows, self.max_rows_per_unit, budget, self.gate.ledger.json);
        }
        let missing =
            "a budget is missing; give for instance --budget 1,1e-6; or --error 50, or --questions study.toml";
        let budget = budget(self.budget.as_deref().ok_or_else(|| usage(missing))?, &self.mechanism_delta)?;
        let cost = self.cost.cost()?;
        let rules = FilterRule::ALL.into_iter().map(|rule| self.rule(rule, budget, &cost));
        let [advanced, optimal] = [FixedRounds::advanced_count(&cost, &budget).ok(), optimal(&cost, &budget)];
        let is_least = |count: Option<Count>| count.is_some_and(|count| count.at_least);
        let document = Document {
            budget: (&budget).into(),
            cost,
            rules: rules.collect::<Result<_, Failure>>()?,
            fixed_in_advance: FixedJson {
                advanced: advanced.map(|count| count.count),
                advanced_at_least: is_least(advanced),
                optimal: optimal.map(|count| count.count),
                optimal_at_least: is_least(optimal),
            },
        };
        print(self.gate.ledger.json, &document, || document.text(&budget))
    }

    /// The study that is named: a file in TOML, or files of SQL.
    fn study(&self) -> Result<NamedStudy, Failure> {
        if self.cost.given()?.is_some() {
            return Err(usage("with --questions, a cost is in the study; omit the one that is given"));
        }
        match (self.questions.as_slice(), &self.dataset, self.error.as_slice()) {
            (files, dataset, errors) if files.iter().all(|file| study::is_sql(file)) => {
                let missing = "files of SQL need the dataset that they ask; name it with --dataset";
                NamedStudy::of_sql(files, dataset.as_deref().ok_or_else(|| usage(missing))?, errors)
            }
            ([file], None, []) => NamedStudy::of_file(file),
            ([_], ..) => Err(usage("a study names its dataset and its errors; omit --dataset and --error")),
            _ => Err(usage("--questions takes one study, or files of SQL whose names end in .sql")),
        }
    }

    /// The number of queries by one rule. A rule without a number does not fail the plan.
    fn rule(&self, rule: FilterRule, budget: Budget, cost: &Cost) -> Result<RuleJson, Failure> {
        let spec = self.rules.filter(rule, budget)?;
        let count = || {
            // The renyi rule is planned for this cost.
            let filter = spec.expecting(cost).and_then(Filter::new).map_err(|error| error.to_string())?;
            match filter.decide(cost) {
                Ok(Verdict::Halt(Refusal::Budget)) => Ok(Count { count: 0, at_least: false }),
                Ok(Verdict::Halt(refusal)) => Err(advice::refusal(&refusal)),
                Ok(Verdict::Continue) => filter.count(cost).map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            }
        };
        let (count, reason) = match count() {
            Ok(count) => (Some(count), None),
            Err(reason) => (None, Some(reason)),
        };
        Ok(RuleJson {
            rule: rule.name(),
            queries: count.map(|count| count.count),
            at_least: count.is_some_and(|count| count.at_least),
            guarantee: count.map(|_| rule.guarantee(&budget)),
            reason,
        })
    }
}

impl Document {
    fn text(&self, budget: &Budget) -> String {
        let show = |count: Option<u64>, at_least: bool| count.map(|count| show_count(Count { count, at_least }));
        let mut table = TextTable::new(&["rule", ">queries", "guarantee, with costs chosen along the way"]);
        for rule in &self.rules {
            let queries = show(rule.queries, rule.at_least).unwrap_or("–".to_string());
            let meaning = rule.guarantee.as_ref().or(rule.reason.as_ref()).cloned().unwrap_or_default();
            table.row([rule.rule.to_string(), queries, meaning]);
        }
        let FixedJson { advanced, advanced_at_least, optimal, optimal_at_least } = self.fixed_in_advance;
        let [advanced, optimal] = [show(advanced, advanced_at_least), show(optimal, optimal_at_least)]
            .map(|shown| shown.unwrap_or("no theorem".to_string()));
        format!(
            "A budget of {budget} and costs of {} each:\n\n{table}\n\n\
             If all were fixed in advance: {advanced} by advanced composition, {optimal} at the optimum.",
            show_cost(&self.cost)
        )
    }
}

/// The optimum for costs fixed in advance, if a theorem gives it.
fn optimal(cost: &Cost, budget: &Budget) -> Option<Count> {
    match cost {
        Cost::Gaussian { mu } => Some(GaussianRounds::optimal_count(*mu, budget)),
        _ => FixedRounds::optimal_count(cost, budget).ok(),
    }
}
