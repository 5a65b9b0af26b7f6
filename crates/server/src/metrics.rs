//! What is counted, once: for the page of Prometheus, and for a collector of OpenTelemetry.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use taximeter_ledger::{Account, CommitTimes, Standing};

use crate::app::AppState;

/// The counts of requests, by route.
#[derive(Default)]
pub(crate) struct Metrics {
    routes: Mutex<BTreeMap<String, RouteCounts>>,
    /// Spans that no collector got; nothing where none is sent any.
    pub(crate) dropped_spans: OnceLock<Arc<AtomicU64>>,
}

/// A metric, with a point for each of its labels. The names are written here; a label has a route, a status or a root account.
pub(crate) struct MetricFamily {
    pub(crate) name: &'static str,
    pub(crate) kind: MetricKind,
    pub(crate) help: &'static str,
    pub(crate) points: Vec<MetricPoint>,
}

/// Whether a metric only grows, goes up and down, or has buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

pub(crate) struct MetricPoint {
    pub(crate) labels: Vec<(&'static str, String)>,
    pub(crate) value: MetricValue,
}

pub(crate) enum MetricValue {
    Number(f64),
    Buckets {
        /// The upper bounds, the last one infinite, each with the number of all that are not above it.
        buckets: Vec<(f64, u64)>,
        count: u64,
        sum: f64,
    },
}

/// The upper bounds of the histogram of durations, in seconds.
const BOUNDS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];

/// The counts of one route.
#[derive(Default)]
struct RouteCounts {
    statuses: BTreeMap<u16, u64>,
    /// By bucket, not cumulative.
    times: [u64; BOUNDS.len() + 1],
    seconds: f64,
}

impl RouteCounts {
    fn add(&mut self, status: u16, took: Duration) {
        *self.statuses.entry(status).or_default() += 1;
        self.times[BOUNDS.partition_point(|bound| *bound < took.as_secs_f64())] += 1;
        self.seconds += took.as_secs_f64();
    }

    fn times(&self) -> MetricValue {
        let mut count = 0;
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        let cumulated = bounds.zip(self.times).map(|(bound, more)| {
            count += more;
            (bound, count)
        });
        let buckets = cumulated.collect();
        MetricValue::Buckets { buckets, count, sum: self.seconds }
    }
}

impl Metrics {
    /// Counts a request. `route` is a template such as `/v1/accounts/{name}`.
    pub(crate) fn request(&self, route: &str, status: u16, took: Duration) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        match routes.get_mut(route) {
            Some(counted) => counted.add(status, took),
            None => routes.entry(route.to_string()).or_default().add(status, took),
        }
    }

    fn families(&self) -> [MetricFamily; 2] {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let label = |route: &String| ("route", route.clone());
        let requests = routes.iter().flat_map(|(route, counted)| {
            let point = move |(status, count): (&u16, &u64)| MetricPoint {
                labels: vec![label(route), ("status", status.to_string())],
                value: MetricValue::Number(*count as f64),
            };
            counted.statuses.iter().map(point)
        });
        let times =
            routes.iter().map(|(route, counted)| MetricPoint { labels: vec![label(route)], value: counted.times() });
        [
            MetricFamily {
                name: "taximeter_http_requests_total",
                kind: MetricKind::Counter,
                help: "Requests by path and status.",
                points: requests.collect(),
            },
            MetricFamily {
                name: "taximeter_http_request_seconds",
                kind: MetricKind::Histogram,
                help: "How long requests took, by path.",
                points: times.collect(),
            },
        ]
    }
}

/// All metrics.
pub(crate) fn collect(AppState { service, metrics, .. }: &AppState) -> Vec<MetricFamily> {
    let ledger = service.ledger();
    let single = |name, kind, help, value: f64| {
        let point = MetricPoint { labels: Vec::new(), value: MetricValue::Number(value) };
        MetricFamily { name, kind, help, points: vec![point] }
    };
    let counter = |name, help, value: u64| single(name, MetricKind::Counter, help, value as f64);
    let gauge = |name, help, value: f64| single(name, MetricKind::Gauge, help, value);
    let flag = |name, help, value: bool| gauge(name, help, f64::from(u8::from(value)));
    let CommitTimes { buckets, count, sum_seconds } = ledger.commit_times();
    let commits = MetricValue::Buckets { buckets: buckets.to_vec(), count, sum: sum_seconds };
    let mut families = vec![
        counter("taximeter_charges_total", "Charges that this server committed since it started.", ledger.charges()),
        counter("taximeter_refusals_total", "Charges that were refused since it started.", ledger.refusals().0),
        gauge("taximeter_queue_length", "Charges that wait for the writer.", ledger.waiting() as f64),
        gauge("taximeter_journal_records", "Records of the journal.", ledger.position().sequence as f64 + 1.0),
        gauge(
            "taximeter_checkpoint_records",
            "Records that the newest signed checkpoint covers; 0 if there is none.",
            service.checkpointed() as f64,
        ),
        flag("taximeter_ledger_running", "1 while the ledger takes charges, 0 after it stopped.", ledger.is_running()),
        flag(
            "taximeter_ledger_alarm",
            "1 after an integrity check failed, until the owner clears the alarm: the ledger takes no charges.",
            service.readiness.is_alarmed(),
        ),
        MetricFamily {
            name: "taximeter_commit_seconds",
            kind: MetricKind::Histogram,
            help: "How long transactions took, until the witness was synced.",
            points: vec![MetricPoint { labels: Vec::new(), value: commits }],
        },
        gauge("taximeter_event_streams", "Open event streams.", service.events.streams() as f64),
    ];
    families.extend(resident_bytes().map(|bytes| gauge("process_resident_memory_bytes", "Memory in use.", bytes)));
    families.extend(metrics.dropped_spans.get().map(|dropped| {
        let help = "Spans that the collector of OpenTelemetry did not get since the server started.";
        counter("taximeter_spans_dropped_total", help, dropped.load(Ordering::Relaxed))
    }));
    families.extend(metrics.families());
    families.extend(of_accounts(ledger.accounts().into_iter().filter(|account| account.name().parent().is_none())));
    families
}

