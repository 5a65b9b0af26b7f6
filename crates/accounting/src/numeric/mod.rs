//! Certified floating point: every bound is evaluated as an interval that holds the true value.
//!
//! The elementary functions are correctly rounded (`core-math`), so the same input gives the same bits on every machine, and
//! one step outwards from the rounded result is a proven bound. [`portable`] checks that they are.

mod interval;
pub(crate) mod normal;
mod portable;
mod scalar;
mod scaled;
mod search;

pub(crate) use interval::Interval;
pub(crate) use portable::require_correct_rounding;
pub(crate) use scalar::Scalar;
pub(crate) use scaled::Scaled;
pub(crate) use search::{largest_count_where, largest_float_where, largest_where, peak, smallest_float_where};
