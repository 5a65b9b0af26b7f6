//! One's own answers that are stored, as far as they were released.

use jiff::Timestamp;
use taximeter_gate::StoredAnswer;
use taximeter_ledger::{Charge, Event, Key};
use taximeter_service::{AnswerDocument, Code, Problem};

use crate::access::{Action, Caller};
use crate::dashboard::visitor::Visitor;
use crate::failure::Failure;
use crate::state::State;

/// A question of one's own that was charged.
pub(super) struct Asked {
    /// The key that it was asked with.
    pub(super) key: String,
    pub(super) dataset: String,
    /// When it was charged, as the journal says. When it was answered is not told: how long that took may depend on the data.
    pub(super) time: Option<String>,
    /// The place of the charge in the journal.
    pub(super) sequence: Option<u64>,
    /// What was charged.
    pub(super) charge: Option<Charge>,
    /// The answer as far as it may be seen; nothing if there is none.
    pub(super) document: Option<String>,
}

/// How many of one's answers are listed at once.
const PART: u32 = 20;

/// A part of one's own answers, and the key that the next part starts behind.
pub(super) async fn part(visitor: &Visitor, before: Option<&str>) -> Result<(Vec<Asked>, Option<String>), Failure> {
    visitor.caller.require(Action::Ask)?;
    visitor.caller.fresh().await?;
    let (before, now) = (before.map(str::to_string), Moment::now(visitor.state()));
    let read = move |caller: &Caller| {
        let principal = &caller.token.principal;
        let mut answers = caller.gate().catalog().answers_of(principal, before.as_deref(), PART + 1)?;
        let is_more = answers.len() > PART as usize;
        answers.truncate(PART as usize);
        let next = answers.last().map(|last| last.key.clone()).filter(|_| is_more);
        let shown = answers.into_iter().filter(|answer| is_shown(answer, caller, now));
        let asked = shown.map(|answer| asked(caller, answer)).collect::<Result<Vec<Asked>, Problem>>()?;
        Ok((asked, next))
    };
    visitor.caller.blocking(read).await
}

/// One's own answer under a key. Whether somebody else has one, whether it is still being made, or whether there never was one: the
/// words are the same.
pub(super) async fn find(visitor: &Visitor, key: &str) -> Result<Asked, Failure> {
    visitor.caller.require(Action::Ask)?;
    let key = Key::parse("key", key).map_err(|_| nothing())?;
    visitor.caller.fresh().await?;
    let now = Moment::now(visitor.state());
    let read = move |caller: &Caller| {
        // A key that is too long for the principal has nothing stored under it.
        let found = caller.key(&key).is_ok().then(|| caller.gate().catalog().answer_of(&caller.token.principal, &key));
        let found = found.transpose()?.flatten().filter(|answer| is_shown(answer, caller, now));
        found.map(|answer| asked(caller, answer)).transpose()
    };
    visitor.caller.blocking(read).await?.ok_or_else(nothing)
}

fn nothing() -> Failure {
    Failure::new(
        Code::NotFound,
        "you have no answer under this key. If the question is still running, look again later; the page Ask lists your answers",
    )
}

/// Whether somebody is shown an answer that is stored under a name of theirs: it was released, and they may still ask such a question.
fn is_shown(answer: &StoredAnswer, caller: &Caller, now: Moment) -> bool {
    now.is_released(answer.stored) && caller.sees_dataset(&answer.dataset) && caller.sight.owns(&answer.account)
}

fn asked(caller: &Caller, answer: StoredAnswer) -> Result<Asked, Problem> {
    let StoredAnswer { key, dataset, document, .. } = answer;
    let receipt = caller.ledger().receipt_of(&caller.key(&Key::parse("key", &key)?)?)?;
    let record = receipt.as_ref().map(|receipt| receipt.record()).transpose()?;
    Ok(Asked {
        key,
        dataset: dataset.to_string(),
        time: record.as_ref().map(|record| record.time.to_string()),
        sequence: receipt.map(|receipt| receipt.sequence()),
        charge: record.and_then(|record| match record.event {
            Event::Charge(charge) => Some(charge),
            _ => None,
        }),
        document: document.map(|document| AnswerDocument::seen(document, &caller.sight)).transpose()?,
    })
}

/// Now, and the newest tick: what was stored since is not released yet. Whoever looks again and again learns no more about how long
/// a question took than whoever waits for its answer.
#[derive(Clone, Copy)]
struct Moment {
    now: Timestamp,
    /// Nothing if answers are released at once.
    tick: Option<Timestamp>,
}

impl Moment {
    fn now(state: &State) -> Moment {
        let now = Timestamp::now();
        let tick = state.settings.tick.map(|tick| tick.as_nanos()).filter(|tick| *tick > 0);
        let since = tick.map(|tick| state.started.elapsed().as_nanos() % tick);
        let since =
            since.map(|nanoseconds| std::time::Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)));
        Moment { now, tick: since.map(|since| now.checked_sub(since).unwrap_or(Timestamp::MIN)) }
    }

    /// What seems to have been stored later than now was stored before somebody set the clock back.
    fn is_released(self, stored: Timestamp) -> bool {
        self.tick.is_none_or(|tick| stored <= tick || stored > self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_since_the_newest_tick_is_not_released() {
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
