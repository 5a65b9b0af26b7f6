//! `taximeter lab worst`: the exact δ of the best adaptive adversary against a filter.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use taximeter_accounting::{Amount, Budget, Rounding};
use taximeter_api::Computed;
use taximeter_lab::engine::filters::{Grid, Objective, Rule, WorstCase, worst};

use crate::args::flag;
use crate::lab::usage;
use crate::output::{Failure, print_json, print_line, show_number};
use crate::progress::Progress;

/// The exact delta of the best adaptive adversary against a filter
///
/// The adversary chooses every cost from a grid after seeing the last outcome. A valid filter keeps its delta at or below the
/// budget's. Where the state of the filter is not a lattice, it is rounded in favour of the adversary for the upper end, and
/// against it for the lower one. optimal and renyi-min are theorems for costs fixed in advance, misused; they are not valid.
#[derive(Args)]
#[command(
    after_help = "Example: taximeter lab worst --rule optimal --budget 0.1,0.10425709561931122589 --grid 0.2,0.3"
)]
pub struct Worst {
    /// The filter, or an invalid heuristic
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Rule::ALL.map(Rule::name)))]
    rule: String,
    /// The budget: epsilon and delta
    #[arg(long, value_name = "EPSILON,DELTA")]
    budget: String,
    /// The costs that the adversary may declare, each an epsilon
    #[arg(long, value_name = "EPSILONS", value_delimiter = ',', required = true)]
    grid: Vec<String>,
    /// What the adversary tries to break; pointwise by two-point steps on the lattice of the grid
    #[arg(long, value_name = "WHAT", default_value = "dp", value_parser = ["dp", "pointwise"])]
    objective: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    rule: String,
    /// Whether the rule promises what was attacked.
    claimed: bool,
    delta_lower: Computed,
    delta_upper: Computed,
    ratio_lower: Computed,
    ratio_upper: Computed,
    strategy: Vec<MoveJson>,
}

/// A move of the best adversary after some outcomes.
#[derive(Serialize)]
struct MoveJson {
    after: &'static str,
    play: Option<Amount>,
}

impl Worst {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let budget = Budget::parse(&self.budget).map_err(|error| Failure::Usage(format!("--budget: {error}")))?;
        if budget.delta().is_zero() {
            return Err(Failure::Usage("--budget: the worst case is measured against a delta above 0".to_string()));
        }
        let costs = self.grid.iter().map(|text| flag("--grid", text, Rounding::Up)).collect::<Result<Vec<_>, _>>()?;
        let grid = Grid::new(&costs).map_err(|error| Failure::Usage(format!("--grid: {error}")))?;
        let rule = Rule::ALL.into_iter().find(|rule| rule.name() == self.rule).unwrap_or(Rule::ALL[0]);
        let objective = if self.objective == "dp" { Objective::Dp } else { Objective::Pointwise };
        let progress = Progress::new("searching");
        let case = worst(rule, &budget, &grid, objective, &|done| progress.share(done)).map_err(usage)?;
        drop(progress);
        let delta = budget.delta().approximate();
        if self.json {
            print_json(&Document {
                rule: self.rule.clone(),
                claimed: rule.claims(objective),
                delta_lower: Computed(case.delta.lower),
                delta_upper: Computed(case.delta.upper),
                ratio_lower: Computed(case.delta.lower / delta),
                ratio_upper: Computed(case.delta.upper / delta),
                strategy: moves(&case, &grid),
            })?;
        } else {
            print_line(&text(rule, objective, &case, delta, &moves(&case, &grid)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn moves(case: &WorstCase, grid: &Grid) -> Vec<MoveJson> {
    let cost = |steps: Option<u32>| steps.map(|steps| grid.cost(steps).size());
    let [top, bottom] = case.strategy.replies;
    vec![
        MoveJson { after: "", play: cost(case.strategy.first_move) },
        MoveJson { after: "⊤", play: cost(top) },
        MoveJson { after: "⊥", play: cost(bottom) },
    ]
}

fn text(rule: Rule, objective: Objective, case: &WorstCase, delta: f64, moves: &[MoveJson]) -> String {
    let verdict = if !rule.claims(objective) {
        "the rule does not promise this: it promises (ε, δ)-DP"
    } else if case.delta.lower > delta {
        "the filter is broken"
    } else if case.delta.upper <= delta {
        "the filter holds on this grid"
    } else {
        "too close to tell: the state is cut into cells"
    };
    let play = |play: &MoveJson| {
        let what = play.play.map_or("stop".to_string(), |epsilon| format!("play {epsilon}"));
        if play.after.is_empty() { what } else { format!("on {} {what}", play.after) }
    };
    let kind = if rule.is_valid() { "" } else { " (not a valid filter)" };
    format!(
        "{}{kind} against the best adaptive adversary on the grid:\n\n\
         δ      between {} and {}\n\
         ratio  between {} and {}\n\
         play   {}\n\n{verdict}.",
        rule.name(),
        show_number(case.delta.lower),
        show_number(case.delta.upper),
        show_number(case.delta.lower / delta),
        show_number(case.delta.upper / delta),
        moves.iter().map(play).collect::<Vec<_>>().join("; ")
    )
}
