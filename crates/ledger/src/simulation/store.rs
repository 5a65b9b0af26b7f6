//! A store on a simulated disk: in a file of the process's own machine, or on a server that several processes share.

use std::path::Path;
use std::time::{Duration, Instant};

use super::database::{FILE, Transaction};
use super::defects::Defect;
use super::edges::{let_others_work, may_crash, pass, with};
use super::faults::Fault;
use crate::books::{AccountRow, ChangedAccount, Entry};
use crate::error::Error;
use crate::journal::Position;
use crate::store::{Access, Location, Store, StoreError, StoreFailure, StoredRecord};
use crate::witness::{Sharing, Testimony, Witness};

/// How long a server lets a session wait for a lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(15);

/// A session with the store.
pub(super) struct SimulatedStore {
    id: u64,
    is_shared: bool,
    is_writer: bool,
    /// Which start of the server it was made with; a server that starts again knows none of its sessions.
    server_start: u64,
    transaction: Option<Transaction>,
    deadline: Option<Instant>,
    /// Only records from here on have keys that are found. 0, unless a defect is planted.
    keys_from: usize,
}

/// Opens a store, as `store::open` does outside of a simulation.
pub(crate) fn open_store(location: &Location, access: Access) -> Result<Box<dyn Store>, Error> {
    let is_shared = location.sharing() == Sharing::Shared;
    let is_writer = matches!(access, Access::Write { .. });
    may_crash();
    if is_writer && !is_shared {
        // What the last process left may not be on the platter; it is brought there before anything is built on it.
        let is_synced = with(|world| {
            world.disk(0).write_again(FILE);
            world.sync(0, FILE)
        });
        if !is_synced {
            return Err(Error::storage("the ledger cannot be synced: input/output error"));
        }
        with(|world| world.reload());
    }
    let mut store = with(|world| {
        world.sessions += 1;
        let keys_from = match world.has(Defect::KeysForgottenOnRestart) && is_writer {
            true => world.tables.records.len(),
            false => 0,
        };
        let (id, server_start) = (world.sessions, world.server_start);
        SimulatedStore { id, is_shared, is_writer, server_start, transaction: None, deadline: None, keys_from }
    });
    store.reach()?;
    Ok(Box::new(store))
}

impl SimulatedStore {
    /// Every exchange with a server may fail.
    fn reach(&mut self) -> Result<(), StoreError> {
        may_crash();
        if !self.is_shared {
            return Ok(());
        }
        if with(|world| world.server_start) != self.server_start {
            return Err(self.lose("the server was started again"));
        }
        match with(|world| world.fault_on_the_way_to_the_server()) {
            None => {
                pass(Duration::from_micros(200));
                Ok(())
            }
            Some(Fault::Refused) => Err(self.lose("the connection was cut")),
            Some(Fault::Hung) => {
                pass(self.patience());
                Err(self.lose("the server did not answer"))
            }
        }
    }

