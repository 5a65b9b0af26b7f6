//! What a question costs and how much noise its answer gets: decided from the schema alone, before any data are touched.

mod measures;
mod price;
#[cfg(test)]
mod tests;

use dashu::base::SquareRoot;
use dashu::integer::UBig;
use dashu::rational::RBig;
use taximeter_accounting::{Amount, Cost};

use crate::error::Error;
use crate::measure::{Measure, Quantity};
use crate::mode::ModePart;
use crate::noise::Noise;
use crate::number::Number;
use crate::question::aggregate::{Aggregate, Function};
use crate::question::predicate::Predicate;
use crate::question::scalar::{NumericExpr, rational};
use crate::question::term::Term;
use crate::question::{Query, Question};
use crate::schema::Schema;
use crate::sensitivity::Sensitivity;
use crate::statistics::simultaneous_miss;

use self::measures::WantedParts;
pub(crate) use self::measures::{Made, Weights};
pub use self::price::{NoiseKind, Price};

/// How likely an interval misses the truth.
pub(crate) const MISS: f64 = 0.05;

/// How many groups are thought of where they are not declared: as many as may be.
const MOST_GROUPS: usize = 10_000;

/// A question with its costs.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What is paid in all: the ε, with a δ for open groups, or the μ that the parts add up to.
    pub(crate) total: Cost,
    /// One for every SELECT, sub-queries first.
    pub(crate) queries: Vec<QueryPlan>,
}

/// What a SELECT is made of.
#[derive(Clone, Debug)]
pub(crate) struct QueryPlan {
    /// The integers that get noise, each once.
    pub(crate) parts: Vec<Part>,
    pub(crate) quantiles: Vec<QuantilePart>,
    /// Most frequent values.
    pub(crate) modes: Vec<ModePart>,
    /// What every aggregate is made of.
    pub(crate) aggregates: Vec<Made>,
    /// From which noisy number of rows on a group is answered, where the groups are not declared: its part, and the number.
    pub(crate) threshold: Option<(usize, i128)>,
    /// In how many groups a unit counts, where that is limited.
    pub(crate) groups_per_unit: Option<u32>,
}

/// A measure, and what it is paid with.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) measure: Measure,
    pub(crate) sensitivity: Sensitivity,
    pub(crate) cost: Cost,
    pub(crate) noise: Noise,
    /// The binary number that is nearest to its grid, for what is computed of it thousands of times.
    pub(crate) step: f64,
}

/// A quantile with the ends of its interval, and what they are paid with.
#[derive(Clone, Debug)]
pub(crate) struct QuantilePart {
    pub(crate) of: NumericExpr,
    pub(crate) filter: Option<Predicate>,
    pub(crate) fraction: Number,
    /// What the quantile itself is paid with.
    pub(crate) cost: Cost,
    /// What each end of its interval is paid with, if it has one.
    pub(crate) end_cost: Option<Cost>,
    /// With which probability the interval may miss.
    pub(crate) miss: f64,
    /// The most that one unit moves a score, in the steps that scores are counted in.
    pub(crate) score_sensitivity: u128,
}

impl Plan {
    /// Shares a price among the aggregates of a question, by their weights.
    pub(crate) fn new(question: &Question, schema: &Schema, price: Price, weights: &Weights) -> Result<Plan, Error> {
        match price {
            Price::Epsilon(epsilon) => Plan::paid(question, schema, weights, Cost::Pure { epsilon }),
            Price::Approximate { epsilon: _, delta } if delta.is_zero() => {
                Err(Error::value("delta", delta, "it must be above 0; omit it if all groups are declared"))
            }
            Price::Approximate { epsilon, delta } if question.all_queries().any(Query::is_open) => {
                Plan::paid(question, schema, weights, Cost::approximate(epsilon, delta)?)
            }
            Price::Approximate { epsilon, delta: _ } => Plan::paid(question, schema, weights, Cost::Pure { epsilon }),
            Price::Gaussian(mu) => Plan::paid(question, schema, weights, Cost::Gaussian { mu }),
            Price::Error { width, noise } => Plan::for_error(question, schema, weights, width, noise),
        }
    }

