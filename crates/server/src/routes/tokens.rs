//! Tokens: the caller's own, and for owners those of others.

use axum::Json;
use axum::http::StatusCode;
use taximeter_service::{Caller, CreatedToken, NewToken, TokenDocument, TokenList, WhoAmI};

use crate::extract::{JsonBody, Segment};
use crate::failure::FailedResponse;
use crate::responses::{BodyProblems, RecordProblems, TokenProblems};

/// Show the caller, as identified by its token.
#[utoipa::path(get, path = "/v1/me", tag = "tokens", security(("token" = [])),
    responses((status = 200, description = "The caller", body = WhoAmI), TokenProblems))]
pub(crate) async fn me(caller: Caller) -> Json<WhoAmI> {
    Json(caller.who_am_i())
}

/// List all tokens, including ended ones, without their secrets.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", security(("token" = [])),
    responses((status = 200, description = "The tokens", body = TokenList), TokenProblems))]
pub(crate) async fn list(caller: Caller) -> Result<Json<TokenList>, FailedResponse> {
    Ok(Json(caller.list_tokens().await?))
}

/// Create a token. Its secret is shown only once.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", security(("token" = [])), request_body = NewToken,
    responses((status = 201, description = "The token, with its secret", body = CreatedToken), BodyProblems))]
pub(crate) async fn create(
    caller: Caller,
    JsonBody(new): JsonBody<NewToken>,
) -> Result<(StatusCode, Json<CreatedToken>), FailedResponse> {
    Ok((StatusCode::CREATED, Json(caller.create_token(new).await?)))
}

/// End a token now.
#[utoipa::path(post, path = "/v1/tokens/{id}/revoke", tag = "tokens", security(("token" = [])),
    params(("id" = String, Path, pattern = "^[0-9a-f]{16}$", description = "The id of the token; not its secret")),
    responses((status = 200, description = "The token, which has ended", body = TokenDocument), RecordProblems))]
pub(crate) async fn revoke(caller: Caller, Segment(id): Segment) -> Result<Json<TokenDocument>, FailedResponse> {
    Ok(Json(caller.revoke_token(id).await?))
}
