//! What is asked of which accounts: the same for a charge and a quote.

use clap::Args;
use taximeter_accounting::{Amount, Cost, Declared};
use taximeter_ledger::{AccountName, Key, Neighbours, Note, Unit, Who};
use taximeter_service::{ChargeRequest, DeclaredCost};

use crate::args::CostArgs;
use crate::output::{Failure, tell};

/// Accounts and costs.
#[derive(Args)]
pub struct RequestArgs {
    /// The accounts; each of them pays and all above it, each once, all or nothing
    #[arg(value_name = "NAME", required = true)]
    accounts: Vec<String>,
    #[command(flatten)]
    cost: CostArgs,
    /// A cost in JSON, such as {"epsilon":"0.1","delta":"1e-9"}; repeat it for a list of costs
    #[arg(long = "cost", value_name = "JSON")]
    costs: Vec<String>,
    /// The unit that the costs are about; it must be the accounts' [default: the accounts']
    #[arg(long, value_name = "UNIT", help_heading = "What the costs are about")]
    unit: Option<String>,
    /// When two datasets count as neighbours; it must be the accounts' [default: the accounts']
    #[arg(long, value_name = "RELATION", value_parser = ["add-remove", "substitute"], help_heading = "What the costs are about")]
    neighbours: Option<String>,
}

impl RequestArgs {
    /// What is asked, checked before anybody is asked.
    pub fn request(&self, by: Option<Who>, note: Option<Note>) -> Result<ChargeRequest, Failure> {
        let request = ChargeRequest {
            accounts: self.accounts()?,
            costs: self.costs()?.into_iter().map(DeclaredCost).collect(),
            unit: self.unit.as_deref().map(Unit::parse).transpose()?,
            neighbours: self.neighbours.as_deref().map(Neighbours::from_name).transpose()?,
            by,
            note,
        };
        request.charge(Key::generate()?)?;
        Ok(request)
    }

    /// The accounts that are named.
    fn accounts(&self) -> Result<Vec<AccountName>, Failure> {
        self.accounts.iter().map(|text| Ok(AccountName::parse(text)?)).collect()
    }

    /// The costs, in the order in which they are paid.
    fn costs(&self) -> Result<Vec<Cost>, Failure> {
        let mut costs: Vec<Cost> = self.cost.given()?.into_iter().collect();
        for text in &self.costs {
            let Declared { cost, rounded } =
                Cost::from_json(text).map_err(|error| Failure::Usage(format!("--cost: {error}")))?;
            if rounded {
                tell(&format!("note: --cost has more than {} decimal places and counts as {cost}", Amount::PLACES));
            }
            costs.push(cost);
        }
        match costs.is_empty() {
            true => Err(Failure::Usage("a cost is missing; give for instance --epsilon 0.01".to_string())),
            false => Ok(costs),
        }
    }
}
