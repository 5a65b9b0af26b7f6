//! The rows of a SELECT, each with everything that its numbers are made of.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::estimates::AnsweredGroup;
use super::known::{Parts, Subquery};
use super::selection::Selection;
use super::windows::{RowWindows, Windows};
use super::{Answering, NoisyQuery};
use crate::document::Cell;
use crate::plan::{MISS, QueryPlan};
use crate::question::term::Term;
use crate::statistics::{NoiseDraws, SummedNoise, number_of_draws, simultaneous_miss};

/// Makes the rows of a SELECT.
pub(super) struct RowMaker<'a> {
    answering: &'a Answering<'a>,
    noisy: &'a NoisyQuery<'a>,
    selection: &'a Selection<'a>,
    windows: Windows<'a>,
    /// The parts and the quantiles of sub-queries.
    scalar_steps: Vec<f64>,
    scalar_quantiles: Vec<Vec<f64>>,
    /// The quantiles of every row.
    quantiles: Vec<Vec<f64>>,
    seed: [u8; 32],
    /// Draws of the noise, for rows whose windows are made of as many others.
    draws: RefCell<HashMap<Vec<usize>, Rc<NoiseDraws>>>,
}

impl<'a> RowMaker<'a> {
    pub(super) fn new(answering: &'a Answering<'a>, noisy: &'a NoisyQuery<'a>, selection: &'a Selection<'a>) -> Self {
        let scalars = answering.scalars.iter();
        let scalar_steps: Vec<f64> =
            scalars.clone().flat_map(|scalar| &scalar.groups[0].parts).map(|steps| *steps as f64).collect();
        let scalar_quantiles: Vec<Vec<f64>> = scalars.map(|scalar| scalar.quantile_values(0)).collect();
        let quantiles: Vec<Vec<f64>> = (0..noisy.groups.len()).map(|row| noisy.quantile_values(row)).collect();
        let parts = noisy.groups.iter().map(|group| &group.parts).collect::<Vec<_>>();
        let seed = *blake3::hash(format!("{parts:?}").as_bytes()).as_bytes();
        let own = noisy.plan.parts.len();
        // What windows are sorted by is computed of each row alone.
        let value = |row: usize, term: &Term| {
            let steps: Vec<f64> = own_steps(noisy, row).chain(scalar_steps.iter().copied()).collect();
            let scalars = subqueries(answering.scalars, &scalar_quantiles, own);
            let (query, plan, keys) = (noisy.query, noisy.plan, noisy.groups[row].keys.as_slice());
            let parts = Parts {
                query,
                plan,
                keys,
                steps: &steps,
                own: 0,
                quantiles: &quantiles[row],
                scalars: &scalars,
                windows: None,
            };
            term.value(&parts)
        };
        let windows = Windows::new(noisy, &value);
        let draws = RefCell::default();
        RowMaker { answering, noisy, selection, windows, scalar_steps, scalar_quantiles, quantiles, seed, draws }
    }

    /// All rows that are shown.
    pub(super) fn rows(&self) -> Vec<Vec<Cell>> {
        let places = self.places();
        let row = |at: usize| {
            self.with(at, &places, |group| {
                let shown = self.noisy.query.having.as_ref().is_none_or(|having| group.holds(having));
                shown.then(|| group.cells())
            })
        };
        (0..self.noisy.groups.len()).filter_map(row).collect()
    }

    /// For every window that says at which place a row is, the least and the greatest place of every row.
    fn places(&self) -> Vec<Vec<[f64; 2]>> {
        let groups = &self.noisy.groups;
        let miss = simultaneous_miss(MISS, groups.len());
        let of_window = |sorted: &super::windows::SortedWindow| {
            if !sorted.window.is_rank() {
                return Vec::new();
            }
            let bounds = |(term, _): &(Term, bool)| match term {
                Term::Group(_) => Vec::new(),
                term => (0..groups.len()).map(|at| self.with(at, &[], |group| group.bounds(term, miss))).collect(),
            };
            let bounds: Vec<Vec<Option<[f64; 2]>>> = sorted.window.order.iter().map(bounds).collect();
            (0..groups.len()).map(|row| sorted.interval(row, groups, &bounds)).collect()
        };
        self.windows.windows.iter().map(of_window).collect()
    }

