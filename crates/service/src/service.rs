//! The state that all callers share: the gate and the ledger, the tokens, the limits and the log.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use taximeter_gate::Gate;
use taximeter_ledger::Ledger;
use tokio::sync::{Semaphore, watch};

use crate::Problem;
use crate::checkpoints::Checkpoints;
use crate::events::Events;
use crate::identity::{Issuer, OidcSettings};
use crate::limits::{FairQueue, QuestionQueue, Rates, Slots};
use crate::log::Log;
use crate::readiness::Readiness;
use crate::timelines::Timelines;
use crate::tokens::Tokens;
use crate::uploads::Uploads;
use crate::verification::Verification;

/// The state that all callers share.
pub struct Service {
    /// The gate, and with it the ledger.
    pub(crate) gate: Gate,
    /// The tokens that identify callers.
    pub tokens: Tokens,
    /// The issuer whose tokens are accepted in addition.
    pub issuer: Option<Arc<Issuer>>,
    pub(crate) rates: Rates,
    /// Requests that are under way, by the ids of their tokens.
    pub(crate) requests: Slots<String>,
    /// The streams of events.
    pub events: Events,
    pub(crate) uploads: Uploads,
    pub(crate) verification: Verification,
    pub(crate) checkpoints: Checkpoints,
    /// The timelines of accounts, for charts.
    pub timelines: Timelines,
    /// The log.
    pub log: Log,
    /// Whether the ledger takes charges.
    pub readiness: Readiness,
    /// The server's settings.
    pub settings: Settings,
    /// The queue of charges and quotes.
    pub(crate) work: FairQueue,
    /// Quotes under way, by principal.
    pub(crate) quotes: Slots<String>,
    /// The queue of questions.
    pub(crate) questions: QuestionQueue,
    /// The permit for a plan: one is made at a time.
    pub(crate) plans: Arc<Semaphore>,
    /// Permits for exports: each holds a thread and a view of the journal.
    pub(crate) exports: Arc<Semaphore>,
    /// When the service started; ticks are counted from here.
    started: tokio::time::Instant,
    /// Whether the service is shutting down.
    ending: watch::Sender<bool>,
}

/// The most exports at the same time.
pub(crate) const EXPORTS: usize = 4;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The largest body of a request, in bytes; uploads have their own limit.
    pub largest_body: usize,
    /// The largest upload, in bytes.
    pub largest_upload: u64,
    /// How long a request may take to arrive, its body included.
    pub arrival: Duration,
    /// The most connections at the same time.
    pub connections: usize,
    /// Requests of one token per second; 0 for no limit.
    pub requests_per_second: u32,
    /// The most requests of one token at the same time, event streams included; 0 for no limit.
    pub requests_at_once: usize,
    /// The most quotes and explanations of one principal at the same time; 0 for no limit.
    pub quotes_at_once: usize,
    /// The most connections from one other machine at the same time; 0 for no limit.
    pub connections_of_one: usize,
    /// The most questions that run at the same time.
    pub questions: usize,
    /// The most event streams at the same time.
    pub streams: usize,
    /// Answers are released on multiples of this; `None` releases them at once.
    pub tick: Option<Duration>,
    /// How often the whole journal is verified; `None` for never.
    pub verify_every: Option<Duration>,
    /// How often a signed checkpoint is kept, if there is a key to sign with; `None` for never.
    pub checkpoint_every: Option<Duration>,
    /// How long a graceful shutdown may take.
    pub shutdown: Duration,
    /// Whether browsers reach the server over TLS only, so that its cookies are marked secure.
    pub is_encrypted: bool,
    /// The PostgreSQL servers that datasets may be registered from over the network: hosts, or hosts with a port. The ledger's own server
    /// is always allowed.
    pub postgres_hosts: Vec<String>,
    /// Whether a reverse proxy names the client's address in `X-Forwarded-For`.
    pub is_behind_proxy: bool,
    /// The OpenID Connect issuer whose tokens are accepted in addition to this server's own.
    pub oidc: Option<OidcSettings>,
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
            checkpoint_every: Some(Duration::from_secs(600)),
            shutdown: Duration::from_secs(30),
            is_encrypted: false,
            is_behind_proxy: false,
            postgres_hosts: Vec::new(),
            oidc: None,
        }
    }
}

impl Service {
    /// A service over a gate and its tokens, and the issuer of the settings. Blocks.
    pub fn new(gate: Gate, tokens: Tokens, log: Log, settings: Settings) -> Result<Arc<Service>, Problem> {
        let uploads = Uploads::new(PathBuf::from(gate.catalog().folder()), settings.largest_upload)?;
        let checkpoints = Checkpoints::open(gate.ledger())?;
        let events = Events::new(gate.ledger(), settings.streams);
        let issuer = settings.oidc.as_ref().map(|oidc| Issuer::new(oidc, log.clone())).transpose()?;
        Ok(Arc::new(Service {
            tokens,
            issuer,
            rates: Rates::new(settings.requests_per_second),
            requests: Slots::new(settings.requests_at_once),
            events,
            uploads,
            verification: Verification::default(),
            checkpoints,
            timelines: Timelines::default(),
            log,
            readiness: Readiness::default(),
            work: FairQueue::default(),
            quotes: Slots::new(settings.quotes_at_once),
            questions: QuestionQueue::new(settings.questions),
            plans: Arc::new(Semaphore::new(1)),
            exports: Arc::new(Semaphore::new(EXPORTS)),
            started: tokio::time::Instant::now(),
            ending: watch::Sender::new(false),
            gate,
            settings,
        }))
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        self.gate.ledger()
    }

    /// How many records the newest signed checkpoint covers; 0 if there is none.
    pub fn checkpointed(&self) -> u64 {
        self.checkpoints.size(self.ledger())
    }

    /// Starts the shutdown: streams end, and the journal is no longer followed.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }

    /// Whether the service is shutting down.
    pub fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }

    /// Waits until the service shuts down.
    pub fn until_end(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut ending = self.ending.subscribe();
        async move {
            // A dropped service counts as shut down.
            let _ = ending.wait_for(|ending| *ending).await;
        }
    }

    /// How long ago the newest tick was; `None` if answers are released at once.
    pub(crate) fn since_tick(&self) -> Option<Duration> {
        let tick = self.settings.tick.filter(|tick| !tick.is_zero())?;
        let since = self.started.elapsed().as_nanos() % tick.as_nanos();
        Some(Duration::from_nanos(u64::try_from(since).unwrap_or(u64::MAX)))
    }

    /// Waits for the next tick, if ticks are set: the time of an answer then tells only how many ticks it took.
    pub(crate) async fn until_tick(&self) {
        if let Some((tick, since)) = self.settings.tick.zip(self.since_tick()) {
            tokio::time::sleep(tick.saturating_sub(since)).await;
        }
    }
}
