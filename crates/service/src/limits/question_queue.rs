//! QuestionQueue to ask: so many questions run at a time, and nobody has more than half of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// The turns of all.
pub(crate) struct QuestionQueue {
    all: Arc<Semaphore>,
    /// Those of everybody who has one or waits for one.
    own: Mutex<HashMap<String, Weak<Semaphore>>>,
    /// How many somebody has at most.
    each: usize,
}

/// A turn, until it is dropped.
pub(crate) struct QuestionPermit {
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl QuestionQueue {
    /// So many at a time.
    pub(crate) fn new(count: usize) -> QuestionQueue {
        QuestionQueue { all: Arc::new(Semaphore::new(count)), own: Mutex::default(), each: count.div_ceil(2) }
    }

    /// The next turn of somebody, when there is one. Whoever has as many as they may waits for one of their own, and takes none from
    /// others meanwhile.
    pub(crate) async fn take(&self, whose: &str) -> Result<QuestionPermit, AcquireError> {
        let own = self.own(whose).acquire_owned().await?;
        let of_all = Arc::clone(&self.all).acquire_owned().await?;
        Ok(QuestionPermit { _own: own, _of_all: of_all })
    }

    fn own(&self, whose: &str) -> Arc<Semaphore> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = own.get(whose).and_then(Weak::upgrade) {
            return turns;
        }
        // Nobody is remembered who has none.
        own.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Semaphore::new(self.each));
        own.insert(whose.to_string(), Arc::downgrade(&turns));
        turns
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// The turn, if there is one now.
    fn now(turns: &QuestionQueue, whose: &str) -> Option<QuestionPermit> {
        match pin!(turns.take(whose)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => turn.ok(),
            Poll::Pending => None,
        }
    }

    #[test]
    fn nobody_has_more_than_half_and_all_together_no_more_than_all() {
        for (count, half) in [(8, 4), (5, 3), (2, 1), (1, 1)] {
            let turns = QuestionQueue::new(count);
            let mut alice: Vec<QuestionPermit> = std::iter::from_fn(|| now(&turns, "alice")).collect();
            assert_eq!(alice.len(), half, "of {count}");
            let bob: Vec<QuestionPermit> = std::iter::from_fn(|| now(&turns, "bob")).collect();
            assert_eq!(bob.len(), count - half, "of {count}");
            assert!(now(&turns, "carol").is_none());
            alice.pop();
            assert!(now(&turns, "carol").is_some());
            drop((alice, bob));
            assert!(now(&turns, "dora").is_some());
            assert_eq!(turns.own.lock().unwrap().len(), 1, "only the newest is remembered");
        }
    }

    #[tokio::test]
    async fn whoever_waits_gets_the_next_turn() {
        let turns = Arc::new(QuestionQueue::new(2));
        let first = turns.take("alice").await.unwrap();
        let waiting = tokio::spawn({
            let turns = Arc::clone(&turns);
            async move { turns.take("alice").await.is_ok() }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        // Those of others are not waited for.
        assert!(now(&turns, "bob").is_some());
        drop(first);
        assert!(waiting.await.unwrap());
    }
}
