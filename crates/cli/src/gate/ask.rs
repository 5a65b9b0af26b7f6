//! `taximeter ask`: a question, charged before the data are read.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_gate::{DummyAnswer, Number, Origin, Price};
use taximeter_ledger::{AccountName, Key, Who};
use taximeter_service::{Code, Explanation, QuestionOutcome, QuestionRequest, Role, TokenDocument};

use super::offer::{Offer, PriceArgs};
use super::{GateArgs, explain, prompt, render};
use crate::backend::Backend;
use crate::config::Setting;
use crate::ledger::charge::{key, print_refusal};
use crate::output::{Failure, NO_ANSWER, REFUSED, print, print_document, print_line, tell, usage};

/// Ask a dataset a question in SQL; without one, open a prompt
///
/// COUNT, SUM, AVG, VARIANCE, STDDEV, COVAR, CORR, MEDIAN, PERCENTILE_CONT, MIN and MAX, of columns and of expressions that cannot fail on
/// a row; with WHERE, FILTER, GROUP BY, HAVING, ORDER BY, LIMIT, UNION ALL and sub-queries that are one number. Groups are columns with
/// declared categories, values that WHERE names, and expressions with few values; by other columns too, above a threshold that costs a
/// delta (--delta). Another dataset with the same unit can be joined on it, and pays too. Several aggregates share the cost; what is
/// computed from their noisy numbers is free. The charge is on the ledger before the data are read, and a question that fails
/// afterwards stays charged. The same key gives the same answer, byte for byte.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  taximeter ask people \"SELECT COUNT(*) FROM people WHERE age >= 65\" --epsilon 0.1
  taximeter ask people \"SELECT region, AVG(income) FROM people GROUP BY region\" --epsilon 0.5 --by alice
  taximeter ask people \"SELECT region, MEDIAN(income), STDDEV(income) FROM people GROUP BY region\" --epsilon 1
  taximeter ask people \"SELECT COUNT(*) FROM people\" --error 50 --noise auto
  taximeter ask people \"SELECT town, COUNT(*) AS n FROM people GROUP BY town ORDER BY n DESC LIMIT 10\" --epsilon 0.5 --delta 1e-9
  taximeter ask people \"SELECT COUNT(*) FROM people\" --epsilon 0.1 --explain
  taximeter ask people \"SELECT region, AVG(age) FROM people GROUP BY region\" --epsilon 0.1 --dummy
  taximeter ask people --epsilon 0.01

Exits with 3 if the budget refuses, and with 5 if the question is charged but has no answer: `dataset log` tells the owner why."
)]
pub struct AskCommand {
    /// The dataset
    dataset: String,
    /// The question, in SQL; without one, a prompt opens, or standard input is read: each question ends with ; or an empty line
    ///
    /// A line that starts with SELECT or WITH begins another question too, unless a parenthesis or a quote is open: without ; a missing )
    /// joins the questions after it into one, which is an error.
    question: Option<String>,
    /// The shares of the price for the columns of the answer, such as n=3,income=1 [default: 1 each]; intervals=0 omits the intervals of
    /// quantiles, which cost as much as the quantiles themselves
    #[arg(long, value_name = "COLUMN=WEIGHT", value_delimiter = ',', value_parser = weight)]
    weights: Vec<(String, Number)>,
    /// Clamp the noisy counts at 0
    #[arg(long)]
    clamp: bool,
    /// Maximum groups per unit (undeclared groups): a smaller number lowers the noise and the threshold
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    max_groups_per_unit: Option<u32>,
    /// Count the rows with values outside of their declared bounds as well, for a tenth of the price
    #[arg(long)]
    count_clamped: bool,
    /// The analyst who asks: DATASET/WHO pays, if the dataset has analysts; otherwise a note in the journal
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// The account that pays for another dataset that the question joins [default: that dataset's own, or the token's]
    #[arg(long, value_name = "ACCOUNT")]
    joined_account: Option<String>,
    /// The idempotency key: asking again with it returns the same answer and charges nothing [default: a new key]
    #[arg(long, requires = "question")]
    key: Option<String>,
    /// Return the analyst's own earlier answer to the same question, if there is one, at no cost
    #[arg(long)]
    reuse: bool,
    /// Show the SQL that would run, its sensitivity, noise and cost; charges nothing
    #[arg(long, requires = "question", conflicts_with_all = ["key", "reuse"])]
    explain: bool,
    /// Try the question on made-up rows, which follow from the declaration alone: no data are read, and nothing is charged [default:
    /// 1000 rows]
    #[arg(long, value_name = "ROWS", num_args = 0..=1, require_equals = true, default_missing_value = "1000", requires = "question",
          conflicts_with_all = ["key", "reuse", "explain"],
          value_parser = clap::value_parser!(u32).range(1..=i64::from(DummyAnswer::MOST_ROWS)))]
    dummy: Option<u32>,
    #[command(flatten)]
    price: PriceArgs,
    #[command(flatten)]
    gate: GateArgs,
}

