//! *Whitehouse's filter.* Whitehouse, Ramdas, Rogers, Wu, *Fully-Adaptive Composition in Differential Privacy*, ICML 2023,
//! arXiv:2203.05481v3, Theorem 2.
//!
//! Continues iff ½S + √(2 S ln(1/δ′)) ≤ ε_g with S = Σε_i², and Σδ_i ≤ δ″. Guarantee: (ε_g, δ′ + δ″)-DP. The left side rises in S,
//! so the condition is S ≤ y for the root y = (√(2L + 2ε_g) − √(2L))², L = ln(1/δ′): one comparison of exact integers.

use crate::amount::FineAmount;
use crate::numeric::Interval;

/// y, rounded down; √(2L + 2ε_g) − √(2L) = 2ε_g/(√(2L + 2ε_g) + √(2L)) keeps its digits.
pub(crate) fn limit(epsilon: Interval, delta: Interval) -> Option<FineAmount> {
    let twice_log = -2.0 * delta.ln();
    let root = 2.0 * epsilon / ((twice_log + 2.0 * epsilon).sqrt() + twice_log.sqrt());
    FineAmount::at_most(root.square().lo())
}
