//! The page of a dataset: what is declared, who may ask, and for owners what may be done.

use axum::response::Response;
use maud::{Markup, html};
use taximeter_gate::{Category, ColumnType, DeclaredColumn};
use taximeter_ledger::AccountName;
use taximeter_service::{Action, DatasetDocument, Problem, SchemaDocument};

use super::declare::budget_fields;
use super::{analysts, left, path, protects, rows, who_asks};
use crate::extract::Name;
use crate::fields::Fields;
use crate::form::{Input, check};
use crate::page::Section;
use crate::table::Table;
use crate::visitor::Visitor;
use crate::words::time;

pub(super) async fn show(visitor: Visitor, Name(name): Name) -> Response {
    let content = content(&visitor, &name, &Fields::default()).await;
    visitor.page(Section::Datasets, name.as_str(), content)
}

/// The page, with its forms as they were filled in.
pub(super) async fn content(visitor: &Visitor, name: &AccountName, filled: &Fields) -> Result<Markup, Problem> {
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
                dd { (if dataset.reuse { "an analyst may have an own one again at no cost" } else { "are not given again" }) }
                dt { "A question may take" } dd { (dataset.timeout_seconds) " s" }
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
    let table = Table::new("Columns", "Columns and what is declared about them")
        .row_head("Column", "", |column: &DeclaredColumn| {
            html! { (column.name) @if column.name == schema.unit { " " span.standing { "unit" } } }
        })
        .column("Type", "", |column| html! { (column.kind.map_or("–", ColumnType::name)) })
        .column("Lowest", "number", |column| html! { (end(column, 0)) })
        .column("Highest", "number", |column| html! { (end(column, 1)) })
        .column("Grid", "number", |column| html! { (column.grid.map_or("–".to_string(), |grid| grid.to_string())) })
        .column("Categories", "wrap whole", |column| html! { (categories(column)) });
    html! {
        section.panel aria-labelledby="columns" {
            h2 #columns { "Columns" }
            p.help {
                "Values outside the bounds are moved to them, and put on the grid; sums and averages need bounds. One may group by a \
                 column with categories, and every category is answered."
            }
            (table.rows(&schema.columns))
        }
    }
}

fn analyst_form(visitor: &Visitor, dataset: &DatasetDocument, filled: &Fields) -> Markup {
    html! {
        section.panel aria-labelledby="analyst-heading" {
            h2 #analyst-heading { "Add an analyst" }
            p {
                "Opens an account below that of the dataset, with a budget of its own; a question is paid by both. Then make a token for \
                 the analyst, with the account and the dataset."
            }
            // Sent twice, it opens one account: there is one of a name.
            form.stacked method="post" action={ (path(&dataset.dataset)) "/analysts" } {
                (visitor.form_key())
                div.row {
                    (Input::new("analyst", "Name", filled).required(true).help("The last part of the account, such as alice."))
                    (budget_fields(filled, true))
                }
                button { "Add the analyst" }
            }
        }
    }
}

fn data_forms(visitor: &Visitor, dataset: &DatasetDocument, filled: &Fields) -> Markup {
    let path = path(&dataset.dataset);
    html! {
        section.panel aria-labelledby="data" {
            h2 #data { "The data" }
            p { "Checking looks at no rows: whether the data are where they were, and are what was declared." }
            form method="post" action={ (path) "/check" } { (visitor.form_key()) button { "Check" } }
            @if visitor.may(Action::ChangeDatasets) {
                @if dataset.in_postgres == Some(true) {
                    @if dataset.schema.unit == "row" {
                        p.help { "The table is asked as it is at every question; there is nothing to refresh." }
                    } @else {
                        h3 { "Refresh" }
                        p { "Chooses the rows of every unit anew among those that are in the table now, as a new version." }
                        form method="post" action={ (path) "/refresh" } { (visitor.form_key()) button { "Refresh" } }
                    }
                } @else { (newer_data_form(visitor, &path, filled)) }
            }
        }
    }
}

fn newer_data_form(visitor: &Visitor, path: &str, filled: &Fields) -> Markup {
    html! {
        h3 { "Newer data" }
        p {
            "Puts a newer CSV file with the same columns in their place, as a new version with what was declared before. The same \
             account pays: what was spent on the data before is not given back."
        }
        form.stacked method="post" action={ (path) "/data" } enctype="multipart/form-data" {
            (visitor.form_key())
            (file_fields(filled))
            button { "Put it in their place" }
        }
    }
}

/// The fields for a file, which must be the last ones of their form.
pub(super) fn file_fields(filled: &Fields) -> Markup {
    html! {
        (check("skip_bad_rows", "Leave rows out that cannot be read, instead of refusing the file", filled))
        @if let Some(upload) = filled.get("upload") {
            input type="hidden" name="upload" value=(upload);
            p.help { "The file that you sent is here, for an hour; choose one only to send another." }
        }
        div.row {
            (Input::new("delimiter", "Separator", filled).placeholder(",")
                .help("One sign, or the word tab. Left empty, it is the one that the first line has most often."))
            (Input::new("encoding", "Encoding", filled).placeholder("utf-8").help("Such as latin1. Left empty, it is UTF-8."))
            (Input::new("missing", "Text for a missing value", filled).placeholder("NA").help("Besides an empty field."))
        }
        // The last field: a form with a file is read to the end of the file, and no further.
        div.field {
            label for="file" { "CSV file, with a header" }
            input #file name="file" type="file" accept=".csv,text/csv" required[filled.get("upload").is_none()];
        }
    }
}
