//! The service over HTTP: connections, limits, authentication and routes.

#![forbid(unsafe_code)]

mod app;
mod extract;
mod failure;
mod listen;
mod metrics;
mod openapi;
#[cfg(feature = "otlp")]
mod otlp;
mod responses;
mod routes;
mod runtime;
mod witness;

pub use app::App;
pub use listen::{Listener, Tls};
#[cfg(feature = "otlp")]
pub use otlp::OtlpSettings;
pub use runtime::runtime;
pub use witness::WitnessListener;
