//! The witness: a ledger that is not what it remembers stays closed, and says what to do.

use std::fs::{self, File};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use taximeter_ledger::{Error, Ledger, Position};

use super::place::*;

/// A ledger with one account.
pub fn with_an_account(place: &Place) -> Ledger {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    ledger
}

/// Charges this number of times, under keys that start alike; returns the newest record.
pub fn charge_times(place: &Place, start: &str, times: usize) -> Position {
    let ledger = place.open().unwrap();
    for at in 0..times {
        charged(ledger.charge(charge(&format!("{start}{at}"), &["census"], &[epsilon("0.01")])));
    }
    ledger.position()
}

/// The ledger opens for no one, and the error says why.
#[track_caller]
pub fn check_closed(place: &Place, parts: &[&str]) {
    let errors: [Error; 3] = [place.open().err(), place.reader().err(), place.try_verify().err()]
        .map(|error| error.expect("it should stay closed"));
    for error in &errors[..2] {
        assert!(error.is_rollback() && error.is_integrity(), "{error}");
        check_message(error, parts);
        check_message(error, &[place.witness.to_str().unwrap()]);
    }
    assert!(errors[2].is_integrity(), "{}", errors[2]);
}

pub fn a_missing_witness_keeps_the_ledger_closed(place: &Place) {
    drop(with_an_account(place));
    let elsewhere = place.another();
    fs::rename(&place.witness, &elsewhere.witness).unwrap();
    check_closed(place, &["is missing"]);
    // It is not made again behind the owner's back, not even where a ledger may be made.
    assert!(Ledger::open(&place.location, taximeter_ledger::Options { create: true, ..place.options() }).is_err());
    assert!(!place.witness.exists());
    place.with_witness_of(&elsewhere).open().unwrap();
}

pub fn a_foreign_witness_keeps_the_ledger_closed(place: &Place) {
    let other = place.another();
    let (id, other_id) = (with_an_account(place).id().to_string(), with_an_account(&other).id().to_string());
    let mixed = place.with_witness_of(&other);
    for error in [mixed.open().err(), mixed.reader().err(), mixed.try_verify().err()] {
        let error = error.expect("it should stay closed");
        assert!(error.is_rollback(), "{error}");
        check_message(&error, &["belongs to the ledger", &id, &other_id]);
    }
    // Nothing was written into it.
    other.open().unwrap();
}

pub fn an_old_copy_is_noticed(place: &Place) {
    drop(with_an_account(place));
    let old = place.copy();
    let position = charge_times(place, "k", 3);
    let put_back = old.with_witness_of(place);
    check_closed(&put_back, &["old copy", "record 1", &format!("record {}", position.sequence)]);
    // With both restored together nothing can be noticed, and a copy is as good as the ledger.
    old.open().unwrap();
    old.verify();
    place.open().unwrap();
}

pub fn a_copy_that_went_on_is_noticed(place: &Place) {
    drop(with_an_account(place));
    let (shorter, longer) = (place.copy(), place.copy());
    charge_times(place, "k", 3);
    charge_times(&shorter, "other", 2);
    charge_times(&longer, "other", 5);
    check_closed(&shorter.with_witness_of(place), &["remembers record 4", "ends at record 3"]);
    check_closed(&longer.with_witness_of(place), &["record 4", "not the one"]);
    // The other way round as well.
    check_closed(&place.with_witness_of(&shorter), &["record 3", "not the one"]);
    check_closed(&place.with_witness_of(&longer), &["remembers record 6"]);
}

pub fn a_damaged_witness_keeps_the_ledger_closed(place: &Place) {
    drop(with_an_account(place));
    let whole = fs::read(&place.witness).unwrap();
    for (damaged, said) in [
        (Vec::new(), "is not a witness"),
        (b"garbage\n".to_vec(), "is not a witness"),
        (vec![0; 8192], "is not a witness"),
        (vec![0xff; 100_000], "is not a witness"),
        (whole[..20].to_vec(), "is damaged"),
        (whole[..4096].to_vec(), "is damaged"),
    ] {
        fs::write(&place.witness, damaged).unwrap();
        check_closed(place, &[said]);
    }
    fs::write(&place.witness, &whole).unwrap();
    charge_times(place, "k", 3);
}

