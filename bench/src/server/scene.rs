//! Who charges what in a measurement.

use serde::Serialize;
use taximeter_ledger::{AccountName, Ledger, Location};

use super::child::{analyst_of, owner};
use super::{Failed, charge_of};
use crate::ledger::load::{ChargePattern, Keys, accounts, team};

/// The callers of a measurement.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scene {
    /// Every connection is an analyst's and charges her own account, below one that all spend from.
    Team,
    /// All connections charge one account with the owner's token.
    OneAccount,
}

impl Scene {
    pub const ALL: [Scene; 2] = [Scene::Team, Scene::OneAccount];

    pub fn text(self, connections: usize) -> String {
        match self {
            Scene::Team => format!("{connections} analysts, each with an account below one budget"),
            Scene::OneAccount => format!("{connections} connections on one account"),
        }
    }

    pub fn names(self, connections: usize) -> Result<Vec<AccountName>, Failed> {
        Ok(match self {
            Scene::Team => team(connections)?,
            Scene::OneAccount => accounts(1)?,
        })
    }

    pub fn asked(self, names: &[AccountName]) -> ChargePattern<'_> {
        match self {
            Scene::Team => ChargePattern::Team(names),
            Scene::OneAccount => ChargePattern::Spread(names, Keys::Rising),
        }
    }

    /// A token for each of the accounts, and what it charges.
    pub fn callers(
        self,
        names: &[AccountName],
        location: &Location,
        ledger: &Ledger,
    ) -> Result<Vec<(String, String)>, Failed> {
        let caller = |name: &AccountName| -> Result<(String, String), Failed> {
            let token = match self {
                Scene::Team => analyst_of(name, location, ledger)?,
                Scene::OneAccount => owner(location, ledger)?,
            };
            Ok((token, charge_of(name, "0.00001")))
        };
        names.iter().map(caller).collect()
    }
}
