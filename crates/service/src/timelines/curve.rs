//! A curve over the charges of an account: few points of many, and every jump.
//!
//! Every so many-th point is kept, and where there would be too many of them, every second of those goes. That alone would hide a
//! jump between two points that are kept, or draw it as a slope; so both ends of the largest steps are kept besides, as they arrive.

use jiff::Timestamp;

/// An account after a record about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// How many charges it had paid.
    pub charges: u64,
    /// The record.
    pub sequence: u64,
    /// When the record was written, by the clock of whoever wrote it.
    pub time: Timestamp,
    /// What the odometer read; nothing without a bound.
    pub reading: Option<f64>,
    /// The share of the budget that was left; nothing without a budget.
    pub left: Option<f64>,
}

/// The most points that are kept for being the so many-th.
const THINNED: usize = 512;

/// The steps of the reading whose ends are kept, and as many of what is left.
const STEPS: usize = 64;

/// A thinned series of points: those, two for each step, and the newest. That is at most 769 points, which take 50 kB.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Every `stride`-th point, from the first.
    thinned: Vec<Point>,
    /// A power of two: less than the 256th part of all points, or 1.
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
            // As many were kept as there is room for, which is an even number: this one is the so many-th in the new count too.
            self.thinned.push(point);
        }
        self.pushed += 1;
        self.newest = Some(point);
    }

    /// The newest point.
    pub fn newest(&self) -> Option<&Point> {
        self.newest.as_ref()
    }

    /// The points that are kept, in order. What lies between two of them is drawn as a step at the second.
    pub fn points(&self) -> Vec<Point> {
        let steps = self.reading.0.iter().chain(&self.left.0);
        let ends = steps.flat_map(|step| [step.before, step.after]);
        let mut points: Vec<Point> = self.thinned.iter().copied().chain(ends).chain(self.newest).collect();
        points.sort_unstable_by_key(|point| point.sequence);
        points.dedup_by_key(|point| point.sequence);
        points
    }
}

/// The largest steps between points that follow each other, the largest first.
#[derive(Clone, Debug, Default)]
struct Steps(Vec<Step>);

#[derive(Clone, Copy, Debug)]
struct Step {
    size: f64,
    before: Point,
    after: Point,
}

impl Steps {
    /// Takes a step if it is one of the largest; of equal ones the first stay.
    fn offer(&mut self, size: f64, before: Point, after: Point) {
        // What is not a step is not kept, and neither is what is not a number.
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

/// The size of a step. To lose a bound, or to get one, is the largest of all.
fn size(before: Option<f64>, after: Option<f64>) -> f64 {
    match (before, after) {
        (Some(before), Some(after)) => (after - before).abs(),
        (None, None) => 0.0,
        (Some(_), None) | (None, Some(_)) => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests;
