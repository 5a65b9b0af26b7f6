//! What tests and benchmarks stand on: [`PrivatePostgres`] and [`PrivateSail`], servers of one's own that leave nothing behind, and
//! [`HttpConnection`] and [`ServerLoad`], which talk to a server of ours on loopback, and [`Browser`], which looks at its pages.
//! [`TestIssuer`] is an OpenID Connect issuer with real keys, and [`Responder`] answers what a test tells it to.
//! [`wait_until`] takes the place of every pause whose length depends on the machine.
//!
//! Nothing here is part of the product. Folders for a test come from the `tempfile` crate.

#![forbid(unsafe_code)]

mod broken_driver;
mod browser;
mod captured;
mod certificates;
mod http;
mod inputs;
mod issuer;
mod load;
mod postgres;
mod programs;
mod query;
mod responder;
mod sail;
mod shared;
mod waiting;
mod watchdog;

pub use broken_driver::BrokenDriver;
pub use browser::{
    AXE_VARIABLE, Accessibility, BROWSER_VARIABLES, Browser, BrowserPrograms, Cookie, Element, Message, PageTheme,
    find_browser, keys,
};
pub use captured::Captured;
pub use certificates::Authority;
pub use http::{HttpConnection, Response};
pub use inputs::{QUICK_VARIABLE, SimulatedRun, random_inputs};
pub use issuer::{IssuerBehaviour, TestIssuer, TestKey, browse};
pub use load::{Acknowledged, LoadCaller, LoadResult, ServerLoad};
pub use postgres::PrivatePostgres;
pub use programs::find_programs;
pub use query::query;
pub use responder::{CannedReply, ReceivedRequest, Responder};
pub use sail::{PrivateSail, SAIL_VARIABLE};
pub use shared::{POSTGRES_VARIABLE, SharedPostgres};
pub use waiting::{PATIENCE, wait_until};
