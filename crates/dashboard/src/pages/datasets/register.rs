//! Registering a dataset: a CSV file that is sent here, or a table of PostgreSQL that stays where it is.

use axum::extract::Request;
use axum::response::Response;
use maud::{Markup, html};
use taximeter_gate::CsvForm;
use taximeter_ledger::AccountName;
use taximeter_service::{Action, Code, NewData, NewDataset, Problem};

use super::dataset::file_fields;
use super::declare::{budget_fields, declaration_fields, filter, rule_field, schema};
use super::{outcome, path};
use crate::fields::Fields;
use crate::form::Input;
use crate::page::Section;
use crate::visitor::Visitor;

const TITLE: &str = "Register a dataset";

/// Where the data come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Csv,
    Postgres,
}

impl From {
    fn path(self) -> &'static str {
        match self {
            From::Csv => "/register",
            From::Postgres => "/register/postgres",
        }
    }
}

pub(super) async fn show_csv(visitor: Visitor) -> Response {
    show(&visitor, From::Csv)
}

pub(super) async fn show_postgres(visitor: Visitor) -> Response {
    show(&visitor, From::Postgres)
}

fn show(visitor: &Visitor, from: From) -> Response {
    let allowed = visitor.caller.require(Action::ChangeDatasets);
    visitor.page(Section::Datasets, TITLE, allowed.map(|()| form(visitor, from, &Fields::default())))
}

/// The form, as it was filled in. Sent twice, it registers one dataset: there is one of a name.
fn form(visitor: &Visitor, from: From, filled: &Fields) -> Markup {
    html! {
        nav.kinds aria-label="Where the data come from" {
            @for (kind, words) in [(From::Csv, "A CSV file"), (From::Postgres, "A table of PostgreSQL")] {
                a href=(kind.path()) aria-current=[(kind == from).then_some("page")] { (words) }
            }
        }
        section.panel aria-labelledby="register" {
            h2 #register { "Name and budget" }
            form.stacked method="post" action=(from.path()) enctype=[(from == From::Csv).then_some("multipart/form-data")] {
                (visitor.form_key())
                (account_fields(filled))
                (declaration_fields(filled))
                h3 { "The data" }
                @match from { From::Csv => (file_fields(filled)), From::Postgres => (table_fields(filled)) }
                button { "Register" }
            }
        }
    }
}

fn account_fields(filled: &Fields) -> Markup {
    html! {
        div.row {
            (Input::new("dataset", "Name", filled).required(true)
                .help("Of the dataset and of the account that pays, such as people."))
            (budget_fields(filled, false))
            (rule_field(filled))
        }
        p.help { "If there is an account of that name already, it pays: leave the budget empty." }
    }
}

fn table_fields(filled: &Fields) -> Markup {
    html! {
        p.help { "The table stays where it is; the gate asks it for counts and sums." }
        div.row {
            (Input::new("url", "URL of the database", filled).secret().required(true)
                .placeholder("postgres://user:password@host/database")
                .help("It may have a password in it, and is not shown again."))
            (Input::new("table", "Table", filled).required(true).placeholder("public.people"))
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
    finish(&visitor, From::Csv, &fields, new).await
}

/// The fields of a form with a file, and the file where it can be registered from. The fields name the file too, so that a form that
/// is wrong otherwise can be sent again without it.
pub(super) async fn uploaded(
    visitor: &Visitor,
    request: Request,
) -> Result<(Fields, Result<NewData, Problem>), Problem> {
    let (fields, file) = Fields::read_with_file(request, visitor).await?;
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

/// How the file is written, as far as it is said.
fn csv_form(fields: &Fields) -> Result<CsvForm, Problem> {
    let delimiter = match fields.get("delimiter") {
        None => None,
        Some("tab") => Some('\t'),
        Some(text) => match text.chars().collect::<Vec<_>>().as_slice() {
            [sign] => Some(*sign),
            _ => {
                let detail = format!("the separator is {text:?}; write one sign, such as ;, or the word tab");
                return Err(Problem::new(Code::BadRequest, detail));
            }
        },
    };
    let missing = fields.get("missing").map(str::to_string).into_iter().collect();
    Ok(CsvForm { delimiter, encoding: fields.get("encoding").map(str::to_string), missing })
}

pub(super) async fn register_postgres(visitor: Visitor, fields: Fields) -> Response {
    if let Err(failure) = visitor.caller.require(Action::ChangeDatasets) {
        return visitor.page(Section::Datasets, TITLE, Err(failure));
    }
    let new = table(&fields).and_then(|data| new_dataset(&fields, data));
    finish(&visitor, From::Postgres, &fields, new).await
}

fn table(fields: &Fields) -> Result<NewData, Problem> {
    let url = fields.required("url", "the URL of the database")?.to_string();
    Ok(NewData::Postgres { url, table: fields.required("table", "the table")?.to_string() })
}

fn new_dataset(fields: &Fields, data: NewData) -> Result<NewDataset, Problem> {
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

async fn finish(visitor: &Visitor, from: From, fields: &Fields, new: Result<NewDataset, Problem>) -> Response {
    let done = async {
        let new = new?;
        let dataset = new.dataset.clone();
        Ok((registered(visitor, new).await?, dataset))
    };
    match done.await {
        Ok((notice, dataset)) => visitor.done(notice, &path(&dataset)),
        Err(failure) => visitor.page_again(Section::Datasets, TITLE, failure, form(visitor, from, fields)),
    }
}

/// Registers data, and says what came of it.
pub(super) async fn registered(visitor: &Visitor, new: NewDataset) -> Result<String, Problem> {
    let is_from_a_file = matches!(new.data, NewData::Upload { .. });
    Ok(outcome::words(&visitor.caller.register(new).await?, is_from_a_file))
}
