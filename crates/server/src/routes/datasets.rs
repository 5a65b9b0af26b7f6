//! Datasets: register, list, show, check, and the owner's log.

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use taximeter_gate::{BadRows, Data, Dataset, Registration};
use taximeter_ledger::AccountName;
use taximeter_service::{
    AccountDocument, CheckedDataset, DatasetDocument, DatasetList, FailedQuestionList, NewAnalyst, NewAnalystDocument,
    NewData, NewDataset, Problem, RegisteredDocument, warning,
};
use utoipa::IntoParams;

use crate::access::{Action, Caller};
use crate::databases;
use crate::extract::{Body, Name, Parameters};
use crate::failure::Failure;
use crate::responses::{self, DatasetBody, Input, Registering, Token};

/// The dataset of a name.
pub(crate) fn find(caller: &Caller, name: &AccountName) -> Result<Dataset, Problem> {
    Ok(caller.gate().catalog().dataset(name)?)
}

fn document(caller: &Caller, dataset: &Dataset) -> Result<DatasetDocument, Problem> {
    let (datasets, accounts) = (caller.gate().catalog().datasets()?, caller.ledger().accounts());
    Ok(DatasetDocument::new(dataset, &datasets, &accounts, &caller.sight, caller.is_owner()))
}

/// List the datasets that may be seen.
#[utoipa::path(get, path = "/v1/datasets", tag = "datasets", security(("token" = [])),
    responses((status = 200, description = "The datasets", body = DatasetList), Token))]
pub(crate) async fn list(caller: Caller) -> Result<Json<DatasetList>, Failure> {
    caller.require(Action::SeeDatasets)?;
    caller.fresh().await?;
    let list = caller.blocking(move |caller| {
        let (datasets, accounts) = (caller.gate().catalog().datasets()?, caller.ledger().accounts());
        let seen = datasets.iter().filter(|dataset| caller.sees_dataset(&dataset.name));
        let document = |dataset| DatasetDocument::new(dataset, &datasets, &accounts, &caller.sight, caller.is_owner());
        Ok(DatasetList(seen.map(document).collect()))
    });
    Ok(Json(list.await?))
}

/// Show a dataset, as far as it may be seen.
#[utoipa::path(get, path = "/v1/datasets/{name}", tag = "datasets", security(("token" = [])),
    params(("name" = AccountName, Path, example = "people", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The dataset", body = DatasetDocument), responses::Dataset))]
pub(crate) async fn show(caller: Caller, Name(name): Name) -> Result<Json<DatasetDocument>, Failure> {
    caller.require(Action::SeeDatasets)?;
    caller.require_dataset(&name)?;
    caller.fresh().await?;
    Ok(Json(caller.blocking(move |caller| document(caller, &find(caller, &name)?)).await?))
}

/// Check that the data are where they were, and what was declared.
#[utoipa::path(get, path = "/v1/datasets/{name}/check", tag = "datasets", security(("token" = [])),
    params(("name" = AccountName, Path, example = "people", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The dataset, which is as it was registered", body = CheckedDataset),
        responses::Dataset))]
pub(crate) async fn check(caller: Caller, Name(name): Name) -> Result<Json<CheckedDataset>, Failure> {
    caller.require(Action::Audit)?;
    caller.fresh().await?;
    let checked = caller.blocking(move |caller| {
        find(caller, &name)?;
        let dataset = caller.gate().catalog().check(&caller.ledger().account(&name)?)?;
        document(caller, &dataset)
    });
    Ok(Json(CheckedDataset(checked.await?)))
}

/// Choose the rows of every unit anew among those that are in the PostgreSQL table now.
#[utoipa::path(post, path = "/v1/datasets/{name}/refresh", tag = "datasets", security(("token" = [])),
    params(("name" = AccountName, Path, example = "people", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The dataset in its newest version", body = DatasetDocument),
        responses::Dataset))]
pub(crate) async fn refresh(caller: Caller, Name(name): Name) -> Result<Json<DatasetDocument>, Failure> {
    caller.require(Action::ChangeDatasets)?;
    caller.fresh().await?;
    let refreshed = caller.blocking(move |caller| {
        find(caller, &name)?;
        let refreshed = caller.gate().refresh(&name);
        let registered = refreshed.map_err(|error| databases::unreached(&caller.state, error))?;
        document(caller, &registered.dataset)
    });
    Ok(Json(refreshed.await?))
}

