//! What the lab's exact engine takes: against a plain single-threaded implementation of the same recursion, and as the budget grows.

use std::time::Instant;

use clap::Args;
use serde::Serialize;
use taximeter_accounting::{Amount, Budget, FilterRule};
use taximeter_lab::engine::filters::{Grid, Objective, Rule, range, worst};
use taximeter_lab::engine::graph::StateGraph;
use taximeter_lab::engine::heuristics::Heuristic;
use taximeter_lab::engine::solver::{End, Payoff, Range, Steps, StoppingProblem, solve};
use taximeter_lab::engine::states::graph;
use taximeter_lab::engine::stopping::stopping_time;

use crate::figure::{Figure, Wanted, duration, median};
use crate::table::{PrintedTable, TableColumn};

/// The arguments of the benchmark.
#[derive(Args)]
pub struct Lab {
    /// One JSON document on standard output; the tables go to standard error
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    /// Nanoseconds of a thousand rounds of the stopping-time adversary.
    stopping_time: Figure,
    /// Nanoseconds of the worst case of the residue rule on (1, 1e-6), costs 0.01 0.02 0.04 0.08.
    worst: Figure,
    against_plain: Vec<AgainstPlain>,
    growth: Vec<Growth>,
}

/// The same graph by the engine and by a plain recursion.
#[derive(Serialize)]
struct AgainstPlain {
    rule: &'static str,
    states: usize,
    engine: f64,
    plain: f64,
    ratio: f64,
}

#[derive(Serialize)]
struct Growth {
    budget: &'static str,
    nanoseconds: f64,
}

const COSTS: [&str; 4] = ["0.01", "0.02", "0.04", "0.08"];

impl Lab {
    /// Measures, and reports.
    pub fn run(&self) -> Result<(), String> {
        let report = measure().map_err(|error| error.to_string())?;
        let text = text(&report);
        if self.json {
            eprint!("{text}");
            println!("{}", serde_json::to_string(&report).map_err(|error| error.to_string())?);
        } else {
            print!("{text}");
        }
        Ok(())
    }
}

fn measure() -> Result<Report, Box<dyn std::error::Error>> {
    let costs = COSTS.iter().map(|text| Amount::parse_exact(text)).collect::<Result<Vec<_>, _>>()?;
    let grid = Grid::new(&costs)?;
    let (epsilon, delta) = (Amount::parse_exact("0.01")?, Amount::parse_exact("1e-6")?);
    let stopping = time(5, || {
        stopping_time(epsilon, &Heuristic::Drv.readings(epsilon, delta, 1000), |_, _| {});
        Ok(())
    })?;
    let budget = Budget::parse("1,1e-6")?;
    let residue = Rule::Filter(FilterRule::Residue);
    let whole = time(3, || worst(residue, &budget, &grid, Objective::Dp, &|_| {}).map(|_| ()))?;
    let mut against_plain = Vec::new();
    for (rule, cells) in [(Rule::Filter(FilterRule::Whitehouse), 0), (residue, 1 << 11)] {
        let graph = graph(rule, &budget, &grid, End::Lower, cells)?;
        let range = range(&budget, &grid, graph.states());
        let payoff = |loss: i64| (-(1.0 - 0.01 * loss as f64).exp_m1()).max(0.0);
        let problem = StoppingProblem {
            graph: &graph,
            step: 0.01,
            payoff: Payoff::Everywhere(&payoff),
            steps: Steps::RandomizedResponse,
            range,
        };
        let (ours, theirs) = (solve(&problem, End::Lower, &|_| {}).value, plain(&graph, 0.01, &payoff, range));
        if (ours - theirs).abs() > 1e-9 * theirs {
            return Err(format!("the two recursions disagree: {ours:e} and {theirs:e}").into());
        }
        let engine = time(5, || {
            solve(&problem, End::Lower, &|_| {});
            Ok(())
        })?;
        let slow = time(3, || {
            plain(&graph, 0.01, &payoff, range);
            Ok(())
        })?;
        against_plain.push(AgainstPlain {
            rule: rule.name(),
            states: graph.states(),
            engine,
            plain: slow,
            ratio: slow / engine,
        });
    }
    let mut growth = Vec::new();
    for budget in ["0.5,1e-6", "1,1e-6", "2,1e-6", "4,1e-6"] {
        let parsed = Budget::parse(budget)?;
        let nanoseconds = time(1, || worst(residue, &parsed, &grid, Objective::Dp, &|_| {}).map(|_| ()))?;
        growth.push(Growth { budget, nanoseconds });
    }
    Ok(Report {
        stopping_time: Figure::new(stopping, Some(Wanted::AtMost(1e9))),
        worst: Figure::new(whole, Some(Wanted::AtMost(10e9))),
        against_plain,
        growth,
    })
}

/// The median time of some runs, in nanoseconds.
fn time(runs: usize, run: impl Fn() -> Result<(), taximeter_lab::Error>) -> Result<f64, taximeter_lab::Error> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let started = Instant::now();
        run()?;
        times.push(started.elapsed().as_nanos() as f64);
    }
    Ok(median(times))
}

/// W(C, l) = max(payoff(l), max_m p W(C⊕m, l+m) + (1−p) W(C⊕m, l−m)) as it is written: one table, one loop, one thread.
fn plain(graph: &StateGraph, step: f64, payoff: &dyn Fn(i64) -> f64, range: Range) -> f64 {
    let width = (range.high - range.low + 1) as usize;
    let mut table = vec![vec![0.0f64; width]; graph.states()];
    let value = |row: &Vec<f64>, loss: i64| {
        if loss > range.high {
            payoff(loss)
        } else if loss < range.low {
            0.0
        } else {
            row[(loss - range.low) as usize]
        }
    };
    for state in 0..graph.states() {
        for loss in range.low..=range.high {
            let mut best = payoff(loss);
            for (at, &m) in graph.moves.iter().enumerate() {
                if let Some(to) = graph.after(state, at) {
                    let p = 1.0 / (1.0 + (-step * f64::from(m)).exp());
                    let row = &table[to];
                    best = best.max(p * value(row, loss + i64::from(m)) + (1.0 - p) * value(row, loss - i64::from(m)));
                }
            }
            table[state][(loss - range.low) as usize] = best;
        }
    }
    table[graph.start][(-range.low) as usize]
}

fn text(report: &Report) -> String {
    let mut limits =
        PrintedTable::new([TableColumn::Text("what"), TableColumn::Number("time"), TableColumn::Number("target")]);
    for (what, figure) in [
        ("stopping-time adversary, 1000 rounds", &report.stopping_time),
        ("worst case of residue on (1,1e-6), costs 0.01 0.02 0.04 0.08", &report.worst),
    ] {
        limits.row([what.to_string(), figure.show(duration), figure.show_wanted(duration)]);
    }
    let mut plain = PrintedTable::new([
        TableColumn::Text("rule"),
        TableColumn::Number("states"),
        TableColumn::Number("engine"),
        TableColumn::Number("plain recursion"),
        TableColumn::Number("ratio"),
    ]);
    for row in &report.against_plain {
        let ratio = format!("{:.1}x", row.ratio);
        plain.row([row.rule.to_string(), row.states.to_string(), duration(row.engine), duration(row.plain), ratio]);
    }
    let mut growth = PrintedTable::new([TableColumn::Text("budget of the residue rule"), TableColumn::Number("time")]);
    for row in &report.growth {
        growth.row([row.budget.to_string(), duration(row.nanoseconds)]);
    }
    format!(
        "{limits}\nAgainst a plain single-threaded implementation of the same recursion, with the same result:\n\n{plain}\n{growth}"
    )
}
