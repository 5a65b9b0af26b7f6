//! What one mechanism declares before it runs.

mod json;

use std::fmt;

use crate::amount::{Amount, FineAmount, Rounding};
use crate::error::Error;

/// The privacy cost of one mechanism, as it is declared before the mechanism runs.
///
/// Amounts in a cost round up. Two mechanisms of the same ε may have different costs: a rule that knows the better price of
/// Laplace noise or of the exponential mechanism uses it.
///
/// ```
/// use taximeter_accounting::Cost;
///
/// let cost = Cost::from_json(r#"{"laplace":{"scale":"10","sensitivity":"1"}}"#)?.cost;
/// assert_eq!(cost.to_string(), "Laplace of ε = 0.1");
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
    /// ρ-zCDP.
    Zcdp {
        /// ρ.
        rho: Amount,
    },
    /// Laplace noise with ε = Δ/b.
    Laplace {
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

/// The kinds of cost, by the parameter that each is declared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostKind {
    /// By ε, with or without δ.
    Epsilon,
    /// By μ of a continuous Gaussian.
    Gaussian,
    /// By μ of a discrete Gaussian.
    DiscreteGaussian,
    /// By ρ.
    Zcdp,
    /// By ε of Laplace noise.
    Laplace,
    /// By ε of randomized response.
    RandomizedResponse,
    /// By η of an exponential mechanism.
    Exponential,
}

impl CostKind {
    /// Every kind.
    pub const ALL: [CostKind; 7] = [
        CostKind::Epsilon,
        CostKind::Gaussian,
        CostKind::DiscreteGaussian,
        CostKind::Zcdp,
        CostKind::Laplace,
        CostKind::RandomizedResponse,
        CostKind::Exponential,
    ];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            CostKind::Epsilon => "epsilon",
            CostKind::Gaussian => "gaussian",
            CostKind::DiscreteGaussian => "discrete_gaussian",
            CostKind::Zcdp => "zcdp",
            CostKind::Laplace => "laplace",
            CostKind::RandomizedResponse => "randomized_response",
            CostKind::Exponential => "exponential",
        }
    }

    /// A cost of this kind and size.
    pub fn of_size(self, size: Amount) -> Cost {
        match self {
            CostKind::Epsilon => Cost::Pure { epsilon: size },
            CostKind::Gaussian => Cost::Gaussian { mu: size },
            CostKind::DiscreteGaussian => Cost::DiscreteGaussian { mu: size },
            CostKind::Zcdp => Cost::Zcdp { rho: size },
            CostKind::Laplace => Cost::Laplace { epsilon: size },
            CostKind::RandomizedResponse => Cost::RandomizedResponse { epsilon: size },
            CostKind::Exponential => Cost::Exponential { epsilon: size },
        }
    }
}

impl Cost {
    /// ε-DP with ε read from text.
    pub fn parse_epsilon(text: &str) -> Result<Declared, Error> {
        Cost::parse(CostKind::Epsilon, text)
    }

    /// A cost of a kind with its parameter read from text.
    pub fn parse(kind: CostKind, text: &str) -> Result<Declared, Error> {
        let parsed = Amount::parse(text, Rounding::Up)?;
        Ok(Declared { cost: kind.of_size(parsed.amount), rounded: parsed.rounded })
    }

    /// (ε, δ)-DP; ε-DP if δ is zero.
    pub fn approximate(epsilon: Amount, delta: Amount) -> Result<Cost, Error> {
        if delta >= Amount::ONE {
            return Err(Error::input(format!("a cost with delta {delta}: delta must be below 1")));
        }
        Ok(if delta.is_zero() { Cost::Pure { epsilon } } else { Cost::Approximate { epsilon, delta } })
    }

