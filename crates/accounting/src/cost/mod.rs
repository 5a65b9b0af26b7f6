//! What one mechanism declares before it runs.

#[cfg(feature = "serde")]
mod json;
mod kind;
mod number;

use std::fmt;

use crate::amount::{Amount, FineAmount, Rounding};
use crate::error::Error;

pub(crate) use kind::PrivacyMeasure;
pub use kind::{CostForm, CostKind};
use kind::{DELTA, TRUTH};
pub use number::Number;
pub(crate) use number::{above, parameter};

/// The privacy cost of one mechanism, as it is declared before the mechanism runs.
///
/// Amounts in a cost round up. Two mechanisms of the same ε may have different costs: a rule that knows the better price of
/// Laplace noise or of the exponential mechanism uses it.
///
/// ```
/// use taximeter_accounting::Cost;
///
/// let declared = Cost::parse_epsilon("0.05")?;
/// assert_eq!(declared.cost.to_string(), "ε = 0.05");
/// assert!(!declared.rounded);
/// # Ok::<(), taximeter_accounting::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cost {
    /// ε-DP.
    Pure {
        /// ε.
        epsilon: Amount,
    },
    /// (ε, δ)-DP.
    Approximate {
        /// ε.
        epsilon: Amount,
        /// δ.
        delta: Amount,
    },
    /// μ-GDP, proven: the continuous Gaussian mechanism with μ = Δ/σ.
    Gaussian {
        /// μ.
        mu: Amount,
    },
    /// The discrete Gaussian with μ = Δ/σ: zCDP and Rényi only, it is not μ-GDP.
    DiscreteGaussian {
        /// μ.
        mu: Amount,
    },
    /// Gaussian noise on batches into which every unit is drawn by itself with a probability: steps of DP-SGD.
    SampledGaussian {
        /// The probability, above 0 and at most 1.
        rate: Amount,
        /// The noise multiplier: the standard deviation for a sensitivity of 1.
        sigma: Amount,
        /// How many batches.
        steps: u64,
    },
    /// ρ-zCDP.
    Zcdp {
        /// ρ.
        rho: Amount,
    },
    /// Continuous Laplace noise with ε = Δ/b.
    Laplace {
        /// ε.
        epsilon: Amount,
    },
    /// Discrete (geometric) Laplace noise with ε = Δ/b. Its prices are those of any ε-DP mechanism.
    DiscreteLaplace {
        /// ε.
        epsilon: Amount,
    },
    /// Randomized response: the worst ε-DP mechanism.
    RandomizedResponse {
        /// ε.
        epsilon: Amount,
    },
    /// The exponential mechanism with weights e^{ηu/(2Δ)}: η-DP, and of bounded range η.
    Exponential {
        /// η.
        epsilon: Amount,
    },
}

/// A cost read from text, and whether digits beyond the resolution were rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The cost.
    pub cost: Cost,
    /// Whether the text had more places than an amount keeps, so that the cost counts a little more than was written.
    pub rounded: bool,
}

impl Cost {
    /// ε-DP with ε read from text.
    pub fn parse_epsilon(text: &str) -> Result<Declared, Error> {
        let parsed = Amount::parse(text, Rounding::Up)?;
        Ok(Declared { cost: Cost::Pure { epsilon: parsed.amount }, rounded: parsed.rounded })
    }

    /// (ε, δ)-DP; ε-DP if δ is zero.
    pub fn approximate(epsilon: Amount, delta: Amount) -> Result<Cost, Error> {
        DELTA.check(delta)?;
        Ok(if delta.is_zero() { Cost::Pure { epsilon } } else { Cost::Approximate { epsilon, delta } })
    }

    /// Binary randomized response that tells the truth with a probability between ½ and 1: ε = ln(p/(1−p)), rounded up.
    pub fn from_truth_probability(truth: Amount) -> Result<Cost, Error> {
        TRUTH.check(truth)?;
        let lie = Amount::ONE.checked_sub(truth).expect("truth is below one");
        // ln(p/(1−p)) = ln(1 + (2p−1)/(1−p)), which keeps its digits where p is near ½.
        let excess = truth.checked_sub(lie).expect("truth is at least one half");
        let epsilon = match excess.is_zero() {
            true => Some(Amount::ZERO),
            false => Amount::at_least((excess.interval() / lie.interval()).ln_1p().hi()),
        };
        let epsilon = epsilon.ok_or_else(|| Error::parameter(TRUTH.name, truth, "it is too close to 1"))?;
        Ok(Cost::RandomizedResponse { epsilon })
    }

    /// Which kind of cost this is.
    pub fn kind(&self) -> CostKind {
        match self {
            Cost::Pure { .. } | Cost::Approximate { .. } => CostKind::Epsilon,
            Cost::Gaussian { .. } => CostKind::Gaussian,
            Cost::DiscreteGaussian { .. } => CostKind::DiscreteGaussian,
            Cost::SampledGaussian { .. } => CostKind::SampledGaussian,
            Cost::Zcdp { .. } => CostKind::Zcdp,
            Cost::Laplace { .. } => CostKind::Laplace,
            Cost::DiscreteLaplace { .. } => CostKind::DiscreteLaplace,
            Cost::RandomizedResponse { .. } => CostKind::RandomizedResponse,
            Cost::Exponential { .. } => CostKind::Exponential,
        }
    }

