//! Timelines: summaries of the past of accounts, so that a page about a hundred thousand charges loads at once.
//!
//! The journal has no index by account, and walking an account's history back is slow. So one task reads the journal forward once and
//! then follows it, but only while pages are open: a server without visitors pays nothing for it.
//!
//! However many charges an account has, its timeline takes at most 50 kB for its [`Curve`](curve::Curve), 3 kB for its
//! [`Rate`](rate::Rate), and 250 kB for the names of its [`Spenders`](spenders::Spenders), which are usually few. A timeline of few
//! records takes 1 kB, and at most 1 kB per record. So a thousand busy accounts with a handful of analysts take 60 MB, and a million
//! accounts without charges take 1 GB, besides the ledger's own books.
//!
//! Timelines cover all accounts; a caller gets those of its own accounts only.

mod curve;
mod rate;
mod spenders;
mod timeline;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use taximeter_ledger::{AccountName, Ledger};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

pub use curve::Point;
pub use rate::Rate;
pub use spenders::{Spender, Spent};
pub use timeline::Timeline;
use timeline::TimelineRecord;

use crate::caller::Caller;
use crate::service::Service;

/// The timelines of all accounts, up to the record that was read last.
#[derive(Default)]
pub struct Timelines {
    shared: Arc<Shared>,
}

/// How the journal is followed.
struct Tempo {
    /// How many records are read at once: few enough that shutdown need not wait for them.
    batch: usize,
    /// How long to wait for new records.
    pause: Duration,
    /// How long to wait after a failed read.
    retry: Duration,
    /// How long to follow the journal after the last page was loaded.
    patience: Duration,
}

impl Default for Tempo {
    fn default() -> Self {
        Tempo {
            batch: 1000,
            pause: Duration::from_millis(500),
            retry: Duration::from_secs(5),
            patience: Duration::from_secs(60),
        }
    }
}

#[derive(Default)]
struct Shared {
    tempo: Tempo,
    known: Mutex<Known>,
    watch: Mutex<Watch>,
}

/// The timelines read so far.
#[derive(Default)]
struct Known {
    /// Copied on write: pages may hold older copies.
    timelines: HashMap<AccountName, Arc<Timeline>>,
    /// The next record to read.
    next: u64,
    /// How many records there were at the last look.
    of: u64,
    /// Why the journal could not be read; `None` if it could.
    problem: Option<String>,
}

/// The task that follows the journal, and when a page last needed it.
#[derive(Default)]
struct Watch {
    looked: Option<Instant>,
    follower: Option<AbortHandle>,
}

impl Timelines {
    /// The timeline of an account; `None` if no record about it was read yet.
    fn timeline(&self, name: &AccountName) -> Option<Arc<Timeline>> {
        self.shared.known().timelines.get(name).cloned()
    }

    /// How many records of the journal were read, and how many there are.
    pub fn progress(&self) -> (u64, u64) {
        let known = self.shared.known();
        (known.next, known.of)
    }

    /// Why the journal cannot be read, for its owner; `None` if it can.
    pub fn problem(&self) -> Option<String> {
        self.shared.known().problem.clone()
    }

    fn follow(&self, ledger: &Ledger, end: impl Future<Output = ()> + Send + 'static) {
        self.shared.known().count(ledger);
        let mut watch = self.shared.watch();
        watch.looked = Some(Instant::now());
        if watch.follower.as_ref().is_some_and(|follower| !follower.is_finished()) {
            return;
        }
        let follower = Follower { shared: Arc::clone(&self.shared), ledger: ledger.clone() };
        let task = tokio::spawn(async move {
            tokio::select! {
                biased;
                () = end => {}
                () = follower.run() => {}
            }
        });
        watch.follower = Some(task.abort_handle());
    }
}

impl Service {
    fn follow_journal(&self) {
        if !self.is_ending() {
            self.timelines.follow(self.ledger(), self.until_end());
        }
    }
}

impl Caller {
    /// Follows the journal for a while. Must be called on the server's runtime.
    pub fn follow_journal(&self) {
        self.service.follow_journal();
    }

    /// The timeline of one of the caller's own accounts, as far as the journal was read.
    pub fn timeline(&self, name: &AccountName) -> Option<Arc<Timeline>> {
        self.sight().owns(name).then(|| self.service.timelines.timeline(name)).flatten()
    }
}

/// The task that reads the journal. It holds the ledger alone and not the service, which must be dropped when the server ends.
struct Follower {
    shared: Arc<Shared>,
    ledger: Ledger,
}

impl Follower {
    /// Reads old and new records until no page has been loaded for a while.
    async fn run(&self) {
        let Tempo { pause, retry, .. } = self.shared.tempo;
        loop {
            let result = self.catch_up().await;
            let pause = if result.is_ok() { pause } else { retry };
            self.shared.known().problem = result.err();
            if self.shared.is_over() {
                return;
            }
            sleep(pause).await;
        }
    }

    /// Reads up to the newest record.
    async fn catch_up(&self) -> Result<(), String> {
        // Finds records that other servers wrote. If that fails, the records that are known can still be read.
        let refreshed = self.ledger.refresh_async().await;
        loop {
            let (shared, ledger) = (Arc::clone(&self.shared), self.ledger.clone());
            let read = tokio::task::spawn_blocking(move || shared.read(&ledger)).await;
            // The panic itself is in the log of the process.
            let is_at_end =
                read.unwrap_or_else(|_| Err("a defect in reading the journal; tell the owner".to_string()))?;
            if is_at_end {
                return refreshed.map_err(|error| error.to_string());
            }
        }
    }
}

impl Shared {
    /// Reads the next records, and says whether there are no more. Blocks.
    fn read(&self, ledger: &Ledger) -> Result<bool, String> {
        let from = self.known().next;
        let receipts = ledger.records(from, self.tempo.batch).map_err(|error| error.to_string())?;
        // The slow part happens before the lock is taken.
        let records: Vec<TimelineRecord> = receipts.iter().map(TimelineRecord::read).collect::<Result<_, _>>()?;
        let mut known = self.known();
        known.count(ledger);
        for (receipt, record) in receipts.iter().zip(&records) {
            for after in receipt.after() {
                known.timeline(&after.account).push(receipt.sequence(), record, after);
            }
            // A task that was told to stop may have read the same records, and more.
            known.next = known.next.max(receipt.sequence() + 1);
        }
        Ok(receipts.len() < self.tempo.batch)
    }

    /// Whether no page has been loaded for so long that the task ends. The next page starts another.
    fn is_over(&self) -> bool {
        let mut watch = self.watch();
        let is_over = watch.looked.is_none_or(|looked| looked.elapsed() >= self.tempo.patience);
        if is_over {
            watch.follower = None;
        }
        is_over
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn count(&mut self, ledger: &Ledger) {
        self.of = ledger.position().sequence + 1;
    }

    fn timeline(&mut self, name: &AccountName) -> &mut Timeline {
        Arc::make_mut(self.timelines.entry(name.clone()).or_default())
    }
}

#[cfg(test)]
mod tests;
