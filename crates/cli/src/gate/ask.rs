//! `taximeter ask`: a question, paid for before the data are touched.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_accounting::Rounding;
use taximeter_gate::{NoiseKind, Origin, Price};
use taximeter_ledger::{AccountName, Key, Who};
use taximeter_service::{Code, Explanation, QuestionOutcome, QuestionRequest, Role, TokenDocument};

use super::{GateArgs, explain, prompt, render};
use crate::args::flag;
use crate::ledger::charge::print_refusal;
use crate::office::Office;
use crate::output::{Failure, NO_ANSWER, REFUSED, print_document, print_json, print_line, tell};

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
    /// The question, in SQL; without one, a prompt opens, or questions are read from standard input; each ends with ; or an empty line
    question: Option<String>,
    /// Clamp counts at 0 and averages at their bounds, afterwards
    #[arg(long)]
    clamp: bool,
    /// The analyst who asks: DATASET/WHO pays, if the dataset has analysts; a note for the journal otherwise
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
    /// The smallest cost for which the 95% interval is at most ± WIDTH
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
    pub fn request(&self, question: &str, price: Price) -> QuestionRequest {
        QuestionRequest {
            dataset: self.dataset.clone(),
            question: question.to_string(),
            price,
            clamp: self.clamp,
            account: self.account.clone(),
            reuse: self.reuse,
        }
    }
}

impl Ask {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let (price, json) = (self.price.price()?, self.gate.ledger.json);
        let Some(question) = &self.question else {
            let office = self.gate.office()?;
            return prompt::run(&*office, &self.asker(&*office)?, price, json);
        };
        let price = price.ok_or_else(|| {
            Failure::Usage("a price is missing; give for instance --epsilon 0.1, or --error 50".to_string())
        })?;
        let key = match &self.key {
            Some(text) => Key::parse("key", text)?,
            None => Key::generate()?,
        };
        let office = self.gate.office()?;
        let asker = self.asker(&*office)?;
        let request = asker.request(question, price);
        if self.explain {
            return print_explanation(&office.explain(&request)?, json);
        }
        print_outcome(office.ask(&request, asker.by.as_ref(), &key)?, &key, json)
    }

    /// Who pays: an analyst of the dataset, if it has any. Otherwise who asks is a note, but for a server, which knows who asks.
    fn asker(&self, office: &dyn Office) -> Result<Asker, Failure> {
        let dataset = AccountName::parse(&self.dataset)?;
        let by = self.by.as_deref().map(|text| Who::parse("name in --by", text)).transpose()?;
        let account = match &by {
            Some(who) => analyst(office, &dataset, who)?,
            None => None,
        };
        Ok(Asker { dataset, account, by, clamp: self.clamp, reuse: self.reuse })
    }
}

fn analyst(office: &dyn Office, dataset: &AccountName, who: &Who) -> Result<Option<AccountName>, Failure> {
    let analysts = office.dataset(dataset)?.analysts;
    let name = format!("{dataset}/{who}");
    if let Some(own) = analysts.iter().find(|analyst| analyst.as_str() == name) {
        return Ok(Some(own.clone()));
    }
    match office.own_token()? {
        // A token names one person, and shows that person's accounts alone.
        Some(TokenDocument { principal, role: Role::Analyst, .. }) => {
            Err(Failure::Usage(match principal == who.as_str() {
                true => format!("this token belongs to {principal} already; leave --by out"),
                false => format!("this token belongs to {principal}; leave --by out, or use {who}'s token"),
            }))
        }
        token if analysts.is_empty() => Ok(token.map(|_| AccountName::parse(&name)).transpose()?),
        _ => {
            let known: Vec<&str> = analysts.iter().map(AccountName::as_str).collect();
            Err(Failure::Usage(format!(
                "{who} is no analyst of {dataset}; its analysts' accounts are {}. Leave --by out to ask as the owner",
                known.join(", ")
            )))
        }
    }
}

/// Prints what came of a question.
pub fn print_outcome(outcome: QuestionOutcome, key: &Key, json: bool) -> Result<ExitCode, Failure> {
    match outcome {
        QuestionOutcome::Answered { document, origin } => {
            tell_about(origin);
            let printed = if json { print_document(&document) } else { print_line(&render::answer(&document)?) };
            printed.map_err(|failure| match failure {
                // It is paid for: whoever asks again with its key has it.
                Failure::Other(why) => Failure::Other(format!("{why} The answer is kept: --key {key}")),
                failure => failure,
            })?;
            Ok(ExitCode::SUCCESS)
        }
        QuestionOutcome::Refused(refused) => print_refusal(&refused, json),
        QuestionOutcome::NoAnswer { sequence } => {
            let code = Code::NoAnswer.name();
            if json {
                print_json(&NoAnswerJson { outcome: code, code, key: key.as_str(), sequence })?;
            } else {
                print_line(&format!(
                    "charged, but there is no answer ({code}); record {sequence}, key {key}\n\
                     The charge stands. If the question is still running elsewhere, ask again later with the same key; otherwise the \
                     owner finds the reason with `dataset log`."
                ))?;
            }
            Ok(ExitCode::from(NO_ANSWER))
        }
    }
}

/// Tells where an answer is from.
pub fn tell_about(origin: Origin) {
    if let Some(note) = render::origin(origin) {
        tell(note);
    }
}

#[derive(Serialize)]
struct NoAnswerJson<'a> {
    outcome: &'static str,
    code: &'static str,
    key: &'a str,
    sequence: u64,
}

/// Prints what would come of a question.
pub fn print_explanation(explanation: &Explanation, json: bool) -> Result<ExitCode, Failure> {
    match json {
        true => print_json(explanation)?,
        false => print_line(&explain::text(explanation))?,
    }
    Ok(if explanation.admitted { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
}
