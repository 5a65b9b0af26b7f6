//! Tests of the server over HTTP: one binary, since linking takes longer than running.

mod account_pages;
mod api;
mod connections;
mod fixture;
mod input;
mod oidc;
#[cfg(feature = "otlp")]
mod otlp;
mod owner_pages;
mod pages;
mod question_pages;
mod roles;
mod sessions;
mod strict_pages;
mod tokens;
mod verification;
mod witnessed;
