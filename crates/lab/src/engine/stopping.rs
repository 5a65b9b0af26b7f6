//! The stopping-time adversary (the paper's Algorithm 4) against an odometer, exactly.
//!
//! Plays RR_ε every round and stops at the first round t with |Loss_t| > u_t. Forward recursion on (t, number of ⊤ so far) with
//! absorption; the work is the number of rounds times the width of the band in which the loss can still be.

use taximeter_accounting::Amount;

use super::{Bracket, probability_of_top};
use crate::boundary::{Boundary, Sides};

/// The probabilities, under b = 0, that the loss is ever outside of the readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Violation {
    /// The loss exceeds the reading first.
    pub above: Bracket,
    /// The loss falls below the negative of the reading first.
    pub below: Bracket,
}

impl Violation {
    /// The probability that the loss is outside on these sides.
    pub fn on(&self, sides: Sides) -> Bracket {
        match sides {
            Sides::Above => self.above,
            Sides::Below => self.below,
            Sides::Both => {
                Bracket { lower: self.above.lower + self.below.lower, upper: self.above.upper + self.below.upper }
            }
        }
    }
}

/// Mass in one cell that is too small to matter; what is dropped is counted in the upper end.
const NEGLIGIBLE: f64 = 1e-60;

/// Plays RR_ε against readings for as long as there are any, and tells after every round what the adversary has achieved by then.
pub fn stopping_time(epsilon: Amount, readings: &Boundary, mut tell: impl FnMut(usize, Violation)) -> Violation {
    let zero = Bracket { lower: 0.0, upper: 0.0 };
    let mut violation = Violation { above: zero, below: zero };
    let top = probability_of_top(epsilon.approximate());
    let bottom = probability_of_top(-epsilon.approximate());
    // alive[i] is the probability of `first + i` times ⊤ so far, without a violation.
    let (mut alive, mut next) = (vec![1.0f64], Vec::new());
    let mut first = 0u64;
    let (mut above, mut below, mut dropped) = (0.0, 0.0, 0.0);
    for played in 1..=readings.rounds() {
        next.clear();
        next.resize(alive.len() + 1, 0.0);
        for (cell, &mass) in alive.iter().enumerate() {
            next[cell] += bottom * mass;
        }
        for (cell, &mass) in alive.iter().enumerate() {
            next[cell + 1] += top * mass;
        }
        std::mem::swap(&mut alive, &mut next);
        // The loss is (2·tops − round)ε; it violates iff it is more than the largest multiple of ε within the reading.
        let within = i128::from(multiples_within(epsilon, readings.after(played)));
        let round = played as i128;
        let most = (round + within).div_euclid(2);
        while let Some(&mass) = alive.last()
            && leaves(mass, i128::from(first) + alive.len() as i128 - 1 > most, &mut above, &mut dropped)
        {
            alive.pop();
        }
        let least = (round - within + 1).div_euclid(2);
        let is_gone = |&(cell, &mass): &(usize, &f64)| {
            leaves(mass, i128::from(first) + (cell as i128) < least, &mut below, &mut dropped)
        };
        let gone = alive.iter().enumerate().take_while(is_gone).count();
        alive.drain(..gone);
        first += gone as u64;
        let roundings = 4.0 * round as f64;
        let bracket = |probability: f64| Bracket::around(probability, roundings, dropped);
        violation = Violation { above: bracket(above), below: bracket(below) };
        tell(played, violation);
    }
    violation
}

/// Whether a cell is followed no further: its loss is outside of the reading, or its mass is too small to matter.
fn leaves(mass: f64, is_outside: bool, outside: &mut f64, dropped: &mut f64) -> bool {
    if !is_outside && mass >= NEGLIGIBLE {
        return false;
    }
    *(if is_outside { outside } else { dropped }) += mass;
    true
}

/// The largest n with nε ≤ reading; −1 if the reading is negative.
pub(crate) fn multiples_within(epsilon: Amount, reading: f64) -> i64 {
    // What is not a number bounds nothing that could be relied on.
    if reading < 0.0 || reading.is_nan() {
        return -1;
    }
    if reading.is_infinite() || epsilon.is_zero() {
        return i64::MAX / 4;
    }
    let count = Amount::at_most(reading).units() / epsilon.units();
    i64::try_from(count).unwrap_or(i64::MAX).min(i64::MAX / 4)
}
