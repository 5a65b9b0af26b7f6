//! A ledger in a temporary folder, and short functions that change it.

use std::path::PathBuf;
use std::sync::Arc;

use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec, OnHalt};
use taximeter_ledger::{
    AccountName, AccountSpec, After, Charge, Computed, Key, Ledger, Location, Options, Outcome, Privacy, Restore, Who,
    restore,
};
use tempfile::TempDir;

use super::super::timeline::{Timeline, TimelineRecord};
use super::super::{Shared, Tempo, Timelines};

/// A place for a ledger.
pub(in crate::timelines) struct Place {
    folder: TempDir,
}

impl Place {
    pub(in crate::timelines) fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub(in crate::timelines) fn file(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    pub(in crate::timelines) fn gate(&self) -> PathBuf {
        self.folder.path().join("gate")
    }

    pub(in crate::timelines) fn location(&self) -> Location {
        Location::File(self.file())
    }

    /// Makes the ledger, or opens it again.
    pub(in crate::timelines) fn open(&self) -> Ledger {
        Ledger::open(&self.location(), Options { create: true, ..Options::default() }).unwrap()
    }

    /// Restores the ledger after its witness was lost. It must not be open elsewhere.
    pub(in crate::timelines) fn lose_witness(&self) {
        std::fs::remove_file(self.folder.path().join("ledger.db.witness")).unwrap();
        restore(&self.location(), &Options::default(), Restore::AcceptLoss { by: None, note: None }).unwrap();
    }
}

pub(in crate::timelines) fn name(text: &str) -> AccountName {
    AccountName::parse(text).unwrap()
}

pub(in crate::timelines) fn who(text: &str) -> Who {
    Who::parse("who", text).unwrap()
}

/// An account with a budget, or one that only reads.
pub(in crate::timelines) fn spec(text: &str, filter: Option<(FilterRule, &str)>) -> AccountSpec {
    let filter = filter.map(|(rule, budget)| FilterSpec::new(rule, Budget::parse(budget).unwrap()));
    let delta = Budget::parse("1,1e-6").unwrap().delta();
    let odometer = OdometerSpec::new(OdometerRule::RenyiMixture, delta);
    AccountSpec { name: name(text), privacy: Privacy::default(), filter, odometer }
}

/// The same account, closed for good by its first halt.
pub(in crate::timelines) fn stopping(spec: AccountSpec) -> AccountSpec {
    let filter = spec.filter.map(|filter| FilterSpec { on_halt: OnHalt::Stop, ..filter });
    AccountSpec { filter, ..spec }
}

pub(in crate::timelines) fn charge(ledger: &Ledger, accounts: &[&str], epsilon: &str, by: Option<&str>) -> Outcome {
    let cost = Cost::parse_epsilon(epsilon).unwrap().cost;
    let accounts = accounts.iter().map(|text| name(text)).collect();
    let charge = Charge::new(Key::generate().unwrap(), accounts, vec![cost]).unwrap();
    ledger.charge(charge.by(by.map(who))).unwrap()
}

/// The timelines of a ledger as it is now, read in batches of the given size.
pub(in crate::timelines) fn read(ledger: &Ledger, batch: usize) -> Timelines {
    let tempo = Tempo { batch, ..Tempo::default() };
    let timelines = Timelines { shared: Arc::new(Shared { tempo, ..Shared::default() }) };
    while !timelines.shared.read(ledger).unwrap() {}
    timelines
}

/// Adds a record to a made-up timeline: its event and time, the odometer's reading and what is left.
pub(in crate::timelines) fn push(
    timeline: &mut Timeline,
    sequence: u64,
    event: &str,
    time: &str,
    values: (Option<f64>, Option<f64>),
) {
    let line = format!(r#"{{"time":"{time}","event":{{"{event}":{{}}}}}}"#);
    let happened: TimelineRecord = serde_json::from_str(&line).unwrap();
    let (reading, left) = (values.0.map(Computed), values.1.map(Computed));
    timeline.push(sequence, &happened, &After { account: name("census"), before: None, reading, left });
}

/// The timeline of an account.
pub(in crate::timelines) fn timeline(timelines: &Timelines, account: &str) -> Arc<Timeline> {
    timelines.timeline(&name(account)).unwrap_or_else(|| panic!("there is no timeline of {account}"))
}
