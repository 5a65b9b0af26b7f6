//! Answers that were given, and the owner's log of those that were not.

use std::collections::HashMap;

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use taximeter_ledger::{AccountName, Key};

use super::locks::is_asking;
use super::{AskingProcess, Catalog, time};
use crate::error::Error;

/// What became of a question that was charged: its answer, or that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The key on the ledger; in the list of a principal's answers the key as the principal chose it.
    pub key: String,
    /// The hash of the request that it answers.
    pub(crate) request: String,
    /// The account that paid for it.
    pub account: AccountName,
    /// The dataset.
    pub dataset: AccountName,
    /// The version of the dataset that it was made from.
    pub(crate) version: u32,
    /// The document; nothing if there is no answer, and never will be.
    pub document: Option<String>,
    /// When it was stored. How long a question took may depend on the data, so it is not shown to the analyst.
    pub stored: Timestamp,
}

/// A line of the owner's log: why a charged question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailedQuestion {
    /// When, in UTC.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub time: Timestamp,
    /// The ledger's key of the charge.
    pub key: String,
    /// The dataset.
    pub dataset: String,
    /// What went wrong. For the owner alone: it may depend on the data.
    pub why: String,
}

/// A question that no process is at any more, although there is no answer.
pub(crate) struct Interrupted {
    pub(crate) question: StoredAnswer,
    /// The process that was at it; empty if it did not know whether it was charged.
    pub(crate) asker: String,
}

