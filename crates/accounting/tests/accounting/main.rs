//! What callers rely on, one file for each subject; `tests/data` has the reference values.

mod filters;
/// How many random inputs are tried. By its path: a dependency would change the features of serde_json, which this crate does
/// not rely on.
#[allow(dead_code, reason = "only `cargo xtask test` sets the variable")]
#[path = "../../../testing/src/inputs.rs"]
mod inputs;
mod levels;
mod odometers;
mod reach;
#[cfg(feature = "serde")]
mod stored;
