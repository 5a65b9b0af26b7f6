//! Who the caller is and what they may do: the only place that decides it.

use std::sync::Arc;

use taximeter_gate::Gate;
use taximeter_ledger::{AccountName, Error, Key, Ledger, Who};

use crate::limits::{Permit, Slot};
use crate::service::Service;
use crate::trace::Trace;
use crate::{Code, Problem, Role, Sight, TokenDocument};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// View one's own accounts, their history, receipts and quotes.
    SeeAccounts,
    /// Open or close an account.
    ChangeAccounts,
    /// Charge one's own accounts.
    Charge,
    /// View one's own datasets, and what a question would cost.
    SeeDatasets,
    /// Register, upload and refresh data, and add analysts.
    ChangeDatasets,
    /// Ask a question about one's own dataset.
    Ask,
    /// View the ledger as a whole: verify, export, metrics, and checks of the data.
    Audit,
    /// Read why charged questions have no answer, which may depend on the data.
    ReadLog,
    /// Create, list and revoke tokens.
    ChangeTokens,
}

impl Action {
    /// The role table.
    pub fn is_allowed(self, role: Role) -> bool {
        match (self, role) {
            (_, Role::Owner) => true,
            (Action::SeeAccounts | Action::SeeDatasets | Action::Audit, Role::Auditor) => true,
            (_, Role::Auditor) => false,
            (Action::SeeAccounts | Action::Charge | Action::SeeDatasets | Action::Ask, Role::Analyst) => true,
            (_, Role::Analyst) => false,
        }
    }

    fn verb(self) -> &'static str {
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

/// A principal that makes a request, authenticated by a token of this server or of its issuer. Its methods are the operations of the
/// service: they check the role and the accounts, apply the limits, and return documents without what the token may not see. Problems
/// have internal details for owners only.
#[derive(Clone)]
pub struct Caller {
    pub(crate) service: Arc<Service>,
    token: Arc<TokenDocument>,
    sight: Sight,
    /// Whether the session, or another condition besides the token, still holds.
    is_admitted: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// A slot of the token's concurrent requests; a stream holds it to its end.
    _slot: Arc<Slot<String>>,
}

impl Caller {
    /// Admits the holder of a valid token, within its rate limit and its limit of concurrent requests.
    pub fn admit(service: &Arc<Service>, token: Arc<TokenDocument>, trace: Option<&Trace>) -> Result<Caller, Problem> {
        if let Some(trace) = trace {
            trace.identify(&token);
        }
        service.rates.take(&token.id)?;
        let slot = service.requests.take(&token.id).ok_or_else(|| {
            Problem::new(
                Code::TooManyRequests,
                "this token has too many requests under way; wait for their answers, or ask for one token per program",
            )
        })?;
        let sight = match token.role {
            Role::Owner | Role::Auditor => Sight::All,
            Role::Analyst => Sight::Own { accounts: token.accounts.clone(), above: token.sees_above },
        };
        Ok(Caller { service: Arc::clone(service), token, sight, is_admitted: None, _slot: Arc::new(slot) })
    }

    /// The same caller, admitted only while a condition holds, such as an open session.
    pub fn admitted_while(self, condition: impl Fn() -> bool + Send + Sync + 'static) -> Caller {
        Caller { is_admitted: Some(Arc::new(condition)), ..self }
    }

    /// Whether the token is still valid, and the condition of admission still holds.
    pub fn is_valid(&self) -> bool {
        self.service.tokens.is_valid(&self.token) && self.is_admitted.as_ref().is_none_or(|holds| holds())
    }

    /// The token.
    pub fn token(&self) -> &Arc<TokenDocument> {
        &self.token
    }

    /// Which accounts the token may see.
    pub fn sight(&self) -> &Sight {
        &self.sight
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.service.gate
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.service.ledger()
    }

    /// Reads what other servers wrote to the same ledger, so that no reading is too low.
    pub async fn refresh(&self) -> Result<(), Problem> {
        self.ledger().refresh_async().await.map_err(|error| self.redact(error.into()))
    }

