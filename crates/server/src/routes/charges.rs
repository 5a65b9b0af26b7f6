//! Charges, and quotes of them.

use axum::Json;
use axum::http::StatusCode;
use taximeter_ledger::{Charge, Error, ErrorKind, Key, Outcome, Refusal};
use taximeter_service::{ChargeRequest, Charged, Code, Committed, Problem, QuoteDocument, Refused, Sight};

use crate::access::{Action, Caller, to_the_end};
use crate::extract::{Body, IdempotencyKey};
use crate::failure::Failure;
use crate::fair::Permit;
use crate::responses::{AccountBody, Charging};

/// Charge accounts, together with all above them. Repeated with the same key, it charges once.
#[utoipa::path(post, path = "/v1/charges", tag = "charges", security(("token" = [])), request_body = ChargeRequest,
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$",
        description = "The same key charges once [default: a new one]. The principal's name and the key have at most 127 bytes together.")),
    responses((status = 201, description = "It is charged, on disk", body = Charged),
        (status = 200, description = "It was charged before, under the same key", body = Charged), Charging))]
pub(crate) async fn charge(
    caller: Caller,
    IdempotencyKey(key): IdempotencyKey,
    Body(mut request): Body<ChargeRequest>,
) -> Result<(StatusCode, Json<Charged>), Failure> {
    caller.require(Action::Charge)?;
    caller.require_own(&request.accounts)?;
    request.by = Some(caller.signature(request.by.as_ref())?);
    let charge = request.charge(caller.key(&key)?)?;
    let turn = caller.turn(work(&request)).await;
    to_the_end(charged(caller, key, charge, turn)).await
}

/// Charges, and says what came of it. It holds the caller's turn until all of the work is done.
async fn charged(
    caller: Caller,
    key: Key,
    charge: Charge,
    _turn: Permit,
) -> Result<(StatusCode, Json<Charged>), Failure> {
    let ledger = caller.ledger();
    let outcome = ledger.charge_async(charge).await.map_err(|error| of_key(error, &caller.sight, &key))?;
    let (status, outcome, receipt) = match &outcome {
        Outcome::Charged(fresh) => (StatusCode::CREATED, Committed::Now, fresh.receipt()),
        Outcome::Replayed(receipt) => (StatusCode::OK, Committed::Before, receipt),
        // What fits takes a while to work out.
        Outcome::Refused(refusal) => {
            let refusal = refusal.clone();
            return Err(caller.blocking(move |caller| Ok(refused(&refusal, &caller.sight))).await?.into());
        }
    };
    Ok((status, Json(Charged::new(outcome, key.as_str(), receipt, ledger, &caller.sight)?)))
}

/// How much work a charge or a quote is: every cost is priced for every account.
fn work(request: &ChargeRequest) -> u64 {
    (request.accounts.len() * request.costs.len()) as u64
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

/// An error of a charge, with the key as the caller knows it where asking again with it tells more.
pub(crate) fn of_key(error: Error, sight: &Sight, key: &Key) -> Problem {
    let problem = match error.kind() {
        ErrorKind::KeyTaken { record, .. } => {
            Error::from(ErrorKind::KeyTaken { key: key.clone(), record: *record }).into()
        }
        _ => seen(error, sight),
    };
    let tells = matches!(problem.code, Code::UnknownOutcome | Code::KeyReused);
    Problem { key: tells.then(|| key.to_string()), ..problem }
}

/// An error that is about an account which may not be seen does not say which, or what its rule is.
pub(crate) fn seen(error: Error, sight: &Sight) -> Problem {
    match error.kind() {
        ErrorKind::UnsupportedCost { account, .. } if !sight.sees(account) => Problem::bad_request(
            "an account above has no theorem for a cost of this kind; ask its owner which it takes",
        ),
        _ => error.into(),
    }
}

/// What would come of a charge. Charges nothing.
#[utoipa::path(post, path = "/v1/quotes", tag = "charges", security(("token" = [])), request_body = ChargeRequest,
    responses((status = 200, description = "What would come of it on the accounts that may be seen", body = QuoteDocument), AccountBody))]
