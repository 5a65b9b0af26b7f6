//! What a formula is evaluated in.

use std::ops::{Add, Div, Mul, Sub};

use super::Interval;

/// Plain floating point, to search with, or an [`Interval`], to prove with: a formula is written once for both.
pub(crate) trait Scalar:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
{
    /// A number that is exact.
    fn point(value: f64) -> Self;
    /// A positive constant, correctly rounded.
    fn constant(value: f64) -> Self;
    /// A number known to lie between two others.
    fn between(lo: f64, hi: f64) -> Self;
    fn lo(self) -> f64;
    fn hi(self) -> f64;
    fn sqrt(self) -> Self;
    fn exp(self) -> Self;
    fn exp_m1(self) -> Self;
    fn cosh(self) -> Self;
    fn erfc(self) -> Self;
    fn square(self) -> Self;
    /// The same, for a value known not to be negative.
    fn not_negative(self) -> Self;
}

macro_rules! scalar {
    ($type:ident { $($name:ident = $function:expr),* } $($rest:tt)*) => {
        impl Scalar for $type {
            $(fn $name(self) -> $type { $function(self) })*
            $($rest)*
        }
    };
}

scalar! {
    f64 {
        sqrt = f64::sqrt, exp = core_math::exp, exp_m1 = core_math::expm1, cosh = core_math::cosh, erfc = core_math::erfc,
        square = |value: f64| value * value, not_negative = |value: f64| value.max(0.0)
    }
    fn point(value: f64) -> f64 { value }
    fn constant(value: f64) -> f64 { value }
    fn between(lo: f64, hi: f64) -> f64 { 0.5 * (lo + hi) }
    fn lo(self) -> f64 { self }
    fn hi(self) -> f64 { self }
}

scalar! {
    Interval {
        sqrt = Interval::sqrt, exp = Interval::exp, exp_m1 = Interval::exp_m1, cosh = Interval::cosh, erfc = Interval::erfc,
        square = Interval::square, not_negative = Interval::not_negative
    }
    fn point(value: f64) -> Interval { Interval::point(value) }
    fn constant(value: f64) -> Interval { Interval::around(value, 1) }
    fn between(lo: f64, hi: f64) -> Interval { Interval::between(lo, hi) }
    fn lo(self) -> f64 { Interval::lo(self) }
    fn hi(self) -> f64 { Interval::hi(self) }
}
