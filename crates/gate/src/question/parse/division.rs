//! Division, by what is 0 for no row.

use dashu::rational::RBig;
use sqlparser::ast::Expr;

use super::super::scalar::{Kind, NumericExpr};
use super::reader::{Reader, plain};
use crate::error::Error;

impl Reader<'_> {
    /// Division by what is never 0.
    pub(super) fn quotient(
        &self,
        expression: &Expr,
        one: NumericExpr,
        right: &Expr,
        other: &NumericExpr,
        kind: Kind,
    ) -> Result<NumericExpr, Error> {
        let Some(divisor) = other.as_constant().filter(|divisor| !divisor.is_zero()) else {
            return match other.is_never_zero() {
                true => self.fitting(expression, one.divided_by(other.clone(), kind)),
                false => Err(self.refusal(right, may_be_zero(right, other))),
            };
        };
        match (kind, i64::try_from(divisor.numerator().clone())) {
            (Kind::Integer, Ok(whole)) if divisor.is_int() => self.fitting(expression, one.quotient(whole)),
            (Kind::Duration, _) => Ok(one.scaled(&(RBig::ONE / divisor), Kind::Duration)),
            _ => Ok(one.scaled(&(RBig::ONE / divisor), Kind::Decimal)),
        }
    }

    pub(super) fn remainder(
        &self,
        expression: &Expr,
        one: NumericExpr,
        right: &Expr,
        other: &NumericExpr,
    ) -> Result<NumericExpr, Error> {
        let divisor = other.as_constant().filter(|divisor| divisor.is_int() && !divisor.is_zero());
        let divisor = divisor.and_then(|divisor| i64::try_from(divisor.numerator().clone()).ok());
        match (one.kind, divisor) {
            (Kind::Integer, Some(divisor)) => self.fitting(expression, one.remainder(divisor)),
            _ => Err(self
                .refusal(right, "a remainder needs a whole number and a whole literal other than 0, such as age % 10")),
        }
    }
}

/// Why something does not divide.
fn may_be_zero(divisor: &Expr, read: &NumericExpr) -> String {
    if read.as_constant().is_some() {
        return "this is 0, which does not divide".to_string();
    }
    let shown: String = plain(divisor).to_string().chars().take(60).collect();
    format!(
        "this may be 0 by its bounds, and a division by 0 fails on a row: write NULLIF({shown}, 0), which is null there, or the ratio \
         of two sums, such as SUM(a) / SUM(b)"
    )
}
