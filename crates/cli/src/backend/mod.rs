//! Where a command runs: on a ledger of this machine, or at a server. Both return the same documents.

mod local;
mod remote;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taximeter_gate::{DriverChoice, DummyAnswer, Registration, Rules};
use taximeter_ledger::{AccountName, Key, LedgerId, Position, Signing, Who};
use taximeter_service::{
    AccountDocument, AccountList, ChargeOutcome, ChargeRequest, CheckedDataset, CheckpointDocument, CloseRequest,
    Closed, ConsistencyProof, CreatedToken, DatasetDocument, DatasetList, Explanation, FailedQuestionList,
    HistoryDocument, LedgerDocument, NewAccount, NewAnalystDocument, NewToken, Opened, PublicTableDocument,
    PublicTableList, QuestionOutcome, QuestionRequest, QuoteDocument, ReceiptProof, RegisteredDocument,
    RemovedPublicTable, StudyPlan, StudyRequest, TokenDocument, TokenList, VerifyDocument,
};

use crate::ledger::proof::RecordChoice;
use crate::output::Failure;

pub use local::Local;
pub use remote::{Remote, witness_requests};

/// A ledger and a gate.
pub trait Backend: AccountBackend + DatasetBackend + TokenBackend {}

impl<T: AccountBackend + DatasetBackend + TokenBackend> Backend for T {}

/// Accounts and their journal.
pub trait AccountBackend {
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

    /// The effect that a charge would have.
    fn quote(&self, request: &ChargeRequest) -> Result<QuoteDocument, Failure>;

    /// Up to `most` records of an account, newest first.
    fn history(&self, name: &AccountName, from: Option<u64>, most: usize) -> Result<HistoryDocument, Failure>;

    /// Which ledger it is.
    fn ledger(&self) -> Result<LedgerDocument, Failure>;

    /// Recomputes the whole journal, and reports progress as a share of the work.
    fn verify(&self, progress: &dyn Fn(f64)) -> Result<VerifyDocument, Failure>;

    /// A record with the proof that it is in the journal of a signed checkpoint.
    fn receipt_proof(&self, record: &RecordChoice) -> Result<ReceiptProof, Failure>;

    /// The newest signed checkpoint.
    fn checkpoint(&self) -> Result<CheckpointDocument, Failure>;

    /// Signs a checkpoint of all records and keeps it, with the keys that were named.
    fn make_checkpoint(&self, signing: Option<Arc<Signing>>) -> Result<CheckpointDocument, Failure>;

    /// The proof that the newest checkpoint extends the journal's first records.
    fn consistency_proof(&self, from: u64) -> Result<ConsistencyProof, Failure>;

    /// Writes the journal. Returns the ledger's id and the position of the last record.
    fn export(&self, out: &mut dyn Write, progress: &dyn Fn(f64)) -> Result<(LedgerId, Position), Failure>;
}

/// Datasets and questions.
pub trait DatasetBackend {
    /// All datasets.
    fn datasets(&self) -> Result<DatasetList, Failure>;

    /// One dataset.
    fn dataset(&self, name: &AccountName) -> Result<DatasetDocument, Failure>;

    /// A dataset, if its data are where they were and match the declaration.
    fn check(&self, name: &AccountName) -> Result<CheckedDataset, Failure>;

    /// Chooses the rows of every unit again.
    fn refresh(&self, name: &AccountName) -> Result<DatasetDocument, Failure>;

    /// Lets DuckDB have the data of a dataset.
    fn move_to_duckdb(&self, name: &AccountName, driver: DriverChoice) -> Result<DatasetDocument, Failure>;

    /// Why charged questions have no answer, newest first.
    fn log(&self, most: u32) -> Result<FailedQuestionList, Failure>;

    /// Registers a dataset, or a new version of one.
    fn register(&self, registration: &Registration) -> Result<RegisteredDocument, Failure>;

    /// All public tables.
    fn public_tables(&self) -> Result<PublicTableList, Failure>;

    /// Registers a public table from a CSV file; one of this name is an error, unless it is replaced.
    fn put_public_table(&self, name: &AccountName, file: &Path, replace: bool) -> Result<PublicTableDocument, Failure>;

    /// Removes a public table.
    fn remove_public_table(&self, name: &AccountName) -> Result<RemovedPublicTable, Failure>;

    /// Opens an analyst's account below that of a dataset.
    fn add_analyst(&self, dataset: &AccountName, analyst: &str, rules: Rules) -> Result<NewAnalystDocument, Failure>;

    /// The account that pays for a question if none is named.
    fn payer(&self, dataset: &AccountName) -> Result<AccountName, Failure>;

    /// The caller's token; none on this machine.
    fn own_token(&self) -> Result<Option<TokenDocument>, Failure>;

    /// Asks, once for a key.
    fn ask(&self, question: &QuestionRequest, by: Option<&Who>, key: &Key) -> Result<QuestionOutcome, Failure>;

    /// What a question would run and cost.
    fn explain(&self, question: &QuestionRequest) -> Result<Explanation, Failure>;

    /// What the questions of a study cost and need together.
    fn plan(&self, study: &StudyRequest) -> Result<StudyPlan, Failure>;

    /// The answer to a question from made-up rows. Charges nothing and touches no data.
    fn ask_dummy(&self, question: &QuestionRequest, rows: u32) -> Result<DummyAnswer, Failure>;

    /// The file with the history of the prompt.
    fn typed_lines(&self) -> Result<PathBuf, Failure>;
}

/// Tokens.
pub trait TokenBackend {
    /// All tokens, including expired and revoked ones.
    fn tokens(&self) -> Result<TokenList, Failure>;

    /// Creates a token, and returns its secret this one time.
    fn create_token(&self, token: &NewToken) -> Result<CreatedToken, Failure>;

    /// Revokes a token.
    fn revoke_token(&self, id: &str) -> Result<TokenDocument, Failure>;
}
