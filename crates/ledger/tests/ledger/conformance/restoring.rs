//! Restoring a ledger that is not what its witness remembers.

use std::fs;
use std::path::PathBuf;

use taximeter_ledger::{
    Error, ErrorKind, Event, Location, Note, Options, Outcome, Position, Reason, Receipts, Restore, Restored, Standing,
    Who, restore,
};

use super::place::*;
use super::witness::{charge_times, check_closed, with_an_account};

fn with_receipts(place: &Place, receipts: &str) -> Result<Restored, Error> {
    restore(&place.location, &place.options(), Restore::Receipts(Receipts::parse(receipts)?))
}

fn accepting_the_loss(place: &Place) -> Result<Restored, Error> {
    let (by, note) = (Who::parse("by", "the owner").unwrap(), Note::parse("note", "the disk broke").unwrap());
    restore(&place.location, &place.options(), Restore::AcceptLoss { by: Some(by), note: Some(note) })
}

/// A ledger with four records more than an old copy of it: a charge, an opening, a charge and a closing. Returns the old copy beside
/// the witness that knows better, and the four lines.
fn set_back(place: &Place) -> (Place, Vec<String>) {
    drop(with_an_account(place));
    let old = place.copy();
    let ledger = place.open().unwrap();
    charged(ledger.charge(charge("k1", &["census"], &[epsilon("0.1")])));
    ledger.open_account(budgeted("census/alice", "1,1e-6")).unwrap();
    charged(ledger.charge(charge("k2", &["census/alice"], &[epsilon("0.2")])));
    ledger.close_account(name("census/alice"), None, None).unwrap();
    drop(ledger);
    let lines = place.export().lines().skip(2).take(4).map(String::from).collect();
    (old.with_witness_of(place), lines)
}

/// The old copy is still what it was, and its witness too.
#[track_caller]
fn check_unchanged(old: &Place) {
    check_closed(old, &["record 1", "record 5"]);
}

pub fn with_all_receipts_exactly_the_missing_charges_come_back(place: &Place) {
    let (old, lines) = set_back(place);
    let restored = with_receipts(&old, &lines.join("\n")).unwrap();
    assert_eq!((restored.head.sequence, restored.records, restored.exhausted), (5, 4, 0));
    assert_eq!(old.export(), place.export());
    assert_eq!(old.open().unwrap().accounts(), place.reader().unwrap().accounts());
    old.verify();
    let ledger = old.open().unwrap();
    assert_eq!(replayed(ledger.charge(charge("k1", &["census"], &[epsilon("0.1")]))).line(), lines[0]);
    charged(ledger.charge(charge("k3", &["census"], &[epsilon("0.1")])));
}

pub fn receipts_may_come_in_any_order_and_form(place: &Place) {
    let (old, lines) = set_back(place);
    let document = |line: &String| format!("{{\"receipt\":1,\"record\":{line},\"more\":[]}}");
    let shuffled = [
        document(&lines[2]),
        String::new(),
        lines[0].clone(),
        lines[3].clone(),
        document(&lines[0]),
        document(&lines[1]),
    ];
    assert_eq!(with_receipts(&old, &shuffled.join("\r\n")).unwrap().records, 4);
    assert_eq!(old.export(), place.export());
    // A whole export is the receipts of everything.
    let (old, _) = set_back(&place.another());
    let export = place.export();
    assert!(with_receipts(&old, &export).unwrap_err().is_integrity(), "it belongs to another ledger");
}

pub fn with_a_receipt_missing_nothing_is_restored(place: &Place) {
    let (old, lines) = set_back(place);
    for missing in 0..lines.len() {
        let mut some = lines.clone();
        some.remove(missing);
        let result = with_receipts(&old, &some.join("\n"));
        check_input(result, &[&format!("record {}", missing + 2), "nothing was restored"]);
        check_unchanged(&old);
    }
    check_input(with_receipts(&old, ""), &["4 of the records 2 to 5", "nothing was restored"]);
    check_unchanged(&old);
    with_receipts(&old, &lines.join("\n")).unwrap();
}