    /// The numbers of the first form of its kind, by name: how it is written and declared again.
    pub fn numbers(&self) -> Vec<(&'static str, Amount)> {
        let numbers = match *self {
            Cost::Approximate { epsilon, delta } => vec![epsilon, delta],
            Cost::SampledGaussian { rate, sigma, .. } => vec![rate, sigma, self.size()],
            _ => vec![self.size()],
        };
        self.kind().forms()[0].numbers.iter().map(|number| number.name).zip(numbers).collect()
    }

    /// The parameter that makes the cost larger or smaller: ε, μ, ρ, η or the number of steps.
    pub fn size(&self) -> Amount {
        match { *self }.size_mut() {
            Ok(size) => *size,
            Err(steps) => Amount::from_whole(*steps).unwrap_or(Amount::MAX),
        }
    }

    /// The same kind of cost, with the same other parameters, of another size; steps are cut to a whole number.
    pub fn with_size(&self, size: Amount) -> Cost {
        let mut cost = *self;
        match cost.size_mut() {
            Ok(own) => *own = size,
            Err(steps) => *steps = size.whole_and_part().0,
        }
        cost
    }

    /// Where the size stands: an amount, or else a number of steps.
    fn size_mut(&mut self) -> Result<&mut Amount, &mut u64> {
        match self {
            Cost::Pure { epsilon: size }
            | Cost::Approximate { epsilon: size, .. }
            | Cost::Laplace { epsilon: size }
            | Cost::DiscreteLaplace { epsilon: size }
            | Cost::RandomizedResponse { epsilon: size }
            | Cost::Exponential { epsilon: size }
            | Cost::Gaussian { mu: size }
            | Cost::DiscreteGaussian { mu: size }
            | Cost::Zcdp { rho: size } => Ok(size),
            Cost::SampledGaussian { steps, .. } => Err(steps),
        }
    }

    /// The ε for which this is (ε, δ)-DP with its own [`delta`](Cost::delta); nothing if it is so for no finite ε.
    pub fn epsilon(&self) -> Option<Amount> {
        self.kind().measures().contains(&PrivacyMeasure::Epsilon).then(|| self.size())
    }

    /// The mechanism's own δ.
    pub fn delta(&self) -> Amount {
        match *self {
            Cost::Approximate { delta, .. } => delta,
            _ => Amount::ZERO,
        }
    }

    /// Whether this costs nothing under every rule.
    pub fn is_free(&self) -> bool {
        self.size().is_zero() && self.delta().is_zero()
    }

    /// Whether its price is known for datasets that differ by one unit more or less alone.
    pub fn is_for_add_remove_only(&self) -> bool {
        matches!(self, Cost::SampledGaussian { .. })
    }

    /// Whether the cost is within a bound on ε, or on μ = √(2ρ) for what has no ε.
    pub(crate) fn is_within(&self, limit: Amount) -> bool {
        match *self {
            // 2ρ ≤ μ².
            Cost::Zcdp { rho } => FineAmount::from(rho).checked_times(2).is_some_and(|twice| twice <= limit.square()),
            // Without sampling it would be a Gaussian of μ = √steps/σ.
            Cost::SampledGaussian { sigma, steps, .. } => {
                (limit.interval() * sigma.interval()).square().lo() >= steps as f64
            }
            _ => self.size() <= limit,
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cost::Pure { epsilon } => write!(f, "ε = {epsilon}"),
            Cost::Approximate { epsilon, delta } => write!(f, "ε = {epsilon}, δ = {delta}"),
            Cost::Gaussian { mu } => write!(f, "Gaussian of μ = {mu}"),
            Cost::DiscreteGaussian { mu } => write!(f, "discrete Gaussian of μ = {mu}"),
            Cost::SampledGaussian { rate, sigma, steps: 1 } => {
                write!(f, "sampled Gaussian of rate {rate} and σ = {sigma}")
            }
            Cost::SampledGaussian { rate, sigma, steps } => {
                write!(f, "{steps} steps of a sampled Gaussian of rate {rate} and σ = {sigma}")
            }
            Cost::Zcdp { rho } => write!(f, "zCDP of ρ = {rho}"),
            Cost::Laplace { epsilon } => write!(f, "Laplace of ε = {epsilon}"),
            Cost::DiscreteLaplace { epsilon } => write!(f, "discrete Laplace of ε = {epsilon}"),
            Cost::RandomizedResponse { epsilon } => write!(f, "randomized response of ε = {epsilon}"),
            Cost::Exponential { epsilon } => write!(f, "exponential mechanism of η = {epsilon}"),
        }
    }
}