/// Once it fell back to the place before, and a ledger that was one commit old opened and was charged the same again.
pub fn one_wrong_bit_in_the_newest_place_does_not_let_an_old_copy_in(place: &Place) {
    drop(with_an_account(place));
    charge_times(place, "before", 1);
    let old = place.copy();
    let newest = charge_times(place, "newest", 1);
    let whole = fs::read(&place.witness).unwrap();
    // The line of the newest record is the one that has its hash in it.
    let (line, hash) = (newest.hash.to_string(), newest.hash.to_string().into_bytes());
    let at = whole.windows(hash.len()).position(|bytes| bytes == hash).unwrap_or_else(|| panic!("no {line}"));
    for flipped in [at - 30, at, at + 70] {
        let mut damaged = whole.clone();
        damaged[flipped] ^= 1;
        fs::write(&place.witness, &damaged).unwrap();
        check_closed(&old.with_witness_of(place), &["damaged"]);
    }
    // A crash in the middle of writing leaves the same, but never with a ledger that lacks the record. It is told, and mended when the
    // ledger is opened to be written.
    assert!(!place.verify().is_witness_whole);
    assert!(!place.reader().unwrap().is_witness_whole());
    assert!(!place.open().unwrap().was_witness_whole());
    assert!(place.verify().is_witness_whole && place.reader().unwrap().is_witness_whole());
    assert!(place.open().unwrap().was_witness_whole());
    charge_times(place, "after", 1);
    check_closed(&old.with_witness_of(place), &["old copy"]);
}

/// Says what comes of something that would once wait for ever.
fn at_once<T: Send + 'static>(action: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(action()));
    result.recv_timeout(Duration::from_secs(30)).expect("it should have ended by now")
}

pub fn a_witness_that_is_no_file_is_an_error_at_once(place: &Place) {
    drop(with_an_account(place));
    let (pipe, folder) = (place.witness.with_extension("pipe"), place.witness.with_extension("folder"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::create_dir(&folder).unwrap();
    for witness in [pipe, folder] {
        let mut other = place.clone();
        other.witness = witness;
        let errors = at_once(move || [other.open().err(), other.reader().err(), other.try_verify().err()]);
        for error in errors {
            check_message(&error.expect("it should stay closed"), &["the witness", "is not a file"]);
        }
    }
}

pub fn a_lock_on_the_witness_is_waited_for_only_so_long(place: &Place) {
    let ledger = with_an_account(place);
    let reader = File::open(&place.witness).unwrap();
    reader.lock().unwrap();
    let error = at_once(move || ledger.charge(charge("k", &["census"], &[epsilon("0.1")]))).unwrap_err();
    check_message(&error, &[place.witness.to_str().unwrap(), "lock"]);
    reader.unlock().unwrap();
    replayed(place.open().unwrap().charge(charge("k", &["census"], &[epsilon("0.1")])));
}

#[cfg(unix)]
pub fn files_are_for_their_owner_alone(place: &Place) {
    use std::os::unix::fs::MetadataExt;
    let _ledger = with_an_account(place);
    for file in fs::read_dir(place.witness.parent().unwrap()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().mode();
        assert_eq!(mode & 0o077, 0, "{} has the mode {mode:o}", file.path().display());
    }
}

pub fn a_witness_without_its_ledger_keeps_a_new_one_from_being_made(place: &Place) {
    let id = with_an_account(place).id().to_string();
    let lost = place.another().with_witness_of(place);
    let options = taximeter_ledger::Options { create: true, ..lost.options() };
    let error = Ledger::open(&lost.location, options).err().expect("the ledger of the witness is missing");
    assert!(error.is_rollback(), "{error}");
    check_message(&error, &["there is no ledger", &id, "record 1"]);
    charge_times(place, "k", 1);
}

pub fn a_ledger_without_records_needs_no_witness(place: &Place) {
    drop(place.create());
    fs::remove_file(&place.witness).unwrap();
    place.verify();
    place.reader().unwrap();
    with_an_account(place);
    assert!(place.witness.exists());
    charge_times(place, "k", 1);
}
