//! Accounts: create, list, show, close, and their history.

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use taximeter_ledger::{Account, AccountName};
use taximeter_service::{
    AccountDocument, AccountList, CloseRequest, Closed, HistoryDocument, NewAccount, Opened, blocked_by, warning,
};
use utoipa::IntoParams;

use super::at_most;
use crate::access::{Action, Caller};
use crate::extract::{Body, Name, Parameters};
use crate::failure::Failure;
use crate::responses::{self, AccountBody, Token};

/// List the accounts that may be seen.
#[utoipa::path(get, path = "/v1/accounts", tag = "accounts", security(("token" = [])),
    responses((status = 200, description = "The accounts", body = AccountList), Token))]
pub(crate) async fn list(caller: Caller) -> Result<Json<AccountList>, Failure> {
    caller.require(Action::SeeAccounts)?;
    caller.fresh().await?;
    let list = caller.blocking(move |caller| {
        let ledger = caller.ledger();
        Ok(AccountList::new(ledger.id(), &ledger.accounts(), &caller.sight))
    });
    Ok(Json(list.await?))
}

/// Show everything about an account.
#[utoipa::path(get, path = "/v1/accounts/{name}", tag = "accounts", security(("token" = [])),
    params(("name" = AccountName, Path, example = "census/alice", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The account", body = AccountDocument), responses::Account))]
pub(crate) async fn show(caller: Caller, Name(name): Name) -> Result<Json<AccountDocument>, Failure> {
    caller.require(Action::SeeAccounts)?;
    caller.require_sight(&name)?;
    caller.fresh().await?;
    Ok(Json(document(&caller, &name)?))
}

fn document(caller: &Caller, name: &AccountName) -> Result<AccountDocument, Failure> {
    let path = name.path().map(|above| AccountName::parse(above).and_then(|above| caller.ledger().account(&above)));
    let path: Vec<Account> = path.collect::<Result<_, _>>()?;
    let find = |name: &AccountName| path.iter().find(|account| account.name() == name);
    let account = find(name)
        .ok_or_else(|| Failure::new(taximeter_service::Code::NoAccount, format!("account {name} not found")))?;
    Ok(AccountDocument::new(account, blocked_by(account, find), &caller.sight))
}

/// Open an account.
#[utoipa::path(post, path = "/v1/accounts", tag = "accounts", security(("token" = [])), request_body = NewAccount,
    responses((status = 201, description = "It is open", body = Opened), AccountBody))]
pub(crate) async fn open(caller: Caller, Body(new): Body<NewAccount>) -> Result<(StatusCode, Json<Opened>), Failure> {
    caller.require(Action::ChangeAccounts)?;
    caller.fresh().await?;
    let opened = caller.blocking(move |caller| {
        let ledger = caller.ledger();
        // One above that does not exist is an error of the account, which says so.
        let above = new.account.parent().and_then(|parent| ledger.account(&parent).ok());
        let receipt = ledger.open_account(new.spec(above.as_ref())?)?;
        Ok(Opened::new(&receipt, &ledger.account(&new.account)?, warning::about_budget(ledger, &new.account)))
    });
    Ok((StatusCode::CREATED, Json(opened.await?)))
}

/// Close an account for good: it takes no more charges, nor does any account below it.
#[utoipa::path(post, path = "/v1/accounts/{name}/close", tag = "accounts", security(("token" = [])), request_body = CloseRequest,
    params(("name" = AccountName, Path, example = "census/bob", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "It is closed", body = Closed), AccountBody))]
pub(crate) async fn close(
    caller: Caller,
    Name(name): Name,
    Body(request): Body<CloseRequest>,
) -> Result<Json<Closed>, Failure> {
    caller.require(Action::ChangeAccounts)?;
    let by = caller.signature(request.by.as_ref())?;
    let closed = caller.blocking(move |caller| {
        let receipt = caller.ledger().close_account(name.clone(), Some(by), request.note)?;
        Ok(Closed::new(&receipt, &caller.ledger().account(&name)?))
    });
    Ok(Json(closed.await?))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryParameters {
    /// The record to start with, as the part before named it in `next`; the newest if it is left out.
    pub(crate) from: Option<u64>,
    /// The most records [default: 20].
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u32>,
}

/// What happened to an account, newest first.
#[utoipa::path(get, path = "/v1/accounts/{name}/history", tag = "accounts", security(("token" = [])),
    params(("name" = AccountName, Path, example = "census/alice", description = "Its name, with slashes as %2F"), HistoryParameters),
    responses((status = 200, description = "A part of its history", body = HistoryDocument), responses::Account))]
pub(crate) async fn history(
    caller: Caller,
    Name(name): Name,
    Parameters(HistoryParameters { from, limit }): Parameters<HistoryParameters>,
) -> Result<Json<HistoryDocument>, Failure> {
    caller.require(Action::SeeAccounts)?;
    caller.require_own(std::slice::from_ref(&name))?;
    let limit = at_most(limit)?;
    caller.fresh().await?;
    let part = caller.blocking(move |caller| {
        let history = caller.ledger().history(&name, from, limit as usize)?;
        Ok(HistoryDocument::new(&name, &history, &caller.sight)?)
    });
    Ok(Json(part.await?))
}
