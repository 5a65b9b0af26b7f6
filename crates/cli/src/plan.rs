//! `taximeter plan`: how many equal costs a budget admits, by each rule.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_accounting::reference::{FixedRounds, GaussianRounds};
use taximeter_accounting::{Budget, Cost, Count, Filter, FilterRule, FilterSpec, Refusal, Verdict};
use taximeter_api::BudgetDocument;

use crate::args::{BudgetArgs, CostArgs, optional};
use crate::output::{Failure, print_json, print_line, show_cost, show_count};
use crate::table::Table;

/// How many equal costs a budget admits, by each rule
#[derive(Args)]
#[command(after_help = "Example: taximeter plan --budget 1,1e-6 --epsilon 0.01")]
pub struct Plan {
    #[command(flatten)]
    budget: BudgetArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cost: CostArgs,
    /// The order of the renyi rule [default: the best one for the budget]
    #[arg(long, value_name = "ALPHA")]
    order: Option<String>,
}

/// How many queries a rule admits, or why it cannot say.
type Row = Result<Count, String>;

#[derive(Serialize)]
struct Document {
    budget: BudgetDocument,
    cost: Cost,
    rules: Vec<RuleJson>,
    fixed_in_advance: FixedJson,
}

#[derive(Serialize)]
struct RuleJson {
    rule: &'static str,
    #[serde(flatten)]
    queries: Queries,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<String>,
}

/// A number of queries, or why there is none.
#[derive(Serialize)]
struct Queries {
    queries: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
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

impl Plan {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let (budget, cost) = (self.budget.budget()?, self.cost.cost()?);
        let mut rules = Vec::new();
        for rule in FilterRule::ALL {
            rules.push((rule, self.count(rule, budget, &cost)?));
        }
        let fixed = [FixedRounds::advanced_count(&cost, &budget).ok(), optimal(&cost, &budget)];
        if self.json {
            print_json(&document(&budget, cost, rules, fixed))?;
        } else {
            print_line(&text(&budget, &cost, &rules, fixed))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// How many fit by one rule; a rule that cannot say is not a failure of the plan.
    fn count(&self, rule: FilterRule, budget: Budget, cost: &Cost) -> Result<Row, Failure> {
        let order = if rule == FilterRule::Renyi { optional("--order", &self.order)? } else { None };
        let filter = match Filter::new(FilterSpec { order, ..FilterSpec::new(rule, budget) }) {
            Ok(filter) => filter,
            Err(error) => return Ok(Err(error.to_string())),
        };
        Ok(match filter.decide(cost) {
            Err(error) => Err(error.to_string()),
            Ok(Verdict::Halt(Refusal::Budget)) => Ok(Count { count: 0, at_least: false }),
            Ok(Verdict::Halt(refusal)) => Err(refusal.reason()),
            Ok(Verdict::Continue(_)) => Ok(filter.count(cost)?),
        })
    }
}

/// The optimum with everything fixed in advance; nothing where no theorem gives it.
fn optimal(cost: &Cost, budget: &Budget) -> Option<Count> {
    match cost {
        Cost::Gaussian { mu } => Some(GaussianRounds::optimal_count(*mu, budget)),
        _ => FixedRounds::optimal_count(cost, budget).ok(),
    }
}

fn document(budget: &Budget, cost: Cost, rules: Vec<(FilterRule, Row)>, fixed: [Option<Count>; 2]) -> Document {
    let rules = rules.into_iter().map(|(rule, count)| match count {
        Ok(count) => RuleJson {
            rule: rule.name(),
            queries: Queries { queries: Some(count.count), at_least: count.at_least, reason: None },
            guarantee: Some(rule.guarantee(budget)),
        },
        Err(error) => RuleJson {
            rule: rule.name(),
            queries: Queries { queries: None, at_least: false, reason: Some(error) },
            guarantee: None,
        },
    });
    let [advanced, optimal] = fixed;
    let at_least = |count: Option<Count>| count.is_some_and(|count| count.at_least);
    let number = |count: Option<Count>| count.map(|count| count.count);
    Document {
        budget: budget.into(),
        cost,
        rules: rules.collect(),
        fixed_in_advance: FixedJson {
            advanced: number(advanced),
            advanced_at_least: at_least(advanced),
            optimal: number(optimal),
            optimal_at_least: at_least(optimal),
        },
    }
}

fn text(budget: &Budget, cost: &Cost, rules: &[(FilterRule, Row)], fixed: [Option<Count>; 2]) -> String {
    let mut table = Table::new(&["rule", ">queries", "guarantee, with costs chosen along the way"]);
    for (rule, count) in rules {
        match count {
            Ok(count) => table.row([rule.name().to_string(), show_count(*count), rule.guarantee(budget)]),
            Err(error) => table.row([rule.name().to_string(), "–".to_string(), error.clone()]),
        }
    }
    let number = |count: Option<Count>| count.map_or("no theorem".to_string(), show_count);
    let [advanced, optimal] = fixed;
    format!(
        "A budget of {budget} and costs of {} each:\n\n{table}\n\n\
         If all were fixed in advance: {} by advanced composition, {} at the optimum.",
        show_cost(cost),
        number(advanced),
        number(optimal)
    )
}
