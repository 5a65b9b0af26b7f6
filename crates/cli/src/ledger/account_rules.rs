//! The rules of a new account: a budget with its filter, or only an odometer.

use clap::Args;
use taximeter_accounting::{FilterRule, FilterSpec, OdometerSpec};

use crate::args::{FilterAndOdometerArgs, MechanismDelta, budget};
use crate::output::Failure;

/// The rules of a new account.
#[derive(Args)]
pub struct AccountRulesArgs {
    /// The budget: epsilon and delta, for instance 1,1e-6; without delta, delta is 0
    #[arg(long, value_name = "EPSILON,DELTA", allow_hyphen_values = true)]
    budget: Option<String>,
    /// No budget: only an odometer, which reads at --at-delta and refuses nothing
    #[arg(long, conflicts_with_all = ["rule", "max_cost", "on_halt", "order", "expected"])]
    no_budget: bool,
    #[command(flatten)]
    mechanism_delta: MechanismDelta,
    #[command(flatten)]
    rules: FilterAndOdometerArgs,
}

impl AccountRulesArgs {
    /// Whether --budget or --no-budget was given.
    pub fn are_given(&self) -> bool {
        self.budget.is_some() || self.no_budget
    }

    /// The filter, if there is a budget, and the odometer, with all defaults filled in. `default` is the rule of the filter if none was
    /// chosen.
    pub fn specs(&self, default: FilterRule) -> Result<(Option<FilterSpec>, OdometerSpec), Failure> {
        let budget = self.budget.as_deref().map(|text| budget(text, &self.mechanism_delta)).transpose()?;
        self.rules.specs(budget, self.mechanism_delta.amount()?, default)
    }
}
