//! Importance sampling: rare views are drawn from tilted worlds in which they are frequent, and weighted back.
//!
//! A run first draws one tilt s_j, with probability π_j, and then plays all mechanisms under the world's law tilted by s_j (see
//! [`crate::mechanism`]). With Loss the sum of the losses towards the world and K_j = Σ ln E[e^{s_j·loss}] over the mechanisms played,
//! the density of the tilted runs to the world's is Σ_j π_j e^{s_j·Loss − K_j}, so the weight of a view is
//!
//! ```text
//! weight = 1 / Σ_j π_j e^{s_j·Loss − K_j}.
//! ```
//!
//! The sum is that of the Rényi-mixture odometer: where its reading at δ is exceeded the weight is below δ. An adaptive adversary changes
//! nothing, since K_j adds up whatever it chose; the weight is right at any time at which the game stops.
//!
//! A valid interval needs a bound on the weight where the event happens. Three are proven here:
//! - *at a crossing*: for one mechanism over and over and Loss beyond u_t after t rounds, the terms with s_j on that side only grow with
//!   the loss, so the weight is at most the largest 1/Σ_j π_j e^{s_j u_t − tK_j} over the t at which u_t can be reached;
//! - *of a filter*, if it keeps the sum of the Rényi divergences of every order α below αρ: for Loss > ε the weight is at most
//!   1/Σ_j π_j e^{s_j ε − s_j(1+s_j)ρ}, and the weighted hockey stick at ε at most the smallest e^{s_j(1+s_j)ρ − s_j ε}/π_j times
//!   max_x (1 − e^−x) e^{−s_j x} = (1 + s_j)^−1 (1 + 1/s_j)^−s_j;
//! - *defensive*: with s = 0 among the tilts it is never above 1/π_0.

use std::sync::Arc;

use crate::boundary::{Boundary, Sides};
use crate::error::Error;
use crate::games::Nature;
use crate::law::log_add;
use crate::mechanism::Mechanism;
use crate::random::Generator;
use crate::world::{Observation, World};

/// A proven bound is raised by this much, against the rounding of its own evaluation and of the weights.
const ROUNDING: f64 = 1.0 + 1e-9;

/// A mixture of tilts, each as likely.
#[derive(Clone, Debug, PartialEq)]
pub struct Tilts {
    tilts: Arc<[f64]>,
}

impl Tilts {
    /// These tilts. Positive ones make large losses frequent, negative ones those of the other sign; 0 is the world itself.
    pub fn new(tilts: &[f64]) -> Result<Tilts, Error> {
        if tilts.is_empty() || !tilts.iter().all(|tilt| tilt.is_finite()) {
            return Err(Error::parameter("tilts", format!("the tilts {tilts:?}: give one or more finite numbers")));
        }
        Ok(Tilts { tilts: tilts.into() })
    }

    /// Tilts under which a crossing of a boundary by one mechanism over and over is frequent, at times that double: for each the s
    /// that makes the bound on the weight there the smallest.
    pub fn for_crossing(
        mechanism: &Mechanism,
        world: World,
        boundary: &Boundary,
        sides: Sides,
    ) -> Result<Tilts, Error> {
        let rounds = boundary.rounds();
        let mut tilts: Vec<f64> = Vec::new();
        for direction in directions(world, sides) {
            let first = tilts.len();
            let doubling = std::iter::successors(Some(1), |time| (*time < rounds).then(|| rounds.min(time * 2)));
            for time in doubling.filter(|&time| is_reachable(mechanism, boundary, time)) {
                let exponent = |size: f64| {
                    time as f64 * mechanism.log_moment(world, direction * size) - size * boundary.after(time)
                };
                let tilt = direction * smallest_of_convex(exponent);
                if tilts[first..].iter().all(|other| (tilt - other).abs() > 0.05 * other.abs()) {
                    tilts.push(tilt);
                }
            }
        }
        if tilts.is_empty() {
            let why = "the boundary can never be crossed: no loss in its rounds is as large";
            return Err(Error::parameter("boundary", why));
        }
        Tilts::new(&tilts)
    }

