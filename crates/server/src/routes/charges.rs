//! Charges, and quotes of them.

use axum::Json;
use axum::http::StatusCode;
use taximeter_service::{Caller, ChargeRequest, Charged, Committed, QuoteDocument};

use crate::extract::{IdempotencyKey, JsonBody};
use crate::failure::FailedResponse;
use crate::responses::{AccountBodyProblems, ChargeProblems};

/// Charge accounts, together with all above them. Repeated with the same key, it charges once.
#[utoipa::path(post, path = "/v1/charges", tag = "charges", security(("token" = [])), request_body = ChargeRequest,
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$",
        description = "The same key charges once [default: a new one]. The principal's name and the key have at most 127 bytes together.")),
    responses((status = 201, description = "It is charged, on disk", body = Charged),
        (status = 200, description = "It was charged before, under the same key", body = Charged), ChargeProblems))]
pub(crate) async fn charge(
    caller: Caller,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(request): JsonBody<ChargeRequest>,
) -> Result<(StatusCode, Json<Charged>), FailedResponse> {
    let charged = caller.charge(key, request).await?;
    let status = match charged.outcome {
        Committed::Now => StatusCode::CREATED,
        Committed::Before => StatusCode::OK,
    };
    Ok((status, Json(charged)))
}

/// Show the effect of a charge. Charges nothing.
#[utoipa::path(post, path = "/v1/quotes", tag = "charges", security(("token" = [])), request_body = ChargeRequest,
    responses((status = 200, description = "The effect on accounts that the caller may see", body = QuoteDocument), AccountBodyProblems))]
pub(crate) async fn quote(
    caller: Caller,
    JsonBody(request): JsonBody<ChargeRequest>,
) -> Result<Json<QuoteDocument>, FailedResponse> {
    Ok(Json(caller.quote(request).await?))
}
