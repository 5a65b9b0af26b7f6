//! Estimates and intervals from draws of the known noise.

use std::cell::OnceCell;

use super::law::{NoiseLaw, SummedNoise};
use super::published::{FLOORS, TrueCount, threshold};
use super::ranks::shuffled_ranks;

/// What is said of a statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimated {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// A number that follows from parts.
pub(crate) type Formula<'a> = &'a dyn Fn(&[f64]) -> Option<f64>;

/// A statistic of some of a group's parts.
#[derive(Clone, Copy)]
pub(crate) struct Statistic<'a> {
    /// The parts that its formulas take, in their order.
    pub(crate) parts: &'a [usize],
    pub(crate) formula: Formula<'a>,
    /// The least and the greatest that it can be; infinite where nothing is known.
    pub(crate) range: [f64; 2],
    /// Those of the group's parts that are counts by which it divides.
    pub(crate) counts: &'a [usize],
    /// What else it divides by.
    pub(crate) divisors: &'a [Formula<'a>],
    /// Whether it is nothing to speak of unless positive: a variance.
    pub(crate) positive: bool,
}

/// From how many draws on in both tails together an interval's ends are percentiles; with fewer, they are stretched.
const DRAWS_IN_TAILS: f64 = 40.0;

/// With which probability noise may take a divisor to half of what was observed, at most.
const HALVED: f64 = 0.025;

/// How many draws to take for an answer: 4,000, or fewer if that is slow, but never fewer than 1,000.
pub(crate) fn number_of_draws(groups: usize, outputs: usize) -> usize {
    (40_000_000 / groups.saturating_mul(outputs).max(1)).clamp(1_000, 4_000)
}

/// Draws of the noise on an answer's parts, taken once for all groups and outputs.
#[derive(Clone, Debug)]
pub(crate) struct NoiseDraws {
    parts: Vec<SummedNoise>,
    draws: usize,
    seed: [u8; 32],
    /// Drawn when they are asked for: counts and sums need none.
    ranks: Vec<OnceCell<Vec<f64>>>,
    noise: Vec<OnceCell<Vec<f64>>>,
}

impl NoiseDraws {
    /// Draws from the law of each part. The same seed gives the same draws, so that a stored answer can be computed again.
    pub(crate) fn new(parts: &[SummedNoise], draws: usize, seed: &[u8; 32]) -> NoiseDraws {
        let empty = || parts.iter().map(|_| OnceCell::new()).collect();
        NoiseDraws { parts: parts.to_vec(), draws, seed: *seed, ranks: empty(), noise: empty() }
    }

    fn law(&self, part: usize) -> NoiseLaw {
        self.parts[part].law
    }

    fn ranks(&self, part: usize) -> &[f64] {
        self.ranks[part].get_or_init(|| shuffled_ranks(self.draws, &self.seed, part))
    }

    fn noise(&self, part: usize) -> &[f64] {
        self.noise[part].get_or_init(|| {
            let SummedNoise { law, addends } = self.parts[part];
            let mut sums: Vec<f64> = self.ranks(part).iter().map(|rank| law.quantile(*rank)).collect();
            for addend in 1..addends {
                let more = shuffled_ranks(self.draws, &self.seed, part + addend * self.parts.len());
                sums.iter_mut().zip(more).for_each(|(sum, rank)| *sum += law.quantile(rank));
            }
            sums
        })
    }

    /// What the parts of a group may have been, given their noisy values, one for every law; and for a group that was found, which part
    /// reached which threshold.
    pub(crate) fn group(&self, noisy: &[f64], found: Option<(usize, f64)>) -> GroupDraws<'_> {
        assert_eq!(noisy.len(), self.parts.len(), "every part has its law");
        let truths = noisy.iter().map(|_| OnceCell::new()).collect();
        let published = noisy.iter().map(|_| OnceCell::new()).collect();
        GroupDraws { draws: self, noisy: noisy.to_vec(), truths, published, found }
    }
}

/// Draws of what the parts of one group may have been.
#[derive(Clone, Debug)]
pub(crate) struct GroupDraws<'a> {
    draws: &'a NoiseDraws,
    noisy: Vec<f64>,
    truths: Vec<OnceCell<Vec<f64>>>,
    /// The same for counts, given that they reached their threshold, for each floor; `None` where that changes nothing.
    published: Vec<OnceCell<Option<[Vec<f64>; 2]>>>,
    /// The part by which the group was found, and the threshold that it reached.
    found: Option<(usize, f64)>,
}

