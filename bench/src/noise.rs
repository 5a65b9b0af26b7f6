//! What one draw of noise takes, from small scales to large ones, beside OpenDP's samplers.
//!
//! Both are exact. Ours draws from a ChaCha20 generator in this process, which the operating system seeds. OpenDP draws from a generator of
//! its own; without its feature `use-openssl`, as here, its documents do not call it secure. OpenDP prepares its sampler in every draw;
//! ours is prepared before. OpenDP has no rounded Gaussian: beside it stands its discrete Gaussian of the same scale. Its exponential
//! mechanism is another algorithm, on scores of one question, and is not compared.

use std::fmt::Display;
use std::hint::black_box;
use std::time::Instant;

use clap::Args;
use dashu::rational::RBig;
use opendp::traits::samplers::{sample_discrete_gaussian, sample_discrete_laplace};
use serde::Serialize;
use taximeter_noise::{Candidate, DiscreteLaplace, Randomness, RoundedGaussian, choose};

use crate::figure::{duration, median, ratio};
use crate::opendp_filter;
use crate::table::{PrintedTable, TableColumn};

/// The arguments of the benchmark.
#[derive(Args)]
pub struct NoiseBench {
    /// One JSON document on standard output; the table goes to standard error
    #[arg(long)]
    json: bool,
    /// How many draws are timed together
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    draws: u32,
    /// How often they are timed; the median counts
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// What one draw takes.
#[derive(Serialize)]
struct MeasuredNoise {
    sampler: &'static str,
    /// The scale is 2 to this power.
    exponent: u32,
    nanoseconds: f64,
    /// OpenDP's sampler, where it has one to compare.
    opendp_sampler: Option<&'static str>,
    opendp_nanoseconds: Option<f64>,
    /// OpenDP's time over ours.
    opendp_ratio: Option<f64>,
}

#[derive(Serialize)]
struct Report {
    opendp_version: &'static str,
    draws: u32,
    measured: Vec<MeasuredNoise>,
}

/// The scales, as powers of two.
const EXPONENTS: [u32; 5] = [0, 10, 20, 30, 40];

/// Among how many candidates the exponential mechanism chooses.
const CANDIDATES: u64 = 64;

impl NoiseBench {
    /// Measures, and reports.
    pub fn run(&self) -> Result<(), String> {
        let report = self.measure()?;
        let text = text(&report);
        if self.json {
            eprint!("{text}");
            println!("{}", serde_json::to_string(&report).map_err(|error| error.to_string())?);
        } else {
            print!("{text}");
        }
        Ok(())
    }

    fn measure(&self) -> Result<Report, String> {
        let mut measured = Vec::new();
        for exponent in EXPONENTS {
            measured.push(self.laplace(exponent)?);
        }
        for exponent in EXPONENTS {
            measured.push(self.gaussian(exponent)?);
        }
        for exponent in EXPONENTS {
            measured.push(self.exponential(exponent)?);
        }
        Ok(Report { opendp_version: opendp_filter::VERSION, draws: self.draws, measured })
    }

    fn laplace(&self, exponent: u32) -> Result<MeasuredNoise, String> {
        let scale = RBig::from(1u64 << exponent);
        let noise = DiscreteLaplace::new(scale.clone()).map_err(|error| error.to_string())?;
        let mut randomness = secure()?;
        let ours = || used(noise.sample(black_box(&mut randomness)));
        let theirs = || used(sample_discrete_laplace(scale.clone()));
        let [ours, theirs] = self.in_turns(ours, theirs)?;
        Ok(MeasuredNoise::beside("discrete Laplace", exponent, ours, "discrete Laplace", theirs))
    }

    fn gaussian(&self, exponent: u32) -> Result<MeasuredNoise, String> {
        let sigma = RBig::from(1u64 << exponent);
        let noise = RoundedGaussian::new(sigma.clone()).map_err(|error| error.to_string())?;
        let mut randomness = secure()?;
        let ours = || used(noise.sample(black_box(&mut randomness)));
        let theirs = || used(sample_discrete_gaussian(sigma.clone()));
        let [ours, theirs] = self.in_turns(ours, theirs)?;
        Ok(MeasuredNoise::beside("rounded Gaussian", exponent, ours, "discrete Gaussian", theirs))
    }

