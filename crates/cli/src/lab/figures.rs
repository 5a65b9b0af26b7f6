//! `taximeter lab figure`: the evidence for a person to see.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use plotters::chart::SeriesLabelPosition;
use taximeter_accounting::reference::FixedRounds;
use taximeter_accounting::{
    Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Odometer, OdometerRule, OdometerSpec, Verdict,
};
use taximeter_lab::engine::heuristics::Heuristic;
use taximeter_lab::engine::stopping::stopping_times;

use crate::figure::{self, Axis, Kind, Line, Panel, Scale};
use crate::output::{Failure, tell};
use crate::progress::Progress;
use crate::random::Random;

/// Draw the evidence as SVG
///
/// separation: what the misused theorem claims against what it delivers, as the ride gets longer. tightness: every rule against
/// the optimum with everything fixed in advance. queries: how many a budget answers. ride: one ride with filter, odometer and the
/// loss that really happened.
#[derive(Args)]
pub struct Figures {
    /// Which figure
    #[arg(value_name = "NAME", value_parser = ["separation", "tightness", "queries", "ride", "all"])]
    name: String,
    /// The folder to write to
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// The seed of the ride
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

/// Draws a figure into a file.
type Drawing<'a> = &'a dyn Fn(&Path) -> Result<(), Failure>;

impl Figures {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let drawings: [(&str, Drawing); 4] = [
            ("separation", &separation),
            ("tightness", &tightness),
            ("queries", &queries),
            ("ride", &|path| ride(path, self.seed)),
        ];
        for (name, drawing) in drawings.into_iter().filter(|(name, _)| self.name == "all" || self.name == *name) {
            let path = self.out.join(format!("{name}.svg"));
            drawing(&path)?;
            tell(&format!("wrote {}", path.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn amount(text: &str) -> Result<Amount, Failure> {
    Ok(Amount::parse_exact(text)?)
}

/// Whole numbers from one to another, evenly spread on a logarithmic scale.
fn spread(from: f64, to: f64, points: u32) -> Vec<u64> {
    let at = |step: u32| (from * (to / from).powf(f64::from(step) / f64::from(points))).round() as u64;
    let mut numbers: Vec<u64> = (0..=points).map(at).collect();
    numbers.dedup();
    numbers
}

/// Rounds of ε = 0.001 at δ = 10⁻⁶, up to a hundred thousand: the exact probability of a violation, and the readings themselves.
fn separation(path: &Path) -> Result<(), Failure> {
    const ROUNDS: u64 = 100_000;
    let (epsilon, delta) = (amount("0.001")?, amount("1e-6")?);
    let points = spread(10.0, ROUNDS as f64, 60);
    let progress = Progress::new("attacking");
    let (mut violations, mut readings) = (Vec::new(), Vec::new());
    let mut attack = |name: &str, two_sided: bool, reading: &mut dyn FnMut(u64) -> f64| {
        let (mut ratio, mut read) = (Vec::new(), Vec::new());
        stopping_times(
            epsilon,
            ROUNDS,
            |round| {
                let value = reading(round);
                if points.binary_search(&round).is_ok() {
                    read.push((round as f64, value));
                }
                value
            },
            |round, violation| {
                if points.binary_search(&round).is_ok() {
                    let judged = if two_sided { violation.total() } else { violation.above };
                    ratio.push((round as f64, judged.middle() / delta.approximate()));
                }
                progress.share((violations.len() as f64 + round as f64 / ROUNDS as f64) / 6.0);
            },
        );
        violations.push(Line { name: name.to_string(), points: ratio, kind: Kind::Own });
        readings.push(Line { name: name.to_string(), points: read, kind: Kind::Own });
    };
    let rules = [OdometerRule::Advanced, OdometerRule::NormalMixture, OdometerRule::Stitched];
    for heuristic in Heuristic::ALL {
        let name = format!("{} (not valid)", heuristic.name());
        attack(&name, true, &mut |round| heuristic.reading(epsilon.approximate(), round, delta.approximate()));
    }
    for rule in rules.into_iter().chain([OdometerRule::RenyiMixture]) {
        let mut odometer = Odometer::new(OdometerSpec::new(rule, delta))?;
        let cost = Cost::Pure { epsilon };
        let two_sided = odometer.guarantee().two_sided;
        let mut failed = None;
        attack(rule.name(), two_sided, &mut |_| {
            failed = failed.take().or(odometer.charge(&cost).err());
            odometer.reading().value
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
    }
    drop(progress);
    let ends = [points[0] as f64, ROUNDS as f64];
    let claimed = Line {
        name: "what is claimed".to_string(),
        points: ends.iter().map(|&end| (end, 1.0)).collect(),
        kind: Kind::Reference,
    };
    violations.insert(0, claimed);
    let panels = [
        Panel {
            title: "What they deliver".to_string(),
            x: Axis::new("rounds that the adversary may play", Scale::Logarithmic),
            y: Axis { range: Some((1e-4, 100.0)), ..Axis::new("probability of a violation ÷ δ", Scale::Logarithmic) },
            lines: violations,
            legend: SeriesLabelPosition::LowerRight,
        },
        Panel {
            title: "What they read".to_string(),
            x: Axis::new("round", Scale::Logarithmic),
            y: Axis::new("reading, ε", Scale::Logarithmic),
            lines: readings,
            legend: SeriesLabelPosition::LowerRight,
        },
    ];
    figure::draw(path, "An adversary who stops when it likes: ε = 0.001 a round, δ = 1e-6", &panels)
}

/// Every rule over the optimum with everything fixed in advance.
fn tightness(path: &Path) -> Result<(), Failure> {
    let (cost, delta) = (Cost::Pure { epsilon: amount("0.01")? }, amount("1e-6")?);
    let points = spread(20.0, 10_000.0, 40);
    let progress = Progress::new("drawing");
    let mut odometers: Vec<Line> = OdometerRule::ALL.map(|rule| own(rule.name())).into();
    let mut filters: Vec<Line> = FilterRule::ALL.map(|rule| own(rule.name())).into();
    for (done, &rounds) in points.iter().enumerate() {
        progress.share(done as f64 / points.len() as f64);
        let optimum = FixedRounds::new(&cost, rounds)?.optimal_epsilon(delta).map_or(f64::NAN, |bound| bound.value());
        for (rule, line) in OdometerRule::ALL.into_iter().zip(&mut odometers) {
            let mut odometer = Odometer::new(OdometerSpec::new(rule, delta))?;
            odometer.charge_times(&cost, rounds)?;
            line.points.push((rounds as f64, odometer.reading().value / optimum));
        }
        for (rule, line) in FilterRule::ALL.into_iter().zip(&mut filters) {
            let spec = FilterSpec::new(rule, Budget::new(Amount::ONE, delta)?);
            if let Some(epsilon) = Filter::smallest_epsilon(&spec, &cost, rounds)? {
                line.points.push((rounds as f64, epsilon / optimum));
            }
        }
    }
    drop(progress);
    let panel = |title: &str, lines: Vec<Line>| Panel {
        title: title.to_string(),
        x: Axis::new("number of costs", Scale::Logarithmic),
        y: Axis { range: Some((0.9, 3.4)), ..Axis::new("ε ÷ the optimum fixed in advance", Scale::Linear) },
        lines,
        legend: SeriesLabelPosition::UpperRight,
    };
    let panels = [panel("Odometers", odometers), panel("Filters", filters)];
    figure::draw(path, "How far from the optimum: costs of ε = 0.01 each, δ = 1e-6", &panels)
}

fn own(name: &str) -> Line {
    Line { name: name.to_string(), points: Vec::new(), kind: Kind::Own }
}

/// How many questions of ε = 0.01 a budget answers.
fn queries(path: &Path) -> Result<(), Failure> {
    let (cost, delta) = (Cost::Pure { epsilon: amount("0.01")? }, amount("1e-6")?);
    let mut counts: Vec<Line> = FilterRule::ALL.map(|rule| own(rule.name())).into();
    let mut shares: Vec<Line> = FilterRule::ALL.map(|rule| own(rule.name())).into();
    let mut optimum = Line { name: "optimum fixed in advance".to_string(), points: Vec::new(), kind: Kind::Reference };
    let progress = Progress::new("drawing");
    for step in 0..=30 {
        progress.share(f64::from(step) / 30.0);
        let epsilon = 0.1 * 100f64.powf(f64::from(step) / 30.0);
        let budget = Budget::new(Amount::at_most(epsilon), delta)?;
        let best = FixedRounds::optimal_count(&cost, &budget)?.count as f64;
        optimum.points.push((epsilon, best));
        for (at, rule) in FilterRule::ALL.into_iter().enumerate() {
            let count = Filter::new(FilterSpec::new(rule, budget))?.count(&cost)?.count as f64;
            counts[at].points.push((epsilon, count));
            shares[at].points.push((epsilon, count / best));
        }
    }
    drop(progress);
    counts.insert(0, optimum);
    let x = || Axis::new("budget, ε (δ = 1e-6)", Scale::Logarithmic);
    let panels = [
        Panel {
            title: "Questions answered".to_string(),
            x: x(),
            y: Axis::new("questions of ε = 0.01", Scale::Logarithmic),
            lines: counts,
            legend: SeriesLabelPosition::UpperLeft,
        },
        Panel {
            title: "As a share of the optimum".to_string(),
            x: x(),
            y: Axis { range: Some((0.0, 1.4)), ..Axis::new("share", Scale::Linear) },
            lines: shares,
            legend: SeriesLabelPosition::UpperRight,
        },
    ];
    figure::draw(path, "What a budget answers", &panels)
}

/// One ride: an analyst who plays randomized response, bolder after ⊤, until the filter halts.
fn ride(path: &Path, seed: u64) -> Result<(), Failure> {
    let budget = Budget::parse("1,1e-6")?;
    let mut filter = Filter::new(FilterSpec::new(FilterRule::Residue, budget))?;
    let mut odometer = Odometer::new(OdometerSpec::new(OdometerRule::RenyiMixture, budget.delta()))?;
    let mut random = Random::new(seed);
    let (bold, timid) = (amount("0.02")?, amount("0.01")?);
    let (mut loss, mut sum, mut last_top) = (0.0, 0.0, false);
    let (mut readings, mut losses, mut sums, mut left) =
        (own("odometer reads"), own("loss that happened"), own("sum of ε"), own("rule left"));
    for round in 1..100_000 {
        let epsilon = if last_top { bold } else { timid };
        if let Verdict::Halt(_) = filter.charge(&Cost::Pure { epsilon })? {
            break;
        }
        odometer.charge(&Cost::Pure { epsilon })?;
        let size = epsilon.approximate();
        last_top = random.uniform() < 1.0 / (1.0 + (-size).exp());
        loss += if last_top { size } else { -size };
        sum += size;
        let round = f64::from(round);
        readings.points.push((round, odometer.reading().value));
        losses.points.push((round, loss));
        sums.points.push((round, sum));
        left.points.push((round, 100.0 * filter.left().share));
    }
    let end = readings.points.last().map_or(1.0, |point| point.0);
    let promise = |name: &str, value: f64| Line {
        name: name.to_string(),
        points: vec![(1.0, value), (end, value)],
        kind: Kind::Reference,
    };
    let panels = [
        Panel {
            title: "The loss and its bounds".to_string(),
            x: Axis::new("question", Scale::Linear),
            y: Axis { range: Some((-1.5, 2.5)), ..Axis::new("ε", Scale::Linear) },
            lines: vec![promise("what the filter promises: 1", 1.0), sums, losses, readings],
            legend: SeriesLabelPosition::LowerLeft,
        },
        Panel {
            title: "What the filter has left".to_string(),
            x: Axis::new("question", Scale::Linear),
            y: Axis { range: Some((0.0, 100.0)), ..Axis::new("% of the residue", Scale::Linear) },
            lines: vec![left],
            legend: SeriesLabelPosition::UpperRight,
        },
    ];
    figure::draw(path, "One ride on a budget of (1, 1e-6): 0.01 a question, 0.02 after ⊤", &panels)
}
