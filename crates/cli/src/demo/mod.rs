//! `taximeter demo`: the paper's Example 2. A simulated population behind the gate, a budget of (1, 1e-6) on a ledger, and an analyst
//! who chooses the next question, its cost and when to stop, after seeing the last answer. With `--serve`, a server with more accounts
//! keeps running for visitors with a browser.

mod analyst;
mod population;
mod report;
mod serving;
mod surveys;
mod team;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analyst::{Analyst, DemoQuestion};
use clap::Args;
use population::{DISTRICTS, PEOPLE, Population};
use report::Report;
use taximeter_accounting::{Budget, Cost, Filter, FilterRule, FilterSpec};
use taximeter_gate::{
    AnswerDocument, Cell, Data, Declaration, Estimate, Gate, GateOutcome, Registration, Value, folder_beside,
};
use taximeter_ledger::{AccountName, Ledger, Location, Options};

use crate::output::{Failure, print, print_line, show_number, show_share, tell, thousands, usage};

/// Watch an analyst spend a budget of (1, 1e-6) on a simulated population
#[derive(Args)]
#[command(after_help = "\
Creates a folder with the population (people.csv, people.toml), the ledger, the gate's data, and figures as SVG. The same seed gives \
the same population; the noise is real, so no two runs are the same.

With --serve the analyst stops early, so that some budget is left; other analysts and a second tree of accounts have a history too, \
and a survey keeps charging. The server runs with its dashboard until Ctrl-C; its address and tokens are printed.

Examples:
  taximeter demo
  taximeter demo --serve")]
