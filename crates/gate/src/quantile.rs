//! Quantiles by the exponential mechanism over the points of the grid, exactly.
//!
//! With L(v) values below v and E(v) equal to it, v is wanted where L(v) ≤ τ ≤ L(v) + E(v); its score is how far that is from
//! holding, max(0, L − τ, τ − L − E), with τ = p·n + an offset. Scores are counted in steps of 1/b for p = a/b, so they are
//! integers. A row that is added moves L − τ by 1 − p or −p, and τ − L − E by p or p − 1: at most max(a, b − a) steps; one that
//! is exchanged moves either by at most 1, b steps, but in groups it may leave one and come into another: twice max(a, b − a).
//! All points of the grid between two neighbouring values have one score, so they are one candidate that weighs as much as there
//! are points.
//!
//! The ends of the interval are drawn likewise, with τ moved by ∓t; there the least point of the grid stands for all ranks below
//! the first row, and the greatest one for all above the last, so that some score is 0 however few rows there are. The
//! exponential mechanism misses its best score by s with a probability of at most R·e^{−ε·s/(2Δ)} over R points, so with t =
//! (2Δ/ε)·ln(R/β) the lower draw is above the true quantile with a probability of at most β; likewise the upper one. The bound is
//! attained: by rows at two values with all other points between them. So t cannot be less without knowing how the rows are spread,
//! and on data that are spread evenly the interval covers much more than it says. A point alone tells nothing of how far its miss of
//! some ranks is in values, so an interval has a price of its own.
//!
//! Scores fall to the wanted rank and rise from there. So the candidates that can be drawn, but for a probability of about 2⁻⁶⁰, lie beside
//! each other, and are found by halving; those below and those above stand together, each as one ([`Choice::among_near`]). All of them are
//! made only where that does not decide the draw.

use std::ops::Range;

use dashu::rational::RBig;
use taximeter_accounting::{Amount, Cost};
use taximeter_ledger::Neighbours;
use taximeter_noise::{Candidate, Choice, NoiseError, Randomness};

use crate::number::Number;
use crate::plan::{MISS, QuantilePart};
use crate::question::scalar::{NumericExpr, rational};
use crate::schema::Schema;

/// A quantile of one group with the ends of its interval, if that is paid for, in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DrawnQuantile {
    pub(crate) value: i64,
    pub(crate) interval: Option<[i64; 2]>,
}

impl QuantilePart {
    /// How many ends of its interval are drawn. Of the least value that is the upper one: the lower bound is below it for certain; and
    /// the other way round.
    pub(crate) fn drawn_ends(fraction: Number) -> usize {
        if fraction == Number::ZERO || fraction == Number::ONE { 1 } else { 2 }
    }

    /// How far one unit moves the scores of all groups together, in steps of 1/b: how many groups there are, if that is known.
    pub(crate) fn score_sensitivity(fraction: Number, schema: &Schema, groups: Option<usize>) -> u128 {
        let rows = u128::from(schema.rows_per_unit());
        let (part, whole) = fraction_of(fraction);
        // Where the rank is counted from an end, this is 1.
        let one_row = part.max(whole - part);
        match (schema.neighbours, groups) {
            (Neighbours::AddRemove, _) => rows * one_row,
            (Neighbours::Substitute, Some(1)) => rows * whole,
            // The rows of one unit leave a group, and those of the other come into another one.
            (Neighbours::Substitute, _) => 2 * rows * one_row,
        }
    }

    /// Draws from the values of a group: each with how many rows have it, in ascending order.
    pub(crate) fn draw(&self, values: &[(i64, u64)], randomness: &mut Randomness) -> Result<DrawnQuantile, String> {
        let values = &RankedValues::new(values, &self.of)?;
        let value = self.draw_at(values, Rank { offset: self.offset(), is_end: false }, self.cost, randomness)?;
        let Some(cost) = self.end_cost else { return Ok(DrawnQuantile { value, interval: None }) };
        let reach = i128::from(self.end_reach(cost));
        let mut end = |offset: i128| self.draw_at(values, Rank { offset, is_end: true }, cost, randomness);
        let low = if self.fraction == Number::ZERO { self.of.low } else { end(-reach)? };
        let high = if self.fraction == Number::ONE { self.of.high } else { end(reach)? };
        Ok(DrawnQuantile { value, interval: Some([low.min(value), high.max(value)]) })
    }

