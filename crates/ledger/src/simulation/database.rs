//! The tables of a simulated store, and the file that they are kept in: one frame for each transaction, checked by a hash that goes on
//! from frame to frame, as in SQLite's write-ahead file.

use std::collections::HashMap;

use super::disk::SimulatedDisk;
use crate::books::AccountRow;
use crate::hash::Hash;
use crate::store::StoredRecord;

/// The name of the file.
pub(super) const FILE: &str = "ledger";

/// What is in the store, as its sessions see it.
#[derive(Clone, Default)]
pub(super) struct SimulatedTables {
    pub(super) records: Vec<StoredRecord>,
    pub(super) keys: HashMap<String, u64>,
    pub(super) accounts: Vec<AccountRow>,
    pub(super) alarm: Option<String>,
    /// Of each frame: where it ends in the file, how many records there are then, and the hash that the next one goes on from.
    frames: Vec<(usize, usize, Hash)>,
}

/// What a transaction writes.
#[derive(Clone, Default)]
pub(super) struct Transaction {
    pub(super) records: Vec<StoredRecord>,
    pub(super) accounts: Vec<AccountRow>,
}

/// A frame's length and hash.
const HEADER: usize = 4 + 32;

/// A record and an account as they are written.
type RecordFields = (u64, [u8; 32], Option<String>, String);
type AccountFields = (u32, String, u64, Vec<u8>);

impl SimulatedTables {
    /// Reads what is in the file, up to the first frame that is not whole.
    pub(super) fn load(disk: &SimulatedDisk, are_hashes_checked: bool) -> SimulatedTables {
        let (bytes, mut tables) = (disk.read(FILE), SimulatedTables::default());
        while let Some((frame, end)) = tables.next_frame(bytes, are_hashes_checked) {
            tables.apply(frame, end, bytes);
        }
        tables
    }

    fn next_frame(&self, bytes: &[u8], is_hash_checked: bool) -> Option<(Transaction, usize)> {
        let rest = &bytes[self.end()..];
        let length = u32::from_le_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let (hash, payload) = (rest.get(4..HEADER)?, rest.get(HEADER..HEADER + length)?);
        if length == 0 || (is_hash_checked && self.hash_after(payload).as_bytes() != hash) {
            return None;
        }
        let (records, accounts): (Vec<RecordFields>, Vec<AccountFields>) = postcard::from_bytes(payload).ok()?;
        let record = |(sequence, hash, key, line)| StoredRecord { sequence, hash: Hash::from(hash), key, line };
        let account = |(number, name, sequence, state)| AccountRow { number, name, sequence, state };
        let records = records.into_iter().map(record).collect();
        let frame = Transaction { records, accounts: accounts.into_iter().map(account).collect() };
        Some((frame, self.end() + HEADER + length))
    }

    /// Where the next frame begins.
    pub(super) fn end(&self) -> usize {
        self.frames.last().map_or(0, |(end, ..)| *end)
    }

    fn hash_after(&self, payload: &[u8]) -> Hash {
        let before = self.frames.last().map_or(Hash::NONE, |(.., hash)| *hash);
        Hash::of(&[before.as_bytes(), payload].concat())
    }

    /// The frame of a transaction, as it is written at the end of the file.
    pub(super) fn frame(&self, transaction: &Transaction) -> Vec<u8> {
        let record = |record: &StoredRecord| -> RecordFields {
            (record.sequence, *record.hash.as_bytes(), record.key.clone(), record.line.clone())
        };
        let account =
            |row: &AccountRow| -> AccountFields { (row.number, row.name.clone(), row.sequence, row.state.clone()) };
        let records: Vec<RecordFields> = transaction.records.iter().map(record).collect();
        let accounts: Vec<AccountFields> = transaction.accounts.iter().map(account).collect();
        let payload = postcard::to_stdvec(&(records, accounts)).expect("rows can be written");
        let hash = self.hash_after(&payload);
        [&(payload.len() as u32).to_le_bytes()[..], hash.as_bytes(), &payload].concat()
    }

    /// Makes a transaction part of the tables, whose frame ends there in the file.
    pub(super) fn apply(&mut self, transaction: Transaction, end: usize, file: &[u8]) {
        for record in transaction.records {
            if let Some(key) = &record.key {
                self.keys.insert(key.clone(), record.sequence);
            }
            match self.records.get_mut(record.sequence as usize) {
                Some(place) => *place = record,
                None => self.records.push(record),
            }
        }
        for row in transaction.accounts {
            match self.accounts.get_mut(row.number as usize) {
                Some(place) => *place = row,
                None => self.accounts.push(row),
            }
        }
        let hash = self.hash_after(&file[self.end() + HEADER..end]);
        self.frames.push((end, self.records.len(), hash));
    }

    /// How many records are certain to survive a power cut.
    pub(super) fn certain_records(&self, disk: &SimulatedDisk) -> usize {
        let certain = disk.certain(FILE);
        self.frames.iter().rev().find(|(end, ..)| *end <= certain).map_or(0, |(_, records, _)| *records)
    }
}
