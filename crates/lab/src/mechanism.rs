//! Mechanisms on one bit: what the adversary plays, the answer in either world, and its privacy loss.
//!
//! A mechanism is a pair of laws, one for each world, with the cost that it declares. Since an adversary may pick any neighbouring
//! datasets and any mechanism, nothing is lost by playing on one bit.
//!
//! For rare events the answers can also be drawn from a *tilted* law: world b's law with its density multiplied by e^{s·loss}, where
//! the loss is taken towards world b, and divided by the moment E_b[e^{s·loss}] = e^{sD_{1+s}}. A tilt of 0 is world b itself and −1
//! the other world.
//!
//! Probabilities are floating-point numbers, off by a few parts in 10¹⁶: far below what any number of runs could see.

use taximeter_accounting::{Amount, Cost};

use crate::error::Error;
use crate::law::{Step, laplace, laplace_masses, log_add, log_odds, logistic, softplus};
use crate::loss::Loss;
use crate::random::Generator;
use crate::world::{MechanismOutput, Observation, World};

/// A mechanism on one bit with the cost that it declares.
///
/// ```
/// use taximeter_accounting::Amount;
/// use taximeter_lab::{Mechanism, Run, World};
///
/// let tenth = Amount::parse_exact("0.1")?;
/// let mechanism = Mechanism::randomized_response(tenth)?;
/// let outcome = mechanism.sample(World::Zero, &mut Run { seed: 7, index: 0 }.noise());
/// assert_eq!(outcome.loss.value().abs(), 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mechanism {
    law: Law,
    cost: Cost,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    /// ⊤ with a loss of `rise` or ⊥ with a loss of −`fall`; an outright leak with probability `leak`.
    ///
    /// For each world, ln(p/(1−p)) of the probability p of the answer that speaks for it: of ⊤ in world 0, of ⊥ in world 1.
    TwoPoint { rise: Step, fall: Step, log_odds: [f64; 2], leak: f64 },
    /// Laplace noise of scale 1/ε.
    Laplace { epsilon: Step },
    /// Gaussian noise of scale 1/μ.
    Gaussian { mu: f64 },
}

impl Mechanism {
    /// RR_ε: ⊤ with probability e^ε/(1+e^ε) in world 0, ⊥ with that probability in world 1.
    pub fn randomized_response(epsilon: Amount) -> Result<Mechanism, Error> {
        Mechanism::leaking_response(epsilon, Amount::ZERO)
    }

    /// RR_{ε,δ} (the paper's Definition 2.6): with probability δ the bit itself, else RR_ε.
    pub fn leaking_response(epsilon: Amount, delta: Amount) -> Result<Mechanism, Error> {
        let step = Step::new(epsilon)?;
        let cost = Cost::approximate(epsilon, delta)?;
        Ok(Mechanism { law: Law::two_point(step, step, delta.approximate()), cost })
    }

    /// A loss of `rise` with probability p = (e^fall − 1)/(e^fall − e^−rise) in world 0, of −`fall` otherwise; declared as ε-DP.
    ///
    /// With both at ε this is RR_ε. Against an odometer, or a pointwise promise, unequal steps can do more harm.
    pub fn two_point(rise: Amount, fall: Amount, epsilon: Amount) -> Result<Mechanism, Error> {
        if rise.is_zero() || fall.is_zero() || rise > epsilon || fall > epsilon {
            let why = format!(
                "two-point losses of {rise} and -{fall} with a declared epsilon of {epsilon}: \
                 both must be above 0 and at most epsilon"
            );
            return Err(Error::parameter("epsilon", why));
        }
        let law = Law::two_point(Step::new(rise)?, Step::new(fall)?, 0.0);
        Ok(Mechanism { law, cost: Cost::Pure { epsilon } })
    }

    /// The bit with Laplace noise of scale 1/ε: a question of sensitivity 1.
    pub fn laplace(epsilon: Amount) -> Result<Mechanism, Error> {
        let step = positive("Laplace noise", epsilon)?;
        Ok(Mechanism { law: Law::Laplace { epsilon: step }, cost: Cost::Laplace { epsilon } })
    }

