//! The paper's three games (arXiv:1605.08294, revised version, Algorithms 1 to 3).
//!
//! In each an adversary, who sees every answer, chooses the next mechanism; the real world is b. What it has seen at the end is its
//! [`View`], and the privacy loss of the view is what filters and odometers make promises about. The answers come from [`Nature`]: a
//! world as it is, or a tilted one in which rare views are frequent.

use taximeter_accounting::{Cost, Filter, Odometer, OnHalt};

use crate::adversary::Adversary;
use crate::boundary::Sides;
use crate::error::Error;
use crate::mechanism::Mechanism;
use crate::random::Generator;
use crate::view::View;
use crate::world::{Observation, World};

/// Algorithm 1, *FixedParamComp*: the classes of mechanisms are fixed before the first answer.
#[derive(Clone, Debug)]
pub struct FixedParamComp {
    /// ℰ_i: round i allows what costs at most this, with the same kind of cost, or by ε and δ where both have them.
    pub classes: Vec<Cost>,
}

/// Algorithm 2, *AdaptParamComp*: the adversary chooses the parameters as it goes, for k rounds at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptParamComp {
    /// k.
    pub rounds: usize,
    /// Ends a ride as soon as the loss exceeds the reading on these sides: whether that ever happens is then known, and the rest of
    /// the ride would only blur the weight of a tilted run.
    pub until_exceeded: Option<Sides>,
}

/// Algorithm 3, *PrivacyFilterComp*: as Algorithm 2, with a filter that decides before each mechanism runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrivacyFilterComp {
    /// k.
    pub rounds: usize,
    /// Stop is the paper's BREAK. Refuse goes on with the next request.
    pub on_halt: OnHalt,
}

impl FixedParamComp {
    /// Plays the game. A mechanism outside its class is an error.
    pub fn play(&self, adversary: &mut dyn Adversary, nature: &mut dyn Nature) -> Result<View, Error> {
        let mut view = View::new();
        for class in &self.classes {
            let Some(mechanism) = adversary.next(&view) else { break };
            if !is_within(mechanism.cost(), class) {
                return Err(Error::NotFixedInAdvance {
                    round: view.asked() + 1,
                    played: *mechanism.cost(),
                    fixed: *class,
                });
            }
            view.record(mechanism, nature.answer(&mechanism));
        }
        Ok(view)
    }
}

impl AdaptParamComp {
    /// A game of at most `rounds` rounds.
    pub fn new(rounds: usize) -> AdaptParamComp {
        AdaptParamComp { rounds, until_exceeded: None }
    }

    /// Plays the game without looking at an odometer.
    pub fn play(&self, adversary: &mut dyn Adversary, nature: &mut dyn Nature) -> View {
        let mut view = View::new();
        for _ in 0..self.rounds {
            let Some(mechanism) = adversary.next(&view) else { break };
            view.record(mechanism, nature.answer(&mechanism));
        }
        view
    }

    /// Plays the game and compares the loss with the reading after every round.
    pub fn ride(
        &self,
        adversary: &mut dyn Adversary,
        nature: &mut dyn Nature,
        odometer: &mut dyn Reads,
    ) -> Result<View, Error> {
        let mut view = View::new();
        for _ in 0..self.rounds {
            let Some(mechanism) = adversary.next(&view) else { break };
            // The reading is due before the answer, as the cost is.
            odometer.charge(mechanism.cost())?;
            view.record(mechanism, nature.answer(&mechanism));
            view.compare(odometer.reading());
            if self.until_exceeded.is_some_and(|sides| view.has_exceeded(sides)) {
                break;
            }
        }
        Ok(view)
    }
}

impl PrivacyFilterComp {
    /// Plays the game. What the filter refuses is in the view, without an answer.
    pub fn play(
        &self,
        adversary: &mut dyn Adversary,
        nature: &mut dyn Nature,
        filter: &mut dyn Decides,
    ) -> Result<View, Error> {
        let mut view = View::new();
        for _ in 0..self.rounds {
            let Some(mechanism) = adversary.next(&view) else { break };
            if filter.admits(mechanism.cost())? {
                view.record(mechanism, nature.answer(&mechanism));
                continue;
            }
            view.refuse(mechanism);
            if self.on_halt == OnHalt::Stop {
                break;
            }
        }
        Ok(view)
    }
}

