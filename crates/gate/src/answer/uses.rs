//! What a number is made of, and what it divides by.

use super::estimates::AnsweredGroup;
use super::selection::own_parts;
use crate::plan::Made;
use crate::question::aggregate::{Function, PairFunction};
use crate::question::scalar::NumericExpr;
use crate::question::term::Term;
use crate::question::window::WindowCall;
use crate::statistics::{OneColumn, TwoColumns};

/// What a term is made of, and what it divides by.
pub(super) struct Uses<'t> {
    /// Counts by which it divides, by their places among the parts.
    pub(super) counts: Vec<usize>,
    pub(super) divisors: Vec<Divided<'t>>,
    pub(super) range: [f64; 2],
    pub(super) positive: bool,
    /// Whether a quantile is a part of it.
    pub(super) quantile: bool,
    /// Whether nothing is known of how it errs: where the order of noisy numbers is a part of it, or too many other rows are.
    pub(super) unknown: bool,
    /// The group's own parts.
    pub(super) own: Vec<usize>,
}

/// Something other than a count that a term divides by, at the place where the parts of its row begin.
pub(super) enum Divided<'t> {
    Term(&'t Term, usize),
    /// The variance of x, and of y, of the moments at these places.
    X(Vec<usize>),
    Y(Vec<usize>),
}

impl Divided<'_> {
    pub(super) fn value(&self, group: &AnsweredGroup, steps: &[f64]) -> Option<f64> {
        let moments = |places: &[usize]| TwoColumns::new(&places.iter().map(|place| steps[*place]).collect::<Vec<_>>());
        let variance = |column: OneColumn| column.variance(crate::statistics::Divisor::Population);
        match self {
            Divided::Term(term, first) => term.value(&super::known::Parts { own: *first, ..group.parts(steps, &[]) }),
            Divided::X(places) => variance(moments(places)?.x()),
            Divided::Y(places) => variance(moments(places)?.y()),
        }
    }
}

impl<'t> Uses<'t> {
    pub(super) fn of(term: &'t Term, group: &AnsweredGroup) -> Uses<'t> {
        let mut uses = Uses {
            counts: Vec::new(),
            divisors: Vec::new(),
            range: [f64::NEG_INFINITY, f64::INFINITY],
            positive: false,
            quantile: false,
            unknown: false,
            own: Vec::new(),
        };
        term.walk(&mut |inner| uses.own.extend(own_parts(inner, group.plan)));
        uses.term(term, 0, group);
        if let Term::Aggregate(at) = term {
            uses.range = range(&group.query.aggregates[*at].function);
            uses.positive = matches!(group.query.aggregates[*at].function, Function::Spread { .. });
        }
        uses
    }

    /// A term of the row whose parts begin at a place.
    fn term(&mut self, term: &'t Term, first: usize, group: &AnsweredGroup) {
        // What a window is made of is looked at row by row.
        let mut inside: Vec<*const Term> = Vec::new();
        term.walk(&mut |inner| {
            if let Term::Window(window) = inner {
                window.terms().for_each(|of| of.walk(&mut |part| inside.push(part)));
            }
        });
        term.walk(&mut |inner| match inner {
            inner if inside.contains(&std::ptr::from_ref(inner)) => {}
            Term::Aggregate(at) => match &group.plan.aggregates[*at] {
                Made::Quantile(_) | Made::Mode(_) => self.quantile = true,
                Made::Parts(places) => {
                    let places: Vec<usize> = places.iter().map(|place| first + place).collect();
                    self.aggregate(&group.query.aggregates[*at].function, &places);
                }
            },
            Term::Quotient(_, divisor) => self.divisor(divisor, first, group),
            Term::Window(window) => self.window(window, group),
            _ => {}
        });
    }

    fn window(&mut self, window: &'t WindowCall, group: &AnsweredGroup) {
        let windows = &group.windows;
        let Some(at) = windows.all.windows.iter().position(|sorted| sorted.window == window) else { return };
        self.unknown |= windows.own.is_too_long || window.is_sorted_by_noise();
        if let Some(of) = window.argument().filter(|_| !self.unknown) {
            windows.own.frames[at].iter().for_each(|atom| self.term(of, atom.first, group));
        }
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

    fn divisor(&mut self, divisor: &'t Term, first: usize, group: &AnsweredGroup) {
        if let Term::Aggregate(at) = divisor
            && let (Made::Parts(places), false) =
                (&group.plan.aggregates[*at], matches!(group.query.aggregates[*at].function, Function::Sum(_)))
            && let [place] = places.as_slice()
        {
            self.counts.push(first + place);
        } else if !matches!(divisor, Term::Constant(_)) {
            self.divisors.push(Divided::Term(divisor, first));
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
