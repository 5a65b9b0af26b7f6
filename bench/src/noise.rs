//! What one draw of noise takes, from small scales to large ones, beside OpenDP's samplers.
//!
//! Both are exact. Ours draws from a ChaCha20 generator in this process, which the operating system seeds. OpenDP draws from a generator of
//! its own; without its feature `use-openssl`, as here, its documents do not call it secure. OpenDP has no rounded Gaussian: beside it
//! stands its discrete Gaussian of the same scale. Its exponential mechanism is another algorithm, on scores of one question, and is not
//! compared.

use std::hint::black_box;
use std::time::Instant;

use clap::Args;
use dashu::rational::RBig;
use opendp::traits::samplers::{sample_discrete_gaussian, sample_discrete_laplace};
use serde::Serialize;
use taximeter_noise::{Candidate, DiscreteLaplace, NoiseError, Randomness, RoundedGaussian, choose};

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
    /// OpenDP's draw, where it has one to compare.
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
            let scale = RBig::from(1u64 << exponent);
            let theirs = || self.time_opendp(|| sample_discrete_laplace(scale.clone()));
            measured.push(row("discrete Laplace", exponent, self.laplace(&scale)?, Some(theirs()?)));
        }
        for exponent in EXPONENTS {
            let sigma = RBig::from(1u64 << exponent);
            let theirs = || self.time_opendp(|| sample_discrete_gaussian(sigma.clone()));
            measured.push(row("rounded Gaussian", exponent, self.gaussian(&sigma)?, Some(theirs()?)));
        }
        for exponent in EXPONENTS {
            measured.push(row("exponential mechanism", exponent, self.exponential(1 << exponent)?, None));
        }
        Ok(Report { opendp_version: opendp_filter::VERSION, draws: self.draws, measured })
    }

    fn laplace(&self, scale: &RBig) -> Result<f64, String> {
        let noise = DiscreteLaplace::new(scale.clone()).map_err(|error| error.to_string())?;
        self.time(|randomness| noise.sample(randomness).map(drop))
    }

    fn gaussian(&self, sigma: &RBig) -> Result<f64, String> {
        let noise = RoundedGaussian::new(sigma.clone()).map_err(|error| error.to_string())?;
        self.time(|randomness| noise.sample(randomness).map(drop))
    }

    /// A choice among candidates whose scores are spread over four scales.
    fn exponential(&self, scale: u64) -> Result<f64, String> {
        let rate = RBig::ONE / RBig::from(scale);
        let candidate = |at: u64| Candidate { weight: 1, score: at * 4 * scale / CANDIDATES };
        let candidates: Vec<Candidate> = (0..CANDIDATES).map(candidate).collect();
        self.time(|randomness| choose(&candidates, &rate, randomness).map(drop))
    }

    /// The time of one draw, in nanoseconds.
    fn time(&self, draw: impl Fn(&mut Randomness) -> Result<(), NoiseError>) -> Result<f64, String> {
        let mut randomness = Randomness::secure().map_err(|error| error.to_string())?;
        self.median(|| draw(black_box(&mut randomness)).map_err(|error| error.to_string()))
    }

    fn time_opendp<T>(&self, draw: impl Fn() -> Result<T, opendp::error::Error>) -> Result<f64, String> {
        self.median(|| draw().map(|noise| drop(black_box(noise))).map_err(|error| error.to_string()))
    }

    fn median(&self, mut draw: impl FnMut() -> Result<(), String>) -> Result<f64, String> {
        let mut times = Vec::new();
        for _ in 0..self.runs {
            let started = Instant::now();
            for _ in 0..self.draws {
                draw()?;
            }
            times.push(started.elapsed().as_nanos() as f64 / f64::from(self.draws));
        }
        Ok(median(times))
    }
}

fn row(sampler: &'static str, exponent: u32, ours: f64, opendp: Option<f64>) -> MeasuredNoise {
    let opendp_ratio = opendp.map(|theirs| theirs / ours);
    MeasuredNoise { sampler, exponent, nanoseconds: ours, opendp_nanoseconds: opendp, opendp_ratio }
}

fn text(report: &Report) -> String {
    let mut table = PrintedTable::new([
        TableColumn::Text("sampler"),
        TableColumn::Number("scale"),
        TableColumn::Number("a draw"),
        TableColumn::Number("OpenDP"),
        TableColumn::Number("ratio"),
    ]);
    for MeasuredNoise { sampler, exponent, nanoseconds, opendp_nanoseconds, opendp_ratio } in &report.measured {
        table.row([
            sampler.to_string(),
            if *exponent == 0 { "1".to_string() } else { format!("2^{exponent}") },
            duration(*nanoseconds),
            opendp_nanoseconds.map_or("–".to_string(), duration),
            opendp_ratio.map_or("–".to_string(), ratio),
        ]);
    }
    format!(
        "{} draws at a time, beside OpenDP {}; the exponential mechanism chooses among {CANDIDATES} candidates\n\n{table}",
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
        for part in ["discrete Laplace", "rounded Gaussian", "exponential mechanism", "2^40"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
