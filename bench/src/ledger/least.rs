//! The least that a ledger can be: it decides nothing.
//!
//! Callers ask and wait. One thread takes what all of them ask, makes the hashes that a record has (of the account's state and of the
//! line), commits as the bare loop does, syncs a witness, and only then answers. What this makes less than the bare loop is what the order
//! of things takes; what a ledger with the same commits makes less than this is what deciding takes.

use std::convert::identity;
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use taximeter_ledger::Hash;
use tokio::sync::oneshot;

use super::bare::{BareStore, Sample, Updates, testify};

/// What the callers ask: to be told whether to ask again.
type Waiter = oneshot::Sender<bool>;

struct Queue {
    waiting: Mutex<Vec<Waiter>>,
    full: Condvar,
    callers: usize,
}

impl Queue {
    fn new(callers: usize) -> Queue {
        Queue { waiting: Mutex::new(Vec::new()), full: Condvar::new(), callers }
    }

    fn ask(&self) -> oneshot::Receiver<bool> {
        let (asked, answer) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(asked);
        if waiting.len() == self.callers {
            self.full.notify_one();
        }
        answer
    }

    /// Waits for all callers, which a ledger could not: it does not know who is still to come.
    fn take(&self) -> Vec<Waiter> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.full.wait_while(waiting, |waiting| waiting.len() < self.callers);
        std::mem::take(all.as_mut().unwrap_or_else(PoisonError::get_mut))
    }
}

/// Charges a second by the given number of tasks.
pub fn rate(
    store: &mut (dyn BareStore + Send),
    sample: &Sample,
    callers: usize,
    witness: &File,
    time: Duration,
) -> Result<f64, Box<dyn Error>> {
    let queue = Queue::new(callers);
    let (started, first) = (Instant::now(), *store.next());
    let serve = || -> Result<(), String> {
        loop {
            let asked = queue.take();
            for _ in &asked {
                black_box((Hash::of(sample.state()), Hash::of(sample.line().as_bytes())));
            }
            let next = *store.next();
            store.write(sample, next, callers as u64, Updates::Last).map_err(|error| error.to_string())?;
            testify(witness).map_err(|error| error.to_string())?;
            *store.next() += callers as u64;
            let goes_on = started.elapsed() < time;
            for asked in asked {
                asked.send(goes_on).map_err(|_| "a caller does not wait any more")?;
            }
            if !goes_on {
                return Ok(());
            }
        }
    };
    thread::scope(|scope| {
        let serving = scope.spawn(serve);
        let call = async |_| while queue.ask().await.is_ok_and(identity) {};
        let calls: FuturesUnordered<_> = (0..callers).map(call).collect();
        futures_executor::block_on(calls.collect::<()>());
        serving.join().unwrap_or_else(|_| panic!("the thread that serves panicked"))
    })?;
    Ok((*store.next() - first) as f64 / started.elapsed().as_secs_f64())
}
