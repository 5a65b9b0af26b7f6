//! The rules of a new account: a budget with its filter, or an odometer alone.

use clap::Args;
use taximeter_accounting::{Budget, FilterRule, FilterSpec, OdometerSpec};

use crate::args::{FilterAndOdometerArgs, MechanismDelta};
use crate::output::Failure;

/// The rules of a new account.
#[derive(Args)]
pub struct AccountRulesArgs {
    /// The budget: epsilon and delta, for instance 1,1e-6 (delta 0 if left out)
    #[arg(long, value_name = "EPSILON,DELTA", allow_hyphen_values = true)]
    budget: Option<String>,
    /// No budget: an odometer alone, which reads at --at-delta and refuses nothing
    #[arg(long, conflicts_with_all = ["rule", "max_cost", "on_halt", "order", "expected"])]
    no_budget: bool,
    #[command(flatten)]
    mechanism_delta: MechanismDelta,
    #[command(flatten)]
    rules: FilterAndOdometerArgs,
}

impl AccountRulesArgs {
    /// Whether a budget was given, or said to be none.
    pub fn are_given(&self) -> bool {
        self.budget.is_some() || self.no_budget
    }

    /// The filter, if there is a budget, and the odometer, with all defaults in their places. `default` decides unless another rule was
    /// chosen.
    pub fn specs(&self, default: FilterRule) -> Result<(Option<FilterSpec>, OdometerSpec), Failure> {
        let mechanism_delta = self.mechanism_delta.amount()?;
        let (filter, odometer) = match &self.budget {
            Some(text) => {
                let budget = Budget::parse(text).map_err(|error| Failure::Usage(format!("--budget: {error}")))?;
                let (filter, odometer) =
                    self.rules.with_budget(budget.with_mechanism_delta(mechanism_delta)?, default)?;
                (Some(filter), odometer)
            }
            None => (None, self.rules.without_budget(mechanism_delta)?),
        };
        Ok((filter, odometer))
    }
}
