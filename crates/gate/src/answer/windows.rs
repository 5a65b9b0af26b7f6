//! Windows: which rows of an answer a number is made of, and at which place a row is.
//!
//! Where the keys of the groups alone decide which rows are in a frame, a sum over it is a sum of noisy numbers. The other rows are put
//! together as far as all sums of a row take them together: each such part is one number with the noise of all its rows, drawn as one, so
//! that shares and running shares follow from noise that is drawn once. What is not a plain count or sum is drawn row by row.
//!
//! Places are those of the noisy numbers. Their intervals follow from intervals of the numbers that hold for all rows together: a row is
//! surely behind another one if their intervals do not meet, and has a place from one behind all that are surely before it to one before
//! all that are surely behind it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::{NoisyGroup, NoisyQuery};
use crate::plan::{Made, QueryPlan};
use crate::question::term::Term;
use crate::question::window::{Frame, WindowCall, WindowFunction};

/// From how many rows on that are drawn one by one there is no interval.
const MOST_SINGLE: usize = 64;

/// The windows of a SELECT over all its rows.
pub(super) struct Windows<'a> {
    plan: &'a QueryPlan,
    pub(super) windows: Vec<SortedWindow<'a>>,
    rows: usize,
}

/// The rows of a window in their order.
pub(super) struct SortedWindow<'a> {
    pub(super) window: &'a WindowCall,
    /// All rows, those of one partition together.
    sorted: Vec<usize>,
    /// For every row its place among them, where its partition begins and ends, and where the rows that are sorted as it is begin and end.
    places: Vec<WindowPlace>,
    /// At which place a row is, for those that say so; nothing where that is not known.
    pub(super) ranks: Vec<Option<f64>>,
}

#[derive(Clone, Copy, Default)]
struct WindowPlace {
    at: usize,
    partition: (usize, usize),
    peers: (usize, usize),
}

/// What the windows of one row are made of, beside the row itself.
#[derive(Default)]
pub(super) struct RowWindows {
    /// Rows that are taken together.
    pub(super) atoms: Vec<Vec<usize>>,
    /// For every window, the atoms of its frame in their order.
    pub(super) frames: Vec<Vec<Atom>>,
    /// For every window, how many rows its frame has.
    pub(super) counts: Vec<usize>,
    /// Whether there are too many rows to draw.
    pub(super) is_too_long: bool,
}

/// Some rows, whose parts together begin at a place.
#[derive(Clone, Copy)]
pub(super) struct Atom {
    pub(super) first: usize,
    /// One of them.
    pub(super) row: usize,
    pub(super) count: usize,
}

