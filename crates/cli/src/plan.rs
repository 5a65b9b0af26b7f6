//! `taximeter plan`: how many equal costs a budget admits, by each rule.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_accounting::reference::{FixedRounds, GaussianRounds};
use taximeter_accounting::{Budget, Cost, Count, Filter, FilterRule, Refusal, Verdict};
use taximeter_service::BudgetDocument;

use crate::advice;
use crate::args::{BudgetArgs, CostArgs, RuleArgs};
use crate::output::{Failure, print, show_cost, show_count};
use crate::table::TextTable;

/// How many equal costs a budget admits, by each rule
#[derive(Args)]
#[command(after_help = "Example: taximeter plan --budget 1,1e-6 --epsilon 0.01")]
pub struct PlanCommand {
    #[command(flatten)]
    budget: BudgetArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cost: CostArgs,
    #[command(flatten)]
    rules: RuleArgs,
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
        let (budget, cost) = (self.budget.budget()?, self.cost.cost()?);
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
        print(self.json, &document, || document.text(&budget))
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
