//! Accounts: create, list, show, close, and their history.

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use taximeter_ledger::AccountName;
use taximeter_service::{
    AccountDocument, AccountList, Caller, CloseRequest, Closed, HistoryDocument, NewAccount, Opened,
};
use utoipa::IntoParams;

use crate::extract::{JsonBody, Name, Parameters};
use crate::failure::FailedResponse;
use crate::responses::{AccountBodyProblems, AccountProblems, TokenProblems};

/// List the accounts that the caller may see.
#[utoipa::path(get, path = "/v1/accounts", tag = "accounts", security(("token" = [])),
    responses((status = 200, description = "The accounts", body = AccountList), TokenProblems))]
pub(crate) async fn list(caller: Caller) -> Result<Json<AccountList>, FailedResponse> {
    Ok(Json(caller.accounts().await?))
}

/// Show everything about an account.
#[utoipa::path(get, path = "/v1/accounts/{name}", tag = "accounts", security(("token" = [])),
    params(("name" = AccountName, Path, example = "census/alice", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The account", body = AccountDocument), AccountProblems))]
pub(crate) async fn show(caller: Caller, Name(name): Name) -> Result<Json<AccountDocument>, FailedResponse> {
    Ok(Json(caller.account(&name).await?))
}

/// Open an account.
#[utoipa::path(post, path = "/v1/accounts", tag = "accounts", security(("token" = [])), request_body = NewAccount,
    responses((status = 201, description = "It is open", body = Opened), AccountBodyProblems))]
pub(crate) async fn open(
    caller: Caller,
    JsonBody(new): JsonBody<NewAccount>,
) -> Result<(StatusCode, Json<Opened>), FailedResponse> {
    Ok((StatusCode::CREATED, Json(caller.open_account(new).await?)))
}

/// Close an account for good: it takes no more charges, nor does any account below it.
#[utoipa::path(post, path = "/v1/accounts/{name}/close", tag = "accounts", security(("token" = [])), request_body = CloseRequest,
    params(("name" = AccountName, Path, example = "census/bob", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "It is closed", body = Closed), AccountBodyProblems))]
pub(crate) async fn close(
    caller: Caller,
    Name(name): Name,
    JsonBody(request): JsonBody<CloseRequest>,
) -> Result<Json<Closed>, FailedResponse> {
    Ok(Json(caller.close_account(name, request).await?))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryParameters {
    /// The record to start with: the `next` of the page before [default: the newest].
    from: Option<u64>,
    /// The most records [default: 20].
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Show the history of an account, newest first.
#[utoipa::path(get, path = "/v1/accounts/{name}/history", tag = "accounts", security(("token" = [])),
    params(("name" = AccountName, Path, example = "census/alice", description = "Its name, with slashes as %2F"), HistoryParameters),
    responses((status = 200, description = "A page of its history", body = HistoryDocument), AccountProblems))]
pub(crate) async fn history(
    caller: Caller,
    Name(name): Name,
    Parameters(HistoryParameters { from, limit }): Parameters<HistoryParameters>,
) -> Result<Json<HistoryDocument>, FailedResponse> {
    Ok(Json(caller.history(&name, from, limit).await?))
}
