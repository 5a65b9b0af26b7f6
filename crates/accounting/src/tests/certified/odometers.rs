//! The readings, from the costs that were charged.

use std::sync::LazyLock;

use super::prices::{renyi_divergence, too_large};
use super::{CLOSE, Outcome, Random, at_the_edge, certify, just_above};
use crate::amount::Amount;
use crate::cost::Cost;
use crate::odometer::{Granularity, Odometer, OdometerParameters, OdometerRule, OdometerSpec};
use crate::tests::high_precision::{self as truth, Exact, Real, Wide};

#[derive(Debug)]
struct Ride {
    spec: OdometerSpec,
    charges: Vec<(Cost, u64)>,
}

impl Ride {
    /// A few charges of very different sizes. A third of the time a part of δ is set aside for their own.
    fn draw(random: &mut Random, rule: OdometerRule) -> Ride {
        let own_delta = random.below(3) == 0;
        let most = if rule.uses_lemma() { 0.367 } else { 0.999 };
        let mut spec = OdometerSpec::new(rule, random.amount(if own_delta { 1e-12 } else { 1e-30 }, most));
        let count = 1 + random.below(4);
        let mut each = 0.0;
        if own_delta {
            let set_aside = spec.at_delta.approximate() * random.size(1e-4, 0.1);
            spec.mechanism_delta = Amount::at_least(set_aside).unwrap();
            each = set_aside / count as f64;
            if !rule.uses_lemma() && random.below(2) == 0 {
                *spec.parameters.slack_mut().unwrap() = Some(random.amount(0.5, 5.0));
            }
        }
        let charges = (0..count).map(|_| {
            let (epsilon, times) = (random.amount(1e-25, 30.0), random.times(1e6));
            // Up to about what is set aside; under the paper's rules a δ counts with a multiple of 1/ε.
            let weight = if rule.uses_lemma() { epsilon.approximate().min(1.0) * 0.5 } else { 1.0 };
            let delta = each * weight / times as f64 * random.size(1e-3, 1.1);
            let delta = if own_delta { Amount::at_most(delta) } else { Amount::ZERO };
            (Cost::approximate(epsilon, delta).unwrap(), times)
        });
        let charges = charges.collect();
        Ride { spec, charges }
    }

    fn driven(&self) -> Odometer {
        let mut odometer = Odometer::new(self.spec.clone()).unwrap();
        for (cost, times) in &self.charges {
            odometer.charge_times(cost, *times).unwrap();
        }
        odometer
    }

    fn total<R: Real>(&self, each: impl Fn(&Cost) -> R) -> R {
        self.charges.iter().fold(R::zero(), |sum, (cost, times)| sum + R::whole(*times) * each(cost))
    }

    /// The mean loss as the rule counts it, and Σε². Where something is set aside the paper's rules count each ε twice.
    fn sums<R: Real>(&self) -> (R, R) {
        let twice = self.spec.rule().uses_lemma() && !self.spec.mechanism_delta.is_zero();
        let counted = |cost: &Cost| R::amount(cost.size()) * R::whole(1 + u64::from(twice));
        let mean = |cost: &Cost| match self.spec.rule() {
            OdometerRule::NormalMixture => truth::tight_mean(counted(cost)),
            _ => truth::printed_mean(counted(cost)),
        };
        (self.total(mean), self.total(|cost| counted(cost).square()))
    }

    /// The level of the pure bound, and what is added to it: the corrected lemma for the paper's rules, else the slack lemma.
    fn level<R: Real>(&self, odometer: &Odometer) -> (R, R) {
        let (delta, set_aside) = (R::amount(self.spec.at_delta), R::amount(self.spec.mechanism_delta));
        if self.spec.rule().uses_lemma() {
            return (delta - set_aside, self.total(|cost| R::amount(cost.delta())).twice());
        }
        let slack = odometer.spec().clone().parameters.slack_mut().and_then(|slack| *slack);
        let Some(slack) = slack else { return (delta, R::zero()) };
        let delta = if odometer.reading().guarantee.two_sided { delta.half() } else { delta };
        (delta * -(-R::amount(slack)).exp_m1() - set_aside, R::amount(slack))
    }

    fn has_no_deltas(&self) -> bool {
        self.charges.iter().all(|(cost, _)| cost.delta().is_zero())
    }

