//! Tests that look inside: the reference values, and every bound against fifty-digit arithmetic.

mod certified;
pub(crate) mod high_precision;
/// How many random inputs are tried. By its path: a dependency would change the features of serde_json, which this crate does
/// not rely on.
#[allow(dead_code, reason = "only `cargo xtask test` sets the variable")]
#[path = "../../../testing/src/inputs.rs"]
pub(crate) mod inputs;
mod sampled_gaussian;
mod vectors;
