//! `taximeter demo`: an analyst who chooses the next question, what to spend on it and when to stop, after seeing the last answer.
//!
//! The paper's Example 2, in memory: a made-up population of 100,000 people in 40 districts, some of which have an outbreak. The
//! analyst looks round cheaply, looks closer where an answer is high, and goes on until the filter halts.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_accounting::reference::{FixedInAdvance, MixedRounds};
use taximeter_accounting::{
    Budget, Cost, Filter, FilterRule, FilterSpec, Odometer, OdometerRule, OdometerSpec, Verdict,
};

use crate::output::{BudgetJson, Computed, Failure, print_json, print_line, show_number, tell, thousands};
use crate::random::Random;
use crate::table::Table;

/// Ride along with an analyst who spends a budget of (1, 1e-6)
#[derive(Args)]
pub struct Demo {
    /// The seed of the made-up population and of the noise
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    budget: BudgetJson,
    seed: u64,
    answered: Vec<AnsweredJson>,
    spent_epsilon: taximeter_accounting::Amount,
    reading: Computed,
    reading_guarantee: String,
    fixed_in_advance_optimal: Computed,
    invalid_heuristic: Computed,
    found: Vec<usize>,
    outbreaks: Vec<usize>,
}

#[derive(Serialize)]
struct AnsweredJson {
    rule: &'static str,
    answered: usize,
}

impl Demo {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let budget = Budget::parse("1,1e-6")?;
        let mut random = Random::new(self.seed);
        let town = Town::new(&mut random);
        let mut analyst = Analyst::default();
        let mut filter = Filter::new(FilterSpec::new(FilterRule::Residue, budget))?;
        let mut odometer = Odometer::new(OdometerSpec::new(OdometerRule::RenyiMixture, budget.delta()))?;
        let mut costs: Vec<Cost> = Vec::new();