impl<'a> Windows<'a> {
    /// Sorts the rows of every window, by the noisy values of what it is sorted by.
    pub(super) fn new(noisy: &NoisyQuery<'a>, value: &dyn Fn(usize, &Term) -> Option<f64>) -> Windows<'a> {
        let windows = noisy.query.windows().into_iter().map(|window| SortedWindow::new(window, &noisy.groups, value));
        Windows { plan: noisy.plan, windows: windows.collect(), rows: noisy.groups.len() }
    }

    /// Whether the sum of an argument over rows is that of the sum of its one part.
    fn adds_up(&self, window: &WindowCall) -> bool {
        match &window.function {
            WindowFunction::Sum(Term::Aggregate(at)) | WindowFunction::Average(Term::Aggregate(at)) => {
                matches!(&self.plan.aggregates[*at], Made::Parts(places) if places.len() == 1)
            }
            _ => false,
        }
    }

    /// What the windows of a row are made of.
    pub(super) fn of_row(&self, row: usize) -> RowWindows {
        if self.windows.is_empty() {
            return RowWindows::default();
        }
        let own = self.plan.parts.len();
        let frames: Vec<Vec<usize>> = self.windows.iter().map(|window| window.frame(row)).collect();
        let (mut signatures, mut single) = (vec![0u64; self.rows], BTreeSet::new());
        for (at, (sorted, frame)) in self.windows.iter().zip(&frames).enumerate() {
            match self.adds_up(sorted.window) && at < 63 {
                true => frame.iter().for_each(|other| signatures[*other] |= 1 << at),
                false if sorted.window.argument().is_some() => single.extend(frame.iter().copied()),
                false => {}
            }
        }
        single.remove(&row);
        let mut together: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for other in (0..self.rows).filter(|other| *other != row && signatures[*other] != 0 && !single.contains(other))
        {
            together.entry(signatures[other]).or_default().push(other);
        }
        let atoms: Vec<Vec<usize>> = single.iter().map(|other| vec![*other]).chain(together.into_values()).collect();
        let mut atom_of = vec![None; self.rows];
        for (at, atom) in atoms.iter().enumerate() {
            atom.iter().for_each(|other| atom_of[*other] = Some(at));
        }
        let of_frame = |frame: &Vec<usize>| {
            let mut seen = vec![false; atoms.len()];
            let atom = |other: &usize| match atom_of[*other] {
                None => (*other == row).then_some(Atom { first: 0, row, count: 1 }),
                Some(at) if seen[at] => None,
                Some(at) => {
                    seen[at] = true;
                    Some(Atom { first: own * (at + 1), row: atoms[at][0], count: atoms[at].len() })
                }
            };
            frame.iter().filter_map(atom).collect()
        };
        RowWindows {
            frames: frames.iter().map(of_frame).collect(),
            counts: frames.iter().map(Vec::len).collect(),
            is_too_long: single.len() > MOST_SINGLE,
            atoms,
        }
    }
}

impl<'a> SortedWindow<'a> {
    fn new(window: &'a WindowCall, groups: &[NoisyGroup], value: &dyn Fn(usize, &Term) -> Option<f64>) -> Self {
        let values: Vec<Vec<Option<f64>>> = window
            .order
            .iter()
            .map(|(term, _)| match term {
                Term::Group(_) => Vec::new(),
                term => (0..groups.len()).map(|row| value(row, term)).collect(),
            })
            .collect();
        let partition = |one: usize, other: usize| {
            let keys = window.partition.iter().map(|at| groups[one].keys[*at].compare(&groups[other].keys[*at]));
            keys.fold(Ordering::Equal, Ordering::then)
        };
        let order = |one: usize, other: usize| {
            let compare = |(at, (term, descending)): (usize, &(Term, bool))| match term {
                Term::Group(key) => {
                    let ordering = groups[one].keys[*key].compare(&groups[other].keys[*key]);
                    if *descending { ordering.reverse() } else { ordering }
                }
                _ => match (values[at][one], values[at][other]) {
                    (Some(one), Some(other)) if *descending => other.total_cmp(&one),
                    (Some(one), Some(other)) => one.total_cmp(&other),
                    (one, other) => other.is_some().cmp(&one.is_some()),
                },
            };
            window.order.iter().enumerate().map(compare).fold(Ordering::Equal, Ordering::then)
        };
        let mut sorted: Vec<usize> = (0..groups.len()).collect();
        // Stable: what is equal stays in the order of the groups.
        sorted.sort_by(|one, other| partition(*one, *other).then_with(|| order(*one, *other)));
        let ends = |same: &dyn Fn(usize, usize) -> bool| {
            let mut ends = vec![(0, 0); sorted.len()];
            let mut begins = 0;
            for at in 1..=sorted.len() {
                if at == sorted.len() || !same(sorted[at - 1], sorted[at]) {
                    (begins..at).for_each(|inside| ends[inside] = (begins, at));
                    begins = at;
                }
            }
            ends
        };
        let partitions = ends(&|one, other| partition(one, other).is_eq());
        let peers = ends(&|one, other| partition(one, other).is_eq() && order(one, other).is_eq());
        let mut places = vec![WindowPlace::default(); sorted.len()];
        let mut ranks = vec![None; sorted.len()];
        let mut different = 0;
        for (at, row) in sorted.iter().enumerate() {
            places[*row] = WindowPlace { at, partition: partitions[at], peers: peers[at] };
            different = if partitions[at].0 == at { 1 } else { different + usize::from(peers[at].0 == at) };
            let (first, last) = partitions[at];
            let place = match window.function {
                WindowFunction::RowNumber | WindowFunction::Tile(_) => at - first + 1,
                WindowFunction::Rank | WindowFunction::PercentRank => peers[at].0 - first + 1,
                WindowFunction::CumulativeShare => peers[at].1 - first,
                WindowFunction::DenseRank => different,
                _ => continue,
            };
            let is_known = values.iter().all(|values| values.is_empty() || values[*row].is_some());
            ranks[*row] = is_known.then(|| window.of_place(place, last - first));
        }
        SortedWindow { window, sorted, places, ranks }
    }

