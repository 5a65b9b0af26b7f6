//! Accounts: list, show, open, close, and their history.

use taximeter_ledger::{Account, AccountName, Ledger, Note, Who};

use crate::caller::{Action, Caller};
use crate::documents::warning;
use crate::{
    AccountDocument, AccountList, CloseRequest, Closed, Code, HistoryDocument, NewAccount, Opened, Problem, blocked_by,
};

/// Opens an account.
pub fn open(ledger: &Ledger, new: &NewAccount) -> Result<Opened, Problem> {
    // If the account above is missing, opening the account reports it.
    let above = new.account.parent().and_then(|parent| ledger.account(&parent).ok());
    let receipt = ledger.open_account(new.spec(above.as_ref())?)?;
    Ok(Opened::new(&receipt, &ledger.account(&new.account)?, warning::about_budget(ledger, &new.account)))
}

/// Closes an account for good.
pub fn close(ledger: &Ledger, name: &AccountName, by: Option<Who>, note: Option<Note>) -> Result<Closed, Problem> {
    let receipt = ledger.close_account(name.clone(), by, note)?;
    Ok(Closed::new(&receipt, &ledger.account(name)?))
}

/// The most refusals in a list of accounts.
const REFUSALS: usize = 10;

impl Caller {
    /// The accounts that the caller may see, and recent refusals.
    pub async fn accounts(&self) -> Result<AccountList, Problem> {
        self.require(Action::SeeAccounts)?;
        self.refresh().await?;
        let list = |caller: &Caller| {
            let ledger = caller.ledger();
            let list = AccountList::new(ledger.id(), &ledger.accounts(), caller.sight());
            Ok(AccountList { refusals: Some(caller.refusals(REFUSALS)), ..list })
        };
        self.blocking(list).await
    }

    /// Everything about an account.
    pub async fn account(&self, name: &AccountName) -> Result<AccountDocument, Problem> {
        self.require(Action::SeeAccounts)?;
        self.require_sight(name)?;
        self.refresh().await?;
        let path = name.path().map(|above| AccountName::parse(above).and_then(|above| self.ledger().account(&above)));
        let path: Vec<Account> = path.collect::<Result<_, _>>()?;
        let find = |name: &AccountName| path.iter().find(|account| account.name() == name);
        let account = find(name).ok_or_else(|| Problem::new(Code::NoAccount, format!("account {name} not found")))?;
        Ok(AccountDocument::new(account, blocked_by(account, find), self.sight()))
    }

    /// Opens an account.
    pub async fn open_account(&self, new: NewAccount) -> Result<Opened, Problem> {
        self.require(Action::ChangeAccounts)?;
        self.refresh().await?;
        self.blocking(move |caller| open(caller.ledger(), &new)).await
    }

    /// Closes an account for good: it takes no more charges, nor does any account below it.
    pub async fn close_account(&self, name: AccountName, request: CloseRequest) -> Result<Closed, Problem> {
        self.require(Action::ChangeAccounts)?;
        let by = self.signature(request.by.as_ref())?;
        self.blocking(move |caller| close(caller.ledger(), &name, Some(by), request.note)).await
    }

    /// A page of an account's history, newest first: at most `limit` records, starting at `from`.
    pub async fn history(
        &self,
        name: &AccountName,
        from: Option<u64>,
        limit: Option<u32>,
    ) -> Result<HistoryDocument, Problem> {
        self.require(Action::SeeAccounts)?;
        self.require_own(std::slice::from_ref(name))?;
        let limit = limit_within(limit)?;
        self.refresh().await?;
        let name = name.clone();
        let part = move |caller: &Caller| {
            let history = caller.ledger().history(&name, from, limit as usize)?;
            let mut document = HistoryDocument::new(&name, &history, caller.sight())?;
            if let Some(newest) = document.records.first() {
                document.withhold_from(caller.ledger().acknowledged(newest.sequence));
            }
            Ok(document)
        };
        self.blocking(part).await
    }
}

/// The number of records in an answer: the default, or a number within the limit.
pub(crate) fn limit_within(limit: Option<u32>) -> Result<u32, Problem> {
    const DEFAULT: u32 = 20;
    const MOST: u32 = 1000;
    match limit.unwrap_or(DEFAULT) {
        limit @ 1..=MOST => Ok(limit),
        limit => Err(Problem::bad_request(format!("limit is {limit}; it must be between 1 and {MOST}"))),
    }
}
