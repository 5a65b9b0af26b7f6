//! A game played over and over in one world: the probability of an event of its view, or its δ.

use super::{MeasuredRate, RunPlan, Tilts, bounded_mean, probability};
use crate::error::Error;
use crate::games::Nature;
use crate::random::Run;
use crate::view::View;
use crate::world::World;

/// From which law the runs are drawn.
#[derive(Clone, Debug)]
pub enum Sampling {
    /// The world itself.
    Plain,
    /// Tilted worlds, for rare events.
    Tilted {
        /// The tilts.
        tilts: Tilts,
        /// Where a weighted value is cut off for the lower end; the bound itself to cut nothing.
        clip: f64,
        /// A proven bound on the weight of a view that counts: see the bounds of [`Tilts`].
        bound: f64,
    },
}

/// A game, an adversary and a world.
///
/// `play` plays one run with the answers that it is given; the run's coins are there for the adversary. It makes a new filter,
/// odometer and adversary each time.
///
/// ```
/// use taximeter_accounting::{Amount, Budget, Filter, FilterRule, FilterSpec, OnHalt};
/// use taximeter_lab::adversary::Greedy;
/// use taximeter_lab::monte_carlo::{Experiment, RunPlan, Sampling};
/// use taximeter_lab::{Mechanism, PrivacyFilterComp, World};
///
/// let filter = Filter::new(FilterSpec::new(FilterRule::Residue, Budget::parse("1,0.01")?))?;
/// let game = PrivacyFilterComp { rounds: 100, on_halt: OnHalt::Stop };
/// let question = Mechanism::randomized_response(Amount::parse_exact("0.2")?)?;
/// let experiment = Experiment {
///     world: World::Zero,
///     sampling: Sampling::Plain,
///     play: |_run, nature: &mut dyn taximeter_lab::Nature| {
///         game.play(&mut Greedy::new(filter.clone(), [question]), nature, &mut filter.clone())
///     },
/// };
/// let delta = experiment.delta(&RunPlan::new(20_000, 7), 1.0, &mut |_done| ())?;
/// assert!(delta.lower <= 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Experiment<P> {
    /// Which dataset is the real one.
    pub world: World,
    /// From which law the runs are drawn.
    pub sampling: Sampling,
    /// Plays one run.
    pub play: P,
}

impl<P: Fn(Run, &mut dyn Nature) -> Result<View, Error> + Sync> Experiment<P> {
    /// The δ at which the world's views are (ε, δ)-DP against the other world's: the mean of (1 − e^{ε − loss})_+, with the loss
    /// towards the world, by an empirical Bernstein interval.
    ///
    /// Both worlds must be tried, since the two orders may differ.
    pub fn delta(&self, plan: &RunPlan, epsilon: f64, progress: &mut dyn FnMut(u64)) -> Result<MeasuredRate, Error> {
        self.mean(plan, |view| view.hockey_stick(self.world, epsilon), progress)
    }

    /// The probability of an event of the view: by Clopper and Pearson for plain runs, by an empirical Bernstein interval for tilted
    /// ones.
    pub fn probability(
        &self,
        plan: &RunPlan,
        event: impl Fn(&View) -> bool + Sync,
        progress: &mut dyn FnMut(u64),
    ) -> Result<MeasuredRate, Error> {
        match self.sampling {
            Sampling::Plain => probability(plan, |run| Ok(event(&self.play_plain(run)?)), progress),
            Sampling::Tilted { .. } => self.mean(plan, |view| f64::from(event(view)), progress),
        }
    }

    /// Plays one run in the world as it is.
    fn play_plain(&self, run: Run) -> Result<View, Error> {
        (self.play)(run, &mut self.world.nature(run.noise()))
    }