    /// Calls a function with a row and everything that it is made of.
    fn with<T>(&self, at: usize, places: &[Vec<[f64; 2]>], see: impl FnOnce(&AnsweredGroup) -> T) -> T {
        let NoisyQuery { query, plan, groups } = self.noisy;
        let windows = self.windows.of_row(at);
        let steps = own_steps(self.noisy, at);
        let of_atoms = windows.atoms.iter().flat_map(|atom| {
            (0..plan.parts.len()).map(|part| atom.iter().map(|row| groups[*row].parts[part] as f64).sum())
        });
        let steps: Vec<f64> = steps.chain(of_atoms).collect();
        let scalars = subqueries(self.answering.scalars, &self.scalar_quantiles, steps.len());
        let steps: Vec<f64> = steps.into_iter().chain(self.scalar_steps.iter().copied()).collect();
        let draws = self.draws(&windows);
        let group = AnsweredGroup {
            query,
            plan,
            keys: &groups[at].keys,
            noisy: &groups[at].parts,
            steps: &steps,
            quantiles: &groups[at].quantiles,
            modes: &groups[at].modes,
            scalars: &scalars,
            draws: &draws.group(&steps, self.selection.found()),
            selection: self.selection,
            at,
            clamp: self.answering.clamp,
            windows: WindowsOfRow { row: at, own: &windows, all: &self.windows, places, maker: self },
        };
        see(&group)
    }

    /// Draws of the noise on what a row's outputs are made of: its own parts, those of other rows, and those of sub-queries.
    fn draws(&self, windows: &RowWindows) -> Rc<NoiseDraws> {
        let addends: Vec<usize> = match windows.is_too_long {
            // Nothing is drawn.
            true => vec![1; windows.atoms.len()],
            false => windows.atoms.iter().map(Vec::len).collect(),
        };
        if let Some(draws) = self.draws.borrow().get(&addends) {
            return draws.clone();
        }
        let of = |plan: &QueryPlan, addends: usize| -> Vec<SummedNoise> {
            plan.parts.iter().map(|part| SummedNoise::new(part.noise.law(), addends)).collect()
        };
        let scalars = self.answering.scalars.iter().flat_map(|scalar| of(scalar.plan, 1));
        let others = addends.iter().flat_map(|addends| of(self.noisy.plan, *addends));
        let laws: Vec<SummedNoise> = of(self.noisy.plan, 1).into_iter().chain(others).chain(scalars).collect();
        let count = number_of_draws(self.noisy.groups.len(), self.noisy.query.outputs.len());
        let draws = Rc::new(NoiseDraws::new(&laws, count, &self.seed));
        // Of rows that differ, as in a running total, the draws are not needed again.
        if self.draws.borrow().len() < 64 {
            self.draws.borrow_mut().insert(addends, draws.clone());
        }
        draws
    }

    /// The values of the groups of a row.
    pub(super) fn keys(&self, row: usize) -> &[crate::schema::Value] {
        &self.noisy.groups[row].keys
    }

    /// The quantiles of a row.
    pub(super) fn quantiles(&self, row: usize) -> &[f64] {
        &self.quantiles[row]
    }
}

/// The windows of a row.
#[derive(Clone, Copy)]
pub(super) struct WindowsOfRow<'a> {
    pub(super) row: usize,
    pub(super) own: &'a RowWindows,
    pub(super) all: &'a Windows<'a>,
    pub(super) places: &'a [Vec<[f64; 2]>],
    pub(super) maker: &'a RowMaker<'a>,
}

fn own_steps<'n>(noisy: &'n NoisyQuery, row: usize) -> impl Iterator<Item = f64> + use<'n> {
    noisy.groups[row].parts.iter().map(|steps| *steps as f64)
}

/// The sub-queries, whose parts begin behind those of a row.
fn subqueries<'s>(scalars: &'s [NoisyQuery<'s>], quantiles: &'s [Vec<f64>], mut first: usize) -> Vec<Subquery<'s>> {
    let scalar = |(scalar, quantiles): (&'s NoisyQuery<'s>, &'s Vec<f64>)| {
        let begins = first;
        first += scalar.plan.parts.len();
        Subquery { query: scalar.query, plan: scalar.plan, first: begins, quantiles }
    };
    scalars.iter().zip(quantiles).map(scalar).collect()
}
