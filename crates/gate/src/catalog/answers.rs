//! Answers that were given, and the owner's log of those that were not.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use super::{Catalog, broken};
use crate::error::Error;

/// A stored answer, or what is known in place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredAnswer {
    /// The hash of the request that it answers.
    pub(crate) request: String,
    /// The account that paid for it.
    pub(crate) account: String,
    /// The dataset.
    pub(crate) dataset: String,
    /// The version of the dataset that it was made from.
    pub(crate) version: u32,
    /// The document; nothing if there is no answer.
    pub(crate) document: Option<String>,
}

/// A line of the owner's log: why a charged question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedQuestion {
    /// When.
    pub time: Timestamp,
    /// The key of the charge.
    pub key: String,
    /// The dataset.
    pub dataset: String,
    /// What went wrong. For the owner alone: it may depend on the data.
    pub why: String,
}

/// An answer to store.
#[derive(Clone, Copy)]
pub(crate) struct AnswerRecord<'a> {
    pub(crate) key: &'a str,
    pub(crate) request: &'a str,
    pub(crate) account: &'a str,
    pub(crate) dataset: &'a str,
    pub(crate) version: u32,
    /// Nothing if there is no answer, and never will be.
    pub(crate) document: Option<&'a str>,
}

impl Catalog {
    /// What is stored under a key.
    pub(crate) fn answer(&self, key: &str) -> Result<Option<StoredAnswer>, Error> {
        let connection = self.lock();
        let mut statement = connection
            .prepare_cached("SELECT request, account, dataset, version, document FROM answers WHERE key = ?1")
            .map_err(broken)?;
        let stored = |row: &rusqlite::Row<'_>| {
            Ok(StoredAnswer {
                request: row.get(0)?,
                account: row.get(1)?,
                dataset: row.get(2)?,
                version: row.get(3)?,
                document: row.get(4)?,
            })
        };
        statement.query_row([key], stored).optional().map_err(broken)
    }

    /// An account's newest answer to the same request on the same version: a principal's own, or anybody's for whoever is at the
    /// machine.
    pub(crate) fn same_answer(
        &self,
        wanted: &AnswerRecord<'_>,
        principal: Option<&str>,
    ) -> Result<Option<String>, Error> {
        let AnswerRecord { account, request, version, .. } = *wanted;
        // The start of every key that is the principal's.
        let keys = principal.map_or(String::new(), |principal| format!("{principal}:"));
        let connection = self.lock();
        let mut statement = connection
            .prepare_cached(
                "SELECT document FROM answers WHERE account = ?1 AND request = ?2 AND version = ?3 AND document IS NOT NULL
                 AND substr(key, 1, length(?4)) = ?4
                 ORDER BY rowid DESC LIMIT 1",
            )
            .map_err(broken)?;
        statement.query_row(params![account, request, version, keys], |row| row.get(0)).optional().map_err(broken)
    }

    /// Stores an answer. When it returns, the answer is on disk.
    pub(crate) fn store(&self, record: &AnswerRecord<'_>) -> Result<(), Error> {
        let AnswerRecord { key, request, account, dataset, version, document } = *record;
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("INSERT INTO answers VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)").map_err(broken)?;
        let time = Timestamp::now().to_string();
        statement.execute(params![key, request, account, dataset, version, document, time]).map_err(broken)?;
        Ok(())
    }

    /// Writes to the owner's log why a charged question has no answer.
    pub(crate) fn log(&self, key: &str, dataset: &str, why: &str) -> Result<(), Error> {
        let connection = self.lock();
        let why: String = why.chars().take(10_000).collect();
        connection
            .execute(
                "INSERT INTO failures VALUES (?1, ?2, ?3, ?4)",
                params![Timestamp::now().to_string(), key, dataset, why],
            )
            .map_err(broken)?;
        Ok(())
    }

    /// The newest lines of the owner's log.
    pub fn failures(&self, most: u32) -> Result<Vec<FailedQuestion>, Error> {
        let connection = self.lock();
        let mut statement = connection
            .prepare_cached("SELECT time, key, dataset, why FROM failures ORDER BY rowid DESC LIMIT ?1")
            .map_err(broken)?;
        let mut rows = statement.query([most]).map_err(broken)?;
        let mut failures = Vec::new();
        while let Some(row) = rows.next().map_err(broken)? {
            let time: String = row.get(0).map_err(broken)?;
            failures.push(FailedQuestion {
                time: time.parse().map_err(|error| Error::integrity(format!("the owner's log: {error}")))?,
                key: row.get(1).map_err(broken)?,
                dataset: row.get(2).map_err(broken)?,
                why: row.get(3).map_err(broken)?,
            });
        }
        Ok(failures)
    }
}