impl Catalog {
    /// What is stored under a key of the ledger.
    pub(crate) fn answer(&self, key: &str) -> Result<Option<StoredAnswer>, Error> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM answers a WHERE key = ?1"))?;
        statement.query_and_then([key], read_answer)?.next().transpose()
    }

    /// An account's newest answer to the same request on the same version: a principal's own, or any for a person at the
    /// machine.
    pub(crate) fn same_answer(&self, wanted: &StoredAnswer, principal: Option<&str>) -> Result<Option<String>, Error> {
        // The start of every key that is the principal's.
        let keys = principal.map_or(String::new(), |principal| format!("{principal}:"));
        let connection = self.lock();
        let mut statement = connection.prepare_cached(
            "SELECT document FROM answers WHERE account = ?1 AND request = ?2 AND version = ?3 AND document IS NOT NULL
             AND substr(key, 1, length(?4)) = ?4
             ORDER BY rowid DESC LIMIT 1",
        )?;
        let wanted = params![wanted.account.as_str(), wanted.request, wanted.version, keys];
        Ok(statement.query_row(wanted, |row| row.get(0)).optional()?)
    }

    /// What is stored under a principal's key.
    pub fn answer_of(&self, principal: &str, key: &Key) -> Result<Option<StoredAnswer>, Error> {
        let found = self.answer(Key::belonging_to(principal, key.as_str())?.as_str())?;
        Ok(found.map(|answer| StoredAnswer { key: key.to_string(), ..answer }))
    }

    /// The answers of a principal, those before a key that the part before ended with.
    ///
    /// They are in the order of their keys, and not in that in which they were stored: of two that ran at the same time that would tell
    /// which took longer. A key that this program made begins with the time, so these come first, the newest at the beginning;
    /// keys that a person chose follow. The keys are read from their index, and the documents only of those that are given.
    pub fn answers_of(&self, principal: &str, before: Option<&str>, most: u32) -> Result<Vec<StoredAnswer>, Error> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&answers_of())?;
        let part = statement.query_and_then(params![principal, before, MADE, most], read_answer)?;
        let own = |answer: StoredAnswer| StoredAnswer { key: answer.key[principal.len() + 1..].to_string(), ..answer };
        part.map(|answer| answer.map(own)).collect()
    }

    /// Notes that a process is about to have a question charged, so that it is known if the process ends before there is an answer. When
    /// it returns, the note is on disk. Says whether the process is the only one at the question: it takes the place of one that has
    /// ended, and not that of one that still asks.
    pub(crate) fn begin(&self, answer: &StoredAnswer, asking: &AskingProcess) -> Result<bool, Error> {
        let StoredAnswer { key, request, account, dataset, version, stored, .. } = answer;
        let (account, dataset, stored) = (account.as_str(), dataset.as_str(), stored.to_string());
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let other = transaction
            .prepare_cached("SELECT asker FROM under_way WHERE key = ?1")?
            .query_row([key], |row| row.get::<_, String>(0))
            .optional()?;
        // A process has a question under way once, so a note of its own is one that it could not take away.
        if let Some(other) = other.filter(|other| other != asking.name())
            && is_asking(self.folder(), &other)?
        {
            return Ok(false);
        }
        transaction
            .prepare_cached("INSERT OR REPLACE INTO under_way VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
            .execute(params![key, request, account, dataset, version, stored, asking.name()])?;
        transaction.commit()?;
        Ok(true)
    }

    /// Forgets that a process has a question under way: it was not charged.
    pub(crate) fn forget(&self, key: &str, asker: &str) -> Result<(), Error> {
        // A note that comes back is about a key without a charge, and is forgotten at the next look.
        self.without_sync("DELETE FROM under_way WHERE key = ?1 AND asker = ?2", key, asker)
    }

    /// Notes that a process is no longer at a question, of which it does not know whether it was charged.
    pub(crate) fn abandon(&self, key: &str, asking: &AskingProcess) -> Result<(), Error> {
        // A note that comes back is settled when the process has ended.
        self.without_sync("UPDATE under_way SET asker = '' WHERE key = ?1 AND asker = ?2", key, asking.name())
    }

    fn without_sync(&self, statement: &str, key: &str, asker: &str) -> Result<(), Error> {
        let connection = self.lock();
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let done = connection.execute(statement, [key, asker]);
        connection.pragma_update(None, "synchronous", "FULL")?;
        done?;
        Ok(())
    }

    /// The questions that no process is at any more, although there is no answer.
    pub(crate) fn interrupted(&self) -> Result<Vec<Interrupted>, Error> {
        let all = "SELECT key, request, account, dataset, version, NULL, time, asker FROM under_way";
        let question = |row: &Row<'_>| Ok::<_, Error>(Interrupted { question: read_answer(row)?, asker: row.get(7)? });
        let mut questions: Vec<Interrupted> =
            self.lock().prepare_cached(all)?.query_and_then([], question)?.collect::<Result<_, _>>()?;
        let mut asking: HashMap<String, bool> = HashMap::new();
        for Interrupted { asker, .. } in &questions {
            if !asking.contains_key(asker) {
                asking.insert(asker.clone(), is_asking(self.folder(), asker)?);
            }
        }
        questions.retain(|question| !asking[&question.asker]);
        Ok(questions)
    }

    /// Stores for good that a question has no answer, and writes to the owner's log why, unless that was done before. Nothing is done if
    /// another process answers the question by now.
    pub(crate) fn lose(&self, question: &StoredAnswer, asker: &str, why: &str) -> Result<(), Error> {
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let note = "DELETE FROM under_way WHERE key = ?1 AND asker = ?2";
        if transaction.prepare_cached(note)?.execute([&question.key, asker])? == 0 {
            return Ok(());
        }
        let why: String = why.chars().take(10_000).collect();
        let line = params![Timestamp::now().to_string(), question.key, question.dataset.as_str(), why];
        transaction
            .prepare_cached(
                "INSERT INTO failures SELECT ?1, ?2, ?3, ?4
                 WHERE NOT EXISTS (SELECT 1 FROM answers WHERE key = ?2) AND NOT EXISTS (SELECT 1 FROM failures WHERE key = ?2)",
            )?
            .execute(line)?;
        let lost = StoredAnswer { document: None, ..question.clone() };
        let stored = insert_answer(&transaction, "INSERT OR IGNORE", &lost);
        // The owner is told also where no answer can be written.
        transaction.commit()?;
        stored?;
        Ok(())
    }

    /// Stores an answer. When it returns, the answer is on disk, and its question is no longer under way.
    pub(crate) fn store(&self, answer: &StoredAnswer) -> Result<(), Error> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        insert_answer(&transaction, "INSERT", answer)?;
        transaction.prepare_cached("DELETE FROM under_way WHERE key = ?1")?.execute([&answer.key])?;
        Ok(transaction.commit()?)
    }

    /// The newest lines of the owner's log.
    pub fn failures(&self, most: u32) -> Result<Vec<FailedQuestion>, Error> {
        let connection = self.lock();
        let newest = "SELECT time, key, dataset, why FROM failures ORDER BY rowid DESC LIMIT ?1";
        let failure = |row: &Row<'_>| {
            let time = time(&row.get::<_, String>(0)?)?;
            Ok(FailedQuestion { time, key: row.get(1)?, dataset: row.get(2)?, why: row.get(3)? })
        };
        connection.prepare_cached(newest)?.query_and_then([most], failure)?.collect()
    }
}

