//! `taximeter lab figure`: the evidence as figures.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use plotters::chart::SeriesLabelPosition::{self, LowerLeft, LowerRight, UpperLeft, UpperRight};
use taximeter_accounting::reference::{FixedRounds, MixedRounds};
use taximeter_accounting::{
    Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Odometer, OdometerRule, OdometerSpec,
};
use taximeter_lab::engine::heuristics::Heuristic;
use taximeter_lab::engine::stopping::stopping_time;
use taximeter_lab::{Boundary, Run, Sides};

use crate::figure::{self, FigureAxis, FigurePanel, FigureSeries, SeriesKind, most_that_fit, spread};
use crate::output::{Failure, tell, usage};
use crate::progress::Progress;

/// Draw the evidence as SVG
///
/// separation: the claims and the actual violations of the misused theorem, over the number of rounds. tightness: every rule compared
/// with the optimum for costs fixed in advance. queries: the number of questions that a budget answers. mixed: the number of small
/// questions that it answers after a large one. ride: a single run with filter, odometer and the actual loss.
#[derive(Args)]
pub struct FigureCommand {
    /// Which figure
    #[arg(value_name = "NAME", value_parser = ["separation", "tightness", "queries", "mixed", "ride", "all"])]
    name: String,
    /// The folder to write to, created if it does not exist
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// The seed of the ride
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

/// Draws a figure into a file.
type Drawing<'a> = &'a dyn Fn(&Path) -> Result<(), Failure>;

impl FigureCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let drawings: [(&str, Drawing); 5] = [
            ("separation", &separation),
            ("tightness", &tightness),
            ("queries", &queries),
            ("mixed", &mixed),
            ("ride", &|path| ride(path, self.seed)),
        ];
        std::fs::create_dir_all(&self.out).map_err(|error| {
            usage(format!("--out: the folder {} cannot be created: {error}; name another", self.out.display()))
        })?;
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

fn own(name: &str) -> FigureSeries {
    FigureSeries::new(SeriesKind::Own, name)
}

/// Rounds of ε = 0.001 at δ = 10⁻⁶, up to a hundred thousand: the exact probability of a violation, and the readings themselves.
fn separation(path: &Path) -> Result<(), Failure> {
    const ROUNDS: usize = 100_000;
    let (epsilon, delta) = (amount("0.001")?, amount("1e-6")?);
    let mut attacked: Vec<(String, Boundary, Sides)> = Vec::new();
    for heuristic in Heuristic::ALL {
        let readings = heuristic.readings(epsilon, delta, ROUNDS);
        attacked.push((format!("{} (not valid)", heuristic.name()), readings, Sides::Both));
    }
    let rules =
        [OdometerRule::Advanced, OdometerRule::NormalMixture, OdometerRule::Stitched, OdometerRule::RenyiMixture];
    for rule in rules {
        let odometer = Odometer::new(OdometerSpec::new(rule, delta))?;
        let sides = Sides::of(&odometer);
        let readings = Boundary::of_odometer(odometer, &Cost::Pure { epsilon }, ROUNDS)?;
        attacked.push((rule.name().to_string(), readings, sides));
    }
    let points = spread(10.0, ROUNDS as f64, 60);
    let progress = Progress::new("attacking");
    let claimed = [(points[0] as f64, 1.0), (ROUNDS as f64, 1.0)];
    let mut violations = vec![FigureSeries::new(SeriesKind::Reference, "what is claimed").through(claimed)];
    let mut read = Vec::new();
    for (at, (name, readings, sides)) in attacked.iter().enumerate() {
        let mut ratios = own(name);
        stopping_time(epsilon, readings, |round, violation| {
            if points.binary_search(&(round as u64)).is_ok() {
                ratios.points.push((round as f64, violation.on(*sides).middle() / delta.approximate()));
            }
            progress.share((at as f64 + round as f64 / ROUNDS as f64) / attacked.len() as f64);
        });
        violations.push(ratios);
        read.push(own(name).through(points.iter().map(|&round| (round as f64, readings.after(round as usize)))));
    }
    drop(progress);
    let panels = [
        FigurePanel {
            title: "What they deliver",
            x: FigureAxis::logarithmic("rounds that the adversary may play"),
            y: FigureAxis::logarithmic("probability of a violation ÷ δ").from(1e-4, 100.0),
            lines: violations,
            legend: LowerRight,
        },
        FigurePanel {
            title: "What they read",
            x: FigureAxis::logarithmic("round"),
            y: FigureAxis::logarithmic("reading, ε"),
            lines: read,
            legend: LowerRight,
        },
    ];
    figure::draw(path, "An adversary who stops when it likes: ε = 0.001 a round, δ = 1e-6", &panels)
}

/// Every rule divided by the optimum for costs fixed in advance.
fn tightness(path: &Path) -> Result<(), Failure> {
    let (cost, delta) = (Cost::Pure { epsilon: amount("0.01")? }, amount("1e-6")?);
    let points = spread(20.0, 10_000.0, 40);
    let mut odometers: Vec<FigureSeries> = OdometerRule::ALL.map(|rule| own(rule.name())).into();
    let mut filters: Vec<FigureSeries> = FilterRule::ALL.map(|rule| own(rule.name())).into();
    for rounds in Progress::over("drawing", points.into_iter()) {
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
    let panel = |title: &'static str, lines: Vec<FigureSeries>| FigurePanel {
        title,
        x: FigureAxis::logarithmic("number of costs"),
        y: FigureAxis::linear("ε ÷ the optimum fixed in advance").from(0.9, 3.4),
        lines,
        legend: UpperRight,
    };
    let panels = [panel("Odometers", odometers), panel("Filters", filters)];
    figure::draw(path, "How far from the optimum: costs of ε = 0.01 each, δ = 1e-6", &panels)
}

/// The number of questions of ε = 0.01 that some filters answer, and their shares of the optimum.
struct Answered {
    optimum: FigureSeries,
    counts: Vec<FigureSeries>,
    shares: Vec<FigureSeries>,
}

impl Answered {
    fn new(names: &[&str]) -> Answered {
        let lines = || names.iter().map(|name| own(name)).collect();
        Answered {
            optimum: FigureSeries::new(SeriesKind::Reference, "optimum fixed in advance"),
            counts: lines(),
            shares: lines(),
        }
    }

