//! Estimates from many independent runs, each with an interval that holds whatever the number of runs.
//!
//! Runs are numbered, and each takes its randomness from its number. They are played in parallel in chunks of a fixed size, and the
//! chunks are added up in order: the result is the same, bit for bit, for any number of threads.

mod beta;
mod experiment;
mod importance;
mod interval;
mod moments;

use std::ops::Range;

use rayon::prelude::*;

pub use experiment::{Experiment, Sampling};
pub use importance::{TiltedNature, Tilts};
pub use interval::{clopper_pearson, empirical_bernstein};

use crate::error::Error;
use crate::random::Run;
use moments::Moments;

/// How many runs are played before their results are handed over.
const CHUNK: u64 = 512;

/// How many chunks are played before progress is told.
const AT_ONCE: u64 = 64;

/// How an estimate is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunPlan {
    /// How many runs.
    pub runs: u64,
    /// What all randomness follows from.
    pub seed: u64,
    /// The probability with which the interval holds.
    pub confidence: f64,
}

impl RunPlan {
    /// A number of runs from a seed, at a confidence of 99%.
    pub fn new(runs: u64, seed: u64) -> RunPlan {
        RunPlan { runs, seed, confidence: 0.99 }
    }

    fn check(&self) -> Result<(), Error> {
        if self.runs < 2 {
            return Err(Error::parameter("runs", format!("{} runs: give at least 2", self.runs)));
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            let why = format!("a confidence of {}: give one between 0 and 1", self.confidence);
            return Err(Error::parameter("confidence", why));
        }
        Ok(())
    }
}

/// A number with an interval that holds the truth with the confidence of the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredRate {
    /// The mean over the runs.
    pub value: f64,
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// How many runs.
    pub runs: u64,
    /// The theorem behind the interval.
    pub method: &'static str,
}