    /// Whether the mechanisms' own δ are within what is set aside: surely, surely not, or too close to tell.
    fn own_deltas_fit<R: Real>(&self) -> Option<bool> {
        let used: R = match self.spec.rule().uses_lemma() {
            true => self.total(|cost| match cost.delta().is_zero() {
                true => R::zero(),
                false => truth::kappa(R::amount(cost.size()), R::amount(cost.delta())),
            }),
            false => self.total(|cost| R::amount(cost.delta())),
        };
        let set_aside = R::amount(self.spec.mechanism_delta);
        let room = set_aside.clone() * R::from_f64(CLOSE);
        if used > set_aside.clone() + room.clone() {
            return Some(false);
        }
        if used <= set_aside - room { Some(true) } else { None }
    }

    /// The reading against the pure bound, which is a function of the sums and the level.
    fn check<R: Real>(&self, bound: impl Fn((R, R), R) -> R) -> Outcome {
        let odometer = self.driven();
        let reading = odometer.reading().value;
        let (level, shift) = self.level(&odometer);
        let pure = bound(self.sums(), level);
        let basic = self.total(|cost| R::amount(cost.size()));
        let best = if self.spec.rule().uses_lemma() || pure <= basic { pure } else { basic.clone() };
        // As long as no mechanism had a δ of its own, the sum of all ε holds without the slack.
        let best = best + shift;
        let sum_holds = !self.spec.rule().uses_lemma() && self.has_no_deltas();
        let best = if sum_holds && basic < best { basic } else { best };
        match (reading.is_infinite(), self.own_deltas_fit::<R>()) {
            (true, Some(false) | None) => Ok(()),
            (true, Some(true)) => too_large(best),
            (false, Some(false)) => Err("a finite reading, but what is set aside is used up".to_string()),
            (false, _) => just_above(R::from_f64(reading), best, self.charges.iter().map(|(_, times)| times).sum()),
        }
    }
}

#[test]
fn the_reading_of_theorem_6_5_is_just_above_the_truth() {
    fn check<R: Real>(ride: &Ride) -> Outcome {
        let ln_2 = R::whole(2).ln();
        let OdometerParameters::Advanced { granularity: Some(granularity) } = ride.spec.parameters else {
            unreachable!("a granularity is drawn");
        };
        let (smallest, log, least) = match granularity {
            Granularity::Records(n) => (R::one() / R::whole(n).square(), R::whole(n).ln(), R::zero()),
            Granularity::Gamma(gamma) => (R::amount(gamma), -R::amount(gamma).ln().half(), R::one()),
        };
        let log_2 = log.clone() / ln_2;
        let log_2 = if log_2 < least { least } else { log_2 };
        ride.check(|sums, delta| truth::theorem_6_5(sums, smallest.clone(), log.clone(), log_2.clone(), delta))
    }
    let draw = |random: &mut Random| {
        let mut ride = Ride::draw(random, OdometerRule::Advanced);
        let granularity = Some(match random.below(2) {
            0 => Granularity::Records(random.size(2.0, 1e15) as u64),
            _ => Granularity::Gamma(random.amount(1e-30, 0.25)),
        });
        ride.spec.parameters = OdometerParameters::Advanced { granularity };
        ride
    };
    certify(60, draw, check::<Wide>, check::<Exact>);
}

#[test]
fn the_reading_of_lemma_6_4_is_just_above_the_truth() {
    fn check<R: Real>(ride: &Ride) -> Outcome {
        let OdometerParameters::FreeX { x: Some(x) } = ride.spec.parameters else { unreachable!("an x is drawn") };
        ride.check(|sums, delta| truth::free_x(sums, R::amount(x), delta))
    }
    let draw = |random: &mut Random| {
        let mut ride = Ride::draw(random, OdometerRule::FreeX);
        ride.spec.parameters = OdometerParameters::FreeX { x: Some(random.amount(1e-30, 1e6)) };
        ride
    };
    certify(61, draw, check::<Wide>, check::<Exact>);
}

#[test]
fn the_reading_of_the_normal_mixture_is_just_above_the_truth() {
    fn check<R: Real>(ride: &Ride) -> Outcome {
        let OdometerParameters::NormalMixture { gamma: Some(gamma), .. } = ride.spec.parameters else {
            unreachable!("a gamma is drawn");
        };
        ride.check(|sums, delta| truth::normal_mixture(sums, R::amount(gamma), delta))
    }
    let draw = |random: &mut Random| {
        let mut ride = Ride::draw(random, OdometerRule::NormalMixture);
        if let OdometerParameters::NormalMixture { gamma, .. } = &mut ride.spec.parameters {
            *gamma = Some(random.amount(1e-30, 1e6));
        }
        ride
    };
    certify(62, draw, check::<Wide>, check::<Exact>);
}

