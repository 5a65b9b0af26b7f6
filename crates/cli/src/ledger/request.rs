//! The accounts and costs of a charge or a quote.

use clap::Args;
use taximeter_accounting::{Amount, Cost, Declared};
use taximeter_ledger::{AccountName, Key, Neighbours, Note, Unit, Who};
use taximeter_service::{ChargeRequest, DeclaredCost};

use crate::args::{CostArgs, missing_cost};
use crate::output::{Failure, in_flag, tell};

/// Accounts and costs.
#[derive(Args)]
pub struct RequestArgs {
    /// The accounts: they and all accounts above them pay, each once, all or none
    #[arg(value_name = "NAME", required = true)]
    accounts: Vec<String>,
    #[command(flatten)]
    cost: CostArgs,
    /// A cost in JSON, such as {"epsilon":"0.1","delta":"1e-9"} (may be repeated)
    #[arg(long = "cost", value_name = "JSON")]
    costs: Vec<String>,
    /// The unit that the costs protect; must match the accounts [default: the unit of the accounts]
    #[arg(long, value_name = "UNIT", help_heading = "What the costs are about")]
    unit: Option<String>,
    /// When two datasets are neighbours; must match the accounts [default: the relation of the accounts]
    #[arg(long, value_name = "RELATION", value_parser = ["add-remove", "substitute"],
          help_heading = "What the costs are about")]
    neighbours: Option<String>,
}

impl RequestArgs {
    /// The request, checked before it is sent.
    pub fn request(&self, by: Option<Who>, note: Option<Note>) -> Result<ChargeRequest, Failure> {
        let request = ChargeRequest {
            accounts: self.accounts.iter().map(|text| AccountName::parse(text)).collect::<Result<_, _>>()?,
            costs: self.costs()?.into_iter().map(DeclaredCost).collect(),
            unit: self.unit.as_deref().map(Unit::parse).transpose()?,
            neighbours: self.neighbours.as_deref().map(Neighbours::from_name).transpose()?,
            by,
            note,
        };
        request.charge(Key::generate()?)?;
        Ok(request)
    }

    /// The costs, in the order in which they are paid.
    fn costs(&self) -> Result<Vec<Cost>, Failure> {
        let mut costs: Vec<Cost> = self.cost.given()?.into_iter().collect();
        for text in &self.costs {
            let Declared { cost, rounded } = Cost::from_json(text).map_err(in_flag("--cost"))?;
            if rounded {
                tell(&format!("note: --cost has more than {} decimal places and counts as {cost}", Amount::PLACES));
            }
            costs.push(cost);
        }
        match costs.is_empty() {
            true => Err(missing_cost()),
            false => Ok(costs),
        }
    }
}
