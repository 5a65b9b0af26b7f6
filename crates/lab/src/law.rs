//! The laws of answers on one bit, tilted or not.

use taximeter_accounting::Amount;

use crate::error::Error;
use crate::loss::Loss;
use crate::random::Generator;

/// The largest ε or μ of a mechanism: e^ε and sums of losses stay within what numbers can hold.
pub(crate) const LARGEST_SIZE: u64 = 500;

/// The size of a loss: exact, and as a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) units: i128,
    pub(crate) value: f64,
}

impl Step {
    pub(crate) fn new(size: Amount) -> Result<Step, Error> {
        if Amount::from_whole(LARGEST_SIZE).is_none_or(|largest| size > largest) {
            let why = format!("a mechanism of size {size}: at most {} is played", LARGEST_SIZE);
            return Err(Error::parameter("size", why));
        }
        // At most 500 in units of 10⁻³⁰ is below 10³³.
        let units = i128::try_from(size.units()).expect("a size up to 500 fits");
        Ok(Step { units, value: size.approximate() })
    }
}

/// ln(p/(1−p)) for p = (e^drop − 1)/(e^drop − e^−gain), so that E[e^−loss] = 1: p/(1−p) = (e^drop − 1)/(1 − e^−gain).
pub(crate) fn log_odds(gain: f64, drop: f64) -> f64 {
    if gain == 0.0 && drop == 0.0 {
        return 0.0;
    }
    core_math::log(core_math::expm1(drop) / -core_math::expm1(-gain))
}

/// The probability of these odds.
pub(crate) fn logistic(log_odds: f64) -> f64 {
    1.0 / (1.0 + core_math::exp(-log_odds))
}

/// ln(1 + e^x).
pub(crate) fn softplus(x: f64) -> f64 {
    x.max(0.0) + core_math::log1p(core_math::exp(-x.abs()))
}

/// ln(e^x + e^y).
pub(crate) fn log_add(x: f64, y: f64) -> f64 {
    let larger = x.max(y);
    if larger.is_infinite() { larger } else { larger + core_math::log1p(core_math::exp(-(x - y).abs())) }
}

/// (1 − e^−x)/x.
fn decay(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { -core_math::expm1(-x) / x }
}

/// The tilted masses, all divided by e^{sε}, of answers below 0 (loss ε), in [0, 1] (loss ε(1−2x)) and above 1 (loss −ε).
pub(crate) fn laplace_masses(epsilon: f64, tilt: f64) -> [f64; 3] {
    let slope = epsilon * (1.0 + 2.0 * tilt);
    [0.5, 0.5 * epsilon * decay(slope), 0.5 * core_math::exp(-slope)]
}

/// An answer of Laplace noise about 0 under the tilted law, with its loss.
pub(crate) fn laplace(epsilon: Step, tilt: f64, noise: &mut Generator) -> (f64, Loss) {
    let [left, middle, right] = laplace_masses(epsilon.value, tilt);
    let place = noise.uniform() * (left + middle + right);
    if place < left {
        return (core_math::log(noise.positive()) / epsilon.value, Loss::from_units(epsilon.units));
    }
    if place >= left + middle {
        return (1.0 - core_math::log(noise.positive()) / epsilon.value, Loss::from_units(-epsilon.units));
    }
    // The density is e^{−slope·x} on [0, 1].
    let slope = epsilon.value * (1.0 + 2.0 * tilt);
    let share = noise.uniform();
    let answer = if slope == 0.0 { share } else { -core_math::log1p(share * core_math::expm1(-slope)) / slope };
    (answer, Loss::from_real(epsilon.value * (1.0 - 2.0 * answer)))
}
