//! Tests that look inside: the reference values, and every bound against fifty-digit arithmetic.

mod certified;
pub(crate) mod high_precision;
mod sampled_gaussian;
mod vectors;
