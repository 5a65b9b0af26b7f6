//! What must hold at every moment, whatever goes wrong.

use std::collections::{BTreeMap, HashMap};

use super::clients::Clients;
use super::cosigner::SimulatedCosigner;
use super::edges::with;
use super::world::{SimulatedWorld, WITNESS};
use crate::books::Books;
use crate::hash::Hash;
use crate::store::StoredRecord;
use crate::verify::Replay;
use crate::witness::{Remembered, newest};

/// The journal made again, as far as it was checked.
pub(super) struct Audit {
    replay: Replay,
    /// The hashes of the records so far.
    hashes: Vec<Hash>,
    /// What accounts have spent, in thousandths, by nothing but what their charges cost.
    spent: HashMap<String, u64>,
    /// The request of each key in the journal.
    charged: HashMap<usize, u64>,
    /// The record of each key that no client of the simulation asked for.
    pub(super) charged_by_others: BTreeMap<String, u64>,
    /// How many acknowledgements were looked up in the journal as it is now.
    acknowledged: usize,
}

impl Audit {
    pub(super) fn new() -> Audit {
        Audit {
            replay: Replay::new(),
            hashes: Vec::new(),
            spent: HashMap::new(),
            charged: HashMap::new(),
            charged_by_others: BTreeMap::new(),
            acknowledged: 0,
        }
    }

    /// Checks everything. The error says what does not hold.
    pub(super) fn check(&mut self, clients: &Clients) -> Result<(), String> {
        with(|world| {
            if let Some(why) = world.false_alarm.take() {
                return Err(why);
            }
            self.check_journal(world, clients)?;
            self.check_acknowledged(world, clients)?;
            check_witnesses(world)?;
            check_cosigned(world, clients)?;
            self.check_books(world)
        })
    }

    /// Makes again what is new in the journal: no budget is exceeded, no key is used twice, and the states are what comes out.
    fn check_journal(&mut self, world: &SimulatedWorld, clients: &Clients) -> Result<(), String> {
        let records = &world.tables.records;
        let is_as_known = self
            .hashes
            .last()
            .is_none_or(|last| records.get(self.hashes.len() - 1).is_some_and(|record| record.hash == *last));
        if !is_as_known {
            // A crash removed records. The checks below find out whether one of them was acknowledged.
            *self = Audit::new();
        }
        if self.hashes.len() == records.len() {
            return Ok(());
        }
        for record in &records[self.hashes.len()..] {
            self.take(record, clients)?;
        }
        let books = self.replay.books().ok_or("the journal is empty")?;
        let mut state = Vec::new();
        for (at, account) in books.accounts().iter().enumerate() {
            account.write_state(&mut state);
            if world.tables.accounts.get(at).is_none_or(|row| row.state != state) {
                return Err(format!("the state of account {} is not what its charges add up to", account.name()));
            }
        }
        match world.tables.accounts.len() == books.accounts().len() {
            true => Ok(()),
            false => Err("there is an account that no record opened".to_string()),
        }
    }

    fn take(&mut self, record: &StoredRecord, clients: &Clients) -> Result<(), String> {
        let sequence = record.sequence;
        if Hash::of(record.line.as_bytes()) != record.hash {
            return Err(format!("record {sequence}: its bytes are not those of its hash"));
        }
        self.replay
            .take(&record.line, &mut |_| Ok(()))
            .map_err(|error| format!("the journal does not replay: {error}"))?;
        self.hashes.push(record.hash);
        let Some(key) = &record.key else { return Ok(()) };
        let Some(&request) = clients.by_key.get(key) else {
            let before = self.charged_by_others.insert(key.clone(), sequence);
            return match before {
                _ if !clients.are_others_there => Err(format!("record {sequence}: no client asked for {key}")),
                Some(before) => Err(format!("{key} was charged twice, in records {before} and {sequence}")),
                None => Ok(()),
            };
        };
        if let Some(before) = self.charged.insert(request, sequence) {
            return Err(format!("{key} was charged twice, in records {before} and {sequence}"));
        }
        for payer in clients.payers(request) {
            let spent = self.spent.entry(payer.clone()).or_default();
            *spent += clients.requests[request].cost;
            if clients.budgets.get(&payer).is_some_and(|budget| *spent > *budget) {
                return Err(format!(
                    "record {sequence}: account {payer} has spent {spent} thousandths, beyond its budget"
                ));
            }
        }
        Ok(())
    }

