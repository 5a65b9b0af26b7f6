//! Who may do what: the one place that decides it.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use taximeter_gate::Gate;
use taximeter_ledger::{AccountName, Error, Key, Ledger, Who};
use taximeter_service::{Code, Problem, Role, Sight, TokenDocument};

use crate::dashboard::SessionId;
use crate::failure::Failure;
use crate::fair::Permit;
use crate::places::Place;
use crate::state::State;
use crate::trace::Trace;

/// Something that a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Look at accounts, their history, receipts and quotes, as far as they are one's own.
    SeeAccounts,
    /// Open or close an account.
    ChangeAccounts,
    /// Charge accounts that are one's own.
    Charge,
    /// Look at datasets that are one's own, and what a question would cost.
    SeeDatasets,
    /// Register data, upload them, choose rows anew, add analysts.
    ChangeDatasets,
    /// Ask a question about a dataset that is one's own.
    Ask,
    /// Look at the ledger as a whole: verify, export, metrics, whether data are where they were.
    Audit,
    /// Read why charged questions have no answer, which may depend on the data.
    ReadLog,
    /// Make, list and revoke tokens.
    ChangeTokens,
}

impl Action {
    /// The role table.
    pub(crate) fn is_allowed(self, role: Role) -> bool {
        match (self, role) {
            (_, Role::Owner) => true,
            (Action::SeeAccounts | Action::SeeDatasets | Action::Audit, Role::Auditor) => true,
            (_, Role::Auditor) => false,
            (Action::SeeAccounts | Action::Charge | Action::SeeDatasets | Action::Ask, Role::Analyst) => true,
            (_, Role::Analyst) => false,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Action::SeeAccounts => "look at accounts",
            Action::ChangeAccounts => "open or close accounts",
            Action::Charge => "charge accounts",
            Action::SeeDatasets => "look at datasets",
            Action::ChangeDatasets => "register data",
            Action::Ask => "ask questions",
            Action::Audit => "look at the ledger as a whole",
            Action::ReadLog => "read the owner's log",
            Action::ChangeTokens => "make or revoke tokens",
        }
    }
}

/// Whoever makes a request, by their token.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) state: Arc<State>,
    pub(crate) token: Arc<TokenDocument>,
    pub(crate) sight: Sight,
    /// The session of somebody who looks at pages.
    session: Option<SessionId>,
    /// One of the requests that the token may have under way; a stream has it to its end.
    _place: Arc<Place<String>>,
}

impl Caller {
    /// Whoever has a valid token, if it may make one more request.
    pub(crate) fn admit(
        state: &Arc<State>,
        token: Arc<TokenDocument>,
        session: Option<SessionId>,
        trace: Option<&Trace>,
    ) -> Result<Caller, Failure> {
        if let Some(trace) = trace {
            trace.is_of(&token);
        }
        state.rates.take(&token.id)?;
        let place = state.places.take(&token.id).ok_or_else(|| {
            Failure::new(
                Code::TooManyRequests,
                "as many requests of this token are under way as one may have; wait for their answers, or ask for a token for each \
                 program",
            )
        })?;
        let sight = match token.role {
            Role::Owner | Role::Auditor => Sight::All,
            Role::Analyst => Sight::Own { accounts: token.accounts.clone(), above: token.sees_above },
        };
        Ok(Caller { state: Arc::clone(state), token, sight, session, _place: Arc::new(place) })
    }

    /// Whether the token, and the session if there is one, have not ended since.
    pub(crate) fn is_valid(&self) -> bool {
        self.state.tokens.is_valid(&self.token.id)
            && self.session.as_ref().is_none_or(|id| self.state.sessions.is_open(id, Instant::now()))
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.state.gate
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.state.ledger()
    }

    /// Takes over what other servers wrote to the same ledger, so that nothing is read that is below the truth.
    pub(crate) async fn fresh(&self) -> Result<(), Failure> {
        Ok(self.ledger().refresh_async().await?)
    }

    /// Waits for the principal's turn to do so much work.
    pub(crate) async fn turn(&self, work: u64) -> Permit {
        self.state.work.take(&self.token.principal, work).await
    }

    /// One of the quotes that the principal may have under way.
    pub(crate) fn quote(&self) -> Result<Place<String>, Failure> {
        self.state.quotes.take(&self.token.principal).ok_or_else(|| {
            Failure::new(
                Code::TooManyRequests,
                format!(
                    "{} has as many quotes under way as one may have; wait for their answers",
                    self.token.principal
                ),
            )
        })
    }

