//! What tests and benchmarks stand on: [`PrivatePostgres`], a PostgreSQL server of one's own that leaves nothing behind, and
//! [`Connection`] and [`Load`], which talk to a server of ours on loopback, and [`Browser`], which looks at its pages.
//!
//! Nothing here is part of the product. Folders for a test come from the `tempfile` crate.

#![forbid(unsafe_code)]

mod browser;
mod http;
mod load;
mod postgres;
mod programs;
mod query;
mod watchdog;

pub use browser::{
    BROWSER_VARIABLES, Browser, BrowserPrograms, Contrast, Cookie, Element, LayoutFault, LowContrast, Message, Theme,
    find_browser, keys,
};
pub use http::{Connection, Response};
pub use load::{Acknowledged, Caller, Done, Load};
pub use postgres::PrivatePostgres;
pub use programs::find_programs;
pub use query::query;
