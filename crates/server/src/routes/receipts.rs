//! Receipts: records of the journal, without what the caller may not see.

use axum::Json;
use serde::Deserialize;
use taximeter_ledger::Key;
use taximeter_service::{Caller, Code, ReceiptDocument, ReceiptProof};
use utoipa::IntoParams;

use crate::extract::{Parameters, Segment};
use crate::failure::FailedResponse;
use crate::responses::ReceiptProblems;

/// Show a record by its number.
#[utoipa::path(get, path = "/v1/receipts/{sequence}", tag = "charges", security(("token" = [])),
    params(("sequence" = u64, Path, description = "The place of the record in the journal")),
    responses((status = 200, description = "The record, without what the caller may not see", body = ReceiptDocument), ReceiptProblems))]
pub(crate) async fn by_sequence(
    caller: Caller,
    Segment(text): Segment,
) -> Result<Json<ReceiptDocument>, FailedResponse> {
    Ok(Json(caller.receipt(number(&text)?).await?))
}

fn number(text: &str) -> Result<u64, FailedResponse> {
    let wrong = |_| FailedResponse::new(Code::BadRequest, "the number of a record is a whole number, such as 17");
    text.parse().map_err(wrong)
}

/// Prove that a record is in the journal of a signed checkpoint.
#[utoipa::path(get, path = "/v1/receipts/{sequence}/proof", tag = "charges", security(("token" = [])),
    params(("sequence" = u64, Path, description = "The place of the record in the journal")),
    responses((status = 200, description = "The record, its proof and the checkpoint", body = ReceiptProof), ReceiptProblems))]
pub(crate) async fn proof(caller: Caller, Segment(text): Segment) -> Result<Json<ReceiptProof>, FailedResponse> {
    Ok(Json(caller.receipt_proof(number(&text)?).await?))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct KeyParameters {
    /// The idempotency key of one of the caller's charges or questions.
    #[param(min_length = 1, max_length = 128)]
    key: String,
}

/// Show the record of one of the caller's own charges, by its key.
#[utoipa::path(get, path = "/v1/receipts", tag = "charges", security(("token" = [])), params(KeyParameters),
    responses((status = 200, description = "The record, without what the caller may not see", body = ReceiptDocument), ReceiptProblems))]
pub(crate) async fn by_key(
    caller: Caller,
    Parameters(KeyParameters { key }): Parameters<KeyParameters>,
) -> Result<Json<ReceiptDocument>, FailedResponse> {
    Ok(Json(caller.receipt_of(&Key::parse("key", &key)?).await?))
}

/// Prove that the record of one of the caller's own charges, by its key, is in the journal of a signed checkpoint.
#[utoipa::path(get, path = "/v1/receipts/proof", tag = "charges", security(("token" = [])), params(KeyParameters),
    responses((status = 200, description = "The record, its proof and the checkpoint", body = ReceiptProof), ReceiptProblems))]
pub(crate) async fn proof_by_key(
    caller: Caller,
    Parameters(KeyParameters { key }): Parameters<KeyParameters>,
) -> Result<Json<ReceiptProof>, FailedResponse> {
    Ok(Json(caller.receipt_proof_of(&Key::parse("key", &key)?).await?))
}