/// All metrics, in the text format of Prometheus.
pub(crate) fn page(state: &AppState) -> String {
    let mut page = MetricsPage::default();
    collect(state).iter().for_each(|family| page.family(family));
    page.0
}

/// The balances of the root accounts.
fn of_accounts(roots: impl Iterator<Item = Account>) -> Vec<MetricFamily> {
    type Read = fn(&Account) -> Option<f64>;
    let roots: Vec<Account> = roots.collect();
    let gauges: [(&'static str, &'static str, Read); 5] =
        [
            (
                "taximeter_account_spent_epsilon",
                "The sum of epsilons that a root account spent; missing where one had none.",
                |account| Some(account.filter()?.spent().epsilon?.upper()),
            ),
            ("taximeter_account_left_ratio", "The share of its budget that a root account has left.", Account::left),
            (
                "taximeter_account_reading",
                "The odometer of a root account; missing where there is no bound.",
                Account::reading,
            ),
            ("taximeter_account_charges", "The charges that a root account paid.", |account| {
                Some(account.charges() as f64)
            }),
            ("taximeter_account_open", "1 while a root account takes charges.", |account| {
                Some(f64::from(u8::from(account.standing() == Standing::Open)))
            }),
        ];
    let family = |(name, help, read): (_, _, Read)| {
        let point = |account: &Account| {
            let value = MetricValue::Number(read(account)?);
            Some(MetricPoint { labels: vec![("account", account.name().to_string())], value })
        };
        MetricFamily { name, kind: MetricKind::Gauge, help, points: roots.iter().filter_map(point).collect() }
    };
    gauges.into_iter().map(family).collect()
}

/// The resident memory of the process, if the system reports it.
fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0)
}

/// A page in the text format of Prometheus.
#[derive(Default)]
struct MetricsPage(String);

impl MetricsPage {
    fn family(&mut self, MetricFamily { name, kind, help, points }: &MetricFamily) {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        // Writing to a string cannot fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for MetricPoint { labels, value } in points {
            // No label needs escapes.
            let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
            match value {
                MetricValue::Number(value) => self.line(name, &labels.join(","), *value),
                MetricValue::Buckets { buckets, count, sum } => {
                    self.histogram(name, &labels.join(","), buckets, *count, *sum);
                }
            }
        }
    }

    fn line(&mut self, name: &str, labels: &str, value: f64) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }

    fn histogram(&mut self, name: &str, labels: &str, buckets: &[(f64, u64)], count: u64, sum: f64) {
        let comma = if labels.is_empty() { "" } else { "," };
        for (bound, count) in buckets {
            let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_string() };
            self.line(&format!("{name}_bucket"), &format!("{labels}{comma}le=\"{bound}\""), *count as f64);
        }
        self.line(&format!("{name}_sum"), labels, sum);
        self.line(&format!("{name}_count"), labels, count as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_path_and_status_and_in_every_bucket_that_is_large_enough() {
        let metrics = Metrics::default();
        for (status, milliseconds) in [(201, 1), (201, 2), (409, 30), (201, 20_000)] {
            metrics.request("/v1/charges", status, Duration::from_millis(milliseconds));
        }
        let mut page = MetricsPage::default();
        metrics.families().iter().for_each(|family| page.family(family));
        for line in [
            "taximeter_http_requests_total{route=\"/v1/charges\",status=\"201\"} 3",
            "taximeter_http_requests_total{route=\"/v1/charges\",status=\"409\"} 1",
            "taximeter_http_request_seconds_bucket{route=\"/v1/charges\",le=\"0.001\"} 1",
            "taximeter_http_request_seconds_bucket{route=\"/v1/charges\",le=\"0.0025\"} 2",
            "taximeter_http_request_seconds_bucket{route=\"/v1/charges\",le=\"10\"} 3",
            "taximeter_http_request_seconds_bucket{route=\"/v1/charges\",le=\"+Inf\"} 4",
            "taximeter_http_request_seconds_count{route=\"/v1/charges\"} 4",
        ] {
            assert!(page.0.lines().any(|written| written == line), "{line} in\n{}", page.0);
        }
    }
}