    /// The bit with Gaussian noise of scale 1/μ: a question of sensitivity 1.
    pub fn gaussian(mu: Amount) -> Result<Mechanism, Error> {
        let step = positive("Gaussian noise", mu)?;
        Ok(Mechanism { law: Law::Gaussian { mu: step.value }, cost: Cost::Gaussian { mu } })
    }

    /// What the mechanism declares before it runs.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }

    /// Whether a number of rounds can lose more than a bound, short of a leak. Where rounding could decide, the answer is yes.
    pub(crate) fn can_exceed(&self, bound: f64, rounds: usize) -> bool {
        match self.law {
            // Decimal losses are added and compared exactly.
            Law::TwoPoint { rise, fall, .. } => {
                let most = rise.units.max(fall.units).saturating_mul(rounds as i128);
                Loss::from_units(most).exceeds(bound)
            }
            Law::Laplace { epsilon } => bound <= rounds as f64 * epsilon.value * (1.0 + 1e-12),
            Law::Gaussian { .. } => true,
        }
    }

    /// The probability of an outright leak.
    pub fn leak_probability(&self) -> f64 {
        match self.law {
            Law::TwoPoint { leak, .. } => leak,
            Law::Laplace { .. } | Law::Gaussian { .. } => 0.0,
        }
    }

    /// Runs the mechanism in a world.
    pub fn sample(&self, world: World, noise: &mut Generator) -> Observation {
        self.sample_tilted(world, 0.0, noise)
    }

    /// Runs the mechanism under a world's law tilted by s towards that world. A leak keeps its probability.
    pub fn sample_tilted(&self, world: World, tilt: f64, noise: &mut Generator) -> Observation {
        match self.law {
            Law::TwoPoint { rise, fall, log_odds, leak } => {
                if leak > 0.0 && noise.happens(leak) {
                    let answer = if world == World::Zero { MechanismOutput::Zero } else { MechanismOutput::One };
                    return Observation { answer, loss: Loss::revealing(world) };
                }
                // A tilt multiplies the odds by e^{s(rise + fall)}.
                let log_odds = log_odds[world as usize] + tilt * (rise.value + fall.value);
                let gained = noise.happens(logistic(log_odds));
                if gained == (world == World::Zero) {
                    Observation { answer: MechanismOutput::Top, loss: Loss::from_units(rise.units) }
                } else {
                    Observation { answer: MechanismOutput::Bottom, loss: Loss::from_units(-fall.units) }
                }
            }
            Law::Laplace { epsilon } => {
                // Drawn as in world 0; world 1 is its mirror image about ½.
                let (answer, loss) = laplace(epsilon, tilt, noise);
                let answer = if world == World::Zero { answer } else { 1.0 - answer };
                Observation { answer: MechanismOutput::Noisy(answer), loss: loss.towards(world) }
            }
            Law::Gaussian { mu } => {
                let answer = noise.normal() / mu - tilt;
                let answer = if world == World::Zero { answer } else { 1.0 - answer };
                Observation { answer: MechanismOutput::Noisy(answer), loss: Loss::from_real(mu * mu * (0.5 - answer)) }
            }
        }
    }

    /// ln E_b[e^{s·loss}], with the loss towards world b, of an answer that is no outright leak: s times the Rényi divergence of
    /// order 1 + s.
    pub fn log_moment(&self, world: World, tilt: f64) -> f64 {
        match self.law {
            Law::TwoPoint { rise, fall, log_odds, .. } => {
                let (gain, drop) = match world {
                    World::Zero => (rise.value, fall.value),
                    World::One => (fall.value, rise.value),
                };
                // ln p = −ln(1 + 1/odds) and ln(1−p) = −ln(1 + odds).
                let log_odds = log_odds[world as usize];
                log_add(tilt * gain - softplus(-log_odds), -tilt * drop - softplus(log_odds))
            }
            Law::Laplace { epsilon } => {
                let [left, middle, right] = laplace_masses(epsilon.value, tilt);
                tilt * epsilon.value + core_math::log(left + middle + right)
            }
            Law::Gaussian { mu } => 0.5 * tilt * (1.0 + tilt) * mu * mu,
        }
    }
}

impl Law {
    fn two_point(rise: Step, fall: Step, leak: f64) -> Law {
        let log_odds = [log_odds(rise.value, fall.value), log_odds(fall.value, rise.value)];
        Law::TwoPoint { rise, fall, log_odds, leak }
    }
}