pub(crate) async fn quote(
    caller: Caller,
    Body(mut request): Body<ChargeRequest>,
) -> Result<Json<QuoteDocument>, Failure> {
    caller.require(Action::SeeAccounts)?;
    caller.require_own(&request.accounts)?;
    request.by = Some(caller.signature(request.by.as_ref())?);
    let charge = request.charge(Key::generate()?)?;
    let place = caller.quote()?;
    let turn = caller.turn(work(&request)).await;
    caller.fresh().await?;
    // They go along, so that a quote whose asker has gone away still counts.
    let quote = caller.blocking(move |caller| {
        let _taken = (place, turn);
        let quote = caller.ledger().quote(&charge).map_err(|error| seen(error, &caller.sight))?;
        Ok(QuoteDocument::new(quote, &caller.sight))
    });
    Ok(Json(quote.await?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use axum::body::Body;
    use axum::extract::Request;
    use taximeter_gate::Gate;
    use taximeter_ledger::{AccountName, Ledger, Location, Options};
    use taximeter_service::{NewAccount, NewToken, Role};
    use taximeter_testing::PATIENCE;

    use crate::state::State;
    use crate::{Log, LogForm, Service, Settings, TokenPlace, Tokens};

    /// A request with a token, about one account.
    fn request(path: &str, secret: &str) -> Request {
        let body = r#"{"accounts":["census"],"costs":[{"epsilon":"0.01"}]}"#;
        let request = Request::post(path).header("content-type", "application/json");
        request.header("authorization", format!("Bearer {secret}")).body(Body::from(body)).unwrap()
    }

    /// A server with the account `census`, and the tokens of two analysts who may charge it.
    fn served() -> (tempfile::TempDir, Arc<State>, [String; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("taximeter.db"));
        let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
        let account = r#"{"account":"census","filter":{"budget":{"epsilon":"1","delta":"1e-6"}}}"#;
        let account: NewAccount = serde_json::from_str(account).unwrap();
        ledger.open_account(account.spec(None).unwrap()).unwrap();
        let tokens = Tokens::open(&TokenPlace::of(&location), ledger.id()).unwrap();
        let secrets = ["mallory", "bob"].map(|principal| {
            let (principal, accounts) = (principal.to_string(), vec![AccountName::parse("census").unwrap()]);
            let (role, datasets, sees_above, expires) = (Role::Analyst, Vec::new(), false, None);
            tokens.create(&NewToken { principal, role, accounts, datasets, sees_above, expires }).unwrap().secret
        });
        let gate = Gate::open(&folder.path().join("gate"), ledger).unwrap();
        let state = State::new(gate, tokens, Log::new(LogForm::Off), Settings::default()).unwrap();
        (folder, state, secrets)
    }

    /// Waits until something holds, and lets others work meanwhile.
    async fn until(what: &str, holds: impl Fn() -> bool) {
        let waiting = async {
            while !holds() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited {PATIENCE:?} until {what}"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_charge_whose_caller_hangs_up_counts_as_hers_until_its_work_has_ended() {
        let (_folder, state, [mallory, _]) = served();
        let ledger = state.ledger().clone();
        let before = ledger.position().sequence;
        // The writer waits for whoever looks at the books.
        let ((looks, looked), (let_go, held)) = (channel(), channel());
        let looking = std::thread::spawn(move || {
            ledger.look(&AccountName::parse("census").unwrap(), |_| {
                looks.send(()).unwrap();
                held.recv().unwrap();
            })
        });
        looked.recv().unwrap();
        let (service, request) = (Service::new(&state), request("/v1/charges", &mallory));
        let charging = tokio::spawn(async move { service.answer(request).await });
        until("the charge is under way", || state.work.busy() > 0).await;
        charging.abort();
        assert!(charging.await.unwrap_err().is_cancelled());
        assert!(state.work.busy() > 0, "the writer is still at it");
        let_go.send(()).unwrap();
        looking.join().unwrap().unwrap();
        until("its work has ended", || state.work.busy() == 0).await;
        assert_eq!(state.ledger().position().sequence, before + 1, "and it is charged");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_flood_of_quotes_keeps_nobody_else_from_charging() {
        let (_folder, state, [mallory, bob]) = served();
        let service = Service::new(&state);
        // As much of her work is under way as one may have, and as many quotes wait for it.
        let busy = state.work.take("mallory", u64::MAX).await;
        let send = |path: &'static str, secret: &str| {
            let (service, request) = (service.clone(), request(path, secret));
            tokio::spawn(async move { service.answer(request).await.status().as_u16() })
        };
        let quotes: Vec<_> = (0..Settings::default().quotes_at_once).map(|_| send("/v1/quotes", &mallory)).collect();
        until("they wait for her own work", || state.work.waiting() == quotes.len()).await;
        assert_eq!(send("/v1/quotes", &mallory).await.unwrap(), 429);
        assert_eq!(send("/v1/charges", &bob).await.unwrap(), 201);
        assert_eq!(send("/v1/quotes", &bob).await.unwrap(), 200);
        assert!(quotes.iter().all(|quote| !quote.is_finished()), "they wait for their own work alone");
        drop(busy);
        for quote in quotes {
            assert_eq!(quote.await.unwrap(), 200);
        }
    }
}
