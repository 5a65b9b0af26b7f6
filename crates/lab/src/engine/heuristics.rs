//! Theorems for costs fixed in advance, misused as odometers: what the lab shows to be wrong.

use taximeter_accounting::Amount;

use crate::boundary::Boundary;

/// A tempting odometer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heuristic {
    /// Advanced composition as printed (DRV10): tε(e^ε − 1) + ε√(2t ln(1/δ)).
    Drv,
    /// The same with the tight mean: tε tanh(ε/2) + ε√(2t ln(1/δ)).
    DrvTanh,
}

impl Heuristic {
    /// Every heuristic.
    pub const ALL: [Heuristic; 2] = [Heuristic::Drv, Heuristic::DrvTanh];

    /// The name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Heuristic::Drv => "drv",
            Heuristic::DrvTanh => "drv-tanh",
        }
    }

    /// What it reads after each of a number of rounds of ε.
    pub fn readings(self, epsilon: Amount, delta: Amount, rounds: usize) -> Boundary {
        let (epsilon, delta) = (epsilon.approximate(), delta.approximate());
        let mean = match self {
            Heuristic::Drv => epsilon * core_math::expm1(epsilon),
            Heuristic::DrvTanh => epsilon * core_math::tanh(epsilon / 2.0),
        };
        Boundary::from_formula(rounds, |round| {
            let t = round as f64;
            t * mean + epsilon * (-2.0 * t * core_math::log(delta)).sqrt()
        })
    }
}