    /// Tilts under which a loss above ε is frequent for interactions of zCDP up to ρ, played to the end or only in part: for a part
    /// that is all of ρ and half of it the s that brings the mean loss to ε; and none, as a defence.
    pub fn for_filter(epsilon: f64, rho: f64) -> Result<Tilts, Error> {
        // The mean loss of a Gaussian of this ρ tilted by s is (1 + 2s)ρ.
        let tilt = |part: f64| (0.5 * (epsilon / (part * rho) - 1.0)).max(0.0);
        Tilts::new(&[0.0, tilt(1.0), tilt(0.5)])
    }

    /// The tilts.
    pub fn tilts(&self) -> &[f64] {
        &self.tilts
    }

    /// The answers of a world under these tilts, with the noise of one run.
    pub fn nature(&self, world: World, mut noise: Generator) -> TiltedNature {
        let chosen = self.tilts[noise.one_of(self.tilts.len())];
        let sums = vec![0.0; self.tilts.len()];
        TiltedNature { world, tilts: self.clone(), chosen, loss: 0.0, sums, moments: None, noise }
    }

    /// The largest weight of a view that ends where a mechanism, played over and over, first takes the loss beyond a boundary.
    ///
    /// Infinite if nothing is proven: if no tilt is on one of the sides, or if the mechanism can leak outright, and 0 is not
    /// among the tilts.
    pub fn crossing_bound(&self, mechanism: &Mechanism, world: World, boundary: &Boundary, sides: Sides) -> f64 {
        if mechanism.leak_probability() > 0.0 {
            return self.defensive_bound();
        }
        let mut largest = f64::NEG_INFINITY;
        for direction in directions(world, sides) {
            let tilts: Vec<(f64, f64)> =
                self.tilts.iter().map(|&tilt| (tilt, mechanism.log_moment(world, tilt))).collect();
            for time in (1..=boundary.rounds()).filter(|&time| is_reachable(mechanism, boundary, time)) {
                let loss = direction * boundary.after(time);
                let terms = tilts.iter().filter(|(tilt, _)| tilt * direction >= 0.0);
                let log_weight = self.log_weight(terms.map(|(tilt, moment)| tilt * loss - time as f64 * moment));
                largest = largest.max(log_weight);
            }
        }
        (core_math::exp(largest) * ROUNDING).min(self.defensive_bound())
    }

    /// The largest weight of a view with a loss above ε towards its world, if the Rényi divergences of order α of all that is admitted
    /// add up to at most αρ at every order, and nothing leaks outright.
    ///
    /// So it is with the `zcdp` rule for ρ_g; for `whitehouse` and `advanced` with half the largest Σε²; for every filter of ε-DP costs
    /// from a grid with half of [the most Σε² that it admits](crate::engine::filters::most_squares).
    pub fn loss_bound(&self, epsilon: f64, rho: f64) -> f64 {
        let positive = self.tilts.iter().filter(|tilt| **tilt >= 0.0);
        let log_weight = self.log_weight(positive.map(|tilt| tilt * epsilon - tilt * (1.0 + tilt) * rho));
        (core_math::exp(log_weight) * ROUNDING).min(self.defensive_bound())
    }

    /// The largest weighted hockey stick at ε of any view, under the conditions of [`loss_bound`](Tilts::loss_bound).
    pub fn delta_bound(&self, epsilon: f64, rho: f64) -> f64 {
        let positive = self.tilts.iter().filter(|tilt| **tilt > 0.0);
        let log_bounds = positive.map(|&tilt| {
            let largest_payoff = -core_math::log1p(tilt) - tilt * core_math::log1p(1.0 / tilt);
            self.log_weight(std::iter::once(tilt * epsilon - tilt * (1.0 + tilt) * rho)) + largest_payoff
        });
        (core_math::exp(log_bounds.fold(f64::INFINITY, f64::min)) * ROUNDING).min(self.defensive_bound())
    }

    /// The largest weight of any view: finite if 0 is among the tilts.
    pub fn defensive_bound(&self) -> f64 {
        let untilted = self.tilts.iter().filter(|tilt| **tilt == 0.0).count();
        self.tilts.len() as f64 / untilted as f64 * ROUNDING
    }

