//! Charges, and quotes of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Shared;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use taximeter_api::{
    ChargeRequest, Charged, ChargedOutcome, Code, Problem, QuoteDocument, Refused, Sight, closed_branches,
    open_branches,
};
use taximeter_ledger::{AccountName, Key, Outcome, Refusal};

use super::{blocking, fresh};
use crate::access::{Action, Caller};
use crate::extract::{Body, IdempotencyKey};
use crate::failure::Failure;
use crate::responses::{AccountBody, Charging};
use crate::state::State;

/// Charge accounts, together with all above them. Repeated with the same key, it charges once.
#[utoipa::path(post, path = "/v1/charges", tag = "charges", security(("token" = [])), request_body = ChargeRequest,
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$",
        description = "The same key charges once [default: a new one]. The principal's name and the key have at most 127 bytes together.")),
    responses((status = 201, description = "It is charged, on disk", body = Charged),
        (status = 200, description = "It was charged before, under the same key", body = Charged), Charging))]
pub(crate) async fn charge(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    IdempotencyKey(key): IdempotencyKey,
    Body(mut request): Body<ChargeRequest>,
) -> Result<Response, Failure> {
    caller.require(Action::Charge)?;
    caller.require_own(&request.accounts)?;
    request.by = Some(caller.signature(request.by.as_ref())?);
    let ledger = state.ledger();
    let charge = request.charge(caller.key(&key)?)?;
    let before = open_branches(ledger, &request.accounts, &caller.sight);
    // Whoever goes away meanwhile finds out with the same key.
    let outcome = ledger.charge_async(charge).await.map_err(|error| of_key(error.into(), &caller, &key))?;
    match outcome {
        Outcome::Charged(fresh) => {
            let closed = closed_branches(ledger, before);
            let (outcome, receipt) = (ChargedOutcome::Charged, fresh.receipt());
            let charged = Charged::new(outcome, key.as_str(), receipt, &closed, ledger, &caller.sight)?;
            Ok(document(StatusCode::CREATED, &charged))
        }
        Outcome::Replayed(receipt) => {
            let charged = Charged::new(ChargedOutcome::Replayed, key.as_str(), &receipt, &[], ledger, &caller.sight)?;
            Ok(document(StatusCode::OK, &charged))
        }
        // What fits takes a while to work out.
        Outcome::Refused(refusal) => {
            let told = move |_: &State| Ok::<_, Problem>(refused(&refusal, &caller.sight));
            Err(Failure(Box::new(blocking(&state, told).await?)))
        }
    }
}

/// A document of about the size of a record, in one piece of memory.
fn document(status: StatusCode, charged: &Charged) -> Response {
    let mut body = Vec::with_capacity(4096);
    match serde_json::to_writer(&mut body, charged) {
        Ok(()) => (status, [(header::CONTENT_TYPE, "application/json")], body).into_response(),
        // It is charged; the same key tells.
        Err(error) => Failure::new(Code::UnknownOutcome, error.to_string()).into_response(),
    }
}

/// A refusal as a problem.
pub(crate) fn refused(refusal: &Refusal, sight: &Sight) -> Problem {
    let refusal = Refused::new(refusal, sight);
    let by = refusal.refused.iter().map(|refused| match &refused.account {
        Some(account) => format!("{account}: {}", refused.reason),
        None => refused.reason.clone(),
    });
    let detail = format!("nothing was charged; {}", by.collect::<Vec<_>>().join("; "));
    Problem { refusal: Some(refusal), ..Problem::new(Code::Refused, detail) }
}

/// A problem of a charge, with the key as the caller knows it where asking again with it tells more.
pub(crate) fn of_key(problem: Problem, caller: &Caller, key: &Key) -> Problem {
    match problem.code {
        Code::UnknownOutcome => Problem { key: Some(key.to_string()), ..problem },
        Code::KeyReused => {
            let own = format!("\"{}:", caller.token.principal);
            Problem { key: Some(key.to_string()), detail: problem.detail.replacen(&own, "\"", 1), ..problem }
        }
        Code::BadRequest => without_hidden(problem, &caller.sight),
        _ => problem,
    }
}

/// A problem that is about an account which may not be seen does not say which, or what its rule is.
fn without_hidden(problem: Problem, sight: &Sight) -> Problem {
    let about =
        problem.detail.strip_prefix("account ").and_then(|rest| AccountName::parse(rest.split_once(": ")?.0).ok());
    match about.is_some_and(|account| !sight.sees(&account)) {
        true => Problem::bad_request(
            "an account above has no theorem for a cost of this kind; ask its owner which it takes",
        ),
        false => problem,
    }
}

/// What would come of a charge. Charges nothing.
#[utoipa::path(post, path = "/v1/quotes", tag = "charges", security(("token" = [])), request_body = ChargeRequest,
    responses((status = 200, description = "What would come of it on the accounts that may be seen", body = QuoteDocument), AccountBody))]
pub(crate) async fn quote(
    Shared(state): Shared<Arc<State>>,
    caller: Caller,
    Body(mut request): Body<ChargeRequest>,
) -> Result<Json<QuoteDocument>, Failure> {
    caller.require(Action::SeeAccounts)?;
    caller.require_own(&request.accounts)?;
    request.by = Some(caller.signature(request.by.as_ref())?);
    let charge = request.charge(Key::generate()?)?;
    fresh(&state).await?;
    let quote = blocking(&state, move |state| {
        let quote = state.ledger().quote(&charge).map_err(|error| without_hidden(error.into(), &caller.sight))?;
        Ok::<_, Problem>(QuoteDocument::new(quote, &caller.sight))
    });
    Ok(Json(quote.await?))
}
