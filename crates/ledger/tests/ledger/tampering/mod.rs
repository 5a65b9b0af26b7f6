//! Whatever is changed behind the ledger's back, `verify` notices and names it.
//!
//! A ledger with events of every kind is changed through a SQLite connection of the test's own, a byte or a row at a time, verified,
//! and put back.

mod alarm;
mod file;
mod records;
mod states;

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;

use rusqlite::types::Value;
use rusqlite::{Connection, params};
use taximeter_accounting::{Amount, Budget, CostKind, FilterRule, FilterSpec, OdometerRule, OdometerSpec, OnHalt};
use taximeter_ledger::{
    AccountName, AccountSpec, Charge, Error, Hash, Key, Ledger, LedgerReader, Location, Note, Options, Outcome,
    Privacy, Record, Restore, Verified, Who, clear_alarm, restore, verify,
};
use tempfile::TempDir;

/// A ledger in a file, and a way past it to its tables.
struct Tampered {
    folder: TempDir,
    path: PathBuf,
    location: Location,
    tables: Connection,
}

/// A row of the journal.
#[derive(Clone, Debug, PartialEq)]
struct JournalRow {
    sequence: i64,
    hash: Vec<u8>,
    key: Option<String>,
    line: String,
}

/// A row of the accounts.
#[derive(Clone, Debug, PartialEq)]
struct StateRow {
    number: i64,
    name: String,
    sequence: i64,
    state: Vec<u8>,
}

fn name(text: &str) -> AccountName {
    AccountName::parse(text).unwrap()
}

/// Thirty records: accounts under all rules, charges of all kinds, halts, closings, a restoring, and what comes after it.
fn fill(location: &Location, witness: &Path) {
    let options = || Options { create: true, ..Options::default() };
    let ledger = Ledger::open(location, options()).unwrap();
    let spec = |text: &str, rule: Option<FilterRule>, on_halt| {
        let budget = Budget::parse("1,1e-6").unwrap();
        let filter = rule.map(|rule| FilterSpec { on_halt, ..FilterSpec::new(rule, budget) });
        let odometer = match &filter {
            Some(_) => OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
            None => OdometerSpec::new(OdometerRule::RenyiMixture, budget.delta()),
        };
        AccountSpec { name: name(text), privacy: Privacy::default(), filter, odometer }
    };
    let charge = |ledger: &Ledger, key: &str, accounts: &[&str], kind: CostKind, size: &str| {
        let cost = kind.example().with_size(Amount::parse_exact(size).unwrap());
        let accounts = accounts.iter().map(|text| name(text)).collect();
        let charge = Charge::new(Key::parse("key", key).unwrap(), accounts, vec![cost; 2]).unwrap();
        let by = Some(Who::parse("by", "Älice").unwrap());
        ledger.charge(charge.by(by).with_note(Some(Note::parse("note", "why \"not\"").unwrap()))).unwrap()
    };
    ledger.open_account(spec("census", Some(FilterRule::Zcdp), OnHalt::Refuse)).unwrap();
    ledger.open_account(spec("census/alice", Some(FilterRule::Renyi), OnHalt::Stop)).unwrap();
    ledger.open_account(spec("census/bob", Some(FilterRule::Residue), OnHalt::Stop)).unwrap();
    ledger.open_account(spec("other", None, OnHalt::Refuse)).unwrap();
    // What the zCDP rule takes; discrete Laplace noise is priced as any ε.
    let kinds =
        CostKind::ALL.into_iter().filter(|&kind| FilterRule::Zcdp.takes(kind) && kind != CostKind::DiscreteLaplace);
    for (at, kind) in kinds.enumerate() {
        let made = charge(&ledger, &format!("a{at}"), &["census/alice"], kind, "0.001");
        assert!(matches!(made, Outcome::Charged(_)), "{made:?}");
        charge(&ledger, &format!("b{at}"), &["other", "census"], kind, "0.002");
    }
    charge(&ledger, "halt", &["census/alice", "census/bob"], CostKind::Epsilon, "5");
    ledger.close_account(name("census/bob"), Some(Who::parse("by", "bob").unwrap()), None).unwrap();
    ledger.close_account(name("other"), None, Some(Note::parse("note", "over").unwrap())).unwrap();
    drop(ledger);
    fs::remove_file(witness).unwrap();
    restore(location, &Options::default(), Restore::AcceptLoss { by: None, note: None }).unwrap();
    let ledger = Ledger::open(location, options()).unwrap();
    ledger.open_account(spec("census-2", Some(FilterRule::Basic), OnHalt::Refuse)).unwrap();
    ledger.open_account(spec("census-2/alice", Some(FilterRule::Advanced), OnHalt::Refuse)).unwrap();
    for at in 0..5 {
        charge(&ledger, &format!("c{at}"), &[["census-2"], ["census-2/alice"]][at % 2], CostKind::Laplace, "0.01");
    }
}

