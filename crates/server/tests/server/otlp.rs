//! Spans and metrics, at a collector that decodes them, at one that hangs, and at none.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{Metric, metric, number_data_point};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::json;
use taximeter_server::OtlpSettings;

use crate::fixture::{TestServer, eventually};

/// The requests of a server, each with its path.
type Received = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A collector on loopback, which decodes what it gets.
struct Collector {
    url: String,
    received: Received,
}

impl Collector {
    /// One that answers, or one that only reads.
    fn start(answers: bool) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Received::default();
        let kept = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || while receive(stream.as_ref().unwrap(), &kept, answers).is_some() {});
            }
        });
        Collector { url, received }
    }

    /// How a server sends to it, as often as a test needs.
    fn settings(&self) -> OtlpSettings {
        let (spans_every, metrics_every) = (Duration::from_millis(10), Duration::from_millis(100));
        OtlpSettings { spans_every, metrics_every, ..OtlpSettings::new(self.url.clone()) }
    }

    fn messages<M: Message + Default>(&self, path: &str) -> Vec<M> {
        let received = self.received.lock().unwrap();
        let own = received.iter().filter(|(to, _)| to == path);
        own.map(|(_, body)| M::decode(body.as_slice()).unwrap()).collect()
    }

    fn spans(&self) -> Vec<Span> {
        let requests = self.messages::<ExportTraceServiceRequest>("/v1/traces").into_iter();
        let resources = requests.flat_map(|request| request.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    /// The metrics of the newest request.
    fn metrics(&self) -> Vec<Metric> {
        let request = self.messages::<ExportMetricsServiceRequest>("/v1/metrics").pop();
        let resources = request.into_iter().flat_map(|request| request.resource_metrics);
        resources.flat_map(|resource| resource.scope_metrics).flat_map(|scope| scope.metrics).collect()
    }
}

/// Reads one request; nothing at the end of the connection.
fn receive(stream: &TcpStream, received: &Received, answers: bool) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok().filter(|count| *count > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim().to_lowercase().split_once(':') {
            Some(("content-length", count)) => length = count.trim().parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    received.lock().unwrap().push((first.split(' ').nth(1)?.to_string(), body));
    if answers {
        let mut stream = stream;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
    }
    Some(())
}

fn attributes(of: &[KeyValue]) -> Vec<(String, String)> {
    let read = |attribute: &KeyValue| {
        let value = match attribute.value.clone().unwrap().value.unwrap() {
            any_value::Value::StringValue(text) => text,
            any_value::Value::IntValue(number) => number.to_string(),
            other => panic!("{other:?}"),
        };
        (attribute.key.clone(), value)
    };
    of.iter().map(read).collect()
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const QUESTION: &str = "SELECT COUNT(*) FROM census WHERE region = 'north'";

#[tokio::test]
async fn a_charge_and_a_question_are_spans_of_the_callers_trace() {
    let collector = Collector::start(true);
    let server = TestServer::new().sending(&collector.settings());
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let charge = json!({"accounts": ["census/alice"], "costs": [{"epsilon": "0.01"}], "note": "hush"}).to_string();
    let sent = [("traceparent", parent.as_str()), ("idempotency-key", "a-key-of-mine")];
    server.send_with("alice", "POST", "/v1/charges", &charge, &sent).await.expect(201);
    server.ask("alice", QUESTION, "0.1", "another-key", json!({})).await;
    server.get("bob", "/v1/accounts/census%2Falice").await.expect(403);
    server.get("bad", "/v1/accounts/a-hidden-name").await.expect(401);
    server.get("alice", "/no/such/path?secret=17").await.expect(404);

    let spans = eventually("five spans", async || Some(collector.spans()).filter(|spans| spans.len() == 5)).await;
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names[..2], ["POST /v1/charges", "POST /v1/questions"]);
    assert_eq!(names[2..], ["GET /v1/accounts/{name}", "GET /v1/accounts/{name}", "GET"]);
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(
        (digits(&spans[0].trace_id), digits(&spans[0].parent_span_id)),
        (TRACE.into(), "00f067aa0ba902b7".into())
    );
    assert!(spans[1].parent_span_id.is_empty() && spans[1].trace_id != spans[0].trace_id);
    assert!(spans.iter().all(|span| span.start_time_unix_nano < span.end_time_unix_nano && span.span_id.len() == 8));
    for (span, (status, code)) in
        spans.iter().zip([("201", None), ("201", None), ("403", Some("forbidden")), ("401", Some("unauthorized"))])
    {
        let attributes = attributes(&span.attributes);
        let value = |key: &str| attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
        assert_eq!((value("http.response.status_code"), value("error.type")), (Some(status), code), "{}", span.name);
        let known = ["http.request.method", "http.response.status_code", "http.route", "error.type"];
        assert!(attributes.iter().all(|(name, _)| known.contains(&name.as_str())), "{attributes:?}");
    }

    // What is sent has no token, no principal, no account below a root, no key, no SQL, no note and no path.
    eventually("metrics", async || Some(collector.metrics()).filter(|metrics| !metrics.is_empty())).await;
    let received = collector.received.lock().unwrap();
    let secrets =
        ["alice", "bob", "a-key-of-mine", "another-key", "SELECT", "north", "hush", "hidden", "/no/such", "secret="];
    let tokens = ["alice", "bob", "owner"].map(|who| server.secret(who));
    for secret in secrets.into_iter().chain(tokens) {
        let holds = |body: &[u8]| body.windows(secret.len()).any(|window| window == secret.as_bytes());
        let found = received.iter().find(|(_, body)| holds(body));
        assert!(found.is_none(), "{secret} is in what was sent to {}", found.unwrap().0);
    }
}

#[tokio::test]
async fn the_metrics_are_those_of_the_page() {
    let collector = Collector::start(true);
    let server = TestServer::new().sending(&collector.settings());
    server.charge("alice", &["census/alice"], "0.01", "one").await.expect(201);
    let charges = |metrics: &[Metric]| {
        let metric = metrics.iter().find(|metric| metric.name == "taximeter_charges_total")?;
        let Some(metric::Data::Sum(sum)) = &metric.data else { panic!("{metric:?}") };
        assert!(sum.is_monotonic);
        sum.data_points[0].value
    };
    let one = Some(number_data_point::Value::AsDouble(1.0));
    let metrics = eventually("a charge", async || {
        let metrics = collector.metrics();
        let times = |metric: &Metric| match &metric.data {
            Some(metric::Data::Histogram(times)) if metric.name == "taximeter_http_request_seconds" => {
                times.data_points.iter().any(|point| point.bucket_counts.iter().sum::<u64>() == point.count)
            }
            _ => false,
        };
        (charges(&metrics) == one && metrics.iter().any(times)).then_some(metrics)
    });
    let metrics = metrics.await;
    let page = server.get("auditor", "/metrics").await.expect(200).text();
    let on_page: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert_eq!(metrics.iter().map(|metric| metric.name.as_str()).collect::<Vec<_>>(), on_page);
    assert!(page.contains("taximeter_spans_dropped_total 0"), "{page}");
}

#[tokio::test]
async fn what_the_caller_does_not_sample_is_not_sent() {
    let collector = Collector::start(true);
    let server = TestServer::new().sending(&collector.settings());
    let parent = |flags| format!("00-{TRACE}-00f067aa0ba902b7-{flags}");
    server.send_with("alice", "GET", "/v1/me", "", &[("traceparent", &parent("00"))]).await.expect(200);
    server.send_with("alice", "GET", "/v1/accounts", "", &[("traceparent", &parent("01"))]).await.expect(200);
    let spans = eventually("a span", async || Some(collector.spans()).filter(|spans| !spans.is_empty())).await;
    assert_eq!(spans.iter().map(|span| span.name.as_str()).collect::<Vec<_>>(), ["GET /v1/accounts"]);
}

/// Requests are answered as without it, and the spans that it did not get are counted.
async fn charges_go_on(settings: &OtlpSettings) {
    let server = TestServer::new().sending(settings);
    for number in 0..20 {
        server.charge("alice", &["census/alice"], "0.001", &format!("key {number}")).await.expect(201);
    }
    let all_are_counted = async || {
        let page = server.get("auditor", "/metrics").await.expect(200).text();
        let dropped = page.lines().find_map(|line| line.strip_prefix("taximeter_spans_dropped_total ")).unwrap();
        (dropped.parse::<u64>().unwrap() >= 20).then_some(())
    };
    eventually("the spans that were dropped", all_are_counted).await;
}

#[tokio::test]
async fn a_collector_that_hangs_stops_no_charge() {
    let collector = Collector::start(false);
    charges_go_on(&OtlpSettings { timeout: Duration::from_millis(50), ..collector.settings() }).await;
}

#[tokio::test]
async fn a_collector_that_is_absent_stops_no_charge() {
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let settings = Collector { url, received: Received::default() }.settings();
    charges_go_on(&settings).await;
}

#[test]
fn what_is_no_address_is_refused() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    for endpoint in ["", "127.0.0.1", "ftp://127.0.0.1", "not a url"] {
        let settings = OtlpSettings::new(endpoint.to_string());
        let server = TestServer::new();
        let problem = server.app().with_otlp(&settings).err().unwrap();
        assert!(problem.detail.contains("http://127.0.0.1:4318"), "{}", problem.detail);
    }
}
