//! The kinds of cost, each defined once: its name, the numbers it is declared with, what is known of it, a sentence for people.
//!
//! Flags, forms, JSON, its schema and help are made from this table. A new kind is an entry here, a variant of [`Cost`] and its prices
//! in `price/`.

use std::ops::Bound;

use super::Cost;
use super::number::{Number, noise, number};
use crate::amount::{Amount, Rounding};
use crate::error::Error;

/// The kinds of cost, the usual ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CostKind {
    /// By ε, with or without δ.
    Epsilon,
    /// By ε of continuous Laplace noise.
    Laplace,
    /// By ε of discrete Laplace noise.
    DiscreteLaplace,
    /// By μ of a continuous Gaussian.
    Gaussian,
    /// By μ of a discrete Gaussian.
    DiscreteGaussian,
    /// By the rate, noise and steps of a Poisson-subsampled Gaussian.
    SampledGaussian,
    /// By ρ.
    Zcdp,
    /// By ε of randomized response.
    RandomizedResponse,
    /// By η of an exponential mechanism.
    Exponential,
}

/// What a theorem may know of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrivacyMeasure {
    /// An ε, with the cost's own δ.
    Epsilon,
    /// A μ for which it is μ-GDP.
    Gdp,
    /// A ρ.
    Zcdp,
    /// A Rényi curve.
    Renyi,
}

/// A way to declare a cost of a kind.
#[derive(Debug)]
pub struct CostForm {
    /// Its name as a flag and in forms: that of the kind, or of the kind and the first number.
    pub name: &'static str,
    /// What people choose it by.
    pub title: &'static str,
    /// The numbers that it takes, the required ones first.
    pub numbers: &'static [&'static Number],
    make: fn(&[Amount]) -> Result<Cost, Error>,
}

impl CostForm {
    /// The cost of these numbers, in the order of [`numbers`](CostForm::numbers).
    pub fn cost(&self, numbers: &[Amount]) -> Result<Cost, Error> {
        if numbers.len() != self.numbers.len() {
            return Err(Error::text(format!("{} takes {} numbers", self.name, self.numbers.len())));
        }
        self.numbers.iter().zip(numbers).try_for_each(|(number, value)| number.check(*value))?;
        (self.make)(numbers)
    }

    /// The numbers that must be given.
    pub fn required(&self) -> impl Iterator<Item = &'static Number> {
        self.numbers.iter().copied().filter(|number| number.default.is_none())
    }
}

/// What is known of a kind.
struct KindEntry {
    kind: CostKind,
    name: &'static str,
    sentence: &'static str,
    measures: &'static [PrivacyMeasure],
    forms: &'static [CostForm],
}

const EPSILON: Number = number("epsilon", "ε", "A decimal number", "0.1");
pub(super) const DELTA: Number = Number {
    range: (Bound::Unbounded, Bound::Excluded(Amount::ONE)),
    default: Some("0"),
    ..number("delta", "δ", "The mechanism's own δ", "1e-9")
};
const MU: Number = number("mu", "μ", "Sensitivity divided by σ", "0.1");
const RHO: Number = number("rho", "ρ", "A decimal number", "0.005");
const ETA: Number = number("eta", "η", "η, where the weights are e to the power ηu/(2Δ)", "0.1");
const SIGMA: Number = noise("sigma", "σ", "The standard deviation of the noise", "10");
const SCALE: Number = noise("scale", "Scale of the noise", "The b of Laplace noise", "10");
const SENSITIVITY: Number =
    Number { default: Some("1"), ..number("sensitivity", "Sensitivity", "How far one unit can move the value", "1") };
pub(super) const TRUTH: Number = Number {
    range: (Bound::Included(Amount::from_units(Amount::ONE.units() / 2)), Bound::Excluded(Amount::ONE)),
    ..number("truth", "Probability of the truth", "How often the truth is told", "0.6")
};
const RATE: Number = Number {
    range: (Bound::Excluded(Amount::ZERO), Bound::Included(Amount::ONE)),
    ..number("rate", "Sampling rate", "The chance that a unit is in a batch", "0.01")
};
const MULTIPLIER: Number =
    noise("sigma", "σ", "The noise multiplier: standard deviation divided by clipping norm", "1.1");