#[test]
fn the_stitched_reading_is_just_above_the_truth() {
    fn check<R: Real>(ride: &Ride) -> Outcome {
        let OdometerParameters::Stitched { v0: Some(v0), .. } = ride.spec.parameters else {
            unreachable!("a v0 is drawn");
        };
        ride.check(|sums, delta| truth::stitched(sums.1, R::amount(v0), delta))
    }
    let draw = |random: &mut Random| {
        let mut ride = Ride::draw(random, OdometerRule::Stitched);
        if let OdometerParameters::Stitched { v0, .. } = &mut ride.spec.parameters {
            *v0 = Some(random.amount(1e-30, 1e6));
        }
        ride
    };
    certify(63, draw, check::<Wide>, check::<Exact>);
}

/// Costs of every kind, from which rides on the Rényi mixture are made up.
const POOL: usize = 500;

static POOL_OF_COSTS: LazyLock<Vec<Cost>> = LazyLock::new(|| {
    let mut random = Random::new(64);
    let draw = |random: &mut Random| {
        let size = random.amount(1e-20, 30.0);
        [
            Cost::Pure { epsilon: size },
            Cost::Laplace { epsilon: size },
            Cost::Exponential { epsilon: size },
            Cost::Gaussian { mu: size },
            Cost::Zcdp { rho: size },
        ][random.below(5) as usize]
    };
    (0..POOL).map(|_| draw(&mut random)).collect()
});

/// Scales for them: mostly such as budgets have, and far too small and too large ones.
const SCALES: usize = 24;

static POOL_OF_SCALES: LazyLock<Vec<Amount>> = LazyLock::new(|| {
    let mut random = Random::new(66);
    let draw = |at| if at % 4 == 0 { random.amount(1e-9, 1e8) } else { random.amount(0.1, 1e3) };
    (0..SCALES).map(draw).collect()
});

/// D_α at the orders that a scale adds, or at those of the wide prior.
fn divergences<R: Real>(cost: &Cost, scale: Option<Amount>) -> Vec<R> {
    let skipped = if scale.is_some() { 25 } else { 0 };
    let orders = truth::renyi_mixture_prior(scale).into_iter().skip(skipped);
    orders.map(|(above_one, _)| renyi_divergence(above_one, cost)).collect()
}

/// For every cost its divergences at the orders of the wide prior, then at those of each scale, once for all rides.
static POOL_OF_DIVERGENCES: LazyLock<Vec<Vec<Vec<Wide>>>> = LazyLock::new(|| {
    let scales = || std::iter::once(None).chain(POOL_OF_SCALES.iter().copied().map(Some));
    POOL_OF_COSTS.iter().map(|cost| scales().map(|scale| divergences(cost, scale)).collect()).collect()
});

#[derive(Debug)]
pub(super) struct MixedRide {
    ride: Ride,
    from_pool: Vec<usize>,
    scale: Option<usize>,
}

impl MixedRide {
    /// Half of the time with a scale.
    pub(super) fn draw(random: &mut Random) -> MixedRide {
        let mut ride = Ride::draw(random, OdometerRule::RenyiMixture);
        let from_pool: Vec<usize> = ride.charges.iter().map(|_| random.below(POOL as u64) as usize).collect();
        for ((charge, _), &at) in ride.charges.iter_mut().zip(&from_pool) {
            *charge = match POOL_OF_COSTS[at] {
                Cost::Pure { epsilon } => Cost::approximate(epsilon, charge.delta()).unwrap(),
                other => other,
            };
        }
        let chosen = (random.below(2) == 0).then(|| random.below(SCALES as u64) as usize);
        if let OdometerParameters::RenyiMixture { scale, .. } = &mut ride.spec.parameters {
            *scale = chosen.map(|at| POOL_OF_SCALES[at]);
        }
        MixedRide { ride, from_pool, scale: chosen }
    }

    fn scale(&self) -> Option<Amount> {
        self.scale.map(|at| POOL_OF_SCALES[at])
    }

    /// R_j at every order.
    fn sums<R: Real>(&self, divergences: impl Fn(usize) -> Vec<R>) -> Vec<R> {
        let mut sums = vec![R::zero(); truth::renyi_mixture_prior::<R>(self.scale()).len()];
        for (&at, (_, times)) in self.from_pool.iter().zip(&self.ride.charges) {
            for (sum, divergence) in sums.iter_mut().zip(divergences(at)) {
                *sum = sum.clone() + R::whole(*times) * divergence;
            }
        }
        sums
    }

