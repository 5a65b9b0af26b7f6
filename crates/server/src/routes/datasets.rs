//! Datasets: register, list, show, check, and the owner's log.

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use taximeter_ledger::AccountName;
use taximeter_service::{
    Caller, CheckedDataset, DatasetDocument, DatasetList, FailedQuestionList, NewAnalyst, NewAnalystDocument,
    NewDataset, RegisteredDocument,
};
use utoipa::IntoParams;

use crate::extract::{JsonBody, Name, Parameters};
use crate::failure::FailedResponse;
use crate::responses::{DatasetBodyProblems, DatasetProblems, InputProblems, RegistrationProblems, TokenProblems};

/// List the datasets that the caller may see.
#[utoipa::path(get, path = "/v1/datasets", tag = "datasets", security(("token" = [])),
    responses((status = 200, description = "The datasets", body = DatasetList), TokenProblems))]
pub(crate) async fn list(caller: Caller) -> Result<Json<DatasetList>, FailedResponse> {
    Ok(Json(caller.datasets().await?))
}

/// Show a dataset, without what the caller may not see.
#[utoipa::path(get, path = "/v1/datasets/{name}", tag = "datasets", security(("token" = [])),
    params(("name" = AccountName, Path, example = "people", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The dataset", body = DatasetDocument), DatasetProblems))]
pub(crate) async fn show(caller: Caller, Name(name): Name) -> Result<Json<DatasetDocument>, FailedResponse> {
    Ok(Json(caller.dataset(name).await?))
}

/// Check that the data are unchanged and match the declaration.
#[utoipa::path(get, path = "/v1/datasets/{name}/check", tag = "datasets", security(("token" = [])),
    params(("name" = AccountName, Path, example = "people", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The dataset, which is unchanged", body = CheckedDataset),
        DatasetProblems))]
pub(crate) async fn check(caller: Caller, Name(name): Name) -> Result<Json<CheckedDataset>, FailedResponse> {
    Ok(Json(caller.check_dataset(name).await?))
}

/// Select the rows of every unit again from the current PostgreSQL table.
#[utoipa::path(post, path = "/v1/datasets/{name}/refresh", tag = "datasets", security(("token" = [])),
    params(("name" = AccountName, Path, example = "people", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The dataset in its newest version", body = DatasetDocument),
        DatasetProblems))]
pub(crate) async fn refresh(caller: Caller, Name(name): Name) -> Result<Json<DatasetDocument>, FailedResponse> {
    Ok(Json(caller.refresh_dataset(name).await?))
}

/// Add an analyst to a dataset: an account below the dataset's.
#[utoipa::path(post, path = "/v1/datasets/{name}/analysts", tag = "datasets", security(("token" = [])), request_body = NewAnalyst,
    params(("name" = AccountName, Path, example = "people", description = "The dataset's name, with slashes as %2F")),
    responses((status = 201, description = "The account is open", body = NewAnalystDocument), DatasetBodyProblems))]
pub(crate) async fn add_analyst(
    caller: Caller,
    Name(dataset): Name,
    JsonBody(new): JsonBody<NewAnalyst>,
) -> Result<(StatusCode, Json<NewAnalystDocument>), FailedResponse> {
    Ok((StatusCode::CREATED, Json(caller.add_analyst(dataset, new).await?)))
}

/// Register a dataset, or newer data of one.
#[utoipa::path(post, path = "/v1/datasets", tag = "datasets", security(("token" = [])), request_body = NewDataset,
    responses((status = 201, description = "The registered version", body = RegisteredDocument), RegistrationProblems))]
pub(crate) async fn register(
    caller: Caller,
    JsonBody(new): JsonBody<NewDataset>,
) -> Result<(StatusCode, Json<RegisteredDocument>), FailedResponse> {
    Ok((StatusCode::CREATED, Json(caller.register(new).await?)))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogParameters {
    /// The most lines [default: 20].
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Show why charged questions have no answer, newest first. The reason may depend on the data.
#[utoipa::path(get, path = "/v1/log", tag = "datasets", security(("token" = [])), params(LogParameters),
    responses((status = 200, description = "The newest lines of the owner's log", body = FailedQuestionList), InputProblems))]
pub(crate) async fn log(
    caller: Caller,
    Parameters(LogParameters { limit }): Parameters<LogParameters>,
) -> Result<Json<FailedQuestionList>, FailedResponse> {
    Ok(Json(caller.failed_questions(limit).await?))
}
