//! Overviews of many accounts: a page of the tree, the accounts below one, and recent refusals.

use std::collections::HashSet;

use taximeter_ledger::{Account, AccountName, Error, Ledger, RefusedCharge};

use crate::caller::{Action, Caller};
use crate::{AccountDocument, AccountEvent, AccountList, Problem, RefusalList, Sight};

/// Which accounts to list.
#[derive(Clone, Debug, Default)]
pub struct TreeQuery {
    /// A prefix of their names.
    pub starts: String,
    /// The page, counted from 1.
    pub page: usize,
}

/// A page of the accounts that the caller may see, as a tree: the accounts below one follow it.
pub struct TreePage {
    /// How many accounts the caller may see.
    pub accounts: u64,
    /// How many charges they paid: the sum over the topmost ones.
    pub charges: u64,
    /// How many accounts match the query.
    pub found: usize,
    /// The page, counted from 1.
    pub page: usize,
    /// The accounts of the page.
    pub rows: Vec<AccountDocument>,
}

impl TreePage {
    /// The most accounts on a page.
    pub const LENGTH: usize = 200;

    fn new(ledger: &Ledger, sight: &Sight, query: &TreeQuery) -> TreePage {
        let name_and_charges =
            |account: &Account| sight.sees(account.name()).then(|| (account.name().clone(), account.charges()));
        let seen = ledger.survey(name_and_charges);
        let is_top = |name: &AccountName| name.parent().is_none_or(|above| !sight.sees(&above));
        let charges = seen.iter().filter(|(name, _)| is_top(name)).map(|(_, charges)| charges).sum();
        let mut names: Vec<&AccountName> = seen.iter().map(|(name, _)| name).collect();
        names.retain(|name| name.as_str().starts_with(&query.starts));
        names.sort_by(|one, other| one.as_str().split('/').cmp(other.as_str().split('/')));
        let found = names.len();
        let page = query.page.clamp(1, found.div_ceil(TreePage::LENGTH).max(1));
        let shown = names.into_iter().skip((page - 1) * TreePage::LENGTH).take(TreePage::LENGTH);
        let names: HashSet<&AccountName> = shown.collect();
        // Reading all meters would be slow. An account that blocks one of these may be above it, on another page.
        let paths: HashSet<&str> = names.iter().flat_map(|name| name.path()).collect();
        let chosen = ledger.survey(|account| paths.contains(account.name().as_str()).then(|| account.clone()));
        let mut rows = AccountList::new(ledger.id(), &chosen, sight).accounts;
        rows.retain(|row| names.contains(&row.account));
        TreePage { accounts: seen.len() as u64, charges, found, page, rows }
    }
}

impl Caller {
    /// A page of the accounts that the caller may see.
    pub async fn tree(&self, query: TreeQuery) -> Result<TreePage, Problem> {
        self.require(Action::SeeAccounts)?;
        self.refresh().await?;
        self.blocking(move |caller| Ok(TreePage::new(caller.ledger(), caller.sight(), &query))).await
    }

    /// The first accounts directly below one, by name, and how many there are; only those that the caller may see.
    pub async fn accounts_below(&self, name: &AccountName, most: usize) -> Result<(Vec<AccountEvent>, usize), Problem> {
        self.require(Action::SeeAccounts)?;
        let start = format!("{name}/");
        self.blocking(move |caller| Ok(below(caller.ledger(), caller.sight(), &start, most)?)).await
    }

    /// The newest refusals by the caller's own accounts, and how many there were.
    pub fn refusals(&self, most: usize) -> RefusalList {
        let (count, newest) = self.ledger().refusals();
        let mut own: Vec<RefusedCharge> =
            newest.into_iter().rev().filter(|refused| self.sight().owns(&refused.account)).collect();
        let count = if *self.sight() == Sight::All { count } else { own.len() as u64 };
        own.truncate(most);
        RefusalList { count, newest: own }
    }
}

fn below(ledger: &Ledger, sight: &Sight, start: &str, most: usize) -> Result<(Vec<AccountEvent>, usize), Error> {
    let is_right_below = |name: &str| name.strip_prefix(start).is_some_and(|rest| !rest.contains('/'));
    let is_wanted = |name: &AccountName| is_right_below(name.as_str()) && sight.sees(name);
    let mut all = ledger.survey(|account| is_wanted(account.name()).then(|| account.name().clone()));
    all.sort();
    // Reading a meter takes a while, so it is done on copies, for which the writer does not wait.
    let shown = all.iter().take(most).map(|name| Ok(AccountEvent::from(&ledger.account(name)?)));
    Ok((shown.collect::<Result<_, Error>>()?, all.len()))
}
