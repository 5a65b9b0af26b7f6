//! Exports and receipts: lines of the journal.

use taximeter_ledger::{Receipts, Record, fuzzing};

/// A record has one form. What is not what its decisions come to is refused, wherever it stands.
pub fn check(data: &[u8]) {
    let Some(text) = super::text(data) else { return };
    for line in text.lines() {
        if let Ok(record) = Record::parse(line) {
            assert_eq!(record.line(), line);
        }
    }
    let _ = Receipts::parse(text);
    if let Ok(records) = fuzzing::replay(text) {
        assert_eq!(records, text.lines().count() as u64);
    }
}
