//! The caller's own stored answers that were released.

use jiff::Timestamp;
use taximeter_gate::StoredAnswer;
use taximeter_ledger::{Charge, Event, Key};

use crate::caller::{Action, Caller};
use crate::service::Service;
use crate::{AnswerDocument, Code, Problem};

/// A question of the caller's own that was charged.
pub struct OwnAnswer {
    /// Its idempotency key.
    pub key: String,
    /// The dataset.
    pub dataset: String,
    /// When it was charged, by the journal. The time of the answer is secret: how long it took may depend on the data.
    pub time: Option<String>,
    /// The number of the charge in the journal.
    pub sequence: Option<u64>,
    /// What was charged.
    pub charge: Option<Charge>,
    /// Whether the charge, and whether it stands, waits for witnesses that cannot be told of it. Then nothing is known of it.
    pub waits_for_witnesses: bool,
    /// The answer without what the caller may not see; `None` if there is none.
    pub document: Option<String>,
}

/// The most answers on one page.
const PAGE: u32 = 20;

impl Caller {
    /// A page of the caller's own answers, newest first, and the key after which the next page starts.
    pub async fn answers(&self, before: Option<&str>) -> Result<(Vec<OwnAnswer>, Option<String>), Problem> {
        self.require(Action::Ask)?;
        self.refresh().await?;
        let (before, now) = (before.map(str::to_string), Moment::now(&self.service));
        let read = move |caller: &Caller| {
            let principal = &caller.token().principal;
            let mut answers = caller.gate().catalog().answers_of(principal, before.as_deref(), PAGE + 1)?;
            let is_more = answers.len() > PAGE as usize;
            answers.truncate(PAGE as usize);
            let next = answers.last().map(|last| last.key.clone()).filter(|_| is_more);
            let released = answers.into_iter().filter(|answer| caller.is_shown(answer, now));
            Ok((released.map(|answer| caller.listed_answer(answer)).collect::<Result<_, Problem>>()?, next))
        };
        self.blocking(read).await
    }

    /// The caller's own answer under a key. The error is the same whether the key belongs to someone else, the question is still
    /// running, or the key was never used.
    pub async fn own_answer_of(&self, key: &str) -> Result<OwnAnswer, Problem> {
        self.require(Action::Ask)?;
        let key = Key::parse("key", key).map_err(|_| not_found())?;
        self.refresh().await?;
        let now = Moment::now(&self.service);
        let read = move |caller: &Caller| {
            // A key that is too long for the principal has nothing stored under it.
            let is_key = caller.key(&key).is_ok();
            let found = is_key.then(|| caller.gate().catalog().answer_of(&caller.token().principal, &key));
            let found = found.transpose()?.flatten().filter(|answer| caller.is_shown(answer, now));
            found.map(|answer| caller.own_answer(answer)).transpose()
        };
        self.blocking(read).await?.ok_or_else(not_found)
    }

    /// Whether a stored answer of the principal is shown: it was released, and the token still covers such a question.
    fn is_shown(&self, answer: &StoredAnswer, now: Moment) -> bool {
        now.is_released(answer.stored) && self.sees_dataset(&answer.dataset) && self.sight().owns(&answer.account)
    }

    /// An answer in a list. Of one whose charge waits for witnesses, the list has the key and the dataset.
    fn listed_answer(&self, answer: StoredAnswer) -> Result<OwnAnswer, Problem> {
        let (key, dataset) = (answer.key.clone(), answer.dataset.to_string());
        match self.own_answer(answer) {
            Err(problem) if problem.code == Code::UnknownOutcome => {
                let (time, sequence, charge, document) = (None, None, None, None);
                Ok(OwnAnswer { key, dataset, time, sequence, charge, waits_for_witnesses: true, document })
            }
            listed => listed,
        }
    }

    fn own_answer(&self, answer: StoredAnswer) -> Result<OwnAnswer, Problem> {
        let StoredAnswer { key, dataset, document, .. } = answer;
        let receipt = self.ledger().receipt_of(&self.key(&Key::parse("key", &key)?)?)?;
        let record = receipt.as_ref().map(|receipt| receipt.record()).transpose()?;
        Ok(OwnAnswer {
            key,
            dataset: dataset.to_string(),
            time: record.as_ref().map(|record| record.time.to_string()),
            sequence: receipt.map(|receipt| receipt.sequence()),
            charge: record.and_then(|record| match record.event {
                Event::Charge(charge) => Some(charge),
                _ => None,
            }),
            waits_for_witnesses: false,
            document: document.map(|document| AnswerDocument::seen(document, self.sight())).transpose()?,
        })
    }
}

fn not_found() -> Problem {
    Problem::new(
        Code::NotFound,
        "you have no answer under this key. If the question is still running, look again later; the page Ask lists your answers",
    )
}

/// Now, and the newest tick: answers stored since then are not released yet. So polling tells no more about how long a question took
/// than waiting for its answer does.
#[derive(Clone, Copy)]
struct Moment {
    now: Timestamp,
    /// `None` if answers are released at once.
    tick: Option<Timestamp>,
}

impl Moment {
    fn now(service: &Service) -> Moment {
        let now = Timestamp::now();
        let tick = service.since_tick().map(|since| now.checked_sub(since).unwrap_or(Timestamp::MIN));
        Moment { now, tick }
    }

    /// An answer stored later than now dates from before the clock was set back.
    fn is_released(self, stored: Timestamp) -> bool {
        self.tick.is_none_or(|tick| stored <= tick || stored > self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_stored_since_the_newest_tick_are_not_released() {
        let at = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap();
        for (tick, stored, is_released) in [
            (None, 0, true),
            (None, 10, true),
            (Some(8), 7, true),
            (Some(8), 8, true),
            (Some(8), 9, false),
            (Some(8), 10, false),
            (Some(8), 11, true),
        ] {
            let moment = Moment { now: at(10), tick: tick.map(at) };
            assert_eq!(moment.is_released(at(stored)), is_released, "{tick:?}, {stored}");
        }
    }
}
