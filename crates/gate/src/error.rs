use std::fmt::Display;
use std::path::{Path, PathBuf};

use taximeter_ledger::{AccountName, Key, LedgerId, Privacy};

use crate::import::BadRow;

/// What went wrong.
///
/// It prints as a sentence that says what was wrong, with the value, and what would do. The [`kind`](Error::kind) holds the same as
/// data. A refusal by a filter is not an error, and neither is a charged question without an answer: see
/// [`GateOutcome`](crate::GateOutcome).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

/// What an [`Error`] is about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A parameter whose value cannot be used.
    #[error("{}{needs}", if value.is_empty() { String::new() } else { format!("the {parameter} {value}: ") })]
    Input {
        /// What it is: a file, a table, a price.
        parameter: &'static str,
        /// Its value as text; empty if it is about several.
        value: String,
        /// What is wrong with it, and what would do.
        needs: String,
    },
    /// A question that is not answered.
    #[error("at character {at}: {why}")]
    Question {
        /// The character where it goes wrong, counted from 1.
        at: usize,
        /// Why, and what to write.
        why: String,
    },
    /// A schema that cannot be used.
    #[error("{}{why}", column.as_ref().map(|column| format!("the column {column:?}: ")).unwrap_or_default())]
    Schema {
        /// The column that it is about.
        column: Option<String>,
        /// Why, and what to write.
        why: String,
    },
    /// A file that cannot be imported.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why, and what would do.
        why: String,
    },
    /// A file whose header is in another encoding than it was read in.
    #[error(
        "{path}: the header cannot be used: the name of column {column} is not UTF-8; write the file in UTF-8, or give its encoding"
    )]
    HeaderEncoding {
        /// The file.
        path: PathBuf,
        /// The column, from 1.
        column: usize,
    },
    /// Rows of a file that cannot be read.
    #[error(
        "{bad_rows} of {rows} rows of {path} cannot be read; nothing was imported:{}\ncorrect the file or the declared types, or skip \
         these rows",
        listed(bad, *bad_rows)
    )]
    BadRows {
        /// The file.
        path: PathBuf,
        /// How many rows it has.
        rows: u64,
        /// How many of them cannot be read.
        bad_rows: u64,
        /// The first of those.
        bad: Vec<BadRow>,
    },
    /// A dataset that does not exist.
    #[error("dataset {0} not found")]
    NoDataset(AccountName),
    /// A dataset that exists already.
    #[error("dataset {0} already exists; newer data can replace it as a new version, paid for by the same account")]
    DatasetExists(AccountName),
    /// A name that a dataset has, wanted for a public table, or the other way round.
    #[error("the name {0} is taken by {1}: choose another one")]
    NameTaken(AccountName, &'static str),
    /// A public table that does not exist.
    #[error("public table {0} not found")]
    NoPublicTable(AccountName),
    /// A public table that exists already.
    #[error("public table {0} already exists; remove it first, or replace it with this one")]
    PublicTableExists(AccountName),
    /// A new version of a dataset that does not exist yet.
    #[error("dataset {0} does not exist, so these data cannot be a new version of it")]
    NoEarlierVersion(AccountName),
    /// A dataset that was imported from a file has no table to read again.
    #[error(
        "the data of {0} were imported from a file, which is not read again; newer data can replace them as a new version"
    )]
    NoTable(AccountName),
    /// The owner of a dataset does not let earlier answers be used again.
    #[error("the owner of {0} does not let earlier answers be used again; ask without reuse")]
    NoReuse(AccountName),
    /// There is no account that pays for a dataset, and no budget for a new one.
    #[error("no account named {0} exists to pay for this dataset; give a budget to create it")]
    NoPayer(AccountName),
    /// There is a budget for a new account, but the account exists already.
    #[error("account {0} already exists; omit the budget and the rules to let it pay, or choose another name")]
    PayerExists(AccountName),
    /// An account protects something else than the dataset that it pays for.
    #[error(
        "the account {account} protects {protects}, but the dataset is declared to protect {declared}: choose another name, or declare \
         the same"
    )]
    OtherPrivacy {
        /// The account.
        account: AccountName,
        /// What it protects.
        protects: Privacy,
        /// What the dataset is declared to protect.
        declared: Privacy,
    },
    /// An idempotency key that was used for another request.
    #[error("the key {key:?} belongs to {used_for}; omit the key to get a new one")]
    KeyTaken {
        /// The key as its owner knows it.
        key: Key,
        /// What it was used for.
        used_for: &'static str,
    },
    /// A folder that is not a gate's.
    #[error("{0} is not a gate's folder")]
    NotAGate(PathBuf),
    /// The datasets in a folder are paid for on another ledger.
    #[error(
        "the datasets in {folder} belong to the ledger {pays}, but this one is {ledger}: on another ledger their budgets could be spent \
         twice"
    )]
    OtherLedger {
        /// The folder.
        folder: PathBuf,
        /// The ledger that pays for them.
        pays: String,
        /// This ledger.
        ledger: LedgerId,
    },
    /// The gate's records cannot be used.
    #[error("the gate's records in {folder} cannot be used: {why}")]
    Records {
        /// The folder.
        folder: PathBuf,
        /// Why.
        why: String,
    },
    /// The data of a dataset cannot be asked now. Why is for its owner alone.
    #[error(
        "the data of {dataset} cannot be reached, and nothing was charged; try again later. The owner finds the reason by checking the \
         dataset"
    )]
    DataAway {
        /// The dataset.
        dataset: AccountName,
        /// Why: where the data are, and what their database says.
        why: String,
    },
    /// Another process answers the same question.
    #[error("the question under the key {0:?} is being answered by another process; ask again later with the same key")]
    UnderWay(Key),
    /// Data of a dataset are being registered already.
    #[error("data of the dataset {0} are being registered already; wait until that has finished")]
    Busy(AccountName),
    /// Records or data are not what was written.
    #[error("{0}")]
    Integrity(String),
    /// A disk or a database failed.
    #[error("{0}")]
    Storage(String),
    /// An error of the ledger.
    #[error(transparent)]
    Ledger(taximeter_ledger::Error),
}

