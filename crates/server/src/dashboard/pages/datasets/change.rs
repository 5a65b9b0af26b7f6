//! The forms on the page of a dataset.

use std::sync::Arc;

use axum::extract::{Request, State as Shared};
use axum::response::{IntoResponse, Redirect, Response};
use taximeter_api::{NewAnalyst, NewDataset};
use taximeter_ledger::AccountName;

use super::dataset::content;
use super::declare::filter;
use super::path;
use super::register::{registered, uploaded};
use crate::access::Action;
use crate::dashboard::fields::Fields;
use crate::dashboard::page::Section;
use crate::dashboard::visitor::Visitor;
use crate::extract::{Body, Name};
use crate::failure::Failure;
use crate::routes::datasets;
use crate::state::State;

/// The page of a dataset after a form: anew with what came of it, or with the form and what is wrong with it.
async fn after(
    state: &Arc<State>,
    visitor: &Visitor,
    name: &AccountName,
    fields: &Fields,
    done: Result<String, Failure>,
) -> Response {
    let failure = match done {
        Ok(notice) => {
            state.sessions.leave_notice(&visitor.session(), notice);
            return Redirect::to(&path(name)).into_response();
        }
        Err(failure) => failure,
    };
    match content(state, visitor, name, fields).await {
        Ok(content) => visitor.page_again(Section::Datasets, name.as_str(), failure, content),
        Err(_) => visitor.page(Section::Datasets, name.as_str(), Err(failure)),
    }
}

pub(super) async fn add_analyst(
    Shared(state): Shared<Arc<State>>,
    visitor: Visitor,
    Name(name): Name,
    fields: Fields,
) -> Response {
    let added = async {
        visitor.caller.require(Action::ChangeDatasets)?;
        let analyst = fields.required("analyst", "the name of the analyst")?.to_string();
        let new = NewAnalyst { analyst, filter: filter(&fields)?, odometer: None };
        let (shared, caller) = (Shared(Arc::clone(&state)), visitor.caller.clone());
        let (_, added) = datasets::add_analyst(shared, caller, Name(name.clone()), Body(new)).await?;
        let account = &added.0.account.account;
        Ok(format!(
            "{account} may ask about {name}. Now make a token for it, with that account and the dataset {name}."
        ))
    };
    let added = added.await;
    after(&state, &visitor, &name, &fields, added).await
}

pub(super) async fn check(
    Shared(state): Shared<Arc<State>>,
    visitor: Visitor,
    Name(name): Name,
    fields: Fields,
) -> Response {
    let (shared, caller) = (Shared(Arc::clone(&state)), visitor.caller.clone());
    let checked = datasets::check(shared, caller, Name(name.clone())).await.map(|checked| {
        let dataset = checked.0.0;
        let columns = dataset.schema.columns.len();
        format!("{name} is as it was registered: version {}, {columns} columns.", dataset.version)
    });
    after(&state, &visitor, &name, &fields, checked).await
}

pub(super) async fn refresh(
    Shared(state): Shared<Arc<State>>,
    visitor: Visitor,
    Name(name): Name,
    fields: Fields,
) -> Response {
    let (shared, caller) = (Shared(Arc::clone(&state)), visitor.caller.clone());
    let refreshed = datasets::refresh(shared, caller, Name(name.clone())).await;
    let refreshed =
        refreshed.map(|dataset| format!("The rows of {name} are chosen anew: version {}.", dataset.0.version));
    after(&state, &visitor, &name, &fields, refreshed).await
}

pub(super) async fn put_newer_data(
    Shared(state): Shared<Arc<State>>,
    visitor: Visitor,
    Name(name): Name,
    request: Request,
) -> Response {
    if let Err(failure) = visitor.caller.require(Action::ChangeDatasets) {
        return visitor.page(Section::Datasets, name.as_str(), Err(failure));
    }
    let (fields, data) = match uploaded(&state, request).await {
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
        };
        registered(&state, &visitor, new).await
    };
    match put.await {
        Ok(_) => Redirect::to(&path(&name)).into_response(),
        Err(failure) => after(&state, &visitor, &name, &fields, Err(failure)).await,
    }
}
