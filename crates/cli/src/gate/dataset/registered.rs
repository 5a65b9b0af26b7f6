//! What came of a registration, in words.

use taximeter_gate::{BadRow, ImportedRows, PrivacyUnit};
use taximeter_service::RegisteredDocument;

use super::show::{LIVE, column_table};
use crate::ledger::show::{Lines, fixed_lines, number};
use crate::output::{Failure, tell, thousands, warn};

/// What an owner should know beside the result.
pub fn tell_about(registered: &RegisteredDocument, is_from_a_file: bool) {
    if let Some(imported) = &registered.imported {
        tell_about_rows(imported);
    }
    let columns = registered.schema.columns.iter().filter(|_| is_from_a_file);
    for column in columns.filter(|column| column.name.parse::<f64>().is_ok()) {
        tell(&format!(
            "warning: a column is called {}; if the file has no header, put one before its first row and add it again with \
             --new-version",
            column.name
        ));
    }
    for [column, kind] in &registered.left_out {
        tell(&format!("note: the column {column} is of type {kind}, which cannot be asked about, and is left out"));
    }
    for other in &registered.same_data {
        tell(&format!(
            "warning: the same data are registered as {other}: what is learned through both adds up, so the people in them are \
             protected by the sum of both budgets only"
        ));
    }
    if let Some(why) = &registered.not_dropped {
        tell(&format!("warning: the gate's table of the version before is still there; drop it by hand: {why}"));
    }
    warn(&registered.warnings);
    if registered.unchanged {
        tell(&format!("warning: version {} has the same data as the one before", registered.version));
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
        tell("warning: no row counts, so that every answer is noise alone");
    }
}

/// The dataset, its columns and its account.
pub fn text(registered: &RegisteredDocument) -> Result<String, Failure> {
    let unit = registered.schema.privacy_unit()?;
    let mut lines = Lines::default();
    lines.add("dataset", format!("{}, version {}", registered.dataset, registered.version));
    lines.add(
        "rows",
        match &registered.imported {
            Some(imported) => rows(imported, &unit),
            None => LIVE.to_string(),
        },
    );
    lines.add("unit", unit);
    Ok(format!("{lines}\n\n{}\n\n{}", column_table(&registered.schema), fixed_lines(&registered.account)))
}

/// What came of the rows.
fn rows(imported: &ImportedRows, unit: &PrivacyUnit) -> String {
    let ImportedRows { rows, kept, without_unit, bad_rows, .. } = imported;
    if *unit == PrivacyUnit::Row && *bad_rows == 0 {
        return thousands(*rows);
    }
    if *unit == PrivacyUnit::Row {
        return format!(
            "{} of {}; left out: {} that cannot be read",
            thousands(*kept),
            thousands(*rows),
            thousands(*bad_rows)
        );
    }
    let surplus = rows.saturating_sub(kept + without_unit + bad_rows);
    format!(
        "{} of {}; left out: {} without a unit, {} over the limit per unit, {} that cannot be read",
        thousands(*kept),
        thousands(*rows),
        thousands(*without_unit),
        thousands(surplus),
        thousands(*bad_rows)
    )
}
