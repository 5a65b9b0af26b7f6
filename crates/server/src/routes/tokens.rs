//! Tokens: who one is, and for owners those of others.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Shared;
use axum::http::StatusCode;
use taximeter_api::{CreatedToken, NewToken, TokenDocument, TokenList, WhoAmI};

use super::blocking;
use crate::access::{Action, Caller};
use crate::extract::{Body, Segment};
use crate::failure::Failure;
use crate::responses::{self, Thing, Token};
use crate::state::State;

/// Who the token says one is.
#[utoipa::path(get, path = "/v1/me", tag = "tokens", security(("token" = [])),
    responses((status = 200, description = "Who one is", body = WhoAmI), Token))]
pub(crate) async fn me(Shared(state): Shared<Arc<State>>, caller: Caller) -> Json<WhoAmI> {
    Json(WhoAmI { token: TokenDocument::clone(&caller.token), ledger: state.ledger().id().to_string() })
}

/// List all tokens, those that ended included. Their secrets are not known.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", security(("token" = [])),
    responses((status = 200, description = "The tokens", body = TokenList), Token))]
pub(crate) async fn list(Shared(state): Shared<Arc<State>>, caller: Caller) -> Result<Json<TokenList>, Failure> {
    caller.require(Action::ChangeTokens)?;
    let tokens = blocking(&state, |state| state.tokens.list()).await?;
    Ok(Json(TokenList { tokens }))
}

/// Make a token. Its secret is shown this once.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", security(("token" = [])), request_body = NewToken,
    responses((status = 201, description = "The token, with its secret", body = CreatedToken), responses::Body))]
pub(crate) async fn create(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Body(new): Body<NewToken>,
) -> Result<(StatusCode, Json<CreatedToken>), Failure> {
    caller.require(Action::ChangeTokens)?;
    let created = blocking(&state, move |state| state.tokens.create(&new)).await?;
    Ok((StatusCode::CREATED, Json(created)))
}

/// End a token now.
#[utoipa::path(post, path = "/v1/tokens/{id}/revoke", tag = "tokens", security(("token" = [])),
    params(("id" = String, Path, pattern = "^[0-9a-f]{16}$", description = "What names the token; not its secret")),
    responses((status = 200, description = "The token, which has ended", body = TokenDocument), Thing))]
pub(crate) async fn revoke(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Segment(id): Segment,
) -> Result<Json<TokenDocument>, Failure> {
    caller.require(Action::ChangeTokens)?;
    Ok(Json(blocking(&state, move |state| state.tokens.revoke(&id)).await?))
}
