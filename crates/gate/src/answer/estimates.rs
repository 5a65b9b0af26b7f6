//! A row of the answer: numbers with their intervals.

use dashu::rational::RBig;

use super::known::{Parts, Subquery};
use super::numbers::{meaningful, of_steps};
use super::selection::{Selection, own_parts};
use crate::document::{Cell, DatedEstimate, Estimate};
use crate::plan::{Made, QueryPlan};
use crate::quantile::DrawnQuantile;
use crate::question::Query;
use crate::question::aggregate::{Function, PairFunction};
use crate::question::scalar::{Kind, NumericExpr};
use crate::question::term::{Condition, Term};
use crate::schema::Value;
use crate::statistics::{Formula, GroupDraws, OneColumn, Statistic, TwoColumns};

/// One group of a noisy answer.
pub(super) struct AnsweredGroup<'a> {
    pub(super) query: &'a Query,
    pub(super) plan: &'a QueryPlan,
    pub(super) keys: &'a [Value],
    /// Its parts, in steps.
    pub(super) noisy: &'a [i128],
    /// The same with those of the other groups and of sub-queries.
    pub(super) steps: &'a [f64],
    pub(super) quantiles: &'a [DrawnQuantile],
    pub(super) scalars: &'a [Subquery<'a>],
    pub(super) draws: &'a GroupDraws<'a>,
    pub(super) selection: &'a Selection<'a>,
    /// Its place among the groups.
    pub(super) at: usize,
    pub(super) clamp: bool,
}

