//! The notice about a registration.

use taximeter_gate::ImportedRows;
use taximeter_service::RegisteredDocument;
use taximeter_service::words::thousands;

use crate::display::warnings;

/// The sentences at the top of the next page.
pub(super) fn notice(registered: &RegisteredDocument, is_from_a_file: bool) -> String {
    let RegisteredDocument { dataset, version, schema, .. } = registered;
    let mut sentences = vec![format!("{dataset} is registered, version {version}.")];
    if let Some(imported) = &registered.imported {
        sentences.extend(about_rows(imported));
    }
    let numbers = schema.columns.iter().filter(|column| is_from_a_file && column.name.parse::<f64>().is_ok());
    sentences.extend(numbers.map(|column| {
        format!(
            "A column is called {}: if the file has no header, add one as its first line and send it again.",
            column.name
        )
    }));
    let left_out = registered.left_out.iter();
    sentences.extend(
        left_out.map(|[column, kind]| {
            format!("The column {column} is left out: questions do not support its type {kind}.")
        }),
    );
    sentences.extend(registered.same_data.iter().map(|other| {
        format!(
            "The same data are registered as {other}: the privacy losses add up, so the people in the data are protected only by the sum \
             of both budgets."
        )
    }));
    let not_dropped = registered.not_dropped.iter();
    sentences.extend(
        not_dropped.map(|why| {
            format!("The gate's table of the previous version could not be dropped; drop it by hand: {why}.")
        }),
    );
    let not_in_duckdb = registered.not_in_duckdb.iter();
    sentences
        .extend(not_in_duckdb.map(|why| format!("DuckDB could not store these rows, so they are in SQLite: {why}.")));
    if registered.unchanged {
        sentences.push("The data are the same as in the previous version.".to_string());
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
        sentences.push("No rows count, so every answer is only noise.".to_string());
    }
    sentences
}
