//! What an error of PostgreSQL leaves behind.

use std::error::Error as _;

use tokio_postgres::error::{DbError, Severity};

use super::schema::UNIQUE_KEY;
use crate::store::{Failure, StoreError};

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> StoreError {
        match error.as_db_error() {
            Some(answer) => StoreError::new(kind(answer), describe(answer)),
            // Without an answer of the server nobody knows how far it came.
            None => {
                let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
                StoreError::new(Failure::Lost, format!("PostgreSQL: {error}{cause}"))
            }
        }
    }
}

/// An answer below FATAL says that the transaction did not happen, also when it answers a COMMIT: whatever fails after the commit
/// is on disk makes the server end the connection.
fn kind(answer: &DbError) -> Failure {
    if matches!(answer.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) {
        return Failure::Lost;
    }
    match answer.code().code() {
        // Not serializable, a deadlock, a lock that was not to be had in time.
        "40001" | "40P01" | "55P03" => Failure::Again,
        "23505" if answer.constraint() == Some(UNIQUE_KEY) => Failure::KeyTaken,
        // A number or a name that is there already, though nobody else can have written since the head was locked; damaged data.
        "23505" | "XX001" | "XX002" => Failure::Broken,
        // Shut down, crashed, starting; the connection.
        "57P01" | "57P02" | "57P03" => Failure::Lost,
        code if code.starts_with("08") => Failure::Lost,
        _ => Failure::Failed,
    }
}

fn describe(answer: &DbError) -> String {
    let code = answer.code().code();
    let hint = match code {
        "3D000" => "; make it with `createdb`, or name another",
        "42501" => {
            "; the tables are made and kept in the schema taximeter, which the user must own or be allowed to make"
        }
        "53100" => "; make room on the server's disk",
        "55P03" => "; another process has been writing for long",
        _ => "",
    };
    let detail = answer.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
    format!("PostgreSQL: {}{detail} [{code}]{hint}", answer.message())
}

/// An error while connecting. The server may be starting again or be out of reach for a while; a wrong password stays wrong.
pub(super) fn while_connecting(error: tokio_postgres::Error) -> StoreError {
    let is_final = error.code().is_some_and(|code| ["28", "3D"].iter().any(|class| code.code().starts_with(class)));
    let error = StoreError::from(error);
    if is_final { StoreError { kind: Failure::Failed, ..error } } else { error }
}
