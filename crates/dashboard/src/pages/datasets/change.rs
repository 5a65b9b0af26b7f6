//! The forms on the page of a dataset.

use axum::extract::Request;
use axum::response::Response;
use taximeter_ledger::AccountName;
use taximeter_service::{Action, NewAnalyst, NewDataset, Problem};

use super::dataset::content;
use super::declare::filter;
use super::path;
use super::register::{registered, uploaded};
use crate::display;
use crate::extract::PathName;
use crate::form_data::FormData;
use crate::page::Section;
use crate::visitor::Visitor;

/// The page of a dataset after a form: with a notice, or with the problem and the form as it was filled in.
async fn after(visitor: &Visitor, name: &AccountName, fields: &FormData, done: Result<String, Problem>) -> Response {
    match done {
        Ok(notice) => visitor.done(notice, &path(name)),
        Err(failure) => {
            visitor.page_again(Section::Datasets, name.as_str(), failure, content(visitor, name, fields).await)
        }
    }
}

pub(super) async fn add_analyst(visitor: Visitor, PathName(name): PathName, fields: FormData) -> Response {
    let added = async {
        visitor.caller.require(Action::ChangeDatasets)?;
        let analyst = fields.required("analyst", "the name of the analyst")?.to_string();
        let new = NewAnalyst { analyst, filter: filter(&fields)?, odometer: None };
        let added = visitor.caller.add_analyst(name.clone(), new).await?;
        let account = &added.account.account;
        Ok(format!(
            "The account {account} is open. Now make a token with that account and the dataset {name}.{}",
            display::warnings(&added.warnings)
        ))
    };
    let added = added.await;
    after(&visitor, &name, &fields, added).await
}

pub(super) async fn check(visitor: Visitor, PathName(name): PathName, fields: FormData) -> Response {
    let checked = visitor.caller.check_dataset(name.clone()).await.map(|checked| {
        let dataset = checked.0;
        let columns = dataset.schema.columns.len();
        format!("{name} is unchanged since it was registered: version {}, {columns} columns.", dataset.version)
    });
    after(&visitor, &name, &fields, checked).await
}

pub(super) async fn refresh(visitor: Visitor, PathName(name): PathName, fields: FormData) -> Response {
    let refreshed = visitor.caller.refresh_dataset(name.clone()).await;
    let refreshed =
        refreshed.map(|dataset| format!("The rows of {name} were selected again: version {}.", dataset.version));
    after(&visitor, &name, &fields, refreshed).await
}

pub(super) async fn put_newer_data(visitor: Visitor, PathName(name): PathName, request: Request) -> Response {
    if let Err(failure) = visitor.caller.require(Action::ChangeDatasets) {
        return visitor.page(Section::Datasets, name.as_str(), Err(failure));
    }
    let (fields, data) = match uploaded(&visitor, request).await {
        Ok(uploaded) => uploaded,
        Err(failure) => return visitor.page(Section::Datasets, name.as_str(), Err(failure)),
    };
    let put = async {
        let new = NewDataset {
            dataset: name.clone(),
            data: data?,
            schema: None,
            filter: None,
            odometer: None,
            new_version: true,
            reuse: None,
            timeout_seconds: None,
            min_epsilon: None,
        };
        registered(&visitor, new).await
    };
    let put = put.await;
    after(&visitor, &name, &fields, put).await
}