impl GroupDraws<'_> {
    /// A statistic with an interval that misses it with the probability `miss`, or `None`: too noisy to say.
    ///
    /// It is said if
    /// * every count that it divides by reaches its [`threshold`];
    /// * everything else that it divides by stays above half of its observed value but for 2.5 % of the draws: twice the reach of its
    ///   noise, which a divisor of 0 passes about once in a thousand times. Draws are not weighted for it as for counts: what is said
    ///   at least every other time is covered in 94 % or more, what is said less often in fewer (90 % where every fifth is said),
    ///   though it is never both said and missed in more than 5 %;
    /// * the estimate is positive, if only that makes sense. A median is on either side of the truth half of the time, so a variance
    ///   is said at least half of the time, and the 2.5 % in which the interval lies above it are at most 5 % of what is said.
    ///   Where the interval lies below it, the estimate does so too.
    pub(crate) fn estimate(&self, statistic: &Statistic, miss: f64) -> Option<Estimated> {
        let too_few = |count: &usize| !(self.noisy[*count] >= threshold(self.draws.law(*count)));
        if statistic.counts.iter().any(too_few)
            || !statistic.divisors.iter().all(|it| self.is_surely_not_zero(statistic, *it))
        {
            return None;
        }
        let is_conditional =
            |part: &usize| self.is_conditional(statistic, *part) && self.given_publication(*part).is_some();
        let conditional = statistic.parts.iter().any(is_conditional);
        let [first, second] = [0, 1].map(|floor| conditional.then_some(floor));
        let mut said = self.percentiles(statistic, first, miss)?;
        if conditional {
            let wider = self.percentiles(statistic, second, miss)?;
            said = Estimated { low: said.low.min(wider.low), high: said.high.max(wider.high), ..said };
        }
        let [lowest, highest] = statistic.range;
        let inside = |value: f64| value.max(lowest).min(highest);
        let said = Estimated { value: inside(said.value), low: inside(said.low), high: inside(said.high) };
        (!statistic.positive || said.value > 0.0).then_some(said)
    }

    /// Whether more is known of a part than its noisy value: that it reached a threshold.
    fn is_conditional(&self, statistic: &Statistic, part: usize) -> bool {
        statistic.counts.contains(&part) || self.found.is_some_and(|(found, _)| found == part)
    }

    fn is_surely_not_zero(&self, statistic: &Statistic, divisor: Formula) -> bool {
        let noisy: Vec<f64> = statistic.parts.iter().map(|part| self.noisy[*part]).collect();
        let Some(observed) = divisor(&noisy).filter(|observed| observed.is_finite() && *observed != 0.0) else {
            return false;
        };
        let draws = self.values(statistic.parts, divisor, |part| self.truths(part));
        let above_half = draws.iter().filter(|value| *value / observed >= 0.5).count();
        above_half as f64 >= (1.0 - HALVED) * self.number() as f64
    }

    /// The median and the ends between which all draws lie but for `miss`. Draws without a value may be anything, so they count as
    /// beyond either end; `None` if they reach inside.
    fn percentiles(&self, statistic: &Statistic, floor: Option<usize>, miss: f64) -> Option<Estimated> {
        let column = |part: usize| match floor {
            Some(floor) if self.is_conditional(statistic, part) => {
                self.given_publication(part).map_or(self.truths(part), |draws| &draws[floor])
            }
            _ => self.truths(part),
        };
        let mut values = self.values(statistic.parts, statistic.formula, column);
        let (all, unknown) = (self.number(), self.number() - values.len());
        // Beyond what the draws show, ends are stretched as the tails of Laplace noise are, the longest ones here.
        let shown = miss.max(DRAWS_IN_TAILS / all as f64);
        let stretch = (core_math::log(miss) / core_math::log(shown)).max(1.0);
        let outside = ((shown / 2.0 * all as f64).ceil() - 1.0).max(0.0) as usize;
        let inside = outside.checked_sub(unknown).filter(|inside| 2 * inside < values.len())?;
        let last = values.len() - 1;
        let mut at = |index: usize| *values.select_nth_unstable_by(index, f64::total_cmp).1;
        let value = 0.5 * at(last / 2) + 0.5 * at(last - last / 2);
        let [low, high] = [at(inside), at(last - inside)].map(|end| value + stretch * (end - value));
        [value, low, high].iter().all(|it| it.is_finite()).then_some(Estimated { value, low, high })
    }

    /// A formula for every draw that has a value.
    fn values<'c>(&self, parts: &[usize], formula: Formula, column: impl Fn(usize) -> &'c Vec<f64>) -> Vec<f64> {
        let columns: Vec<&Vec<f64>> = parts.iter().map(|part| column(*part)).collect();
        let mut row = vec![0.0; parts.len()];
        let value = |draw: usize| {
            row.iter_mut().zip(&columns).for_each(|(cell, column)| *cell = column[draw]);
            formula(&row).filter(|value| !value.is_nan())
        };
        (0..self.number()).filter_map(value).collect()
    }

    fn given_publication(&self, count: usize) -> Option<&[Vec<f64>; 2]> {
        let draw = || {
            let (noisy, law) = (self.noisy[count], self.draws.law(count));
            let found = self.found.filter(|(part, _)| *part == count).map_or(0.0, |(_, least)| least);
            let least = threshold(law).max(found);
            let [first, second] = FLOORS.map(|floor| TrueCount::new(noisy, law, least, floor));
            // Much noise is a small count.
            let ranks = self.draws.ranks(count);
            let draw = |count: TrueCount| ranks.iter().map(|rank| count.quantile(1.0 - rank)).collect();
            Some([draw(first?), draw(second?)])
        };
        self.published[count].get_or_init(draw).as_ref()
    }

    fn truths(&self, part: usize) -> &Vec<f64> {
        let noisy = self.noisy[part];
        self.truths[part].get_or_init(|| self.draws.noise(part).iter().map(|noise| noisy - noise).collect())
    }

    /// As many as there are ranks: an even number.
    fn number(&self) -> usize {
        2 * self.draws.draws.div_ceil(2)
    }
}
