//! The page of a dataset: its declaration and analysts, and for owners the forms to change it.

use axum::response::Response;
use maud::{Markup, html};
use taximeter_gate::{Category, ColumnType, DeclaredColumn};
use taximeter_ledger::AccountName;
use taximeter_service::{Action, DatasetDocument, Problem, SchemaDocument};

use super::declare::budget_fields;
use super::{analysts, left, path, protects, rows, who_asks};
use crate::display::time;
use crate::extract::PathName;
use crate::form::{TextField, check};
use crate::form_data::FormData;
use crate::page::Section;
use crate::table::DataTable;
use crate::visitor::Visitor;

pub(super) async fn show(visitor: Visitor, PathName(name): PathName) -> Response {
    let content = content(&visitor, &name, &FormData::default()).await;
    visitor.page(Section::Datasets, name.as_str(), content)
}

/// The page, with its forms as they were filled in.
pub(super) async fn content(visitor: &Visitor, name: &AccountName, filled: &FormData) -> Result<Markup, Problem> {
    let dataset = visitor.caller.dataset(name.clone()).await?;
    Ok(html! {
        (facts(visitor, &dataset))
        (columns(&dataset.schema))
        @if visitor.may(Action::ChangeDatasets) { (analyst_form(visitor, &dataset, filled)) }
        @if visitor.may(Action::Audit) { (data_forms(visitor, &dataset, filled)) }
    })
}

fn facts(visitor: &Visitor, dataset: &DatasetDocument) -> Markup {
    html! {
        section.panel aria-labelledby="dataset" {
            h2 #dataset { "The dataset" }
            dl.facts #facts data-live data-events=(dataset.dataset) {
                dt { "Version" } dd { (dataset.version) ", registered " (time(&dataset.registered)) }
                @if visitor.is_owner() { dt { "Rows that count" } dd { (rows(dataset)) } }
                @if let Some(data) = &dataset.data { dt { "Data" } dd { code { (data) } } }
                dt { "Protects" } dd { (protects(dataset)) }
                dt { "Neighbours" } dd { (dataset.schema.neighbours.name()) }
                dt { "Earlier answers" }
                dd { (if dataset.reuse { "shown again to the same analyst at no cost" } else { "not reused" }) }
                dt { "Time limit of a question" } dd { (dataset.timeout_seconds) " s" }
                dt { "Left of its budget" } dd { (left(dataset.account.as_ref())) }
                dt { (who_asks(visitor)) } dd { (analysts(dataset)) }
            }
            @if visitor.may(Action::Ask) { p { a.button href={ "/ask?dataset=" (dataset.dataset) } { "Ask" } } }
        }
    }
}

fn columns(schema: &SchemaDocument) -> Markup {
    let end = |column: &DeclaredColumn, at: usize| column.bounds.map_or("–".to_string(), |ends| ends[at].to_string());
    let categories = |column: &DeclaredColumn| match &column.categories {
        Some(categories) => categories.iter().map(Category::plain).collect::<Vec<_>>().join(", "),
        None => "–".to_string(),
    };
    let table = DataTable::new("Columns", "Columns and their declarations")
        .row_head("Column", "", |column: &DeclaredColumn| {
            html! { (column.name) @if column.name == schema.unit { " " span.standing { "unit" } } }
        })
        .column("Type", "", |column| html! { (column.kind.map_or("–", ColumnType::name)) })
        .column("Lowest", "number", |column| html! { (end(column, 0)) })
        .column("Highest", "number", |column| html! { (end(column, 1)) })
        .column("Grid", "number", |column| html! { (column.describe_grid().unwrap_or("–".to_string())) })
        .column("Categories", "wrap whole", |column| html! { (categories(column)) });
    html! {
        section.panel aria-labelledby="columns" {
            h2 #columns { "Columns" }
            p.help {
                "Values outside the bounds are clamped to them and rounded to the grid; sums and averages need bounds. Questions can group \
                 by a column with categories, and every category has an answer."
            }
            (table.rows(&schema.columns))
        }
    }
}

fn analyst_form(visitor: &Visitor, dataset: &DatasetDocument, filled: &FormData) -> Markup {
    html! {
        section.panel aria-labelledby="analyst-heading" {
            h2 #analyst-heading { "Add an analyst" }
            p {
                "Opens an account below the dataset's, with its own budget; both pay for a question. Then make a token for the analyst, \
                 with the account and the dataset."
            }
            // A form that is sent twice opens one account: names are unique.
            form.stacked method="post" action={ (path(&dataset.dataset)) "/analysts" } {
                (visitor.form_key())
                div.row {
                    (TextField::new("analyst", "Name", filled).required(true).help("The last part of the account, such as alice."))
                    (budget_fields(filled, true))
                }
                button { "Add the analyst" }
            }
        }
    }
}

fn data_forms(visitor: &Visitor, dataset: &DatasetDocument, filled: &FormData) -> Markup {
    let path = path(&dataset.dataset);
    html! {
        section.panel aria-labelledby="data" {
            h2 #data { "The data" }
            p { "Checks, without reading rows, that the data are unchanged and match the declaration." }
            form method="post" action={ (path) "/check" } { (visitor.form_key()) button { "Check" } }
            @if visitor.may(Action::ChangeDatasets) {
                @if dataset.in_postgres == Some(true) {
                    @if dataset.schema.unit == "row" {
                        p.help { "Every question reads the current table; there is nothing to refresh." }
                    } @else {
                        h3 { "Refresh" }
                        p { "Selects the rows of every unit again from the current table, as a new version." }
                        form method="post" action={ (path) "/refresh" } { (visitor.form_key()) button { "Refresh" } }
                    }
                } @else { (newer_data_form(visitor, &path, filled)) }
            }
        }
    }
}

fn newer_data_form(visitor: &Visitor, path: &str, filled: &FormData) -> Markup {
    html! {
        h3 { "Newer data" }
        p {
            "Replaces the data with a newer CSV file with the same columns, as a new version with the same declaration. The same account \
             pays: what was spent stays spent."
        }
        form.stacked method="post" action={ (path) "/data" } enctype="multipart/form-data" {
            (visitor.form_key())
            (file_fields(filled))
            button { "Replace the data" }
        }
    }
}

/// The fields for a file, which must be last in their form.
pub(super) fn file_fields(filled: &FormData) -> Markup {
    html! {
        (check("skip_bad_rows", "Skip rows that cannot be read, instead of rejecting the file", filled))
        @if let Some(upload) = filled.get("upload") {
            input type="hidden" name="upload" value=(upload);
            p.help { "Your file is kept for an hour. Choose a file only to send another one." }
        }
        div.row {
            (TextField::new("delimiter", "Separator", filled).placeholder(",")
                .help("One character, or the word tab. If empty, it is detected from the first line."))
            (TextField::new("encoding", "Encoding", filled).placeholder("utf-8").help("Such as latin1. If empty, UTF-8."))
            (TextField::new("missing", "Text for a missing value", filled).placeholder("NA").help("In addition to an empty field."))
        }
        // The last field: the server stops reading the form at the end of the file.
        div.field {
            label for="file" { "CSV file, with a header" }
            input #file name="file" type="file" accept=".csv,text/csv" required[filled.get("upload").is_none()];
        }
    }
}
