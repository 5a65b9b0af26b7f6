//! The adversary of classical composition: everything is decided in advance.

use std::sync::Arc;

use super::Adversary;
use crate::mechanism::Mechanism;
use crate::view::View;

/// Plays a list of mechanisms and does not look at the answers.
#[derive(Clone, Debug)]
pub struct Fixed {
    mechanisms: Arc<[Mechanism]>,
    rounds: usize,
}

impl Fixed {
    /// These mechanisms, in order.
    pub fn new(mechanisms: impl Into<Arc<[Mechanism]>>) -> Fixed {
        let mechanisms = mechanisms.into();
        Fixed { rounds: mechanisms.len(), mechanisms }
    }

    /// The same mechanism `times` times.
    pub fn repeated(mechanism: Mechanism, times: usize) -> Fixed {
        Fixed { mechanisms: [mechanism].into(), rounds: times }
    }
}

impl Adversary for Fixed {
    fn next(&mut self, view: &View) -> Option<Mechanism> {
        let asked = view.asked();
        // The list starts over where the same mechanism is repeated.
        (asked < self.rounds).then(|| self.mechanisms[asked % self.mechanisms.len()])
    }
}
