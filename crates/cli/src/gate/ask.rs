//! `taximeter ask`: a question, paid for before the data are touched.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::Number;
use taximeter_accounting::{Cost, Rounding};
use taximeter_gate::{Catalog, ExplainedPart, Gate, NoiseKind, Outcome, Prepared, Price, Request};
use taximeter_ledger::{Account, AccountName, Key, Quote, Who};

use super::dataset::analysts;
use super::{GateArgs, prompt, render};
use crate::args::flag;
use crate::ledger::charge::{open_branches, print_refusal, what_fits};
use crate::ledger::show::{self, Lines};
use crate::output::{Computed, Failure, NO_ANSWER, REFUSED, print_json, print_line, tell};
use crate::table::Table;

/// Ask a dataset a question in SQL; without one, open a prompt
///
/// COUNT(*), COUNT(column), COUNT(DISTINCT unit), SUM(column) and AVG(column), with WHERE (comparisons with literals, AND, OR, NOT,
/// IN, BETWEEN, LIKE, IS NULL), GROUP BY columns with declared categories, ORDER BY and LIMIT. Several aggregates share the cost in
/// equal parts; an average is a sum and a count with half of its part each. The charge is on the ledger before the data are touched,
/// and whatever goes wrong afterwards stays charged. The same key gives the same answer, byte for byte.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  taximeter ask people \"SELECT COUNT(*) FROM people WHERE age >= 65\" --epsilon 0.1
  taximeter ask people \"SELECT region, AVG(income) FROM people GROUP BY region\" --epsilon 0.5 --by alice
  taximeter ask people \"SELECT COUNT(*) FROM people\" --error 50
  taximeter ask people \"SELECT COUNT(*) FROM people\" --epsilon 0.1 --explain
  taximeter ask people --epsilon 0.01

Exits with 3 if the budget says halt, and with 5 if it is charged but has no answer: `dataset log` tells the owner why."
)]
pub struct Ask {
    /// The dataset
    dataset: String,
    /// The question, in SQL; without one, a prompt opens, or questions are read from standard input, one a line
    question: Option<String>,
    /// Clamp counts at 0 and averages at their bounds, afterwards
    #[arg(long)]
    clamp: bool,
    /// The analyst who asks: NAME/WHO pays, if the dataset has analysts; a note for the journal otherwise
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// The idempotency key: the same one gives the same answer and charges once [default: a new one]
    #[arg(long, requires = "question")]
    key: Option<String>,
    /// Take the analyst's own earlier answer to the same question, if there is one, at no cost
    #[arg(long)]
    reuse: bool,
    /// Show what would run, its sensitivity, noise and cost; charges nothing
    #[arg(long, requires = "question", conflicts_with_all = ["key", "reuse"])]
    explain: bool,
    #[command(flatten)]
    price: PriceArgs,
    #[command(flatten)]
    gate: GateArgs,
}

/// What is offered for an answer.
#[derive(Args, Clone)]
#[command(next_help_heading = "The price (one of)")]
pub struct PriceArgs {
    /// epsilon, for discrete Laplace noise
    #[arg(long, value_name = "EPSILON", group = "price")]
    epsilon: Option<String>,
    /// mu, for discrete Gaussian noise: zCDP of rho = mu²/2, for accounts with --rule zcdp or renyi
    #[arg(long, value_name = "MU", group = "price")]
    gaussian: Option<String>,
    /// The least cost whose 95% interval is at most so wide to each side
    #[arg(long, value_name = "WIDTH", group = "price")]
    error: Option<String>,
    /// The noise that goes with --error [default: laplace]
    #[arg(long, value_name = "NOISE", requires = "error", conflicts_with_all = ["epsilon", "gaussian"],
          value_parser = ["laplace", "gaussian"])]
    noise: Option<String>,
}

impl PriceArgs {
    /// What was offered, if anything was.
    pub fn price(&self) -> Result<Option<Price>, Failure> {
        if let Some(text) = &self.epsilon {
            return Ok(Some(Price::Epsilon(flag("--epsilon", text, Rounding::Up)?)));
        }
        if let Some(text) = &self.gaussian {
            return Ok(Some(Price::Gaussian(flag("--gaussian", text, Rounding::Up)?)));
        }
        let Some(text) = &self.error else { return Ok(None) };
        let width = taximeter_gate::Number::parse(text).map_err(|error| Failure::Usage(format!("--error: {error}")))?;
        let noise = if self.noise.as_deref() == Some("gaussian") { NoiseKind::Gaussian } else { NoiseKind::Laplace };
        Ok(Some(Price::Error { width, noise }))
    }
}

/// Who asks, and who pays.
pub struct Asker {
    pub dataset: AccountName,
    pub account: Option<AccountName>,
    pub by: Option<Who>,
    pub clamp: bool,
    pub reuse: bool,
}

