//! Noise: which distribution a cost pays for. The distributions themselves, with their proofs, are in `taximeter-noise`.
//!
//! | cost | noise | parameter |
//! |---|---|---|
//! | ε | discrete Laplace, P(x) ∝ e^{−\|x\|/s} | s = L1/ε, exactly |
//! | μ | rounded Gaussian, round(σX) with X standard normal | σ ≥ L2/μ, rounded up by at most 2⁻⁶⁰ of it |
//!
//! If one unit moves the answers by z, Laplace noise of scale ‖z‖₁/ε is ε-differentially private, and rounded Gaussian noise with
//! σ = ‖z‖₂/μ is μ-GDP, being a post-processing of the Gaussian mechanism.

use dashu::rational::RBig;
use taximeter_accounting::{Amount, Cost};
use taximeter_noise::{DiscreteLaplace, NoiseError, Randomness, RoundedGaussian};

use crate::error::Error;
use crate::sensitivity::Sensitivity;

/// The distribution of the noise, symmetric on the integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Noise {
    Laplace(DiscreteLaplace),
    Gaussian(RoundedGaussian),
}

impl Noise {
    pub(crate) const LAPLACE: &str = "discrete-laplace";
    pub(crate) const GAUSSIAN: &str = "rounded-gaussian";

    /// The noise for a cost: ε gives discrete Laplace with scale L1/ε; μ gives a rounded Gaussian with σ = L2/μ, rounded up.
    pub(crate) fn new(cost: &Cost, sensitivity: Sensitivity) -> Result<Noise, Error> {
        if let Cost::Pure { .. } | Cost::Gaussian { .. } = cost
            && cost.size().is_zero()
        {
            return Err(Error::value("price", cost, "it pays for no answer; spend more than 0"));
        }
        // What no unit moves, such as AVG(1), gets the noise of one step.
        let (l1, l2_squared) = (sensitivity.l1.max(1), sensitivity.l2_squared.max(1));
        let noise = match *cost {
            Cost::Pure { epsilon } => DiscreteLaplace::new(RBig::from(l1) / exact(epsilon)).map(Noise::Laplace),
            Cost::Gaussian { mu } => RoundedGaussian::for_mu(l2_squared, &exact(mu)).map(Noise::Gaussian),
            _ => {
                let needs =
                    "no noise has this price; give an epsilon for discrete Laplace noise, or a mu for Gaussian noise";
                return Err(Error::value("price", cost, needs));
            }
        };
        noise.map_err(|_| {
            Error::value("price", cost, "its noise is more than 2^100 steps, too much for any answer; spend more")
        })
    }

    /// One sample, in steps.
    pub(crate) fn sample(&self, randomness: &mut Randomness) -> Result<i128, NoiseError> {
        match self {
            Noise::Laplace(noise) => noise.sample(randomness),
            Noise::Gaussian(noise) => noise.sample(randomness),
        }
    }

    /// The smallest t with P(|noise| > t) at most `miss`, in steps; never too small. `miss` is between 10⁻¹² and ½.
    pub(crate) fn half_width(&self, miss: f64) -> i128 {
        match self {
            Noise::Laplace(noise) => noise.half_width(miss),
            Noise::Gaussian(noise) => noise.half_width(miss),
        }
    }

    /// The smallest t with P(noise ≥ t) at most this; only Laplace noise is for thresholds.
    pub(crate) fn threshold(&self, probability: &RBig) -> Result<i128, Error> {
        match self {
            Noise::Laplace(noise) => {
                noise.threshold(probability).map_err(|error| Error::input("price", error.to_string()))
            }
            Noise::Gaussian(_) => {
                Err(Error::input("price", "thresholds are for discrete Laplace noise; give an epsilon"))
            }
        }
    }

    /// The scale (Laplace) or σ (Gaussian) as a number for people, in steps.
    pub(crate) fn scale(&self) -> f64 {
        let parameter = match self {
            Noise::Laplace(noise) => noise.scale(),
            Noise::Gaussian(noise) => noise.sigma(),
        };
        parameter.to_f64().value()
    }

    /// The name, as answers have it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Noise::Laplace(_) => Noise::LAPLACE,
            Noise::Gaussian(_) => Noise::GAUSSIAN,
        }
    }
}

/// A positive amount as an exact number.
fn exact(amount: Amount) -> RBig {
    RBig::from_parts(amount.units().into(), Amount::ONE.units().into())
}