    fn patience(&self) -> Duration {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(super::edges::now_instant()));
        left.map_or(Duration::from_secs(15), |left| left.min(Duration::from_secs(15)))
    }

    /// The connection is gone, and what was not committed with it.
    fn lose(&mut self, why: &str) -> StoreError {
        self.end();
        self.server_start = u64::MAX;
        StoreError::new(StoreFailure::Lost, why)
    }

    /// Ends the transaction.
    fn end(&mut self) {
        self.transaction = None;
        let id = self.id;
        with(|world| {
            if world.locked_by == Some(id) {
                world.locked_by = None;
            }
        });
    }

    fn fail(&mut self, kind: StoreFailure, why: &str) -> StoreError {
        self.end();
        StoreError::new(kind, why)
    }

    /// Takes the lock that keeps other writers out.
    fn lock(&mut self) -> Result<(), StoreError> {
        with(|world| world.settle_late_commit());
        let id = self.id;
        let is_locked = with(|world| {
            let is_free = world.locked_by.is_none() || world.has(Defect::HeadNotLocked);
            if is_free {
                world.locked_by = Some(id);
            }
            is_free
        });
        if !is_locked {
            pass(LOCK_TIMEOUT.min(self.patience()));
            return Err(self.fail(StoreFailure::Again, "another process has been writing for long"));
        }
        Ok(())
    }

    fn is_taken(&self, key: &str) -> bool {
        let is_in_journal =
            with(|world| world.tables.keys.get(key).is_some_and(|sequence| *sequence as usize >= self.keys_from));
        let pending = self.transaction.as_ref().map_or(&[][..], |transaction| &transaction.records);
        is_in_journal || pending.iter().any(|record| record.key.as_deref() == Some(key))
    }

    /// The commit of a file: written and synced by the process itself.
    fn commit_file(&mut self, transaction: Transaction) -> Result<(), StoreError> {
        if with(|world| world.chance(400)) {
            return Err(self.fail(StoreFailure::Failed, "the file is locked by another program"));
        }
        let end = with(|world| world.write_frame(&transaction));
        may_crash();
        if !with(|world| world.sync_commit()) {
            return Err(self.fail(StoreFailure::Fatal, "input/output error"));
        }
        with(|world| world.apply(transaction, end));
        may_crash();
        Ok(())
    }

    /// The commit of a server: the request or its answer may be lost.
    fn commit_on_server(&mut self, transaction: Transaction) -> Result<(), StoreError> {
        self.reach()?;
        let lost_kind = match with(|world| world.has(Defect::LostCommitTakenForFailed)) {
            true => StoreFailure::Failed,
            false => StoreFailure::Lost,
        };
        if with(|world| world.chance(80)) {
            // The request is under way still: what becomes of it shows when the next writer asks for the lock.
            with(|world| world.late_commit = Some(transaction));
            pass(self.patience());
            let mut lost = self.lose("the answer to the commit was lost");
            lost.kind = lost_kind;
            return Err(lost);
        }
        let end = with(|world| world.write_frame(&transaction));
        if with(|world| world.chance(300)) {
            with(|world| world.restart_server());
            return Err(self.lose("the server was started again"));
        }
        if !with(|world| world.sync_commit()) {
            with(|world| world.restart_server());
            return Err(self.lose("the server could not sync, and was started again"));
        }
        with(|world| world.apply(transaction, end));
        if with(|world| world.chance(60)) {
            let mut lost = self.lose("the answer to the commit was lost");
            lost.kind = lost_kind;
            return Err(lost);
        }
        Ok(())
    }
}

impl Drop for SimulatedStore {
    fn drop(&mut self) {
        self.end();
    }
}

impl Store for SimulatedStore {
    fn begin(&mut self) -> Result<Option<Position>, StoreError> {
        let_others_work();
        self.reach()?;
        if with(|world| world.chance(300)) {
            let kind = if self.is_shared { StoreFailure::Again } else { StoreFailure::Failed };
            return Err(self.fail(kind, "the store is busy"));
        }
        self.lock()?;
        self.transaction = Some(Transaction::default());
        Ok(with(|world| world.tables.records.last().map(StoredRecord::position)))
    }

    fn begin_reading(&mut self) -> Result<(), StoreError> {
        self.reach()
    }

    fn head(&mut self) -> Result<Option<StoredRecord>, StoreError> {
        self.reach()?;
        Ok(with(|world| world.tables.records.last().cloned()))
    }

    fn records(&mut self, from: u64, most: usize) -> Result<Vec<StoredRecord>, StoreError> {
        self.reach()?;
        Ok(with(|world| world.tables.records.iter().skip(from as usize).take(most).cloned().collect()))
    }

    fn positions(&mut self, from: u64, most: usize) -> Result<Vec<Position>, StoreError> {
        self.reach()?;
        let positions = |world: &mut super::world::SimulatedWorld| {
            world.tables.records.iter().skip(from as usize).take(most).map(StoredRecord::position).collect()
        };
        Ok(with(positions))
    }