    /// Does blocking work on a thread for it.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Caller) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Failure> {
        let caller = self.clone();
        match tokio::task::spawn_blocking(move || work(&caller)).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(defect()),
        }
    }

    /// Whether the role allows it.
    pub(crate) fn may(&self, action: Action) -> bool {
        action.is_allowed(self.token.role)
    }

    /// The role must allow it.
    pub(crate) fn require(&self, action: Action) -> Result<(), Failure> {
        match self.may(action) {
            true => Ok(()),
            false => Err(Failure::new(
                Code::Forbidden,
                format!(
                    "the token of {} has the role {}, which may not {}",
                    self.token.principal,
                    self.token.role.name(),
                    action.words()
                ),
            )),
        }
    }

    pub(crate) fn is_owner(&self) -> bool {
        self.token.role == Role::Owner
    }

    /// The account must be one that may be seen. The words are the same whether or not there is such an account.
    pub(crate) fn require_sight(&self, name: &AccountName) -> Result<(), Failure> {
        match self.sight.sees(name) {
            true => Ok(()),
            false => Err(self.not_yours("account", name)),
        }
    }

    /// The accounts must be one's own: to charge them, or to read their history.
    pub(crate) fn require_own(&self, names: &[AccountName]) -> Result<(), Failure> {
        match names.iter().find(|name| !self.sight.owns(name)) {
            None => Ok(()),
            Some(name) => Err(self.not_yours("account", name)),
        }
    }

    /// The dataset must be one that may be asked about.
    pub(crate) fn require_dataset(&self, name: &AccountName) -> Result<(), Failure> {
        match self.sees_dataset(name) {
            true => Ok(()),
            false => Err(self.not_yours("dataset", name)),
        }
    }

    pub(crate) fn sees_dataset(&self, name: &AccountName) -> bool {
        self.token.role != Role::Analyst || self.token.datasets.contains(name)
    }

    fn not_yours(&self, what: &str, name: &AccountName) -> Failure {
        let principal = &self.token.principal;
        Failure::new(
            Code::Forbidden,
            format!("{principal}'s token does not cover the {what} {name}; ask an owner for a token that does"),
        )
    }

    /// The ledger's key for a key of the caller's own.
    pub(crate) fn key(&self, key: &Key) -> Result<Key, Error> {
        Key::belonging_to(&self.token.principal, key.as_str())
    }

    /// Who the journal says it was. A request may say it too, but it cannot say another.
    pub(crate) fn signature(&self, said: Option<&Who>) -> Result<Who, Failure> {
        let principal = &self.token.principal;
        match said.filter(|said| said.as_str() != principal) {
            None => Ok(Who::parse("principal", principal)?),
            Some(other) => {
                let detail = format!(
                    "this token belongs to {principal}, so the charge is recorded under that name and not under {other}"
                );
                Err(Problem { parameter: Some("by".to_string()), ..Problem::bad_request(detail) }.into())
            }
        }
    }
}

/// Does work to its end, even if the caller hangs up meanwhile: what was begun takes its time anyway.
pub(crate) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> Result<T, Failure> {
    tokio::spawn(work).await.unwrap_or_else(|_| Err(defect()))
}

/// What a defect says is for the log of the process, not for the caller.
fn defect() -> Failure {
    Failure::new(Code::Storage, "the server failed at this; tell its owner")
}

impl FromRequestParts<Arc<State>> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<State>) -> Result<Caller, Failure> {
        let unauthorized = |detail: &str| Failure::new(Code::Unauthorized, detail);
        let mut values = parts.headers.get_all(header::AUTHORIZATION).iter();
        let value = match (values.next(), values.next()) {
            (Some(value), None) => value,
            (None, _) => return Err(unauthorized("there is no token; send it as `Authorization: Bearer TOKEN`")),
            (Some(_), Some(_)) => return Err(unauthorized("there are two Authorization headers; send one")),
        };
        let secret = value.to_str().ok().and_then(|text| {
            let (scheme, secret) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
        });
        let secret = secret.ok_or_else(|| unauthorized("the token is sent as `Authorization: Bearer TOKEN`"))?;
        let token = state.tokens.find(secret).ok_or_else(|| {
            unauthorized("the token is not known, has expired, or was revoked; ask the owner for a new one")
        })?;
        Caller::admit(state, token, None, parts.extensions.get())
    }
}
