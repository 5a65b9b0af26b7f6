//! What the adversary of a game sees, and what it has lost by then.

use crate::boundary::Sides;
use crate::loss::Loss;
use crate::mechanism::Mechanism;
use crate::world::{Observation, World};

/// One request of the adversary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round<'a> {
    /// What was asked.
    pub mechanism: &'a Mechanism,
    /// The answer; nothing if the filter refused.
    pub outcome: Option<Observation>,
}

/// What the adversary has seen. Its coin tosses are its own, and the same in both worlds.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The different mechanisms: usually few, and large beside an answer, so that runs stay small in memory.
    mechanisms: Vec<Mechanism>,
    rounds: Vec<(usize, Option<Observation>)>,
    loss: Loss,
    answered: usize,
    above: Option<usize>,
    below: Option<usize>,
}

impl View {
    pub(crate) fn new() -> View {
        View { mechanisms: Vec::new(), rounds: Vec::new(), loss: Loss::ZERO, answered: 0, above: None, below: None }
    }

    pub(crate) fn record(&mut self, mechanism: Mechanism, outcome: Observation) {
        self.push(mechanism, Some(outcome));
        self.loss = self.loss + outcome.loss;
        self.answered += 1;
    }

    pub(crate) fn refuse(&mut self, mechanism: Mechanism) {
        self.push(mechanism, None);
    }

    fn push(&mut self, mechanism: Mechanism, outcome: Option<Observation>) {
        // Only the last few are looked at, so that an adversary with a new mechanism every round does not slow the game down.
        const LOOKED_AT: usize = 8;
        let skipped = self.mechanisms.len().saturating_sub(LOOKED_AT);
        let known = self.mechanisms[skipped..].iter().position(|known| *known == mechanism);
        let index = known.map_or(self.mechanisms.len(), |position| skipped + position);
        if known.is_none() {
            self.mechanisms.push(mechanism);
        }
        self.rounds.push((index, outcome));
    }

    pub(crate) fn compare(&mut self, reading: f64) {
        if self.above.is_none() && self.loss.exceeds(reading) {
            self.above = Some(self.answered);
        }
        if self.below.is_none() && (-self.loss).exceeds(reading) {
            self.below = Some(self.answered);
        }
    }

    /// Every request, in order, with its answer.
    pub fn rounds(&self) -> impl ExactSizeIterator<Item = Round<'_>> + DoubleEndedIterator {
        self.rounds.iter().map(|&(index, outcome)| Round { mechanism: &self.mechanisms[index], outcome })
    }

    /// How many requests were made.
    pub fn asked(&self) -> usize {
        self.rounds.len()
    }

    /// How many requests were answered.
    pub fn answered(&self) -> usize {
        self.answered
    }

    /// ln P[view in world 0]/P[view in world 1].
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// (1 − e^{ε − loss})_+ with the loss towards a world: its mean over that world's views is the δ at which they are (ε, δ)-DP.
    pub fn hockey_stick(&self, world: World, epsilon: f64) -> f64 {
        let excess = self.loss.towards(world).value() - epsilon;
        if excess > 0.0 { -core_math::expm1(-excess) } else { 0.0 }
    }

    /// After how many answers the loss was first over the reading.
    pub fn first_above(&self) -> Option<usize> {
        self.above
    }

    /// Whether the loss was ever beyond the reading on these sides.
    pub fn has_exceeded(&self, sides: Sides) -> bool {
        (sides.has_above() && self.above.is_some()) || (sides.has_below() && self.below.is_some())
    }
}