    fn find_keys(&mut self, keys: &[&str]) -> Result<Vec<StoredRecord>, StoreError> {
        self.reach()?;
        let from = self.keys_from;
        Ok(with(|world| {
            let tables = &world.tables;
            let sequences =
                keys.iter().filter_map(|key| tables.keys.get(*key)).filter(|found| **found as usize >= from);
            sequences.map(|sequence| tables.records[*sequence as usize].clone()).collect()
        }))
    }

    fn accounts(&mut self, after: Option<u64>) -> Result<Vec<AccountRow>, StoreError> {
        self.reach()?;
        let is_newer = |row: &&AccountRow| after.is_none_or(|after| row.sequence > after);
        Ok(with(|world| world.tables.accounts.iter().filter(is_newer).cloned().collect()))
    }

    fn append(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        may_crash();
        if !self.is_shared && with(|world| world.chance(400)) {
            return Err(self.fail(StoreFailure::Failed, "the disk is full"));
        }
        if let Some(Entry { receipt, .. }) = entries.last()
            && with(|world| world.has(Defect::WitnessBeforeCommit))
            && let Some(path) = with(|world| world.witness_of_current())
        {
            let testimony = Testimony { ledger: receipt.ledger(), position: receipt.position() };
            let sharing = if self.is_shared { Sharing::Shared } else { Sharing::Alone };
            let _ = Witness::open(Path::new(&path), sharing).and_then(|mut witness| witness.advance(testimony));
        }
        for Entry { receipt, key } in entries {
            if key.as_ref().is_some_and(|key| self.is_taken(key.as_str())) {
                return Err(self.fail(StoreFailure::KeyTaken, "the key was used before"));
            }
            let record = StoredRecord {
                sequence: receipt.sequence(),
                hash: receipt.hash(),
                key: key.as_ref().map(|key| key.as_str().to_string()),
                line: receipt.line().to_string(),
            };
            self.transaction.get_or_insert_default().records.push(record);
        }
        if with(|world| world.has(Defect::HeadNotLocked)) {
            let_others_work();
        }
        Ok(())
    }

    fn put(&mut self, accounts: &[ChangedAccount<'_>]) -> Result<(), StoreError> {
        may_crash();
        let rows = accounts.iter().map(|changed| AccountRow {
            number: changed.number,
            name: changed.account.name().as_str().to_string(),
            sequence: changed.account.sequence(),
            state: changed.state.to_vec(),
        });
        self.transaction.get_or_insert_default().accounts.extend(rows);
        Ok(())
    }

    fn alarm(&mut self) -> Result<Option<String>, StoreError> {
        self.reach()?;
        Ok(with(|world| world.tables.alarm.clone()))
    }

    fn set_alarm(&mut self, why: Option<&str>) -> Result<(), StoreError> {
        with(|world| world.tables.alarm = why.map(str::to_string));
        Ok(())
    }

    fn check(&mut self) -> Result<(), StoreError> {
        self.reach()
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let Some(transaction) = self.transaction.take() else {
            return Err(StoreError::new(StoreFailure::Failed, "there is no transaction"));
        };
        let (first, rest) = match with(|world| world.has(Defect::StatesWrittenApart)) {
            true => {
                let Transaction { records, accounts } = transaction;
                let records = Transaction { records, accounts: Vec::new() };
                (records, Some(Transaction { records: Vec::new(), accounts }))
            }
            false => (transaction, None),
        };
        for part in [Some(first), rest].into_iter().flatten() {
            match self.is_shared {
                true => self.commit_on_server(part)?,
                false => self.commit_file(part)?,
            }
        }
        self.end();
        let_others_work();
        Ok(())
    }

    fn rollback(&mut self) {
        self.end();
    }

    fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    fn reconnect(&mut self) -> Result<(), StoreError> {
        if !self.is_shared {
            return Err(StoreError::new(StoreFailure::Fatal, "a file has no connection to make again"));
        }
        self.end();
        let_others_work();
        self.server_start = with(|world| world.server_start);
        if self.is_writer && with(|world| world.has(Defect::KeysForgottenOnReconnect)) {
            self.keys_from = with(|world| world.tables.records.len());
        }
        self.reach()
    }
}
