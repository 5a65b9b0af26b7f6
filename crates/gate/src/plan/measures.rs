//! Which integers and which quantiles the aggregates of a SELECT are made of, each of them once.

use std::collections::BTreeMap;

use dashu::rational::RBig;

use crate::error::Error;
use crate::measure::{Centred, Measure, Quantity};
use crate::number::Number;
use crate::question::aggregate::{Aggregate, Argument, Function, both_known, in_order};
use crate::question::predicate::Predicate;
use crate::question::scalar::{Node, NumericExpr, rational};
use crate::question::term::Term;
use crate::question::{Query, Question};

/// What an aggregate is made of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Made {
    /// Parts by their place: a count or a sum; a centred sum and a count; the moments of one expression (count, sum, squares) or of
    /// two (count, x, xx, y, yy, xy).
    Parts(Vec<usize>),
    /// A quantile by its place.
    Quantile(usize),
    /// A most frequent value by its place.
    Mode(usize),
}

/// Everything that a SELECT asks for, with its weight in the price.
pub(super) struct WantedParts {
    pub(super) measures: Vec<(Measure, RBig)>,
    pub(super) quantiles: Vec<(NumericExpr, Option<Predicate>, Number, RBig)>,
    /// Most frequent values: the place of each among the aggregates.
    pub(super) modes: Vec<(usize, RBig)>,
    pub(super) aggregates: Vec<Made>,
    /// The number of rows by which groups are found, where they are not declared.
    pub(super) threshold: Option<usize>,
}

impl WantedParts {
    /// Every aggregate has the weight of the column that shows it, 1 unless it is given, shared equally by what it is made of.
    pub(super) fn new(query: &Query, weights: &Weights) -> WantedParts {
        let (quantiles, modes) = (Vec::new(), Vec::new());
        let mut wanted =
            WantedParts { measures: Vec::new(), quantiles, modes, aggregates: Vec::new(), threshold: None };
        for (at, aggregate) in query.aggregates.iter().enumerate() {
            let weight = weights.of(query, at);
            let made = match &aggregate.function {
                Function::Clamped => continue,
                Function::Quantile { of, fraction } => {
                    wanted.quantile(of, aggregate.filter.as_ref(), *fraction, weight)
                }
                Function::Mode { .. } => {
                    wanted.modes.push((at, weight));
                    Made::Mode(wanted.modes.len() - 1)
                }
                function => wanted.parts(quantities(function, query, aggregate), filter(aggregate), &weight),
            };
            wanted.aggregates.push(made);
        }
        if query.is_open() {
            // Units count once in a group, however many rows they have.
            let units = Measure { quantity: Quantity::Units, filter: None };
            let by_units = query.group_limit.is_some() || wanted.measures.iter().any(|(measure, _)| *measure == units);
            let found = if by_units { Quantity::Units } else { Quantity::Rows };
            let Made::Parts(parts) = wanted.parts(vec![found], None, &RBig::ONE) else {
                unreachable!("rows are counted")
            };
            wanted.threshold = parts.first().copied();
        }
        // Clamped rows are the last aggregate.
        for aggregate in query.aggregates.iter().filter(|aggregate| aggregate.function == Function::Clamped) {
            let made = wanted.clamped(aggregate);
            wanted.aggregates.push(made);
        }
        wanted
    }

    /// The weight of all of it.
    pub(super) fn weight(&self) -> RBig {
        let measures = self.measures.iter().map(|(_, weight)| weight);
        let quantiles = self.quantiles.iter().map(|(_, _, _, weight)| weight);
        let modes = self.modes.iter().map(|(_, weight)| weight);
        measures.chain(quantiles).chain(modes).fold(RBig::ZERO, |sum, weight| sum + weight.clone())
    }

    fn parts(&mut self, quantities: Vec<Quantity>, filter: Option<Predicate>, weight: &RBig) -> Made {
        let weight = weight.clone() / RBig::from(quantities.len());
        let places = quantities.into_iter().map(|quantity| {
            let measure = Measure { quantity, filter: filter.clone() };
            match self.measures.iter().position(|(other, _)| *other == measure) {
                Some(at) => {
                    // What is shared is as precise as the aggregate that wants it most.
                    let shared = &mut self.measures[at].1;
                    *shared = shared.clone().max(weight.clone());
                    at
                }
                None => {
                    self.measures.push((measure, weight.clone()));
                    self.measures.len() - 1
                }
            }
        });
        Made::Parts(places.collect())
    }

    /// Clamped rows get a tenth of the price: a ninth of all others.
    fn clamped(&mut self, aggregate: &Aggregate) -> Made {
        let weight = self.weight() / RBig::from(9);
        self.measures.push((Measure { quantity: Quantity::Clamped, filter: aggregate.filter.clone() }, weight));
        Made::Parts(vec![self.measures.len() - 1])
    }

