//! Spans and metrics for a collector of OpenTelemetry, over OTLP (HTTP with protobuf).
//!
//! A span is a closed type, as an event of the log is: the route's template, the method, the status, the code of a problem, and when. No
//! path, header, query, body, principal or token can get into one. Metrics are those of the page of Prometheus. A thread of its own
//! sends them, so that a collector that is slow or gone slows no request; what finds no room in its queue, or is not taken, is dropped
//! and counted.

mod context;
mod messages;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use prost::Message;
use taximeter_service::{Code, Problem, Service, random};
use ureq::Agent;
use ureq::http::Uri;

pub(crate) use self::context::TraceContext;
use crate::app::AppState;
use crate::metrics::{self, Metrics};

/// Where spans and metrics are sent, and how often.
#[derive(Clone, Debug)]
pub struct OtlpSettings {
    /// The collector, such as `http://127.0.0.1:4318`; `/v1/traces` and `/v1/metrics` are added.
    pub endpoint: String,
    /// How long spans are collected before they are sent.
    pub spans_every: Duration,
    /// How often metrics are sent.
    pub metrics_every: Duration,
    /// How long the collector may take for a request.
    pub timeout: Duration,
}

impl OtlpSettings {
    /// The intervals of the OpenTelemetry specification.
    pub fn new(endpoint: String) -> OtlpSettings {
        let seconds = Duration::from_secs;
        OtlpSettings { endpoint, spans_every: seconds(5), metrics_every: seconds(60), timeout: seconds(10) }
    }

    /// Where to send a signal.
    fn url(&self, signal: &str) -> Result<String, Problem> {
        let endpoint = self.endpoint.trim_end_matches('/');
        let uri: Option<Uri> = endpoint.parse().ok();
        let scheme = uri.as_ref().and_then(|uri| uri.host().and(uri.scheme_str()));
        match scheme {
            Some("http" | "https") => Ok(format!("{endpoint}/v1/{signal}")),
            _ => Err(Problem::bad_request(format!(
                "{endpoint:?} is not the address of a collector; write it as a URL, such as http://127.0.0.1:4318"
            ))),
        }
    }
}

/// The most spans that wait to be sent.
const WAITING: usize = 4096;

/// The most spans in one request.
const TOGETHER: usize = 512;

/// How long shutdown waits for the last spans to be sent.
const LAST: Duration = Duration::from_secs(3);

/// One request and its answer.
pub(crate) struct RequestSpan {
    pub(crate) context: TraceContext,
    pub(crate) id: [u8; 8],
    pub(crate) method: &'static str,
    /// The template of the path, if it is known.
    pub(crate) route: Option<String>,
    pub(crate) status: u16,
    pub(crate) code: Option<Code>,
    pub(crate) start: SystemTime,
    pub(crate) took: Duration,
}

/// The way to the thread that sends. Dropping it waits a moment until all is sent.
pub(crate) struct Telemetry {
    /// Nothing once it is closed.
    spans: Option<SyncSender<RequestSpan>>,
    dropped: Arc<AtomicU64>,
    /// Ends when the thread has ended.
    ended: Mutex<Receiver<()>>,
}

impl Telemetry {
    /// Starts the thread.
    pub(crate) fn start(settings: &OtlpSettings, state: &AppState) -> Result<Telemetry, Problem> {
        let dropped = Arc::clone(state.metrics.dropped_spans.get_or_init(Arc::default));
        let config = Agent::config_builder().timeout_global(Some(settings.timeout)).max_redirects(0).build();
        let sender = Sender {
            agent: config.into(),
            traces: settings.url("traces")?,
            metrics: settings.url("metrics")?,
            settings: settings.clone(),
            started: SystemTime::now(),
            service: Arc::downgrade(&state.service),
            counts: Arc::clone(&state.metrics),
            dropped: Arc::clone(&dropped),
        };
        let (spans, waiting) = sync_channel(WAITING);
        let (ending, ended) = sync_channel(1);
        let thread = thread::Builder::new().name("otlp".to_string()).spawn(move || {
            sender.run(&waiting);
            drop(ending);
        });
        let cannot =
            |error| Problem::new(Code::Storage, format!("the thread for the collector cannot be started: {error}"));
        thread.map_err(cannot)?;
        Ok(Telemetry { spans: Some(spans), dropped, ended: Mutex::new(ended) })
    }

    /// Queues a span; if there is no room, it is dropped and counted.
    pub(crate) fn send(&self, span: RequestSpan) {
        if self.spans.as_ref().is_none_or(|spans| spans.try_send(span).is_err()) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.spans = None;
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(LAST);
    }
}

/// The id of a new span, or of a trace.
pub(crate) fn new_id<const LENGTH: usize>() -> Option<[u8; LENGTH]> {
    random().ok()
}

/// What the thread has.
struct Sender {
    agent: Agent,
    traces: String,
    metrics: String,
    settings: OtlpSettings,
    started: SystemTime,
    /// Not kept alive by the thread.
    service: Weak<Service>,
    counts: Arc<Metrics>,
    dropped: Arc<AtomicU64>,
}

impl Sender {
    /// Sends until the channel is closed and empty.
    fn run(&self, waiting: &Receiver<RequestSpan>) {
        let mut spans = Vec::new();
        let (mut spans_due, mut metrics_due) = (None, Instant::now() + self.settings.metrics_every);
        loop {
            let due = spans_due.map_or(metrics_due, |due: Instant| due.min(metrics_due));
            let is_closed = match waiting.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(span) => {
                    spans.push(span);
                    spans_due = spans_due.or(Some(Instant::now() + self.settings.spans_every));
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            let now = Instant::now();
            if spans.len() >= TOGETHER || spans_due.is_some_and(|due| due <= now) || is_closed && !spans.is_empty() {
                self.send_spans(&std::mem::take(&mut spans));
                spans_due = None;
            }
            if metrics_due <= now || is_closed {
                self.send_metrics();
                metrics_due = Instant::now() + self.settings.metrics_every;
            }
            if is_closed {
                return;
            }
        }
    }

    fn send_spans(&self, spans: &[RequestSpan]) {
        if !self.post(&self.traces, &messages::traces(spans)) {
            self.dropped.fetch_add(spans.len() as u64, Ordering::Relaxed);
        }
    }

    /// Sends the metrics, while the server runs. If they are not taken, the next ones say it all.
    fn send_metrics(&self) {
        if let Some(service) = self.service.upgrade() {
            let families = metrics::collect(&AppState { service, metrics: Arc::clone(&self.counts) });
            self.post(&self.metrics, &messages::metrics(&families, self.started, SystemTime::now()));
        }
    }

    fn post(&self, url: &str, message: &impl Message) -> bool {
        let request = self.agent.post(url).header("Content-Type", "application/x-protobuf");
        request.send(&message.encode_to_vec()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_in_the_queue_is_dropped_and_counted() {
        let (spans, waiting) = sync_channel(2);
        // The thread has ended.
        let (_, ended) = sync_channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let telemetry = Telemetry { spans: Some(spans), dropped: Arc::clone(&dropped), ended: Mutex::new(ended) };
        for _ in 0..5 {
            let context = TraceContext { trace: [1; 16], parent: None, is_sampled: true };
            let (start, took) = (SystemTime::now(), Duration::from_millis(1));
            let (method, route, status, code) = ("GET", None, 200, None);
            telemetry.send(RequestSpan { context, id: [1; 8], method, route, status, code, start, took });
        }
        assert_eq!((waiting.try_iter().count(), dropped.load(Ordering::Relaxed)), (2, 3));
    }
}
