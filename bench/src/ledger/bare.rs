//! The bare loops: append a record and update an account, with the bytes of real charges, and nothing else. No decision, no hash,
//! no key looked up, no queue; and no witness, except where it is asked what that alone takes.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::File;
use std::io::{Seek, Write};
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use taximeter_ledger::Ledger;

use super::load;

type Done<T> = Result<T, Box<dyn Error>>;

/// How many bytes the ledger writes to its witness after a commit.
const WITNESSED: usize = 512;

/// What the ledger writes for a charge.
pub struct Sample {
    /// The line of a record; its length hardly varies.
    line: String,
    key: String,
    /// As many bytes as the state of an account.
    state: Vec<u8>,
    accounts: usize,
}

impl Sample {
    /// Takes the bytes of a charge that a ledger made.
    pub fn of(ledger: &Ledger, accounts: usize) -> Done<Sample> {
        let history = ledger.reader()?.history(&load::account(0)?, None, 1)?;
        let line = history.records.first().ok_or("no charge was made")?.line().to_string();
        let key = taximeter_ledger::Key::generate()?.to_string();
        let state = vec![0x5a; ledger.account(&load::account(0)?)?.stored_bytes()];
        Ok(Sample { line, key, state, accounts })
    }

    /// The key of the n-th charge, of the usual length and, like the ledger's own keys, in rising order.
    fn key(&self, number: u64) -> String {
        format!("{number:0width$x}", width = self.key.len())
    }

    /// The line of a record.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The state of an account.
    pub fn state(&self) -> &[u8] {
        &self.state
    }

    /// The account of the n-th charge.
    fn account(&self, number: u64) -> i64 {
        (number.wrapping_mul(7919) % self.accounts as u64) as i64
    }

    /// The accounts of charges, each once and in order.
    fn accounts_of(&self, charges: Range<u64>) -> impl Iterator<Item = i64> {
        charges.map(|number| self.account(number)).collect::<BTreeSet<i64>>().into_iter()
    }
}

/// How often an account is updated that several charges of a transaction are about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Updates {
    /// For each charge.
    Each,
    /// Once, as a ledger does.
    Last,
}

/// Writes as much to a file as the ledger writes to its witness, and syncs it.
pub fn testify(mut witness: &File) -> std::io::Result<()> {
    witness.rewind()?;
    witness.write_all(&[0x5a; WITNESSED])?;
    witness.sync_data()
}

/// A store without a ledger in front of it.
pub trait BareStore {
    /// Makes tables and accounts.
    fn prepare(&mut self, sample: &Sample) -> Done<()>;

    /// Writes charges, the given number in one transaction.
    fn write(&mut self, sample: &Sample, first: u64, count: u64, updates: Updates) -> Done<()>;

    /// The number of the charge that comes next.
    fn next(&mut self) -> &mut u64;

    /// Charges a second with the given number in each commit, with a file that is written and synced after each if there is one.
    fn rate(&mut self, sample: &Sample, a_commit: u64, witness: Option<&File>, time: Duration) -> Done<f64> {
        let (started, first) = (Instant::now(), *self.next());
        while started.elapsed() < time {
            let next = *self.next();
            self.write(sample, next, a_commit, Updates::Each)?;
            witness.map_or(Ok(()), testify)?;
            *self.next() += a_commit;
        }
        Ok((*self.next() - first) as f64 / started.elapsed().as_secs_f64())
    }
}

/// The ledger's tables in a SQLite file, as durable as the ledger's; otherwise as SQLite comes.
pub struct BareSqliteStore {
    connection: Connection,
    next: u64,
}