    /// −ln Σ_j π_j e^{x_j} for the exponents of some or all of the tilts.
    fn log_weight(&self, exponents: impl Iterator<Item = f64>) -> f64 {
        core_math::log(self.tilts.len() as f64) - exponents.fold(f64::NEG_INFINITY, log_add)
    }
}

/// A world in which rare views are frequent, with the weight that takes them back.
#[derive(Debug)]
pub struct TiltedNature {
    world: World,
    tilts: Tilts,
    chosen: f64,
    /// The loss towards the world, without leaks: those keep their probability.
    loss: f64,
    /// K_j.
    sums: Vec<f64>,
    /// The log moments of the last mechanism, which is often the next one too.
    moments: Option<(Mechanism, Vec<f64>)>,
    noise: Generator,
}

impl TiltedNature {
    /// The probability of what was answered so far in the world, divided by its probability here.
    pub fn weight(&self) -> f64 {
        let exponents = self.tilts.tilts.iter().zip(&self.sums).map(|(tilt, sum)| tilt * self.loss - sum);
        core_math::exp(self.tilts.log_weight(exponents))
    }
}

impl Nature for TiltedNature {
    fn answer(&mut self, mechanism: &Mechanism) -> Observation {
        let outcome = mechanism.sample_tilted(self.world, self.chosen, &mut self.noise);
        let loss = outcome.loss.towards(self.world).value();
        // Given a leak or not, the answer has the tilted law; the leak itself is as likely under every tilt.
        if loss.is_finite() {
            self.loss += loss;
            if self.moments.as_ref().is_none_or(|(last, _)| last != mechanism) {
                let moments = self.tilts.tilts.iter().map(|&tilt| mechanism.log_moment(self.world, tilt)).collect();
                self.moments = Some((*mechanism, moments));
            }
            let moments = self.moments.iter().flat_map(|(_, moments)| moments);
            self.sums.iter_mut().zip(moments).for_each(|(sum, moment)| *sum += moment);
        }
        outcome
    }
}

/// The signs of the losses towards a world that are beyond a bound on these sides.
fn directions(world: World, sides: Sides) -> impl Iterator<Item = f64> {
    let above = if world == World::Zero { 1.0 } else { -1.0 };
    [(sides.has_above(), above), (sides.has_below(), -above)]
        .into_iter()
        .filter_map(|(counts, direction)| counts.then_some(direction))
}

/// Whether a loss beyond the boundary is possible after a number of rounds.
fn is_reachable(mechanism: &Mechanism, boundary: &Boundary, time: usize) -> bool {
    boundary.after(time) < f64::INFINITY && mechanism.can_exceed(boundary.after(time), time)
}