pub fn with_a_forged_receipt_nothing_is_restored(place: &Place) {
    let (old, lines) = set_back(place);
    for (at, (from, to)) in
        [("k1", "kk"), ("1,1", "9,1"), ("k2", "k3"), ("census/alice", "census")].into_iter().enumerate()
    {
        let mut forged = lines.clone();
        forged[at] = forged[at].replacen(from, to, 1);
        if forged == lines {
            forged[at] = forged[at].replacen("\"states\":\"", "\"states\":\"0", 1);
        }
        let error = with_receipts(&old, &forged.join("\n")).unwrap_err();
        assert!(error.is_integrity() || error.is_input(), "{error}");
        check_unchanged(&old);
    }
    // Cheaper than it was: the cost of the first charge is cut to a tenth.
    let mut cheaper = lines.clone();
    cheaper[0] = cheaper[0].replacen("0.1", "0.01", 1);
    assert_ne!(cheaper, lines);
    assert!(with_receipts(&old, &cheaper.join("\n")).is_err());
    let twice = format!("{}\n{}", lines.join("\n"), cheaper[0]);
    assert!(with_receipts(&old, &twice).is_err());
    check_unchanged(&old);
    with_receipts(&old, &lines.join("\n")).unwrap();
}

pub fn receipts_without_a_witness_that_knows_them_are_not_enough(place: &Place) {
    let (old, lines) = set_back(place);
    fs::remove_file(&old.witness).unwrap();
    check_input(with_receipts(&old, &lines.join("\n")), &["witness"]);
    check_closed(&old, &["is missing"]);
    assert_eq!(accepting_the_loss(&old).unwrap().exhausted, 1);
}

pub fn receipts_of_another_branch_are_not_taken(place: &Place) {
    drop(with_an_account(place));
    let old = place.copy();
    charge_times(place, "k", 3);
    let ahead = old.copy();
    charge_times(&old, "other", 1);
    charge_times(&ahead, "another", 3);
    // The ledger went on by one record from the copy, and what is missing is supplied: it still leads elsewhere.
    let forked = old.with_witness_of(place);
    let before = old.export();
    for receipts in [place.export(), ahead.export()] {
        let error = with_receipts(&forked, &receipts).unwrap_err();
        assert!(error.is_integrity(), "{error}");
    }
    assert_eq!(old.export(), before);
}

pub fn after_accepting_the_loss_every_account_is_exhausted(place: &Place) {
    let ledger = with_an_account(place);
    ledger.open_account(reading("reading")).unwrap();
    ledger.open_account(budgeted("census/alice", "1,1e-6")).unwrap();
    ledger.open_account(budgeted("closed", "1,1e-6")).unwrap();
    ledger.close_account(name("closed"), None, None).unwrap();
    charged(ledger.charge(charge("before", &["census"], &[epsilon("0.1")])));
    drop(ledger);
    let old = place.copy();
    let lost = charge_times(place, "k", 3);
    let old = old.with_witness_of(place);
    let restored = accepting_the_loss(&old).unwrap();
    assert_eq!((restored.head.sequence, restored.records, restored.exhausted), (7, 0, 4));

    let ledger = old.open().unwrap();
    assert_eq!(ledger.position(), restored.head);
    for account in ledger.accounts() {
        assert_eq!((account.standing(), account.reading()), (Standing::Exhausted, None), "{}", account.name());
        assert_eq!(account.left(), account.filter().map(|_| 0.0));
        let text = account.name().as_str();
        let refusal = refused(ledger.charge(charge(text, &[text], &[epsilon("0")])));
        assert_eq!(refusal.refused()[0].1, Reason::NotOpen(Standing::Exhausted));
        assert_eq!(refusal.fits(), None);
        check_input(ledger.close_account(account.name().clone(), None, None), &["exhausted"]);
        check_input(ledger.open_account(budgeted(&format!("{text}/new"), "1,1e-6")), &["exhausted"]);
    }
    // What is known to have been charged still is.
    replayed(ledger.charge(charge("before", &["census"], &[epsilon("0.1")])));
    refused(ledger.charge(charge("k0", &["census"], &[epsilon("0.01")])));
    drop(ledger);
    let journal = old.journal();
    let Event::Restore { witness, by, note } = &journal.last().unwrap().event else { panic!("{journal:?}") };
    assert_eq!(*witness, Some(lost));
    assert!(by.is_some() && note.is_some());
    old.verify();
}

