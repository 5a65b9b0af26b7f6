//! Certified floating point: every bound is evaluated as an interval that holds the true value.
//!
//! The elementary functions are correctly rounded (`core-math`), so the same input gives the same bits on every machine, and
//! one step outwards from the rounded result is a proven bound.

mod interval;
pub(crate) mod normal;
mod search;

pub(crate) use interval::Interval;
pub(crate) use search::{largest_float_where, peak, smallest_float_where};
