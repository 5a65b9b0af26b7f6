//! What the aggregates of a group are, given its parts: noisy ones, or a draw of what they may have been.

use super::rows::WindowsOfRow;
use super::windows::{Atom, SortedWindow};
use crate::measure::{Centred, Quantity};
use crate::plan::{Made, Part, QueryPlan};
use crate::question::Query;
use crate::question::aggregate::{Function, PairFunction};
use crate::question::term::{Known, Term};
use crate::question::window::{WindowCall, WindowFunction};
use crate::schema::Value;
use crate::statistics::{Divisor, OneColumn, TwoColumns};

/// No aggregate is made of more parts: a pair of columns has a count, two sums, two squares and a product.
const MOST_PARTS: usize = 6;

/// The parts of one group, in steps, and everything else that its outputs are made of.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) query: &'a Query,
    pub(super) plan: &'a QueryPlan,
    pub(super) keys: &'a [Value],
    /// The parts of the group, then those of other groups that its windows are made of, then those of sub-queries.
    pub(super) steps: &'a [f64],
    /// Where the own parts begin among them.
    pub(super) own: usize,
    /// Quantiles, in the units of the answer.
    pub(super) quantiles: &'a [f64],
    pub(super) scalars: &'a [Subquery<'a>],
    /// The windows over all groups; empty for a sub-query.
    pub(super) windows: Option<WindowsOfRow<'a>>,
}

/// A sub-query, whose parts begin at a place among those of a group.
#[derive(Clone, Copy)]
pub(super) struct Subquery<'a> {
    pub(super) query: &'a Query,
    pub(super) plan: &'a QueryPlan,
    pub(super) first: usize,
    pub(super) quantiles: &'a [f64],
}

impl Known for Parts<'_> {
    fn group(&self, at: usize) -> Option<f64> {
        match &self.keys[at] {
            Value::Integer(value) => Some(*value as f64),
            Value::Real(value) => Some(*value),
            _ => None,
        }
    }

    fn aggregate(&self, at: usize) -> Option<f64> {
        match &self.plan.aggregates[at] {
            Made::Quantile(at) => self.quantiles.get(*at).copied(),
            Made::Mode(_) => None,
            Made::Parts(places) => {
                // It is computed for every draw of the noise, and nothing is allocated for it.
                let mut steps = [0.0; MOST_PARTS];
                steps.iter_mut().zip(places).for_each(|(step, place)| *step = self.steps[self.own + *place]);
                let part = |at: usize| &self.plan.parts[places[at]];
                made_of(&self.query.aggregates[at].function, part, &steps[..places.len()])
            }
        }
    }

    fn scalar(&self, at: usize) -> Option<f64> {
        let Subquery { query, plan, first, quantiles } = self.scalars[at];
        let parts = Parts { query, plan, keys: &[], own: first, quantiles, windows: None, ..*self };
        query.outputs[0].term.value(&parts)
    }

    fn window(&self, window: &WindowCall) -> Option<f64> {
        let Some(windows) = self.windows else { return self.alone(window) };
        let same = |sorted: &SortedWindow| std::ptr::eq(sorted.window, window) || sorted.window == window;
        let at = windows.all.windows.iter().position(same)?;
        let (sorted, atoms) = (&windows.all.windows[at], windows.own.frames[at].iter());
        let value = |atom: &Atom, of: &Term| of.value(&self.of_others(windows, atom));
        match (&window.function, window.argument()) {
            (_, None) if window.is_rank() => sorted.ranks[windows.row],
            (_, None) => Some(windows.own.counts[at] as f64),
            (WindowFunction::First(_) | WindowFunction::Last(_) | WindowFunction::Offset(..), Some(of)) => {
                atoms.clone().next().and_then(|atom| value(atom, of))
            }
            (_, Some(of)) => window.of_rows(atoms.map(|atom| (value(atom, of), atom.count))),
        }
    }
}

impl<'a> Parts<'a> {
    /// A window over the only row of a sub-query.
    fn alone(&self, window: &WindowCall) -> Option<f64> {
        match (&window.function, window.argument()) {
            (WindowFunction::Offset(_, rows), _) if *rows != 0 => None,
            (_, Some(of)) => of.value(self),
            (WindowFunction::PercentRank, None) => Some(0.0),
            (_, None) => Some(1.0),
        }
    }

    /// The same of other rows, or of this one.
    fn of_others(&self, windows: WindowsOfRow<'a>, atom: &Atom) -> Parts<'a> {
        let (keys, quantiles) = match atom.row == windows.row {
            true => (self.keys, self.quantiles),
            false => (windows.maker.keys(atom.row), windows.maker.quantiles(atom.row)),
        };
        Parts { own: atom.first, keys, quantiles, windows: None, ..*self }
    }
}

/// An aggregate from its parts.
fn made_of<'p>(function: &Function, part: impl Fn(usize) -> &'p Part, steps: &[f64]) -> Option<f64> {
    let divisor = |sample: bool| if sample { Divisor::Sample } else { Divisor::Population };
    match function {
        Function::Rows
        | Function::NonNull(_)
        | Function::Units
        | Function::Distinct(_)
        | Function::Clamped
        | Function::Sum(_) => Some(steps[0] * part(0).step),
        Function::Average(_) => {
            let Centred { centre, .. } = centred(part(0))?;
            (steps[1] > 0.0).then(|| (*centre as f64 + steps[0] / steps[1]) * part(0).step)
        }
        Function::Spread { of: _, sample, root } => {
            let (column, step) = (OneColumn::new(steps)?, part(1).step);
            match root {
                true => Some(column.deviation(divisor(*sample))? * step),
                false => Some(column.variance(divisor(*sample))? * step * step),
            }
        }
        Function::Pair { function, .. } => {
            let columns = TwoColumns::new(steps)?;
            let (x, y) = (part(1).step, part(3).step);
            match function {
                PairFunction::PopulationCovariance => Some(columns.covariance(Divisor::Population)? * x * y),
                PairFunction::SampleCovariance => Some(columns.covariance(Divisor::Sample)? * x * y),
                PairFunction::Correlation => columns.correlation(),
                PairFunction::Slope => Some(columns.slope()? * y / x),
                PairFunction::Intercept => {
                    let (at, above) = (centred(part(1))?.centre as f64, centred(part(3))?.centre as f64);
                    Some((above + columns.height(-at)?) * y)
                }
            }
        }
        Function::Quantile { .. } | Function::Mode { .. } => None,
    }
}

fn centred(part: &Part) -> Option<&Centred> {
    match &part.measure.quantity {
        Quantity::Sum(centred) => Some(centred),
        _ => None,
    }
}