    /// A choice among candidates whose scores are spread over four scales.
    fn exponential(&self, exponent: u32) -> Result<MeasuredNoise, String> {
        let scale = 1u64 << exponent;
        let rate = RBig::ONE / RBig::from(scale);
        let candidate = |at: u64| Candidate { weight: 1, score: at * 4 * scale / CANDIDATES };
        let candidates: Vec<Candidate> = (0..CANDIDATES).map(candidate).collect();
        let mut randomness = secure()?;
        let mut ours = || used(choose(&candidates, &rate, black_box(&mut randomness)));
        let times: Vec<f64> = (0..self.runs).map(|_| self.time(&mut ours)).collect::<Result<_, _>>()?;
        Ok(MeasuredNoise::alone("exponential mechanism", exponent, median(times)))
    }

    /// The times of one draw of ours and of one of theirs, in nanoseconds: a run of ours, then one of theirs, and so on.
    fn in_turns(
        &self,
        mut ours: impl FnMut() -> Result<(), String>,
        mut theirs: impl FnMut() -> Result<(), String>,
    ) -> Result<[f64; 2], String> {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..self.runs {
            times[0].push(self.time(&mut ours)?);
            times[1].push(self.time(&mut theirs)?);
        }
        Ok(times.map(median))
    }

    /// The time of one draw in one run, in nanoseconds.
    fn time(&self, draw: &mut impl FnMut() -> Result<(), String>) -> Result<f64, String> {
        let started = Instant::now();
        for _ in 0..self.draws {
            draw()?;
        }
        Ok(started.elapsed().as_nanos() as f64 / f64::from(self.draws))
    }
}

fn secure() -> Result<Randomness, String> {
    Randomness::secure().map_err(|error| error.to_string())
}

/// What was drawn, as if it were used: so the compiler cannot leave a draw out.
fn used<T, E: Display>(drawn: Result<T, E>) -> Result<(), String> {
    drawn.map(|noise| drop(black_box(noise))).map_err(|error| error.to_string())
}

impl MeasuredNoise {
    fn alone(sampler: &'static str, exponent: u32, nanoseconds: f64) -> MeasuredNoise {
        MeasuredNoise {
            sampler,
            exponent,
            nanoseconds,
            opendp_sampler: None,
            opendp_nanoseconds: None,
            opendp_ratio: None,
        }
    }

    fn beside(sampler: &'static str, exponent: u32, ours: f64, theirs: &'static str, opendp: f64) -> MeasuredNoise {
        MeasuredNoise {
            opendp_sampler: Some(theirs),
            opendp_nanoseconds: Some(opendp),
            opendp_ratio: Some(opendp / ours),
            ..MeasuredNoise::alone(sampler, exponent, ours)
        }
    }
}

fn text(report: &Report) -> String {
    let mut table = PrintedTable::new([
        TableColumn::Text("sampler"),
        TableColumn::Number("scale"),
        TableColumn::Number("a draw"),
        TableColumn::Text("OpenDP's sampler"),
        TableColumn::Number("a draw"),
        TableColumn::Number("ratio"),
    ]);
    for measured in &report.measured {
        let exponent = measured.exponent;
        table.row([
            measured.sampler.to_string(),
            if exponent == 0 { "1".to_string() } else { format!("2^{exponent}") },
            duration(measured.nanoseconds),
            measured.opendp_sampler.unwrap_or("–").to_string(),
            measured.opendp_nanoseconds.map_or("–".to_string(), duration),
            measured.opendp_ratio.map_or("–".to_string(), ratio),
        ]);
    }
    format!(
        "{} draws at a time, in turns with OpenDP {}. OpenDP prepares its sampler in every draw; ours is prepared before.\n\
         The exponential mechanism chooses among {CANDIDATES} candidates.\n\n{table}",
        report.draws, report.opendp_version
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sampler_is_timed_at_every_scale() {
        let report = NoiseBench { json: false, draws: 20, runs: 1 }.measure().unwrap();
        assert_eq!(report.measured.len(), 3 * EXPONENTS.len());
        assert!(report.measured.iter().all(|measured| measured.nanoseconds > 0.0));
        let shown = text(&report);
        for part in ["discrete Laplace", "rounded Gaussian", "discrete Gaussian", "exponential mechanism", "2^40"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
