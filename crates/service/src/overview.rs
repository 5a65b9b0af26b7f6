//! Many accounts at a glance: a page of the tree, the accounts below one, and what was refused lately.

use std::collections::HashSet;

use taximeter_ledger::{Account, AccountName, Error, Ledger, RefusedCharge};

use crate::caller::{Action, Caller};
use crate::{AccountDocument, AccountEvent, AccountList, Problem, Sight};

/// Which accounts are wanted.
#[derive(Clone, Debug, Default)]
pub struct TreeQuery {
    /// How their names start.
    pub starts: String,
    /// Which page of a long list, counted from 1.
    pub page: usize,
}

/// A page of the accounts that may be seen, as a tree: what is below an account follows it.
pub struct TreePage {
    /// How many accounts may be seen.
    pub accounts: u64,
    /// What they were charged: the sum over those at the top.
    pub charges: u64,
    /// How many of the accounts are wanted.
    pub found: usize,
    /// Which page of them this is, counted from 1.
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
        // Reading the meters of all would take a while. An account that blocks one of these may stand above it, on another page.
        let paths: HashSet<&str> = names.iter().flat_map(|name| name.path()).collect();
        let chosen = ledger.survey(|account| paths.contains(account.name().as_str()).then(|| account.clone()));
        let mut rows = AccountList::new(ledger.id(), &chosen, sight).accounts;
        rows.retain(|row| names.contains(&row.account));
        TreePage { accounts: seen.len() as u64, charges, found, page, rows }
    }
}

impl Caller {
    /// A page of the accounts that may be seen.
    pub async fn tree(&self, query: TreeQuery) -> Result<TreePage, Problem> {
        self.require(Action::SeeAccounts)?;
        self.refresh().await?;
        self.blocking(move |caller| Ok(TreePage::new(caller.ledger(), caller.sight(), &query))).await
    }

    /// The first accounts right below one that may be seen, by their names, and how many there are.
    pub async fn accounts_below(&self, name: &AccountName, most: usize) -> Result<(Vec<AccountEvent>, usize), Problem> {
        self.require(Action::SeeAccounts)?;
        let start = format!("{name}/");
        self.blocking(move |caller| Ok(below(caller.ledger(), caller.sight(), &start, most)?)).await
    }

    /// The newest refusals by the caller's own accounts, and how many there were: in all for those who see all.
    pub fn refusals(&self, most: usize) -> (u64, Vec<RefusedCharge>) {
        let (count, newest) = self.ledger().refusals();
        let mut own: Vec<RefusedCharge> =
            newest.into_iter().rev().filter(|refused| self.sight().owns(&refused.account)).collect();
        let count = if *self.sight() == Sight::All { count } else { own.len() as u64 };
        own.truncate(most);
        (count, own)
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