/// Where a convex function that is 0 at 0 is smallest on the positive numbers; 0 if it only grows, a large number if it only falls.
fn smallest_of_convex(function: impl Fn(f64) -> f64) -> f64 {
    const LARGEST: f64 = 1e6;
    let mut end = 1.0;
    while end < LARGEST && function(2.0 * end) < function(end) {
        end *= 2.0;
    }
    let (mut low, mut high) = (0.0, (2.0 * end).min(LARGEST));
    for _ in 0..100 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if function(left) <= function(right) {
            high = right;
        } else {
            low = left;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adversary::{Fixed, StoppingTime, Turning};
    use crate::games::AdaptParamComp;
    use crate::monte_carlo::{Experiment, MeasuredRate, RunPlan, Sampling};
    use crate::random::Run;
    use crate::view::View;
    use taximeter_accounting::Amount;

    fn response(epsilon: &str) -> Mechanism {
        Mechanism::randomized_response(Amount::parse_exact(epsilon).unwrap()).unwrap()
    }

    /// The probability that a stopping-time adversary takes the loss beyond a boundary.
    fn crossing(mechanism: Mechanism, world: World, boundary: &Boundary, sides: Sides, plan: &RunPlan) -> MeasuredRate {
        let tilts = Tilts::for_crossing(&mechanism, world, boundary, sides).unwrap();
        let bound = tilts.crossing_bound(&mechanism, world, boundary, sides);
        let play = |_: Run, nature: &mut dyn Nature| {
            let mut adversary = StoppingTime::new(mechanism, boundary.clone(), sides);
            let mut odometer = boundary.odometer(*mechanism.cost());
            AdaptParamComp::new(boundary.rounds()).ride(&mut adversary, nature, &mut odometer)
        };
        let sampling = Sampling::Tilted { tilts, clip: bound, bound };
        Experiment { world, sampling, play }.probability(plan, |view| view.has_exceeded(sides), &mut |_| ()).unwrap()
    }

    /// P(at least k ⊤ in n rounds).
    fn binomial_tail(p: f64, n: u32, at_least: u32) -> f64 {
        let mut log_choose = 0.0;
        (0..=n)
            .map(|k| {
                if k > 0 {
                    log_choose += f64::ln(f64::from(n - k + 1) / f64::from(k));
                }
                if k < at_least {
                    0.0
                } else {
                    (log_choose + f64::from(k) * p.ln() + f64::from(n - k) * (1.0 - p).ln()).exp()
                }
            })
            .sum()
    }

    #[test]
    fn a_binomial_tail_of_one_in_a_million_is_met() {
        // 100 rounds of RR_0.1, looked at only at the end: 76 ⊤ or more mean a loss above 5.1.
        let mechanism = response("0.1");
        let truth = binomial_tail(1.0 / (1.0 + (-0.1f64).exp()), 100, 76);
        assert!(truth > 5e-7 && truth < 2e-6, "{truth}");
        let boundary = Boundary::from_formula(100, |round| if round == 100 { 5.1 } else { f64::INFINITY });
        for (world, sides) in [(World::Zero, Sides::Above), (World::One, Sides::Below)] {
            let estimate = crossing(mechanism, world, &boundary, sides, &RunPlan::new(20_000, 1));
            assert!(estimate.contains(truth), "{estimate:?}, truth {truth}");
            assert!(estimate.upper - estimate.lower < 0.2 * truth, "{estimate:?}");
        }
    }

    #[test]
    fn the_drv_heuristic_fails_as_the_exact_engine_says() {
        // Reference value stop_drv_printed_n1000_e0.01_d1e-06 of vectors.json.
        let (epsilon, delta) = (0.01f64, 1e-6f64);
        let boundary = Boundary::from_formula(1000, |round| {
            let round = round as f64;
            round * epsilon * epsilon.exp_m1() + epsilon * (2.0 * round * (1.0 / delta).ln()).sqrt()
        });
        let exact =
            [(Sides::Above, 1.22922989158e-06), (Sides::Below, 5.26234253456e-07), (Sides::Both, 1.75546414503e-06)];
        for (sides, truth) in exact {
            let estimate = crossing(response("0.01"), World::Zero, &boundary, sides, &RunPlan::new(20_000, 2));
            assert!(estimate.contains(truth), "{sides:?}: {estimate:?}, truth {truth}");
            assert!(estimate.upper - estimate.lower < 0.3 * truth, "{sides:?}: {estimate:?}");
        }
    }

    #[test]
    fn weights_have_mean_one_for_an_adaptive_adversary_and_every_mechanism() {
        let amount = |text| Amount::parse_exact(text).unwrap();
        let small = Mechanism::laplace(amount("0.2")).unwrap();
        let others = [
            Mechanism::gaussian(amount("0.3")).unwrap(),
            Mechanism::two_point(amount("0.4"), amount("0.1"), amount("0.4")).unwrap(),
            Mechanism::leaking_response(amount("0.3"), amount("0.1")).unwrap(),
        ];
        let tilts = Tilts::new(&[0.0, 1.5, -1.0]).unwrap();
        for big in others {
            for world in World::ALL {
                let play = |_: Run, nature: &mut dyn Nature| {
                    Ok(AdaptParamComp::new(6).play(&mut Turning::at_every_round(small, big), nature))
                };
                let bound = tilts.defensive_bound();
                assert!((bound - 3.0).abs() < 1e-6);
                let sampling = Sampling::Tilted { tilts: tilts.clone(), clip: bound, bound };
                let tilted = Experiment { world, sampling, play };
                let plan = RunPlan::new(20_000, 3);
                let always = tilted.probability(&plan, |_| true, &mut |_| ()).unwrap();
                assert!(always.contains(1.0) && always.upper - always.lower < 0.1, "{big:?} {world:?}: {always:?}");
                // And an event is as likely as in the world itself.
                let plain = Experiment { world, sampling: Sampling::Plain, play };
                let event = |view: &View| Sides::Both.exceeded(view.loss(), 0.45);
                let [weighted, sampled] =
                    [tilted.probability(&plan, event, &mut |_| ()), plain.probability(&plan, event, &mut |_| ())]
                        .map(Result::unwrap);
                assert!(weighted.lower <= sampled.upper && sampled.lower <= weighted.upper, "{weighted:?} {sampled:?}");
            }
        }
    }

    #[test]
    fn no_bound_is_claimed_where_none_is_proven() {
        let boundary = Boundary::from_formula(10, |_| 0.5);
        let tilts = Tilts::new(&[1.0]).unwrap();
        let bound = |mechanism, sides| tilts.crossing_bound(&mechanism, World::Zero, &boundary, sides);
        assert!(bound(response("0.1"), Sides::Above) < 1.0);
        assert_eq!(bound(response("0.1"), Sides::Both), f64::INFINITY, "no tilt makes the other side frequent");
        let leaking =
            Mechanism::leaking_response(Amount::parse_exact("0.1").unwrap(), Amount::parse_exact("0.1").unwrap());
        assert_eq!(bound(leaking.unwrap(), Sides::Above), f64::INFINITY);
        assert!(Tilts::new(&[]).is_err() && Tilts::new(&[f64::NAN]).is_err());
        let unreachable = Boundary::from_formula(10, |round| round as f64);
        assert!(Tilts::for_crossing(&response("0.1"), World::Zero, &unreachable, Sides::Both).is_err());
    }

    #[test]
    fn a_filter_at_one_in_a_million_meets_optimal_composition() {
        use taximeter_accounting::reference::FixedRounds;
        use taximeter_accounting::{Budget, Filter, FilterRule, FilterSpec, OnHalt};

        // The residue filter admits 558 rounds of 0.01 from (1, 1e-6); played to the end they have the δ of KOV15.
        let mechanism = response("0.01");
        let filter = Filter::new(FilterSpec::new(FilterRule::Residue, Budget::parse("1,1e-6").unwrap())).unwrap();
        let truth = FixedRounds::new(mechanism.cost(), 558).unwrap().optimal_delta(Amount::ONE).value();
        let rho = 558.0 * 0.5 * 0.01 * 0.01;
        let tilts = Tilts::for_filter(1.0, rho).unwrap();
        let game = crate::games::PrivacyFilterComp { rounds: 1000, on_halt: OnHalt::Stop };
        let play = |_: Run, nature: &mut dyn Nature| {
            let view = game.play(&mut Fixed::repeated(mechanism, 1000), nature, &mut filter.clone())?;
            assert_eq!(view.answered(), 558);
            Ok(view)
        };
        let experiment = |bound: f64| {
            let sampling = Sampling::Tilted { tilts: tilts.clone(), clip: bound, bound };
            Experiment { world: World::Zero, sampling, play }
        };
        let plan = RunPlan::new(6_000, 4);
        let delta = experiment(tilts.delta_bound(1.0, rho)).delta(&plan, 1.0, &mut |_| ()).unwrap();
        assert!(delta.contains(truth), "{delta:?}, truth {truth}");
        assert!(delta.upper - delta.lower < 0.5 * truth, "{delta:?}");

        // 330 ⊤ are the least that take the loss above 1.
        let truth = binomial_tail(1.0 / (1.0 + (-0.01f64).exp()), 558, 330);
        let above = |view: &View| view.loss().exceeds(1.0);
        let bound = tilts.loss_bound(1.0, rho);
        let probability = experiment(bound).probability(&plan, above, &mut |_| ()).unwrap();
        assert!(probability.contains(truth), "{probability:?}, truth {truth}");
        assert!(probability.upper - probability.lower < 0.7 * truth, "{probability:?}, truth {truth}");
    }
}
