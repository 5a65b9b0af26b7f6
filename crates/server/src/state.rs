//! What all requests share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use taximeter_gate::Gate;
use taximeter_ledger::Ledger;
use tokio::sync::{Semaphore, watch};

use crate::dashboard::{Attempts, Sessions};
use crate::events::Events;
use crate::fair::FairQueue;
use crate::limits::Rates;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::places::Places;
use crate::readiness::Readiness;
use crate::tokens::Tokens;
use crate::trails::Trails;
use crate::turns::Turns;
use crate::uploads::Uploads;
use crate::verification::Verification;

/// What all requests share.
pub struct State {
    /// The gate, and with it the ledger.
    pub(crate) gate: Gate,
    pub(crate) tokens: Tokens,
    /// Whoever looks at pages.
    pub(crate) sessions: Sessions,
    /// Wrong tokens at the door.
    pub(crate) attempts: Attempts,
    pub(crate) rates: Rates,
    /// Requests that are under way, by the ids of their tokens.
    pub(crate) places: Places<String>,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
    pub(crate) uploads: Uploads,
    pub(crate) verification: Verification,
    pub(crate) trails: Trails,
    pub(crate) log: Log,
    pub(crate) readiness: Readiness,
    pub(crate) settings: Settings,
    /// Charges and quotes, which wait for each other.
    pub(crate) work: FairQueue,
    /// Quotes that are under way, by principal.
    pub(crate) quotes: Places<String>,
    /// Questions that may run at the same time; the others wait.
    pub(crate) questions: Turns,
    /// Exports that may run at the same time: each keeps a thread and a view of the journal.
    pub(crate) exports: Arc<Semaphore>,
    /// When the server started: ticks are counted from here.
    pub(crate) started: tokio::time::Instant,
    /// Whether the server is about to end.
    ending: watch::Sender<bool>,
}

/// Exports at the same time.
const EXPORTS: usize = 4;

/// How a server behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The largest body of a request, in bytes; uploads have their own limit.
    pub largest_body: usize,
    /// The largest upload, in bytes.
    pub largest_upload: u64,
    /// How long a request may take to arrive, its body included.
    pub arrival: Duration,
    /// Connections at the same time.
    pub connections: usize,
    /// Requests of one token in a second.
    pub requests_per_second: u32,
    /// Requests of one token that may be under way at the same time, event streams included; 0 for no limit.
    pub requests_at_once: usize,
    /// Quotes of one principal that may be under way at the same time, what a question would cost included; 0 for no limit.
    pub quotes_at_once: usize,
    /// Connections from one other machine at the same time; 0 for no limit.
    pub connections_of_one: usize,
    /// Questions that run at the same time.
    pub questions: usize,
    /// Event streams at the same time.
    pub streams: usize,
    /// When answers are released: on multiples of this, if it is set.
    pub tick: Option<Duration>,
    /// How often the whole journal is verified, if it is.
    pub verify_every: Option<Duration>,
    /// How long an orderly end may take.
    pub farewell: Duration,
    /// Whether browsers reach it encrypted only, so that cookies need not travel otherwise.
    pub is_encrypted: bool,
    /// The PostgreSQL servers that datasets may be registered from over the network: hosts, or hosts with a port. That of the ledger may
    /// always be used.
    pub postgres_hosts: Vec<String>,
    /// Whether a proxy stands in front of it, which says who is behind it.
    pub is_behind_proxy: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            largest_body: 256 * 1024,
            largest_upload: 4 << 30,
            arrival: Duration::from_secs(15),
            connections: 2048,
            requests_per_second: 500,
            requests_at_once: 64,
            quotes_at_once: 16,
            connections_of_one: 512,
            questions: 8,
            streams: 1024,
            tick: Some(Duration::from_millis(50)),
            verify_every: Some(Duration::from_secs(24 * 3600)),
            farewell: Duration::from_secs(30),
            is_encrypted: false,
            is_behind_proxy: false,
            postgres_hosts: Vec::new(),
        }
    }
}

impl State {
    /// What a server needs. Blocks.
    pub fn new(
        gate: Gate,
        tokens: Tokens,
        log: Log,
        settings: Settings,
    ) -> Result<Arc<State>, taximeter_service::Problem> {
        let uploads = Uploads::new(PathBuf::from(gate.catalog().folder()), settings.largest_upload)?;
        let events = Events::new(gate.ledger(), settings.streams);
        Ok(Arc::new(State {
            tokens,
            sessions: Sessions::new()?,
            attempts: Attempts::default(),
            rates: Rates::new(settings.requests_per_second),
            places: Places::new(settings.requests_at_once),
            events,
            metrics: Metrics::default(),
            uploads,
            verification: Verification::default(),
            trails: Trails::default(),
            log,
            readiness: Readiness::default(),
            work: FairQueue::default(),
            quotes: Places::new(settings.quotes_at_once),
            questions: Turns::new(settings.questions),
            exports: Arc::new(Semaphore::new(EXPORTS)),
            started: tokio::time::Instant::now(),
            ending: watch::Sender::new(false),
            gate,
            settings,
        }))
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.gate.ledger()
    }

    /// Says that the server is about to end: nothing new is taken, and streams end.
    pub(crate) fn end(&self) {
        self.ending.send_replace(true);
    }

    /// Whether the server is about to end.
    pub(crate) fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }

    /// Waits until the server is about to end.
    pub(crate) fn until_end(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut ending = self.ending.subscribe();
        async move {
            // If the state itself is gone, that is the end too.
            let _ = ending.wait_for(|ending| *ending).await;
        }
    }
}