impl Tampered {
    fn new() -> Tampered {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taximeter.db");
        let location = Location::File(path.clone());
        fill(&location, &folder.path().join("taximeter.db.witness"));
        let tables = Connection::open(&path).unwrap();
        // The test looks at what is written, not at what survives a crash.
        tables.pragma_update(None, "synchronous", "OFF").unwrap();
        let tampered = Tampered { folder, path, location, tables };
        assert_eq!(tampered.verify().unwrap().records, 30);
        tampered
    }

    fn verify(&self) -> Result<Verified, Error> {
        verify(&self.location, None, &mut |_, _| {})
    }

    fn journal(&self) -> Vec<JournalRow> {
        let mut rows =
            self.tables.prepare_cached("SELECT sequence, hash, key, line FROM journal ORDER BY sequence").unwrap();
        let row = |row: &rusqlite::Row<'_>| {
            Ok(JournalRow { sequence: row.get(0)?, hash: row.get(1)?, key: row.get(2)?, line: row.get(3)? })
        };
        rows.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
    }

    fn accounts(&self) -> Vec<StateRow> {
        let mut rows =
            self.tables.prepare_cached("SELECT number, name, sequence, state FROM accounts ORDER BY number").unwrap();
        let row = |row: &rusqlite::Row<'_>| {
            Ok(StateRow { number: row.get(0)?, name: row.get(1)?, sequence: row.get(2)?, state: row.get(3)? })
        };
        rows.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
    }

    fn write_journal(&self, rows: &[JournalRow]) {
        let transaction = self.tables.unchecked_transaction().unwrap();
        transaction.execute("DELETE FROM journal", []).unwrap();
        for JournalRow { sequence, hash, key, line } in rows {
            let insert = "INSERT INTO journal (sequence, hash, key, line) VALUES (?1, ?2, ?3, ?4)";
            transaction.prepare_cached(insert).unwrap().execute(params![sequence, hash, key, line]).unwrap();
        }
        transaction.commit().unwrap();
    }

    fn write_accounts(&self, rows: &[StateRow]) {
        let transaction = self.tables.unchecked_transaction().unwrap();
        transaction.execute("DELETE FROM accounts", []).unwrap();
        for StateRow { number, name, sequence, state } in rows {
            let insert = "INSERT INTO accounts (number, name, sequence, state) VALUES (?1, ?2, ?3, ?4)";
            transaction.prepare_cached(insert).unwrap().execute(params![number, name, sequence, state]).unwrap();
        }
        transaction.commit().unwrap();
    }

    /// Sets one column of one row.
    fn set(&self, table: &str, column: &str, row: i64, value: &Value) {
        let (by, value_sql) = match (table, column) {
            ("journal", "line") => ("sequence", "CAST(?1 AS TEXT)"),
            ("journal", _) => ("sequence", "?1"),
            _ => ("number", "?1"),
        };
        let update = format!("UPDATE {table} SET {column} = {value_sql} WHERE {by} = ?2");
        assert_eq!(self.tables.prepare_cached(&update).unwrap().execute(params![value, row]).unwrap(), 1);
    }

    /// Verifying fails and the message starts with what is wrong.
    #[track_caller]
    fn check_named(&self, start: &str, what: &str) {
        let error = self.verify().err().unwrap_or_else(|| panic!("it was not noticed: {what}"));
        assert!(error.is_integrity(), "{what}: it is an error of another kind: {error}");
        assert!(error.to_string().starts_with(start), "{what}: {start:?} should be named: {error}");
    }

    /// Neither a writer nor a reader opens it.
    #[track_caller]
    fn check_does_not_open(&self, what: &str) {
        // Not because of the alarm that an earlier verification raised.
        self.tables.execute("DELETE FROM alarm", []).unwrap();
        let reader =
            LedgerReader::open(&self.location, None).err().unwrap_or_else(|| panic!("a reader opened it: {what}"));
        let writer = Ledger::open(&self.location, Options::default());
        let writer = writer.err().unwrap_or_else(|| panic!("a writer opened it: {what}"));
        assert!(reader.is_integrity() && writer.is_integrity(), "{what}: {reader}; {writer}");
    }

    /// Changes every byte of a column of some rows in one way, one byte at a time, and has each noticed under its name.
    fn check_every_byte(
        &self,
        table: &str,
        column: &str,
        rows: &[(i64, Vec<u8>, String)],
        change: impl Fn(usize, u8) -> u8,
    ) {
        for (row, bytes, start) in rows {
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] = change(at, bytes[at]);
                if changed[at] == bytes[at] {
                    continue;
                }
                self.set(table, column, *row, &Value::Blob(changed));
                self.check_named(start, &format!("byte {at} of {column} {row} in {table}"));
            }
            self.set(table, column, *row, &Value::Blob(bytes.clone()));
        }
        self.verify().unwrap();
    }
}
