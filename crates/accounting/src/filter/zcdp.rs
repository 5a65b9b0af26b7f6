//! *The zCDP filter.* Sum of ρ_i: Feldman, Zrnic, arXiv:2008.11193v3, Theorem 3.3 for any fixed order; Lécuyer,
//! arXiv:2103.01379v2. Conversion: Canonne, Kamath, Steinke, arXiv:2004.00010v5, Proposition 7.
//!
//! Continues iff Σρ_i ≤ ρ_g, with ρ_g the largest ρ whose conversion gives δ(ρ, ε_g) ≤ δ′. Guarantee: (ε_g, δ′ + δ″)-DP. At a fixed
//! order α the conversion is δ = exp((α−1)(αρ − ε_g)) (1−1/α)^{α−1}/α, so ρ_g is the largest value of R(α)/α, where R(α) is the
//! limit of the Rényi filter. Any order gives a valid ρ_g; the best one is searched, and its value rounded down.

use super::renyi;
use crate::amount::FineAmount;
use crate::numeric::Interval;
use crate::price::Order;

/// ρ_g, rounded down.
pub(crate) fn limit(epsilon: Interval, delta: Interval) -> Option<FineAmount> {
    let order = Order::above_one(Interval::point(renyi::best_order_above_one(epsilon, delta, |order| order.alpha)));
    FineAmount::at_most((renyi::limit_at(&order, epsilon, delta) / order.alpha).lo())
}
