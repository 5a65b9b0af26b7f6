//! Metrics for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use taximeter_ledger::{Account, CommitTimes, Standing};

use crate::app::AppState;

/// The counts of requests, by route.
#[derive(Default)]
pub(crate) struct Metrics {
    routes: Mutex<BTreeMap<String, RouteCounts>>,
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

    fn write(&self, page: &mut MetricsPage) {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        page.metric("taximeter_http_requests_total", "counter", "Requests by path and status.");
        for (route, counted) in routes.iter() {
            for (status, count) in &counted.statuses {
                let labels = format!("route=\"{route}\",status=\"{status}\"");
                page.line("taximeter_http_requests_total", &labels, *count as f64);
            }
        }
        page.metric("taximeter_http_request_seconds", "histogram", "How long requests took, by path.");
        for (route, counted) in routes.iter() {
            let mut count = 0;
            let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
            let cumulated = bounds.zip(counted.times).map(|(bound, more)| {
                count += more;
                (bound, count)
            });
            let buckets = cumulated.collect::<Vec<_>>();
            let labels = format!("route=\"{route}\"");
            page.histogram("taximeter_http_request_seconds", &labels, &buckets, count, counted.seconds);
        }
    }
}

/// All metrics, in the text format of Prometheus.
pub(crate) fn page(AppState { service, metrics }: &AppState) -> String {
    let mut page = MetricsPage::default();
    let ledger = service.ledger();
    let single = |page: &mut MetricsPage, name: &str, kind: &str, help: &str, value: f64| {
        page.metric(name, kind, help);
        page.line(name, "", value);
    };
    let charges = "Charges that this server committed since it started.";
    single(&mut page, "taximeter_charges_total", "counter", charges, ledger.charges() as f64);
    let refusals = "Charges that were refused since it started.";
    single(&mut page, "taximeter_refusals_total", "counter", refusals, ledger.refusals().0 as f64);
    single(&mut page, "taximeter_queue_length", "gauge", "Charges that wait for the writer.", ledger.waiting() as f64);
    let records = "Records of the journal.";
    single(&mut page, "taximeter_journal_records", "gauge", records, ledger.position().sequence as f64 + 1.0);
    let checkpointed = "Records that the newest signed checkpoint covers; 0 if there is none.";
    single(&mut page, "taximeter_checkpoint_records", "gauge", checkpointed, service.checkpointed() as f64);
    let running = "1 while the ledger takes charges, 0 after it stopped.";
    single(&mut page, "taximeter_ledger_running", "gauge", running, f64::from(u8::from(ledger.is_running())));
    let alarm = "1 while the ledger is not what was written and takes no charges, until its owner clears the alarm.";
    let is_alarmed = f64::from(u8::from(service.readiness.is_alarmed()));
    single(&mut page, "taximeter_ledger_alarm", "gauge", alarm, is_alarmed);
    let CommitTimes { buckets, count, sum_seconds } = ledger.commit_times();
    let help = "How long transactions took, until the witness was synced.";
    page.metric("taximeter_commit_seconds", "histogram", help);
    page.histogram("taximeter_commit_seconds", "", &buckets, count, sum_seconds);
    let streams = "Open event streams.";
    single(&mut page, "taximeter_event_streams", "gauge", streams, service.events.streams() as f64);
    if let Some(bytes) = resident_bytes() {
        single(&mut page, "process_resident_memory_bytes", "gauge", "Memory in use.", bytes);
    }
    metrics.write(&mut page);
    let roots: Vec<Account> =
        ledger.accounts().into_iter().filter(|account| account.name().parent().is_none()).collect();
    write_accounts(&mut page, &roots);
    page.0
}

/// The balances of the root accounts.
fn write_accounts(page: &mut MetricsPage, roots: &[Account]) {
    type Read = fn(&Account) -> Option<f64>;
    let gauges: [(&str, &str, Read); 5] =
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
    for (name, help, read) in gauges {
        page.metric(name, "gauge", help);
        for account in roots {
            if let Some(value) = read(account) {
                // Names need no escapes.
                page.line(name, &format!("account=\"{}\"", account.name()), value);
            }
        }
    }
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
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
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
        metrics.write(&mut page);
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
