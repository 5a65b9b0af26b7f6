//! Changed, removed, swapped, inserted and forged records of the journal.

use super::*;

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
        assert!(LedgerReader::open(&tampered.location, None).is_err());
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

/// Reading many records at once returns no record that does not match its hash, and none in the place of another.
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
