//! Tokens: the caller's own, and for owners those of others.

use axum::Json;
use axum::http::StatusCode;
use taximeter_service::{Caller, CreatedToken, NewToken, TokenDocument, TokenList, WhoAmI};

use crate::extract::{Body, Segment};
use crate::failure::Failure;
use crate::responses::{self, Thing, Token};

/// Who the token says one is.
#[utoipa::path(get, path = "/v1/me", tag = "tokens", security(("token" = [])),
    responses((status = 200, description = "Who one is", body = WhoAmI), Token))]
pub(crate) async fn me(caller: Caller) -> Json<WhoAmI> {
    Json(caller.who_am_i())
}

/// List all tokens, those that ended included. Their secrets are not known.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", security(("token" = [])),
    responses((status = 200, description = "The tokens", body = TokenList), Token))]
pub(crate) async fn list(caller: Caller) -> Result<Json<TokenList>, Failure> {
    Ok(Json(caller.list_tokens().await?))
}

/// Make a token. Its secret is shown this once.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", security(("token" = [])), request_body = NewToken,
    responses((status = 201, description = "The token, with its secret", body = CreatedToken), responses::Body))]
pub(crate) async fn create(
    caller: Caller,
    Body(new): Body<NewToken>,
) -> Result<(StatusCode, Json<CreatedToken>), Failure> {
    Ok((StatusCode::CREATED, Json(caller.create_token(new).await?)))
}

/// End a token now.
#[utoipa::path(post, path = "/v1/tokens/{id}/revoke", tag = "tokens", security(("token" = [])),
    params(("id" = String, Path, pattern = "^[0-9a-f]{16}$", description = "What names the token; not its secret")),
    responses((status = 200, description = "The token, which has ended", body = TokenDocument), Thing))]
pub(crate) async fn revoke(caller: Caller, Segment(id): Segment) -> Result<Json<TokenDocument>, Failure> {
    Ok(Json(caller.revoke_token(id).await?))
}
