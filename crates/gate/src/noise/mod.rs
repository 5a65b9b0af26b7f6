//! Noise: which distribution a cost pays for, and samples of it.
//!
//! | cost | noise | parameter |
//! |---|---|---|
//! | ε | discrete Laplace, P(x) ∝ e^{−\|x\|/s} | s = L1/ε, exactly |
//! | μ of a discrete Gaussian | discrete Gaussian, P(x) ∝ e^{−x²/(2σ²)} | σ ≥ L2/μ, rounded up by at most 2⁻⁴⁰ of it |
//!
//! Privacy. Laplace: if one unit moves the answers by z, then by the triangle inequality no list of them gets more than
//! e^{‖z‖₁/s} ≤ e^ε times as likely. Gaussian: Canonne, Kamath, Steinke, arXiv:2004.00010v5, Theorem 4: an integer that
//! moves by z has ρ-zCDP with ρ = z²/(2σ²); the noises of the groups are independent, so their Rényi divergences add
//! up, and ρ = ‖z‖₂²/(2σ²) ≤ μ²/2.
//!
//! Both parameters are rational numbers and the samples are OpenDP's, by the paper's algorithms on big integers:
//! nothing that privacy rests on is rounded. [`Noise::half_width`] is computed in floating point, with a margin: an
//! interval says how accurate an answer is. It follows from the cost and the declaration alone, so it tells nothing
//! about the data, however it is computed.

mod gaussian;
mod laplace;
#[cfg(test)]
mod tests;

use dashu::base::BitTest;
use dashu::rational::RBig;
use opendp::traits::samplers::{sample_discrete_gaussian, sample_discrete_laplace};
use taximeter_accounting::{Amount, Cost};

use crate::error::Error;
use crate::sensitivity::Sensitivity;

/// The distribution of the noise, symmetric on the integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Noise {
    /// P(x) ∝ e^{−|x|/scale}.
    Laplace { scale: RBig },
    /// P(x) ∝ e^{−x²/(2·sigma²)}.
    Gaussian { sigma: RBig },
}

/// No parameter reaches 2 to this power, so that samples fit into 128 bits but for a probability of e^{−2²⁷}.
const LARGEST_BITS: usize = 100;

/// What floating-point arithmetic may have lost, relatively: some ten roundings of 2⁻⁵³, and room.
const MARGIN: f64 = 1e-12;

impl Noise {
    /// The noise for a cost: ε gives discrete Laplace with scale L1/ε; μ gives a discrete Gaussian with σ = L2/μ,
    /// rounded up.
    pub(crate) fn new(cost: &Cost, sensitivity: Sensitivity) -> Result<Noise, Error> {
        if let Cost::Pure { .. } | Cost::DiscreteGaussian { .. } = cost
            && cost.size().is_zero()
        {
            return Err(Error::value("price", cost, "it pays for no answer; spend more than 0"));
        }
        let noise = match *cost {
            Cost::Pure { epsilon } => Noise::Laplace { scale: laplace::scale(sensitivity.l1, epsilon) },
            Cost::DiscreteGaussian { mu } => Noise::Gaussian { sigma: gaussian::sigma(sensitivity.l2_squared, mu) },
            _ => {
                let needs = "there is no noise for it; spend an epsilon, which buys discrete Laplace noise, or the mu of a discrete \
                             Gaussian";
                return Err(Error::value("price", cost, needs));
            }
        };
        if noise.parameter().ceil().into_parts().1.bit_len() > LARGEST_BITS {
            let needs =
                format!("it buys noise of 2^{LARGEST_BITS} steps or more, which no answer survives; spend more");
            return Err(Error::value("price", cost, needs));
        }
        Ok(noise)
    }

    /// One sample, in steps.
    pub(crate) fn sample(&self) -> Result<i128, String> {
        let sample = match self {
            Noise::Laplace { scale } => sample_discrete_laplace(scale.clone()),
            Noise::Gaussian { sigma } => sample_discrete_gaussian(sigma.clone()),
        };
        let sample = sample.map_err(|error| format!("no noise could be sampled: {error}"))?;
        i128::try_from(sample).map_err(|_| "a sample of the noise does not fit into 128 bits".to_string())
    }

    /// The smallest t with P(|noise| > t) at most `miss`, in steps; never too small, and too large by at most a step or
    /// 10⁻⁹ of it. `miss` is between 10⁻¹² and ½.
    pub(crate) fn half_width(&self, miss: f64) -> i128 {
        match self {
            Noise::Laplace { .. } => laplace::half_width(self.scale(), miss),
            Noise::Gaussian { .. } => gaussian::half_width(self.scale(), miss),
        }
    }

    /// The scale (Laplace) or σ (Gaussian) as a number for people, in steps.
    pub(crate) fn scale(&self) -> f64 {
        self.parameter().to_f64().value()
    }

    /// The name: `discrete-laplace` or `discrete-gaussian`.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Noise::Laplace { .. } => "discrete-laplace",
            Noise::Gaussian { .. } => "discrete-gaussian",
        }
    }

    fn parameter(&self) -> &RBig {
        match self {
            Noise::Laplace { scale } => scale,
            Noise::Gaussian { sigma } => sigma,
        }
    }
}

/// A positive amount as an exact number.
fn exact(amount: Amount) -> RBig {
    RBig::from_parts(amount.units().into(), Amount::ONE.units().into())
}
