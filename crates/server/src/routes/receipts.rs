//! Receipts: the journal's records, for whoever they are about.

use axum::Json;
use serde::Deserialize;
use taximeter_ledger::{Key, Receipt};
use taximeter_service::{Code, ReceiptDocument, Sight};
use utoipa::IntoParams;

use crate::access::{Action, Caller};
use crate::extract::{Parameters, Segment};
use crate::failure::Failure;
use crate::responses::Thing;

/// A record by its number.
#[utoipa::path(get, path = "/v1/receipts/{sequence}", tag = "charges", security(("token" = [])),
    params(("sequence" = u64, Path, description = "The place of the record in the journal")),
    responses((status = 200, description = "The record, as far as it may be seen", body = ReceiptDocument), Thing))]
pub(crate) async fn by_sequence(caller: Caller, Segment(text): Segment) -> Result<Json<ReceiptDocument>, Failure> {
    caller.require(Action::SeeAccounts)?;
    let sequence: u64 = text
        .parse()
        .map_err(|_| Failure::new(Code::BadRequest, "the number of a record is a whole number, such as 17"))?;
    caller.fresh().await?;
    let receipt = caller.blocking(move |caller| Ok(caller.ledger().receipt(sequence)?)).await?;
    // Of others' records not even that they are there is told.
    let is_own = |receipt: &Receipt| receipt.after().iter().any(|after| caller.sight.owns(&after.account));
    let is_seen = |receipt: &Receipt| caller.sight == Sight::All || is_own(receipt);
    let receipt = receipt.filter(is_seen).ok_or_else(|| {
        Failure::new(Code::NotFound, format!("there is no record {sequence}, or none about accounts of the token"))
    })?;
    Ok(Json(ReceiptDocument::new(&receipt, &caller.sight)))
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
    caller.require(Action::SeeAccounts)?;
    let key = caller.key(&Key::parse("key", &key)?)?;
    caller.fresh().await?;
    let receipt = caller.blocking(move |caller| Ok(caller.ledger().receipt_of(&key)?)).await?;
    let receipt = receipt.ok_or_else(|| {
        Failure::new(Code::NotFound, format!("{} has charged nothing under this key", caller.token.principal))
    })?;
    Ok(Json(ReceiptDocument::new(&receipt, &caller.sight)))
}