    fn fast_divergences(&self, at: usize) -> Vec<Wide> {
        let pool = &POOL_OF_DIVERGENCES[at];
        pool[0].iter().chain(self.scale.iter().flat_map(|scale| &pool[scale + 1])).cloned().collect()
    }

    fn slow_divergences(&self, at: usize) -> Vec<Exact> {
        let cost = &POOL_OF_COSTS[at];
        let near = self.scale().map(|scale| divergences(cost, Some(scale)));
        divergences(cost, None).into_iter().chain(near.into_iter().flatten()).collect()
    }

    fn check<R: Real>(&self, reading: f64, divergences: impl Fn(usize) -> Vec<R>) -> Outcome {
        let ride = &self.ride;
        match (reading.is_infinite(), ride.own_deltas_fit::<R>()) {
            (true, Some(true)) => return Err("no reading".to_string()),
            (true, _) => return Ok(()),
            (false, Some(false)) => return Err("a finite reading, but what is set aside is used up".to_string()),
            (false, _) => {}
        }
        let (level, shift) = ride.level::<R>(&ride.driven());
        let (prior, sums) = (truth::renyi_mixture_prior(self.scale()), self.sums(divergences));
        let pure = ride.charges.iter().all(|(cost, _)| cost.epsilon().is_some());
        let basic = ride.total(|cost| R::amount(cost.size()));
        let holds = |reading: R| {
            let u = reading.clone() - shift.clone();
            (pure && ride.has_no_deltas() && reading >= basic)
                || (pure && u >= basic)
                || truth::renyi_mixture(&prior, &sums, &u, &level) >= R::one()
        };
        let bound = R::from_f64(reading);
        let lower = bound.clone() - bound.clone() * R::from_f64(CLOSE);
        at_the_edge(bound, lower, holds)
    }

    /// What is wrong with a reading, by the fast arithmetic.
    pub(super) fn check_reading(&self, reading: f64) -> Outcome {
        self.check(reading, |at| self.fast_divergences(at))
    }

    fn check_slowly(&self) -> Outcome {
        self.check(self.ride.driven().reading().value, |at| self.slow_divergences(at))
    }

    /// What its odometer reads.
    pub(super) fn reading(&self) -> f64 {
        self.ride.driven().reading().value
    }

    /// What an odometer would read in plain floating point, with these weights for the wide prior and for each order of the scale,
    /// where the mixture is what reads; nothing elsewhere.
    pub(super) fn reading_weighted(&self, wide: f64, near: f64) -> Option<f64> {
        let prior = truth::renyi_mixture_prior::<Wide>(None)
            .into_iter()
            .map(|(above_one, weight)| (above_one, wide * weight.to_f64()));
        let orders = truth::renyi_mixture_prior::<Wide>(self.scale()).into_iter().skip(25);
        let prior = prior.chain(orders.map(|(above_one, _)| (above_one, near)));
        let sums = self.sums(|at| self.fast_divergences(at));
        let terms: Vec<_> =
            prior.zip(sums).map(|((rate, weight), sum)| (rate.to_f64(), weight.ln(), sum.to_f64())).collect();
        let log_delta = self.ride.spec.at_delta.approximate().ln();
        let holds = |u: f64| {
            terms.iter().map(|(rate, log_weight, sum)| (rate * (u - sum) + log_weight + log_delta).exp()).sum::<f64>()
                >= 1.0
        };
        let reading = self.reading();
        let by_mixture = self.scale.is_some() && self.ride.spec.mechanism_delta.is_zero() && reading.is_finite();
        let basic = self.ride.total(|cost| cost.epsilon().map_or(Wide::from_f64(1e30), Wide::amount)).to_f64();
        if !by_mixture || reading >= basic * (1.0 - 1e-9) {
            return None;
        }
        let (mut below, mut above) = (0.0, 2.0 * reading);
        for _ in 0..200 {
            let middle = 0.5 * (below + above);
            if holds(middle) {
                above = middle;
            } else {
                below = middle;
            }
        }
        Some(above)
    }
}

#[test]
fn the_reading_of_the_renyi_mixture_is_just_above_the_root() {
    let fast = |ride: &MixedRide| ride.check_reading(ride.reading());
    certify(65, MixedRide::draw, fast, MixedRide::check_slowly);
}
