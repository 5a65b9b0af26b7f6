use std::error::Error as _;

use tokio_postgres::error::{DbError, Severity};

/// Why a session has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// There is no connection, or it is broken. How far the server came is not known. It may be back soon.
    #[error("{0}")]
    Lost(String),
    /// The server refused. The transaction did not happen, even if this is the answer to a COMMIT.
    #[error("{why}")]
    Refused {
        /// The server's code (SQLSTATE).
        code: String,
        /// The constraint that a row does not meet.
        constraint: Option<String>,
        /// What it said.
        why: String,
    },
    /// The server, or what it answered, cannot be used.
    #[error("{0}")]
    Failed(String),
}

impl SessionError {
    /// An error while connecting. The server may be starting again or be out of reach for a while; a wrong password stays wrong.
    pub(crate) fn while_connecting(error: tokio_postgres::Error) -> SessionError {
        match error.as_db_error() {
            Some(answer) if ["28", "3D"].iter().any(|class| answer.code().code().starts_with(class)) => refused(answer),
            _ => error.into(),
        }
    }
}

impl From<tokio_postgres::Error> for SessionError {
    fn from(error: tokio_postgres::Error) -> SessionError {
        match error.as_db_error() {
            Some(answer) if is_end(answer) => SessionError::Lost(describe(answer)),
            Some(answer) => refused(answer),
            None => {
                let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
                SessionError::Lost(format!("PostgreSQL: {error}{cause}"))
            }
        }
    }
}

/// Whether the server ends the connection with this answer: whatever fails after a commit is on disk makes it do so.
fn is_end(answer: &DbError) -> bool {
    let code = answer.code().code();
    // Shut down, crashed, starting; the connection.
    matches!(answer.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
        || code.starts_with("57P")
        || code.starts_with("08")
}

fn refused(answer: &DbError) -> SessionError {
    let constraint = answer.constraint().map(str::to_string);
    SessionError::Refused { code: answer.code().code().to_string(), constraint, why: describe(answer) }
}

fn describe(answer: &DbError) -> String {
    let code = answer.code().code();
    let hint = match code {
        "3D000" => "; make it with `createdb`, or name another",
        "53100" => "; make room on the server's disk",
        _ => "",
    };
    let detail = answer.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
    format!("PostgreSQL: {}{detail} [{code}]{hint}", answer.message())
}
