//! Questions: asked of the gate, and explained.

use axum::Json;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use taximeter_gate::{AnswerDocument, Origin};
use taximeter_service::{Caller, Explanation, QuestionRequest};

use crate::extract::{Body, IdempotencyKey};
use crate::failure::Failure;
use crate::responses::{Asking, DatasetBody};

/// The header that says where an answer comes from.
const ANSWER: HeaderName = HeaderName::from_static("taximeter-answer");

/// Ask a question. It is paid for before the data are touched; the same key gives the same answer.
#[utoipa::path(post, path = "/v1/questions", tag = "questions", security(("token" = [])), request_body = QuestionRequest,
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$",
        description = "The same key gives the same answer and charges once [default: a new one]. The principal's name and the key have at most 127 bytes together.")),
    responses(
        (status = 201, description = "An answer that was made just now", body = AnswerDocument, headers(
            ("taximeter-answer" = String, description = "fresh"))),
        (status = 200, description = "An answer that was made before", body = AnswerDocument, headers(
            ("taximeter-answer" = String, description = "replayed, by the same key, or reused, for the same question"))),
        Asking))]
pub(crate) async fn ask(
    caller: Caller,
    IdempotencyKey(key): IdempotencyKey,
    Body(request): Body<QuestionRequest>,
) -> Result<Response, Failure> {
    let (document, origin) = caller.ask(key, request).await?;
    let (status, from) = match origin {
        Origin::Fresh => (StatusCode::CREATED, "fresh"),
        Origin::Replayed => (StatusCode::OK, "replayed"),
        Origin::Reused => (StatusCode::OK, "reused"),
    };
    let headers = [(header::CONTENT_TYPE, "application/json"), (ANSWER, from)];
    Ok((status, headers, document).into_response())
}

/// What a question would run, its noise and its cost. Charges nothing.
#[utoipa::path(post, path = "/v1/questions/explain", tag = "questions", security(("token" = [])), request_body = QuestionRequest,
    responses((status = 200, description = "The statement, its noise and its effect on the accounts that may be seen", body = Explanation), DatasetBody))]
pub(crate) async fn explain(
    caller: Caller,
    Body(request): Body<QuestionRequest>,
) -> Result<Json<Explanation>, Failure> {
    Ok(Json(caller.explain(request).await?))
}
