//! Where a command is carried out: on a ledger of this machine, or by a server. Both give the same documents.

mod client;
mod local;

use std::io::Write;
use std::path::PathBuf;

use taximeter_gate::{Registration, Rules};
use taximeter_ledger::{AccountName, Key, LedgerId, Position, Who};
use taximeter_service::{
    AccountDocument, AccountList, ChargeOutcome, ChargeRequest, CheckedDataset, CloseRequest, Closed, CreatedToken,
    DatasetDocument, DatasetList, Explanation, FailedQuestionList, HistoryDocument, LedgerDocument, NewAccount,
    NewAnalystDocument, NewToken, Opened, QuestionOutcome, QuestionRequest, QuoteDocument, RegisteredDocument,
    TokenDocument, TokenList, VerifyDocument,
};

use crate::output::Failure;

pub use client::Client;
pub use local::Local;

/// All that is done about a ledger and a gate.
pub trait Office: Accounts + Datasets + Tokens {}

impl<T: Accounts + Datasets + Tokens> Office for T {}

/// What is done about accounts and their journal.
pub trait Accounts {
    /// All accounts.
    fn accounts(&self) -> Result<AccountList, Failure>;

    /// One account.
    fn account(&self, name: &AccountName) -> Result<AccountDocument, Failure>;

    /// Opens an account.
    fn open_account(&self, account: &NewAccount) -> Result<Opened, Failure>;

    /// Closes an account.
    fn close_account(&self, name: &AccountName, request: &CloseRequest) -> Result<Closed, Failure>;

    /// Charges costs, once for a key.
    fn charge(&self, request: &ChargeRequest, key: &Key) -> Result<ChargeOutcome, Failure>;

    /// What would come of a charge.
    fn quote(&self, request: &ChargeRequest) -> Result<QuoteDocument, Failure>;

    /// At most so many records about an account, newest first.
    fn history(&self, name: &AccountName, from: Option<u64>, most: usize) -> Result<HistoryDocument, Failure>;

    /// Which ledger it is.
    fn ledger(&self) -> Result<LedgerDocument, Failure>;

    /// Makes the whole journal again, and tells progress as a share of the work.
    fn verify(&self, progress: &dyn Fn(f64)) -> Result<VerifyDocument, Failure>;

    /// Writes the journal; returns which ledger it is of and where it ends.
    fn export(&self, out: &mut dyn Write, progress: &dyn Fn(f64)) -> Result<(LedgerId, Position), Failure>;
}

/// What is done about datasets and questions.
pub trait Datasets {
    /// All datasets.
    fn datasets(&self) -> Result<DatasetList, Failure>;

    /// One dataset.
    fn dataset(&self, name: &AccountName) -> Result<DatasetDocument, Failure>;

    /// A dataset, if its data are where they were and are what was declared.
    fn check(&self, name: &AccountName) -> Result<CheckedDataset, Failure>;

    /// Chooses the rows of every unit anew.
    fn refresh(&self, name: &AccountName) -> Result<DatasetDocument, Failure>;

    /// Why charged questions have no answer, newest first.
    fn log(&self, most: u32) -> Result<FailedQuestionList, Failure>;

    /// Registers a dataset, or newer data of one.
    fn register(&self, registration: &Registration) -> Result<RegisteredDocument, Failure>;

    /// Opens an analyst's account below that of a dataset.
    fn add_analyst(&self, dataset: &AccountName, analyst: &str, rules: Rules) -> Result<NewAnalystDocument, Failure>;

    /// The account that pays for a question if none is named.
    fn payer(&self, dataset: &AccountName) -> Result<AccountName, Failure>;

    /// The token that says who asks; without one, a name is a note where the dataset has no analysts.
    fn own_token(&self) -> Result<Option<TokenDocument>, Failure>;

    /// Asks, once for a key.
    fn ask(&self, question: &QuestionRequest, by: Option<&Who>, key: &Key) -> Result<QuestionOutcome, Failure>;

    /// What would come of a question.
    fn explain(&self, question: &QuestionRequest) -> Result<Explanation, Failure>;

    /// Where the lines that were typed at the prompt are remembered.
    fn typed_lines(&self) -> Result<PathBuf, Failure>;
}

/// What is done about tokens.
pub trait Tokens {
    /// All tokens, those that ended included.
    fn tokens(&self) -> Result<TokenList, Failure>;

    /// Makes a token, and shows its secret this once.
    fn create_token(&self, token: &NewToken) -> Result<CreatedToken, Failure>;

    /// Ends a token.
    fn revoke_token(&self, id: &str) -> Result<TokenDocument, Failure>;
}
