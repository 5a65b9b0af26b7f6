//! The greedy adversary: always the most that still fits.

use std::sync::Arc;

use super::Adversary;
use super::draining::after;
use crate::games::Decides;
use crate::mechanism::Mechanism;
use crate::view::View;

/// Plays the first mechanism of a menu that the filter still admits. With the largest first, it spends what is left as fast as it can
/// and then fills the corners.
///
/// It asks a filter of its own, equal to the one in the game: a filter decides from what is public. What the filter has no rule for
/// counts as not admitted.
#[derive(Clone, Debug)]
pub struct Greedy<F> {
    filter: F,
    menu: Arc<[Mechanism]>,
}

impl<F: Decides + Clone> Greedy<F> {
    /// Chooses from a menu in the order given.
    pub fn new(filter: F, menu: impl Into<Arc<[Mechanism]>>) -> Greedy<F> {
        Greedy { filter, menu: menu.into() }
    }
}

impl<F: Decides + Clone> Adversary for Greedy<F> {
    fn next(&mut self, _view: &View) -> Option<Mechanism> {
        let fits = |mechanism: &Mechanism| Some((*mechanism, after(&self.filter, mechanism)?));
        let (mechanism, filter) = self.menu.iter().find_map(fits)?;
        // What is played is counted, as the filter in the game will.
        self.filter = filter;
        Some(mechanism)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::PrivacyFilterComp;
    use crate::random::Run;
    use crate::world::World;
    use taximeter_accounting::{Amount, Budget, Filter, FilterRule, FilterSpec, OnHalt};

    #[test]
    fn it_spends_the_largest_first_and_everything() {
        let menu: Vec<Mechanism> = ["0.4", "0.1"]
            .map(|epsilon| Mechanism::randomized_response(Amount::parse_exact(epsilon).unwrap()).unwrap())
            .into();
        let mut filter = Filter::new(FilterSpec::new(FilterRule::Basic, Budget::parse("1").unwrap())).unwrap();
        let game = PrivacyFilterComp { rounds: 100, on_halt: OnHalt::Stop };
        let mut nature = World::Zero.nature(Run { seed: 1, index: 0 }.noise());
        let view = game.play(&mut Greedy::new(filter.clone(), menu), &mut nature, &mut filter).unwrap();
        let played: Vec<String> = view.rounds().map(|round| round.mechanism.cost().size().to_string()).collect();
        assert_eq!(played, ["0.4", "0.4", "0.1", "0.1"]);
        assert_eq!(view.answered(), view.asked());
    }
}