const STEPS: Number = Number { whole: true, ..number("steps", "Steps", "How many batches are drawn", "1000") };

type Make = fn(&[Amount]) -> Result<Cost, Error>;

const LAPLACE: Make = |numbers| Ok(Cost::Laplace { epsilon: size(numbers)? });
const DISCRETE_LAPLACE: Make = |numbers| Ok(Cost::DiscreteLaplace { epsilon: size(numbers)? });
const GAUSSIAN: Make = |numbers| Ok(Cost::Gaussian { mu: size(numbers)? });
const DISCRETE_GAUSSIAN: Make = |numbers| Ok(Cost::DiscreteGaussian { mu: size(numbers)? });

/// The size of a mechanism that adds noise: its own parameter, or sensitivity over the scale of the noise, rounded up.
fn size(numbers: &[Amount]) -> Result<Amount, Error> {
    let [scale, sensitivity] = *numbers else { return Ok(numbers[0]) };
    let too_much = || {
        let needs = format!("with noise of scale {scale} it costs more than any budget; give more noise");
        Error::parameter(SENSITIVITY.name, sensitivity, needs)
    };
    sensitivity.checked_div(scale, Rounding::Up).ok_or_else(too_much)
}

type Numbers = &'static [&'static Number];

const BY_SCALE: Numbers = &[&SCALE, &SENSITIVITY];
const BY_SIGMA: Numbers = &[&SIGMA, &SENSITIVITY];

const fn form(name: &'static str, title: &'static str, numbers: Numbers, make: Make) -> CostForm {
    CostForm { name, title, numbers, make }
}

/// What every ε-DP mechanism has.
const PURE: &[PrivacyMeasure] = &[PrivacyMeasure::Epsilon, PrivacyMeasure::Zcdp, PrivacyMeasure::Renyi];

