//! Connections without a valid token so far. Where connections run out, the one that came first is closed for a newer one
//! after a second: many idle connections keep out neither health checks nor those with a token.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

/// The newcomers, by the order in which they came.
#[derive(Default)]
pub(crate) struct Newcomers(Mutex<Open>);

#[derive(Default)]
struct Open {
    came: u64,
    connections: BTreeMap<u64, Silent>,
}

/// A connection that has shown nothing yet.
struct Silent {
    since: Instant,
    close: oneshot::Sender<()>,
}

/// How long a connection may take to show a token before it makes room.
const GRACE: Duration = Duration::from_secs(1);

/// A connection that is a newcomer until it is proven or ends.
pub(crate) struct Newcomer {
    all: Arc<Newcomers>,
    number: u64,
}

impl Newcomers {
    /// One more, and what tells it to close.
    pub(crate) fn add(self: &Arc<Newcomers>) -> (Newcomer, oneshot::Receiver<()>) {
        let (close, closed) = oneshot::channel();
        let mut open = self.open();
        open.came += 1;
        let number = open.came;
        open.connections.insert(number, Silent { since: Instant::now(), close });
        (Newcomer { all: Arc::clone(self), number }, closed)
    }

    /// Closes the one that came first, as soon as it has had its time; waits for ever where there is none.
    pub(crate) async fn close_first(&self) {
        let since = self.open().connections.values().next().map(|first| first.since);
        match since {
            Some(since) => sleep_until(since + GRACE).await,
            None => pending().await,
        }
        let mut open = self.open();
        // It may have been proven, or have ended, meanwhile.
        if open.connections.first_entry().is_some_and(|first| first.get().since.elapsed() >= GRACE)
            && let Some((_, Silent { close, .. })) = open.connections.pop_first()
        {
            let _ = close.send(());
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Newcomer {
    /// A valid token was shown: the connection is no longer closed for others.
    pub(crate) fn prove(&self) {
        self.all.open().connections.remove(&self.number);
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.prove();
    }
}
