//! *The paper's advanced odometer.* Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294, revised version, Theorem 6.5, as printed.
//!
//! With S = Σε_i², for S ∈ [1/n², 1]: Σ ε_i(e^{ε_i}−1)/2 + √(2S (ln(110e) + 2 ln(ln n/δ_g))); otherwise
//! Σ ε_i(e^{ε_i}−1)/2 + √(2 (1/n² + S) (1 + ½ ln(1 + n²S)) ln(4 log₂ n/δ_g)). Integer n ≥ 2, δ_g ∈ (0, 1/e). Guarantee: two-sided at
//! δ_g. With a granularity γ ≤ ¼ in place of n: ln n → ½ ln(1/γ), 1/n² → γ, log₂ n → max(1, ½ log₂(1/γ)).
//!
//! Which range S is in is decided on exact integers.

use super::rule::{GRANULARITY, RECORDS};
use crate::amount::{Amount, FineAmount};
use crate::error::Error;
use crate::filter::advanced::deviation;
use crate::numeric::Interval;
use crate::parameter::Given;

/// The smallest Σε_i² that the advanced odometer tells from nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Granularity {
    /// 1/n² for a dataset of n records.
    Records(u64),
    /// γ.
    Gamma(Amount),
}

/// What is assumed where nothing is given.
pub(super) const DEFAULT_GRANULARITY: Granularity = Granularity::Records(1_000_000);

impl Granularity {
    /// What was given by name; nothing if neither of the two parameters was.
    pub(super) fn read(given: &Given) -> Result<Option<Granularity>, Error> {
        let (records, gamma) = (given.whole(RECORDS.name)?, given.amount(GRANULARITY.name)?);
        match gamma {
            Some(gamma) if records.is_some() => {
                Err(Error::parameter(GRANULARITY.name, gamma, "n says the same; give one of them"))
            }
            _ => Ok(records.map(Granularity::Records).or(gamma.map(Granularity::Gamma))),
        }
    }

    /// Its name as a parameter, and its value.
    pub(super) fn named(&self) -> (&'static str, String) {
        match self {
            Granularity::Records(n) => (RECORDS.name, n.to_string()),
            Granularity::Gamma(gamma) => (GRANULARITY.name, gamma.to_string()),
        }
    }

    /// Whether the theorem is stated for it.
    pub(super) fn check(self) -> Result<(), Error> {
        match self {
            // More records than an amount can say are many enough.
            Granularity::Records(n) => Amount::from_whole(n).map_or(Ok(()), |n| RECORDS.check(n)),
            Granularity::Gamma(gamma) => GRANULARITY.check(gamma),
        }
    }
}

pub(super) fn bound(granularity: Granularity, mean: FineAmount, squares: FineAmount, delta: Interval) -> Interval {
    let one = FineAmount::from(Amount::ONE);
    // 1/n² or γ; ln n or ½ ln(1/γ); log₂ n or max(1, ½ log₂(1/γ)); and whether S reaches the first.
    let ln_2 = Interval::around(std::f64::consts::LN_2, 1);
    let (smallest, log, log_2, reached) = match granularity {
        Granularity::Gamma(gamma) => {
            let log = -0.5 * gamma.interval().ln();
            let log_2 = log / ln_2;
            let log_2 = Interval::between(log_2.lo().max(1.0), log_2.hi().max(1.0));
            (gamma.interval(), log, log_2, squares >= gamma.into())
        }
        Granularity::Records(count) => {
            let n = Interval::around(count as f64, 1);
            let scaled = squares.checked_times(count).and_then(|scaled| scaled.checked_times(count));
            (Interval::ONE / n.square(), n.ln(), n.ln() / ln_2, scaled.is_none_or(|scaled| scaled >= one))
        }
    };
    let s = squares.interval();
    let deviation = if reached && squares <= one {
        let ln_110_e = 1.0 + Interval::point(110.0).ln();
        (2.0 * s * (ln_110_e + 2.0 * (log / delta).ln())).sqrt()
    } else {
        deviation(s, smallest, (4.0 * log_2 / delta).ln())
    };
    mean.interval() + deviation
}