    /// The rows in the frame of a row, in their order. Of those that take one, that one.
    fn frame(&self, row: usize) -> Vec<usize> {
        let WindowPlace { at, partition, peers } = self.places[row];
        let moved = |rows: i64| at as i64 + rows;
        let (first, last) = match self.window.frame {
            Frame::All => partition,
            Frame::UpToPeers => (partition.0, peers.1),
            Frame::Rows(from, to) => {
                let inside = |place: i64| place.clamp(partition.0 as i64, partition.1 as i64) as usize;
                let first = from.map_or(partition.0, |rows| inside(moved(rows)));
                let last = to.map_or(partition.1, |rows| inside(moved(rows) + 1));
                (first, last.max(first))
            }
        };
        let frame = &self.sorted[first..last];
        match self.window.function {
            WindowFunction::First(_) => frame.first().copied().into_iter().collect(),
            WindowFunction::Last(_) => frame.last().copied().into_iter().collect(),
            WindowFunction::Offset(_, rows) => {
                let place = usize::try_from(moved(rows)).ok();
                let place = place.filter(|place| (partition.0..partition.1).contains(place));
                place.map(|place| self.sorted[place]).into_iter().collect()
            }
            _ => frame.to_vec(),
        }
    }

    /// What is said of the least and of the greatest place that a row may have, by intervals of what it is sorted by: for each of them
    /// one for every row, nothing where nothing is known.
    pub(super) fn interval(&self, row: usize, groups: &[NoisyGroup], bounds: &[Vec<Option<[f64; 2]>>]) -> [f64; 2] {
        let WindowPlace { partition, .. } = self.places[row];
        let (mut before, mut perhaps) = (0, 0);
        // Rows that are sorted as this one is: which of them come first is not known, or all of them count.
        let with_peers = matches!(
            self.window.function,
            WindowFunction::RowNumber | WindowFunction::Tile(_) | WindowFunction::CumulativeShare
        );
        for other in self.sorted[partition.0..partition.1].iter().filter(|other| **other != row) {
            match self.surely(*other, row, groups, bounds) {
                Some(Ordering::Less) => before += 1,
                Some(Ordering::Greater) => {}
                Some(Ordering::Equal) if !with_peers => {}
                Some(Ordering::Equal) if self.window.function == WindowFunction::CumulativeShare => before += 1,
                _ => perhaps += 1,
            }
        }
        let least = match self.window.function {
            // All before it may be equal.
            WindowFunction::DenseRank if self.window.is_sorted_by_noise() => before.min(1),
            _ => before,
        };
        [least + 1, before + perhaps + 1].map(|place| self.window.of_place(place, partition.1 - partition.0))
    }

    /// The order of two rows, if it is known.
    fn surely(
        &self,
        one: usize,
        other: usize,
        groups: &[NoisyGroup],
        bounds: &[Vec<Option<[f64; 2]>>],
    ) -> Option<Ordering> {
        for ((term, descending), bounds) in self.window.order.iter().zip(bounds) {
            let ordering = match term {
                Term::Group(key) => groups[one].keys[*key].compare(&groups[other].keys[*key]),
                _ => match (bounds[one]?, bounds[other]?) {
                    ([_, high], [low, _]) if high < low => Ordering::Less,
                    ([low, _], [_, high]) if low > high => Ordering::Greater,
                    _ => return None,
                },
            };
            match ordering {
                Ordering::Equal => {}
                ordering => return Some(if *descending { ordering.reverse() } else { ordering }),
            }
        }
        Some(Ordering::Equal)
    }
}