fn positive(what: &str, size: Amount) -> Result<Step, Error> {
    if size.is_zero() {
        let why = format!("{what} of parameter 0 is infinite; give a positive parameter, or randomized response of 0");
        return Err(Error::parameter("size", why));
    }
    Step::new(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Run;

    fn amount(text: &str) -> Amount {
        Amount::parse_exact(text).unwrap()
    }

    fn every_mechanism() -> Vec<Mechanism> {
        vec![
            Mechanism::randomized_response(amount("0")).unwrap(),
            Mechanism::randomized_response(amount("0.3")).unwrap(),
            Mechanism::leaking_response(amount("0.5"), amount("0.1")).unwrap(),
            Mechanism::two_point(amount("0.4"), amount("0.1"), amount("0.5")).unwrap(),
            Mechanism::laplace(amount("0.7")).unwrap(),
            Mechanism::gaussian(amount("0.6")).unwrap(),
        ]
    }

    /// The mean of a function of the outcome over many runs, with five standard errors.
    fn mean(runs: u64, sample: impl Fn(&mut Generator) -> f64) -> (f64, f64) {
        let values: Vec<f64> = (0..runs).map(|index| sample(&mut Run { seed: 11, index }.noise())).collect();
        let mean = values.iter().sum::<f64>() / runs as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (runs - 1) as f64;
        (mean, 5.0 * (variance / runs as f64).sqrt() + 1e-12)
    }

    #[test]
    fn moments_at_no_tilt_and_at_the_other_world_are_one() {
        for mechanism in every_mechanism() {
            for world in World::ALL {
                for tilt in [0.0, -1.0] {
                    let moment = mechanism.log_moment(world, tilt);
                    assert!(moment.abs() < 1e-14, "{mechanism:?} in {world:?} at {tilt}: {moment}");
                }
            }
        }
    }

    #[test]
    fn randomized_response_has_the_probabilities_of_the_definition() {
        let epsilon: f64 = 0.3;
        let p = epsilon.exp() / (1.0 + epsilon.exp());
        assert!((logistic(log_odds(epsilon, epsilon)) - p).abs() < 1e-15);
        assert_eq!(logistic(log_odds(0.0, 0.0)), 0.5);
    }

    #[test]
    fn two_points_have_the_probability_of_the_formula_book() {
        let (a, b): (f64, f64) = (0.4, 0.1);
        let p = (b.exp() - 1.0) / (b.exp() - (-a).exp());
        assert!((logistic(log_odds(a, b)) - p).abs() < 1e-15);
        assert!((p * (-a).exp() + (1.0 - p) * b.exp() - 1.0).abs() < 1e-15);
        // In world 1 a fall is what speaks for the world.
        let fall_in_world_one = (1.0 - p) * b.exp();
        assert!((logistic(log_odds(b, a)) - fall_in_world_one).abs() < 1e-15);
    }

    #[test]
    fn log_moments_are_those_of_the_renyi_curve() {
        // ln cosh((α−½)ε)/cosh(ε/2) for randomized response; Laplace by its closed form.
        let (epsilon, tilt): (f64, f64) = (0.3, 2.5);
        let order = 1.0 + tilt;
        let response = Mechanism::randomized_response(amount("0.3")).unwrap();
        let expected = (((order - 0.5) * epsilon).cosh() / (epsilon / 2.0).cosh()).ln();
        assert!((response.log_moment(World::Zero, tilt) - expected).abs() < 1e-14);
        let laplace = Mechanism::laplace(amount("0.3")).unwrap();
        let expected = (order / (2.0 * order - 1.0) * (tilt * epsilon).exp()
            + tilt / (2.0 * order - 1.0) * (-order * epsilon).exp())
        .ln();
        assert!((laplace.log_moment(World::One, tilt) - expected).abs() < 1e-14);
        let gaussian = Mechanism::gaussian(amount("0.3")).unwrap();
        assert!((gaussian.log_moment(World::One, tilt) - tilt * order * 0.045).abs() < 1e-14);
    }

    #[test]
    fn the_loss_is_the_change_of_world() {
        // E_b[e^−loss] = 1 less what leaks, and E_b[e^{s·loss}] is the moment, in either world.
        for mechanism in every_mechanism() {
            for world in World::ALL {
                let kept = 1.0 - mechanism.leak_probability();
                for tilt in [-1.0, -0.5, 1.5] {
                    let (mean, error) = mean(40_000, |noise| {
                        let loss = mechanism.sample(world, noise).loss.towards(world).value();
                        if loss.is_infinite() { 0.0 } else { (tilt * loss).exp() }
                    });
                    let moment = kept * mechanism.log_moment(world, tilt).exp();
                    assert!((mean - moment).abs() <= error, "{mechanism:?} in {world:?} at {tilt}: {mean}, {moment}");
                }
            }
        }
    }

    #[test]
    fn a_tilted_law_weighted_back_is_the_world() {
        for mechanism in every_mechanism() {
            for world in World::ALL {
                for tilt in [-1.0, 0.8] {
                    let moment = mechanism.log_moment(world, tilt);
                    let weight = |outcome: Observation| (moment - tilt * outcome.loss.towards(world).value()).exp();
                    let (tilted, tilted_error) = mean(40_000, |noise| {
                        let outcome = mechanism.sample_tilted(world, tilt, noise);
                        if outcome.loss.value().is_infinite() { 2.0 } else { weight(outcome) * seen(outcome) }
                    });
                    let (plain, plain_error) = mean(40_000, |noise| {
                        let outcome = mechanism.sample(world, noise);
                        if outcome.loss.value().is_infinite() { 2.0 } else { seen(outcome) }
                    });
                    let error = tilted_error + plain_error;
                    assert!((tilted - plain).abs() <= error, "{mechanism:?} in {world:?} at {tilt}: {tilted}, {plain}");
                }
            }
        }
    }

    /// Some bounded function of what is seen.
    fn seen(outcome: Observation) -> f64 {
        match outcome.answer {
            MechanismOutput::Top | MechanismOutput::Zero => 1.0,
            MechanismOutput::Bottom | MechanismOutput::One => 0.25,
            MechanismOutput::Noisy(value) => 1.0 / (1.0 + (value - 0.3).abs()),
        }
    }

    #[test]
    fn a_noisy_answer_has_the_loss_of_its_densities() {
        for index in 0..1000 {
            let noise = &mut Run { seed: 3, index }.noise();
            let laplace = Mechanism::laplace(amount("0.7")).unwrap();
            for (world, tilt) in [(World::Zero, 0.0), (World::One, 0.0), (World::One, 2.0), (World::Zero, -0.5)] {
                let outcome = laplace.sample_tilted(world, tilt, noise);
                let MechanismOutput::Noisy(x) = outcome.answer else { panic!("Laplace noise answers with a number") };
                assert!((outcome.loss.value() - 0.7 * ((x - 1.0).abs() - x.abs())).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn leaks_come_with_their_probability_and_give_the_world_away() {
        let mechanism = Mechanism::leaking_response(amount("0.5"), amount("0.1")).unwrap();
        assert_eq!(mechanism.cost(), &Cost::Approximate { epsilon: amount("0.5"), delta: amount("0.1") });
        for (world, answer) in [(World::Zero, MechanismOutput::Zero), (World::One, MechanismOutput::One)] {
            let (share, error) = mean(40_000, |noise| {
                let outcome = mechanism.sample(world, noise);
                let leaked = outcome.loss.towards(world).value() == f64::INFINITY;
                assert_eq!(leaked, outcome.answer == answer);
                f64::from(leaked)
            });
            assert!((share - 0.1).abs() <= error, "{share}");
        }
    }

    #[test]
    fn parameters_outside_the_definition_are_refused() {
        let refused = [
            Mechanism::two_point(amount("0.6"), amount("0.1"), amount("0.5")),
            Mechanism::two_point(amount("0"), amount("0.1"), amount("0.5")),
            Mechanism::laplace(Amount::ZERO),
            Mechanism::gaussian(Amount::ZERO),
            Mechanism::randomized_response(amount("501")),
            Mechanism::leaking_response(amount("1"), Amount::ONE),
        ];
        for mechanism in refused {
            assert!(mechanism.is_err(), "{mechanism:?}");
        }
    }
}
