//! Events: what changed, told to all streams once a second.
//!
//! One task looks at the books every second and tells all streams the same: which accounts changed, as they are now, and which
//! charges were refused. A stream starts with everything that it may see, and does so again if it fell behind, so that no
//! reader has to count what it missed.

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

/// How often streams are told.
const EVERY: Duration = Duration::from_secs(1);

/// How many seconds a stream says nothing before it shows that it is alive.
const SILENCE: u32 = 15;

/// What is told to all streams.
pub struct Events {
    sender: Sender<Arc<Tick>>,
    seen: Mutex<Seen>,
    permits: Arc<Semaphore>,
    most: usize,
}

/// How far the books have been looked at.
struct Seen {
    sequence: u64,
    refusals: u64,
}

/// What changed in a second.
struct Tick {
    document: EventDocument,
    /// The message for whoever sees everything; nothing if nothing changed.
    all: Option<Bytes>,
}

impl Events {
    /// Nothing has happened yet. At most so many streams may listen.
    pub(crate) fn new(ledger: &Ledger, streams: usize) -> Events {
        let seen = Seen { sequence: ledger.position().sequence, refusals: ledger.refusals().0 };
        let (sender, _) = broadcast::channel(4);
        Events { sender, seen: Mutex::new(seen), permits: Arc::new(Semaphore::new(streams)), most: streams }
    }

    /// How many streams listen.
    pub fn streams(&self) -> usize {
        self.most - self.permits.available_permits()
    }

    /// Tells the streams every second what changed. Never ends.
    pub async fn run(service: Arc<Service>) {
        let mut clock = tokio::time::interval(EVERY);
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            if service.events.sender.receiver_count() == 0 {
                continue;
            }
            // Whoever else writes to the ledger is not heard of otherwise. If it cannot be reached, charges say so.
            let _ = service.ledger().refresh_async().await;
            let tick = service.events.look(service.ledger());
            // Nobody may listen any more.
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
    /// Charges and refusals as they are committed, as server-sent events: at most one message a second, until the server ends or the
    /// token does. The first message has every account that may be seen.
    pub fn watch(&self) -> Result<impl Stream<Item = Result<Bytes, Infallible>> + Send + use<>, Problem> {
        self.require(Action::SeeAccounts)?;
        let events = &self.service.events;
        let permit = Arc::clone(&events.permits).try_acquire_owned().map_err(|_| {
            Problem::new(Code::Busy, "the most event streams that this server takes are open; try again later")
        })?;
        let (ticks, caller) = (events.sender.subscribe(), self.clone());
        let listener = Listener { caller, ticks, knows_nothing: true, silent: SILENCE, _permit: permit };
        Ok(unfold(listener, |mut listener| async move { listener.next().await.map(|bytes| (Ok(bytes), listener)) }))
    }
}

/// One stream.
struct Listener {
    caller: Caller,
    ticks: Receiver<Arc<Tick>>,
    /// Whether everything must be told, since it is new or fell behind.
    knows_nothing: bool,
    silent: u32,
    _permit: OwnedSemaphorePermit,
}

impl Listener {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            // At once, so that whoever connects knows that it works.
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
            let told = match received {
                Ok(_) if self.knows_nothing => self.everything(),
                Ok(tick) => self.changes(&tick),
                Err(RecvError::Lagged(_)) => {
                    self.knows_nothing = true;
                    continue;
                }
                Err(RecvError::Closed) => return None,
            };
            match told {
                Some(bytes) => {
                    self.silent = 0;
                    return Some(bytes);
                }
                None => self.silent += 1,
            }
        }
    }

    fn everything(&mut self) -> Option<Bytes> {
        self.knows_nothing = false;
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
    // An event's document is made of text and numbers only, and JSON has no line breaks.
    let json = serde_json::to_string(document).unwrap_or_default();
    Bytes::from(format!("event: accounts\ndata: {json}\n\n"))
}
