//! What an error of PostgreSQL leaves behind.

use taximeter_postgres::SessionError;

use super::schema::UNIQUE_KEY;
use crate::store::{StoreError, StoreFailure};

impl From<SessionError> for StoreError {
    fn from(error: SessionError) -> StoreError {
        let (kind, advice) = match &error {
            SessionError::Lost(_) => (StoreFailure::Lost, ""),
            SessionError::Failed(_) => (StoreFailure::Failed, ""),
            SessionError::Refused { code, constraint, .. } => (kind(code, constraint.as_deref()), advice(code)),
        };
        StoreError::new(kind, format!("{error}{advice}"))
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> StoreError {
        SessionError::from(error).into()
    }
}

fn kind(code: &str, constraint: Option<&str>) -> StoreFailure {
    match code {
        // Not serializable, a deadlock, a lock that was not to be had in time.
        "40001" | "40P01" | "55P03" => StoreFailure::Again,
        "23505" if constraint == Some(UNIQUE_KEY) => StoreFailure::KeyTaken,
        // A number or a name that is there already, though no other process can have written since the head was locked; damaged data.
        "23505" | "XX001" | "XX002" => StoreFailure::Broken,
        _ => StoreFailure::Failed,
    }
}

fn advice(code: &str) -> &'static str {
    match code {
        "42501" => "; the tables are in the schema taximeter, which the user must own or be allowed to create",
        "55P03" => "; another process has been writing for long",
        _ => "",
    }
}