/// Something that decides about a cost before its mechanism runs, and counts what it admits: a filter, valid or not.
pub trait Decides {
    /// Whether the cost is admitted; if so it is counted. An error means that there is no rule for such a cost.
    fn admits(&mut self, cost: &Cost) -> Result<bool, Error>;
}

impl Decides for Filter {
    fn admits(&mut self, cost: &Cost) -> Result<bool, Error> {
        Ok(self.charge(cost)?.continues())
    }
}

/// Something that counts costs and reads a bound on the loss: an odometer, valid or not.
pub trait Reads {
    /// Counts a cost. An error means that there is no rule for such a cost.
    fn charge(&mut self, cost: &Cost) -> Result<(), Error>;

    /// The bound on the loss of everything counted so far.
    fn reading(&self) -> f64;
}

impl Reads for Odometer {
    fn charge(&mut self, cost: &Cost) -> Result<(), Error> {
        Ok(Odometer::charge(self, cost)?)
    }

    fn reading(&self) -> f64 {
        Odometer::reading(self).value
    }
}

/// Where the answers come from.
pub trait Nature {
    /// Runs a mechanism.
    fn answer(&mut self, mechanism: &Mechanism) -> Observation;
}

/// A world as it is.
#[derive(Debug)]
pub struct PlainNature {
    world: World,
    noise: Generator,
}

impl World {
    /// The answers of this world, with the noise of one run.
    pub fn nature(self, noise: Generator) -> PlainNature {
        PlainNature { world: self, noise }
    }
}

impl Nature for PlainNature {
    fn answer(&mut self, mechanism: &Mechanism) -> Observation {
        mechanism.sample(self.world, &mut self.noise)
    }
}

/// Whether a mechanism of this cost belongs to a class.
fn is_within(cost: &Cost, class: &Cost) -> bool {
    match (cost.epsilon(), class.epsilon()) {
        // A class of Laplace or exponential mechanisms holds only those: a worse mechanism of the same ε is outside.
        (Some(epsilon), Some(limit)) if cost.kind() == class.kind() || is_general(class) => {
            epsilon <= limit && cost.delta() <= class.delta()
        }
        (None, None) => cost.kind() == class.kind() && cost.size() <= class.size(),
        _ => cost.is_free(),
    }
}

