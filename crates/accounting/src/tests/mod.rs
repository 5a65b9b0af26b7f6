//! Tests that look inside: the reference values, and every bound against fifty-digit arithmetic.

mod certified;
mod high_precision;
mod vectors;