    /// What its draws cost, one after the other.
    pub(crate) fn costs(&self) -> impl Iterator<Item = Cost> {
        let ends = self.end_cost.into_iter().flat_map(|cost| vec![cost; QuantilePart::drawn_ends(self.fraction)]);
        std::iter::once(self.cost).chain(ends)
    }

    /// What its draws cost together.
    pub(crate) fn total(&self) -> Cost {
        let units = self.costs().map(|cost| cost.size().units()).sum();
        self.cost.with_size(Amount::from_units(units))
    }

    /// How far one unit moves a score, in rows.
    pub(crate) fn rows_moved(&self) -> f64 {
        self.score_sensitivity as f64 / self.steps().1 as f64
    }

    /// In how many rows the score of the quantile gets e times less likely.
    pub(crate) fn scale(&self) -> f64 {
        self.scale_for(self.cost)
    }

    /// How many ranks the quantile misses in 95 of 100 answers, at most.
    pub(crate) fn reach(&self) -> u64 {
        self.reach_for(self.cost, MISS)
    }

    /// How far the ends of the interval are from the quantile, in rows.
    fn end_reach(&self, cost: Cost) -> u64 {
        self.reach_for(cost, self.miss / QuantilePart::drawn_ends(self.fraction) as f64)
    }

    fn scale_for(&self, cost: Cost) -> f64 {
        2.0 * self.rows_moved() / cost.size().approximate()
    }

    fn reach_for(&self, cost: Cost, miss: f64) -> u64 {
        let points = (self.of.high.abs_diff(self.of.low) as f64) + 1.0;
        (self.scale_for(cost) * core_math::log(points / miss)).ceil().min(1e15) as u64
    }

    /// The least value is taken to be as far from the end as the mechanism misses at most: among the values, and not below them.
    fn offset(&self) -> i128 {
        match self.fraction {
            Number::ZERO => self.reach().into(),
            Number::ONE => -i128::from(self.reach()),
            _ => 0,
        }
    }

    /// The fraction as a/b.
    fn steps(&self) -> (u128, u128) {
        fraction_of(self.fraction)
    }

    fn draw_at(
        &self,
        values: &RankedValues,
        rank: Rank,
        cost: Cost,
        randomness: &mut Randomness,
    ) -> Result<i64, String> {
        let rate = exact(cost.size()) / RBig::from(2 * self.score_sensitivity);
        let (from, weight) = self.chosen(values, rank, &rate, randomness).map_err(|error| error.to_string())?;
        let place = randomness.below(&weight.into()).map_err(|error| error.to_string())?;
        let place = i64::try_from(place).map_err(|_| "a point of the grid does not fit into 64 bits".to_string())?;
        Ok(from + place)
    }

    /// Where the candidate that is drawn begins, and how many points it has.
    fn chosen(
        &self,
        values: &RankedValues,
        rank: Rank,
        rate: &RBig,
        randomness: &mut Randomness,
    ) -> Result<(i64, u64), NoiseError> {
        let choice = Choice::begin(rate, randomness)?;
        if let Some(near) = choice.far().and_then(|far| self.near(values, rank, far)) {
            let candidates: Vec<Candidate> = near.iter().map(|(_, candidate)| *candidate).collect();
            if let Some(index) = choice.among_near(&candidates)? {
                return Ok((near[index].0, near[index].1.weight));
            }
        }
        let all = self.candidates(values, rank, 0..values.values.len());
        let candidates: Vec<Candidate> = all.iter().map(|(_, candidate)| *candidate).collect();
        let index = choice.among_all(&candidates)?;
        Ok((all[index].0, all[index].1.weight))
    }

    /// The rank that is wanted, in steps of 1/b.
    fn target(&self, values: &RankedValues, rank: Rank) -> i128 {
        let (part, whole) = self.steps();
        part as i128 * values.rows() + whole as i128 * rank.offset
    }

    /// The candidates that are less than `far` above the best, and some beside them, with all others as the first and the last one;
    /// nothing if their scores are beyond 64 bits.
    fn near(&self, values: &RankedValues, rank: Rank, far: u64) -> Option<Vec<(i64, Candidate)>> {
        let (whole, target) = (self.steps().1 as i128, self.target(values, rank));
        let too_low = |at: usize| target - whole * values.below[at + 1];
        let too_high = |at: usize| whole * values.below[at] - target;
        let last = values.values.len().checked_sub(1)?;
        // No score is above that of this value and below the least one.
        let good = values.first_where(|at| too_low(at) <= 0).min(last);
        let most = too_low(good).max(too_high(good)).max(0) + i128::from(far);
        let score = u64::try_from(most).ok()?;
        let range = values.first_where(|at| too_low(at) <= most)..values.first_where(|at| too_high(at) > most);
        let mut near = self.candidates(values, rank, range);
        let (first, (from, points)) = (near.first()?.0, near.last().map(|(from, last)| (*from, last.weight))?);
        let (below, above) = (first.abs_diff(self.of.low), self.of.high.abs_diff(from) - (points - 1));
        near.insert(0, (self.of.low, Candidate { weight: below, score }));
        near.push((self.of.high, Candidate { weight: above, score }));
        Some(near)
    }

