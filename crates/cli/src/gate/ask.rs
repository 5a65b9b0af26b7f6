//! `taximeter ask`: a question, charged before the data are read.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_accounting::Rounding;
use taximeter_gate::{NoiseKind, Number, Origin, Price};
use taximeter_ledger::{AccountName, Key, Who};
use taximeter_service::{Code, Explanation, QuestionOutcome, QuestionRequest, Role, TokenDocument};

use super::{GateArgs, explain, prompt, render};
use crate::args::flag;
use crate::backend::Backend;
use crate::ledger::charge::{key, print_refusal};
use crate::output::{Failure, NO_ANSWER, REFUSED, in_flag, print, print_document, print_line, tell, usage};

/// Ask a dataset a question in SQL; without one, open a prompt
///
/// COUNT(*), COUNT(column), COUNT(DISTINCT unit), SUM(column) and AVG(column), with WHERE (comparisons with literals, AND, OR, NOT,
/// IN, BETWEEN, LIKE, IS NULL), GROUP BY columns with declared categories, ORDER BY and LIMIT. Several aggregates share the cost
/// equally; an average is a sum and a count, each with half of its share. The charge is on the ledger before the data are read, and
/// a question that fails afterwards stays charged. The same key gives the same answer, byte for byte.
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

Exits with 3 if the budget refuses, and with 5 if the question is charged but has no answer: `dataset log` tells the owner why."
)]
pub struct AskCommand {
    /// The dataset
    dataset: String,
    /// The question, in SQL; without one, a prompt opens, or standard input is read: each question ends with ; or an empty line
    question: Option<String>,
    /// Clamp the noisy counts at 0 and the averages to their bounds
    #[arg(long)]
    clamp: bool,
    /// The analyst who asks: DATASET/WHO pays, if the dataset has analysts; otherwise a note in the journal
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// The idempotency key: asking again with it returns the same answer and charges nothing [default: a new key]
    #[arg(long, requires = "question")]
    key: Option<String>,
    /// Return the analyst's own earlier answer to the same question, if there is one, at no cost
    #[arg(long)]
    reuse: bool,
    /// Show the SQL that would run, its sensitivity, noise and cost; charges nothing
    #[arg(long, requires = "question", conflicts_with_all = ["key", "reuse"])]
    explain: bool,
    #[command(flatten)]
    price: PriceArgs,
    #[command(flatten)]
    gate: GateArgs,
}

/// The price of an answer.
#[derive(Args, Clone)]
#[command(next_help_heading = "The price (one of)")]
pub struct PriceArgs {
    /// epsilon, for discrete Laplace noise
    #[arg(long, value_name = "EPSILON", group = "price")]
    epsilon: Option<String>,
    /// mu, for Gaussian noise, rounded to whole steps: charged as --gaussian mu
    #[arg(long, value_name = "MU", group = "price")]
    gaussian: Option<String>,
    /// The smallest cost for which the 95% interval is at most ± WIDTH
    #[arg(long, value_name = "WIDTH", group = "price")]
    error: Option<String>,
    /// The noise for --error [default: laplace]
    #[arg(long, value_name = "NOISE", requires = "error", conflicts_with_all = ["epsilon", "gaussian"],
          value_parser = ["laplace", "gaussian"])]
    noise: Option<String>,
}

impl PriceArgs {
    /// The price, if one was given.
    pub fn price(&self) -> Result<Option<Price>, Failure> {
        let given = [("--epsilon", &self.epsilon), ("--gaussian", &self.gaussian), ("--error", &self.error)];
        let given = given.into_iter().find_map(|(name, text)| Some((name, text.as_deref()?)));
        let Some(price) = given.map(|(name, text)| price(name, text)).transpose()? else { return Ok(None) };
        Ok(Some(match (price, self.noise.as_deref()) {
            (Price::Error { width, .. }, Some("gaussian")) => Price::Error { width, noise: NoiseKind::Gaussian },
            (price, _) => price,
        }))
    }
}

/// A price by the name of its flag, or of its command at the prompt.
pub fn price(name: &str, text: &str) -> Result<Price, Failure> {
    Ok(match name.trim_start_matches(['-', '\\']) {
        "epsilon" => Price::Epsilon(flag(name, text, Rounding::Up)?),
        "gaussian" => Price::Gaussian(flag(name, text, Rounding::Up)?),
        _ => Price::Error { width: Number::parse(text).map_err(in_flag(name))?, noise: NoiseKind::Laplace },
    })
}

