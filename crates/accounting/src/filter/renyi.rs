//! *The Rényi filter.* Feldman, Zrnic, arXiv:2008.11193v3, Theorem 3.3, at one order α fixed in advance. Conversion: Canonne,
//! Kamath, Steinke, arXiv:2004.00010v5, Proposition 12.
//!
//! Continues iff Σ D_α ≤ ε_g − ln(1−1/α) − (ln(1/δ′) − ln α)/(α−1). Guarantee: (ε_g, δ′ + δ″)-DP. Taking the best of several
//! orders **afterwards** is not valid; the order is a parameter of the account.

use serde::{Deserialize, Serialize};

use crate::amount::{Amount, FineAmount};
use crate::cost::Cost;
use crate::error::Error;
use crate::numeric::{Interval, peak};
use crate::price::{self, Order};

/// The limit at an order: ε_g − ln(1−1/α) − (ln(1/δ′) − ln α)/(α−1).
pub(crate) fn limit_at(order: &Order, epsilon: Interval, delta: Interval) -> Interval {
    // −ln(1−1/α) = ln(α/(α−1)) = ln(1 + 1/(α−1)).
    epsilon + (Interval::ONE / order.minus_one()).ln_1p() + (delta.ln() + order.minus_one().ln_1p()) / order.minus_one()
}

/// The limit, rounded down; an order at which nothing fits is an error.
pub(crate) fn limit(order: Amount, epsilon: Interval, delta: Interval) -> Result<Option<FineAmount>, Error> {
    let limit = limit_at(&self::order(order)?, epsilon, delta);
    if limit.lo() > 0.0 {
        return Ok(FineAmount::at_most(limit.lo()));
    }
    let best = best_order(epsilon, delta).map_or(String::from("another rule"), |best| format!("--order {best}"));
    Err(Error::input(format!("at order {order} this budget admits nothing; use {best}")))
}

/// An order that was chosen for an account: the amount that is stored, and what the formulas need of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Amount", into = "Amount")]
pub(crate) struct ChosenOrder {
    amount: Amount,
    order: Order,
}

impl ChosenOrder {
    /// α as it is stored.
    pub(crate) fn amount(&self) -> Amount {
        self.amount
    }

    /// D_α of a cost, rounded up.
    pub(crate) fn price(&self, cost: &Cost) -> Option<FineAmount> {
        price::renyi(&self.order, cost)
    }
}

impl TryFrom<Amount> for ChosenOrder {
    type Error = Error;
    fn try_from(amount: Amount) -> Result<ChosenOrder, Error> {
        Ok(ChosenOrder { amount, order: order(amount)? })
    }
}

impl From<ChosenOrder> for Amount {
    fn from(chosen: ChosenOrder) -> Amount {
        chosen.amount
    }
}

/// An order read as an amount: above 1.
pub(crate) fn order(order: Amount) -> Result<Order, Error> {
    match order.checked_sub(Amount::ONE) {
        Some(above_one) if !above_one.is_zero() => Ok(Order::above_one(above_one.interval())),
        _ => Err(Error::input(format!("a Rényi order must be above 1, not {order}"))),
    }
}

/// The order that admits most small costs, to six digits; nothing if there is none.
///
/// A small cost has a divergence in proportion to α (αε²/2 for ε-DP, αμ²/2 for a Gaussian), so the best order makes R(α)/α largest.
pub(crate) fn best_order(epsilon: Interval, delta: Interval) -> Option<Amount> {
    let above_one = Amount::at_least(best_order_above_one(epsilon, delta))?;
    Amount::ONE.checked_add(above_one.significant(6)).filter(|&order| order > Amount::ONE)
}

/// α − 1 for the order that makes R(α)/α largest.
pub(crate) fn best_order_above_one(epsilon: Interval, delta: Interval) -> f64 {
    let value = |log_above_one: f64| {
        let order = Order::above_one(Interval::point(core_math::exp(log_above_one)));
        (limit_at(&order, epsilon, delta) / order.alpha()).middle()
    };
    // A coarse look first: the function has one peak where it is positive, and falls without bound to the left of it.
    let (from, step) = (-20.0, 0.5);
    let best = (0..=200)
        .map(|at| from + step * f64::from(at))
        .fold(from, |best, at| if value(at) > value(best) { at } else { best });
    core_math::exp(peak(best - step, best + step, value))
}
