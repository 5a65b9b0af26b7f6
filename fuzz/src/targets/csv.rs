//! CSV files, with a declaration before them or without.

use taximeter_gate::{CsvForm, Declaration, PublicTable, fuzzing};
use taximeter_ledger::AccountName;

/// What stands between a declaration and the file.
const SEPARATOR: &[u8] = b"\n---\n";

/// Every row of a file is kept, left out or reported. A file of a public table is read or refused.
pub fn check(data: &[u8]) {
    let at = data.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
    let (declaration, csv) =
        at.map_or((&b"unit = \"row\""[..], data), |at| (&data[..at], &data[at + SEPARATOR.len()..]));
    let Some(Ok(declaration)) = super::text(declaration).map(Declaration::parse) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.csv");
    std::fs::write(&path, csv).unwrap();
    if let Ok(imported) = fuzzing::import_csv(&path, &CsvForm::default(), &declaration, &folder.path().join("data.db"))
    {
        assert!(imported.kept + imported.without_unit + imported.bad_rows <= imported.rows, "{imported:?}");
        assert!(imported.first_bad_rows.len() as u64 <= imported.bad_rows, "{imported:?}");
    }
    let name = AccountName::parse("places").unwrap();
    if let Ok(table) = PublicTable::from_csv(name, &path, &CsvForm::default()) {
        assert!(!table.columns().is_empty());
    }
}