/// Who asks and which account pays.
pub struct Asker {
    pub dataset: AccountName,
    pub account: Option<AccountName>,
    pub joined_account: Option<AccountName>,
    pub by: Option<Who>,
    pub weights: BTreeMap<String, Number>,
    pub clamp: bool,
    pub max_groups_per_unit: Option<u32>,
    pub count_clamped: bool,
    pub reuse: bool,
}

impl Asker {
    pub fn request(&self, question: &str, price: Price) -> QuestionRequest {
        QuestionRequest {
            dataset: self.dataset.clone(),
            question: question.to_string(),
            price,
            weights: self.weights.clone(),
            clamp: self.clamp,
            max_groups_per_unit: self.max_groups_per_unit,
            count_clamped: self.count_clamped,
            account: self.account.clone(),
            joined_account: self.joined_account.clone(),
            reuse: self.reuse,
        }
    }
}

impl AskCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let offer = match self.price.offer()? {
            Some(offer) => Some(offer),
            None => Setting::Epsilon.text()?.map(|text| Offer::named("--epsilon", &text)).transpose()?,
        };
        let json = self.gate.ledger.json;
        let Some(question) = &self.question else {
            let backend = self.gate.backend()?;
            return prompt::run(&*backend, &self.asker(&*backend)?, offer, json);
        };
        let offer = offer.ok_or_else(|| usage("a price is missing; give for instance --epsilon 0.1, or --error 50"))?;
        if let (Offer::CheapestNoise(_), Some(_)) = (offer, &self.key) {
            // What costs less may change, and a key belongs to one price.
            return Err(usage("--noise auto may choose another noise next time; with --key, name the noise"));
        }
        let key = key(self.key.as_deref())?;
        let backend = self.gate.backend()?;
        let asker = self.asker(&*backend)?;
        let request = asker.request(question, offer.price(&*backend, &asker, question)?);
        if self.explain {
            return print_explanation(&backend.explain(&request)?, json);
        }
        if let Some(rows) = self.dummy {
            return print_dummy(&backend.ask_dummy(&request, rows)?, json);
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
        let joined_account = self.joined_account.as_deref().map(AccountName::parse).transpose()?;
        let weights = self.weights.iter().cloned().collect();
        let &AskCommand { clamp, max_groups_per_unit, count_clamped, reuse, .. } = self;
        Ok(Asker { dataset, account, joined_account, by, weights, clamp, max_groups_per_unit, count_clamped, reuse })
    }
}

/// `column=weight`.
fn weight(text: &str) -> Result<(String, Number), String> {
    let (column, weight) = text.split_once('=').ok_or("write it as column=weight, such as n=3")?;
    Ok((column.to_string(), Number::parse(weight).map_err(|error| error.to_string())?))
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
            true => format!("this token belongs to {principal} already; omit --by"),
            false => format!("this token belongs to {principal}; omit --by, or use {who}'s token"),
        })),
        token if analysts.is_empty() => Ok(token.map(|_| AccountName::parse(&name)).transpose()?),
        _ => {
            let known: Vec<&str> = analysts.iter().map(AccountName::as_str).collect();
            Err(usage(format!(
                "{who} is not an analyst of {dataset}; its analysts' accounts are {}. Omit --by to ask as the owner",
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

/// Prints an answer from made-up rows.
pub fn print_dummy(answer: &DummyAnswer, json: bool) -> Result<ExitCode, Failure> {
    print(json, answer, || render::dummy(answer))
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
