//! The result of a registration, for people.

use taximeter_gate::{BadRow, ImportedRows, PrivacyUnit};
use taximeter_service::RegisteredDocument;

use super::show::{LIVE, column_table};
use crate::key_values::KeyValues;
use crate::ledger::show::{fixed_lines, number};
use crate::output::{Failure, tell, thousands, warn};

/// Prints warnings and notes for the owner.
pub fn tell_about(registered: &RegisteredDocument, is_from_a_file: bool) {
    if let Some(imported) = &registered.imported {
        tell_about_rows(imported);
    }
    let columns = registered.schema.columns.iter().filter(|_| is_from_a_file);
    for column in columns.filter(|column| column.name.parse::<f64>().is_ok()) {
        tell(&format!(
            "warning: a column is called {}; if the file has no header, add one above the first row and register it again with \
             --new-version",
            column.name
        ));
    }
    for [column, kind] in &registered.left_out {
        tell(&format!("note: the column {column} is of type {kind}, which questions cannot use, and is left out"));
    }
    for other in &registered.same_data {
        tell(&format!(
            "warning: the same data are registered as {other}: the losses of both datasets add up, so these people are protected only \
             by the sum of both budgets"
        ));
    }
    if let Some(why) = &registered.not_dropped {
        tell(&format!(
            "warning: the gate's table of the previous version could not be dropped; drop it by hand: {why}"
        ));
    }
    if let Some(why) = &registered.not_in_duckdb {
        tell(&format!(
            "note: DuckDB could not store these rows, so they are in SQLite: {why}; when the cause is fixed, run `taximeter dataset move \
             {} --engine duckdb`",
            registered.dataset
        ));
    }
    warn(&registered.warnings);
    if registered.unchanged {
        tell(&format!("warning: version {} has the same data as the version before", registered.version));
    }
}

fn tell_about_rows(imported: &ImportedRows) {
    for BadRow { line, why, .. } in &imported.first_bad_rows {
        tell(&format!("line {line}: {why}"));
    }
    if imported.bad_rows > 0 {
        let are = if imported.bad_rows == 1 { "is" } else { "are" };
        tell(&format!(
            "warning: {} could not be read and {are} not imported",
            number(imported.bad_rows, "row", "rows")
        ));
    }
    if imported.kept == 0 {
        tell("warning: no rows count, so every answer is only noise");
    }
}

/// The dataset, its columns and its account.
pub fn text(registered: &RegisteredDocument) -> Result<String, Failure> {
    let unit = registered.schema.privacy_unit()?;
    let mut lines = KeyValues::default();
    lines.add("dataset", format!("{}, version {}", registered.dataset, registered.version));
    lines.add(
        "rows",
        match &registered.imported {
            Some(imported) => rows(imported, &unit),
            None => LIVE.to_string(),
        },
    );
    lines.add("unit", unit);
    Ok(format!("{lines}\n\n{}\n\n{}", column_table(&registered.schema)?, fixed_lines(&registered.account)))
}

/// How many rows were imported, and why others were left out.
fn rows(imported: &ImportedRows, unit: &PrivacyUnit) -> String {
    let ImportedRows { rows, kept, without_unit, bad_rows, .. } = imported;
    let surplus = rows.saturating_sub(kept + without_unit + bad_rows);
    let [rows, kept, without_unit, bad_rows, surplus] =
        [*rows, *kept, *without_unit, *bad_rows, surplus].map(thousands);
    match unit {
        PrivacyUnit::Row if imported.bad_rows == 0 => rows,
        PrivacyUnit::Row => format!("{kept} of {rows}; left out: {bad_rows} that cannot be read"),
        PrivacyUnit::Column { .. } => format!(
            "{kept} of {rows}; left out: {without_unit} without a unit, {surplus} over the limit per unit, {bad_rows} that cannot be read"
        ),
    }
}