impl BareSqliteStore {
    /// An empty file in a folder.
    pub fn new(folder: &Path) -> Done<BareSqliteStore> {
        let connection = Connection::open(folder.join("bare.db"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(BareSqliteStore { connection, next: 1 })
    }
}

impl BareStore for BareSqliteStore {
    fn prepare(&mut self, sample: &Sample) -> Done<()> {
        self.connection.execute_batch(
            "CREATE TABLE journal (sequence INTEGER PRIMARY KEY, hash BLOB NOT NULL, key TEXT UNIQUE, line TEXT NOT NULL) STRICT;
             CREATE TABLE accounts (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, sequence INTEGER NOT NULL,
                                    state BLOB NOT NULL) STRICT;",
        )?;
        let transaction = self.connection.transaction()?;
        for number in 0..sample.accounts {
            transaction.execute(
                "INSERT INTO accounts VALUES (?1, ?2, 0, ?3)",
                params![number as i64, load::account(number)?.as_str(), sample.state],
            )?;
        }
        Ok(transaction.commit()?)
    }

    fn write(&mut self, sample: &Sample, first: u64, count: u64, updates: Updates) -> Done<()> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        {
            let mut append = self.connection.prepare_cached("INSERT INTO journal VALUES (?1, ?2, ?3, ?4)")?;
            let mut update =
                self.connection.prepare_cached("UPDATE accounts SET sequence = ?2, state = ?3 WHERE number = ?1")?;
            for number in first..first + count {
                append.execute(params![number as i64, [0x5au8; 32], sample.key(number), sample.line])?;
                if updates == Updates::Each {
                    update.execute(params![sample.account(number), number as i64, sample.state])?;
                }
            }
            if updates == Updates::Last {
                for account in sample.accounts_of(first..first + count) {
                    update.execute(params![account, first as i64, sample.state])?;
                }
            }
        }
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn next(&mut self) -> &mut u64 {
        &mut self.next
    }
}

/// The ledger's tables in a PostgreSQL database, written to in batches of arrays.
pub struct BarePostgresStore {
    client: postgres::Client,
    next: u64,
}

impl BarePostgresStore {
    /// An empty database.
    pub fn new(url: &str) -> Done<BarePostgresStore> {
        Ok(BarePostgresStore { client: postgres::Client::connect(url, postgres::NoTls)?, next: 1 })
    }
}

impl BareStore for BarePostgresStore {
    fn prepare(&mut self, sample: &Sample) -> Done<()> {
        self.client.batch_execute(
            "CREATE TABLE journal (sequence bigint PRIMARY KEY, hash bytea NOT NULL, key text UNIQUE, line text NOT NULL);
             CREATE TABLE accounts (number integer PRIMARY KEY, name text NOT NULL UNIQUE, sequence bigint NOT NULL, state bytea NOT NULL);
             CREATE INDEX ON accounts (sequence);",
        )?;
        let names = (0..sample.accounts).map(load::account).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        self.client.execute(
            "INSERT INTO accounts SELECT number - 1, name, 0, $2 FROM unnest($1::text[]) WITH ORDINALITY AS a (name, number)",
            &[&names, &sample.state],
        )?;
        Ok(())
    }

    /// In arrays, so each account is updated once either way.
    fn write(&mut self, sample: &Sample, first: u64, count: u64, _: Updates) -> Done<()> {
        let numbers: Vec<i64> = (first..first + count).map(|number| number as i64).collect();
        let keys: Vec<String> = (first..first + count).map(|number| sample.key(number)).collect();
        let hash: &[u8] = &[0x5a; 32];
        let (hashes, lines) = (vec![hash; count as usize], vec![sample.line.as_str(); count as usize]);
        let accounts: Vec<i32> = sample.accounts_of(first..first + count).map(|account| account as i32).collect();
        let mut transaction = self.client.transaction()?;
        transaction.execute(
            "INSERT INTO journal SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::text[])",
            &[&numbers, &hashes, &keys, &lines],
        )?;
        transaction.execute(
            "UPDATE accounts SET sequence = $2, state = $3 WHERE number = ANY($1)",
            &[&accounts, &(first as i64), &sample.state],
        )?;
        transaction.commit()?;
        Ok(())
    }

    fn next(&mut self) -> &mut u64 {
        &mut self.next
    }
}