/// Add an analyst to a dataset: an account below the dataset's.
#[utoipa::path(post, path = "/v1/datasets/{name}/analysts", tag = "datasets", security(("token" = [])), request_body = NewAnalyst,
    params(("name" = AccountName, Path, example = "people", description = "The dataset's name, with slashes as %2F")),
    responses((status = 201, description = "The account is open", body = NewAnalystDocument), DatasetBody))]
pub(crate) async fn add_analyst(
    caller: Caller,
    Name(dataset): Name,
    Body(new): Body<NewAnalyst>,
) -> Result<(StatusCode, Json<NewAnalystDocument>), Failure> {
    caller.require(Action::ChangeDatasets)?;
    caller.fresh().await?;
    let added = caller.blocking(move |caller| {
        find(caller, &dataset)?;
        let ledger = caller.ledger();
        let rules = new.rules(&ledger.account(&dataset)?)?;
        let name = caller.gate().add_analyst(&dataset, &new.analyst, rules)?;
        let account = AccountDocument::new(&ledger.account(&name)?, None, &caller.sight);
        Ok(NewAnalystDocument { dataset, account, warnings: warning::about_budget(ledger, &name) })
    });
    Ok((StatusCode::CREATED, Json(added.await?)))
}

/// Register a dataset, or newer data of one.
#[utoipa::path(post, path = "/v1/datasets", tag = "datasets", security(("token" = [])), request_body = NewDataset,
    responses((status = 201, description = "What came of it", body = RegisteredDocument), Registering))]
pub(crate) async fn register(
    caller: Caller,
    Body(new): Body<NewDataset>,
) -> Result<(StatusCode, Json<RegisteredDocument>), Failure> {
    caller.require(Action::ChangeDatasets)?;
    caller.fresh().await?;
    let registered = caller.blocking(move |caller| registered(caller, &new)).await?;
    Ok((StatusCode::CREATED, Json(registered)))
}

fn registered(caller: &Caller, new: &NewDataset) -> Result<RegisteredDocument, Problem> {
    let (rules, timeout) = (new.rules()?, new.timeout()?);
    let before = if new.new_version { Some(find(caller, &new.dataset)?) } else { None };
    let declaration = new.declaration(before.as_ref())?;
    let (data, upload) = match &new.data {
        NewData::Upload { id, skip_bad_rows, form } => {
            let bad_rows = if *skip_bad_rows { BadRows::Skip } else { BadRows::Refuse };
            let upload = caller.state.uploads.take(id)?;
            (Data::Csv { path: upload.path(), form: form.clone(), bad_rows }, Some(upload))
        }
        NewData::Postgres { url, table } => {
            databases::require_listed(&caller.state, url)?;
            (Data::Postgres { url: url.clone(), table: table.clone() }, None)
        }
    };
    let registration = Registration {
        name: new.dataset.clone(),
        declaration,
        data,
        rules,
        new_version: new.new_version,
        reuse: new.reuse.unwrap_or(before.as_ref().is_some_and(|before| before.reuse)),
        timeout: timeout.unwrap_or(before.as_ref().map_or(Registration::TIMEOUT, |before| before.timeout)),
        min_epsilon: new.min_epsilon.or(before.and_then(|before| before.min_epsilon)),
    };
    // Where an upload is kept is not told: its owner knows it by another name.
    let registered = caller.gate().register(&registration, &mut |_, _| {}).map_err(|error| match &upload {
        Some(upload) => error.with_file_name(upload.shown()).into(),
        None => databases::unreached(&caller.state, error),
    })?;
    let warnings = match &registration.rules {
        Some(_) => warning::about_budget(caller.ledger(), &new.dataset),
        None => Vec::new(),
    };
    let document = RegisteredDocument::new(&registered, &caller.ledger().account(&new.dataset)?, warnings);
    if let Some(upload) = upload {
        upload.registered();
    }
    Ok(document)
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
    caller: Caller,
    Parameters(LogParameters { limit }): Parameters<LogParameters>,
) -> Result<Json<FailedQuestionList>, Failure> {
    caller.require(Action::ReadLog)?;
    let limit = super::at_most(limit)?;
    let failures = caller.blocking(move |caller| Ok(caller.gate().catalog().failures(limit)?)).await?;
    Ok(Json(FailedQuestionList(failures)))
}
