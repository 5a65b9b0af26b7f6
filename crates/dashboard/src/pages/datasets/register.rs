//! Registering a dataset: an uploaded CSV file, or a PostgreSQL table that stays in place.

use axum::extract::Request;
use axum::response::Response;
use maud::{Markup, html};
use taximeter_gate::CsvForm;
use taximeter_ledger::AccountName;
use taximeter_service::{Action, NewData, NewDataset, Problem};

use super::dataset::file_fields;
use super::declare::{budget_fields, declaration_fields, filter, schema};
use super::{outcome, path};
use crate::form::{TextField, filter_rule};
use crate::form_data::FormData;
use crate::page::Section;
use crate::visitor::Visitor;

const TITLE: &str = "Register a dataset";

/// The source of the data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DataSource {
    Csv,
    Postgres,
}

impl DataSource {
    fn path(self) -> &'static str {
        match self {
            DataSource::Csv => "/register",
            DataSource::Postgres => "/register/postgres",
        }
    }
}

pub(super) async fn show_csv(visitor: Visitor) -> Response {
    show(&visitor, DataSource::Csv)
}

pub(super) async fn show_postgres(visitor: Visitor) -> Response {
    show(&visitor, DataSource::Postgres)
}

fn show(visitor: &Visitor, from: DataSource) -> Response {
    let allowed = visitor.caller.require(Action::ChangeDatasets);
    visitor.page(Section::Datasets, TITLE, allowed.map(|()| form(visitor, from, &FormData::default())))
}

/// The form, as it was filled in. A form that is sent twice registers one dataset: names are unique.
fn form(visitor: &Visitor, from: DataSource, filled: &FormData) -> Markup {
    html! {
        nav.kinds aria-label="Source of the data" {
            @for (kind, label) in [(DataSource::Csv, "A CSV file"), (DataSource::Postgres, "A PostgreSQL table")] {
                a href=(kind.path()) aria-current=[(kind == from).then_some("page")] { (label) }
            }
        }
        section.panel aria-labelledby="register" {
            h2 #register { "Name and budget" }
            form.stacked method="post" action=(from.path()) enctype=[(from == DataSource::Csv).then_some("multipart/form-data")] {
                (visitor.form_key())
                (account_fields(filled))
                (declaration_fields(filled))
                h3 { "The data" }
                @match from { DataSource::Csv => (file_fields(filled)), DataSource::Postgres => (table_fields(filled)) }
                button { "Register" }
            }
        }
    }
}

fn account_fields(filled: &FormData) -> Markup {
    html! {
        div.row {
            (TextField::new("dataset", "Name", filled).required(true)
                .help("For the dataset and its account, such as people."))
            (budget_fields(filled, false))
            (filter_rule("Filter rule", filled, ""))
        }
        p.help { "If an account of that name already exists, it pays: leave the budget empty." }
    }
}

fn table_fields(filled: &FormData) -> Markup {
    html! {
        p.help { "The table stays in place; the gate only reads counts and sums from it." }
        div.row {
            (TextField::new("url", "URL of the database", filled).secret().required(true)
                .placeholder("postgres://user:password@host/database")
                .help("It may contain a password, and is not shown again."))
            (TextField::new("table", "Table", filled).required(true).placeholder("public.people"))
        }
    }
}

pub(super) async fn register_csv(visitor: Visitor, request: Request) -> Response {
    if let Err(failure) = visitor.caller.require(Action::ChangeDatasets) {
        return visitor.page(Section::Datasets, TITLE, Err(failure));
    }
    let (fields, data) = match uploaded(&visitor, request).await {
        Ok(uploaded) => uploaded,
        Err(failure) => return visitor.page(Section::Datasets, TITLE, Err(failure)),
    };
    let new = data.and_then(|data| new_dataset(&fields, data));
    finish(&visitor, DataSource::Csv, &fields, new).await
}

/// Reads the fields of a form with a file, and stores the file as an upload. The fields name the upload, so that a rejected form can be
/// sent again without the file.
pub(super) async fn uploaded(
    visitor: &Visitor,
    request: Request,
) -> Result<(FormData, Result<NewData, Problem>), Problem> {
    let (fields, file) = FormData::read_with_file(request, visitor).await?;
    let fields = match file {
        Some(file) => {
            let upload = visitor.caller.upload(file).await?.upload;
            fields.with("upload", &upload)
        }
        None => fields,
    };
    let id = fields.required("upload", "the file").map(str::to_string);
    let skip_bad_rows = fields.is_ticked("skip_bad_rows");
    let data = id.and_then(|id| Ok(NewData::Upload { id, skip_bad_rows, form: csv_form(&fields)? }));
    Ok((fields, data))
}

/// The format of the file.
fn csv_form(fields: &FormData) -> Result<CsvForm, Problem> {
    let delimiter = match fields.get("delimiter") {
        None => None,
        Some("tab") => Some('\t'),
        Some(text) => match text.chars().collect::<Vec<_>>().as_slice() {
            [character] => Some(*character),
            _ => {
                let detail = format!("the separator is {text:?}; write one character, such as ;, or the word tab");
                return Err(Problem::bad_request(detail));
            }
        },
    };
    let missing = fields.get("missing").map(str::to_string).into_iter().collect();
    Ok(CsvForm { delimiter, encoding: fields.get("encoding").map(str::to_string), missing })
}

pub(super) async fn register_postgres(visitor: Visitor, fields: FormData) -> Response {
    if let Err(failure) = visitor.caller.require(Action::ChangeDatasets) {
        return visitor.page(Section::Datasets, TITLE, Err(failure));
    }
    let new = table(&fields).and_then(|data| new_dataset(&fields, data));
    finish(&visitor, DataSource::Postgres, &fields, new).await
}

fn table(fields: &FormData) -> Result<NewData, Problem> {
    let url = fields.required("url", "the URL of the database")?.to_string();
    Ok(NewData::Postgres { url, table: fields.required("table", "the table")?.to_string() })
}

fn new_dataset(fields: &FormData, data: NewData) -> Result<NewDataset, Problem> {
    Ok(NewDataset {
        dataset: AccountName::parse(fields.required("dataset", "the name of the dataset")?)?,
        data,
        schema: Some(schema(fields)?),
        filter: filter(fields)?,
        odometer: None,
        new_version: false,
        reuse: Some(fields.is_ticked("reuse")),
        timeout_seconds: None,
        min_epsilon: None,
    })
}

async fn finish(visitor: &Visitor, from: DataSource, fields: &FormData, new: Result<NewDataset, Problem>) -> Response {
    let done = async {
        let new = new?;
        let dataset = new.dataset.clone();
        Ok((registered(visitor, new).await?, dataset))
    };
    match done.await {
        Ok((notice, dataset)) => visitor.done(notice, &path(&dataset)),
        Err(failure) => visitor.page_again(Section::Datasets, TITLE, failure, Ok(form(visitor, from, fields))),
    }
}

/// Registers data, and returns the notice.
pub(super) async fn registered(visitor: &Visitor, new: NewDataset) -> Result<String, Problem> {
    let is_from_a_file = matches!(new.data, NewData::Upload { .. });
    Ok(outcome::notice(&visitor.caller.register(new).await?, is_from_a_file))
}
