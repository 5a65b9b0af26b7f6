//! Adversaries: who chooses the next mechanism after seeing the last answer.
//!
//! Each file is one way to attack. To write another, implement [`Adversary`] and hand it to a game of [`crate::games`]:
//!
//! ```
//! use taximeter_accounting::Amount;
//! use taximeter_lab::{AdaptParamComp, Adversary, Mechanism, Run, View, World};
//!
//! /// Asks the same question until the loss is negative.
//! struct Impatient(Mechanism);
//!
//! impl Adversary for Impatient {
//!     fn next(&mut self, view: &View) -> Option<Mechanism> {
//!         (view.loss().value() >= 0.0).then_some(self.0)
//!     }
//! }
//!
//! let question = Mechanism::randomized_response(Amount::parse_exact("0.1")?)?;
//! let run = Run { seed: 7, index: 0 };
//! let view = AdaptParamComp::new(1000).play(&mut Impatient(question), &mut World::Zero.nature(run.noise()));
//! assert!(view.answered() == 1000 || view.loss().value() < 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod draining;
mod fixed;
mod greedy;
mod random;
mod stopping_time;
mod turning;

pub use draining::Draining;
pub use fixed::Fixed;
pub use greedy::Greedy;
pub use random::Random;
pub use stopping_time::StoppingTime;
pub use turning::Turning;

use crate::mechanism::Mechanism;
use crate::view::View;

/// Chooses the next mechanism.
///
/// The choice may depend on everything in the view (past answers, their losses, refusals), on what the adversary remembers, and on coin
/// tosses of its own from [`Run::coins`](crate::Run::coins). It must not depend on which world is played in: an adversary
/// knows the filter and the odometer, which are public, but not the bit.
pub trait Adversary {
    /// The next mechanism; nothing to stop. It is asked once for every round, with all rounds so far in the view.
    fn next(&mut self, view: &View) -> Option<Mechanism>;
}

impl<A: Adversary + ?Sized> Adversary for Box<A> {
    fn next(&mut self, view: &View) -> Option<Mechanism> {
        (**self).next(view)
    }
}