impl Error {
    /// Something that cannot be used for more than one value: a sentence by itself.
    pub(crate) fn input(parameter: &'static str, needs: impl Into<String>) -> Error {
        Error::value(parameter, "", needs)
    }

    /// A value that cannot be used, and what would do.
    pub(crate) fn value(parameter: &'static str, value: impl Display, needs: impl Into<String>) -> Error {
        ErrorKind::Input { parameter, value: value.to_string(), needs: needs.into() }.into()
    }

    /// A question that is not answered, and the character where it goes wrong, counted from 1.
    pub(crate) fn question(at: usize, why: impl Into<String>) -> Error {
        ErrorKind::Question { at, why: why.into() }.into()
    }

    pub(crate) fn schema(why: impl Into<String>) -> Error {
        ErrorKind::Schema { column: None, why: why.into() }.into()
    }

    pub(crate) fn column(column: &str, why: impl Into<String>) -> Error {
        ErrorKind::Schema { column: Some(column.to_string()), why: why.into() }.into()
    }

    /// The same error, said to be about a column.
    pub(crate) fn in_column(self, column: &str) -> Error {
        match self.kind() {
            ErrorKind::Schema { column: Some(_), .. } => self,
            _ => Error::column(column, self.to_string()),
        }
    }

    pub(crate) fn file(path: &Path, why: impl Into<String>) -> Error {
        ErrorKind::File { path: path.to_path_buf(), why: why.into() }.into()
    }

    /// The same error with another name for the file that it is about.
    pub fn with_file_name(mut self, name: PathBuf) -> Error {
        if let ErrorKind::File { path, .. } | ErrorKind::HeaderEncoding { path, .. } | ErrorKind::BadRows { path, .. } =
            &mut *self.0
        {
            *path = name;
        }
        self
    }

    pub(crate) fn integrity(why: impl Into<String>) -> Error {
        ErrorKind::Integrity(why.into()).into()
    }

    pub(crate) fn storage(why: impl Into<String>) -> Error {
        ErrorKind::Storage(why.into()).into()
    }

    /// What it is about.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Something that cannot be used as given: a question, a schema, a file. Nothing was charged.
    pub fn is_input(&self) -> bool {
        use ErrorKind::*;
        match self.kind() {
            Ledger(error) => error.is_input(),
            Records { .. } | DataAway { .. } | UnderWay(_) | Busy(_) | Integrity(_) | Storage(_) => false,
            _ => true,
        }
    }

    /// It is not known whether a charge was committed; asking again with the same key tells.
    pub fn is_unknown_outcome(&self) -> bool {
        matches!(self.kind(), ErrorKind::Ledger(error) if error.is_unknown_outcome())
    }

    /// Records are not what was written.
    pub fn is_integrity(&self) -> bool {
        match self.kind() {
            ErrorKind::Ledger(error) => error.is_integrity(),
            kind => matches!(kind, ErrorKind::Integrity(_)),
        }
    }

    /// Where a question goes wrong: the character, counted from 1.
    pub fn position(&self) -> Option<usize> {
        match self.kind() {
            ErrorKind::Question { at, .. } => Some(*at),
            _ => None,
        }
    }
}

/// The first bad rows, one a line, and how many more there are.
fn listed(bad: &[BadRow], bad_rows: u64) -> String {
    let lines: String = bad.iter().map(|BadRow { line, why, .. }| format!("\n  line {line}: {why}")).collect();
    match bad_rows - bad.len() as u64 {
        0 => lines,
        more => format!("{lines}\n  and {more} more"),
    }
}

impl<T: Into<ErrorKind>> From<T> for Error {
    fn from(kind: T) -> Error {
        Error(Box::new(kind.into()))
    }
}

impl From<taximeter_ledger::Error> for ErrorKind {
    fn from(error: taximeter_ledger::Error) -> ErrorKind {
        ErrorKind::Ledger(error)
    }
}

impl From<taximeter_postgres::AddressError> for ErrorKind {
    fn from(error: taximeter_postgres::AddressError) -> ErrorKind {
        ErrorKind::Ledger(error.into())
    }
}

impl From<taximeter_accounting::Error> for ErrorKind {
    fn from(error: taximeter_accounting::Error) -> ErrorKind {
        ErrorKind::Ledger(error.into())
    }
}
