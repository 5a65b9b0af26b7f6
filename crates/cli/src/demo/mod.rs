//! `taximeter demo`: the paper's Example 2 for real. A made-up population behind the gate, a budget of (1, 1e-6) on a ledger, and an
//! analyst who chooses the next question, what to spend on it and when to stop, after seeing the last answer. With `--serve` it is left
//! running, with more accounts, for people to look at in a browser.

mod analyst;
mod population;
mod report;
mod serving;
mod surveys;
mod team;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use taximeter_accounting::{Budget, Cost, Filter, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
use taximeter_gate::{
    AnswerDocument, Cell, Data, Declaration, Estimate, Gate, GateOutcome, Registration, Rules, Value, folder_beside,
};
use taximeter_ledger::{AccountName, Ledger, Location, Options};

use crate::output::{Failure, print, print_line, show_number, show_share, tell, thousands};
use analyst::{Analyst, Ask, Purpose};
use population::{DISTRICTS, PEOPLE, Population};

/// Ride along with an analyst who spends a budget of (1, 1e-6) on made-up people
#[derive(Args)]
#[command(after_help = "\
Makes a folder with the people (people.csv, people.toml), the ledger and the gate's data, and figures as SVG. The people are the same \
for the same seed; the noise is real, and so no two rides are the same.

With --serve the ride ends early, so that there is something left to ask for; other analysts and a second tree of accounts have a \
history too, and a survey goes on being charged. Then the server runs with its dashboard, and its address and tokens are printed, until \
Ctrl-C.

Examples:
  taximeter demo
  taximeter demo --serve")]
pub struct Demo {
    /// The seed of the made-up population
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Where to put it all: a new folder [default: taximeter-demo, or the first of taximeter-demo-2, -3, … that is not there]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Leave a populated server running, with a dashboard and tokens to sign in with
    #[arg(long)]
    serve: bool,
    /// Where it listens, on this machine [default: 127.0.0.1:7070, or a free port if that is taken]
    #[arg(long, value_name = "ADDRESS:PORT", requires = "serve")]
    listen: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The share of the budget at which a ride that is served ends: something is left for those who look at it.
const LEFT_OVER: f64 = 0.35;

/// What happened on a ride.
struct Ride {
    budget: Budget,
    /// The costs of every question that was answered, in order.
    charges: Vec<Vec<Cost>>,
    /// After every answer: the share that is left, and the reading.
    meter: Vec<(f64, f64)>,
    refusals: u32,
    analyst: Analyst,
    /// What basic composition makes of the same questions, until it halts.
    adding_up: Option<Filter>,
}

impl Demo {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        if self.serve {
            // Said before anything is made; looked for again when it is wanted.
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
            "{} made-up people in {DISTRICTS} districts, a budget of {budget}, and an analyst looking for outbreaks.\n\
             Every question is SQL; its cost is on the ledger before the data are touched, and its answer has noise.\n\n\
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
            self.report(&ride, &population, &folder, &location)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The ride: to its end, or if it is to be served, by the owner and not to the last.
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
        while let Some(ask) = ride.analyst.next() {
            match gate.ask(&team::request(&people, &ask.sql, ask.epsilon, who)?)? {
                GateOutcome::Answered(answer) => self.hear(&mut ride, &ask, &answer.document)?,
                GateOutcome::Refused(refusal) => {
                    ride.refusals += 1;
                    let reason = refusal.refused().first().map_or(String::new(), |(_, reason)| reason.text());
                    self.say(&format!("{:>6}  {:<34}  {:>5}  halt: {reason}", "", ask.text(), ask.epsilon))?;
                    ride.analyst.refused(&ask);
                }
                GateOutcome::NoAnswer(receipt) => return Err(team::no_answer(receipt.sequence())),
            }
            if ride.meter.last().is_some_and(|(left, _)| *left < least_left) {
                break;
            }
        }
        Ok(ride)
    }

    /// Notes an answer, lets the analyst think about it, and tells what is worth telling.
    fn hear(&self, ride: &mut Ride, ask: &Ask, document: &str) -> Result<(), Failure> {
        let answer = AnswerDocument::read(document)?;
        let costs: Vec<Cost> = answer.columns.iter().flat_map(|column| &column.parts).map(|part| part.cost).collect();
        if let Some(filter) = &mut ride.adding_up {
            let mut is_admitted = true;
            for cost in &costs {
                is_admitted &= filter.charge(cost)?.continues();
            }
            if !is_admitted {
                ride.adding_up = None;
                self.say(&format!("{:>6}  by adding up, the budget would be spent here; the ride goes on", ""))?;
            }
        }
        ride.charges.push(costs);
        let account = answer.accounts.first();
        let left = account.and_then(|account| account.left).map_or(0.0, |left| left.0);
        let reading = account.and_then(|account| account.reading).map_or(f64::INFINITY, |reading| reading.0);
        ride.meter.push((left, reading));
        let values: Vec<f64> = answer.rows.iter().filter_map(|row| last(row)?.nearest()).collect();
        let news = ride.analyst.hear(ask, &values);
        let round = ride.charges.len();
        let is_early = round <= 12;
        if is_early
            || round.is_multiple_of(50)
            || news.is_some()
            || matches!(ask.purpose, Purpose::Who(_) | Purpose::Age(_))
        {
            self.say(&format!(
                "{round:>6}  {:<34}  {:>5}  {:<26}  {:>8}  {:>9}{}",
                ask.text(),
                ask.epsilon,
                shown(&answer.rows),
                show_share(left),
                show_number(reading),
                news.map_or(String::new(), |news| format!("  {news}"))
            ))?;
        }
        Ok(())
    }

    /// A folder that was not there before.
    fn make_folder(&self) -> Result<PathBuf, Failure> {
        let numbered = (2..).map(|number| PathBuf::from(format!("taximeter-demo-{number}")));
        let mut names: Box<dyn Iterator<Item = PathBuf>> = match &self.folder {
            Some(folder) => Box::new(std::iter::once(folder.clone())),
            None => Box::new(std::iter::once(PathBuf::from("taximeter-demo")).chain(numbered.take(10_000))),
        };
        names
            .find_map(|name| match std::fs::create_dir(&name) {
                Ok(()) => Some(Ok(name)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && self.folder.is_none() => None,
                Err(error) => Some(Err(Failure::Usage(format!(
                    "the folder {} cannot be made: {error}; name a new one with --folder",
                    name.display()
                )))),
            })
            .unwrap_or_else(|| Err(Failure::Usage("there are 10,000 demo folders here; delete some".to_string())))
    }

    /// Text for people: on standard output, unless a document goes there.
    fn say(&self, text: &str) -> Result<(), Failure> {
        if self.json {
            tell(text);
            return Ok(());
        }
        print_line(text)
    }

    fn report(&self, ride: &Ride, population: &Population, folder: &Path, location: &Location) -> Result<(), Failure> {
        let report = report::Report::new(ride, population, self.seed, folder, location)?;
        print(self.json, &report, || report.text(ride, folder)).map(|_| ())
    }
}

/// The people behind the gate.
fn open(folder: &Path, location: &Location, csv: &Path, budget: Budget) -> Result<Gate, Failure> {
    let ledger = Ledger::open(location, Options { create: true, ..Options::default() })?;
    let gate = Gate::open(&folder_beside(&folder.join("taximeter.db")), ledger)?;
    let data = Data::csv(csv.to_path_buf());
    let registration = Registration {
        rules: Some(Rules {
            filter: Some(FilterSpec::new(FilterRule::Residue, budget)),
            odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
        }),
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

/// A noisy answer in few words: the number with its reach, or the largest of several.
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
