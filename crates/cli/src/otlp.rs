//! `serve --otlp`: where spans and metrics go, by flag or by the variables of OpenTelemetry.

use std::time::Duration;

use clap::Args;
use taximeter_server::OtlpSettings;

use crate::output::{Failure, usage};

#[derive(Args)]
#[command(next_help_heading = "OpenTelemetry")]
pub struct OtlpArgs {
    /// Send spans and metrics to a collector over OTLP (HTTP with protobuf), such as http://127.0.0.1:4318 [default:
    /// OTEL_EXPORTER_OTLP_ENDPOINT, or to none]
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

impl OtlpArgs {
    /// Where to send, if anywhere. The intervals are variables of the specification, in milliseconds.
    pub fn settings(&self) -> Result<Option<OtlpSettings>, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(endpoint) = self.otlp.clone().or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT")) else {
            return Ok(None);
        };
        let mut settings = OtlpSettings::new(endpoint);
        for (name, interval) in [
            ("OTEL_BSP_SCHEDULE_DELAY", &mut settings.spans_every),
            ("OTEL_METRIC_EXPORT_INTERVAL", &mut settings.metrics_every),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", &mut settings.timeout),
        ] {
            let Some(text) = variable(name) else { continue };
            let milliseconds = text.parse().ok().filter(|milliseconds| (1..=86_400_000).contains(milliseconds));
            *interval = milliseconds.map(Duration::from_millis).ok_or_else(|| {
                usage(format!("{name} is {text:?}; it must be a number of milliseconds between 1 and 86400000"))
            })?;
        }
        Ok(Some(settings))
    }
}
