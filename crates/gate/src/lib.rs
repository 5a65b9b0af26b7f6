//! The only way to the data: charge, commit, execute, add noise, answer.
//!
//! An owner registers a dataset with a [`Declaration`]: whose privacy is protected, and the bounds and categories of its columns. An
//! analyst's SQL is parsed and checked, never executed; what runs is aggregate SQL that the gate writes itself, after the charge
//! is on the ledger, and only integers come back, to which noise is added.

#![forbid(unsafe_code)]

mod answer;
mod catalog;
mod declaration;
mod document;
mod dummy;
mod engine;
mod error;
mod forecast;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod gate;
mod import;
mod joined;
mod measure;
mod mode;
mod noise;
mod number;
#[cfg(feature = "openapi")]
mod openapi;
mod plan;
mod public;
mod quantile;
mod question;
mod register;
mod request;
mod schema;
mod sensitivity;
mod sql;
mod statistics;
mod steps;
mod suggest;

/// The paper's two examples, as programs that run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/examples.md")]
mod examples {}

pub use catalog::{Catalog, Dataset, FailedQuestion, StoredAnswer};
pub use declaration::{Category, Declaration, DeclaredColumn};
pub use document::{
    AnswerColumn, AnswerDocument, Cell, DatedEstimate, Estimate, ExpectedAverage, JoinedVersion, MeasuredPart,
    PayingAccount,
};
pub use dummy::{DummyAnswer, dummy_csv};
pub use engine::{DriverChoice, RemoteService, RemoteTable};
pub use error::{Error, ErrorKind};
pub use forecast::{ExpectedSum, cost_of_count, noise_of_sums};
pub use gate::{Answer, Gate, GateOutcome, Origin, folder_beside};
pub use import::{BadRow, BadRows, CsvForm, Field, TableRows};
pub use joined::JoinableDatasets;
pub use number::Number;
pub use plan::{NoiseKind, Price};
pub use public::PublicTable;
pub use question::Question;
pub use register::{CsvEngine, Data, ImportedRows, LONGEST_TIMEOUT, Registered, Registration, Rules};
pub use request::{Prepared, Request, question_in_note};
pub use schema::{Bound, Bounds, Column, ColumnType, PrivacyUnit, Schema, Value};
pub use suggest::SuggestedBounds;
