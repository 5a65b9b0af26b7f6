//! A row of the answer: numbers with their intervals.

use dashu::rational::RBig;

use super::known::{Parts, Subquery};
use super::numbers::{meaningful, of_steps, rounded};
use super::rows::WindowsOfRow;
use super::selection::Selection;
use super::uses::Uses;
use crate::document::{Cell, DatedEstimate, Estimate};
use crate::plan::{Made, QueryPlan};
use crate::quantile::DrawnQuantile;
use crate::question::Query;
use crate::question::aggregate::Function;
use crate::question::scalar::Kind;
use crate::question::term::{Condition, Term};
use crate::question::window::WindowCall;
use crate::schema::Value;
use crate::statistics::{Estimated, Formula, GroupDraws, Statistic};

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
    /// The numbers of most frequent values.
    pub(super) modes: &'a [i64],
    pub(super) scalars: &'a [Subquery<'a>],
    pub(super) draws: &'a GroupDraws<'a>,
    pub(super) selection: &'a Selection<'a>,
    /// Its place among the groups.
    pub(super) at: usize,
    pub(super) clamp: bool,
    pub(super) windows: WindowsOfRow<'a>,
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
                (Made::Mode(at), _) => self.plan.modes[*at]
                    .value(self.modes[*at])
                    .map_or_else(|| Cell::Estimate(Estimate::default()), |value| Cell::Group(value.clone())),
                _ => Cell::Estimate(self.aggregate(*at, term)),
            },
            Term::Window(window) if window.is_rank() => Cell::Estimate(self.rank(term, window)),
            _ => Cell::Estimate(self.computed(term)),
        }
    }

    /// At which place the row is.
    fn rank(&self, term: &Term, window: &WindowCall) -> Estimate {
        let at = self.windows.all.windows.iter().position(|sorted| sorted.window == window);
        let interval = at.and_then(|at| self.windows.places.get(at)?.get(self.at));
        let value = term.value(&self.parts(self.steps, &[]));
        // Shares of the rows are no whole numbers.
        const PLACES: u32 = 9;
        Estimate {
            interval: interval
                .filter(|_| value.is_some())
                .map(|[low, high]| [rounded(*low, PLACES, -1.0), rounded(*high, PLACES, 1.0)]),
            value: value.map(|value| rounded(value, PLACES, 0.0)),
            ..Estimate::default()
        }
    }

    /// Where the truth of a term lies, but for a given probability; nothing where nothing is known.
    pub(super) fn bounds(&self, term: &Term, miss: f64) -> Option<[f64; 2]> {
        if let Term::Aggregate(at) = term {
            match &self.plan.aggregates[*at] {
                // Their intervals hold for all groups together where they choose.
                Made::Quantile(at) => {
                    let grid = self.plan.quantiles[*at].of.grid.to_f64().value();
                    return self.quantiles[*at].interval.map(|ends| ends.map(|end| end as f64 * grid));
                }
                Made::Parts(places) if places.len() == 1 => {
                    let grid = self.plan.parts[places[0]].step;
                    let ends = self.selection.given_found(places[0], self.noisy[places[0]], miss);
                    return Some(ends.map(|end| end as f64 * grid));
                }
                Made::Parts(_) | Made::Mode(_) => {}
            }
        }
        let said = self.estimated(term, &self.uses(term), Some(miss))?;
        Some([said.low, said.high])
    }

    fn aggregate(&self, at: usize, term: &Term) -> Estimate {
        let places = match &self.plan.aggregates[at] {
            Made::Quantile(at) => return self.quantile(*at),
            Made::Mode(_) => return Estimate::default(),
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
        let uses = self.uses(term);
        if uses.quantile || uses.unknown {
            return self.of_quantiles(term, &uses);
        }
        let Some(said) = self.estimated(term, &uses, None) else { return Estimate::default() };
        let (value, interval) = meaningful(said.value, [said.low, said.high]);
        Estimate { value: Some(value), interval: Some(interval), ..Estimate::default() }
    }

    fn uses<'t>(&self, term: &'t Term) -> Uses<'t> {
        let mut uses = Uses::of(term, self);
        // How a quantile of a sub-query errs is not known either.
        term.walk(&mut |inner| {
            if let Term::Scalar(at) = inner {
                uses.quantile |= !self.scalars[*at].plan.quantiles.is_empty();
            }
        });
        uses
    }

    /// A number with an interval that misses the truth with a given probability, or that of this answer; nothing if it is too noisy to say.
    fn estimated(&self, term: &Term, uses: &Uses, miss: Option<f64>) -> Option<Estimated> {
        if uses.quantile || uses.unknown {
            return None;
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
        self.draws.estimate(&statistic, miss.unwrap_or_else(|| self.selection.miss(&uses.own)))
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
            Term::Absolute(_)
            | Term::NullIf(..)
            | Term::Case { .. }
            | Term::Coalesce(_)
            | Term::Power(..)
            | Term::Window(_) => is_monotone = false,
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

    pub(super) fn parts<'p>(&'p self, steps: &'p [f64], quantiles: &'p [f64]) -> Parts<'p> {
        let AnsweredGroup { query, plan, keys, scalars, windows, .. } = *self;
        Parts { query, plan, keys, steps, own: 0, quantiles, scalars, windows: Some(windows) }
    }
}

/// A number of steps with its interval.
fn exact(steps: i128, interval: [i128; 2], grid: &RBig, lowest: Option<i128>) -> Estimate {
    let decimal = |steps: i128| of_steps(lowest.map_or(steps, |lowest| steps.max(lowest)), grid);
    Estimate { value: Some(decimal(steps)), interval: Some(interval.map(decimal)), ..Estimate::default() }
}