pub fn after_accepting_the_loss_new_trees_work(place: &Place) {
    let (old, _) = set_back(place);
    accepting_the_loss(&old).unwrap();
    let ledger = old.open().unwrap();
    ledger.open_account(budgeted("census-2", "1,1e-6")).unwrap();
    ledger.open_account(budgeted("census-2/alice", "1,1e-6")).unwrap();
    charged(ledger.charge(charge("new", &["census-2/alice"], &[epsilon("0.1")])));
    refused(ledger.charge(charge("both", &["census-2/alice", "census"], &[epsilon("0.1")])));
    drop(ledger);
    let ledger = old.open().unwrap();
    let outcome = ledger.charge(charge("new", &["census-2/alice"], &[epsilon("0.1")]));
    assert!(matches!(outcome, Ok(Outcome::Replayed(_))));
    old.verify();
    let copy = old.another();
    copy.import(&old.export()).unwrap();
    copy.verify();
}

pub fn the_lost_branch_does_not_open_after_the_loss_was_accepted(place: &Place) {
    let (old, lines) = set_back(place);
    accepting_the_loss(&old).unwrap();
    check_closed(place, &["not the one"]);
    // Nor can its receipts be put back.
    check_input(with_receipts(&old, &lines.join("\n")), &["nothing to restore"]);
}

pub fn a_ledger_that_is_as_its_witness_remembers_is_not_restored(place: &Place) {
    drop(with_an_account(place));
    let before = place.export();
    check_input(accepting_the_loss(place), &["nothing to restore"]);
    check_input(with_receipts(place, &before), &["nothing to restore"]);
    assert_eq!(place.export(), before);
    let empty = place.another();
    assert!(accepting_the_loss(&empty).is_err());
    assert!(empty.open().is_err(), "nothing is made by restoring nothing");
}

/// Exhausts all and remembers nothing of what the witness said.
fn check_restored_without_a_witness(place: &Place) {
    check_input(with_receipts(place, ""), &["remembers none"]);
    let restored = accepting_the_loss(place).unwrap();
    assert_eq!(restored.exhausted, 1);
    let Event::Restore { witness, .. } = place.journal().last().unwrap().event.clone() else { panic!("no restoring") };
    assert_eq!(witness, None::<Position>);
    assert_eq!(place.open().unwrap().account(&name("census")).unwrap().standing(), Standing::Exhausted);
    place.verify();
}

pub fn a_damaged_witness_counts_as_none(place: &Place) {
    drop(with_an_account(place));
    let mut bytes = fs::read(&place.witness).unwrap();
    for at in [100, 4096 + 100] {
        bytes[at] ^= 1;
    }
    fs::write(&place.witness, bytes).unwrap();
    check_closed(place, &["damaged"]);
    check_restored_without_a_witness(place);
}

/// Once it was written over, the ledger itself included.
pub fn a_file_that_is_no_witness_is_left_alone(place: &Place) {
    drop(with_an_account(place));
    let before = place.export();
    let folder = place.witness.parent().unwrap().to_path_buf();
    fs::write(folder.join("notes.txt"), "not a witness\n").unwrap();
    fs::write(folder.join("empty"), "").unwrap();
    let mut files = vec![folder.join("notes.txt"), folder.join("empty")];
    if let Location::File(ledger) = &place.location {
        let beside = |end: &str| PathBuf::from(format!("{}{end}", ledger.display()));
        fs::hard_link(ledger, folder.join("link")).unwrap();
        files.extend([ledger.clone(), beside(".lock"), beside("-wal"), beside("-shm"), folder.join("link")]);
    }
    for file in files {
        let bytes = fs::read(&file).ok();
        let options = Options { witness: Some(file.clone()), ..place.options() };
        let error = restore(&place.location, &options, Restore::AcceptLoss { by: None, note: None }).unwrap_err();
        check_message(&error, &[file.to_str().unwrap(), "witness"]);
        assert_eq!(fs::read(&file).ok(), bytes, "{}", file.display());
    }
    assert_eq!(place.export(), before);
}

/// Once it was written over, and the ledger that it belonged to did not open any more.
pub fn a_foreign_witness_is_left_alone(place: &Place) {
    let other = place.another();
    drop(with_an_account(place));
    drop(with_an_account(&other));
    fs::copy(&other.witness, &place.witness).unwrap();
    let before = fs::read(&place.witness).unwrap();
    let error = accepting_the_loss(place).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OtherWitness { .. }), "{error}");
    assert_eq!(fs::read(&place.witness).unwrap(), before);
    fs::remove_file(&place.witness).unwrap();
    check_restored_without_a_witness(place);
}