    /// Noise of a given scale (σ of a Gaussian, b of Laplace) on a question of a given sensitivity: the parameter is
    /// sensitivity/scale, rounded up.
    pub fn from_noise(kind: CostKind, scale: Amount, sensitivity: Amount) -> Result<Cost, Error> {
        if !matches!(kind, CostKind::Gaussian | CostKind::DiscreteGaussian | CostKind::Laplace) {
            return Err(Error::input(format!("{} has no noise scale; give its parameter itself", kind.name())));
        }
        match sensitivity.checked_div(scale, Rounding::Up) {
            Some(size) => Ok(kind.of_size(size)),
            None if scale.is_zero() => Err(Error::input("a noise scale of 0 gives no privacy; give a positive scale")),
            None => Err(Error::input(format!(
                "a sensitivity of {sensitivity} with noise of scale {scale} costs more than any budget; give more noise"
            ))),
        }
    }

    /// Binary randomized response that tells the truth with a probability between ½ and 1: ε = ln(p/(1−p)), rounded up.
    pub fn from_truth_probability(truth: Amount) -> Result<Cost, Error> {
        let half = Amount::from_units(Amount::ONE.units() / 2);
        if truth < half || truth >= Amount::ONE {
            return Err(Error::input(format!(
                "randomized response that tells the truth with probability {truth}: it must be at least 0.5 and below 1"
            )));
        }
        let lie = Amount::ONE.checked_sub(truth).expect("truth is below one");
        // ln(p/(1−p)) = ln(1 + (2p−1)/(1−p)), which keeps its digits where p is near ½.
        let excess = truth.checked_sub(lie).expect("truth is at least one half");
        let epsilon = if excess.is_zero() {
            Some(Amount::ZERO)
        } else {
            Amount::at_least((excess.interval() / lie.interval()).ln_1p().hi())
        };
        let epsilon =
            epsilon.ok_or_else(|| Error::input(format!("a truth probability of {truth} is too close to 1")))?;
        Ok(Cost::RandomizedResponse { epsilon })
    }

    /// Which kind of cost this is.
    pub fn kind(&self) -> CostKind {
        match self {
            Cost::Pure { .. } | Cost::Approximate { .. } => CostKind::Epsilon,
            Cost::Gaussian { .. } => CostKind::Gaussian,
            Cost::DiscreteGaussian { .. } => CostKind::DiscreteGaussian,
            Cost::Zcdp { .. } => CostKind::Zcdp,
            Cost::Laplace { .. } => CostKind::Laplace,
            Cost::RandomizedResponse { .. } => CostKind::RandomizedResponse,
            Cost::Exponential { .. } => CostKind::Exponential,
        }
    }

    /// The parameter that the cost is declared with: ε, μ, ρ or η.
    pub fn size(&self) -> Amount {
        match *self {
            Cost::Pure { epsilon }
            | Cost::Approximate { epsilon, .. }
            | Cost::Laplace { epsilon }
            | Cost::RandomizedResponse { epsilon }
            | Cost::Exponential { epsilon } => epsilon,
            Cost::Gaussian { mu } | Cost::DiscreteGaussian { mu } => mu,
            Cost::Zcdp { rho } => rho,
        }
    }

    /// The same kind of cost, with the same δ, of another size.
    pub fn with_size(&self, size: Amount) -> Cost {
        match *self {
            Cost::Approximate { delta, .. } => Cost::Approximate { epsilon: size, delta },
            _ => self.kind().of_size(size),
        }
    }

    /// The ε for which this is (ε, δ)-DP with its own [`delta`](Cost::delta); nothing if it is so for no finite ε.
    pub fn epsilon(&self) -> Option<Amount> {
        match self {
            Cost::Gaussian { .. } | Cost::DiscreteGaussian { .. } | Cost::Zcdp { .. } => None,
            _ => Some(self.size()),
        }
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

    /// Whether the cost is within a bound on ε, or on μ = √(2ρ) for what has no ε.
    pub(crate) fn is_within(&self, limit: Amount) -> bool {
        match *self {
            // 2ρ ≤ μ².
            Cost::Zcdp { rho } => FineAmount::from(rho) <= limit.square().half_down(),
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
            Cost::Zcdp { rho } => write!(f, "zCDP of ρ = {rho}"),
            Cost::Laplace { epsilon } => write!(f, "Laplace of ε = {epsilon}"),
            Cost::RandomizedResponse { epsilon } => write!(f, "randomized response of ε = {epsilon}"),
            Cost::Exponential { epsilon } => write!(f, "exponential mechanism of η = {epsilon}"),
        }
    }
}
