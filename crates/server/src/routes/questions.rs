//! Questions: asking, explaining the cost, and trying on made-up rows.

use axum::Json;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use taximeter_gate::{AnswerDocument, DummyAnswer, Origin};
use taximeter_service::{Caller, Explanation, QuestionRequest, StudyPlan, StudyRequest};
use utoipa::IntoParams;

use crate::extract::{IdempotencyKey, JsonBody, Parameters};
use crate::failure::FailedResponse;
use crate::responses::{DatasetBodyProblems, QuestionProblems};

/// The header with the origin of an answer.
const ANSWER: HeaderName = HeaderName::from_static("taximeter-answer");

/// Ask a question. It is charged before the data are touched; the same key gives the same answer.
#[utoipa::path(post, path = "/v1/questions", tag = "questions", security(("token" = [])), request_body = QuestionRequest,
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$",
        description = "The same key gives the same answer and charges once [default: a new one]. \
                       The principal's name and the key have at most 127 bytes together.")),
    responses(
        (status = 201, description = "A new answer", body = AnswerDocument, headers(
            ("taximeter-answer" = String, description = "fresh"))),
        (status = 200, description = "An earlier answer", body = AnswerDocument, headers(
            ("taximeter-answer" = String, description = "replayed, by the same key, or reused, for the same question"))),
        QuestionProblems))]
pub(crate) async fn ask(
    caller: Caller,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(request): JsonBody<QuestionRequest>,
) -> Result<Response, FailedResponse> {
    let (document, origin) = caller.ask(key, request).await?;
    let (status, from) = match origin {
        Origin::Fresh => (StatusCode::CREATED, "fresh"),
        Origin::Replayed => (StatusCode::OK, "replayed"),
        Origin::Reused => (StatusCode::OK, "reused"),
    };
    let headers = [(header::CONTENT_TYPE, "application/json"), (ANSWER, from)];
    Ok((status, headers, document).into_response())
}

/// Explain a question: its statement, noise and cost. Charges nothing.
#[utoipa::path(post, path = "/v1/questions/explain", tag = "questions", security(("token" = [])), request_body = QuestionRequest,
    responses((status = 200, description = "The statement, its noise and its effect on the accounts that the caller may see",
        body = Explanation), DatasetBodyProblems))]
pub(crate) async fn explain(
    caller: Caller,
    JsonBody(request): JsonBody<QuestionRequest>,
) -> Result<Json<Explanation>, FailedResponse> {
    Ok(Json(caller.explain(request).await?))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DummyParameters {
    /// How many rows are made up [default: 1000].
    #[param(minimum = 1, maximum = 100_000)]
    rows: Option<u32>,
}

/// Try a question on made-up rows, which follow from the declaration alone. Charges nothing and touches no data.
#[utoipa::path(post, path = "/v1/questions/dummy", tag = "questions", security(("token" = [])), request_body = QuestionRequest,
    params(DummyParameters),
    responses((status = 200, description = "An answer from made-up rows, marked as such", body = DummyAnswer), DatasetBodyProblems))]
pub(crate) async fn dummy(
    caller: Caller,
    Parameters(DummyParameters { rows }): Parameters<DummyParameters>,
    JsonBody(request): JsonBody<QuestionRequest>,
) -> Result<Json<DummyAnswer>, FailedResponse> {
    Ok(Json(caller.ask_dummy(request, rows).await?))
}

/// Plan a study: what each of its questions costs, which budget all of them need, and whether they fit now. Charges nothing.
#[utoipa::path(post, path = "/v1/plans", tag = "questions", security(("token" = [])), request_body = StudyRequest,
    responses((status = 200, description = "The plan, with what it needs of the accounts that the caller may see, and what it leaves",
        body = StudyPlan), DatasetBodyProblems))]
pub(crate) async fn plan(
    caller: Caller,
    JsonBody(study): JsonBody<StudyRequest>,
) -> Result<Json<StudyPlan>, FailedResponse> {
    Ok(Json(caller.plan(study).await?))
}
