//! Requests and responses: one type for each, for commands and HTTP alike.
//!
//! Every document about accounts is made for a [`Sight`], so that it never has what the caller may not see.

pub(crate) mod account;
pub(crate) mod charge;
pub(crate) mod cost;
pub(crate) mod dataset;
pub(crate) mod event;
pub(crate) mod history;
pub(crate) mod journal;
pub(crate) mod problem;
pub(crate) mod proof;
pub(crate) mod public_table;
pub(crate) mod question;
pub(crate) mod quote;
pub(crate) mod rules;
pub(crate) mod study;
pub(crate) mod token;
pub mod warning;
pub mod words;

pub use account::{
    AccountDocument, AccountList, BalanceDocument, BudgetDocument, CloseRequest, Closed, FilterDocument, NewAccount,
    OdometerDocument, Opened, RefusalList, blocked_by, unbounded,
};
pub use charge::{ChargeOutcome, ChargeRequest, Charged, Committed, Paid, Refused, RefusedAccount};
pub use cost::DeclaredCost;
pub use dataset::{
    CheckedDataset, DatasetDocument, DatasetList, FailedQuestionList, NewAnalyst, NewAnalystDocument, NewData,
    NewDataset, RegisteredDocument, SchemaDocument, Upload, analysts,
};
pub use event::{AccountEvent, EventDocument};
pub use history::{HistoryDocument, RecordDocument};
pub use journal::{DAMAGED_WITNESS, LedgerDocument, VerifyDocument, VerifyState, WitnessDocument};
pub use problem::{Code, Problem};
pub use proof::{CheckpointDocument, ConsistencyProof, ReceiptProof};
pub use public_table::{
    NewPublicTable, PublicColumnDocument, PublicTableDocument, PublicTableList, RemovedPublicTable,
};
pub use question::{ExplainedStatement, Explanation, QuestionOutcome, QuestionRequest, about_average};
pub use quote::{QuoteDocument, QuotedAccountDocument};
pub use rules::{FilterRequest, OdometerRequest, specs};
pub use study::{PlannedAccount, PlannedQuestion, RefusedQuestion, StudyOrder, StudyPlan, StudyQuestion, StudyRequest};
pub use token::{CreatedToken, NewToken, Role, TokenDocument, TokenList, WhoAmI};

pub use taximeter_gate::AnswerDocument;
pub use taximeter_ledger::{Computed, ReceiptDocument, Sight};