impl Asker {
    pub fn request(&self, question: &str, price: Price, key: Key) -> Request {
        Request {
            dataset: self.dataset.clone(),
            question: question.to_string(),
            price,
            clamp: self.clamp,
            account: self.account.clone(),
            by: self.by.clone(),
            key,
            reuse: self.reuse,
        }
    }
}

impl Ask {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let price = self.price.price()?;
        let Some(question) = &self.question else {
            let gate = self.gate.open()?;
            let asker = self.asker(gate.catalog(), gate.ledger().accounts().iter().map(Account::name))?;
            return prompt::run(&gate, &asker, price, self.gate.ledger.json);
        };
        let price = price.ok_or_else(|| {
            Failure::Usage("a price is missing; give for instance --epsilon 0.1, or --error 50".to_string())
        })?;
        match self.explain {
            true => self.explain(question, price),
            false => self.ask(question, price),
        }
    }

    fn ask(&self, question: &str, price: Price) -> Result<ExitCode, Failure> {
        let key = match &self.key {
            Some(text) => Key::parse("key", text)?,
            None => Key::generate()?,
        };
        let gate = self.gate.open()?;
        let asker = self.asker(gate.catalog(), gate.ledger().accounts().iter().map(Account::name))?;
        let request = asker.request(question, price, key);
        let outcome = ask(&gate, &request)?;
        print_outcome(outcome, &request, self.gate.ledger.json)
    }

    fn explain(&self, question: &str, price: Price) -> Result<ExitCode, Failure> {
        let (catalog, reader) = self.gate.look()?;
        let asker = self.asker(&catalog, reader.accounts().iter().map(Account::name))?;
        let request = asker.request(question, price, Key::generate()?);
        let prepared = Prepared::new(&catalog, &request).map_err(|error| render::with_position(question, error))?;
        let quote = reader.quote(prepared.charge())?;
        match self.gate.ledger.json {
            true => print_json(&Explanation::new(&prepared, &quote))?,
            false => print_line(&explanation(&prepared, &quote))?,
        }
        Ok(if quote.is_admitted() { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
    }

    /// Who pays: an analyst of the dataset, if it has any; otherwise who asks is a note.
    fn asker<'a>(&self, catalog: &Catalog, accounts: impl Iterator<Item = &'a AccountName>) -> Result<Asker, Failure> {
        let dataset = AccountName::parse(&self.dataset)?;
        let by = self.by.as_deref().map(|text| Who::parse("name in --by", text)).transpose()?;
        let analysts = analysts(&catalog.datasets()?, &dataset, accounts);
        let account = match &by {
            Some(who) if !analysts.is_empty() => {
                let name = format!("{dataset}/{who}");
                let own = analysts.iter().find(|analyst| analyst.as_str() == name);
                let known = || analysts.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
                Some((*own.ok_or_else(|| {
                    Failure::Usage(format!(
                        "{who} is no analyst of {dataset}; its analysts' accounts are {}. Leave --by out to ask as the owner",
                        known()
                    ))
                })?)
                .clone())
            }
            _ => None,
        };
        Ok(Asker { dataset, account, by, clamp: self.clamp, reuse: self.reuse })
    }
}

/// Asks. Whoever does not know what came of a charge needs its key to find out.
pub fn ask(gate: &Gate, request: &Request) -> Result<Outcome, Failure> {
    let payer = [request.account.clone().unwrap_or_else(|| request.dataset.clone())];
    let before = open_branches(gate.ledger(), &payer)?;
    let outcome = gate.ask(request).map_err(|error| match error.is_unknown_outcome() {
        true => Failure::Other(format!("{error}: --key {}", request.key)),
        false => render::with_position(&request.question, error),
    })?;
    // It is paid for: nothing that goes wrong here may keep the answer back.
    let after = open_branches(gate.ledger(), &payer).unwrap_or_else(|_| before.clone());
    for (account, branch) in before.iter().filter(|branch| !after.contains(branch)) {
        tell(&format!("note: closed on {}", show::closed_branch(account, branch)));
    }
    Ok(outcome)
}

