//! Datasets: register, list, show, check, and the owner's log.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State as Shared;
use axum::http::StatusCode;
use serde::Deserialize;
use taximeter_api::{
    AccountDocument, CheckedDataset, Code, DatasetDocument, DatasetList, FailedQuestionDocument, FailedQuestionList,
    NameSchema, NewAnalyst, NewAnalystDocument, NewData, NewDataset, Problem, RegisteredDocument,
};
use taximeter_gate::{BadRows, Data, Dataset, Registration};
use taximeter_ledger::AccountName;
use utoipa::IntoParams;

use super::{blocking, fresh};
use crate::access::{Action, Caller};
use crate::extract::{Body, Name, Parameters};
use crate::failure::Failure;
use crate::responses::{self, DatasetBody, Input, Registering, Token};
use crate::state::State;
use crate::uploads::InUse;

/// How long a question may take, unless it is said.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The dataset of a name. Where the gate keeps its records is not told.
pub(crate) fn find(state: &State, name: &AccountName) -> Result<Dataset, Problem> {
    state.gate.catalog().dataset(name).map_err(|error| match error.is_no_dataset() {
        true => Problem::new(
            Code::NoDataset,
            format!("there is no dataset {name}; /v1/datasets lists those that may be seen"),
        ),
        false => error.into(),
    })
}

fn document(state: &State, caller: &Caller, dataset: &Dataset) -> Result<DatasetDocument, Problem> {
    let (datasets, accounts) = (state.gate.catalog().datasets()?, state.ledger().accounts());
    Ok(DatasetDocument::new(dataset, &datasets, &accounts, &caller.sight, caller.is_owner()))
}

/// List the datasets that may be seen.
#[utoipa::path(get, path = "/v1/datasets", tag = "datasets", security(("token" = [])),
    responses((status = 200, description = "The datasets", body = DatasetList), Token))]
pub(crate) async fn list(Shared(state): Shared<Arc<State>>, caller: Caller) -> Result<Json<DatasetList>, Failure> {
    caller.require(Action::SeeDatasets)?;
    fresh(&state).await?;
    let list = blocking(&state, move |state| {
        let (datasets, accounts) = (state.gate.catalog().datasets()?, state.ledger().accounts());
        let seen = datasets.iter().filter(|dataset| caller.sees_dataset(&dataset.name));
        let document = |dataset| DatasetDocument::new(dataset, &datasets, &accounts, &caller.sight, caller.is_owner());
        Ok::<_, Problem>(DatasetList(seen.map(document).collect()))
    });
    Ok(Json(list.await?))
}

/// Show a dataset, as far as it may be seen.
#[utoipa::path(get, path = "/v1/datasets/{name}", tag = "datasets", security(("token" = [])),
    params(("name" = NameSchema, Path, example = "people", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The dataset", body = DatasetDocument), responses::Dataset))]
pub(crate) async fn show(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Name(name): Name,
) -> Result<Json<DatasetDocument>, Failure> {
    caller.require(Action::SeeDatasets)?;
    caller.require_dataset(&name)?;
    fresh(&state).await?;
    Ok(Json(blocking(&state, move |state| document(state, &caller, &find(state, &name)?)).await?))
}

/// Check that the data are where they were, and what was declared.
#[utoipa::path(get, path = "/v1/datasets/{name}/check", tag = "datasets", security(("token" = [])),
    params(("name" = NameSchema, Path, example = "people", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The dataset, which is as it was registered", body = CheckedDataset),
        responses::Dataset))]
pub(crate) async fn check(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Name(name): Name,
) -> Result<Json<CheckedDataset>, Failure> {
    caller.require(Action::Audit)?;
    fresh(&state).await?;
    let checked = blocking(&state, move |state| {
        find(state, &name)?;
        let dataset = state.gate.catalog().check(&state.ledger().account(&name)?)?;
        document(state, &caller, &dataset)
    });
    Ok(Json(CheckedDataset(checked.await?)))
}

/// Choose the rows of every unit anew among those that are in the PostgreSQL table now.
#[utoipa::path(post, path = "/v1/datasets/{name}/refresh", tag = "datasets", security(("token" = [])),
    params(("name" = NameSchema, Path, example = "people", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The dataset in its newest version", body = DatasetDocument),
        responses::Dataset))]
pub(crate) async fn refresh(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Name(name): Name,
) -> Result<Json<DatasetDocument>, Failure> {
    caller.require(Action::ChangeDatasets)?;
    fresh(&state).await?;
    let refreshed = blocking(&state, move |state| {
        find(state, &name)?;
        let registered = state.gate.refresh(&name)?;
        document(state, &caller, &registered.dataset)
    });
    Ok(Json(refreshed.await?))
}

