//! The stopping-time adversary: the paper's Algorithm 4, which shows that no odometer can be as good as a fixed number of rounds.

use super::Adversary;
use crate::boundary::{Boundary, Sides};
use crate::mechanism::Mechanism;
use crate::view::View;

/// Plays one mechanism over and over and stops when the loss first crosses a boundary: it waits for bad luck and then makes sure
/// that nothing dilutes it.
///
/// With the boundary of Algorithm 4, iε tanh(ε/2) + Cε√(i ln(ln(n)/δ)) after i rounds of RR_ε, this is the adversary of Theorem 6.1;
/// with the readings of an odometer it is the attack on that odometer.
#[derive(Clone, Debug)]
pub struct StoppingTime {
    mechanism: Mechanism,
    boundary: Boundary,
    sides: Sides,
}

impl StoppingTime {
    /// Stops when the loss is beyond the boundary on these sides, or where the boundary ends.
    pub fn new(mechanism: Mechanism, boundary: Boundary, sides: Sides) -> StoppingTime {
        StoppingTime { mechanism, boundary, sides }
    }
}

impl Adversary for StoppingTime {
    fn next(&mut self, view: &View) -> Option<Mechanism> {
        let answered = view.answered();
        let go_on =
            answered < self.boundary.rounds() && !self.sides.exceeded(view.loss(), self.boundary.after(answered));
        go_on.then_some(self.mechanism)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::AdaptParamComp;
    use crate::random::Run;
    use crate::world::World;
    use taximeter_accounting::Amount;

    #[test]
    fn it_stops_at_the_first_crossing_and_not_before() {
        let mechanism = Mechanism::randomized_response(Amount::parse_exact("0.1").unwrap()).unwrap();
        // Algorithm 4 with ε = 0.1, n = 1000, δ = 0.1 and C = ½: iε tanh(ε/2) + Cε√(i ln(ln(n)/δ)) after i rounds.
        let boundary = Boundary::from_formula(200, |round| {
            let round = round as f64;
            round * 0.1 * 0.05f64.tanh() + 0.5 * 0.1 * (round * (1000f64.ln() / 0.1).ln()).sqrt()
        });
        let mut crossed = 0;
        for index in 0..200 {
            let mut adversary = StoppingTime::new(mechanism, boundary.clone(), Sides::Above);
            let mut nature = World::Zero.nature(Run { seed: 5, index }.noise());
            let view = AdaptParamComp::new(1000)
                .ride(&mut adversary, &mut nature, &mut boundary.odometer(*mechanism.cost()))
                .unwrap();
            match view.first_above() {
                Some(round) => {
                    assert_eq!(round, view.answered());
                    crossed += 1;
                }
                None => assert_eq!(view.answered(), 200),
            }
        }
        assert!((20..180).contains(&crossed), "{crossed} of 200 crossed");
    }
}