/// Writes an answer, and says how many were written.
fn insert_answer(transaction: &Transaction<'_>, insert: &str, answer: &StoredAnswer) -> rusqlite::Result<usize> {
    let StoredAnswer { key, request, account, dataset, version, document, stored } = answer;
    let (account, dataset, stored) = (account.as_str(), dataset.as_str(), stored.to_string());
    transaction
        .prepare_cached(&format!("{insert} INTO answers VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"))?
        .execute(params![key, request, account, dataset, version, document, stored])
}

/// The columns of an answer, as [`read_answer`] reads them.
const COLUMNS: &str = "a.key, a.request, a.account, a.dataset, a.version, a.document, a.time";

fn read_answer(row: &Row<'_>) -> Result<StoredAnswer, Error> {
    Ok(StoredAnswer {
        key: row.get(0)?,
        request: row.get(1)?,
        account: AccountName::parse(&row.get::<_, String>(2)?)?,
        dataset: AccountName::parse(&row.get::<_, String>(3)?)?,
        version: row.get(4)?,
        document: row.get(5)?,
        stored: time(&row.get::<_, String>(6)?)?,
    })
}

/// A part of a principal's answers: first their keys, which the index has, then the documents of those few.
fn answers_of() -> String {
    format!(
        "WITH part AS (
             SELECT key, substr(key, length(?1) + 2) AS own FROM answers
             WHERE key > ?1 || ':' AND key < ?1 || ';' AND (?2 IS NULL OR (own LIKE ?3, own) < (?2 LIKE ?3, ?2))
             ORDER BY own LIKE ?3 DESC, own DESC LIMIT ?4
         )
         SELECT {COLUMNS} FROM part CROSS JOIN answers a ON a.key = part.key
         ORDER BY part.own LIKE ?3 DESC, part.own DESC"
    )
}

/// How a key looks that [`Key::generate`] made: twelve digits of the time, and twenty random ones.
const MADE: &str = "____________-____________________";

#[cfg(test)]
mod tests {
    use taximeter_ledger::LedgerId;

    use super::*;

    fn catalog(keys: &[&str]) -> (tempfile::TempDir, Catalog) {
        let folder = tempfile::tempdir().unwrap();
        let ledger = LedgerId::parse("0123456789abcdef0123456789abcdef").unwrap();
        let catalog = Catalog::open(&folder.path().join("gate"), ledger).unwrap();
        for key in keys {
            let name = |text| AccountName::parse(text).unwrap();
            let answer = StoredAnswer {
                key: key.to_string(),
                request: "hash".to_string(),
                account: name("census/alice"),
                dataset: name("census"),
                version: 1,
                document: (!key.ends_with("none")).then(|| key.to_string()),
                stored: Timestamp::now(),
            };
            catalog.store(&answer).unwrap();
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

    const OLD: &str = "019a0c5e1111-0123456789abcdef0123";
    const NEW: &str = "019a0c5e2222-0123456789abcdef0123";

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
    fn keys_that_this_program_makes_come_before_chosen_ones() {
        let made = Key::generate().unwrap();
        let (_folder, catalog) = catalog(&["alice:zebra", &format!("alice:{made}"), "alice:0"]);
        check(&catalog, "alice", None, 20, &[made.as_str(), "zebra", "0"]);
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
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", answers_of())).unwrap();
        let parameters = params!["alice", None::<&str>, MADE, 20];
        let details: Vec<String> = plan.query_map(parameters, |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        let finds = |how: &str| details.iter().filter(|detail| detail.contains(how)).count();
        assert_eq!(finds("SEARCH answers USING COVERING INDEX"), 1, "{details:?}");
        assert_eq!(finds("SEARCH a USING INDEX"), 1, "{details:?}");
        assert_eq!(finds("SEARCH a"), 2, "{details:?}");
    }
}