    /// The values of a range and the gaps beside them, in ascending order: where each begins, and how likely it is.
    fn candidates(&self, values: &RankedValues, rank: Rank, range: Range<usize>) -> Vec<(i64, Candidate)> {
        let (whole, target) = (self.steps().1 as i128, self.target(values, rank));
        let (least, greatest) = (self.of.low, self.of.high);
        let all = values.values;
        let mut candidates = Vec::with_capacity(2 * range.len() + 3);
        let mut add = |from: i64, to: i64, below: i128, equal: i128| {
            if from <= to {
                let too_high = if rank.is_end && to == least { 0 } else { whole * below - target };
                let too_low = if rank.is_end && from == greatest { 0 } else { target - whole * (below + equal) };
                let score = too_high.max(too_low).max(0);
                let weight = to.abs_diff(from) + 1;
                candidates.push((from, Candidate { weight, score: u64::try_from(score).unwrap_or(u64::MAX) }));
            }
        };
        // The ends of the grid are candidates of their own, whether a row has them or not.
        let at = |value: Option<&(i64, u64)>, end: i64| value.is_some_and(|(value, _)| *value == end);
        let (is_first, is_last) = (range.start == 0, range.end == all.len());
        let first = (rank.is_end && is_first && !at(all.first(), least)).then_some((least, 0));
        let last = (rank.is_end && is_last && least < greatest && !at(all.last(), greatest)).then_some((greatest, 0));
        let mut next = if is_first { least } else { all[range.start - 1].0 + 1 };
        let end = if is_last { greatest } else { all[range.end].0 - 1 };
        let mut below = values.below[range.start];
        for (value, count) in first.into_iter().chain(all[range].iter().copied()).chain(last) {
            add(next, value - 1, below, 0);
            add(value, value, below, count.into());
            below += i128::from(count);
            next = value + 1;
        }
        add(next, end, below, 0);
        candidates
    }
}

/// The values of a group in ascending order, each with how many rows have it.
struct RankedValues<'a> {
    values: &'a [(i64, u64)],
    /// How many rows are below each value, and how many there are.
    below: Vec<i128>,
}

impl RankedValues<'_> {
    fn new<'a>(values: &'a [(i64, u64)], of: &NumericExpr) -> Result<RankedValues<'a>, String> {
        let is_in_order = values.windows(2).all(|two| two[0].0 < two[1].0);
        let is_within = |value: &(i64, u64)| of.low <= value.0 && value.0 <= of.high;
        if !is_in_order || !values.first().into_iter().chain(values.last()).all(is_within) {
            return Err("a value came back that is outside of its bounds or out of order".to_string());
        }
        let sums = values.iter().scan(0, |rows, (_, count)| {
            *rows += i128::from(*count);
            Some(*rows)
        });
        Ok(RankedValues { values, below: std::iter::once(0).chain(sums).collect() })
    }

    fn rows(&self) -> i128 {
        self.below[self.values.len()]
    }

    /// The first value from which on a condition holds.
    fn first_where(&self, holds: impl Fn(usize) -> bool) -> usize {
        let (mut first, mut end) = (0, self.values.len());
        while first < end {
            let middle = first + (end - first) / 2;
            if holds(middle) { end = middle } else { first = middle + 1 }
        }
        first
    }
}

/// Which rank is wanted.
#[derive(Clone, Copy)]
struct Rank {
    /// How many rows it is from that of the quantile.
    offset: i128,
    /// Whether it is that of an end of the interval.
    is_end: bool,
}

/// A fraction in lowest terms.
fn fraction_of(fraction: Number) -> (u128, u128) {
    let exact = rational(fraction);
    let narrow = |text: String| text.parse().expect("it has at most 19 digits");
    (narrow(exact.numerator().to_string()), narrow(exact.denominator().to_string()))
}

fn exact(amount: Amount) -> RBig {
    RBig::from_parts(amount.units().into(), Amount::ONE.units().into())
}

#[cfg(test)]
mod tests;
