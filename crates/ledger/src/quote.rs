//! Quotes: what would come of a charge.

use std::sync::Arc;

use taximeter_accounting::{Cost, Count, PricedCost, Verdict};

use crate::account::{Account, Decision, Reason, Standing};
use crate::books::check_privacy;
use crate::charge::{Charge, largest_on_all, priced};
use crate::error::Error;

/// What would come of a charge, account by account.
#[derive(Clone, Debug)]
pub struct Quote {
    accounts: Vec<QuotedAccount>,
    costs: Vec<Cost>,
    fits: Option<Vec<Cost>>,
}

/// What would come of a charge on one of the accounts that would pay.
#[derive(Clone, Debug)]
pub struct QuotedAccount {
    /// The account as it is.
    pub before: Account,
    /// The account as it would be, or why it refuses.
    pub after: Result<Account, Reason>,
    /// How often the same could be charged; nothing without a filter, or for a list of different costs.
    pub count: Option<Count>,
    /// The branch of the filter that the charge would close for good.
    pub closes: Option<&'static str>,
}

impl Quote {
    pub(crate) fn new(payers: Vec<Account>, charge: &Charge) -> Result<Quote, Error> {
        check_privacy(charge, payers.iter())?;
        let costs = charge.costs();
        let priced: Vec<Arc<PricedCost>> = costs.iter().map(priced).collect();
        let filters: Vec<_> = payers.iter().filter_map(|account| account.filter().cloned()).collect();
        let accounts: Vec<QuotedAccount> =
            payers.into_iter().map(|account| quote(account, costs, &priced)).collect::<Result<_, Error>>()?;
        let is_open = accounts.iter().all(|account| !matches!(account.after, Err(Reason::NotOpen(_))));
        let fits = if is_open && !filters.is_empty() { largest_on_all(&filters, costs) } else { None };
        Ok(Quote { accounts, costs: costs.to_vec(), fits })
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

fn quote(before: Account, costs: &[Cost], priced: &[Arc<PricedCost>]) -> Result<QuotedAccount, Error> {
    let after = match before.decide(priced)? {
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
    let closes = closes(&before, costs)?;
    Ok(QuotedAccount { closes: closes.filter(|_| after.is_ok()), before, after, count })
}

/// The branch that one of the costs closes, by name.
fn closes(account: &Account, costs: &[Cost]) -> Result<Option<&'static str>, Error> {
    let Some(mut filter) = account.filter().cloned() else { return Ok(None) };
    let mut closes = None;
    for cost in costs {
        match filter.charge(cost)? {
            Verdict::Continue(admission) if admission.closes_branch => closes = Some(filter.spec().rule.name()),
            Verdict::Continue(admission) if admission.closes_basic => closes = Some("basic"),
            Verdict::Continue(_) => {}
            Verdict::Halt(_) => break,
        }
    }
    Ok(closes)
}