    fn quantile(&mut self, of: &NumericExpr, filter: Option<&Predicate>, fraction: Number, weight: RBig) -> Made {
        self.quantiles.push((of.clone(), filter.cloned(), fraction, weight));
        Made::Quantile(self.quantiles.len() - 1)
    }
}

/// How much of the price the columns of an answer get, by their names; 1 for those that are not named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weights {
    columns: Vec<(String, RBig)>,
    intervals: Option<RBig>,
}

/// The name under which the intervals of quantiles have a weight, unless a column has it.
const INTERVALS: &str = "intervals";

impl Weights {
    /// Checks weights against the columns of a question.
    pub(crate) fn new(weights: &BTreeMap<String, Number>, question: &Question) -> Result<Weights, Error> {
        let mut all = Weights::default();
        for (name, weight) in weights {
            let known = question.outputs().iter().any(|output| output.name.eq_ignore_ascii_case(name));
            if !known && name.eq_ignore_ascii_case(INTERVALS) && *weight >= Number::ZERO {
                all.intervals = Some(rational(*weight));
            } else if !known && !name.eq_ignore_ascii_case(INTERVALS) {
                return Err(Error::value("weight", name, "the answer has no column of this name"));
            } else if !weight.is_positive() {
                return Err(Error::value("weight", weight, "a weight must be above 0"));
            } else {
                all.columns.push((name.clone(), rational(*weight)));
            }
        }
        Ok(all)
    }

    /// What the interval of a quantile weighs beside the quantile: as much, unless it is given.
    pub(super) fn intervals(&self) -> RBig {
        self.intervals.clone().unwrap_or(RBig::ONE)
    }

    /// The largest weight of the columns that show an aggregate.
    fn of(&self, query: &Query, aggregate: usize) -> RBig {
        let shows = |term: &Term| {
            let mut found = false;
            term.walk(&mut |term| found |= *term == Term::Aggregate(aggregate));
            found
        };
        let weight = |name: &str| self.columns.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        let shown = query.outputs.iter().filter(|output| shows(&output.term));
        shown.filter_map(|output| weight(&output.name)).map(|(_, weight)| weight.clone()).max().unwrap_or(RBig::ONE)
    }
}

/// Which rows an aggregate is of: one of two expressions, of those where neither is null.
fn filter(aggregate: &Aggregate) -> Option<Predicate> {
    let Function::Pair { y, x, .. } = &aggregate.function else { return aggregate.filter.clone() };
    Some(Predicate::all(both_known([y, x]).into_iter().chain(aggregate.filter.clone()).collect()))
}

fn quantities(function: &Function, query: &Query, aggregate: &Aggregate) -> Vec<Quantity> {
    match function {
        Function::Rows => vec![Quantity::Rows],
        Function::NonNull(argument) => vec![Quantity::NonNull(plain(argument.clone()))],
        Function::Units => vec![Quantity::Units],
        Function::Clamped => vec![Quantity::Clamped],
        Function::Distinct(argument) => vec![Quantity::Distinct(argument.clone())],
        Function::Sum(of) => vec![Quantity::Sum(Centred::plain(of.clone()))],
        Function::Average(of) => {
            // Beside a variance of the same, both share their moments.
            let shares = query.aggregates.iter().any(|other| {
                other.filter == aggregate.filter
                    && matches!(&other.function, Function::Spread { of: other, .. } if other == of)
            });
            let scalar = if shares { of.clone().for_moments() } else { of.clone() };
            vec![Quantity::Sum(Centred::middle(scalar)), count(of)]
        }
        Function::Spread { of, .. } => {
            let centred = Centred::middle(of.clone().for_moments());
            vec![count(of), Quantity::Sum(centred.clone()), Quantity::Products(centred.clone(), centred)]
        }
        Function::Pair { y, x, .. } => {
            let (x, y) = (Centred::middle(x.clone().for_moments()), Centred::middle(y.clone().for_moments()));
            let [one, other] = in_order([x.clone(), y.clone()]);
            vec![
                Quantity::Rows,
                Quantity::Sum(x.clone()),
                Quantity::Products(x.clone(), x.clone()),
                Quantity::Sum(y.clone()),
                Quantity::Products(y.clone(), y.clone()),
                Quantity::Products(one, other),
            ]
        }
        Function::Quantile { .. } | Function::Mode { .. } => unreachable!("these are no integers"),
    }
}

/// How many values there are.
fn count(of: &NumericExpr) -> Quantity {
    Quantity::NonNull(plain(Argument::Steps(of.clone())))
}

/// A column is null where its steps are, whatever grid they are on.
fn plain(argument: Argument) -> Argument {
    fn column(scalar: &NumericExpr) -> Option<usize> {
        match &scalar.node {
            Node::Column(at) => Some(*at),
            Node::Rounded(inner, _) | Node::Floor(inner, _) | Node::Times(inner, _) | Node::Negative(inner) => {
                column(inner)
            }
            _ => None,
        }
    }
    match &argument {
        Argument::Steps(scalar) => column(scalar).map_or(argument, Argument::Column),
        Argument::Column(_) => argument,
    }
}