    /// Adds the counts of the optimum and the filters at one point.
    fn add(&mut self, x: f64, best: u64, filters: impl IntoIterator<Item = Filter>) -> Result<(), Failure> {
        let question = Cost::Pure { epsilon: amount("0.01")? };
        self.optimum.points.push((x, best as f64));
        for (at, filter) in filters.into_iter().enumerate() {
            let count = filter.count(&question)?.count as f64;
            self.counts[at].points.push((x, count));
            if best > 0 {
                self.shares[at].points.push((x, count / best as f64));
            }
        }
        Ok(())
    }

    /// A panel of the counts and one of the shares.
    fn panels(
        self,
        title: &'static str,
        x: fn() -> FigureAxis,
        y: FigureAxis,
        legends: [SeriesLabelPosition; 2],
    ) -> [FigurePanel; 2] {
        let [first, second] = legends;
        let counts = std::iter::once(self.optimum).chain(self.counts).collect();
        let share = FigureAxis::linear("share").from(0.0, 1.4);
        [
            FigurePanel { title, x: x(), y, lines: counts, legend: first },
            FigurePanel { title: "As a share of the optimum", x: x(), y: share, lines: self.shares, legend: second },
        ]
    }
}

/// How many questions of ε = 0.01 a budget answers.
fn queries(path: &Path) -> Result<(), Failure> {
    const STEPS: u32 = 30;
    let (cost, delta) = (Cost::Pure { epsilon: amount("0.01")? }, amount("1e-6")?);
    let mut answered = Answered::new(&FilterRule::ALL.map(FilterRule::name));
    for step in Progress::over("drawing", 0..STEPS + 1) {
        let epsilon = 0.1 * 100f64.powf(f64::from(step) / f64::from(STEPS));
        let budget = Budget::new(Amount::at_most(epsilon), delta)?;
        let filters = FilterRule::ALL.map(|rule| Filter::new(FilterSpec::new(rule, budget)));
        let filters = filters.into_iter().collect::<Result<Vec<_>, _>>()?;
        answered.add(epsilon, FixedRounds::optimal_count(&cost, &budget)?.count, filters)?;
    }
    let x = || FigureAxis::logarithmic("budget, ε (δ = 1e-6)");
    let y = FigureAxis::logarithmic("questions of ε = 0.01");
    let panels = answered.panels("Questions answered", x, y, [UpperLeft, UpperRight]);
    figure::draw(path, "What a budget answers", &panels)
}

/// How many questions of ε = 0.01 still fit after one large question.
fn mixed(path: &Path) -> Result<(), Failure> {
    const STEPS: u32 = 50;
    let (budget, small) = (Budget::parse("1,1e-6")?, Cost::Pure { epsilon: amount("0.01")? });
    let mut answered = Answered::new(&["basic: adding up", "residue: reach"]);
    for step in Progress::over("drawing", 0..STEPS + 1) {
        let epsilon = Amount::from_units(Amount::ONE.units() / u128::from(STEPS) * u128::from(step));
        let large = Cost::Pure { epsilon };
        let mut filters = Vec::new();
        for rule in [FilterRule::Basic, FilterRule::Residue] {
            let mut filter = Filter::new(FilterSpec::new(rule, budget))?;
            filter.charge(&large)?;
            filters.push(filter);
        }
        answered.add(epsilon.approximate(), most_after(&large, &small, &budget)?, filters)?;
    }
    let x = || FigureAxis::linear("ε of the large question");
    let y = FigureAxis::linear("questions of ε = 0.01");
    let panels = answered.panels("Small questions still answered", x, y, [UpperRight, UpperLeft]);
    figure::draw(path, "One large question first: a budget of (1, 1e-6)", &panels)
}

/// The most small costs that fit after a large one if all are fixed in advance.
fn most_after(large: &Cost, small: &Cost, budget: &Budget) -> Result<u64, Failure> {
    let fits = |count: usize| -> Result<bool, Failure> {
        let mut costs = vec![*small; count];
        costs.push(*large);
        let delta = MixedRounds::new(&costs)?.optimal_delta(budget.epsilon()).value();
        Ok(delta <= budget.delta().approximate())
    };
    Ok(most_that_fit(1024, fits)? as u64)
}

/// One ride: an analyst plays randomized response, with a larger ε after ⊤, until the filter halts.
fn ride(path: &Path, seed: u64) -> Result<(), Failure> {
    let budget = Budget::parse("1,1e-6")?;
    let mut filter = Filter::new(FilterSpec::new(FilterRule::Residue, budget))?;
    let mut odometer = Odometer::new(OdometerSpec::beside(OdometerRule::RenyiMixture, &budget))?;
    let mut random = Run { seed, index: 0 }.noise();
    let (bold, timid) = (amount("0.02")?, amount("0.01")?);
    let (mut loss, mut sum, mut last_top) = (0.0, 0.0, false);
    let [mut readings, mut losses, mut sums, mut left] =
        ["odometer reads", "loss that happened", "sum of ε", "rule left"].map(own);
    let mut round = 0.0;
    loop {
        let cost = Cost::Pure { epsilon: if last_top { bold } else { timid } };
        if !filter.charge(&cost)?.continues() {
            break;
        }
        odometer.charge(&cost)?;
        let size = cost.size().approximate();
        last_top = random.happens(1.0 / (1.0 + (-size).exp()));
        loss += if last_top { size } else { -size };
        sum += size;
        round += 1.0;
        readings.points.push((round, odometer.reading().value));
        losses.points.push((round, loss));
        sums.points.push((round, sum));
        left.points.push((round, 100.0 * filter.left().share));
    }
    let promise =
        FigureSeries::new(SeriesKind::Reference, "what the filter promises: 1").through([(1.0, 1.0), (round, 1.0)]);
    let panels = [
        FigurePanel {
            title: "The loss and its bounds",
            x: FigureAxis::linear("question"),
            y: FigureAxis::linear("ε").from(-1.5, 2.5),
            lines: vec![promise, sums, losses, readings],
            legend: LowerLeft,
        },
        FigurePanel {
            title: "What the filter has left",
            x: FigureAxis::linear("question"),
            y: FigureAxis::linear("% of the residue").from(0.0, 100.0),
            lines: vec![left],
            legend: UpperRight,
        },
    ];
    figure::draw(path, "One ride on a budget of (1, 1e-6): 0.01 a question, 0.02 after ⊤", &panels)
}
