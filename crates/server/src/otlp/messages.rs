//! Spans and metrics as the messages of OTLP.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum, metric,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};

use super::RequestSpan;
use crate::metrics::{MetricFamily, MetricKind, MetricPoint, MetricValue};

/// The attributes that a span can have. There are no others.
const METHOD: &str = "http.request.method";
const ROUTE: &str = "http.route";
const STATUS: &str = "http.response.status_code";
const CODE: &str = "error.type";

/// A request with spans.
pub(super) fn traces(spans: &[RequestSpan]) -> ExportTraceServiceRequest {
    let scope_spans =
        ScopeSpans { scope: Some(scope()), spans: spans.iter().map(span).collect(), ..Default::default() };
    let resource_spans =
        ResourceSpans { resource: Some(resource()), scope_spans: vec![scope_spans], ..Default::default() };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }
}

fn span(span: &RequestSpan) -> Span {
    let RequestSpan { context, id, method, route, status, code, start, took } = span;
    let mut attributes = vec![text(METHOD, method), attribute(STATUS, any_value::Value::IntValue(i64::from(*status)))];
    attributes.extend(route.as_deref().map(|route| text(ROUTE, route)));
    attributes.extend(code.map(|code| text(CODE, code.name())));
    let outcome = if *status >= 500 { StatusCode::Error } else { StatusCode::Unset };
    Span {
        trace_id: context.trace.to_vec(),
        span_id: id.to_vec(),
        parent_span_id: context.parent.map(Vec::from).unwrap_or_default(),
        name: route.as_deref().map_or_else(|| method.to_string(), |route| format!("{method} {route}")),
        kind: SpanKind::Server.into(),
        start_time_unix_nano: nanoseconds(*start),
        end_time_unix_nano: nanoseconds(*start + *took),
        attributes,
        status: Some(Status { message: String::new(), code: outcome.into() }),
        ..Default::default()
    }
}

/// A request with metrics, which are counted since the server was started.
pub(super) fn metrics(families: &[MetricFamily], started: SystemTime, now: SystemTime) -> ExportMetricsServiceRequest {
    let metrics = families.iter().map(|family| metric(family, nanoseconds(started), nanoseconds(now))).collect();
    let scope_metrics = ScopeMetrics { scope: Some(scope()), metrics, ..Default::default() };
    let resource_metrics =
        ResourceMetrics { resource: Some(resource()), scope_metrics: vec![scope_metrics], ..Default::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }
}

fn metric(family: &MetricFamily, started: u64, now: u64) -> Metric {
    let MetricFamily { name, kind, help, points } = family;
    let cumulative = AggregationTemporality::Cumulative.into();
    let attributes = |point: &MetricPoint| point.labels.iter().map(|(label, value)| text(label, value)).collect();
    let number = |point: &MetricPoint| match &point.value {
        MetricValue::Buckets { .. } => None,
        MetricValue::Number(value) => Some(NumberDataPoint {
            attributes: attributes(point),
            start_time_unix_nano: started,
            time_unix_nano: now,
            value: Some(Number::AsDouble(*value)),
            ..Default::default()
        }),
    };
    let histogram = |point: &MetricPoint| match &point.value {
        MetricValue::Number(_) => None,
        MetricValue::Buckets { buckets, count, sum } => {
            // Here each bucket counts what is in no smaller one.
            let before = std::iter::once(0).chain(buckets.iter().map(|(_, count)| *count));
            Some(HistogramDataPoint {
                attributes: attributes(point),
                start_time_unix_nano: started,
                time_unix_nano: now,
                count: *count,
                sum: Some(*sum),
                explicit_bounds: buckets.iter().map(|(bound, _)| *bound).filter(|bound| bound.is_finite()).collect(),
                bucket_counts: buckets.iter().zip(before).map(|((_, count), before)| count - before).collect(),
                ..Default::default()
            })
        }
    };
    let data_points = points.iter().filter_map(number).collect();
    let data = match kind {
        MetricKind::Gauge => metric::Data::Gauge(Gauge { data_points }),
        MetricKind::Counter => {
            metric::Data::Sum(Sum { data_points, aggregation_temporality: cumulative, is_monotonic: true })
        }
        MetricKind::Histogram => metric::Data::Histogram(Histogram {
            data_points: points.iter().filter_map(histogram).collect(),
            aggregation_temporality: cumulative,
        }),
    };
    Metric { name: name.to_string(), description: help.to_string(), data: Some(data), ..Default::default() }
}

fn resource() -> Resource {
    let attributes = vec![text("service.name", "taximeter"), text("service.version", env!("CARGO_PKG_VERSION"))];
    Resource { attributes, ..Default::default() }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope { name: "taximeter".to_string(), ..Default::default() }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, any_value::Value::StringValue(value.to_string()))
}

fn attribute(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: key.to_string(), value: Some(AnyValue { value: Some(value) }), ..Default::default() }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since: Duration = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