/// Prints what came of a question.
pub fn print_outcome(outcome: Outcome, request: &Request, json: bool) -> Result<ExitCode, Failure> {
    match outcome {
        Outcome::Answered(answer) => {
            if let Some(note) = render::origin(answer.origin) {
                tell(note);
            }
            let text = if json { answer.document } else { render::answer(&answer.document)? };
            print_line(&text).map_err(|failure| match failure {
                // It is paid for: whoever asks again with its key has it.
                Failure::Other(why) => Failure::Other(format!("{why} The answer is kept: --key {}", request.key)),
                failure => failure,
            })?;
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Refused(refusal) => print_refusal(&refusal, json),
        Outcome::NoAnswer(receipt) => {
            if json {
                print_json(&NoAnswerJson {
                    outcome: "no-answer",
                    code: NO_ANSWER_CODE,
                    key: request.key.as_str(),
                    sequence: receipt.sequence(),
                })?;
            } else {
                print_line(&format!(
                    "charged, but there is no answer ({NO_ANSWER_CODE}); record {}, key {}\n\
                     The charge stands. If the question is still running elsewhere, ask again later with the same key; otherwise the \
                     owner finds the reason with `dataset log`.",
                    receipt.sequence(),
                    request.key
                ))?;
            }
            Ok(ExitCode::from(NO_ANSWER))
        }
    }
}

/// The one code for all that goes wrong after a charge: which of it did may depend on the data.
const NO_ANSWER_CODE: &str = "no-answer";

#[derive(Serialize)]
struct NoAnswerJson<'a> {
    outcome: &'static str,
    code: &'static str,
    key: &'a str,
    sequence: u64,
}

#[derive(Serialize)]
pub struct Explanation<'a> {
    dataset: &'a AccountName,
    version: u32,
    account: &'a AccountName,
    question: &'a str,
    sql: String,
    parameters: Vec<String>,
    parts: Vec<PartJson>,
    cost: Cost,
    admitted: bool,
    fits: Option<&'a [Cost]>,
    /// Branches of filters that the charge would close for good.
    closes: Vec<ClosesJson<'a>>,
}

#[derive(Serialize)]
struct ClosesJson<'a> {
    account: &'a AccountName,
    branch: &'static str,
}

#[derive(Serialize)]
struct PartJson {
    measure: String,
    cost: Cost,
    noise: &'static str,
    sensitivity: Number,
    scale: Computed,
    half_width: Number,
}

impl<'a> Explanation<'a> {
    pub fn new(prepared: &'a Prepared, quote: &'a Quote) -> Explanation<'a> {
        let (sql, parameters) = prepared.statement();
        let part = |part: ExplainedPart| {
            let ExplainedPart { measure, cost, noise, sensitivity, scale, half_width } = part;
            let [sensitivity, half_width] = [sensitivity, half_width].map(Number::from_string_unchecked);
            PartJson { measure, cost, noise, sensitivity, scale: Computed(scale), half_width }
        };
        Explanation {
            dataset: &prepared.dataset().name,
            version: prepared.dataset().version,
            account: prepared.account(),
            question: prepared.canonical(),
            sql,
            parameters,
            parts: prepared.parts().into_iter().map(part).collect(),
            cost: prepared.cost(),
            admitted: quote.is_admitted(),
            fits: quote.fits(),
            closes: closes(quote).map(|(account, branch)| ClosesJson { account, branch }).collect(),
        }
    }
}

/// What an admitted charge would close for good.
fn closes(quote: &Quote) -> impl Iterator<Item = (&AccountName, &'static str)> {
    let accounts = quote.accounts().iter().filter(|_| quote.is_admitted());
    accounts.filter_map(|account| Some((account.before.name(), account.closes?)))
}

/// What would happen, for people.
pub fn explanation(prepared: &Prepared, quote: &Quote) -> String {
    let (sql, parameters) = prepared.statement();
    let mut lines = Lines::default();
    lines.add("question", prepared.canonical());
    lines.add("runs", sql);
    if !parameters.is_empty() {
        lines.add("with", parameters.join(", "));
    }
    lines.add("costs", show::costs(&[prepared.cost()]));
    let payers: Vec<&str> = quote.accounts().iter().map(|account| account.before.name().as_str()).collect();
    lines.add("pays", payers.join(", "));
    match quote.is_admitted() {
        true => {
            lines.add("verdict", "would be answered; nothing was charged");
            for (account, branch) in closes(quote) {
                lines.add("closes", show::closed_branch(account, branch));
            }
        }
        false => {
            lines.add("verdict", "would be refused; nothing was charged");
            let is_not_open =
                quote.accounts().iter().any(|account| account.before.standing() != taximeter_ledger::Standing::Open);
            lines.add("fits", what_fits(quote.fits(), is_not_open));
        }
    }
    let mut table = Table::new(&["computed", ">sensitivity", "noise", ">scale", ">95% within ±", "cost"]);
    for part in prepared.parts() {
        table.row([
            part.measure,
            match part.sensitivity.parse() {
                // The length of a vector, which may be the root of an integer.
                Ok(length) if part.noise == "discrete-gaussian" => render::scale(length),
                _ => render::grouped(&part.sensitivity),
            },
            part.noise.to_string(),
            render::scale(part.scale),
            render::grouped(&part.half_width),
            show::costs(&[part.cost]),
        ]);
    }
    format!("{lines}\n\n{table}")
}
