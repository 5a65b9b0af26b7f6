//! The draining adversary: many small costs, then a large one on what is left.

use super::Adversary;
use crate::games::Decides;
use crate::mechanism::Mechanism;
use crate::view::View;

/// Plays the small mechanism for as long as the large one would still fit afterwards, then the large one, then small ones again while
/// they fit: it looks for a rule that counts small costs too cheaply, or prices a large one by what was spent before.
///
/// Like the greedy adversary it asks a filter of its own. At the end it asks once more for the large mechanism, which a sound filter
/// refuses.
#[derive(Clone, Debug)]
pub struct Draining<F> {
    filter: F,
    small: Mechanism,
    large: Mechanism,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Draining,
    Filling,
    Done,
}

impl<F: Decides + Clone> Draining<F> {
    /// Drains a filter with small costs before a large one.
    pub fn new(filter: F, small: Mechanism, large: Mechanism) -> Draining<F> {
        Draining { filter, small, large, stage: Stage::Draining }
    }

    /// Plays a mechanism; nothing if the filter does not admit it.
    fn play(&mut self, mechanism: Mechanism) -> Option<Mechanism> {
        self.filter = after(&self.filter, &mechanism)?;
        Some(mechanism)
    }
}

impl<F: Decides + Clone> Adversary for Draining<F> {
    fn next(&mut self, _view: &View) -> Option<Mechanism> {
        let (small, large) = (self.small, self.large);
        if self.stage == Stage::Draining {
            if after(&self.filter, &small).is_some_and(|drained| after(&drained, &large).is_some()) {
                return self.play(small);
            }
            self.stage = Stage::Filling;
            if let Some(large) = self.play(large) {
                return Some(large);
            }
        }
        if self.stage == Stage::Done {
            return None;
        }
        self.play(small).or_else(|| {
            self.stage = Stage::Done;
            Some(large)
        })
    }
}

/// The filter after a mechanism; nothing if it is not admitted.
pub(super) fn after<F: Decides + Clone>(filter: &F, mechanism: &Mechanism) -> Option<F> {
    // A refusal may change a filter too (one that is set to stop), so each question goes to a copy.
    let mut filter = filter.clone();
    filter.admits(mechanism.cost()).unwrap_or(false).then_some(filter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::PrivacyFilterComp;
    use crate::random::Run;
    use crate::world::World;
    use taximeter_accounting::{Amount, Budget, Filter, FilterRule, FilterSpec, OnHalt};

    #[test]
    fn it_keeps_room_for_the_large_one() {
        let response = |epsilon| Mechanism::randomized_response(Amount::parse_exact(epsilon).unwrap()).unwrap();
        let mut filter = Filter::new(FilterSpec::new(FilterRule::Basic, Budget::parse("1").unwrap())).unwrap();
        let mut adversary = Draining::new(filter.clone(), response("0.2"), response("0.5"));
        let game = PrivacyFilterComp { rounds: 100, on_halt: OnHalt::Stop };
        let mut nature = World::Zero.nature(Run { seed: 1, index: 0 }.noise());
        let view = game.play(&mut adversary, &mut nature, &mut filter).unwrap();
        let played: Vec<String> = view.rounds().map(|round| round.mechanism.cost().size().to_string()).collect();
        assert_eq!(played, ["0.2", "0.2", "0.5", "0.5"]);
        assert_eq!(view.answered(), 3, "the second large one is refused");
    }
}
