//! What must hold of a ledger after a crash.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use taximeter_accounting::Amount;
use taximeter_ledger::{AccountName, Event, Hash, Ledger, LedgerReader, Location, Options, Record, verify};

use super::load::Log;

/// The charges that were acknowledged, by key.
#[derive(Default)]
pub struct Acknowledged(HashMap<String, Place>);

/// Where a charge is in the journal.
struct Place {
    sequence: u64,
    hash: String,
    /// Whether a caller was told that it was charged just now. The others were told that it had been.
    is_charged: bool,
}

impl Acknowledged {
    /// Adds what a program said. No key may be charged twice, nor be told of differently.
    pub fn add(&mut self, log: &Log) -> Result<(), String> {
        for line in log.0.iter().filter(|line| line.is_acknowledged()) {
            let (sequence, hash) = line.rest.split_once(' ').ok_or("no hash in the answer")?;
            let sequence = sequence.parse().map_err(|_| "no number in the answer")?;
            let new = || Place { sequence, hash: hash.to_string(), is_charged: false };
            let place = self.0.entry(line.key.clone()).or_insert_with(new);
            if (place.sequence, place.hash.as_str()) != (sequence, hash) {
                return Err(format!("{} was record {} and is now {}", line.key, place.sequence, line.rest));
            }
            if line.verb == "charged" && std::mem::replace(&mut place.is_charged, true) {
                return Err(format!("{} was charged twice", line.key));
            }
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Reads the whole journal: every acknowledged charge is in it and known to the witness, no key is there twice, every record
    /// follows the one before, and no account paid more than its budget.
    pub fn check(&self, location: &Location, witness: &Path) -> Result<(), String> {
        let mut reader =
            LedgerReader::open(location, Some(witness)).map_err(|error| format!("it does not open: {error}"))?;
        let (_, known) = reader.witness();
        for (key, Place { sequence, .. }) in &self.0 {
            if *sequence > known.sequence {
                return Err(format!(
                    "{key} was acknowledged as {sequence}, but the witness only knows {}",
                    known.sequence
                ));
            }
        }
        self.check_with(&mut reader)
    }

    fn check_with(&self, reader: &mut LedgerReader) -> Result<(), String> {
        let mut export = Vec::new();
        reader.export(&mut export, &mut |_, _| {}).map_err(|error| error.to_string())?;
        let export = String::from_utf8(export).map_err(|error| error.to_string())?;
        let mut lines: Vec<&str> = export.lines().collect();
        lines.pop().ok_or("the export is empty")?;
        let mut keys = HashMap::new();
        let mut spent: BTreeMap<String, Amount> = BTreeMap::new();
        let mut previous = Hash::NONE;
        for line in lines {
            let record = Record::parse(line)?;
            let hash = Hash::of(line.as_bytes());
            if record.previous != previous {
                return Err(format!("record {} does not follow the one before", record.sequence));
            }
            previous = hash;
            let Event::Charge(charge) = &record.event else { continue };
            let place = (record.sequence, hash.to_string());
            if keys.insert(charge.key().as_str().to_string(), place).is_some() {
                return Err(format!("{:?} is in the journal twice", charge.key()));
            }
            let mut payers: Vec<&str> = charge.accounts().iter().flat_map(AccountName::path).collect();
            payers.sort_unstable();
            payers.dedup();
            for payer in payers {
                let sum = spent.entry(payer.to_string()).or_insert(Amount::ZERO);
                for epsilon in charge.costs().iter().filter_map(|cost| cost.epsilon()) {
                    *sum = sum.checked_add(epsilon).ok_or("too much to count")?;
                }
            }
        }
        for (key, Place { sequence, hash, .. }) in &self.0 {
            match keys.get(key) {
                None => return Err(format!("the acknowledged charge {key}, record {sequence}, is lost")),
                Some(found) if *found != (*sequence, hash.clone()) => {
                    return Err(format!("{key} was acknowledged as {sequence} {hash}, but is {found:?}"));
                }
                Some(_) => {}
            }
        }
        for account in reader.accounts() {
            // The accounts have the basic rule, so that what they spent is a plain sum.
            let budget = account.filter().expect("every account of the program has a budget").spec().budget.epsilon();
            match spent.get(account.name().as_str()) {
                Some(spent) if *spent > budget => {
                    return Err(format!("{} spent {spent} of its budget {budget}", account.name()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Opens the ledger for writing, as after every crash, without any help; then the same, and the whole journal is verified.
    pub fn check_and_verify(&self, location: &Location, witness: &Path) -> Result<(), String> {
        let options = Options { witness: Some(witness.to_path_buf()), create: true, ..Options::default() };
        let ledger = Ledger::open(location, options).map_err(|error| format!("it does not open: {error}"))?;
        verify(location, Some(witness), &mut |_, _| {}).map_err(|error| format!("it does not verify: {error}"))?;
        self.check_with(&mut ledger.reader().map_err(|error| format!("it cannot be read: {error}"))?)
    }
}
