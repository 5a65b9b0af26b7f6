//! The queue of questions: a fixed number run at a time, at most half of them for one principal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// The permits to run a question.
pub(crate) struct QuestionQueue {
    all: Arc<Semaphore>,
    /// By principal, for those who hold a permit or wait for one.
    own: Mutex<HashMap<String, Weak<Semaphore>>>,
    /// The most permits of one principal.
    each: usize,
}

/// A permit, until it is dropped.
pub(crate) struct QuestionPermit {
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl QuestionQueue {
    /// A queue that runs `count` questions at a time.
    pub(crate) fn new(count: usize) -> QuestionQueue {
        QuestionQueue { all: Arc::new(Semaphore::new(count)), own: Mutex::default(), each: count.div_ceil(2) }
    }

    /// Waits for a permit. A principal at its limit waits for one of its own to end, and takes none from others meanwhile.
    pub(crate) async fn take(&self, whose: &str) -> Result<QuestionPermit, AcquireError> {
        let own = self.own(whose).acquire_owned().await?;
        let of_all = Arc::clone(&self.all).acquire_owned().await?;
        Ok(QuestionPermit { _own: own, _of_all: of_all })
    }

    fn own(&self, whose: &str) -> Arc<Semaphore> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(permits) = own.get(whose).and_then(Weak::upgrade) {
            return permits;
        }
        // Principals without permits are forgotten.
        own.retain(|_, permits| permits.strong_count() > 0);
        let permits = Arc::new(Semaphore::new(self.each));
        own.insert(whose.to_string(), Arc::downgrade(&permits));
        permits
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// A permit, if one is free now.
    fn now(queue: &QuestionQueue, whose: &str) -> Option<QuestionPermit> {
        match pin!(queue.take(whose)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => permit.ok(),
            Poll::Pending => None,
        }
    }

    #[test]
    fn one_principal_has_at_most_half_of_all_permits() {
        for (count, half) in [(8, 4), (5, 3), (2, 1), (1, 1)] {
            let queue = QuestionQueue::new(count);
            let mut alice: Vec<QuestionPermit> = std::iter::from_fn(|| now(&queue, "alice")).collect();
            assert_eq!(alice.len(), half, "of {count}");
            let bob: Vec<QuestionPermit> = std::iter::from_fn(|| now(&queue, "bob")).collect();
            assert_eq!(bob.len(), count - half, "of {count}");
            assert!(now(&queue, "carol").is_none());
            alice.pop();
            assert!(now(&queue, "carol").is_some());
            drop((alice, bob));
            assert!(now(&queue, "dora").is_some());
            assert_eq!(queue.own.lock().unwrap().len(), 1, "only the newest is remembered");
        }
    }

    #[tokio::test]
    async fn a_principal_that_waits_gets_the_next_permit() {
        let queue = Arc::new(QuestionQueue::new(2));
        let first = queue.take("alice").await.unwrap();
        let waiting = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.take("alice").await.is_ok() }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        // The permits of other principals are free.
        assert!(now(&queue, "bob").is_some());
        drop(first);
        assert!(waiting.await.unwrap());
    }
}
