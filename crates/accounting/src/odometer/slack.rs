//! *The slack lemma*: mechanisms with their own δ_i under the odometers beyond the paper.
//!
//! For a one-sided odometer u that holds at level δ_0 for pure costs, and Σδ_i ≤ δ″, any fixed c > 0 gives
//! P(∃t: Loss_t > u_t + c) ≤ (δ_0 + δ″)/(1 − e^{−c}); the reading is ∞ once Σδ_i > δ″. For a two-sided claim the right side must be
//! at most δ/2. Here δ and δ″ are given, c is a parameter, and δ_0 = δ(1 − e^{−c}) − δ″, rounded down.

use super::rule::SLACK;
use super::{OdometerRule, OdometerSpec};
use crate::amount::Amount;
use crate::error::Error;
use crate::numeric::Interval;

/// c and δ_0; where nothing is set aside, 0 and all of δ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slack {
    shift: Amount,
    delta: Amount,
}

impl Slack {
    /// Fills in the default c where something is set aside.
    pub(super) fn new(spec: &mut OdometerSpec) -> Result<Slack, Error> {
        let given = spec.parameters.slack_mut().and_then(|slack| *slack);
        if spec.rule().uses_lemma() || spec.mechanism_delta.is_zero() {
            if let Some(slack) = given {
                let needs = "it applies only if delta is set aside for mechanisms; set something aside, or omit it";
                return Err(Error::parameter(SLACK.name, slack, needs));
            }
            let left = spec.at_delta.checked_sub(spec.mechanism_delta).unwrap_or(Amount::ZERO);
            return Ok(Slack { shift: Amount::ZERO, delta: left });
        }
        let two_sided = spec.rule().is_two_sided(spec);
        let level = if two_sided { Amount::from_units(spec.at_delta.units() / 2) } else { spec.at_delta };
        let shift = match given {
            Some(shift) => shift,
            None => default_shift(spec, level)?,
        };
        SLACK.check(shift)?;
        // δ_0 = δ(1 − e^{−c}) − δ″.
        let kept = level.interval() * -(-shift.interval()).exp_m1() - spec.mechanism_delta.interval();
        let delta = Amount::at_most(kept.lo());
        let enough = if spec.rule() == OdometerRule::Basic { kept.lo() >= 0.0 } else { !delta.is_zero() };
        if !enough {
            let left = "it leaves no delta for the odometer; set less aside or read at a larger delta";
            return Err(too_much(spec, format!("with a slack of {shift} {left}")));
        }
        if let Some(slack) = spec.parameters.slack_mut() {
            *slack = Some(shift);
        }
        Ok(Slack { shift, delta })
    }

    /// u + c.
    pub(super) fn add_to(&self, bound: Interval) -> Interval {
        if self.shift.is_zero() { bound } else { bound + self.shift.interval() }
    }

    /// δ_0.
    pub(super) fn level(&self) -> Amount {
        self.delta
    }
}

/// The c that makes u + c smallest about where u is as expected.
///
/// u moves by about −r for each unit of ln δ_0, with r = u/(2 ln(1/δ)); with d = δ″/δ the best c is ln((1 + r)/(1 − d)). Basic
/// composition does not depend on δ_0, so there r = 0.
fn default_shift(spec: &OdometerSpec, level: Amount) -> Result<Amount, Error> {
    let (expected, delta) = (spec.expected.approximate(), level.approximate());
    let rate =
        if spec.rule() == OdometerRule::Basic { 0.0 } else { expected / (-2.0 * core_math::log(delta)).max(1e-3) };
    let share = spec.mechanism_delta.interval() / level.interval();
    if !(share.hi() < 1.0) {
        let whole = format!("the delta of {} at which the reading holds", spec.at_delta);
        return Err(too_much(spec, format!("it is too much of {whole}; set less aside")));
    }
    // Rounded up and a little more, so that what basic needs exactly is surely there.
    let shift = core_math::log1p(rate) - core_math::log1p(-share.hi());
    let shift = Amount::at_least(shift * (1.0 + 1e-12) + 1e-15).and_then(|shift| shift.significant_up(6));
    shift.ok_or_else(|| too_much(spec, "the slack is too large; set less aside"))
}

/// What is set aside for the mechanisms is too much.
fn too_much(spec: &OdometerSpec, needs: impl Into<String>) -> Error {
    Error::parameter("mechanism_delta", spec.mechanism_delta, needs)
}
