//! The turning adversary: it turns the realised answers against a rule that only looks at what was spent.
//!
//! A rule that accepts every final multiset of costs it would accept if they were fixed in advance can be beaten: where the loss went
//! up, spend the rest in the way that is worst from there; where it went down, in the way that is worst from there. The
//! counterexample to optimal composition as a filter (ε_g = 0.1): play 0.2; on ⊤ play 0.3, on ⊥ play 0.2 twice.

use std::sync::Arc;

use super::Adversary;
use crate::mechanism::Mechanism;
use crate::view::{Round, View};

/// Plays one thing after a loss that is good for the attack, another after a bad one.
#[derive(Clone, Debug)]
pub struct Turning {
    opening: Mechanism,
    ahead: Arc<[Mechanism]>,
    behind: Arc<[Mechanism]>,
    decisive: Decisive,
}

/// Which answer decides what is played next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decisive {
    /// The first, about all that follows: one list or the other, to its end.
    FirstAnswer,
    /// The last one, about the next round: the first of one list or of the other.
    LastAnswer,
}

impl Turning {
    /// Opens, and then plays one list or the other: the first after an answer that speaks for world 0.
    pub fn once(
        opening: Mechanism,
        ahead: impl Into<Arc<[Mechanism]>>,
        behind: impl Into<Arc<[Mechanism]>>,
    ) -> Turning {
        Turning { opening, ahead: ahead.into(), behind: behind.into(), decisive: Decisive::FirstAnswer }
    }

    /// Spends big after every answer that speaks for world 0 and small after every other one, for as long as the game lasts.
    pub fn at_every_round(small: Mechanism, big: Mechanism) -> Turning {
        Turning { opening: small, ahead: [big].into(), behind: [small].into(), decisive: Decisive::LastAnswer }
    }
}

impl Adversary for Turning {
    fn next(&mut self, view: &View) -> Option<Mechanism> {
        let (Some(first), Some(last)) = (view.rounds().next(), view.rounds().next_back()) else {
            return Some(self.opening);
        };
        let was_good = |round: Round<'_>| round.outcome.is_some_and(|outcome| outcome.loss.value() > 0.0);
        let (round, position) = match self.decisive {
            Decisive::FirstAnswer => (first, view.asked() - 1),
            Decisive::LastAnswer => (last, 0),
        };
        let list = if was_good(round) { &self.ahead } else { &self.behind };
        list.get(position).copied()
    }
}
