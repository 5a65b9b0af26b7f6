//! The exact engine: what the best adversary achieves, computed and not sampled.
//!
//! Losses lie on a lattice: every cost is a multiple of a step h, so every loss is too. [`stopping`] follows an adversary who plays
//! one ε and stops at the first violation, forwards in time. [`solve`](solver) finds the best adaptive adversary, backwards over the
//! states of a filter ([`states`]) or an odometer. Both report a lower and an upper end; they differ where a state is rounded or a
//! range is cut off, and by the rounding errors of the recursion itself.

pub mod filters;
pub mod graph;
pub mod grid;
pub mod heuristics;
pub mod odometers;
pub mod solver;
pub mod states;
pub mod stopping;
pub mod tree;

/// Two numbers with the true value between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bracket {
    /// Not above the truth.
    pub lower: f64,
    /// Not below the truth.
    pub upper: f64,
}

impl Bracket {
    /// A value with a relative error of a number of roundings, and what was cut off.
    pub(crate) fn around(value: f64, roundings: f64, cut_off: f64) -> Bracket {
        let width = roundings * f64::EPSILON;
        Bracket { lower: (value * (1.0 - width)).max(0.0), upper: value * (1.0 + width) + cut_off }
    }

    /// Both as shares of a δ; of 0, nothing is no share and more is an infinite one.
    pub fn over(&self, delta: f64) -> Bracket {
        let share = |value: f64| if value == 0.0 { 0.0 } else { value / delta };
        Bracket { lower: share(self.lower), upper: share(self.upper) }
    }

    /// The middle, for showing.
    pub fn middle(&self) -> f64 {
        0.5 * (self.lower + self.upper)
    }
}

/// e^ε/(1 + e^ε): the probability of ⊤ under b = 0.
pub(crate) fn probability_of_top(epsilon: f64) -> f64 {
    1.0 / (1.0 + core_math::exp(-epsilon))
}
