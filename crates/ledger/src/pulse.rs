//! Whether a database can be reached, asked again and again beside the writer.
//!
//! The writer learns that a database hangs only when its patience ends. A load balancer must know sooner.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::store::{self, Access, Location, Store};

/// A thread that asks, and what came of it last.
pub(crate) struct Pulse {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    trouble: Mutex<Option<Error>>,
    is_over: AtomicBool,
}

/// How often it is asked, and how long an answer may take: together less than two seconds.
const PAUSE: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_secs(1);

impl Pulse {
    /// Starts to ask.
    pub(crate) fn start(location: &Location) -> Result<Pulse, Error> {
        let shared = Arc::new(Shared::default());
        let (asking, location) = (Arc::clone(&shared), location.clone());
        let thread = thread::Builder::new()
            .name("ledger pulse".to_string())
            .spawn(move || ask(&asking, &location))
            .map_err(|error| Error::storage(format!("the pulse's thread cannot be started: {error}")))?;
        Ok(Pulse { shared, thread: Some(thread) })
    }

    /// What is wrong, if anything is.
    pub(crate) fn trouble(&self) -> Option<Error> {
        self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A thread that panicked asks no more either.
            let _ = thread.join();
        }
    }
}

fn ask(shared: &Shared, location: &Location) {
    let mut connection = None;
    loop {
        thread::park_timeout(PAUSE);
        if shared.is_over.load(Ordering::Relaxed) {
            return;
        }
        let trouble = feel(&mut connection, location).err();
        *shared.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}

fn feel(connection: &mut Option<Box<dyn Store>>, location: &Location) -> Result<(), Error> {
    let unreachable = |error: Error| Error::busy(error.to_string());
    let mut store = match connection.take() {
        Some(store) => store,
        None => store::open(location, Access::Read { patience: ANSWER }).map_err(unreachable)?,
    };
    // A connection that fails is not kept.
    let alarm = store.alarm().map_err(|error| unreachable(error.into()))?;
    *connection = Some(store);
    alarm.map_or(Ok(()), |why| Err(ErrorKind::Alarm(why).into()))
}
