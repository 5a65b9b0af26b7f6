//! The witness file.

use taximeter_ledger::{Hash, fuzzing};

/// A line that is read is written again as the same line. Without its check, no line is read.
pub fn check(data: &[u8]) {
    let _ = fuzzing::read_witness(data);
    let Some(text) = super::text(data).filter(|text| !text.contains('\n')) else { return };
    let line = format!("{text} {}\n", Hash::of(text.as_bytes()));
    if let Some(written) = fuzzing::read_witness_line(line.as_bytes()) {
        assert_eq!(written.trim_ascii_end(), line.as_bytes().trim_ascii_end());
        let mut changed = line.clone().into_bytes();
        changed[0] ^= 1;
        assert_eq!(fuzzing::read_witness_line(&changed), None);
    }
}