/// In the order of [`CostKind`].
static KINDS: [KindEntry; 9] = [
    KindEntry {
        kind: CostKind::Epsilon,
        name: "epsilon",
        sentence: "(ε, δ)-differential privacy",
        measures: PURE,
        forms: &[form("epsilon", "ε, and δ if there is one", &[&EPSILON, &DELTA], |n| Cost::approximate(n[0], n[1]))],
    },
    KindEntry {
        kind: CostKind::Laplace,
        name: "laplace",
        sentence: "continuous Laplace noise with ε = sensitivity/scale; for noise on integers use discrete Laplace noise",
        measures: PURE,
        forms: &[
            form("laplace", "Laplace noise (continuous only), by its ε", &[&EPSILON], LAPLACE),
            form("laplace-scale", "Laplace noise (continuous only), by scale and sensitivity", BY_SCALE, LAPLACE),
        ],
    },
    KindEntry {
        kind: CostKind::DiscreteLaplace,
        name: "discrete_laplace",
        sentence: "discrete (geometric) Laplace noise, priced as any ε-DP mechanism: on one step it is randomized response",
        measures: PURE,
        forms: &[
            form("discrete-laplace", "discrete Laplace noise, by its ε", &[&EPSILON], DISCRETE_LAPLACE),
            form(
                "discrete-laplace-scale",
                "discrete Laplace noise, by scale and sensitivity",
                BY_SCALE,
                DISCRETE_LAPLACE,
            ),
        ],
    },
    KindEntry {
        kind: CostKind::Gaussian,
        name: "gaussian",
        sentence: "continuous Gaussian noise, proven μ-GDP with μ = sensitivity/σ",
        measures: &[PrivacyMeasure::Gdp, PrivacyMeasure::Zcdp, PrivacyMeasure::Renyi],
        forms: &[
            form("gaussian", "Gaussian noise, by its μ", &[&MU], GAUSSIAN),
            form("gaussian-sigma", "Gaussian noise, by σ and sensitivity", BY_SIGMA, GAUSSIAN),
        ],
    },
    KindEntry {
        kind: CostKind::DiscreteGaussian,
        name: "discrete_gaussian",
        sentence: "discrete Gaussian noise: it has a zCDP and a Rényi price, and is not μ-GDP",
        measures: &[PrivacyMeasure::Zcdp, PrivacyMeasure::Renyi],
        forms: &[
            form("discrete-gaussian", "discrete Gaussian noise, by its μ", &[&MU], DISCRETE_GAUSSIAN),
            form(
                "discrete-gaussian-sigma",
                "discrete Gaussian noise, by σ and sensitivity",
                BY_SIGMA,
                DISCRETE_GAUSSIAN,
            ),
        ],
    },
    KindEntry {
        kind: CostKind::SampledGaussian,
        name: "sampled_gaussian",
        sentence: "Poisson-subsampled Gaussian noise, as in DP-SGD; for add-remove neighbours",
        measures: &[PrivacyMeasure::Renyi],
        forms: &[form(
            "sampled-gaussian",
            "subsampled Gaussian noise (DP-SGD), by rate, σ and steps",
            &[&RATE, &MULTIPLIER, &STEPS],
            |n| Ok(Cost::SampledGaussian { rate: n[0], sigma: n[1], steps: n[2].whole_and_part().0 }),
        )],
    },
    KindEntry {
        kind: CostKind::Zcdp,
        name: "zcdp",
        sentence: "ρ-zCDP",
        measures: &[PrivacyMeasure::Zcdp, PrivacyMeasure::Renyi],
        forms: &[form("zcdp", "zCDP, by its ρ", &[&RHO], |n| Ok(Cost::Zcdp { rho: n[0] }))],
    },
    KindEntry {
        kind: CostKind::RandomizedResponse,
        name: "randomized_response",
        sentence: "randomized response, the worst ε-DP mechanism",
        measures: PURE,
        forms: &[
            form("randomized-response", "randomized response, by its ε", &[&EPSILON], |n| {
                Ok(Cost::RandomizedResponse { epsilon: n[0] })
            }),
            form("randomized-response-truth", "randomized response, by the probability of the truth", &[&TRUTH], |n| {
                Cost::from_truth_probability(n[0])
            }),
        ],
    },
    KindEntry {
        kind: CostKind::Exponential,
        name: "exponential",
        sentence: "the exponential mechanism with weights exp(eta * utility / (2 * sensitivity))",
        measures: PURE,
        forms: &[form("exponential", "exponential mechanism, by its η", &[&ETA], |n| {
            Ok(Cost::Exponential { epsilon: n[0] })
        })],
    },
];

impl CostKind {
    /// Every kind, the usual ones first.
    pub const ALL: [CostKind; 9] = {
        let mut all = [CostKind::Epsilon; 9];
        let mut at = 0;
        while at < all.len() {
            all[at] = KINDS[at].kind;
            at += 1;
        }
        all
    };

    fn entry(self) -> &'static KindEntry {
        &KINDS[self as usize]
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// What it is, for people.
    pub fn sentence(self) -> &'static str {
        self.entry().sentence
    }

    /// The ways to declare it, the one by its own parameter first.
    pub fn forms(self) -> &'static [CostForm] {
        self.entry().forms
    }

    /// The way to declare it by one number, its own parameter, if there is one.
    pub fn direct_form(self) -> Option<&'static CostForm> {
        self.forms().first().filter(|form| form.required().count() == 1)
    }

    /// A cost of this kind with 1 for every number that must be given, to be made another size.
    pub fn example(self) -> Cost {
        let form = &self.forms()[0];
        let numbers: Vec<Amount> = form
            .numbers
            .iter()
            .map(|number| if number.default.is_some() { Amount::ZERO } else { Amount::ONE })
            .collect();
        form.cost(&numbers).expect("every kind takes 1")
    }

    /// What a theorem may know of it.
    pub(crate) fn measures(self) -> &'static [PrivacyMeasure] {
        self.entry().measures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_kinds() {
        for kind in CostKind::ALL {
            assert_eq!(kind.entry().kind, kind);
        }
    }
}
