//! Whatever is changed behind the ledger's back, `verify` notices and names it.
//!
//! A ledger with events of every kind is changed through a SQLite connection of the test's own, a byte or a row at a time, verified,
//! and put back.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;

use rusqlite::types::Value;
use rusqlite::{Connection, params};
use taximeter_accounting::{Amount, Budget, CostKind, FilterRule, FilterSpec, OdometerRule, OdometerSpec, OnHalt};
use taximeter_ledger::{
    AccountName, AccountSpec, Charge, Error, Hash, Key, Ledger, Location, Note, Options, Outcome, Privacy, Reader,
    Record, Restore, Verified, Who, clear_alarm, restore, verify,
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
        let reader = Reader::open(&self.location, None).err().unwrap_or_else(|| panic!("a reader opened it: {what}"));
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

/// Once an edit was found and charges went on all the same.
#[test]
fn what_a_verification_finds_stops_writers_until_the_owner_clears_it() {
    let tampered = Tampered::new();
    let cost = taximeter_accounting::Cost::parse_epsilon("0.001").unwrap().cost;
    let charge = |ledger: &Ledger, key: &str| {
        ledger.charge(Charge::new(Key::parse("key", key).unwrap(), vec![name("census-2")], vec![cost]).unwrap())
    };
    let open = || Ledger::open(&tampered.location, Options::default());
    let ledger = open().unwrap();
    assert!(matches!(charge(&ledger, "before"), Ok(Outcome::Charged(_))));
    let edited = tampered.journal()[3].line.replacen("\"time\":\"2", "\"time\":\"1", 1);
    tampered.set("journal", "line", 3, &Value::Text(edited));
    tampered.check_named("record 3:", "an edited time");
    // A writer that is open takes nothing more, and no other one opens. Readers do.
    for error in [charge(&ledger, "after").unwrap_err(), ledger.health().unwrap_err()] {
        assert!(error.is_integrity() && error.to_string().contains("alarm: record 3:"), "{error}");
    }
    drop(ledger);
    let error = open().err().expect("the alarm keeps it closed");
    assert!(error.is_integrity() && error.to_string().contains("alarm: record 3:"), "{error}");
    assert!(Reader::open(&tampered.location, None).is_ok());
    assert!(clear_alarm(&tampered.location).unwrap().unwrap().starts_with("record 3:"));
    assert_eq!(clear_alarm(&tampered.location).unwrap(), None);
    let ledger = open().unwrap();
    assert!(matches!(charge(&ledger, "after"), Ok(Outcome::Charged(_))));
    // Once it is cleared a writer that was stopped goes on by itself.
    tampered.check_named("record 3:", "an edited time");
    assert!(charge(&ledger, "again").is_err());
    clear_alarm(&tampered.location).unwrap();
    assert!(matches!(charge(&ledger, "again"), Ok(Outcome::Charged(_))));
}

/// Once these were found before the alarm could be raised, and charges went on.
#[test]
fn what_a_verification_finds_before_it_reads_the_journal_stops_writers_too() {
    let cost = taximeter_accounting::Cost::parse_epsilon("0.001").unwrap().cost;
    let charge = |ledger: &Ledger, key: &str| {
        ledger.charge(Charge::new(Key::parse("key", key).unwrap(), vec![name("census-2")], vec![cost]).unwrap())
    };
    for (change, start) in [
        ("UPDATE journal SET line = line || ' ' WHERE sequence = 0", "record 0:"),
        ("CREATE TRIGGER later AFTER INSERT ON journal BEGIN DELETE FROM alarm; END", "the tables"),
        ("CREATE TRIGGER at_once AFTER INSERT ON alarm BEGIN DELETE FROM alarm; END", "the tables"),
        ("CREATE TABLE more (number INTEGER)", "the tables"),
    ] {
        let tampered = Tampered::new();
        let ledger = Ledger::open(&tampered.location, Options::default()).unwrap();
        assert!(matches!(charge(&ledger, "before"), Ok(Outcome::Charged(_))));
        tampered.tables.execute_batch(change).unwrap();
        tampered.check_named(start, change);
        let error = charge(&ledger, "after").err().unwrap_or_else(|| panic!("charged after: {change}"));
        assert!(error.to_string().contains(&format!("alarm: {start}")), "{change}: {error}");
        assert!(ledger.health().unwrap_err().is_integrity(), "{change}");
        assert!(clear_alarm(&tampered.location).unwrap().unwrap().starts_with(start), "{change}");
    }
}

/// Every byte of every line of the journal, changed in one way, on two threads.
fn check_every_byte_of_every_line(change: impl Fn(usize, u8) -> u8 + Copy + Send) {
    thread::scope(|threads| {
        for half in 0..2 {
            threads.spawn(move || {
                let tampered = Tampered::new();
                let rows: Vec<_> = tampered
                    .journal()
                    .into_iter()
                    .filter(|row| row.sequence % 2 == half)
                    .map(|row| (row.sequence, row.line.into_bytes(), format!("record {}:", row.sequence)))
                    .collect();
                tampered.check_every_byte("journal", "line", &rows, change);
            });
        }
    });
}

#[test]
fn a_changed_byte_in_a_record_is_noticed_in_that_record() {
    check_every_byte_of_every_line(|_, byte| byte ^ 1);
}

#[test]
fn a_changed_digit_in_a_record_is_noticed_in_that_record() {
    check_every_byte_of_every_line(|_, byte| if byte.is_ascii_digit() { b'0' + (byte - b'0' + 1) % 10 } else { byte });
}

/// Bytes that are no text any more, at every thirteenth place.
#[test]
fn a_byte_that_is_not_text_is_noticed_in_that_record() {
    check_every_byte_of_every_line(|at, byte| if at % 13 == 0 { byte ^ 0x80 } else { byte });
}

#[test]
fn a_changed_byte_in_a_hash_is_noticed_in_that_record() {
    let tampered = Tampered::new();
    let rows: Vec<_> = tampered
        .journal()
        .into_iter()
        .map(|row| (row.sequence, row.hash, format!("record {}:", row.sequence)))
        .collect();
    tampered.check_every_byte("journal", "hash", &rows, |at, byte| byte ^ (1 << (at % 8)));
    for (row, hash, start) in &rows {
        for other in [Vec::new(), hash[..31].to_vec(), [&hash[..], &[0]].concat(), vec![0; 32]] {
            tampered.set("journal", "hash", *row, &Value::Blob(other));
            tampered.check_named(start, "a hash of another length");
        }
        tampered.set("journal", "hash", *row, &Value::Blob(hash.clone()));
    }
}

#[test]
fn a_changed_key_is_noticed_in_that_record() {
    let tampered = Tampered::new();
    for row in tampered.journal() {
        let original = row.key.clone().map_or(Value::Null, Value::Text);
        let mut others = vec![Value::Text("another".to_string()), Value::Text(String::new())];
        if let Some(key) = &row.key {
            others.push(Value::Null);
            others.push(Value::Text(format!("{key} ")));
            for at in 0..key.len() {
                let mut bytes = key.clone().into_bytes();
                bytes[at] ^= 0x20;
                others.push(Value::Text(String::from_utf8(bytes).unwrap()));
            }
        }
        for other in others.into_iter().filter(|other| *other != original) {
            tampered.set("journal", "key", row.sequence, &other);
            tampered.check_named(&format!("record {}:", row.sequence), &format!("the key {other:?}"));
        }
        tampered.set("journal", "key", row.sequence, &original);
    }
    tampered.verify().unwrap();
}

#[test]
fn a_removed_record_is_noticed_at_its_place() {
    let tampered = Tampered::new();
    let journal = tampered.journal();
    for at in 0..journal.len() {
        let mut rows = journal.clone();
        rows.remove(at);
        tampered.write_journal(&rows);
        // Behind the last one there is no gap; its accounts have changed since, and the witness remembers it.
        let start = if at + 1 < journal.len() { format!("record {at}:") } else { String::new() };
        tampered.check_named(&start, &format!("record {at} is removed"));
    }
    for kept in 0..journal.len() {
        tampered.write_journal(&journal[..kept]);
        let error = tampered.verify().unwrap_err();
        // Where nothing is left, nobody can say what was there: then it is no ledger.
        assert!(error.is_integrity() || kept == 0, "{kept} records are kept: {error}");
        assert!(Ledger::open(&tampered.location, Options::default()).is_err());
        assert!(Reader::open(&tampered.location, None).is_err());
        // Also with the accounts gone.
        let accounts = tampered.accounts();
        tampered.write_accounts(&[]);
        assert!(tampered.verify().is_err());
        assert!(Ledger::open(&tampered.location, Options::default()).is_err());
        tampered.write_accounts(&accounts);
    }
    tampered.write_journal(&journal);
    tampered.verify().unwrap();
}

#[test]
fn swapped_records_are_noticed_at_the_first_of_them() {
    let tampered = Tampered::new();
    let journal = tampered.journal();
    for one in 0..journal.len() {
        for other in one + 1..journal.len() {
            let mut rows = journal.clone();
            (rows[one].sequence, rows[other].sequence) = (other as i64, one as i64);
            tampered.write_journal(&rows);
            tampered.check_named(&format!("record {one}:"), &format!("records {one} and {other} are swapped"));
        }
    }
}

#[test]
fn a_repeated_or_inserted_record_is_noticed_at_its_place() {
    let tampered = Tampered::new();
    let journal = tampered.journal();
    for at in 0..journal.len() {
        for place in [at + 1, journal.len()] {
            let mut rows = journal.clone();
            // The same key twice is not possible in the table; a forger would leave it out.
            rows.insert(place, JournalRow { key: None, ..journal[at].clone() });
            rows.iter_mut().enumerate().for_each(|(sequence, row)| row.sequence = sequence as i64);
            tampered.write_journal(&rows);
            tampered.check_named(&format!("record {place}:"), &format!("record {at} is repeated as {place}"));
        }
    }
    // Places that a reader of the journal from 0 on does not come by.
    for sequence in [-1, i64::MIN, journal.len() as i64 + 1, i64::MAX] {
        let mut rows = journal.clone();
        rows.push(JournalRow { sequence, key: Some("free".to_string()), ..journal[20].clone() });
        tampered.write_journal(&rows);
        tampered.check_named("record", &format!("a record is inserted as {sequence}"));
    }
}

#[test]
fn a_renumbered_journal_is_noticed_at_its_first_record() {
    let tampered = Tampered::new();
    let journal = tampered.journal();
    for from in 0..journal.len() {
        let mut rows = journal.clone();
        rows[from..].iter_mut().for_each(|row| row.sequence += 1);
        tampered.write_journal(&rows);
        tampered.check_named(&format!("record {from}:"), &format!("from {from} on, records are one later"));
    }
}

/// The record with another time, which no account state depends on, and with a hash that fits.
fn forged(row: &JournalRow, previous: Option<&[u8]>) -> JournalRow {
    let mut record = Record::parse(&row.line).unwrap();
    record.time = "2001-01-01T00:00:00Z".parse().unwrap();
    if let Some(previous) = previous {
        let hex: String = previous.iter().map(|byte| format!("{byte:02x}")).collect();
        record.previous = Hash::parse(&hex).unwrap();
    }
    let line = record.line();
    JournalRow { hash: blake3::hash(line.as_bytes()).as_bytes().to_vec(), line, ..row.clone() }
}

#[test]
fn a_forged_record_with_a_hash_that_fits_is_noticed_in_the_next_one() {
    let tampered = Tampered::new();
    let journal = tampered.journal();
    for at in 0..journal.len() {
        let mut rows = journal.clone();
        rows[at] = forged(&journal[at], None);
        tampered.write_journal(&rows);
        // The last one is remembered by the witness.
        let noticed = (at + 1).min(journal.len() - 1);
        tampered.check_named(&format!("record {noticed}:"), &format!("record {at} is forged"));
    }
}

#[test]
fn a_journal_that_was_forged_to_its_end_is_noticed_by_the_witness() {
    let tampered = Tampered::new();
    let journal = tampered.journal();
    for from in 0..journal.len() {
        let mut rows = journal.clone();
        for at in from..rows.len() {
            let previous = at.checked_sub(1).map(|before| rows[before].hash.clone());
            rows[at] = forged(&rows[at], previous.as_deref());
        }
        tampered.write_journal(&rows);
        tampered.check_named(&format!("record {}:", journal.len() - 1), &format!("all from {from} on is forged"));
        tampered.check_does_not_open(&format!("all from {from} on is forged"));
    }
}

/// A charge that is made cheaper, with a hash that fits, does not lead to the readings that are in it.
#[test]
fn a_cheaper_charge_is_noticed_in_that_record() {
    let tampered = Tampered::new();
    let journal = tampered.journal();
    let mut tried = 0;
    for (at, row) in journal.iter().enumerate() {
        let line = row.line.replace("0.001", "0.0005").replace("0.002", "0.001").replace("0.01\"", "0.001\"");
        if line == row.line || row.key.is_none() {
            continue;
        }
        let mut rows = journal.clone();
        rows[at] = JournalRow { hash: blake3::hash(line.as_bytes()).as_bytes().to_vec(), line, ..row.clone() };
        tampered.write_journal(&rows);
        tampered.check_named(&format!("record {at}:"), "a cheaper charge");
        tried += 1;
    }
    assert_eq!(tried, 19);
}

#[test]
fn a_changed_byte_in_a_state_is_noticed_in_that_account_and_keeps_the_ledger_closed() {
    let tampered = Tampered::new();
    for StateRow { number, name, state, .. } in tampered.accounts() {
        let rows = [(number, state.clone(), format!("account {name}:"))];
        tampered.check_every_byte("accounts", "state", &rows, |at, byte| byte ^ (1 << (at % 8)));
        for at in 0..state.len() {
            let mut changed = state.clone();
            changed[at] = changed[at].wrapping_add(1);
            tampered.set("accounts", "state", number, &Value::Blob(changed));
            let error = Reader::open(&tampered.location, None).err().expect("a state was edited");
            assert!(error.is_integrity(), "byte {at} of {name}: {error}");
            if at % 64 == 0 {
                tampered.check_does_not_open(&format!("byte {at} of {name}"));
            }
        }
        for other in [Vec::new(), state[..state.len() - 1].to_vec(), [&state[..], &[0]].concat()] {
            tampered.set("accounts", "state", number, &Value::Blob(other));
            tampered.check_named(&format!("account {name}:"), "a state of another length");
            tampered.check_does_not_open("a state of another length");
        }
        tampered.set("accounts", "state", number, &Value::Blob(state));
    }
    Reader::open(&tampered.location, None).unwrap();
    Ledger::open(&tampered.location, Options::default()).unwrap();
}

#[test]
fn a_removed_added_or_renamed_account_is_noticed_and_keeps_the_ledger_closed() {
    let tampered = Tampered::new();
    let accounts = tampered.accounts();
    let check = |rows: &[StateRow], start: &str, what: &str| {
        tampered.write_accounts(rows);
        tampered.check_named(start, what);
        tampered.check_does_not_open(what);
    };
    for at in 0..accounts.len() {
        let name = &accounts[at].name;
        let mut removed = accounts.clone();
        removed.remove(at);
        check(&removed, &format!("account {name}:"), &format!("{name} is removed"));
        removed.iter_mut().enumerate().for_each(|(number, row)| row.number = number as i64);
        check(&removed, &format!("account {name}:"), &format!("{name} is removed, and those after it moved up"));
        for other in ["census-3", "census/", "Census", ""] {
            let mut renamed = accounts.clone();
            renamed[at].name = other.to_string();
            check(&renamed, &format!("account {name}:"), &format!("{name} is renamed {other:?}"));
        }
        for moved in [-1, 99, i64::from(u32::MAX) + 1, i64::MAX] {
            let mut rows = accounts.clone();
            rows[at].number = moved;
            check(&rows, "account", &format!("{name} is moved to {moved}"));
        }
        for swapped in at + 1..accounts.len() {
            let mut rows = accounts.clone();
            (rows[at].number, rows[swapped].number) = (swapped as i64, at as i64);
            check(&rows, &format!("account {name}:"), &format!("{name} is swapped with {swapped}"));
            let mut rows = accounts.clone();
            (rows[at].state, rows[swapped].state) = (accounts[swapped].state.clone(), accounts[at].state.clone());
            check(&rows, &format!("account {name}:"), &format!("{name} has the state of {swapped}"));
        }
        let mut added = accounts.clone();
        let number = accounts.len() as i64;
        added.push(StateRow { number, name: "more".to_string(), ..accounts[at].clone() });
        check(&added, "account \"more\":", "an account is added");
    }
    check(&[], "account census:", "all accounts are removed");
}

#[test]
fn a_changed_sequence_of_an_account_is_noticed_and_keeps_the_ledger_closed() {
    let tampered = Tampered::new();
    for StateRow { number, name, sequence, .. } in tampered.accounts() {
        for other in [0, 1, sequence - 1, sequence + 1, 29, 30, -1, i64::MAX, i64::MIN] {
            if other != sequence {
                tampered.set("accounts", "sequence", number, &Value::Integer(other));
                tampered.check_named(&format!("account {name}:"), &format!("sequence {other} instead of {sequence}"));
                tampered.check_does_not_open(&format!("sequence {other} instead of {sequence}"));
            }
        }
        tampered.set("accounts", "sequence", number, &Value::Integer(sequence));
    }
    tampered.verify().unwrap();
}

/// Who reads many records at once reads none that is not what its hash says, and none in the place of another.
#[test]
fn a_changed_or_missing_record_is_not_read_among_others() {
    let tampered = Tampered::new();
    let ledger = Ledger::open(&tampered.location, Options::default()).unwrap();
    let journal = tampered.journal();
    let check = |sequence: usize, why: &str| {
        let error = ledger.records(0, 100).expect_err("the journal was changed");
        assert!(error.is_integrity(), "record {sequence}: {error}");
        let message = error.to_string();
        assert!(message.starts_with(&format!("record {sequence}")) && message.contains(why), "{message}");
        assert_eq!(ledger.records(0, sequence).unwrap().len(), sequence, "those before it are as they were");
    };
    for (at, row) in journal.iter().enumerate().skip(1) {
        let number = row.sequence;
        tampered.set("journal", "line", number, &Value::Text(format!("{} ", row.line)));
        check(at, "hash");
        let forged = forged(&JournalRow { line: journal[at - 1].line.clone(), ..row.clone() }, None);
        tampered.set("journal", "line", number, &Value::Text(forged.line));
        tampered.set("journal", "hash", number, &Value::Blob(forged.hash));
        check(at, &format!("it is record {}", at - 1));
        let mut removed = journal.clone();
        removed.remove(at);
        tampered.write_journal(&removed);
        check(at, "missing");
        tampered.write_journal(&journal);
    }
    assert_eq!(ledger.records(0, 100).unwrap().len(), 30);
}

/// Bytes of the file itself, as a bad disk changes them. Some mean nothing; where verifying passes, all rows must be what they were,
/// and every record must be found by its key.
#[test]
fn a_changed_byte_of_the_file_is_noticed_or_means_nothing() {
    let tampered = Tampered::new();
    let (journal, accounts) = (tampered.journal(), tampered.accounts());
    let Tampered { folder, path, location, tables } = tampered;
    tables.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    drop(tables);
    let bytes = fs::read(&path).unwrap();
    let mut meaningless = 0;
    // A prime number of bytes apart, so that all parts of all pages come by.
    for at in (0..bytes.len()).step_by(23) {
        let write = |byte: u8| {
            let mut file = OpenOptions::new().write(true).open(&path).unwrap();
            file.seek(SeekFrom::Start(at as u64)).unwrap();
            file.write_all(&[byte]).unwrap();
        };
        write(bytes[at] ^ (1 << (at % 8)));
        if verify(&location, None, &mut |_, _| {}).is_ok() {
            meaningless += 1;
            let tables = Connection::open(&path).unwrap();
            let again = Tampered {
                folder: tempfile::tempdir().unwrap(),
                path: path.clone(),
                location: location.clone(),
                tables,
            };
            assert_eq!((again.journal(), again.accounts()), (journal.clone(), accounts.clone()), "byte {at}");
            for row in journal.iter().filter(|row| row.key.is_some()) {
                let found =
                    again.tables.query_row("SELECT sequence FROM journal WHERE key = ?1", [&row.key], |row| row.get(0));
                assert_eq!(found, Ok(row.sequence), "byte {at}: {:?} is no longer found", row.key);
            }
        }
        write(bytes[at]);
    }
    assert!(meaningless > 0, "free space means nothing");
    verify(&location, None, &mut |_, _| {}).unwrap();
    drop(folder);
}

/// Its rules decide differently now, so an older ledger is not opened as if nothing had happened.
#[test]
fn a_ledger_of_an_earlier_format_is_refused_and_says_which_version_made_it() {
    let tampered = Tampered::new();
    tampered.tables.pragma_update(None, "user_version", 1).unwrap();
    let reader = Reader::open(&tampered.location, None).err();
    let writer = Ledger::open(&tampered.location, Options::default()).err();
    for error in [tampered.verify().err(), reader, writer] {
        let message = error.expect("it is not opened").to_string();
        assert!(message.contains("an earlier version of this program (format 1)"), "{message}");
    }
}
