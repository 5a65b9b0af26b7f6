//! Accounts: create, list, show, close, and their history.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Shared;
use axum::http::StatusCode;
use serde::Deserialize;
use taximeter_api::{
    AccountDocument, AccountList, CloseRequest, Closed, HistoryDocument, NameSchema, NewAccount, Opened, Problem,
    blocked_by,
};
use taximeter_ledger::{Account, AccountName};
use utoipa::IntoParams;

use super::{at_most, blocking, fresh};
use crate::access::{Action, Caller};
use crate::extract::{Body, Name, Parameters};
use crate::failure::Failure;
use crate::responses::{self, AccountBody, Token};
use crate::state::State;

/// List the accounts that may be seen.
#[utoipa::path(get, path = "/v1/accounts", tag = "accounts", security(("token" = [])),
    responses((status = 200, description = "The accounts", body = AccountList), Token))]
pub(crate) async fn list(Shared(state): Shared<Arc<State>>, caller: Caller) -> Result<Json<AccountList>, Failure> {
    caller.require(Action::SeeAccounts)?;
    fresh(&state).await?;
    let list = blocking(&state, move |state| {
        let ledger = state.ledger();
        Ok::<_, Problem>(AccountList::new(ledger.id(), &ledger.accounts(), &caller.sight))
    });
    Ok(Json(list.await?))
}

/// Show everything about an account.
#[utoipa::path(get, path = "/v1/accounts/{name}", tag = "accounts", security(("token" = [])),
    params(("name" = NameSchema, Path, example = "census/alice", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "The account", body = AccountDocument), responses::Account))]
pub(crate) async fn show(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Name(name): Name,
) -> Result<Json<AccountDocument>, Failure> {
    caller.require(Action::SeeAccounts)?;
    caller.require_sight(&name)?;
    fresh(&state).await?;
    Ok(Json(document(&state, &caller, &name)?))
}

fn document(state: &State, caller: &Caller, name: &AccountName) -> Result<AccountDocument, Failure> {
    let path = name.path().map(|above| AccountName::parse(above).and_then(|above| state.ledger().account(&above)));
    let path: Vec<Account> = path.collect::<Result<_, _>>()?;
    let find = |name: &AccountName| path.iter().find(|account| account.name() == name);
    let account = find(name)
        .ok_or_else(|| Failure::new(taximeter_api::Code::NoAccount, format!("there is no account {name}")))?;
    Ok(AccountDocument::new(account, blocked_by(account, find), &caller.sight))
}

/// Open an account.
#[utoipa::path(post, path = "/v1/accounts", tag = "accounts", security(("token" = [])), request_body = NewAccount,
    responses((status = 201, description = "It is open", body = Opened), AccountBody))]
pub(crate) async fn open(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Body(new): Body<NewAccount>,
) -> Result<(StatusCode, Json<Opened>), Failure> {
    caller.require(Action::ChangeAccounts)?;
    fresh(&state).await?;
    let opened = blocking(&state, move |state| {
        let ledger = state.ledger();
        // One above that does not exist is an error of the account, which says so.
        let above = new.account.parent().and_then(|parent| ledger.account(&parent).ok());
        let receipt = ledger.open_account(new.spec(above.as_ref())?)?;
        Ok::<_, Problem>(Opened::new(&receipt, &ledger.account(&new.account)?))
    });
    Ok((StatusCode::CREATED, Json(opened.await?)))
}

/// Close an account for good: it takes no more charges, nor does any account below it.
#[utoipa::path(post, path = "/v1/accounts/{name}/close", tag = "accounts", security(("token" = [])), request_body = CloseRequest,
    params(("name" = NameSchema, Path, example = "census/bob", description = "Its name, with slashes as %2F")),
    responses((status = 200, description = "It is closed", body = Closed), AccountBody))]
pub(crate) async fn close(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Name(name): Name,
    Body(request): Body<CloseRequest>,
) -> Result<Json<Closed>, Failure> {
    caller.require(Action::ChangeAccounts)?;
    let by = caller.signature(request.by.as_ref())?;
    let closed = blocking(&state, move |state| {
        let receipt = state.ledger().close_account(name.clone(), Some(by), request.note)?;
        Ok::<_, Problem>(Closed::new(&receipt, &state.ledger().account(&name)?))
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
    params(("name" = NameSchema, Path, example = "census/alice", description = "Its name, with slashes as %2F"), HistoryParameters),
    responses((status = 200, description = "A part of its history", body = HistoryDocument), responses::Account))]
pub(crate) async fn history(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Name(name): Name,
    Parameters(HistoryParameters { from, limit }): Parameters<HistoryParameters>,
) -> Result<Json<HistoryDocument>, Failure> {
    caller.require(Action::SeeAccounts)?;
    caller.require_own(std::slice::from_ref(&name))?;
    let limit = at_most(limit)?;
    fresh(&state).await?;
    let part = blocking(&state, move |state| {
        let history = state.ledger().history(&name, from, limit as usize)?;
        HistoryDocument::new(&name, &history, &caller.sight)
    });
    Ok(Json(part.await?))
}
