//! Export and import.

use taximeter_ledger::Hash;

use super::place::*;
use super::witness::charge_times;

/// A ledger with events of every kind but restoring; returns its export.
fn with_everything(place: &Place) -> String {
    let ledger = place.create();
    ledger.open_account(budgeted("census", "1,1e-6")).unwrap();
    ledger.open_account(stopping(budgeted("census/alice", "0.5,1e-6"))).unwrap();
    ledger.open_account(reading("other")).unwrap();
    charged(ledger.charge(charge("k1", &["census/alice", "other"], &[epsilon("0.01"), epsilon("0.02")])));
    refused(ledger.charge(charge("halt", &["census/alice"], &[epsilon("0.9")])));
    charged(ledger.charge(charge("k2", &["census"], &[gaussian("0.1")])));
    ledger.close_account(name("other"), None, None).unwrap();
    drop(ledger);
    place.export()
}

/// An import of this is refused, and afterwards there is no ledger and no witness.
#[track_caller]
fn check_refused(place: &Place, export: &str, what: &str) {
    let error = place.import(export).err().unwrap_or_else(|| panic!("it was imported: {what}"));
    assert!(error.is_integrity() || error.is_input(), "{what}: {error}");
    assert!(place.reader().is_err(), "a ledger was left behind: {what}");
    assert!(place.open().is_err(), "an empty ledger was left behind: {what}");
    assert!(!place.witness.exists(), "{what}");
}

pub fn an_export_is_a_chain_of_blake3_hashes(place: &Place) {
    let export = with_everything(place);
    assert!(export.ends_with('\n') && !export.contains('\r'));
    let lines: Vec<&str> = export.lines().collect();
    assert_eq!(lines.len(), 9);
    let mut before = Hash::NONE.to_string();
    for (at, line) in lines[..8].iter().enumerate() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["sequence"].to_string(), at.to_string());
        assert_eq!(record["previous"], before.as_str());
        before = blake3::hash(line.as_bytes()).to_hex().to_string();
    }
    assert_eq!(lines[8], format!(r#"{{"end":{{"sequence":7,"hash":"{before}"}}}}"#));
    // Every time the same.
    assert_eq!(place.export(), export);
}

pub fn an_imported_ledger_is_the_same_ledger(place: &Place) {
    let export = with_everything(place);
    let copy = place.another();
    let imported = copy.import(&export).unwrap();
    let original = place.reader().unwrap();
    assert_eq!((imported.ledger, imported.head), (original.id(), original.position()));
    assert_eq!((imported.accounts, &imported.witness), (3, &copy.witness));
    assert_eq!(copy.export(), export);
    assert_eq!(copy.verify().records, 8);
    let ledger = copy.open().unwrap();
    assert_eq!(ledger.accounts(), original.accounts());
    replayed(ledger.charge(charge("k2", &["census"], &[gaussian("0.1")])));
    charged(ledger.charge(charge("k3", &["census"], &[epsilon("0.1")])));
    drop(ledger);
    copy.verify();
    // Line ends of another system do no harm.
    let windows = place.another();
    windows.import(&export.replace('\n', "\r\n")).unwrap();
    assert_eq!(windows.export(), export);
}

pub fn an_export_that_was_cut_off_is_refused(place: &Place) {
    let export = with_everything(place);
    let target = place.another();
    let ends: Vec<usize> = export.match_indices('\n').map(|(at, _)| at).collect();
    let cuts = ends[..8].iter().flat_map(|end| [*end, end + 1, end + 20]).chain([0, 1, export.len() - 3]);
    for cut in cuts {
        check_refused(&target, &export[..cut], &format!("{cut} bytes of {}", export.len()));
    }
    // The last line end is not part of what is said.
    target.import(export.trim_end()).unwrap();
}

pub fn an_export_that_was_edited_is_refused(place: &Place) {
    let export = with_everything(place);
    let target = place.another();
    let mut at = 0;
    for (number, line) in export.lines().enumerate() {
        // A byte at some places of every line.
        for offset in [0, 13, line.len() / 3, line.len() / 2, line.len() - 5, line.len() - 1] {
            let mut edited = export.clone().into_bytes();
            edited[at + offset] = if edited[at + offset] == b'1' { b'2' } else { b'1' };
            check_refused(&target, &String::from_utf8(edited).unwrap(), &format!("byte {offset} of line {number}"));
        }
        at += line.len() + 1;
    }
    for (from, to) in
        [("\"0.02\"", "\"0.01\""), ("census/alice", "census/bob"), ("{\"sequence\":0", "{ \"sequence\":0")]
    {
        let edited = export.replacen(from, to, 1);
        assert_ne!(edited, export, "{from}");
        check_refused(&target, &edited, &format!("{from} made {to}"));
    }
    target.import(&export).unwrap();
}

pub fn an_export_with_lines_removed_swapped_or_repeated_is_refused(place: &Place) {
    let export = with_everything(place);
    let lines: Vec<&str> = export.lines().collect();
    let target = place.another();
    for at in 0..lines.len() {
        let mut removed = lines.clone();
        removed.remove(at);
        check_refused(&target, &removed.join("\n"), &format!("without line {at}"));
        let mut repeated = lines.clone();
        repeated.insert(at, lines[at]);
        check_refused(&target, &repeated.join("\n"), &format!("line {at} twice"));
        for other in at + 1..lines.len() {
            let mut swapped = lines.clone();
            swapped.swap(at, other);
            check_refused(&target, &swapped.join("\n"), &format!("lines {at} and {other} swapped"));
        }
    }
    target.import(&export).unwrap();
}

/// A newer export appended to an older one would otherwise be taken for the older one, and the budget handed out again.
pub fn what_stands_behind_the_end_of_an_export_is_refused(place: &Place) {
    let export = with_everything(place);
    let target = place.another();
    let (record, end) = (export.lines().nth(3).unwrap(), export.lines().last().unwrap());
    for (what, more) in [("all of it", export.as_str()), ("the end", end), ("a record", record), ("a word", "word")] {
        check_refused(&target, &format!("{export}{more}\n"), &format!("{what} again"));
    }
    target.import(&format!("{export}\n")).unwrap();
}

pub fn an_import_does_not_touch_a_ledger_that_is_there(place: &Place) {
    let export = with_everything(place);
    let other = place.another();
    with_everything(&other);
    let before = other.export();
    check_input(other.import(&export), &["already"]);
    check_input(place.import(&export), &["already"]);
    assert_eq!((place.export(), other.export()), (export, before));
    other.verify();
}

pub fn an_old_export_is_refused_where_the_witness_knows_more(place: &Place) {
    let export = with_everything(place);
    charge_times(place, "more", 2);
    let target = place.another().with_witness_of(place);
    let error = target.import(&export).expect_err("the witness knows more");
    assert!(error.is_rollback(), "{error}");
    assert!(target.open().is_err());
    target.import(&place.export()).unwrap();
    target.verify();
    place.verify();
}
