//! Questions: asking the gate, explaining the cost, and trying on made-up rows.

use std::time::Duration;

use taximeter_gate::{
    Answer, AnswerDocument, DummyAnswer, ErrorKind, GateOutcome, JoinableDatasets, Origin, Prepared, Request,
};
use taximeter_ledger::{AccountName, Key};

use crate::caller::{Action, Caller};
use crate::charges::{hide_unseen, refused, with_key};
use crate::limits::QuestionPermit;
use crate::{Code, Explanation, Problem, QuestionRequest, Role, TokenDocument};

/// The work of an explanation: that of a quote with many costs.
pub(crate) const EXPLANATION: u64 = 32;

/// How long a question waits in the queue.
const PATIENCE: Duration = Duration::from_secs(30);

impl Caller {
    /// Asks a question. It is charged before the data are touched; the same key gives the same answer. Returns the stored document, byte
    /// for byte or without what the caller may not see, and its origin.
    pub async fn ask(&self, key: Key, request: QuestionRequest) -> Result<(String, Origin), Problem> {
        self.require(Action::Ask)?;
        let request = self.gate_request(request, key)?;
        let permit = self.question_permit().await?;
        let answer = self.blocking(move |caller| {
            // Held to the end: a question counts as running even if its caller hangs up.
            let _held: QuestionPermit = permit;
            caller.gate().catalog().dataset(&request.dataset)?;
            caller.answer(&request)
        });
        // Errors are released on a tick too: after the queue, their time would tell when other questions ended.
        let answer = answer.await;
        self.service.until_tick().await;
        answer
    }

    /// Asks the gate, and returns what the caller may see of the answer.
    fn answer(&self, request: &Request) -> Result<(String, Origin), Problem> {
        let sight = self.sight();
        match self.gate().ask(request) {
            Ok(GateOutcome::Answered(Answer { document, origin })) => {
                Ok((AnswerDocument::seen(document, sight)?, origin))
            }
            Ok(GateOutcome::Refused(refusal)) => Err(refused(&refusal, sight)),
            Ok(GateOutcome::NoAnswer(receipt)) => Err(no_answer(request, receipt.sequence())),
            Err(error) => Err(match error.kind() {
                ErrorKind::Ledger(error) => with_key(error.clone(), sight, &request.key),
                // The location of the data, and the reason, are for owners.
                ErrorKind::DataAway { why, .. } if self.is_owner() => {
                    let detail = format!("{error}: {why}");
                    Problem { detail, ..error.into() }
                }
                ErrorKind::KeyTaken { key, .. } => Problem { key: Some(key.to_string()), ..error.into() },
                _ => error.into(),
            }),
        }
    }

    /// The statement that a question would run, its noise and its cost. Charges nothing.
    pub async fn explain(&self, request: QuestionRequest) -> Result<Explanation, Problem> {
        self.require(Action::SeeDatasets)?;
        let request = self.gate_request(request, Key::generate()?)?;
        let slot = self.quote_slot()?;
        let turn = self.turn(EXPLANATION).await;
        self.refresh().await?;
        let explanation = move |caller: &Caller| {
            let _held = (slot, turn);
            let catalog = caller.gate().catalog();
            catalog.dataset(&request.dataset)?;
            let prepared = Prepared::new(catalog, &request)?;
            let quote = caller.ledger().quote(prepared.charge()).map_err(|error| hide_unseen(error, caller.sight()))?;
            Ok(Explanation::new(&prepared, quote, caller.sight(), caller.is_owner()))
        };
        self.blocking(explanation).await
    }

    /// Answers a question from made-up rows, by default a thousand. Charges nothing and touches no data.
    pub async fn ask_dummy(&self, request: QuestionRequest, rows: Option<u32>) -> Result<DummyAnswer, Problem> {
        self.require(Action::Ask)?;
        let request = self.gate_request(request, Key::generate()?)?;
        let permit = self.question_permit().await?;
        let answer = self.blocking(move |caller| {
            let _held: QuestionPermit = permit;
            let catalog = caller.gate().catalog();
            catalog.dataset(&request.dataset)?;
            Ok(DummyAnswer::new(catalog, &request, rows.unwrap_or(DummyAnswer::ROWS))?)
        });
        let answer = answer.await;
        // As with a paid question: after the queue, the time would tell when other questions ended.
        self.service.until_tick().await;
        answer
    }

    /// Waits in the queue for a permit to ask.
    async fn question_permit(&self) -> Result<QuestionPermit, Problem> {
        match tokio::time::timeout(PATIENCE, self.service.questions.take(&self.token().principal)).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Problem::new(
                Code::Busy,
                "too many questions are being answered; nothing was charged, try again in a moment",
            )),
        }
    }

    /// The request to the gate. The dataset and the account must be the caller's.
    pub(crate) fn gate_request(&self, mut request: QuestionRequest, key: Key) -> Result<Request, Problem> {
        self.require_dataset(&request.dataset)?;
        if request.account.is_none() {
            request.account = self.default_account(&request.dataset)?;
        }
        self.require_own(request.account.as_slice())?;
        self.require_own(request.joined_account.as_slice())?;
        let joinable = self.joinable(&request);
        let request = request.for_gate(key, Some(self.signature(None)?), Some(self.token().principal.clone()));
        Ok(Request { joinable, ..request })
    }

    /// The datasets that a question of the caller may join: those that the caller may ask about, paid for by one of the caller's accounts.
    fn joinable(&self, request: &QuestionRequest) -> JoinableDatasets {
        let TokenDocument { role, datasets, accounts, .. } = &**self.token();
        if *role != Role::Analyst {
            return JoinableDatasets::Any(request.joined_account.clone());
        }
        let payer = |dataset: &AccountName| {
            let pays = |account: &&AccountName| account.path().any(|above| above == dataset.as_str());
            let mut own = accounts.iter().filter(pays);
            let account = match &request.joined_account {
                Some(account) => Some(account).filter(pays),
                None => own.next().filter(|_| own.next().is_none()),
            };
            (dataset.clone(), account.cloned())
        };
        JoinableDatasets::These(datasets.iter().map(payer).collect())
    }

    /// The account that pays if the request names none: the dataset's own, or an analyst's only account below it.
    fn default_account(&self, dataset: &AccountName) -> Result<Option<AccountName>, Problem> {
        if self.token().role != Role::Analyst {
            return Ok(None);
        }
        let accounts = self.token().accounts.iter();
        let mut own = accounts.filter(|account| account.path().any(|above| above == dataset.as_str()));
        match (own.next(), own.next()) {
            (Some(account), None) => Ok(Some(account.clone())),
            (None, _) => Err(Problem::bad_request(format!(
                "the token has no account at or below {dataset}; name the account that pays"
            ))),
            (Some(one), Some(other)) => Err(Problem::bad_request(format!(
                "the token has several accounts that can pay, such as {one} and {other}; name the one that pays"
            ))),
        }
    }
}

/// The one error for every failure after a charge: the cause may depend on the data.
fn no_answer(request: &Request, sequence: u64) -> Problem {
    let detail = "the question is charged, and the charge stands, but there is no answer. If it is still running, ask again later with \
                  the same key; otherwise the owner finds the reason in the log";
    Problem { key: Some(request.key.to_string()), sequence: Some(sequence), ..Problem::new(Code::NoAnswer, detail) }
}