    /// The same plan if it costs no less than this; one for an error is made dearer, since its intervals only get narrower.
    pub(crate) fn at_least(
        self,
        least: Amount,
        question: &Question,
        schema: &Schema,
        price: Price,
        weights: &Weights,
    ) -> Result<Plan, Error> {
        match price {
            _ if self.total.size() >= least => Ok(self),
            Price::Error { .. } => Plan::paid(question, schema, weights, self.total.with_size(least)),
            _ => {
                let floor = self.total.with_size(least);
                let needs =
                    format!("the owner has set a floor: a question must cost at least {floor}; use a higher price");
                Err(Error::value("price", self.total, needs))
            }
        }
    }

    fn paid(question: &Question, schema: &Schema, weights: &Weights, total: Cost) -> Result<Plan, Error> {
        let delta = match total {
            Cost::Approximate { delta, .. } => Some(delta),
            _ => None,
        };
        let wanted: Vec<WantedParts> = question.all_queries().map(|query| WantedParts::new(query, weights)).collect();
        let whole: RBig = wanted.iter().map(WantedParts::weight).fold(RBig::ZERO, |sum, weight| sum + weight);
        let open = question.all_queries().filter(|query| query.is_open()).count();
        let queries = question.all_queries().zip(wanted).map(|(query, wanted)| {
            let delta = delta.filter(|_| query.is_open()).map(|delta| Amount::from_units(delta.units() / open as u128));
            let offer = Offer { total, whole: &whole, delta, intervals: weights.intervals() };
            QueryPlan::paid(query, wanted, &query.protected(schema), &offer, quantile_miss(question, query))
        });
        Ok(Plan { total, queries: queries.collect::<Result<_, Error>>()? })
    }

    /// The cheapest plan whose intervals are narrow enough. Costs are tried with six significant digits.
    fn for_error(
        question: &Question,
        schema: &Schema,
        weights: &Weights,
        width: Number,
        noise: NoiseKind,
    ) -> Result<Plan, Error> {
        if !width.is_positive() {
            return Err(Error::value("error", width, "no answer is this exact; ask for one above 0"));
        }
        if !question.queries.iter().all(is_of_counts_and_sums) {
            return Err(Error::input(
                "price",
                "only the intervals of counts and sums are known beforehand: those of AVG and of everything else that is computed \
                 depend on the data; ask for a SUM and a COUNT, or give an epsilon",
            ));
        }
        let cost = |size: Amount| match noise {
            NoiseKind::Laplace => Cost::Pure { epsilon: size },
            NoiseKind::Gaussian => Cost::Gaussian { mu: size },
        };
        let plan = |units: u128| Plan::paid(question, schema, weights, cost(Amount::from_units(units)));
        let narrow = |units: u128| plan(units).is_ok_and(|plan| plan.is_within(width));
        const DIGITS: u128 = 100_000;
        // A hundred thousandth of the decade: the step of its sixth digit.
        let decades = (-9..3).map(|exponent: i32| 10u128.pow((Amount::PLACES as i32 + exponent - 5) as u32));
        let Some(step) = decades.into_iter().find(|step| narrow(10 * DIGITS * step)) else {
            return Err(Error::value("error", width, "it would cost more than 1000; ask for a larger one"));
        };
        let (mut wide, mut enough) = (DIGITS - 1, 10 * DIGITS);
        while enough - wide > 1 {
            let middle = (wide + enough) / 2;
            if narrow(middle * step) { enough = middle } else { wide = middle }
        }
        plan(enough * step)
    }

    fn is_within(&self, width: Number) -> bool {
        let width = rational(width);
        // Clamped rows are counted for what is left over.
        let mut parts = self.parts().filter(|part| part.measure.quantity != Quantity::Clamped);
        parts.all(|part| part.grid() * RBig::from(part.noise.half_width(MISS)) <= width)
    }

