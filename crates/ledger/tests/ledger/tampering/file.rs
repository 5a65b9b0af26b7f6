//! Changed bytes of the file, and a file of an earlier format.

use super::*;

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
    let reader = LedgerReader::open(&tampered.location, None).err();
    let writer = Ledger::open(&tampered.location, Options::default()).err();
    for error in [tampered.verify().err(), reader, writer] {
        let message = error.expect("it is not opened").to_string();
        assert!(message.contains("an earlier version of this program (format 1)"), "{message}");
    }
}
