//! Connections that have not yet shown a valid token, or to a witness a valid request. At the limit of connections, the oldest of them is
//! closed after a second to make room, so that idle connections lock out neither health checks nor clients with a token.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, sleep_until};

/// The connections without a token, in the order of arrival.
#[derive(Default)]
pub(crate) struct UnauthenticatedConnections(Mutex<OpenConnections>);

#[derive(Default)]
struct OpenConnections {
    count: u64,
    connections: BTreeMap<u64, PendingConnection>,
}

/// A connection that has not shown a token yet.
struct PendingConnection {
    since: Instant,
    close: oneshot::Sender<()>,
}

/// How long a connection may take to show a token before it makes room.
const GRACE: Duration = Duration::from_secs(1);

/// A connection that counts as unauthenticated until it shows a token or ends.
pub(crate) struct UnauthenticatedConnection {
    all: Arc<UnauthenticatedConnections>,
    number: u64,
}

impl UnauthenticatedConnections {
    /// Adds a connection, and returns the signal that closes it.
    pub(crate) fn add(self: &Arc<UnauthenticatedConnections>) -> (UnauthenticatedConnection, oneshot::Receiver<()>) {
        let (close, closed) = oneshot::channel();
        let mut open = self.open();
        open.count += 1;
        let number = open.count;
        open.connections.insert(number, PendingConnection { since: Instant::now(), close });
        (UnauthenticatedConnection { all: Arc::clone(self), number }, closed)
    }

    /// A permit for one more connection. At the limit, the oldest connection without a token is closed; if all have one, it waits.
    pub(crate) async fn make_room(&self, permits: &Arc<Semaphore>) -> OwnedSemaphorePermit {
        loop {
            tokio::select! {
                biased;
                // The semaphore is never closed.
                Ok(permit) = Arc::clone(permits).acquire_owned() => return permit,
                () = self.close_oldest() => {}
            }
        }
    }

    /// Closes the oldest connection, after its grace period; waits forever if there is none.
    async fn close_oldest(&self) {
        let since = self.open().connections.values().next().map(|first| first.since);
        match since {
            Some(since) => sleep_until(since + GRACE).await,
            None => pending().await,
        }
        let mut open = self.open();
        // It may have shown a token, or have ended, meanwhile.
        if open.connections.first_entry().is_some_and(|first| first.get().since.elapsed() >= GRACE)
            && let Some((_, PendingConnection { close, .. })) = open.connections.pop_first()
        {
            let _ = close.send(());
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnauthenticatedConnection {
    /// Marks the connection as authenticated: it is no longer closed to make room.
    pub(crate) fn authenticate(&self) {
        self.all.open().connections.remove(&self.number);
    }
}

impl Drop for UnauthenticatedConnection {
    fn drop(&mut self) {
        self.authenticate();
    }
}
