//! `taximeter lab worst`: the exact δ of the best adaptive adversary against a filter.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use taximeter_accounting::{Amount, Budget, FilterRule, Rounding};
use taximeter_lab::engine::filters::{Grid, Objective, Rule, WorstCase, worst};
use taximeter_service::Computed;

use crate::args::flag;
use crate::output::{Failure, in_flag, print, show_number};
use crate::progress::Progress;

/// The exact delta of the best adaptive adversary against a filter
///
/// The adversary chooses every cost from a grid after seeing the last outcome. A valid filter keeps the adversary's delta at or below
/// the budget's. If the state of the filter is not on a lattice, it is rounded in favour of the adversary for the upper bound, and
/// against it for the lower bound. optimal and renyi-min misuse theorems for costs fixed in advance; they are not valid.
#[derive(Args)]
#[command(
    after_help = "Example: taximeter lab worst --rule optimal --budget 0.1,0.10425709561931122589 --grid 0.2,0.3"
)]
pub struct WorstCommand {
    /// The filter, or an invalid heuristic
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Rule::all().map(Rule::name)))]
    rule: String,
    /// The budget: epsilon and delta
    #[arg(long, value_name = "EPSILON,DELTA")]
    budget: String,
    /// The epsilons that the adversary may declare
    #[arg(long, value_name = "EPSILONS", value_delimiter = ',', required = true)]
    grid: Vec<String>,
    /// The guarantee that the adversary tries to break; pointwise uses two-point steps on the lattice of the grid
    #[arg(long, value_name = "WHAT", default_value = "dp", value_parser = ["dp", "pointwise"])]
    objective: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    rule: &'static str,
    /// Whether the rule promises the attacked guarantee.
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

impl WorstCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let budget = Budget::parse(&self.budget).map_err(in_flag("--budget"))?;
        let costs = self.grid.iter().map(|text| flag("--grid", text, Rounding::Up)).collect::<Result<Vec<_>, _>>()?;
        let grid = Grid::new(&costs).map_err(in_flag("--grid"))?;
        let rule = Rule::all().find(|rule| rule.name() == self.rule).unwrap_or(Rule::Filter(FilterRule::default()));
        let objective = if self.objective == "dp" { Objective::Dp } else { Objective::Pointwise };
        let case = worst(rule, &budget, &grid, objective, &Progress::new("searching").shares())?;
        let ratio = case.delta.over(budget.delta().approximate());
        let document = Document {
            rule: rule.name(),
            claimed: rule.claims(objective),
            delta_lower: Computed(case.delta.lower),
            delta_upper: Computed(case.delta.upper),
            ratio_lower: Computed(ratio.lower),
            ratio_upper: Computed(ratio.upper),
            strategy: moves(&case, &grid),
        };
        print(self.json, &document, || document.text(rule.is_valid()))
    }
}

fn moves(case: &WorstCase, grid: &Grid) -> Vec<MoveJson> {
    let [top, bottom] = case.strategy.replies;
    [("", case.strategy.first_move), ("⊤", top), ("⊥", bottom)]
        .map(|(after, steps)| MoveJson { after, play: steps.map(|steps| grid.cost(steps).size()) })
        .into()
}

impl Document {
    fn text(&self, is_valid: bool) -> String {
        let verdict = if !self.claimed {
            "the rule does not promise this: it promises (ε, δ)-DP"
        } else if self.ratio_lower.0 > 1.0 {
            "the filter is broken"
        } else if self.ratio_upper.0 <= 1.0 {
            "the filter holds on this grid"
        } else {
            "too close to tell: the state of the filter is rounded"
        };
        let play = |play: &MoveJson| {
            let what = play.play.map_or("stop".to_string(), |epsilon| format!("play {epsilon}"));
            if play.after.is_empty() { what } else { format!("on {} {what}", play.after) }
        };
        let kind = if is_valid { "" } else { " (not a valid filter)" };
        format!(
            "{}{kind} against the best adaptive adversary on the grid:\n\n\
             δ      between {} and {}\n\
             ratio  between {} and {}\n\
             play   {}\n\n{verdict}.",
            self.rule,
            show_number(self.delta_lower.0),
            show_number(self.delta_upper.0),
            show_number(self.ratio_lower.0),
            show_number(self.ratio_upper.0),
            self.strategy.iter().map(play).collect::<Vec<_>>().join("; ")
        )
    }
}
