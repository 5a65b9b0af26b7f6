//! A curve over the charges of an account: a few points of many, and every jump.
//!
//! Every n-th point is kept; when there are too many, n doubles. That alone would hide a jump between two kept points, or draw it as a
//! slope, so both ends of the largest steps are kept as well.

use jiff::Timestamp;

/// An account after a record about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// How many charges it had paid.
    pub charges: u64,
    /// The record.
    pub sequence: u64,
    /// When the record was written, by the clock of its writer.
    pub time: Timestamp,
    /// What the odometer read; `None` without a bound.
    pub reading: Option<f64>,
    /// The share of the budget that was left; `None` without a budget.
    pub left: Option<f64>,
}

/// The most points of every n-th.
const THINNED: usize = 512;

/// How many steps are kept for the reading, and how many for what is left.
const STEPS: usize = 64;

/// A thinned series of points, two points per step, and the newest: at most 769 points, which take 50 kB.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Every `stride`-th point, from the first.
    thinned: Vec<Point>,
    /// A power of two: 1, or less than 1/256 of all points.
    stride: u64,
    pushed: u64,
    newest: Option<Point>,
    reading: Steps,
    left: Steps,
}

impl Default for Curve {
    fn default() -> Self {
        let [reading, left] = Default::default();
        Curve { thinned: Vec::new(), stride: 1, pushed: 0, newest: None, reading, left }
    }
}

impl Curve {
    /// Adds a point. They come in the order of their records.
    pub fn push(&mut self, point: Point) {
        if let Some(before) = self.newest {
            self.reading.offer(size(before.reading, point.reading), before, point);
            self.left.offer(size(before.left, point.left), before, point);
        }
        if self.pushed.is_multiple_of(self.stride) {
            if self.thinned.len() == THINNED {
                let mut is_kept = false;
                self.thinned.retain(|_| {
                    is_kept = !is_kept;
                    is_kept
                });
                self.stride *= 2;
            }
            // The list was full with an even number of points, so this point is also on the doubled stride.
            self.thinned.push(point);
        }
        self.pushed += 1;
        self.newest = Some(point);
    }

    /// The newest point.
    pub fn newest(&self) -> Option<&Point> {
        self.newest.as_ref()
    }

    /// The kept points, in order. Between two of them a step is drawn at the second.
    pub fn points(&self) -> Vec<Point> {
        let steps = self.reading.0.iter().chain(&self.left.0);
        let ends = steps.flat_map(|step| [step.before, step.after]);
        let mut points: Vec<Point> = self.thinned.iter().copied().chain(ends).chain(self.newest).collect();
        points.sort_unstable_by_key(|point| point.sequence);
        points.dedup_by_key(|point| point.sequence);
        points
    }
}

/// The largest steps between consecutive points, the largest first.
#[derive(Clone, Debug, Default)]
struct Steps(Vec<Step>);

#[derive(Clone, Copy, Debug)]
struct Step {
    size: f64,
    before: Point,
    after: Point,
}

impl Steps {
    /// Keeps a step if it is one of the largest; of equal ones the first stay.
    fn offer(&mut self, size: f64, before: Point, after: Point) {
        // Also false for NaN.
        if !(size > 0.0) {
            return;
        }
        let at = self.0.partition_point(|known| known.size >= size);
        if at < STEPS {
            self.0.truncate(STEPS - 1);
            self.0.insert(at, Step { size, before, after });
        }
    }
}

/// The size of a step. Losing or gaining a bound is the largest of all.
fn size(before: Option<f64>, after: Option<f64>) -> f64 {
    match (before, after) {
        (Some(before), Some(after)) => (after - before).abs(),
        (None, None) => 0.0,
        (Some(_), None) | (None, Some(_)) => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests;
