//! The HTTP API.

mod accounts;
mod datasets;
mod document;
mod ledger;
mod questions;

use std::time::Duration;

use crate::fixture::TestServer;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use taximeter_accounting::{Cost, FilterRule, OdometerRule};
use taximeter_ledger::{AccountName, Charge, Key, Note};
use taximeter_service::Settings;

const COUNT: &str = "SELECT COUNT(*) FROM census";
