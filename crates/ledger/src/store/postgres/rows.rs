//! What a transaction is going to write.

use std::collections::BTreeMap;

use futures_util::future::join4;
use tokio_postgres::{Client, Statement};

use super::session::StoreSession;
use crate::books::{ChangedAccount, Entry};
use crate::hash::Hash;
use crate::store::{StoreError, StoredRecord};

/// Rows that wait until the transaction is committed, so that they and the commit share a round trip.
#[derive(Default)]
pub(super) struct RowBuffer {
    records: Records,
    /// The newest record, which the table of the head is to name.
    head: Option<(i64, Hash)>,
    /// In the order of their numbers, each as it was last.
    accounts: BTreeMap<i32, AccountState>,
    /// In the states.
    bytes: usize,
}

/// Records of the journal, column by column.
#[derive(Default)]
pub(super) struct Records {
    sequences: Vec<i64>,
    hashes: Vec<Vec<u8>>,
    keys: Vec<Option<String>>,
    lines: Vec<String>,
    /// In the lines.
    bytes: usize,
}

struct AccountState {
    name: String,
    sequence: i64,
    state: Vec<u8>,
}

/// The number of records, and of bytes, that are sent without waiting for more.
const MOST_RECORDS: usize = 2048;
const MOST_BYTES: usize = 16 << 20;

pub(super) const APPEND: &str = "
    INSERT INTO taximeter.journal (sequence, hash, key, line)
    SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::text[])";

const REPLACE: &str = "
    INSERT INTO taximeter.accounts (number, name, sequence, state)
    SELECT * FROM unnest($1::integer[], $2::text[], $3::bigint[], $4::bytea[])
    ON CONFLICT (number) DO UPDATE SET sequence = excluded.sequence, state = excluded.state";

const ADVANCE: &str = "UPDATE taximeter.head SET sequence = $1, hash = $2 WHERE $1::bigint IS NOT NULL";

impl RowBuffer {
    pub(super) fn append(&mut self, entries: &[Entry]) {
        let Records { sequences, hashes, keys, lines, bytes } = &mut self.records;
        for Entry { receipt, key } in entries {
            sequences.push(receipt.sequence() as i64);
            hashes.push(receipt.hash().as_bytes().to_vec());
            keys.push(key.as_ref().map(|key| key.as_str().to_string()));
            lines.push(receipt.line().to_string());
            *bytes += receipt.line().len();
            self.head = Some((receipt.sequence() as i64, receipt.hash()));
        }
    }

    /// Takes the records out, to be sent ahead of the rest.
    pub(super) fn take_records(&mut self) -> Records {
        std::mem::take(&mut self.records)
    }

    pub(super) fn put(&mut self, accounts: &[ChangedAccount<'_>]) {
        for ChangedAccount { number, account, state, .. } in accounts {
            let (name, sequence) = (account.name().as_str().to_string(), account.sequence() as i64);
            self.accounts.insert(*number as i32, AccountState { name, sequence, state: state.to_vec() });
            self.bytes += state.len();
        }
    }

    /// The records of those keys that are among the rows.
    pub(super) fn find_keys(&self, keys: &[&str]) -> impl Iterator<Item = StoredRecord> {
        let records = &self.records;
        let is_wanted = |at: &usize| records.keys[*at].as_ref().is_some_and(|key| keys.contains(&key.as_str()));
        (0..records.keys.len()).filter(is_wanted).map(|at| StoredRecord {
            sequence: records.sequences[at] as u64,
            hash: Hash::from_bytes(&records.hashes[at]).unwrap_or(Hash::NONE),
            key: records.keys[at].clone(),
            line: records.lines[at].clone(),
        })
    }

    pub(super) fn are_many(&self) -> bool {
        self.records.lines.len() >= MOST_RECORDS || self.records.bytes + self.bytes >= MOST_BYTES
    }

    /// Sends the rows and something after them, all in one round trip. If a row cannot be written, the server refuses what comes
    /// after it, and the error is that of the row.
    pub(super) async fn send<T>(
        self,
        session: &mut StoreSession,
        then: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        if self.head.is_none() && self.accounts.is_empty() {
            return Ok(then(&session.client).await?);
        }
        let append = session.statement(APPEND).await?;
        let replace = session.statement(REPLACE).await?;
        let advance = session.statement(ADVANCE).await?;
        let RowBuffer { records, head, accounts, .. } = self;
        // Where only accounts are left to write, the head is where it should be already.
        let (sequence, hash) = head.unzip();
        let hash = hash.as_ref().map(|hash| hash.as_bytes().as_slice());
        let numbers: Vec<i32> = accounts.keys().copied().collect();
        let names: Vec<&str> = accounts.values().map(|account| account.name.as_str()).collect();
        let newest: Vec<i64> = accounts.values().map(|account| account.sequence).collect();
        let states: Vec<&[u8]> = accounts.values().map(|account| account.state.as_slice()).collect();
        let client = &session.client;
        // They leave together, in this order.
        let (appended, replaced, advanced, result) = join4(
            records.append_with(client, &append),
            client.execute(&replace, &[&numbers, &names, &newest, &states]),
            client.execute(&advance, &[&sequence, &hash]),
            then(client),
        )
        .await;
        appended?;
        replaced?;
        advanced?;
        Ok(result?)
    }
}

impl Records {
    /// Sends them by a statement that was prepared from [`APPEND`].
    pub(super) async fn append_with(self, client: &Client, append: &Statement) -> Result<(), StoreError> {
        let Records { sequences, hashes, keys, lines, .. } = self;
        client.execute(append, &[&sequences, &hashes, &keys, &lines]).await?;
        Ok(())
    }
}