/// Who asks and which account pays.
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

impl AskCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let (price, json) = (self.price.price()?, self.gate.ledger.json);
        let Some(question) = &self.question else {
            let backend = self.gate.backend()?;
            return prompt::run(&*backend, &self.asker(&*backend)?, price, json);
        };
        let price = price.ok_or_else(|| usage("a price is missing; give for instance --epsilon 0.1, or --error 50"))?;
        let key = key(self.key.as_deref())?;
        let backend = self.gate.backend()?;
        let asker = self.asker(&*backend)?;
        let request = asker.request(question, price);
        if self.explain {
            return print_explanation(&backend.explain(&request)?, json);
        }
        print_outcome(backend.ask(&request, asker.by.as_ref(), &key)?, &key, json)
    }

    /// Finds the account of the analyst in --by. If the dataset has no analysts, the name is only a note.
    fn asker(&self, backend: &dyn Backend) -> Result<Asker, Failure> {
        let dataset = AccountName::parse(&self.dataset)?;
        let by = self.by.as_deref().map(|text| Who::parse("name in --by", text)).transpose()?;
        let account = match &by {
            Some(who) => analyst(backend, &dataset, who)?,
            None => None,
        };
        Ok(Asker { dataset, account, by, clamp: self.clamp, reuse: self.reuse })
    }
}

fn analyst(backend: &dyn Backend, dataset: &AccountName, who: &Who) -> Result<Option<AccountName>, Failure> {
    let analysts = backend.dataset(dataset)?.analysts;
    let name = format!("{dataset}/{who}");
    if let Some(own) = analysts.iter().find(|analyst| analyst.as_str() == name) {
        return Ok(Some(own.clone()));
    }
    match backend.own_token()? {
        // A token belongs to one person and shows only that person's accounts.
        Some(TokenDocument { principal, role: Role::Analyst, .. }) => Err(usage(match principal == who.as_str() {
            true => format!("this token belongs to {principal} already; leave --by out"),
            false => format!("this token belongs to {principal}; leave --by out, or use {who}'s token"),
        })),
        token if analysts.is_empty() => Ok(token.map(|_| AccountName::parse(&name)).transpose()?),
        _ => {
            let known: Vec<&str> = analysts.iter().map(AccountName::as_str).collect();
            Err(usage(format!(
                "{who} is no analyst of {dataset}; its analysts' accounts are {}. Leave --by out to ask as the owner",
                known.join(", ")
            )))
        }
    }
}

/// Prints the outcome of a question.
pub fn print_outcome(outcome: QuestionOutcome, key: &Key, json: bool) -> Result<ExitCode, Failure> {
    match outcome {
        QuestionOutcome::Answered { document, origin } => {
            tell_origin(origin);
            let printed = if json { print_document(&document) } else { print_line(&render::answer(&document)?) };
            printed.map_err(|failure| match failure {
                // The answer is paid for: the key gives it again.
                Failure::Other(why) => Failure::Other(format!("{why} The answer is kept: --key {key}")),
                failure => failure,
            })?;
            Ok(ExitCode::SUCCESS)
        }
        QuestionOutcome::Refused(refused) => print_refusal(&refused, json),
        QuestionOutcome::NoAnswer { sequence } => {
            let code = Code::NoAnswer.name();
            print(json, &NoAnswerJson { outcome: code, code, key: key.as_str(), sequence }, || {
                format!(
                    "charged, but there is no answer ({code}); record {sequence}, key {key}\n\
                     The charge stands. If the question is still running elsewhere, ask again later with the same key; otherwise the \
                     owner finds the reason with `dataset log`."
                )
            })?;
            Ok(ExitCode::from(NO_ANSWER))
        }
    }
}

/// Says so if an answer was stored earlier.
pub fn tell_origin(origin: Origin) {
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

/// Prints what a question would run and cost.
pub fn print_explanation(explanation: &Explanation, json: bool) -> Result<ExitCode, Failure> {
    print(json, explanation, || explain::text(explanation))?;
    Ok(if explanation.admitted { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
}
