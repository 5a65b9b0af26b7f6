//! Window functions over the rows of a noisy answer. They are free: nothing here touches the data.

use super::term::Term;

/// A window function: what is computed, of which rows of the answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WindowCall {
    pub(crate) function: WindowFunction,
    /// Groups by their places in [`super::Query::groups`]: only rows with the same values are looked at.
    pub(crate) partition: Vec<usize>,
    /// What the rows are sorted by, and whether the greater comes first. What is not known comes last.
    pub(crate) order: Vec<(Term, bool)>,
    pub(crate) frame: Frame,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WindowFunction {
    /// The place among all rows, from 1 on.
    RowNumber,
    /// One more than how many rows come before.
    Rank,
    /// One more than how many different ones come before.
    DenseRank,
    /// The part of the rows that a row is in, of this many that are as large as each other, or one row larger.
    Tile(usize),
    /// How many rows come before, as a share of all others.
    PercentRank,
    /// How many rows come before or are sorted as this one is, as a share of all.
    CumulativeShare,
    /// How many rows there are.
    Rows,
    /// The sum of those that are not null.
    Sum(Term),
    /// The mean of those that are not null.
    Average(Term),
    Least(Term),
    Greatest(Term),
    First(Term),
    Last(Term),
    /// The value some rows before, if it is negative, or behind. Its frame is all rows.
    Offset(Term, i64),
}

/// Which rows around one are looked at, of those with the same partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    All,
    /// From the first one on up to those that are sorted as this one is.
    UpToPeers,
    /// From a number of rows behind this one on, which is negative for those before it, up to another one; nothing is no end.
    Rows(Option<i64>, Option<i64>),
}

impl WindowCall {
    /// Whether it only says at which place a row is.
    pub(crate) fn is_rank(&self) -> bool {
        self.argument().is_none() && self.function != WindowFunction::Rows
    }

    /// What is computed of each row.
    pub(crate) fn argument(&self) -> Option<&Term> {
        match &self.function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::Tile(_)
            | WindowFunction::PercentRank
            | WindowFunction::CumulativeShare
            | WindowFunction::Rows => None,
            WindowFunction::Sum(of)
            | WindowFunction::Average(of)
            | WindowFunction::Least(of)
            | WindowFunction::Greatest(of)
            | WindowFunction::First(of)
            | WindowFunction::Last(of)
            | WindowFunction::Offset(of, _) => Some(of),
        }
    }

    /// What is said of a place from 1 on, of this number of rows. A place among all rows, or one behind those that come before: as the
    /// function counts them.
    pub(crate) fn of_place(&self, place: usize, rows: usize) -> f64 {
        match self.function {
            WindowFunction::Tile(tiles) => {
                // The first of them have one row more.
                let (size, larger) = (rows / tiles, rows % tiles);
                let tile = match (place - 1).checked_sub(larger * (size + 1)) {
                    None => (place - 1) / (size + 1),
                    Some(behind) => larger + behind / size,
                };
                tile as f64 + 1.0
            }
            WindowFunction::PercentRank => (place - 1) as f64 / rows.saturating_sub(1).max(1) as f64,
            WindowFunction::CumulativeShare => place as f64 / rows as f64,
            _ => place as f64,
        }
    }

    /// Whether noisy numbers decide how the rows are sorted.
    pub(crate) fn is_sorted_by_noise(&self) -> bool {
        self.order.iter().any(|(term, _)| !matches!(term, Term::Group(_)))
    }

    /// Whether its argument and what it is sorted by are computed without another window.
    pub(crate) fn is_flat(&self) -> bool {
        self.terms().all(|term| {
            let mut flat = true;
            term.walk(&mut |inner| flat &= !matches!(inner, Term::Window(_)));
            flat
        })
    }

    /// Everything that it is made of.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &Term> {
        self.argument().into_iter().chain(self.order.iter().map(|(term, _)| term))
    }

    /// Its value from those of the rows in its frame, in their order, each with how many rows it stands for.
    pub(crate) fn of_rows(&self, values: impl Iterator<Item = (Option<f64>, usize)>) -> Option<f64> {
        let mut rows = 0usize;
        let known = values.filter_map(|(value, count)| {
            rows += if value.is_some() { count } else { 0 };
            value
        });
        match &self.function {
            WindowFunction::Sum(_) => known.reduce(|one, other| one + other),
            WindowFunction::Average(_) => {
                let sum = known.reduce(|one, other| one + other)?;
                Some(sum / rows as f64)
            }
            WindowFunction::Least(_) => known.reduce(f64::min),
            WindowFunction::Greatest(_) => known.reduce(f64::max),
            _ => None,
        }
    }
}
