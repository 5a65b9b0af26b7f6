//! Quotes: what a charge would do.

use std::sync::Arc;

use taximeter_accounting::{Cost, Count, PricedCost};

use crate::account::{Account, Decision, Reason, Standing};
use crate::books::check_privacy;
use crate::charge::{Charge, largest_on_all, priced};
use crate::error::Error;
use crate::name::AccountName;

/// What a charge would do, account by account.
#[derive(Clone, Debug)]
pub struct Quote {
    accounts: Vec<QuotedAccount>,
    costs: Vec<Cost>,
    fits: Option<Vec<Cost>>,
}

/// What a charge would do to one of the accounts that would pay.
#[derive(Clone, Debug)]
pub struct QuotedAccount {
    /// The account as it is.
    pub before: Account,
    /// The account as it would be, or why it refuses.
    pub after: Result<Account, Reason>,
    /// How often the same could be charged; nothing without a filter, or for a list of different costs.
    pub count: Option<Count>,
}

impl Quote {
    pub(crate) fn new(payers: Vec<Account>, charge: &Charge) -> Result<Quote, Error> {
        check_privacy(charge, payers.iter())?;
        let costs = charge.costs();
        let priced: Vec<Arc<PricedCost>> = costs.iter().map(priced).collect();
        let accounts: Vec<QuotedAccount> =
            payers.into_iter().map(|account| quote(account, costs, &priced)).collect::<Result<_, Error>>()?;
        let fits = fits(&accounts, costs);
        Ok(Quote { accounts, costs: costs.to_vec(), fits })
    }

    /// The part of the quote about the accounts that may be seen. It tells nothing about the others.
    pub fn seen_by(self, sees: impl Fn(&AccountName) -> bool) -> Quote {
        let Quote { mut accounts, costs, .. } = self;
        accounts.retain(|account| sees(account.before.name()));
        let fits = fits(&accounts, &costs);
        Quote { accounts, costs, fits }
    }

    /// Whether all accounts would take it.
    pub fn is_admitted(&self) -> bool {
        self.accounts.iter().all(|account| account.after.is_ok())
    }

    /// The accounts that would pay, from the root down.
    pub fn accounts(&self) -> &[QuotedAccount] {
        &self.accounts
    }

    /// The costs that were asked about.
    pub fn costs(&self) -> &[Cost] {
        &self.costs
    }

    /// The largest costs of the same kinds and proportions that all accounts would take; nothing if none, or if no account has a
    /// filter.
    pub fn fits(&self) -> Option<&[Cost]> {
        self.fits.as_deref()
    }

    /// How often the same could be charged to all accounts; nothing if no account has a filter, or for a list of different costs.
    pub fn count(&self) -> Option<Count> {
        self.accounts.iter().filter_map(|account| account.count).min_by_key(|count| count.count)
    }
}

/// The largest costs that all accounts would take.
fn fits(accounts: &[QuotedAccount], costs: &[Cost]) -> Option<Vec<Cost>> {
    if accounts.iter().any(|account| matches!(account.after, Err(Reason::NotOpen(_)))) {
        return None;
    }
    let filters: Vec<_> = accounts.iter().filter_map(|account| account.before.filter()).collect();
    largest_on_all(&filters, costs)
}

fn quote(before: Account, costs: &[Cost], priced: &[Arc<PricedCost>]) -> Result<QuotedAccount, Error> {
    let after = match before.decide(costs)? {
        Decision::Admitted(filter) => {
            let mut after = before.clone();
            after.charge(priced, filter)?;
            Ok(after)
        }
        Decision::Refused { reason, .. } => Err(reason),
    };
    let count = match (costs, before.filter()) {
        ([cost, others @ ..], Some(filter)) if others.iter().all(|other| other == cost) => {
            let Count { count, at_least } = filter.count(cost)?;
            let is_open = before.standing() == Standing::Open;
            Some(Count { count: if is_open { count / costs.len() as u64 } else { 0 }, at_least: at_least && is_open })
        }
        _ => None,
    };
    Ok(QuotedAccount { before, after, count })
}
