//! What came of a registration, in words for its owner.

use taximeter_gate::ImportedRows;
use taximeter_service::RegisteredDocument;
use taximeter_service::words::thousands;

use crate::words::warnings;

/// The sentences that the next page begins with.
pub(super) fn words(registered: &RegisteredDocument, is_from_a_file: bool) -> String {
    let RegisteredDocument { dataset, version, schema, .. } = registered;
    let mut sentences = vec![format!("{dataset} is registered, version {version}.")];
    if let Some(imported) = &registered.imported {
        sentences.extend(about_rows(imported));
    }
    let numbers = schema.columns.iter().filter(|column| is_from_a_file && column.name.parse::<f64>().is_ok());
    sentences.extend(numbers.map(|column| {
        format!(
            "A column is called {}: if the file has no header, put one before its first row and send it again.",
            column.name
        )
    }));
    let left_out = registered.left_out.iter();
    sentences.extend(left_out.map(|[column, kind]| {
        format!("The column {column} is of type {kind}, which cannot be asked about, and is left out.")
    }));
    sentences.extend(registered.same_data.iter().map(|other| {
        format!(
            "The same data are registered as {other}: what is learned through both adds up, so that the people in them are protected by \
             the sum of both budgets only."
        )
    }));
    let not_dropped = registered.not_dropped.iter();
    sentences.extend(
        not_dropped
            .map(|why| format!("The gate's table of the version before is still there; drop it by hand: {why}.")),
    );
    if registered.unchanged {
        sentences.push("It has the same data as the version before.".to_string());
    }
    sentences.join(" ") + &warnings(&registered.warnings)
}

fn about_rows(imported: &ImportedRows) -> Vec<String> {
    let ImportedRows { rows, kept, without_unit, bad_rows, first_bad_rows } = imported;
    let mut sentences = vec![match rows == kept {
        true => format!("All of its {} rows count.", thousands(*rows)),
        false => format!("{} of its {} rows count.", thousands(*kept), thousands(*rows)),
    }];
    if *without_unit > 0 {
        sentences.push(format!("{} have no unit.", thousands(*without_unit)));
    }
    if *bad_rows > 0 {
        let first: Vec<String> =
            first_bad_rows.iter().take(3).map(|row| format!("line {}: {}", row.line, row.why)).collect();
        sentences.push(format!("{} cannot be read and are left out ({}).", thousands(*bad_rows), first.join("; ")));
    }
    if *kept == 0 {
        sentences.push("Every answer is noise alone.".to_string());
    }
    sentences
}