/// Whether the class is that of all (ε, δ)-DP mechanisms, to which randomized response already gives the worst case.
fn is_general(class: &Cost) -> bool {
    matches!(class, Cost::Pure { .. } | Cost::Approximate { .. } | Cost::RandomizedResponse { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adversary::Fixed;
    use crate::random::Run;
    use crate::world::MechanismOutput;
    use taximeter_accounting::{Amount, Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec};

    fn response(epsilon: &str) -> Mechanism {
        Mechanism::randomized_response(Amount::parse_exact(epsilon).unwrap()).unwrap()
    }

    fn nature(index: u64) -> PlainNature {
        World::Zero.nature(Run { seed: 9, index }.noise())
    }

    #[test]
    fn fixed_parameters_hold_every_round_to_its_class() {
        let classes: Vec<Cost> = ["0.1", "0.2"].map(|epsilon| Cost::parse_epsilon(epsilon).unwrap().cost).into();
        let game = FixedParamComp { classes };
        let view = game.play(&mut Fixed::new([response("0.1"), response("0.15")]), &mut nature(0)).unwrap();
        assert_eq!(view.answered(), 2);
        let error = game.play(&mut Fixed::new([response("0.2"), response("0.1")]), &mut nature(0)).unwrap_err();
        assert!(error.to_string().contains("round 1"), "{error}");
    }

    #[test]
    fn a_class_holds_what_it_bounds() {
        let cost = |text: &str| Cost::from_json(text).unwrap().cost;
        let pure = cost(r#"{"epsilon":"0.1"}"#);
        let laplace = cost(r#"{"laplace":"0.1"}"#);
        let gaussian = cost(r#"{"gaussian":"0.1"}"#);
        let approximate = cost(r#"{"epsilon":"0.1","delta":"1e-6"}"#);
        for (inside, class) in [(laplace, pure), (pure, approximate), (laplace, approximate), (gaussian, gaussian)] {
            assert!(is_within(&inside, &class), "{inside} in {class}");
        }
        for (outside, class) in [(pure, laplace), (approximate, pure), (gaussian, pure), (pure, gaussian)] {
            assert!(!is_within(&outside, &class), "{outside} in {class}");
        }
    }

    #[test]
    fn a_halt_breaks_or_refuses_as_asked() {
        let requests = Fixed::new([response("0.6"), response("0.6"), response("0.4"), response("0.4")]);
        let filter = Filter::new(FilterSpec::new(FilterRule::Basic, Budget::parse("1").unwrap())).unwrap();
        for (on_halt, asked, answered) in [(OnHalt::Stop, 2, 1), (OnHalt::Refuse, 4, 2)] {
            let game = PrivacyFilterComp { rounds: 10, on_halt };
            let view = game.play(&mut requests.clone(), &mut nature(0), &mut filter.clone()).unwrap();
            assert_eq!((view.asked(), view.answered()), (asked, answered));
            assert!(view.answered() < view.asked() && view.rounds().nth(1).unwrap().outcome.is_none());
        }
    }

    #[test]
    fn the_loss_of_a_view_is_the_sum_of_its_rounds() {
        let view = AdaptParamComp::new(50).play(&mut Fixed::repeated(response("0.1"), 100), &mut nature(3));
        let tops = view.rounds().filter(|round| round.outcome.unwrap().answer == MechanismOutput::Top).count();
        assert_eq!(view.answered(), 50);
        assert!((view.loss().value() - 0.1 * (2.0 * tops as f64 - 50.0)).abs() < 1e-12);
        let epsilon = view.loss().value() - 0.5;
        assert!((view.hockey_stick(World::Zero, epsilon) - (1.0 - (-0.5f64).exp())).abs() < 1e-12);
        assert_eq!(view.hockey_stick(World::One, 1.0 - view.loss().value()), 0.0);
    }

    #[test]
    fn a_run_replays_to_the_same_view() {
        let play = |index| {
            let run = Run { seed: 9, index };
            let menu = [response("0.1"), Mechanism::gaussian(Amount::parse_exact("0.2").unwrap()).unwrap()];
            let mut adversary = crate::adversary::Random::new(menu, 0.05, run.coins());
            AdaptParamComp::new(50).play(&mut adversary, &mut World::One.nature(run.noise()))
        };
        assert_eq!(play(4), play(4));
        assert_ne!(play(4), play(5));
    }

    #[test]
    fn the_basic_odometer_is_never_exceeded() {
        // It reads exactly the loss of a run of ⊤: a comparison with rounding errors would see it exceeded.
        let at_delta = Amount::parse_exact("1e-6").unwrap();
        for index in 0..200 {
            let mut odometer = Odometer::new(OdometerSpec::new(OdometerRule::Basic, at_delta)).unwrap();
            let view = AdaptParamComp::new(6)
                .ride(&mut Fixed::repeated(response("0.1"), 6), &mut nature(index), &mut odometer)
                .unwrap();
            assert!(!view.has_exceeded(Sides::Both));
        }
    }

    #[test]
    fn a_ride_ends_at_the_first_exceedance_if_asked() {
        let boundary = crate::boundary::Boundary::from_formula(100, |_| 0.25);
        let question = response("0.1");
        let mut game = AdaptParamComp::new(100);
        let ride = |game: AdaptParamComp, index| {
            let mut odometer = boundary.odometer(*question.cost());
            game.ride(&mut Fixed::repeated(question, 100), &mut nature(index), &mut odometer).unwrap()
        };
        for index in 0..50 {
            let whole = ride(game, index);
            assert_eq!(whole.answered(), 100);
            game.until_exceeded = Some(Sides::Above);
            let cut = ride(game, index);
            game.until_exceeded = None;
            assert_eq!(cut.first_above(), whole.first_above());
            assert_eq!(cut.answered(), whole.first_above().unwrap_or(100));
        }
    }
}
