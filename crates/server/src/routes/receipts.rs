//! Receipts: the journal's records, as far as the caller may see them.

use axum::Json;
use serde::Deserialize;
use taximeter_ledger::Key;
use taximeter_service::{Caller, Code, ReceiptDocument};
use utoipa::IntoParams;

use crate::extract::{Parameters, Segment};
use crate::failure::Failure;
use crate::responses::Thing;

/// A record by its number.
#[utoipa::path(get, path = "/v1/receipts/{sequence}", tag = "charges", security(("token" = [])),
    params(("sequence" = u64, Path, description = "The place of the record in the journal")),
    responses((status = 200, description = "The record, as far as it may be seen", body = ReceiptDocument), Thing))]
pub(crate) async fn by_sequence(caller: Caller, Segment(text): Segment) -> Result<Json<ReceiptDocument>, Failure> {
    let sequence = text.parse();
    let sequence =
        sequence.map_err(|_| Failure::new(Code::BadRequest, "the number of a record is a whole number, such as 17"))?;
    Ok(Json(caller.receipt(sequence).await?))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct KeyParameters {
    /// The idempotency key of a charge or a question of one's own.
    #[param(min_length = 1, max_length = 128)]
    key: String,
}

/// The record of a charge of one's own, by its key.
#[utoipa::path(get, path = "/v1/receipts", tag = "charges", security(("token" = [])), params(KeyParameters),
    responses((status = 200, description = "The record, as far as it may be seen", body = ReceiptDocument), Thing))]
pub(crate) async fn by_key(
    caller: Caller,
    Parameters(KeyParameters { key }): Parameters<KeyParameters>,
) -> Result<Json<ReceiptDocument>, Failure> {
    Ok(Json(caller.receipt_of(&Key::parse("key", &key)?).await?))
}