impl AnsweredGroup<'_> {
    pub(super) fn cells(&self) -> Vec<Cell> {
        self.query.outputs.iter().map(|output| self.cell(&output.term)).collect()
    }

    /// Whether a condition holds on the noisy numbers.
    pub(super) fn holds(&self, condition: &Condition) -> bool {
        let values = self.quantile_values();
        condition.holds(&self.parts(self.steps, &values)) == Some(true)
    }

    fn cell(&self, term: &Term) -> Cell {
        match term {
            Term::Group(at) => Cell::Group(self.keys[*at].clone()),
            Term::Label(text) => Cell::Group(Value::Text(text.clone())),
            Term::Aggregate(at) => match (&self.plan.aggregates[*at], self.query.aggregates[*at].kind()) {
                (Made::Quantile(at), Kind::Date | Kind::Timestamp) => Cell::Dated(self.dated(*at)),
                _ => Cell::Estimate(self.aggregate(*at, term)),
            },
            _ => Cell::Estimate(self.computed(term)),
        }
    }

    fn aggregate(&self, at: usize, term: &Term) -> Estimate {
        let places = match &self.plan.aggregates[at] {
            Made::Quantile(at) => return self.quantile(*at),
            Made::Parts(places) => places.as_slice(),
        };
        match &self.query.aggregates[at].function {
            Function::Sum(_) => self.part(places[0], None),
            Function::Rows | Function::NonNull(_) | Function::Units | Function::Distinct(_) | Function::Clamped => {
                self.part(places[0], self.clamp.then_some(0))
            }
            Function::Average(_) => Estimate {
                sum: Some(Box::new(self.whole_sum(places))),
                count: Some(Box::new(self.part(places[1], self.clamp.then_some(0)))),
                ..self.computed(term)
            },
            _ => self.computed(term),
        }
    }

    /// A count or a sum with its interval, exactly.
    fn part(&self, place: usize, lowest: Option<i128>) -> Estimate {
        let interval = self.selection.interval(self.at, place, self.noisy[place]);
        exact(self.noisy[place], interval, &self.plan.parts[place].grid(), lowest)
    }

    /// The sum of which an average is made: the middle of the bounds for every row, and what is measured from there.
    fn whole_sum(&self, places: &[usize]) -> Estimate {
        let [sum, count] = [places[0], places[1]];
        let centre = match &self.plan.parts[sum].measure.quantity {
            crate::measure::Quantity::Sum(centred) => i128::from(centred.centre),
            _ => 0,
        };
        let steps = self.noisy[sum].saturating_add(centre.saturating_mul(self.noisy[count]));
        let whole = |parts: &[f64]| Some(parts[0] + centre as f64 * parts[1]);
        let range = [f64::NEG_INFINITY, f64::INFINITY];
        let parts = [sum, count];
        let statistic =
            Statistic { parts: &parts, formula: &whole, range, counts: &[], divisors: &[], positive: false };
        let grid = self.plan.parts[sum].grid();
        match self.draws.estimate(&statistic, self.selection.miss(&parts)) {
            Some(said) => exact(steps, [said.low.floor() as i128, said.high.ceil() as i128], &grid, None),
            None => Estimate { value: Some(of_steps(steps, &grid)), ..Estimate::default() },
        }
    }

    fn quantile(&self, at: usize) -> Estimate {
        let DrawnQuantile { value, interval } = self.quantiles[at];
        let grid = &self.plan.quantiles[at].of.grid;
        let shown = |steps: i64| of_steps(steps.into(), grid);
        Estimate { value: Some(shown(value)), interval: interval.map(|ends| ends.map(shown)), ..Estimate::default() }
    }

    fn dated(&self, at: usize) -> DatedEstimate {
        let DrawnQuantile { value, interval } = self.quantiles[at];
        let shown = |steps: i64| self.plan.quantiles[at].of.value(steps).plain();
        DatedEstimate { interval: interval.map(|ends| ends.map(shown)), value: shown(value) }
    }

    /// Anything that is computed from noisy numbers.
    fn computed(&self, term: &Term) -> Estimate {
        let mut uses = Uses::of(term, self.query, self.plan);
        // How a quantile of a sub-query errs is not known either.
        term.walk(&mut |inner| {
            if let Term::Scalar(at) = inner {
                uses.quantile |= !self.scalars[*at].plan.quantiles.is_empty();
            }
        });
        if uses.quantile {
            return self.of_quantiles(term, &uses);
        }
        let values = self.quantile_values();
        let parts: Vec<usize> = (0..self.steps.len()).collect();
        let formula = |steps: &[f64]| term.value(&self.parts(steps, &values));
        let divisors: Vec<_> =
            uses.divisors.iter().map(|divisor| move |steps: &[f64]| divisor.value(self, steps)).collect();
        let divisors: Vec<Formula> = divisors.iter().map(|divisor| divisor as _).collect();
        let statistic = Statistic {
            parts: &parts,
            formula: &formula,
            range: uses.range,
            counts: &uses.counts,
            divisors: &divisors,
            positive: uses.positive,
        };
        let Some(said) = self.draws.estimate(&statistic, self.selection.miss(&uses.own)) else {
            return Estimate::default();
        };
        let (value, interval) = meaningful(said.value, [said.low, said.high]);
        Estimate { value: Some(value), interval: Some(interval), ..Estimate::default() }
    }

    /// What is computed from quantiles alone, and goes up or down with each of them, lies between what their ends give; together with
    /// other noise nothing is known of that.
    fn of_quantiles(&self, term: &Term, uses: &Uses) -> Estimate {
        let values = self.quantile_values();
        let Some(value) = term.value(&self.parts(self.steps, &values)) else { return Estimate::default() };
        let alone = uses.own.is_empty() && !term.has_scalar();
        match alone.then(|| self.corners(term)).flatten() {
            Some([low, high]) => {
                let (value, interval) = meaningful(value, [low.min(value), high.max(value)]);
                Estimate { value: Some(value), interval: Some(interval), ..Estimate::default() }
            }
            None => Estimate { value: Some(meaningful(value, [value, value]).0), ..Estimate::default() },
        }
    }

    /// The least and the greatest value of a term, over all ends of quantiles.
    fn corners(&self, term: &Term) -> Option<[f64; 2]> {
        const MOST: u32 = 6;
        let mut is_monotone = true;
        let mut used = Vec::new();
        term.walk(&mut |inner| match inner {
            Term::Aggregate(at) => match self.plan.aggregates[*at] {
                Made::Quantile(place) if !used.contains(&place) => used.push(place),
                _ => {}
            },
            Term::Absolute(_) | Term::NullIf(..) | Term::Case { .. } | Term::Coalesce(_) => is_monotone = false,
            Term::Quotient(_, divisor) if !matches!(**divisor, Term::Constant(_)) => {
                is_monotone &= self.corners(divisor).is_some_and(|[low, high]| low > 0.0 || high < 0.0);
            }
            _ => {}
        });
        if !is_monotone || used.len() > MOST as usize {
            return None;
        }
        let mut range: Option<[f64; 2]> = None;
        for corner in 0..1usize << used.len() {
            let mut values = self.quantile_values();
            for (bit, place) in used.iter().enumerate() {
                let steps = self.quantiles[*place].interval?[(corner >> bit) & 1];
                values[*place] = steps as f64 * self.plan.quantiles[*place].of.grid.to_f64().value();
            }
            let value = term.value(&self.parts(self.steps, &values))?;
            range = Some(range.map_or([value, value], |[low, high]| [low.min(value), high.max(value)]));
        }
        range
    }

    fn quantile_values(&self) -> Vec<f64> {
        let grid = |at: usize| self.plan.quantiles[at].of.grid.to_f64().value();
        self.quantiles.iter().enumerate().map(|(at, quantile)| quantile.value as f64 * grid(at)).collect()
    }

    fn parts<'p>(&'p self, steps: &'p [f64], quantiles: &'p [f64]) -> Parts<'p> {
        let AnsweredGroup { query, plan, keys, scalars, .. } = *self;
        Parts { query, plan, keys, steps, own: 0, others: Some(plan.parts.len()), quantiles, scalars }
    }
}

