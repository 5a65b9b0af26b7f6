//! The documents that commands print and the server speaks, and who may see what of them.
//!
//! One form for each thing, whether it comes from a file or over the network: a command shows what it got without asking where from.
//! Every document about accounts is made for a [`Sight`], so that what somebody may not see never leaves this place.

#![forbid(unsafe_code)]

mod account;
mod answer;
mod charge;
mod cost;
mod dataset;
mod event;
mod history;
mod journal;
mod number;
mod problem;
mod question;
mod quote;
mod rules;
mod sight;
mod text;
mod token;
pub mod warning;
pub mod words;

pub use account::{
    AccountDocument, AccountList, BalanceDocument, BudgetDocument, CloseRequest, Closed, FilterDocument, NewAccount,
    OdometerDocument, Opened, blocked_by, unbounded,
};
pub use answer::{AnswerAccount, AnswerColumn, AnswerDocument};
pub use charge::{ChargeRequest, Charged, ChargedOutcome, Paid, Refused, RefusedAccount};
pub use cost::{AmountDocument, CostSchema, DeclaredCost, OfferedAmount};
pub use dataset::{
    BadRowDocument, CheckedDataset, ColumnDocument, CsvFormDocument, DatasetDocument, DatasetList,
    FailedQuestionDocument, FailedQuestionList, ImportedDocument, NewAnalyst, NewAnalystDocument, NewData, NewDataset,
    RegisteredDocument, SchemaDocument, Upload, analysts,
};
pub use event::{AccountEvent, EventDocument, RefusedEvent};
pub use history::{HistoryDocument, RecordDocument};
pub use journal::{
    DAMAGED_WITNESS, LedgerDocument, PositionDocument, ReceiptDocument, VerifyDocument, VerifyState, WitnessDocument,
};
pub use number::Computed;
pub use problem::{Code, Problem};
pub use question::{
    ExpectedAverageDocument, ExplainedPartDocument, Explanation, NoiseName, PriceDocument, QuestionRequest,
};
pub use quote::{QuoteDocument, QuotedAccountDocument};
pub use rules::{FilterRequest, OdometerRequest, specs};
pub use sight::Sight;
pub use text::NameSchema;
pub use token::{CreatedToken, NewToken, Role, TokenDocument, TokenList, WhoAmI};
