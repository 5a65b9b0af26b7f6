//! Every bound against arithmetic of more than a hundred digits, on random inputs over the whole domain.
//!
//! For each bound a hundred thousand inputs are drawn, the same ones every time. A bound must never lie on the unsafe side of
//! the truth, and must be close to it. The truth is computed in [`Wide`](super::high_precision::Wide), which is fast, and for
//! every thousandth input in `dashu`, which would take an hour for all of them. What was solved for is not solved for again:
//! it is put into the equation, and so is a number a little further on, which must not satisfy it.

mod broken;
mod filters;
mod odometers;
mod prices;
mod reach;
mod references;
mod sampled_gaussian;

use std::fmt::Debug;

use super::high_precision::Real;
use super::inputs::random_inputs;
use crate::amount::Amount;

/// How many inputs are drawn for a bound.
const INPUTS: u32 = 100_000;
/// One input of this number is checked in `dashu` as well.
const SLOW_EVERY: u32 = 1000;
/// How far a bound may be from the truth, as a share of it.
const CLOSE: f64 = 1e-9;
/// What the reference itself resolves, as a share of the truth.
const RESOLVED: f64 = 1e-40;

/// What is wrong, if anything.
type Outcome = Result<(), String>;

/// Draws the inputs of a bound and checks each.
fn certify<Input: Debug>(
    seed: u64,
    draw: impl Fn(&mut Random) -> Input,
    fast: fn(&Input) -> Outcome,
    slow: fn(&Input) -> Outcome,
) {
    let mut random = Random::new(seed);
    for at in 0..random_inputs(INPUTS) {
        let input = draw(&mut random);
        let check = |outcome: Outcome| outcome.unwrap_or_else(|wrong| panic!("{wrong}, for input {at}: {input:?}"));
        check(fast(&input));
        if at % SLOW_EVERY == 0 {
            check(slow(&input));
        }
    }
}

/// A bound rounded up: not below the truth, and above it by at most 10⁻⁹ of it and a few units of 10⁻⁶⁰.
fn just_above<R: Real>(ours: R, truth: R, units: u64) -> Outcome {
    let gap = ours.clone() - truth.clone();
    let size = if truth < R::zero() { -truth.clone() } else { truth.clone() };
    if gap < -(size.clone() * R::from_f64(RESOLVED)) {
        return Err(format!("{:e} is below the truth {:e} by {:e}", ours.to_f64(), truth.to_f64(), -gap.to_f64()));
    }
    if gap > size.clone() * R::from_f64(CLOSE) + unit::<R>(units) {
        return Err(format!("{:e} is above the truth {:e} by {:e}", ours.to_f64(), truth.to_f64(), gap.to_f64()));
    }
    Ok(())
}

/// A limit rounded down: not above the truth, and below it by at most 10⁻⁹ of it and a few units of 10⁻⁶⁰.
fn just_below<R: Real>(ours: R, truth: R, units: u64) -> Outcome {
    just_above(-ours, -truth, units)
}

/// A number that was solved for: the condition must hold at it, and must not hold a little further on.
fn at_the_edge<R: Real>(solution: R, further: R, holds: impl Fn(R) -> bool) -> Outcome {
    let (at, beyond) = (solution.to_f64(), further.to_f64());
    if !holds(solution) {
        return Err(format!("{at:e} does not satisfy the equation's condition"));
    }
    if holds(further) {
        return Err(format!("{at:e} is not the furthest number: {beyond:e} would do"));
    }
    Ok(())
}

/// A number of units of 10⁻⁶⁰.
fn unit<R: Real>(units: u64) -> R {
    R::units(units.into(), 60)
}

/// Numbers that are the same every time: splitmix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A whole number below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number between two others, all equally likely.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    /// A positive number between two others, all orders of magnitude equally likely.
    fn size(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp().clamp(low, high)
    }

    /// The same as an amount; sometimes of a few digits only, as people write them, or next to a limit.
    fn amount(&mut self, low: f64, high: f64) -> Amount {
        let size = match self.below(16) {
            0 => low,
            1 => high,
            _ => self.size(low, high),
        };
        let amount = Amount::at_least(size).expect("a size that an amount holds");
        match self.below(4) {
            0 => amount.significant(1 + (size.to_bits() % 3) as u32),
            _ => amount,
        }
    }

    /// A number of charges.
    fn times(&mut self, most: f64) -> u64 {
        self.size(1.0, most) as u64
    }
}