    /// The parts of all SELECTs.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.queries.iter().flat_map(|query| &query.parts)
    }

    /// The costs in the order in which they are paid.
    pub(crate) fn costs(&self) -> Vec<Cost> {
        let costs = self.queries.iter().flat_map(|query| {
            let quantiles = query.quantiles.iter().flat_map(QuantilePart::costs);
            let modes = query.modes.iter().map(|mode| mode.cost);
            query.parts.iter().map(|part| part.cost).chain(quantiles).chain(modes)
        });
        costs.collect()
    }
}

/// What is offered for all SELECTs, and how it is shared.
struct Offer<'a> {
    total: Cost,
    /// The weights of everything that is paid.
    whole: &'a RBig,
    /// For the groups of a SELECT of which nothing is declared.
    delta: Option<Amount>,
    /// What the intervals of quantiles weigh beside the quantiles.
    intervals: RBig,
}

impl QueryPlan {
    fn paid(query: &Query, wanted: WantedParts, schema: &Schema, offer: &Offer, miss: f64) -> Result<QueryPlan, Error> {
        let groups = query.group_count();
        let groups_per_unit = query.group_limit.as_ref().map(|limit| limit.most);
        let mut parts = Vec::new();
        for (measure, weight) in wanted.measures {
            let sensitivity = match groups_per_unit {
                None => Sensitivity::new(&measure.quantity, schema, groups),
                Some(most) => Sensitivity::limited(&measure.quantity, schema, groups, most),
            };
            let cost = offer.share(&weight);
            let noise = Noise::new(&cost, sensitivity)?;
            let step = measure.quantity.grid().to_f64().value();
            parts.push(Part { measure, sensitivity, cost, noise, step });
        }
        let threshold = match (query.is_open(), wanted.threshold) {
            (true, Some(at)) => {
                let groups = groups_per_unit.unwrap_or(schema.rows_per_unit());
                Some((at, Threshold { part: &mut parts[at], schema, delta: offer.delta, groups }.fixed()?))
            }
            _ => None,
        };
        let mut quantiles = Vec::new();
        for (of, filter, fraction, weight) in wanted.quantiles {
            let shared = weight / (RBig::ONE + offer.intervals.clone());
            let cost = offer.exponential(&shared)?;
            let end_cost = match offer.intervals == RBig::ZERO {
                true => None,
                false => {
                    let ends = RBig::from(QuantilePart::drawn_ends(fraction));
                    Some(offer.exponential(&(shared * offer.intervals.clone() / ends))?)
                }
            };
            let score_sensitivity = QuantilePart::score_sensitivity(fraction, schema, groups);
            quantiles.push(QuantilePart { of, filter, fraction, cost, end_cost, miss, score_sensitivity });
        }
        let mut modes = Vec::new();
        for (at, weight) in wanted.modes {
            let (cost, moved_rows) = (offer.exponential(&weight)?, ModePart::moved_rows(schema));
            let Aggregate { function: Function::Mode { of, values }, filter } = query.aggregates[at].clone() else {
                unreachable!("it is a most frequent value")
            };
            modes.push(ModePart { of, filter, values, cost, moved_rows });
        }
        Ok(QueryPlan { parts, quantiles, modes, aggregates: wanted.aggregates, threshold, groups_per_unit })
    }
}

impl Offer<'_> {
    /// The share of something of this weight. Together they do not exceed the whole: ε adds up, and μ adds up by its squares. Rounded
    /// down.
    fn share(&self, weight: &RBig) -> Cost {
        let units = RBig::from(self.total.size().units());
        let part = weight.clone() / self.whole.clone();
        let whole = |number: RBig| number.floor().into_parts().1;
        let share: UBig = match self.total {
            Cost::Gaussian { .. } => whole(units.clone() * units * part).sqrt(),
            _ => whole(units * part),
        };
        let share = Amount::from_units(u128::try_from(share).expect("a share is not above the whole"));
        match self.total {
            Cost::Approximate { .. } => Cost::Pure { epsilon: share },
            other => other.with_size(share),
        }
    }

    /// The share of a draw by the exponential mechanism.
    fn exponential(&self, weight: &RBig) -> Result<Cost, Error> {
        match self.share(weight) {
            Cost::Pure { epsilon } if epsilon.is_zero() => {
                Err(Error::value("price", self.total, "it pays for no answer; spend more"))
            }
            Cost::Pure { epsilon } => Ok(Cost::Exponential { epsilon }),
            other => {
                let needs = "quantiles and modes are drawn by the exponential mechanism, which is paid with an epsilon; give one";
                Err(Error::value("price", other, needs))
            }
        }
    }
}

