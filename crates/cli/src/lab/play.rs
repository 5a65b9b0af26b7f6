//! `taximeter lab play`: the paper's games, many times over, with an interval.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_accounting::reference::MixedRounds;
use taximeter_accounting::{
    Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Odometer, OdometerRule, OdometerSpec, OnHalt, Rounding,
};
use taximeter_lab::adversary::{Draining, Fixed, Greedy, Random, StoppingTime, Turning};
use taximeter_lab::engine::filters::{Grid, most_squares};
use taximeter_lab::monte_carlo::{Experiment, MeasuredRate, RunPlan, Sampling, Tilts};
use taximeter_lab::{
    AdaptParamComp, Adversary, Boundary, FixedParamComp, Mechanism, Nature, PrivacyFilterComp, Run, Sides, View, World,
};
use taximeter_service::Computed;

use crate::args::flag;
use crate::output::{Failure, in_flag, print, show_number, thousands, usage};
use crate::progress::Progress;

/// Play a game of the paper many times, with a confidence interval
///
/// filter: PrivacyFilterComp, a filter against an adversary; estimates the delta of everything it admits. adaptive: AdaptParamComp, an
/// odometer against an adversary; estimates the probability that the loss ever exceeds the reading. fixed: FixedParamComp, costs fixed
/// in advance; estimates their delta, to compare with the optimal composition theorem.
#[derive(Args)]
#[command(
    after_help = "Examples: taximeter lab play --game filter --adversary turning --rule residue --budget 1,0.01 --costs 0.1,0.3\n          \
                        taximeter lab play --game adaptive --adversary stopping-time --rule renyi-mixture --at-delta 1e-6 --rare"
)]
pub struct PlayCommand {
    /// The game
    #[arg(long, value_name = "GAME", value_parser = ["filter", "adaptive", "fixed"])]
    game: String,
    /// The adversary (stopping-time: adaptive only; a fixed game has the fixed one) [default: turning, or fixed]
    #[arg(long, value_name = "NAME",
          value_parser = ["fixed", "stopping-time", "greedy", "random", "draining", "turning"])]
    adversary: Option<String>,
    /// The filter, or the odometer of an adaptive game
    #[arg(long, value_name = "RULE", help = rule_help())]
    rule: Option<String>,
    /// The budget of a filter, and the epsilon at which costs fixed in advance are measured
    #[arg(long, value_name = "EPSILON,DELTA", default_value = "1,0.01")]
    budget: String,
    /// The delta at which an odometer reads
    #[arg(long, value_name = "DELTA", default_value = "0.01")]
    at_delta: String,
    /// The epsilons of randomized response for the adversary to choose from, in increasing order
    #[arg(long, value_name = "EPSILONS", value_delimiter = ',', default_value = "0.1,0.2")]
    costs: Vec<String>,
    /// The largest number of rounds in a run
    #[arg(long, value_name = "K", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rounds: u32,
    /// The number of runs
    #[arg(long, value_name = "RUNS", default_value_t = 100_000,
          value_parser = clap::value_parser!(u64).range(2..=1_000_000_000))]
    runs: u64,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Importance sampling: sample tilted worlds, in which rare losses are frequent, and weight the runs accordingly
    #[arg(long)]
    rare: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn rule_help() -> String {
    let (filter, odometer) = (FilterRule::default().name(), OdometerRule::default().name());
    format!("The filter, or the odometer of an adaptive game [default: {filter}, or {odometer}]")
}

#[derive(Serialize)]
struct Document<'a> {
    game: &'a str,
    adversary: &'a str,
    rule: Option<&'static str>,
    runs: u64,
    seed: u64,
    measures: Vec<MeasureJson>,
}

/// An estimate, and the promised or known value to compare it with.
#[derive(Serialize)]
struct MeasureJson {
    what: String,
    value: Computed,
    lower: Computed,
    upper: Computed,
    method: &'static str,
    beside: &'static str,
    limit: Computed,
    ratio: Computed,
}

impl Document<'_> {
    fn text(&self) -> String {
        let against = self.rule.map_or(String::new(), |rule| format!(" against {rule}"));
        let games = format!("{} games of {}", thousands(self.runs), self.game);
        let mut text = format!("{games}, {}{against}, at 99 % confidence:\n", self.adversary);
        for MeasureJson { what, value, lower, upper, method, beside, limit, .. } in &self.measures {
            let [value, lower, upper, limit] = [value, lower, upper, limit].map(|number| show_number(number.0));
            text += &format!("\n{what}: {value} (between {lower} and {upper}, {method}); {beside}: {limit}");
        }
        text
    }
}