    /// What was acknowledged is on the journal, and would be after a power cut. What was denied is not.
    fn check_acknowledged(&mut self, world: &SimulatedWorld, clients: &Clients) -> Result<(), String> {
        let certain = world.tables.certain_records(&world.disks[0]);
        let newest = clients.acknowledged.iter().map(|position| position.sequence).max();
        if let Some(newest) = newest.filter(|newest| *newest as usize >= certain) {
            return Err(format!("record {newest} was acknowledged, and only {certain} records are on disk"));
        }
        for position in &clients.acknowledged[self.acknowledged..] {
            if self.hashes.get(position.sequence as usize) != Some(&position.hash) {
                return Err(format!("record {} was acknowledged, and is another one now", position.sequence));
            }
        }
        self.acknowledged = clients.acknowledged.len();
        let denied = self.charged.iter().find(|(request, _)| clients.requests[**request].is_denied);
        match denied {
            Some((request, sequence)) => Err(format!("k{request} was denied, and charged in record {sequence}")),
            None => Ok(()),
        }
    }

    /// A process whose books end with the newest record has the states of the journal.
    fn check_books(&self, world: &SimulatedWorld) -> Result<(), String> {
        let Some(expected) = self.replay.books() else { return Ok(()) };
        for writer in world.processes.iter().filter_map(|process| process.writer.as_ref()) {
            let books = writer.shared.books();
            if books.head() == expected.head() && states(&books) != states(expected) {
                return Err("the books of a process are not what the journal adds up to".to_string());
            }
        }
        Ok(())
    }

    /// Whether every charge on the journal is what was asked for under its key.
    pub(super) fn check_requests(&self, clients: &Clients) -> Result<(), String> {
        with(|world| {
            for (&request, &sequence) in &self.charged {
                let record = world.tables.records[sequence as usize].parse()?;
                match &record.event {
                    crate::journal::Event::Charge(charge) if clients.is_same_charge(request, charge) => {}
                    _ => return Err(format!("record {sequence} is not the charge k{request}")),
                }
            }
            Ok(())
        })
    }
}

fn states(books: &Books) -> Vec<Vec<u8>> {
    let state = |account: &crate::account::Account| {
        let mut state = Vec::new();
        account.write_state(&mut state);
        state
    };
    books.accounts().iter().map(state).collect()
}

/// No witness is ahead of what is certain to be on disk, and each has on its disk all that its process acknowledged.
fn check_witnesses(world: &SimulatedWorld) -> Result<(), String> {
    let certain = world.tables.certain_records(&world.disks[0]);
    for process in &world.processes {
        let disk = &world.disks[process.machine];
        let Some((_, Remembered { testimony, .. })) = newest(disk.read(WITNESS)) else {
            match process.acknowledged {
                None => continue,
                Some(acknowledged) => {
                    return Err(format!("record {acknowledged} was acknowledged, and the witness knows none"));
                }
            }
        };
        let position = testimony.position;
        let record = world.tables.records.get(position.sequence as usize);
        if position.sequence as usize >= certain || record.is_none_or(|record| record.hash != position.hash) {
            return Err(format!("a witness remembers record {}, and {certain} are on disk", position.sequence));
        }
        let on_disk = newest(disk.on_platter(WITNESS)).map(|(_, remembered)| remembered.testimony.position.sequence);
        if process.acknowledged > on_disk {
            let acknowledged = process.acknowledged.unwrap_or_default();
            return Err(format!("record {acknowledged} was acknowledged, and the witness has {on_disk:?} on its disk"));
        }
    }
    Ok(())
}

/// No witness on another machine is ahead either, and enough of them have stored that they cosigned what was acknowledged.
fn check_cosigned(world: &SimulatedWorld, clients: &Clients) -> Result<(), String> {
    let certain = world.tables.certain_records(&world.disks[0]) as u64;
    let sizes = || world.cosigners.iter().filter_map(SimulatedCosigner::stored);
    if let Some(ahead) = sizes().find(|size| *size > certain) {
        return Err(format!("a witness on another machine cosigned {ahead} records, and {certain} are on disk"));
    }
    let Some(newest) = clients.acknowledged.iter().map(|position| position.sequence).max() else { return Ok(()) };
    let (count, demanded) = (sizes().filter(|size| *size > newest).count(), world.setting.demanded);
    // The accounts of the beginning are opened before there are witnesses.
    match count >= demanded || world.cosigners.is_empty() {
        true => Ok(()),
        false => Err(format!("record {newest} was acknowledged, cosigned by {count} witnesses of {demanded}")),
    }
}
