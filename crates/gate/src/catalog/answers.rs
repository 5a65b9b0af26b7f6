//! Answers that were given, and the owner's log of those that were not.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use taximeter_ledger::{AccountName, Key};

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

/// What became of a principal's question that was charged: its answer, or that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    /// The key, as the principal chose it.
    pub key: String,
    /// The account that paid for it.
    pub account: AccountName,
    /// The dataset.
    pub dataset: AccountName,
    /// The document; nothing if there is no answer.
    pub document: Option<String>,
    /// When it was stored. How long a question took may depend on the data, so this is not for whoever asked.
    pub stored: Timestamp,
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

    /// What is stored under a principal's key.
    pub fn answer_of(&self, principal: &str, key: &Key) -> Result<Option<KeptAnswer>, Error> {
        let key = Key::belonging_to(principal, key.as_str())?;
        let connection = self.lock();
        let mut statement = connection
            .prepare_cached("SELECT key, account, dataset, document, time FROM answers WHERE key = ?1")
            .map_err(broken)?;
        let mut rows = statement.query([key.as_str()]).map_err(broken)?;
        rows.next().map_err(broken)?.map(|row| kept(row, principal)).transpose()
    }

    /// The answers of a principal, those before a key that the part before ended with.
    ///
    /// They are in the order of their keys, and not in that in which they were stored: of two that ran at the same time that would tell
    /// which took longer. A key that this program made begins with the time, so these come first, the newest at the beginning;
    /// keys that somebody chose follow. The keys are read from their index, and the documents only of those that are given.
    pub fn answers_of(&self, principal: &str, before: Option<&str>, most: u32) -> Result<Vec<KeptAnswer>, Error> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(ANSWERS_OF).map_err(broken)?;
        let mut rows = statement.query(params![principal, before, MADE, most]).map_err(broken)?;
        let mut answers = Vec::new();
        while let Some(row) = rows.next().map_err(broken)? {
            answers.push(kept(row, principal)?);
        }
        Ok(answers)
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

/// A part of a principal's answers: first their keys, which the index has, then the documents of those few.
const ANSWERS_OF: &str = "
    WITH part AS (
        SELECT key, substr(key, length(?1) + 2) AS own FROM answers
        WHERE key > ?1 || ':' AND key < ?1 || ';' AND (?2 IS NULL OR (own LIKE ?3, own) < (?2 LIKE ?3, ?2))
        ORDER BY own LIKE ?3 DESC, own DESC LIMIT ?4
    )
    SELECT a.key, a.account, a.dataset, a.document, a.time FROM part CROSS JOIN answers a ON a.key = part.key
    ORDER BY part.own LIKE ?3 DESC, part.own DESC";

/// How a key looks that [`Key::generate`] made: twelve digits of the time, sixteen of the process, and a count.
const MADE: &str = "____________-________________-%";

fn kept(row: &Row<'_>, principal: &str) -> Result<KeptAnswer, Error> {
    let text = |at: usize| row.get::<_, String>(at).map_err(broken);
    let (key, time) = (text(0)?, text(4)?);
    let own = key.strip_prefix(principal).and_then(|rest| rest.strip_prefix(':')).unwrap_or(&key);
    Ok(KeptAnswer {
        key: own.to_string(),
        account: AccountName::parse(&text(1)?)?,
        dataset: AccountName::parse(&text(2)?)?,
        document: row.get(3).map_err(broken)?,
        stored: time.parse().map_err(|error| Error::integrity(format!("the time of a stored answer: {error}")))?,
    })
}

#[cfg(test)]
mod tests {
    use taximeter_ledger::LedgerId;

    use super::*;

    fn catalog(keys: &[&str]) -> (tempfile::TempDir, Catalog) {
        let folder = tempfile::tempdir().unwrap();
        let ledger = LedgerId::parse("0123456789abcdef0123456789abcdef").unwrap();
        let catalog = Catalog::open(&folder.path().join("gate"), ledger).unwrap();
        for key in keys {
            let document = (!key.ends_with("none")).then_some(*key);
            let (account, dataset) = ("census/alice", "census");
            let record = AnswerRecord { key, request: "hash", account, dataset, version: 1, document };
            catalog.store(&record).unwrap();
        }
        (folder, catalog)
    }

    /// The keys of a part, without those of anybody else.
    fn check(catalog: &Catalog, principal: &str, before: Option<&str>, most: u32, expected: &[&str]) {
        let answers = catalog.answers_of(principal, before, most).unwrap();
        let keys: Vec<&str> = answers.iter().map(|answer| answer.key.as_str()).collect();
        assert_eq!(keys, expected, "{principal} before {before:?}");
        for answer in &answers {
            let whole = format!("{principal}:{}", answer.key);
            assert_eq!(answer.document, (!whole.ends_with("none")).then_some(whole));
        }
    }

    const OLD: &str = "019a0c5e1111-0123456789abcdef-0";
    const NEW: &str = "019a0c5e2222-0123456789abcdef-0";

    #[test]
    fn answers_are_listed_to_their_principal_alone_the_newest_first() {
        let [old, new] = [OLD, NEW].map(|key| format!("alice:{key}"));
        // Stored in another order than they were asked.
        let keys =
            [&new, "alice:zebra", "alice:a:b", &old, "alice:none", "alice2:k", "alic:k", "k", "Alice:k", "al_ce:k"];
        let (_folder, catalog) = catalog(&keys);
        let all = [NEW, OLD, "zebra", "none", "a:b"];
        check(&catalog, "alice", None, 20, &all);
        check(&catalog, "alice", None, 2, &all[..2]);
        for (at, key) in all.iter().enumerate() {
            check(&catalog, "alice", Some(key), 2, &all[at + 1..all.len().min(at + 3)]);
        }
        // A place at which nothing is.
        check(&catalog, "alice", Some("m"), 20, &["a:b"]);
        check(&catalog, "alice2", None, 20, &["k"]);
        check(&catalog, "al_ce", None, 20, &["k"]);
        check(&catalog, "al%", None, 20, &[]);
        check(&catalog, "nobody", None, 20, &[]);
    }

    #[test]
    fn an_answer_is_found_by_its_principal_and_key_alone() {
        let (_folder, catalog) = catalog(&["alice:k", "alice:none", "bob:mine", "k2"]);
        let find = |principal: &str, key: &str| catalog.answer_of(principal, &Key::parse("key", key).unwrap()).unwrap();
        let found = find("alice", "k").unwrap();
        assert_eq!((found.key.as_str(), found.document.as_deref()), ("k", Some("alice:k")));
        assert_eq!((found.account.as_str(), found.dataset.as_str()), ("census/alice", "census"));
        assert_eq!(find("alice", "none").unwrap().document, None);
        for (principal, key) in [("alice", "mine"), ("bob", "k"), ("alice", "k2"), ("alice", "alice:k")] {
            assert_eq!(find(principal, key), None, "{principal}, {key}");
        }
    }

    #[test]
    fn a_list_of_answers_reads_keys_from_the_index_and_few_documents() {
        let (_folder, catalog) = catalog(&[]);
        let connection = catalog.lock();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {ANSWERS_OF}")).unwrap();
        let parameters = params!["alice", None::<&str>, MADE, 20];
        let details: Vec<String> = plan.query_map(parameters, |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        let finds = |how: &str| details.iter().filter(|detail| detail.contains(how)).count();
        assert_eq!(finds("SEARCH answers USING COVERING INDEX"), 1, "{details:?}");
        assert_eq!(finds("SEARCH a USING INDEX"), 1, "{details:?}");
        assert_eq!(finds("SEARCH a"), 2, "{details:?}");
    }
}