/// Add an analyst to a dataset: an account below the dataset's.
#[utoipa::path(post, path = "/v1/datasets/{name}/analysts", tag = "datasets", security(("token" = [])), request_body = NewAnalyst,
    params(("name" = NameSchema, Path, example = "people", description = "The dataset's name, with slashes as %2F")),
    responses((status = 201, description = "The account is open", body = NewAnalystDocument), DatasetBody))]
pub(crate) async fn add_analyst(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Name(dataset): Name,
    Body(new): Body<NewAnalyst>,
) -> Result<(StatusCode, Json<NewAnalystDocument>), Failure> {
    caller.require(Action::ChangeDatasets)?;
    fresh(&state).await?;
    let added = blocking(&state, move |state| {
        find(state, &dataset)?;
        let ledger = state.ledger();
        let rules = new.rules(&ledger.account(&dataset)?)?;
        let name = state.gate.add_analyst(&dataset, &new.analyst, rules)?;
        let account = AccountDocument::new(&ledger.account(&name)?, None, &caller.sight);
        Ok::<_, Problem>(NewAnalystDocument { dataset, account })
    });
    Ok((StatusCode::CREATED, Json(added.await?)))
}

/// Register a dataset, or newer data of one.
#[utoipa::path(post, path = "/v1/datasets", tag = "datasets", security(("token" = [])), request_body = NewDataset,
    responses((status = 201, description = "What came of it", body = RegisteredDocument), Registering))]
pub(crate) async fn register(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Body(new): Body<NewDataset>,
) -> Result<(StatusCode, Json<RegisteredDocument>), Failure> {
    caller.require(Action::ChangeDatasets)?;
    fresh(&state).await?;
    let registered = blocking(&state, move |state| registered(state, &new)).await?;
    Ok((StatusCode::CREATED, Json(registered)))
}

fn registered(state: &State, new: &NewDataset) -> Result<RegisteredDocument, Problem> {
    let (rules, timeout) = (new.rules()?, new.timeout()?);
    let before = if new.new_version { Some(find(state, &new.dataset)?) } else { None };
    let declaration = new.declaration(before.as_ref())?;
    let (data, upload) = match &new.data {
        NewData::Upload { id, skip_bad_rows } => {
            let bad_rows = if *skip_bad_rows { BadRows::Skip } else { BadRows::Refuse };
            let upload = state.uploads.take(id)?;
            (Data::Csv { path: upload.path(), bad_rows }, Some(upload))
        }
        NewData::Postgres { url, table } => (Data::Postgres { url: url.clone(), table: table.clone() }, None),
    };
    let registration = Registration {
        name: new.dataset.clone(),
        declaration,
        data,
        rules,
        new_version: new.new_version,
        reuse: new.reuse.unwrap_or(before.as_ref().is_some_and(|before| before.reuse)),
        timeout: timeout.unwrap_or(before.map_or(DEFAULT_TIMEOUT, |before| before.timeout)),
    };
    let registered = state
        .gate
        .register(&registration, &mut |_, _| {})
        .map_err(|error| without_folder(error.into(), upload.as_ref()))?;
    let document = RegisteredDocument::new(&registered, &state.ledger().account(&new.dataset)?);
    if let Some(upload) = upload {
        upload.registered();
    }
    Ok(document)
}

/// The gate names the file; who uploaded it knows it by another name.
fn without_folder(problem: Problem, upload: Option<&InUse>) -> Problem {
    match upload {
        None => problem,
        Some(upload) => {
            let detail = problem.detail.replace(&format!("{}/", upload.folder().display()), "the upload ");
            Problem { detail, ..problem }
        }
    }
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogParameters {
    /// The most lines [default: 20].
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u32>,
}

/// Why charged questions have no answer, newest first. It may depend on the data.
#[utoipa::path(get, path = "/v1/log", tag = "datasets", security(("token" = [])), params(LogParameters),
    responses((status = 200, description = "The newest lines of the owner's log", body = FailedQuestionList), Input))]
pub(crate) async fn log(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Parameters(LogParameters { limit }): Parameters<LogParameters>,
) -> Result<Json<FailedQuestionList>, Failure> {
    caller.require(Action::ReadLog)?;
    let limit = super::at_most(limit)?;
    let failures = blocking(&state, move |state| state.gate.catalog().failures(limit)).await?;
    Ok(Json(FailedQuestionList(failures.into_iter().map(FailedQuestionDocument::from).collect())))
}