    /// Waits in the queue for a permit to do an amount of work.
    pub(crate) async fn turn(&self, work: u64) -> Permit {
        self.service.work.take(&self.token.principal, work).await
    }

    /// A slot of the principal's concurrent quotes.
    pub(crate) fn quote_slot(&self) -> Result<Slot<String>, Problem> {
        self.service.quotes.take(&self.token.principal).ok_or_else(|| {
            let principal = &self.token.principal;
            let detail = format!("{principal} has too many quotes under way; wait for their answers");
            Problem::new(Code::TooManyRequests, detail)
        })
    }

    /// Runs blocking work on a thread for it.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Caller) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let caller = self.clone();
        match tokio::task::spawn_blocking(move || work(&caller)).await {
            Ok(result) => result.map_err(|problem| self.redact(problem)),
            Err(_) => Err(defect()),
        }
    }

    /// Removes internal details, unless the caller is an owner.
    pub(crate) fn redact(&self, problem: Problem) -> Problem {
        if self.is_owner() { problem } else { problem.redacted() }
    }

    /// Whether the role allows an action.
    pub fn may(&self, action: Action) -> bool {
        action.is_allowed(self.token.role)
    }

    /// Rejects an action that the role does not allow.
    pub fn require(&self, action: Action) -> Result<(), Problem> {
        match self.may(action) {
            true => Ok(()),
            false => Err(Problem::new(
                Code::Forbidden,
                format!(
                    "the token of {} has the role {}, which may not {}",
                    self.token.principal,
                    self.token.role.name(),
                    action.verb()
                ),
            )),
        }
    }

    /// Whether the caller is an owner.
    pub fn is_owner(&self) -> bool {
        self.token.role == Role::Owner
    }

    /// Rejects an account that the caller may not see. The error is the same whether or not the account exists.
    pub(crate) fn require_sight(&self, name: &AccountName) -> Result<(), Problem> {
        match self.sight.sees(name) {
            true => Ok(()),
            false => Err(self.not_covered("account", name)),
        }
    }

    /// Rejects accounts that are not the caller's own: only those may be charged, and have a history.
    pub(crate) fn require_own(&self, names: &[AccountName]) -> Result<(), Problem> {
        match names.iter().find(|name| !self.sight.owns(name)) {
            None => Ok(()),
            Some(name) => Err(self.not_covered("account", name)),
        }
    }

    /// Rejects a dataset that the caller may not ask about.
    pub(crate) fn require_dataset(&self, name: &AccountName) -> Result<(), Problem> {
        match self.sees_dataset(name) {
            true => Ok(()),
            false => Err(self.not_covered("dataset", name)),
        }
    }

    pub(crate) fn sees_dataset(&self, name: &AccountName) -> bool {
        self.token.role != Role::Analyst || self.token.datasets.contains(name)
    }

    fn not_covered(&self, what: &str, name: &AccountName) -> Problem {
        let principal = &self.token.principal;
        let detail =
            format!("{principal}'s token does not cover the {what} {name}; ask an owner for a token that does");
        Problem::new(Code::Forbidden, detail)
    }

    /// The ledger's key for one of the caller's keys.
    pub(crate) fn key(&self, key: &Key) -> Result<Key, Error> {
        Key::belonging_to(&self.token.principal, key.as_str())
    }

    /// The name that the journal records: the principal's. A request may repeat it, but not give another.
    pub(crate) fn signature(&self, given: Option<&Who>) -> Result<Who, Problem> {
        let principal = &self.token.principal;
        match given.filter(|given| given.as_str() != principal) {
            None => Ok(Who::parse("principal", principal)?),
            Some(other) => {
                let detail = format!(
                    "this token belongs to {principal}, so the charge is recorded under that name and not under {other}"
                );
                Err(Problem { parameter: Some("by".to_string()), ..Problem::bad_request(detail) })
            }
        }
    }
}

/// Completes work even if the caller hangs up, so that its permit is held until the work has ended.
pub(crate) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(work).await.unwrap_or_else(|_| Err(defect()))
}

/// A panic. Its message goes to the log of the process only.
fn defect() -> Problem {
    Problem::new(Code::Storage, "the server failed because of a defect; tell its owner")
}