/// With which probability the interval of a quantile may miss. Those in one number hold together, and where quantiles choose which rows
/// are shown, those of all groups.
fn quantile_miss(question: &Question, query: &Query) -> f64 {
    let quantiles = |term: &Term| {
        let mut found = std::collections::BTreeSet::new();
        term.walk(&mut |term| match term {
            Term::Aggregate(at) if matches!(query.aggregates[*at].function, Function::Quantile { .. }) => {
                found.insert(*at);
            }
            _ => {}
        });
        found.len()
    };
    let together = query.outputs.iter().map(|output| quantiles(&output.term)).max().unwrap_or(0).max(1);
    // Sub-queries are one row each, which is not sorted, and have other columns.
    let is_sorted = question.queries.iter().any(|shown| std::ptr::eq(shown, query));
    let is_shortened = is_sorted && (question.limit.is_some() || question.offset > 0);
    let mut chosen = is_shortened && question.order.iter().any(|key| quantiles(&query.outputs[key.output].term) > 0);
    query.having.iter().for_each(|having| having.walk(&mut |term| chosen |= quantiles(term) > 0));
    // Ranks follow from intervals of all groups together.
    let mut order = query.windows().into_iter().flat_map(|window| &window.order);
    chosen |= order.any(|(term, _)| quantiles(term) > 0);
    let groups: usize = question.queries.iter().map(|query| query.group_count().unwrap_or(MOST_GROUPS)).sum();
    simultaneous_miss(MISS, if chosen { groups } else { 1 }) / together as f64
}

/// The threshold of groups of which nothing is declared.
struct Threshold<'a> {
    part: &'a mut Part,
    schema: &'a Schema,
    delta: Option<Amount>,
    /// In how many groups a unit is at most: as many as it has rows, or fewer.
    groups: u32,
}

impl Threshold<'_> {
    /// The number of rows, or of units, from which on a group is answered; its part pays the δ.
    ///
    /// A group that only one unit is in has at most m of its rows, and one unit; and a unit is in at most k groups. So each is answered
    /// with P(noise ≥ t − m) ≤ δ/k, or P(noise ≥ t − 1) ≤ δ/k where units are counted, and any of them with at most δ. The groups that
    /// both neighbours have are covered by ε.
    fn fixed(self) -> Result<i128, Error> {
        let (Some(delta), Cost::Pure { epsilon }) = (self.delta.filter(|delta| !delta.is_zero()), self.part.cost)
        else {
            return Err(Error::input(
                "threshold",
                "undeclared groups are answered above a threshold, which is paid with an epsilon and a delta: give both, such as 0.5 and \
                 1e-9; the account needs a part of its delta set aside for mechanisms",
            ));
        };
        let likely = RBig::from_parts(delta.units().into(), Amount::ONE.units().into()) / RBig::from(self.groups);
        let above = self.part.noise.threshold(&likely)?;
        self.part.cost = Cost::approximate(epsilon, delta)?;
        let alone = if self.part.measure.quantity == Quantity::Units { 1 } else { self.schema.rows_per_unit() };
        Ok(above + i128::from(alone))
    }
}

impl Part {
    /// What one step of the measure is in the units of the answer.
    pub(crate) fn grid(&self) -> RBig {
        self.measure.quantity.grid()
    }
}

/// Whether everything that is shown is a count or a sum.
fn is_of_counts_and_sums(query: &Query) -> bool {
    let single = |at: usize| {
        matches!(
            query.aggregates[at].function,
            Function::Rows
                | Function::NonNull(_)
                | Function::Units
                | Function::Distinct(_)
                | Function::Sum(_)
                | Function::Clamped
        )
    };
    query.outputs.iter().all(|output| match &output.term {
        Term::Aggregate(at) => single(*at),
        Term::Group(_) | Term::Label(_) | Term::Constant(_) => true,
        _ => false,
    })
}
