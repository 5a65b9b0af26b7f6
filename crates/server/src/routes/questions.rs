//! Questions: asked of the gate, and explained.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use taximeter_gate::{Answer, ErrorKind, GateOutcome, Origin, Prepared, Request};
use taximeter_ledger::{AccountName, Key};
use taximeter_service::{AnswerDocument, Code, Explanation, Problem, QuestionRequest, Role};

use super::charges::{of_key, refused, seen};
use super::datasets::find;
use crate::access::{Action, Caller};
use crate::extract::{Body, IdempotencyKey};
use crate::failure::Failure;
use crate::responses::{Asking, DatasetBody};
use crate::state::State;
use crate::turns::Turn;

/// How much work it is to say what a question would cost: as much as a question of many parts.
const EXPLANATION: u64 = 32;

/// How long a question waits for its turn.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let (document, origin) = answered(caller, key, request).await?;
    let (status, from) = match origin {
        Origin::Fresh => (StatusCode::CREATED, "fresh"),
        Origin::Replayed => (StatusCode::OK, "replayed"),
        Origin::Reused => (StatusCode::OK, "reused"),
    };
    let headers = [(header::CONTENT_TYPE, "application/json"), (ANSWER, from)];
    Ok((status, headers, document).into_response())
}

/// The header that says where an answer comes from.
const ANSWER: HeaderName = HeaderName::from_static("taximeter-answer");

/// The answer as far as the caller may see it, and where it comes from.
pub(crate) async fn answered(caller: Caller, key: Key, request: QuestionRequest) -> Result<(String, Origin), Failure> {
    caller.require(Action::Ask)?;
    let request = gate_request(&caller, request, key)?;
    let turn = turn(&caller).await?;
    // The turn goes along, so that a question whose asker has gone away still counts as one that runs.
    let answer = caller.blocking(move |caller| {
        let _turn: Turn = turn;
        find(caller, &request.dataset)?;
        answer(caller, &request)
    });
    // Whatever came of it waited for its turn, and so for other questions: even what is wrong with it tells when those ended.
    let answer = answer.await;
    release(&caller.state).await;
    answer
}

/// Asks the gate, and tells what may be seen of what came of it.
fn answer(caller: &Caller, request: &Request) -> Result<(String, Origin), Problem> {
    let sight = &caller.sight;
    match caller.gate().ask(request) {
        Ok(GateOutcome::Answered(Answer { document, origin })) => Ok((AnswerDocument::seen(document, sight)?, origin)),
        Ok(GateOutcome::Refused(refusal)) => Err(refused(&refusal, sight)),
        Ok(GateOutcome::NoAnswer(receipt)) => Err(no_answer(request, receipt.sequence())),
        Err(error) => Err(match error.kind() {
            ErrorKind::Ledger(error) => of_key(error.clone(), sight, &request.key),
            // Where the data are, and what is wrong with them, is for owners.
            ErrorKind::DataAway { why, .. } if caller.is_owner() => {
                let detail = format!("{error}: {why}");
                Problem { detail, ..error.into() }
            }
            ErrorKind::KeyTaken { key, .. } => Problem { key: Some(key.to_string()), ..error.into() },
            _ => error.into(),
        }),
    }
}

/// The one outcome of all that goes wrong after a charge: which of it did may depend on the data.
fn no_answer(request: &Request, sequence: u64) -> Problem {
    let detail = "it is charged, and the charge stands, but there is no answer. If the question is still running, ask again later with \
                  the same key; otherwise the owner finds the reason in the log";
    Problem { key: Some(request.key.to_string()), sequence: Some(sequence), ..Problem::new(Code::NoAnswer, detail) }
}

/// A turn to ask, or that it takes too long.
async fn turn(caller: &Caller) -> Result<Turn, Failure> {
    match tokio::time::timeout(PATIENCE, caller.state.questions.take(&caller.token.principal)).await {
        Ok(Ok(turn)) => Ok(turn),
        _ => Err(Failure::new(
            Code::Busy,
            "too many questions are being answered; nothing was charged, try again in a moment",
        )),
    }
}

/// Waits for the next tick, if there are any: whoever gets an answer learns from the time that it took only how many ticks it took.
async fn release(state: &State) {
    if let Some(tick) = state.settings.tick.map(|tick| tick.as_nanos()).filter(|tick| *tick > 0) {
        let left = tick - state.started.elapsed().as_nanos() % tick;
        tokio::time::sleep(Duration::from_nanos(left.min(u64::MAX.into()) as u64)).await;
    }
}

/// The question as the gate takes it, about a dataset and on an account that are the caller's.
fn gate_request(caller: &Caller, request: QuestionRequest, key: Key) -> Result<Request, Failure> {
    let QuestionRequest { dataset, question, price, clamp, account, reuse } = request;
    caller.require_dataset(&dataset)?;
    let account = match account {
        Some(account) => Some(account),
        None => default_account(caller, &dataset)?,
    };
    caller.require_own(account.as_slice())?;
    Ok(Request {
        dataset,
        question,
        price,
        clamp,
        account,
        by: Some(caller.signature(None)?),
        principal: Some(caller.token.principal.clone()),
        key,
        reuse,
    })
}

/// Who pays if it is not said: the dataset's own account, or of an analyst the one account that can.
fn default_account(caller: &Caller, dataset: &AccountName) -> Result<Option<AccountName>, Failure> {
    if caller.token.role != Role::Analyst {
        return Ok(None);
    }
    let mut own = caller.token.accounts.iter().filter(|account| account.path().any(|above| above == dataset.as_str()));
    match (own.next(), own.next()) {
        (Some(account), None) => Ok(Some(account.clone())),
        (None, _) => Err(Failure::new(
            Code::BadRequest,
            format!("no account of the token is {dataset}'s or below it; say with account who pays"),
        )),
        (Some(one), Some(other)) => Err(Failure::new(
            Code::BadRequest,
            format!("{one} and {other} are both accounts of the token; say with account who pays"),
        )),
    }
}

/// What a question would run, its noise and its cost. Charges nothing.
#[utoipa::path(post, path = "/v1/questions/explain", tag = "questions", security(("token" = [])), request_body = QuestionRequest,
    responses((status = 200, description = "What would come of it on the accounts that may be seen", body = Explanation), DatasetBody))]
pub(crate) async fn explain(
    caller: Caller,
    Body(request): Body<QuestionRequest>,
) -> Result<Json<Explanation>, Failure> {
    caller.require(Action::SeeDatasets)?;
    let request = gate_request(&caller, request, Key::generate()?)?;
    let place = caller.quote()?;
    let turn = caller.turn(EXPLANATION).await;
    caller.fresh().await?;
    let explanation = caller.blocking(move |caller| {
        let _taken = (place, turn);
        find(caller, &request.dataset)?;
        let prepared = Prepared::new(caller.gate().catalog(), &request)?;
        let quote = caller.ledger().quote(prepared.charge()).map_err(|error| seen(error, &caller.sight))?;
        Ok(Explanation::new(&prepared, quote, &caller.sight))
    });
    Ok(Json(explanation.await?))
}
