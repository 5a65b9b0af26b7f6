//! Public tables: list, register, replace and remove.

use axum::Json;
use axum::http::StatusCode;
use taximeter_ledger::AccountName;
use taximeter_service::{Caller, NewPublicTable, PublicTableDocument, PublicTableList, RemovedPublicTable};

use crate::extract::{JsonBody, Name};
use crate::failure::FailedResponse;
use crate::responses::{RecordProblems, RegistrationProblems, TokenProblems};

/// List the public tables, which questions may join.
#[utoipa::path(get, path = "/v1/public-tables", tag = "datasets", security(("token" = [])),
    responses((status = 200, description = "The public tables", body = PublicTableList), TokenProblems))]
pub(crate) async fn list(caller: Caller) -> Result<Json<PublicTableList>, FailedResponse> {
    Ok(Json(caller.public_tables().await?))
}

/// Register a public table from an uploaded CSV file, or replace one.
#[utoipa::path(post, path = "/v1/public-tables", tag = "datasets", security(("token" = [])), request_body = NewPublicTable,
    responses((status = 201, description = "The public table", body = PublicTableDocument), RegistrationProblems))]
pub(crate) async fn put(
    caller: Caller,
    JsonBody(new): JsonBody<NewPublicTable>,
) -> Result<(StatusCode, Json<PublicTableDocument>), FailedResponse> {
    Ok((StatusCode::CREATED, Json(caller.put_public_table(new).await?)))
}

/// Remove a public table. Questions that joined it keep their answers.
#[utoipa::path(post, path = "/v1/public-tables/{name}/remove", tag = "datasets", security(("token" = [])),
    params(("name" = AccountName, Path, example = "airlines", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "It is gone", body = RemovedPublicTable), RecordProblems))]
pub(crate) async fn remove(caller: Caller, Name(name): Name) -> Result<Json<RemovedPublicTable>, FailedResponse> {
    Ok(Json(caller.remove_public_table(name).await?))
}