        self.say(&format!(
            "{} made-up people in {DISTRICTS} districts, a budget of {budget}, and an analyst looking for outbreaks.\n\
             Each question is a count with Laplace noise; what it may cost is decided before it is answered.\n\n\
             {:>6}  {:<30}  {:>7}  {:>8}  {:>10}  {:>8}",
            thousands(PEOPLE as u64),
            "round",
            "question",
            "ε",
            "answer",
            "left",
            "reading",
        ))?;
        loop {
            let question = analyst.next_question();
            let cost = Cost::parse_epsilon(question.epsilon)?.cost;
            if let Verdict::Halt(refusal) = filter.charge(&cost)? {
                self.say(&format!(
                    "{:>6}  {:<30}  {:>7}  refused: {}",
                    "",
                    question.to_string(),
                    question.epsilon,
                    refusal.reason()
                ))?;
                if !analyst.spend_less() {
                    break;
                }
                continue;
            }
            odometer.charge(&cost)?;
            let answer = town.sick(question.district) + random.laplace(1.0 / cost.size().approximate());
            costs.push(cost);
            let news = analyst.hear(&question, answer);
            let round = costs.len();
            if round <= 8 || round.is_multiple_of(100) || news.is_some() {
                self.say(&format!(
                    "{round:>6}  {:<30}  {:>7}  {answer:>8.0}  {:>8.1} %  {:>8}{}",
                    question.to_string(),
                    question.epsilon,
                    100.0 * filter.left().share,
                    show_number(odometer.reading().value),
                    news.unwrap_or_default()
                ))?;
            }
        }
        self.finish(budget, &costs, &filter, &odometer, &analyst, &town)
    }

    fn finish(
        &self,
        budget: Budget,
        costs: &[Cost],
        filter: &Filter,
        odometer: &Odometer,
        analyst: &Analyst,
        town: &Town,
    ) -> Result<ExitCode, Failure> {
        let mut answered = Vec::new();
        for rule in FilterRule::ALL {
            answered.push(AnsweredJson { rule: rule.name(), answered: answered_by(rule, budget, costs)? });
        }
        let fixed = MixedRounds::new(costs)?;
        let value = |bound: Option<FixedInAdvance>| bound.map_or(f64::INFINITY, FixedInAdvance::value);
        let (optimal, heuristic) =
            (value(fixed.optimal_epsilon(budget.delta())), value(fixed.advanced_epsilon(budget.delta())));
        let reading = odometer.reading();
        let spent = filter.spent().epsilon.unwrap_or_default();
        if self.json {
            print_json(&Document {
                budget: (&budget).into(),
                seed: self.seed,
                answered,
                spent_epsilon: spent,
                reading: Computed(reading.value),
                reading_guarantee: reading.guarantee.to_string(),
                fixed_in_advance_optimal: Computed(optimal),
                invalid_heuristic: Computed(heuristic),
                found: analyst.found.clone(),
                outbreaks: town.outbreaks(),
            })?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = Table::new(&["rule", ">answered before its first refusal", "guarantee"]);
        for row in &answered {
            let rule = FilterRule::from_name(row.rule)?;
            table.row([row.rule.to_string(), thousands(row.answered as u64), rule.guarantee(&budget)]);
        }
        self.say(&format!("\nThe same questions, in the same order, under each rule:\n\n{table}\n"))?;
        let mut table = Table::new(&["after the last answer", ">ε at δ = 1e-6", ""]);
        table.row(["sum of all ε", &show_number(spent.approximate()), "basic composition"]);
        table.row(["odometer", &show_number(reading.value), &reading.guarantee.to_string()]);
        table.row([
            "fixed in advance, optimum",
            &show_number(optimal),
            "had every cost been known before the first answer",
        ]);
        table.row([
            "advanced theorem, misused",
            &show_number(heuristic),
            "not valid here: the costs were chosen along the way",
        ]);
        self.say(&table.to_string())?;
        let names = |districts: &[usize]| districts.iter().map(|at| format!("{at}")).collect::<Vec<_>>().join(", ");
        self.say(
            "\nThe odometer reads more than the budget of 1 although the filter kept it: a reading must hold at every moment, however\n\
             the ride might have been stopped, and the filter's promise only for what it let happen.",
        )?;
        self.say(&format!(
            "\nThe analyst reports outbreaks in districts {}; there were outbreaks in {}.\n\n\
             Try next:  taximeter plan --budget 1,1e-6 --epsilon 0.01\n\
             {:11}printf '0.05\\n0.02\\n' | taximeter meter --budget 1,1e-6\n\
             {:11}taximeter compare --epsilon 0.01 --rounds 1000 --figure compare.svg\n\
             {:11}taximeter lab certify --quick",
            names(&analyst.found),
            names(&town.outbreaks()),
            "",
            "",
            ""
        ))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Text for people: on standard output, unless a document goes there.
    fn say(&self, text: &str) -> Result<(), Failure> {
        if self.json {
            tell(text);
            return Ok(());
        }
        print_line(text)
    }
}

/// How many of the costs, in their order, a rule admits before its first refusal.
fn answered_by(rule: FilterRule, budget: Budget, costs: &[Cost]) -> Result<usize, Failure> {
    let mut filter = Filter::new(FilterSpec::new(rule, budget))?;
    for (answered, cost) in costs.iter().enumerate() {
        if let Verdict::Halt(_) = filter.charge(cost)? {
            return Ok(answered);
        }
    }
    Ok(costs.len())
}

const PEOPLE: usize = 100_000;
const DISTRICTS: usize = 40;

/// How many people are sick in each district.
struct Town {
    sick: Vec<usize>,
}

impl Town {
    /// Three in a hundred are sick; in a few districts it is six times as many.
    fn new(random: &mut Random) -> Town {
        let mut rates = [0.03; DISTRICTS];
        for _ in 0..6 {
            rates[(random.uniform() * DISTRICTS as f64) as usize] = 0.18;
        }
        let mut sick = vec![0; DISTRICTS];
        for person in 0..PEOPLE {
            let district = person % DISTRICTS;
            sick[district] += usize::from(random.uniform() < rates[district]);
        }
        Town { sick }
    }

    fn sick(&self, district: usize) -> f64 {
        self.sick[district] as f64
    }

    fn outbreaks(&self) -> Vec<usize> {
        (0..DISTRICTS).filter(|&district| self.sick[district] > 300).collect()
    }
}

/// How closely the analyst looks, from a glance to a measurement.
const CLOSER: [&str; 3] = ["0.01", "0.02", "0.05"];

/// Goes round the districts at a glance, and looks closer where the last answer was high.
#[derive(Default)]
struct Analyst {
    district: usize,
    closeness: usize,
    /// The closest that the budget still admits, counted from the glance; nothing is refused at first.
    refused: usize,
    found: Vec<usize>,
}

struct Question {
    district: usize,
    closeness: usize,
    epsilon: &'static str,
}

impl std::fmt::Display for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = ["glance at", "look closer at", "measure"][self.closeness];
        write!(f, "{how} district {}", self.district)
    }
}

impl Analyst {
    fn next_question(&self) -> Question {
        Question { district: self.district, closeness: self.closeness, epsilon: CLOSER[self.closeness] }
    }

    /// After a refusal: gives up looking so closely, and moves on. Whether there is anything left to ask.
    fn spend_less(&mut self) -> bool {
        self.refused = CLOSER.len() - self.closeness;
        self.move_on();
        self.refused < CLOSER.len()
    }

    /// Chooses what to do from an answer; says so if it is news.
    fn hear(&mut self, question: &Question, answer: f64) -> Option<&'static str> {
        // More than twice the usual number, seen through noise of this size.
        let suspicious = answer > 200.0;
        let can_look_closer = question.closeness + 1 + self.refused < CLOSER.len();
        match (suspicious, question.closeness + 1 == CLOSER.len()) {
            (true, true) => {
                let known = self.found.contains(&question.district);
                if !known {
                    self.found.push(question.district);
                    self.found.sort_unstable();
                }
                self.move_on();
                (!known).then_some("  outbreak!")
            }
            (true, false) if can_look_closer && !self.found.contains(&question.district) => {
                self.closeness += 1;
                None
            }
            _ => {
                self.move_on();
                None
            }
        }
    }

    fn move_on(&mut self) {
        self.district = (self.district + 1) % DISTRICTS;
        self.closeness = 0;
    }
}