    /// The mean of a payoff in [0, 1].
    fn mean(
        &self,
        plan: &RunPlan,
        payoff: impl Fn(&View) -> f64 + Sync,
        progress: &mut dyn FnMut(u64),
    ) -> Result<MeasuredRate, Error> {
        match &self.sampling {
            Sampling::Plain => bounded_mean(plan, 1.0, 1.0, |run| Ok(payoff(&self.play_plain(run)?)), progress),
            Sampling::Tilted { tilts, clip, bound } => {
                let value = |run: Run| {
                    let mut nature = tilts.nature(self.world, run.noise());
                    let payoff = payoff(&(self.play)(run, &mut nature)?);
                    // A view that does not count may have any weight.
                    Ok(if payoff > 0.0 { payoff * nature.weight() } else { 0.0 })
                };
                bounded_mean(plan, *clip, *bound, value, progress)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adversary::{Adversary, Draining, Fixed, Greedy, Random, Turning};
    use crate::boundary::Sides;
    use crate::games::{AdaptParamComp, Decides, PrivacyFilterComp};
    use crate::mechanism::Mechanism;
    use taximeter_accounting::reference::MixedRounds;
    use taximeter_accounting::{Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Odometer, OdometerRule};
    use taximeter_accounting::{Granularity, OdometerParameters, OdometerSpec, OnHalt};

    fn amount(text: &str) -> Amount {
        Amount::parse_exact(text).unwrap()
    }

    fn response(epsilon: &str) -> Mechanism {
        Mechanism::randomized_response(amount(epsilon)).unwrap()
    }

    /// Optimal composition of what was played so far: tempting, and no filter.
    #[derive(Clone)]
    struct OptimalComposition {
        epsilon: Amount,
        delta: f64,
        costs: Vec<Cost>,
    }

    impl Decides for OptimalComposition {
        fn admits(&mut self, cost: &Cost) -> Result<bool, Error> {
            let mut costs = self.costs.clone();
            costs.push(*cost);
            let admitted = MixedRounds::new(&costs)?.optimal_delta(self.epsilon).value() <= self.delta;
            if admitted {
                self.costs = costs;
            }
            Ok(admitted)
        }
    }

    #[test]
    fn the_turning_adversary_beats_optimal_composition_as_a_filter() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../accounting/tests/data/vectors.json")).unwrap();
        let known = &vectors["exact_dp"]["natural_filter"][0];
        let truth: f64 = known["adaptive_delta"].as_str().unwrap().parse().unwrap();
        let delta_g = 0.10425709561931123;
        let filter = OptimalComposition { epsilon: amount("0.1"), delta: delta_g * (1.0 + 1e-9), costs: Vec::new() };
        let (small, big) = (response("0.2"), response("0.3"));
        let game = PrivacyFilterComp { rounds: 3, on_halt: OnHalt::Stop };
        let play = |_: Run, nature: &mut dyn Nature| {
            let view = game.play(&mut Turning::once(small, [big], [small, small]), nature, &mut filter.clone())?;
            assert_eq!(view.answered(), view.asked(), "the rule admits every branch of the attack");
            Ok(view)
        };
        let experiment = Experiment { world: World::Zero, sampling: Sampling::Plain, play };
        let estimate = experiment.delta(&RunPlan::new(60_000, 7), 0.1, &mut |_| ()).unwrap();
        assert!(estimate.contains(truth), "{estimate:?}");
        assert!(estimate.lower > delta_g, "{estimate:?}");
    }

    /// Every adversary of the crate against a filter from (1, 0.01): the estimates of δ in both worlds.
    fn attacks<F: Decides + Clone + Sync>(filter: &F, runs: u64) -> Vec<(&'static str, World, MeasuredRate)> {
        let (large, middle, small) = (response("0.5"), response("0.2"), response("0.1"));
        let menu = [large, middle, small, Mechanism::laplace(amount("0.3")).unwrap()];
        let adversary = |name: &str, run: Run| -> Box<dyn Adversary> {
            match name {
                "fixed" => Box::new(Fixed::repeated(middle, 60)),
                "greedy" => Box::new(Greedy::new(filter.clone(), [large, middle, small])),
                "random" => Box::new(Random::new(menu, 0.01, run.coins())),
                "draining" => Box::new(Draining::new(filter.clone(), small, large)),
                _ => Box::new(Turning::at_every_round(small, large)),
            }
        };
        let game = PrivacyFilterComp { rounds: 60, on_halt: OnHalt::Refuse };
        let plan = RunPlan { confidence: 0.9999, ..RunPlan::new(runs, 5) };
        let mut estimates = Vec::new();
        for name in ["fixed", "greedy", "random", "draining", "turning"] {
            for world in World::ALL {
                let play = |run: Run, nature: &mut dyn Nature| {
                    game.play(&mut adversary(name, run), nature, &mut filter.clone())
                };
                let experiment = Experiment { world, sampling: Sampling::Plain, play };
                estimates.push((name, world, experiment.delta(&plan, 1.0, &mut |_| ()).unwrap()));
            }
        }
        estimates
    }

    #[test]
    fn every_valid_rule_stays_below_its_delta_against_every_adversary() {
        for rule in FilterRule::ALL {
            let filter = Filter::new(FilterSpec::new(rule, Budget::parse("1,0.01").unwrap())).unwrap();
            for (name, world, delta) in attacks(&filter, 2_000) {
                assert!(delta.lower <= 0.01, "{} against {name} in {world:?}: {delta:?}", rule.name());
                assert!(delta.value <= 0.02, "{} against {name} in {world:?}: {delta:?}", rule.name());
            }
        }
    }

    /// A filter that forgets every second cost.
    #[derive(Clone)]
    struct Forgetful {
        filter: Filter,
        asked: u64,
    }

    impl Decides for Forgetful {
        fn admits(&mut self, cost: &Cost) -> Result<bool, Error> {
            self.asked += 1;
            let mut filter = self.filter.clone();
            let admitted = filter.admits(cost)?;
            if self.asked.is_multiple_of(2) {
                self.filter = filter;
            }
            Ok(admitted)
        }
    }

    #[test]
    fn a_filter_that_forgets_every_second_cost_is_caught() {
        let spec = FilterSpec::new(FilterRule::Residue, Budget::parse("1,0.01").unwrap());
        let filter = Forgetful { filter: Filter::new(spec).unwrap(), asked: 0 };
        let caught: Vec<&str> =
            attacks(&filter, 2_000).iter().filter(|(_, _, delta)| delta.lower > 0.01).map(|(name, ..)| *name).collect();
        for name in ["fixed", "greedy", "turning"] {
            assert!(caught.contains(&name), "only {caught:?} caught it");
        }
    }

    #[test]
    fn the_paper_s_filter_keeps_its_pointwise_promise() {
        let spec = FilterSpec::new(FilterRule::Advanced, Budget::parse("1,0.01").unwrap());
        let filter = Filter::new(spec).unwrap();
        let game = PrivacyFilterComp { rounds: 60, on_halt: OnHalt::Refuse };
        for world in World::ALL {
            let play = |_: Run, nature: &mut dyn Nature| {
                let menu = [response("0.05"), response("0.01")];
                game.play(&mut Greedy::new(filter.clone(), menu), nature, &mut filter.clone())
            };
            let experiment = Experiment { world, sampling: Sampling::Plain, play };
            let beyond = |view: &View| Sides::Both.exceeded(view.loss(), 1.0);
            let estimate = experiment.probability(&RunPlan::new(2_000, 6), beyond, &mut |_| ()).unwrap();
            assert!(estimate.lower <= 0.01, "{estimate:?}");
        }
    }

    #[test]
    fn every_odometer_holds_against_a_turning_rider() {
        for rule in OdometerRule::ALL {
            let mut spec = OdometerSpec::new(rule, amount("0.05"));
            if rule == OdometerRule::Advanced {
                spec.parameters = OdometerParameters::Advanced { granularity: Some(Granularity::Records(100)) };
            }
            let odometer = Odometer::new(spec).unwrap();
            let sides = if odometer.guarantee().two_sided { Sides::Both } else { Sides::Above };
            let game = AdaptParamComp { rounds: 40, until_exceeded: Some(sides) };
            let play = |_: Run, nature: &mut dyn Nature| {
                let mut adversary = Turning::at_every_round(response("0.05"), response("0.3"));
                game.ride(&mut adversary, nature, &mut odometer.clone())
            };
            let experiment = Experiment { world: World::Zero, sampling: Sampling::Plain, play };
            let estimate =
                experiment.probability(&RunPlan::new(500, 8), |view| view.has_exceeded(sides), &mut |_| ()).unwrap();
            assert!(estimate.lower <= 0.05, "{}: {estimate:?}", rule.name());
        }
    }
}
