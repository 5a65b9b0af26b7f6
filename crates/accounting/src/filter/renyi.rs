//! *The Rényi filter.* Feldman, Zrnic, arXiv:2008.11193v3, Theorem 3.3, at one order α fixed in advance. Conversion: Canonne,
//! Kamath, Steinke, arXiv:2004.00010v5, Proposition 12.
//!
//! Continues iff Σ D_α ≤ ε_g − ln(1−1/α) − (ln(1/δ′) − ln α)/(α−1). Guarantee: (ε_g, δ′ + δ″)-DP. Taking the best of several
//! orders **afterwards** is not valid; the order is a parameter of the account.

use super::rule::ORDER;
use crate::amount::{Amount, FineAmount};
use crate::cost::Cost;
use crate::error::Error;
use crate::numeric::{Interval, peak};
use crate::price::{self, Order};

/// The limit at an order: ε_g − ln(1−1/α) − (ln(1/δ′) − ln α)/(α−1).
pub(crate) fn limit_at(order: &Order, epsilon: Interval, delta: Interval) -> Interval {
    // −ln(1−1/α) = ln(α/(α−1)) = ln(1 + 1/(α−1)).
    epsilon + (Interval::ONE / order.above_one).ln_1p() + (delta.ln() + order.above_one.ln_1p()) / order.above_one
}

/// The limit, rounded down; an order at which nothing fits is an error.
pub(crate) fn limit(order: Amount, epsilon: Interval, delta: Interval) -> Result<Option<FineAmount>, Error> {
    let limit = limit_at(&self::order(order)?, epsilon, delta);
    if limit.lo() > 0.0 {
        return Ok(FineAmount::at_most(limit.lo()));
    }
    let best = best_order(epsilon, delta).map_or(String::from("another rule"), |best| format!("an order of {best}"));
    Err(Error::parameter(ORDER.name, order, format!("the budget admits nothing at this order; use {best}")))
}

/// An order that was chosen for an account: the amount that is stored, and what the formulas need of it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "Amount", into = "Amount")
)]
pub(crate) struct ChosenOrder {
    /// α as it is stored.
    pub(crate) amount: Amount,
    order: Order,
}

impl ChosenOrder {
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
    ORDER.check(order)?;
    Ok(Order::above_one_by(order.checked_sub(Amount::ONE).expect("the order is above 1")))
}

/// The order that admits most small costs, to six digits; nothing if there is none.
///
/// A small cost has a divergence in proportion to α (αε²/2 for ε-DP, αμ²/2 for a Gaussian), so the best order makes R(α)/α largest.
pub(crate) fn best_order(epsilon: Interval, delta: Interval) -> Option<Amount> {
    six_digits(best_order_above_one(epsilon, delta, |order| order.alpha))
}

/// The order that admits most costs of a given divergence; nothing if none is admitted at any order.
///
/// The divergence may be exact at whole orders and only bounded between them, so that each whole order is a small peak. So the
/// whole orders near the highest point that was found are tried as well.
pub(crate) fn best_order_for(epsilon: Interval, delta: Interval, divergence: impl Fn(&Order) -> f64) -> Option<Amount> {
    const NEAR: u64 = 32;
    let above_one = best_order_above_one(epsilon, delta, |order| Interval::point(divergence(order)));
    let nearest = above_one as u64 + 1;
    let whole = (nearest.saturating_sub(NEAR).max(2)..=nearest.saturating_add(NEAR)).filter_map(Amount::from_whole);
    let admits = |amount: Amount| {
        let order = order(amount).ok()?;
        let times = limit_at(&order, epsilon, delta).lo() / divergence(&order);
        (times > 0.0).then_some((times, amount))
    };
    let candidates = six_digits(above_one).into_iter().chain(whole).filter_map(admits);
    candidates.max_by(|left, right| left.0.total_cmp(&right.0)).map(|(_, order)| order)
}

/// α from α − 1, to six digits of the latter; nothing if that is no order.
fn six_digits(above_one: f64) -> Option<Amount> {
    let above_one = Amount::at_least(above_one)?;
    Amount::ONE.checked_add(above_one.significant(6)).filter(|&order| order > Amount::ONE)
}

/// α − 1 for the order that makes R(α) largest in proportion to a divergence.
pub(crate) fn best_order_above_one(epsilon: Interval, delta: Interval, divergence: impl Fn(&Order) -> Interval) -> f64 {
    let value = |log_above_one: f64| {
        let order = Order::above_one(Interval::point(core_math::exp(log_above_one)));
        (limit_at(&order, epsilon, delta) / divergence(&order)).middle()
    };
    // A coarse look first: the function has one peak where it is positive, and falls without bound to the left of it.
    let (from, step) = (-20.0, 0.5);
    let (best, _) = (0..=200)
        .map(|at| from + step * f64::from(at))
        .map(|at| (at, value(at)))
        .fold((from, value(from)), |best, at| if at.1 > best.1 { at } else { best });
    core_math::exp(peak(best - step, best + step, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price::sampled_gaussian;

    fn check(epsilon: &str, delta: &str, rate: &str, sigma: &str) {
        let interval = |text| Amount::parse_exact(text).unwrap().interval();
        let (epsilon, delta, rate, sigma) = (interval(epsilon), interval(delta), interval(rate), interval(sigma));
        let divergence = |order: &Order| sampled_gaussian::renyi(order, rate, sigma).hi();
        let steps = |amount: Amount| {
            let limit = limit(amount, epsilon, delta).ok().flatten().unwrap_or(FineAmount::ZERO);
            limit.count_of(FineAmount::at_least(divergence(&order(amount).unwrap())).unwrap())
        };
        let best = best_order_for(epsilon, delta, divergence).unwrap();
        assert!(steps(best) > 0, "nothing is admitted at {best}");
        for whole in (2..=256).map(|whole| Amount::from_whole(whole).unwrap()) {
            assert!(steps(best) >= steps(whole), "{} steps at {best}, {} at {whole}", steps(best), steps(whole));
        }
    }

    #[test]
    fn the_best_order_for_a_sampled_gaussian_admits_as_many_steps_as_any_whole_one() {
        for epsilon in ["1", "2", "3", "8", "20"] {
            check(epsilon, "1e-5", "0.01", "1.1");
        }
        check("1", "1e-6", "1e-5", "1.5");
        check("2", "1e-6", "0.1", "4");
        check("0.3", "1e-9", "0.001", "10");
        check("5", "1e-6", "1", "10");
    }

    #[test]
    fn where_no_order_admits_anything_there_is_no_best_one() {
        let (epsilon, delta) = (Interval::point(0.1), Interval::point(1e-6));
        assert_eq!(best_order_for(epsilon, delta, |_| f64::INFINITY), None);
    }
}