impl PlayCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let mut menu = Vec::new();
        for text in &self.costs {
            let mechanism = Mechanism::randomized_response(flag("--costs", text, Rounding::Up)?);
            menu.push(mechanism.map_err(in_flag("--costs"))?);
        }
        let (rule, measures) = match self.game.as_str() {
            "filter" => self.filter(&menu)?,
            "adaptive" => self.adaptive(&menu)?,
            _ => (None, self.fixed(&menu)?),
        };
        let PlayCommand { game, runs, seed, .. } = self;
        let adversary = self.adversary_name();
        let document = Document { game, adversary, rule, runs: *runs, seed: *seed, measures };
        print(self.json, &document, || document.text())
    }

    fn filter(&self, menu: &[Mechanism]) -> Result<(Option<&'static str>, Vec<MeasureJson>), Failure> {
        let rule = self.rule.as_deref().map_or(Ok(FilterRule::default()), FilterRule::from_name)?;
        let budget = Budget::parse(&self.budget)?;
        let filter = Filter::new(FilterSpec::new(rule, budget))?;
        let epsilon = budget.epsilon().approximate();
        let sampling = if self.rare { rare_losses(rule, &budget, menu)? } else { Sampling::Plain };
        let game = PrivacyFilterComp { rounds: self.rounds as usize, on_halt: OnHalt::Refuse };
        let mut measures = Vec::new();
        for world in World::ALL {
            let play = |run: Run, nature: &mut dyn Nature| {
                let mut adversary = self.adversary(menu, &filter, run)?;
                game.play(&mut adversary, nature, &mut filter.clone())
            };
            let experiment = Experiment { world, sampling: sampling.clone(), play };
            let delta = self.estimate(|progress| experiment.delta(&self.plan(), epsilon, progress))?;
            let what = if world == World::Zero { "δ in world 0" } else { "δ in world 1" };
            measures.push(measure(what.to_string(), delta, "promised", budget.delta().approximate()));
        }
        Ok((Some(rule.name()), measures))
    }

    fn adaptive(&self, menu: &[Mechanism]) -> Result<(Option<&'static str>, Vec<MeasureJson>), Failure> {
        let rule = self.rule.as_deref().map_or(Ok(OdometerRule::default()), OdometerRule::from_name)?;
        let at_delta = flag("--at-delta", &self.at_delta, Rounding::Down)?;
        let odometer = Odometer::new(OdometerSpec::new(rule, at_delta))?;
        let sides = Sides::of(&odometer);
        let rounds = self.rounds as usize;
        let game = AdaptParamComp { rounds, until_exceeded: Some(sides) };
        let (world, first) = (World::Zero, menu[0]);
        let exceeded = |view: &View| view.has_exceeded(sides);
        let estimate = if self.adversary_name() == "stopping-time" {
            let boundary = Boundary::of_odometer(odometer, first.cost(), rounds)?;
            let sampling = match self.rare {
                true => {
                    let tilts = Tilts::for_crossing(&first, world, &boundary, sides)?;
                    let bound = tilts.crossing_bound(&first, world, &boundary, sides);
                    Sampling::Tilted { tilts, clip: bound, bound }
                }
                false => Sampling::Plain,
            };
            let play = |_: Run, nature: &mut dyn Nature| {
                let mut adversary = StoppingTime::new(first, boundary.clone(), sides);
                game.ride(&mut adversary, nature, &mut boundary.odometer(*first.cost()))
            };
            let experiment = Experiment { world, sampling, play };
            self.estimate(|progress| experiment.probability(&self.plan(), exceeded, progress))?
        } else {
            if self.rare {
                return Err(usage("--rare in an adaptive game needs --adversary stopping-time"));
            }
            let unlimited = Filter::new(FilterSpec::new(FilterRule::Basic, Budget::new(Amount::MAX, Amount::ZERO)?))?;
            let play = |run: Run, nature: &mut dyn Nature| {
                game.ride(&mut self.adversary(menu, &unlimited, run)?, nature, &mut odometer.clone())
            };
            let experiment = Experiment { world, sampling: Sampling::Plain, play };
            self.estimate(|progress| experiment.probability(&self.plan(), exceeded, progress))?
        };
        let what = "probability that the loss is ever outside of the reading".to_string();
        Ok((Some(rule.name()), vec![measure(what, estimate, "promised", at_delta.approximate())]))
    }

    fn fixed(&self, menu: &[Mechanism]) -> Result<Vec<MeasureJson>, Failure> {
        if self.adversary_name() != "fixed" || self.rule.is_some() || self.rare {
            return Err(usage(
                "a game of costs fixed in advance has no choices and no filter; omit --adversary, --rule and --rare",
            ));
        }
        let budget = Budget::parse(&self.budget)?;
        let mechanisms: Vec<Mechanism> = menu.iter().copied().cycle().take(self.rounds as usize).collect();
        let costs: Vec<Cost> = mechanisms.iter().map(|mechanism| *mechanism.cost()).collect();
        let optimal = MixedRounds::new(&costs)?.optimal_delta(budget.epsilon()).value();
        let game = FixedParamComp { classes: costs };
        let play = |_: Run, nature: &mut dyn Nature| game.play(&mut Fixed::new(mechanisms.clone()), nature);
        let experiment = Experiment { world: World::Zero, sampling: Sampling::Plain, play };
        let epsilon = budget.epsilon().approximate();
        let delta = self.estimate(|progress| experiment.delta(&self.plan(), epsilon, progress))?;
        Ok(vec![measure(format!("δ at ε = {}", budget.epsilon()), delta, "optimal composition", optimal)])
    }

    fn adversary_name(&self) -> &str {
        let usual = if self.game == "fixed" { "fixed" } else { "turning" };
        self.adversary.as_deref().unwrap_or(usual)
    }

    /// The adversary of one run.
    fn adversary(
        &self,
        menu: &[Mechanism],
        filter: &Filter,
        run: Run,
    ) -> Result<Box<dyn Adversary>, taximeter_lab::Error> {
        let (small, large) = (menu[0], menu[menu.len() - 1]);
        let largest_first: Vec<Mechanism> = menu.iter().rev().copied().collect();
        Ok(match self.adversary_name() {
            "fixed" => Box::new(Fixed::repeated(small, self.rounds as usize)),
            "greedy" => Box::new(Greedy::new(filter.clone(), largest_first)),
            "random" => Box::new(Random::new(menu.to_vec(), 0.01, run.coins())),
            "draining" => Box::new(Draining::new(filter.clone(), small, large)),
            "turning" => Box::new(Turning::at_every_round(small, large)),
            other => {
                return Err(taximeter_lab::Error::other(format!("the adversary {other} plays adaptive games only")));
            }
        })
    }

    fn plan(&self) -> RunPlan {
        RunPlan::new(self.runs, self.seed)
    }

    /// Runs an experiment with a progress bar.
    fn estimate(
        &self,
        run: impl FnOnce(&mut dyn FnMut(u64)) -> Result<MeasuredRate, taximeter_lab::Error>,
    ) -> Result<MeasuredRate, Failure> {
        let progress = Progress::new("playing");
        Ok(run(&mut |done| progress.share(done as f64 / self.runs as f64))?)
    }
}

/// Tilted sampling for losses above ε_g: the ρ of an ε-DP mechanism is at most ε²/2, and the filter bounds the sum of all ρ.
fn rare_losses(rule: FilterRule, budget: &Budget, menu: &[Mechanism]) -> Result<Sampling, Failure> {
    let costs: Vec<Amount> = menu.iter().map(|mechanism| mechanism.cost().size()).collect();
    let grid = Grid::new(&costs).map_err(in_flag("--costs"))?;
    let rho = 0.5 * most_squares(rule, budget, &grid)? * (1.0 + 1e-9);
    let epsilon = budget.epsilon().approximate();
    let tilts = Tilts::for_filter(epsilon, rho)?;
    let bound = tilts.delta_bound(epsilon, rho);
    Ok(Sampling::Tilted { tilts, clip: bound, bound })
}

fn measure(what: String, estimate: MeasuredRate, beside: &'static str, limit: f64) -> MeasureJson {
    MeasureJson {
        what,
        value: Computed(estimate.value),
        lower: Computed(estimate.lower),
        upper: Computed(estimate.upper),
        method: estimate.method,
        beside,
        limit: Computed(limit),
        ratio: Computed(estimate.value / limit),
    }
}
