//! Tokens: who one is, and for owners those of others.

use axum::Json;
use axum::http::StatusCode;
use taximeter_service::{CreatedToken, NewToken, TokenDocument, TokenList, WhoAmI, warning};

use crate::access::{Action, Caller};
use crate::extract::{Body, Segment};
use crate::failure::Failure;
use crate::responses::{self, Thing, Token};

/// Who the token says one is.
#[utoipa::path(get, path = "/v1/me", tag = "tokens", security(("token" = [])),
    responses((status = 200, description = "Who one is", body = WhoAmI), Token))]
pub(crate) async fn me(caller: Caller) -> Json<WhoAmI> {
    Json(WhoAmI { token: TokenDocument::clone(&caller.token), ledger: caller.ledger().id().to_string() })
}

/// List all tokens, those that ended included. Their secrets are not known.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", security(("token" = [])),
    responses((status = 200, description = "The tokens", body = TokenList), Token))]
pub(crate) async fn list(caller: Caller) -> Result<Json<TokenList>, Failure> {
    caller.require(Action::ChangeTokens)?;
    let tokens = caller.blocking(|caller| caller.state.tokens.list()).await?;
    Ok(Json(TokenList { tokens }))
}

/// Make a token. Its secret is shown this once.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", security(("token" = [])), request_body = NewToken,
    responses((status = 201, description = "The token, with its secret", body = CreatedToken), responses::Body))]
pub(crate) async fn create(
    caller: Caller,
    Body(new): Body<NewToken>,
) -> Result<(StatusCode, Json<CreatedToken>), Failure> {
    caller.require(Action::ChangeTokens)?;
    let created = caller.blocking(move |caller| {
        let warnings = warning::about_token(&new, |name| caller.ledger().account(name).is_ok());
        Ok(CreatedToken { warnings, ..caller.state.tokens.create(&new)? })
    });
    Ok((StatusCode::CREATED, Json(created.await?)))
}

/// End a token now.
#[utoipa::path(post, path = "/v1/tokens/{id}/revoke", tag = "tokens", security(("token" = [])),
    params(("id" = String, Path, pattern = "^[0-9a-f]{16}$", description = "What names the token; not its secret")),
    responses((status = 200, description = "The token, which has ended", body = TokenDocument), Thing))]
pub(crate) async fn revoke(caller: Caller, Segment(id): Segment) -> Result<Json<TokenDocument>, Failure> {
    caller.require(Action::ChangeTokens)?;
    Ok(Json(caller.blocking(move |caller| caller.state.tokens.revoke(&id)).await?))
}