/// A number of steps with its interval.
fn exact(steps: i128, interval: [i128; 2], grid: &RBig, lowest: Option<i128>) -> Estimate {
    let decimal = |steps: i128| of_steps(lowest.map_or(steps, |lowest| steps.max(lowest)), grid);
    Estimate { value: Some(decimal(steps)), interval: Some(interval.map(decimal)), ..Estimate::default() }
}

/// What a term is made of, and what it divides by.
struct Uses<'t> {
    /// Counts by which it divides, by their places among the parts.
    counts: Vec<usize>,
    divisors: Vec<Divided<'t>>,
    range: [f64; 2],
    positive: bool,
    quantile: bool,
    /// The group's own parts.
    own: Vec<usize>,
}

/// Something other than a count that a term divides by.
enum Divided<'t> {
    Term(&'t Term),
    /// The variance of x, and of y, of the moments at these places.
    X(Vec<usize>),
    Y(Vec<usize>),
}

impl Divided<'_> {
    fn value(&self, group: &AnsweredGroup, steps: &[f64]) -> Option<f64> {
        let moments = |places: &[usize]| TwoColumns::new(&places.iter().map(|place| steps[*place]).collect::<Vec<_>>());
        let variance = |column: OneColumn| column.variance(crate::statistics::Divisor::Population);
        match self {
            Divided::Term(term) => term.value(&group.parts(steps, &[])),
            Divided::X(places) => variance(moments(places)?.x()),
            Divided::Y(places) => variance(moments(places)?.y()),
        }
    }
}

impl<'t> Uses<'t> {
    fn of(term: &'t Term, query: &Query, plan: &QueryPlan) -> Uses<'t> {
        let mut uses = Uses {
            counts: Vec::new(),
            divisors: Vec::new(),
            range: [f64::NEG_INFINITY, f64::INFINITY],
            positive: false,
            quantile: false,
            own: Vec::new(),
        };
        term.walk(&mut |inner| uses.own.extend(own_parts(inner, plan)));
        term.walk(&mut |inner| match inner {
            Term::Aggregate(at) => match &plan.aggregates[*at] {
                Made::Quantile(_) => uses.quantile = true,
                Made::Parts(places) => uses.aggregate(&query.aggregates[*at].function, places),
            },
            Term::Quotient(_, divisor) => uses.divisor(divisor, query, plan),
            _ => {}
        });
        if let Term::Aggregate(at) = term {
            uses.range = range(&query.aggregates[*at].function);
            uses.positive = matches!(query.aggregates[*at].function, Function::Spread { .. });
        }
        uses
    }

    fn aggregate(&mut self, function: &Function, places: &[usize]) {
        match function {
            Function::Average(_) => self.counts.push(places[1]),
            Function::Spread { .. } => self.counts.push(places[0]),
            Function::Pair { function, .. } => {
                self.counts.push(places[0]);
                if matches!(function, PairFunction::Correlation | PairFunction::Slope | PairFunction::Intercept) {
                    self.divisors.push(Divided::X(places.to_vec()));
                }
                if *function == PairFunction::Correlation {
                    self.divisors.push(Divided::Y(places.to_vec()));
                }
            }
            _ => {}
        }
    }

    fn divisor(&mut self, divisor: &'t Term, query: &Query, plan: &QueryPlan) {
        if let Term::Aggregate(at) = divisor
            && let (Made::Parts(places), false) =
                (&plan.aggregates[*at], matches!(query.aggregates[*at].function, Function::Sum(_)))
            && let [place] = places.as_slice()
        {
            self.counts.push(*place);
        } else if !matches!(divisor, Term::Constant(_)) {
            self.divisors.push(Divided::Term(divisor));
        }
    }
}

/// The least and the greatest that an aggregate can be.
fn range(function: &Function) -> [f64; 2] {
    let ends = |of: &NumericExpr| of.range().map(|end| end.to_f64().value());
    match function {
        Function::Average(of) => ends(of),
        Function::Spread { root, .. } if *root => [0.0, f64::INFINITY],
        Function::Spread { .. } => [0.0, f64::INFINITY],
        Function::Pair { function: PairFunction::Correlation, .. } => [-1.0, 1.0],
        _ => [f64::NEG_INFINITY, f64::INFINITY],
    }
}