impl MeasuredRate {
    /// Whether the interval holds a number.
    pub fn contains(&self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

/// The probability of an event, with the interval of Clopper and Pearson.
///
/// `progress` is told the number of runs done, on the calling thread.
pub fn probability(
    plan: &RunPlan,
    event: impl Fn(Run) -> Result<bool, Error> + Sync,
    progress: &mut dyn FnMut(u64),
) -> Result<MeasuredRate, Error> {
    plan.check()?;
    let chunks = in_chunks(
        plan,
        |runs| runs.map(|index| Ok(u64::from(event(Run { seed: plan.seed, index })?))).sum::<Result<u64, Error>>(),
        progress,
    )?;
    let hits: u64 = chunks.into_iter().sum();
    let (lower, upper) = clopper_pearson(hits, plan.runs, plan.confidence);
    let value = hits as f64 / plan.runs as f64;
    Ok(MeasuredRate { value, lower, upper, runs: plan.runs, method: "Clopper-Pearson" })
}

/// The mean of a value that is always between 0 and `bound`, with an empirical Bernstein interval.
///
/// The lower end is computed from values cut off at `clip`, a number fixed before the runs: cutting lowers the mean, so it stays
/// a lower end, and a small clip makes it sharp where only a crude bound is proven. The upper end needs the bound itself. A
/// value outside of its bound is an error, since the interval would be void. Where nothing is to be cut, give the bound twice.
pub fn bounded_mean(
    plan: &RunPlan,
    clip: f64,
    bound: f64,
    value: impl Fn(Run) -> Result<f64, Error> + Sync,
    progress: &mut dyn FnMut(u64),
) -> Result<MeasuredRate, Error> {
    plan.check()?;
    if !(clip > 0.0 && clip <= bound && bound < f64::INFINITY) {
        let why = format!("values cut at {clip} of at most {bound}: give 0 < clip ≤ bound, both finite");
        return Err(Error::parameter("clip", why));
    }
    let play = |runs: Range<u64>| {
        let (mut whole, mut cut) = (Moments::default(), Moments::default());
        for index in runs {
            let value = value(Run { seed: plan.seed, index })?;
            if !(value >= 0.0 && value <= bound) {
                return Err(Error::OutOfBound { run: index, value, bound });
            }
            whole.add(value);
            cut.add(value.min(clip));
        }
        Ok((whole, cut))
    };
    let (mut whole, mut cut) = (Moments::default(), Moments::default());
    for (chunk_whole, chunk_cut) in in_chunks(plan, play, progress)? {
        whole.merge(&chunk_whole);
        cut.merge(&chunk_cut);
    }
    let runs = plan.runs;
    let (lower, _) = empirical_bernstein(cut.mean(), cut.variance(), runs, clip, plan.confidence);
    let (_, upper) = empirical_bernstein(whole.mean(), whole.variance(), runs, bound, plan.confidence);
    Ok(MeasuredRate { value: whole.mean(), lower, upper, runs, method: "empirical Bernstein" })
}

/// Plays all chunks on every core and gives their results in order. Of several errors, the first run's is returned.
fn in_chunks<T: Send>(
    plan: &RunPlan,
    play: impl Fn(Range<u64>) -> Result<T, Error> + Sync,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<T>, Error> {
    let mut played = Vec::new();
    for first in (0..plan.runs).step_by((AT_ONCE * CHUNK) as usize) {
        let end = plan.runs.min(first + AT_ONCE * CHUNK);
        let starts: Vec<u64> = (first..end).step_by(CHUNK as usize).collect();
        let results: Vec<Result<T, Error>> =
            starts.into_par_iter().map(|start| play(start..end.min(start + CHUNK))).collect();
        for result in results {
            played.push(result?);
        }
        progress(end);
    }
    Ok(played)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: RunPlan = RunPlan { runs: 50_000, seed: 42, confidence: 0.99 };

    fn on<T: Send>(threads: usize, play: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(play)
    }

    #[test]
    fn the_result_does_not_depend_on_the_number_of_threads() {
        let play = || {
            let value = |run: Run| Ok(run.noise().uniform().powi(3));
            let event = |run: Run| Ok(run.noise().happens(0.3));
            let mean = bounded_mean(&PLAN, 1.0, 1.0, value, &mut |_| ()).unwrap();
            (mean, probability(&PLAN, event, &mut |_| ()).unwrap())
        };
        let (mean, coin) = on(1, play);
        for threads in [2, 3, 16] {
            assert_eq!(on(threads, play), (mean, coin));
        }
        assert!(mean.contains(0.25), "{mean:?}");
        assert!(coin.contains(0.3), "{coin:?}");
    }

    #[test]
    fn progress_grows_to_the_number_of_runs() {
        let mut seen = vec![0];
        probability(&PLAN, |_| Ok(true), &mut |done| seen.push(done)).unwrap();
        assert!(seen.is_sorted() && seen.len() > 2, "{seen:?}");
        assert_eq!(seen.last(), Some(&50_000));
    }

    #[test]
    fn the_first_error_is_returned() {
        let play = || {
            let event = |run: Run| match run.index {
                700 | 4_000 | 40_000 => Err(Error::other(format!("run {}", run.index))),
                _ => Ok(false),
            };
            probability(&PLAN, event, &mut |_| ()).unwrap_err().to_string()
        };
        for threads in [1, 2, 8] {
            assert_eq!(on(threads, play), "run 700");
        }
    }

    #[test]
    fn a_value_beyond_its_bound_is_an_error() {
        let value = |run: Run| Ok(if run.index == 77 { 1.5 } else { 0.5 });
        let error = bounded_mean(&PLAN, 1.0, 1.0, value, &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("run 77"), "{error}");
        assert!(bounded_mean(&PLAN, 1.0, 1.0, |_| Ok(f64::NAN), &mut |_| ()).is_err());
    }

    #[test]
    fn cutting_values_off_only_lowers_the_lower_end() {
        let value = |run: Run| Ok(run.noise().uniform());
        let cut = bounded_mean(&PLAN, 0.4, 1.0, value, &mut |_| ()).unwrap();
        let whole = bounded_mean(&PLAN, 1.0, 1.0, value, &mut |_| ()).unwrap();
        assert_eq!((cut.value, cut.upper), (whole.value, whole.upper));
        // E[min(U, 0.4)] = 0.32.
        assert!(cut.lower < 0.32 && cut.lower > 0.3, "{cut:?}");
    }
}
