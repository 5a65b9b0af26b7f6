//! Timelines: what is known of the past of accounts, so that a page about a hundred thousand charges is there at once.
//!
//! The journal has no index by account, and to walk an account's history back takes a while. So one task reads the journal forward,
//! once, and then follows it; but only while somebody looks, so that a server without visitors pays nothing for it.
//!
//! However many charges an account has, its timeline takes at most 50 kB for its [`Curve`](curve::Curve), 3 kB for its
//! [`Rate`](rate::Rate), and 250 kB for the names of its [`Spenders`](spenders::Spenders), which are mostly few. One with few records
//! takes 1 kB, and 1 kB for each record at most. So a thousand busy accounts with a handful of analysts take 60 MB, and a million
//! accounts that nobody ever charged take 1 GB, beside the books that the ledger has of them.
//!
//! Timelines know everything; a caller gets those of its own accounts only.

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
use timeline::Happened;
pub use timeline::Timeline;

use crate::caller::Caller;
use crate::service::Service;

/// The timelines of all accounts, as far as the journal was read.
#[derive(Default)]
pub struct Timelines {
    shared: Arc<Shared>,
}

/// How the journal is followed.
struct Tempo {
    /// How many records are read at once: few enough that the end of the server need not wait for them.
    batch: usize,
    /// How long to wait for more.
    pause: Duration,
    /// How long to wait when the journal cannot be read.
    retry: Duration,
    /// How long to go on when nobody looks any more.
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

/// What was read.
#[derive(Default)]
struct Known {
    /// Shared with whoever looks at one: what is looked at is copied when it changes.
    timelines: HashMap<AccountName, Arc<Timeline>>,
    /// The next record.
    next: u64,
    /// How many records there were when somebody last asked.
    of: u64,
    /// Why the journal could not be read; nothing if it could.
    problem: Option<String>,
}

/// Who follows the journal, and for how long.
#[derive(Default)]
struct Watch {
    looked: Option<Instant>,
    follower: Option<AbortHandle>,
}

impl Timelines {
    /// The past of an account as far as it was read; nothing if the account was not met yet.
    fn timeline(&self, name: &AccountName) -> Option<Arc<Timeline>> {
        self.shared.known().timelines.get(name).cloned()
    }

    /// How many records of the journal were read, and how many there are.
    pub fn progress(&self) -> (u64, u64) {
        let known = self.shared.known();
        (known.next, known.of)
    }

    /// Why the journal cannot be read, in words for its owner; nothing if it can.
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
    /// Has the journal followed for a while. Must be called on the server's runtime.
    pub fn follow_journal(&self) {
        self.service.follow_journal();
    }

    /// The past of an account of the caller's own, as far as it was read.
    pub fn timeline(&self, name: &AccountName) -> Option<Arc<Timeline>> {
        self.sight().owns(name).then(|| self.service.timelines.timeline(name)).flatten()
    }
}

/// The reader of the journal. It has the ledger alone, and not all that requests share: a task may hold the last handle of a ledger,
/// but not of everything.
struct Follower {
    shared: Arc<Shared>,
    ledger: Ledger,
}

impl Follower {
    /// Reads what there is and what comes, until nobody has looked for a while.
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
        // Whoever else writes to the ledger is not heard of otherwise. If that fails, what is known already can still be read.
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
        // All that takes long happens before anybody has to wait.
        let happened: Vec<Happened> = receipts.iter().map(Happened::read).collect::<Result<_, _>>()?;
        let mut known = self.known();
        known.count(ledger);
        for (receipt, happened) in receipts.iter().zip(&happened) {
            for after in receipt.after() {
                known.timeline(&after.account).push(receipt.sequence(), happened, after);
            }
            // Somebody who was told to stop may have read the same, and more.
            known.next = known.next.max(receipt.sequence() + 1);
        }
        Ok(receipts.len() < self.tempo.batch)
    }

    /// Whether nobody has looked for so long that the follower shall go. Whoever looks from then on starts another.
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
