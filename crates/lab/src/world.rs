//! The two worlds of a game, and what an adversary observes in one of them.

use crate::loss::Loss;

/// Which of two neighbouring datasets is the real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// b = 0.
    Zero,
    /// b = 1.
    One,
}

impl World {
    /// Both worlds.
    pub const ALL: [World; 2] = [World::Zero, World::One];

    /// The other one.
    pub fn other(self) -> World {
        match self {
            World::Zero => World::One,
            World::One => World::Zero,
        }
    }
}

/// What a mechanism answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MechanismOutput {
    /// 0, outright: the world is given away.
    Zero,
    /// ⊤, which speaks for world 0.
    Top,
    /// ⊥, which speaks for world 1.
    Bottom,
    /// 1, outright: the world is given away.
    One,
    /// The bit with noise.
    Noisy(f64),
}

/// An answer with its privacy loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// What the adversary sees.
    pub answer: MechanismOutput,
    /// ln P[answer in world 0]/P[answer in world 1].
    pub loss: Loss,
}
