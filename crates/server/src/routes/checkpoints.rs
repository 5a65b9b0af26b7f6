//! Signed checkpoints of the journal, and the proofs that lead to them.

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use taximeter_service::{Caller, CheckpointDocument, ConsistencyProof};
use utoipa::IntoParams;

use crate::extract::Parameters;
use crate::failure::FailedResponse;
use crate::responses::{RecordProblems, TokenRecordProblems};

/// Show the newest signed checkpoint.
#[utoipa::path(get, path = "/v1/checkpoint", tag = "ledger", security(("token" = [])),
    responses((status = 200, description = "The checkpoint", body = CheckpointDocument), TokenRecordProblems))]
pub(crate) async fn show(caller: Caller) -> Result<Json<CheckpointDocument>, FailedResponse> {
    Ok(Json(caller.checkpoint().await?))
}

/// Sign a checkpoint of all records, and keep it.
#[utoipa::path(post, path = "/v1/checkpoint", tag = "ledger", security(("token" = [])),
    responses((status = 201, description = "The checkpoint", body = CheckpointDocument), TokenRecordProblems))]
pub(crate) async fn make(caller: Caller) -> Result<(StatusCode, Json<CheckpointDocument>), FailedResponse> {
    Ok((StatusCode::CREATED, Json(caller.make_checkpoint().await?)))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FromParameters {
    /// How many records the older checkpoint covers.
    from: u64,
}

/// Prove that the newest checkpoint extends an older one.
#[utoipa::path(get, path = "/v1/checkpoint/proof", tag = "ledger", security(("token" = [])), params(FromParameters),
    responses((status = 200, description = "The proof, with the newest checkpoint", body = ConsistencyProof), RecordProblems))]
pub(crate) async fn proof(
    caller: Caller,
    Parameters(FromParameters { from }): Parameters<FromParameters>,
) -> Result<Json<ConsistencyProof>, FailedResponse> {
    Ok(Json(caller.consistency_proof(from).await?))
}