pub struct DemoCommand {
    /// The seed of the population
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// The folder to create [default: taximeter-demo, or the first of taximeter-demo-2, -3, … that does not exist]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Run a server with data, a dashboard and tokens to sign in with
    #[arg(long)]
    serve: bool,
    /// The address of the server, on this machine [default: 127.0.0.1:7070, or a free port if that is in use]
    #[arg(long, value_name = "ADDRESS:PORT", requires = "serve")]
    listen: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// With `--serve`, the analyst stops when less than this share of the budget is left. The rest is for visitors.
const LEFT_OVER: f64 = 0.35;

/// What happened on a ride.
struct Ride {
    budget: Budget,
    /// The costs of every question that was answered, in order.
    charges: Vec<Vec<Cost>>,
    /// After every answer: the share of the budget that is left, and the reading.
    meter: Vec<(f64, f64)>,
    refusals: u32,
    analyst: Analyst,
    /// The filter by basic composition on the same questions, until it halts.
    adding_up: Option<Filter>,
}

impl DemoCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        if self.serve {
            // A wrong address is reported before anything is created.
            serving::address(self.listen.as_deref())?;
        }
        let folder = self.make_folder()?;
        let population = Population::new(self.seed);
        let (csv, schema) = (folder.join("people.csv"), folder.join("people.toml"));
        population.write(&csv, &schema)?;
        let location = Location::File(folder.join("taximeter.db"));
        let budget = Budget::parse("1,1e-6")?;
        let gate = open(&folder, &location, &csv, budget)?;
        self.say(&format!(
            "{} simulated people in {DISTRICTS} districts, a budget of {budget}, and an analyst looking for outbreaks.\n\
             Every question is SQL. Its cost is on the ledger before the data are read, and its answer has noise.\n\n\
             {}",
            thousands(PEOPLE as u64),
            heading()
        ))?;
        if self.serve {
            team::work(&gate, &AccountName::parse("people")?)?;
            surveys::publish(gate.ledger())?;
            self.ride(&gate, budget)?;
            serving::run(gate, serving::address(self.listen.as_deref())?, &folder, self.json)?;
        } else {
            let ride = self.ride(&gate, budget)?;
            // The report opens the ledger again, to verify it.
            drop(gate);
            let report = Report::new(&ride, &population, self.seed, &folder, &location)?;
            print(self.json, &report, || report.text(&ride, &folder))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Lets the analyst ask until nothing fits; with `--serve`, as the owner and until the budget is low.
    fn ride(&self, gate: &Gate, budget: Budget) -> Result<Ride, Failure> {
        let mut ride = Ride {
            budget,
            charges: Vec::new(),
            meter: Vec::new(),
            refusals: 0,
            analyst: Analyst::new(),
            adding_up: Some(Filter::new(FilterSpec::new(FilterRule::Basic, budget))?),
        };
        let people = AccountName::parse("people")?;
        let (who, least_left) = if self.serve { (Some(team::OWNER), LEFT_OVER) } else { (None, 0.0) };
        while let Some(question) = ride.analyst.next() {
            match gate.ask(&team::request(&people, &question.sql(), question.epsilon(), who)?)? {
                GateOutcome::Answered(answer) => self.hear(&mut ride, question, &answer.document)?,
                GateOutcome::Refused(refusal) => {
                    ride.refusals += 1;
                    let reason = refusal.refused().first().map_or(String::new(), |(_, reason)| reason.text());
                    self.say(&format!(
                        "{:>6}  {:<34}  {:>5}  halt: {reason}",
                        "",
                        question.text(),
                        question.epsilon()
                    ))?;
                    ride.analyst.refused(question);
                }
                GateOutcome::NoAnswer(receipt) => return Err(team::no_answer(receipt.sequence())),
            }
            if ride.meter.last().is_some_and(|(left, _)| *left < least_left) {
                break;
            }
        }
        Ok(ride)
    }

    /// Records an answer, passes it to the analyst, and prints the line if it is of interest.
    fn hear(&self, ride: &mut Ride, question: DemoQuestion, document: &str) -> Result<(), Failure> {
        let answer = AnswerDocument::read(document)?;
        let costs: Vec<Cost> = answer.columns.iter().flat_map(|column| &column.parts).map(|part| part.cost).collect();
        if let Some(filter) = &mut ride.adding_up {
            let mut is_admitted = true;
            for cost in &costs {
                is_admitted &= filter.charge(cost)?.continues();
            }
            if !is_admitted {
                ride.adding_up = None;
                self.say(&format!("{:>6}  by basic composition, the budget would be spent here", ""))?;
            }
        }
        ride.charges.push(costs);
        let account = answer.accounts.first();
        let left = account.and_then(|account| account.left).map_or(0.0, |left| left.0);
        let reading = account.and_then(|account| account.reading).map_or(f64::INFINITY, |reading| reading.0);
        ride.meter.push((left, reading));
        let values: Vec<f64> = answer.rows.iter().filter_map(|row| last(row)?.nearest()).collect();
        let is_outbreak = ride.analyst.hear(question, &values);
        let round = ride.charges.len();
        let is_rare = matches!(question, DemoQuestion::Occupations(_) | DemoQuestion::Age(_));
        if round <= 12 || round.is_multiple_of(50) || is_outbreak || is_rare {
            self.say(&format!(
                "{round:>6}  {:<34}  {:>5}  {:<26}  {:>8}  {:>9}{}",
                question.text(),
                question.epsilon(),
                shown(&answer.rows),
                show_share(left),
                show_number(reading),
                if is_outbreak { "  an outbreak!" } else { "" }
            ))?;
        }
        Ok(())
    }

    /// Creates a new folder.
    fn make_folder(&self) -> Result<PathBuf, Failure> {
        let numbered = (2..=10_000).map(|number| PathBuf::from(format!("taximeter-demo-{number}")));
        let names: Vec<PathBuf> = match &self.folder {
            Some(folder) => vec![folder.clone()],
            None => std::iter::once(PathBuf::from("taximeter-demo")).chain(numbered).collect(),
        };
        for name in names {
            match std::fs::create_dir(&name) {
                Ok(()) => return Ok(name),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && self.folder.is_none() => {}
                Err(error) => {
                    let advice = "name a new one with --folder";
                    return Err(usage(format!("the folder {} cannot be created: {error}; {advice}", name.display())));
                }
            }
        }
        Err(usage("there are 10,000 demo folders here; delete some"))
    }

    /// Prints text for people: to standard output, or with --json to standard error.
    fn say(&self, text: &str) -> Result<(), Failure> {
        if self.json {
            tell(text);
            return Ok(());
        }
        print_line(text)
    }
}

/// Opens a new gate with the population.
fn open(folder: &Path, location: &Location, csv: &Path, budget: Budget) -> Result<Gate, Failure> {
    let ledger = Ledger::open(location, Options { create: true, ..Options::default() })?;
    let gate = Gate::open(&folder_beside(&folder.join("taximeter.db")), ledger)?;
    let data = Data::csv(csv.to_path_buf());
    let registration = Registration {
        rules: Some(team::rules(budget)),
        ..Registration::new(AccountName::parse("people")?, Declaration::parse(population::SCHEMA)?, data)
    };
    gate.register(&registration, &mut |_, _| {})?;
    Ok(gate)
}

fn heading() -> String {
    format!("{:>6}  {:<34}  {:>5}  {:<26}  {:>8}  {:>9}", "answer", "question", "ε", "noisy answer", "left", "reading")
}

/// The number of a row: its last cell.
fn last(row: &[Cell]) -> Option<&Estimate> {
    row.last().and_then(Cell::estimate)
}

/// A noisy answer in one line: the number with its interval, or the largest of several.
fn shown(rows: &[Vec<Cell>]) -> String {
    let number = |estimate: &Estimate| {
        let low = estimate.interval.as_ref().and_then(|[low, _]| low.as_f64());
        let (Some(value), Some(low)) = (estimate.nearest(), low) else {
            let noisy = |part: &Option<Box<Estimate>>| {
                part.as_ref().and_then(|part| part.nearest()).map_or("–".to_string(), |value| format!("{value:.0}"))
            };
            return format!("sum {}, count {}", noisy(&estimate.sum), noisy(&estimate.count));
        };
        format!("{:.0} ± {:.0}", value, value - low)
    };
    let nearest = |row: &[Cell]| last(row).and_then(Estimate::nearest).unwrap_or(f64::NEG_INFINITY);
    let largest = rows.iter().max_by(|one, other| nearest(one).total_cmp(&nearest(other)));
    match largest.map(Vec::as_slice) {
        Some([Cell::Group(group), .., Cell::Estimate(estimate)]) if rows.len() > 1 => {
            let group = if let Value::Text(text) = group { text.clone() } else { group.to_string() };
            format!("most in {group}: {}", number(estimate))
        }
        Some([.., Cell::Estimate(estimate)]) => number(estimate),
        _ => String::new(),
    }
}