#[cfg(test)]
mod tests {
    use dashu::integer::UBig;
    use taximeter_accounting::CostKind;

    use super::*;

    fn noise(kind: CostKind, size: &str, sensitivity: Sensitivity) -> Noise {
        Noise::new(&kind.example().with_size(Amount::parse_exact(size).unwrap()), sensitivity).unwrap()
    }

    #[test]
    fn a_laplace_scale_is_exactly_l1_over_epsilon() {
        for (epsilon, l1) in [
            ("2", 1),
            ("0.5", 7),
            ("0.123456789012345678901234567891", 1),
            ("0.000000000000000000000000000001", 1),
            ("340282366.920938463463374607431768211455", 1),
        ] {
            // Another L2, which must not matter.
            let bought = noise(CostKind::Epsilon, epsilon, Sensitivity { l1, l2_squared: 10_000 });
            let Noise::Laplace(laplace) = &bought else { panic!("ε buys Laplace noise") };
            let units = RBig::from(Amount::parse_exact(epsilon).unwrap().units());
            assert_eq!(laplace.scale() * units, RBig::from(l1) * RBig::from(UBig::from(10u8).pow(30)), "ε = {epsilon}");
            assert_eq!(bought.name(), "discrete-laplace");
        }
    }

    #[test]
    fn a_gaussian_sigma_is_at_least_l2_over_mu_and_hardly_more() {
        for (mu, l2_squared) in
            [("0.7", 2), ("1", 1), ("0.1", 50), ("0.000000001234567890123456789013", 2), ("1234.5678", 3)]
        {
            // Another L1, which must not matter.
            let bought = noise(CostKind::Gaussian, mu, Sensitivity { l1: 10_000, l2_squared });
            let Noise::Gaussian(gaussian) = &bought else { panic!("μ buys Gaussian noise") };
            let reached = (gaussian.sigma() * exact(Amount::parse_exact(mu).unwrap())).pow(2);
            let wanted = RBig::from(l2_squared);
            let most = RBig::from_parts(1.into(), UBig::ONE << 59) + RBig::ONE;
            assert!(wanted <= reached && reached <= &wanted * most.pow(2), "μ = {mu}, L2² = {l2_squared}: {reached}");
            assert_eq!(bought.name(), "rounded-gaussian");
        }
    }

    #[test]
    fn costs_that_buy_no_noise_are_refused_with_what_to_do() {
        let one = Sensitivity { l1: 1, l2_squared: 1 };
        let check = |cost: Cost, sensitivity: Sensitivity, words: &str| {
            let error = Noise::new(&cost, sensitivity).unwrap_err();
            assert!(error.is_input() && error.to_string().contains(words), "{cost}: {error}");
        };
        for kind in CostKind::ALL {
            let cost = kind.example().with_size(Amount::ONE);
            if matches!(kind, CostKind::Epsilon | CostKind::Gaussian) {
                assert!(Noise::new(&cost, one).is_ok(), "{cost}");
                check(kind.example().with_size(Amount::ZERO), one, "spend more");
                let large = Sensitivity { l1: 1 << 60, l2_squared: 1 << 120 };
                check(kind.example().with_size(Amount::UNIT), large, "spend more");
            } else {
                check(cost, one, "give an epsilon");
            }
        }
        let delta = Amount::parse_exact("0.000001").unwrap();
        check(Cost::approximate(Amount::ONE, delta).unwrap(), one, "give an epsilon");
    }

    #[test]
    fn the_largest_noise_and_the_smallest_are_sampled() {
        let mut randomness = Randomness::repeatable(1);
        for (kind, size) in [(CostKind::Epsilon, "1"), (CostKind::Gaussian, "0.000000000008")] {
            let noise = noise(kind, size, Sensitivity { l1: 1 << 99, l2_squared: 1 << 126 });
            assert!(noise.sample(&mut randomness).unwrap().abs() < noise.half_width(1e-12));
            assert!(noise.scale() > 2f64.powi(98) && noise.half_width(0.05) > 1 << 98);
        }
        for kind in [CostKind::Epsilon, CostKind::Gaussian] {
            let noise = noise(kind, "340282366", Sensitivity { l1: 1, l2_squared: 1 });
            assert_eq!((noise.sample(&mut randomness), noise.half_width(1e-12)), (Ok(0), 0));
        }
    }
}
