//! Events: changes, sent to all streams once a second.
//!
//! One task reads the books every second and sends every stream the accounts that changed, as they are now, and the charges that were
//! refused. A stream starts with all accounts that it may see, and starts over if it falls behind, so that no client misses a change.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use jiff::Timestamp;
use taximeter_ledger::Ledger;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::caller::{Action, Caller};
use crate::service::Service;
use crate::{AccountEvent, Code, EventDocument, Problem, Sight};

/// How often changes are sent.
const EVERY: Duration = Duration::from_secs(1);

/// After how many silent seconds a stream sends a keep-alive.
const SILENCE: u32 = 15;

/// The event streams.
pub struct Events {
    sender: Sender<Arc<Tick>>,
    seen: Mutex<Seen>,
    permits: Arc<Semaphore>,
    most: usize,
}

/// How far the books have been read.
struct Seen {
    sequence: u64,
    refusals: u64,
}

/// The changes of one second.
struct Tick {
    document: EventDocument,
    /// The message for callers who see everything; `None` if nothing changed.
    all: Option<Bytes>,
}

impl Events {
    /// Starts without events. At most `streams` streams may be open.
    pub(crate) fn new(ledger: &Ledger, streams: usize) -> Events {
        let seen = Seen { sequence: ledger.position().sequence, refusals: ledger.refusals().0 };
        let (sender, _) = broadcast::channel(4);
        Events { sender, seen: Mutex::new(seen), permits: Arc::new(Semaphore::new(streams)), most: streams }
    }

    /// How many streams are open.
    pub fn streams(&self) -> usize {
        self.most - self.permits.available_permits()
    }

    /// Sends the changes every second. Never ends.
    pub async fn run(service: Arc<Service>) {
        let mut clock = tokio::time::interval(EVERY);
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            if service.events.sender.receiver_count() == 0 {
                continue;
            }
            // Finds what other servers wrote. If the store cannot be reached, charges report it.
            let _ = service.ledger().refresh_async().await;
            let tick = service.events.look(service.ledger());
            // Fails if the last stream has just closed.
            let _ = service.events.sender.send(Arc::new(tick));
        }
    }

    fn look(&self, ledger: &Ledger) -> Tick {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = ledger.changed_since(seen.sequence);
        seen.sequence = changed.iter().map(|account| account.sequence()).max().unwrap_or(seen.sequence);
        let (count, newest) = ledger.refusals();
        let new = usize::try_from(count - seen.refusals).unwrap_or(usize::MAX).min(newest.len());
        seen.refusals = count;
        let document = EventDocument {
            time: Timestamp::now().to_string(),
            accounts: changed.iter().map(AccountEvent::from).collect(),
            refused: newest[newest.len() - new..].to_vec(),
        };
        let all = document.seen(&Sight::All).map(|document| message(&document));
        Tick { document, all }
    }
}

impl Caller {
    /// Charges and refusals as they are committed, as server-sent events: at most one message a second, until the server shuts down or
    /// the token ends. The first message has every account that the caller may see.
    pub fn watch(&self) -> Result<impl Stream<Item = Result<Bytes, Infallible>> + Send + use<>, Problem> {
        self.require(Action::SeeAccounts)?;
        let events = &self.service.events;
        let permit = Arc::clone(&events.permits).try_acquire_owned().map_err(|_| {
            let detail = format!("{} event streams are open, which is the limit; try again later", events.most);
            Problem::new(Code::Busy, detail)
        })?;
        let (ticks, caller) = (events.sender.subscribe(), self.clone());
        let stream = EventStream { caller, ticks, starts_over: true, silent: SILENCE, _permit: permit };
        Ok(unfold(stream, |mut stream| async move { stream.next().await.map(|bytes| (Ok(bytes), stream)) }))
    }
}

/// One stream.
struct EventStream {
    caller: Caller,
    ticks: Receiver<Arc<Tick>>,
    /// Whether the next message has all accounts, because the stream is new or fell behind.
    starts_over: bool,
    silent: u32,
    _permit: OwnedSemaphorePermit,
}

impl EventStream {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            // Also sent first, so that a client knows that it is connected.
            if self.silent >= SILENCE {
                self.silent = 0;
                return Some(Bytes::from_static(b": alive\n\n"));
            }
            let received = tokio::select! {
                received = self.ticks.recv() => received,
                () = self.caller.service.until_end() => return None,
            };
            if !self.caller.is_valid() {
                return None;
            }
            let message = match received {
                Ok(_) if self.starts_over => self.everything(),
                Ok(tick) => self.changes(&tick),
                Err(RecvError::Lagged(_)) => {
                    self.starts_over = true;
                    continue;
                }
                Err(RecvError::Closed) => return None,
            };
            match message {
                Some(bytes) => {
                    self.silent = 0;
                    return Some(bytes);
                }
                None => self.silent += 1,
            }
        }
    }

    fn everything(&mut self) -> Option<Bytes> {
        self.starts_over = false;
        let accounts = self.caller.ledger().accounts();
        let accounts = accounts.iter().filter(|account| self.caller.sight().sees(account.name()));
        let accounts = accounts.map(AccountEvent::from).collect();
        Some(message(&EventDocument { time: Timestamp::now().to_string(), accounts, refused: Vec::new() }))
    }

    fn changes(&self, tick: &Tick) -> Option<Bytes> {
        match self.caller.sight() {
            Sight::All => tick.all.clone(),
            sight => tick.document.seen(sight).map(|document| message(&document)),
        }
    }
}

/// A server-sent event.
fn message(document: &EventDocument) -> Bytes {
    // Text and numbers always serialize, and without line breaks.
    let json = serde_json::to_string(document).unwrap_or_default();
    Bytes::from(format!("event: accounts\ndata: {json}\n\n"))
}
