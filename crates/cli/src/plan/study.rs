//! `taximeter plan --questions`: what the questions of a study cost, and which budget they need together.

use std::path::Path;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use taximeter_accounting::{Amount, Budget, Cost, Filter, FilterRule, FilterSpec, Rounding, Verdict};
use taximeter_gate::{NoiseKind, Number, Price};
use taximeter_ledger::{AccountName, Computed};
use taximeter_service::words::grouped;
use taximeter_service::{
    AccountDocument, BudgetDocument, ChargeRequest, DeclaredCost, Explanation, FilterRequest, QuestionRequest,
    QuotedAccountDocument, specs,
};

use crate::args::flag;
use crate::backend::Backend;
use crate::gate::GateArgs;
use crate::ledger::show;
use crate::output::{Failure, REFUSED, print, show_cost, usage};
use crate::table::TextTable;

/// The most costs that one quote takes.
const QUOTED: usize = 64;

/// The cost of a question that was not planned.
const SURPRISE: &str = "0.01";

/// A file with questions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyFile {
    dataset: AccountName,
    account: Option<AccountName>,
    questions: Vec<StudyQuestion>,
}

/// A question, and what is wanted of its answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyQuestion {
    name: Option<String>,
    sql: String,
    error: Option<Digits>,
    noise: Option<NoiseKind>,
    epsilon: Option<Digits>,
    delta: Option<Digits>,
    gaussian: Option<Digits>,
    #[serde(default = "once")]
    times: u32,
}

/// A number, with or without quotes: a binary one stands for its shortest decimal text.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number, with or without quotes")]
enum Digits {
    Text(String),
    Whole(i64),
    Binary(f64),
}

impl std::fmt::Display for Digits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Digits::Text(text) => f.write_str(text),
            Digits::Whole(number) => number.fmt(f),
            Digits::Binary(number) => number.fmt(f),
        }
    }
}

fn once() -> u32 {
    1
}

#[derive(Serialize)]
struct StudyDocument {
    dataset: AccountName,
    questions: Vec<PlannedQuestion>,
    /// Σε over all questions; null if a question has no ε.
    added_up: Option<Amount>,
    /// The order of the charges for which the budget is smallest: as-listed, small-first or large-first; any if it does not matter.
    order: &'static str,
    accounts: Vec<PlannedAccount>,
    /// Whether all accounts would take all questions now; null if there are too many to quote.
    fits_now: Option<bool>,
}

#[derive(Serialize)]
struct PlannedQuestion {
    name: String,
    times: u32,
    cost: Cost,
    /// The half width of its 95% intervals; null where it depends on the answer.
    within: Option<f64>,
    #[serde(skip)]
    charges: Vec<Cost>,
}

#[derive(Serialize)]
struct PlannedAccount {
    account: AccountName,
    rule: String,
    budget: BudgetDocument,
    /// The smallest ε of a new budget with this rule and δ that takes all questions.
    needs: Option<f64>,
    left: Option<Computed>,
    left_after: Option<Computed>,
    /// How many questions of ε = 0.01 a new account would take after all of them.
    surprises: Option<u64>,
}

pub fn run(file: &Path, gate: &GateArgs) -> Result<ExitCode, Failure> {
    let wrong = |why: String| usage(format!("the study {}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(format!("it cannot be read: {error}")))?;
    let study: StudyFile = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if study.questions.is_empty() {
        return Err(wrong("it has no questions; add one, beginning with [[questions]]".to_string()));
    }
    let backend = gate.backend()?;
    let document = StudyDocument::new(&*backend, &study, &wrong)?;
    print(gate.ledger.json, &document, || document.text())?;
    Ok(if document.fits_now == Some(false) { ExitCode::from(REFUSED) } else { ExitCode::SUCCESS })
}

impl StudyQuestion {
    fn price(&self) -> Result<Price, Failure> {
        let amount = |name: &str, digits: &Digits| flag(name, &digits.to_string(), Rounding::Up);
        match (&self.error, &self.epsilon, &self.delta, &self.gaussian) {
            (Some(width), None, None, None) => {
                let width = Number::parse(&width.to_string()).map_err(|error| usage(format!("error: {error}")))?;
                Ok(Price::Error { width, noise: self.noise.unwrap_or_default() })
            }
            (None, Some(epsilon), None, None) => Ok(Price::Epsilon(amount("epsilon", epsilon)?)),
            (None, Some(epsilon), Some(delta), None) => {
                Ok(Price::Approximate { epsilon: amount("epsilon", epsilon)?, delta: amount("delta", delta)? })
            }
            (None, None, None, Some(mu)) => Ok(Price::Gaussian(amount("gaussian", mu)?)),
            _ => Err(usage("give one of error, epsilon (with a delta for open groups) and gaussian")),
        }
    }
}

impl StudyDocument {
    fn new(backend: &dyn Backend, study: &StudyFile, wrong: &dyn Fn(String) -> Failure) -> Result<Self, Failure> {
        let mut payers: Vec<AccountName> = Vec::new();
        let (mut questions, mut account) = (Vec::new(), study.account.clone());
        for (at, question) in study.questions.iter().enumerate() {
            let name = question.name.clone().unwrap_or_else(|| format!("question {}", at + 1));
            let about = |failure: Failure| wrong(format!("{name}: {}", failure.message()));
            let request = QuestionRequest {
                dataset: study.dataset.clone(),
                question: question.sql.clone(),
                price: question.price().map_err(about)?,
                weights: Default::default(),
                clamp: false,
                max_groups_per_unit: None,
                count_clamped: false,
                account: study.account.clone(),
                joined_account: None,
                reuse: false,
            };
            let explanation = backend.explain(&request).map_err(about)?;
            let within = within(request.price, &explanation);
            account.get_or_insert(explanation.account);
            payers.extend(explanation.pays.into_iter().filter(|payer| !payers.contains(payer)).collect::<Vec<_>>());
            questions.push(PlannedQuestion {
                name,
                times: question.times,
                cost: explanation.cost,
                within,
                charges: explanation.charges,
            });
        }
        let accounts = payers.iter().map(|payer| backend.account(payer)).collect::<Result<Vec<_>, _>>()?;
        let (order, costs) = best_order(&questions, &accounts)?;
        let quoted = match costs.len() <= QUOTED {
            true => Some(backend.quote(&charge(account.as_ref().unwrap_or(&study.dataset), &costs))?),
            false => None,
        };
        let added_up = questions.iter().try_fold(Amount::ZERO, |sum, question| {
            sum.checked_add(question.cost.epsilon()?.checked_times(question.times.into())?)
        });
        let planned = accounts.iter().map(|account| {
            let of_quote =
                quoted.as_ref().and_then(|quote| quote.accounts.iter().find(|one| one.account == account.account));
            PlannedAccount::new(account, &costs, of_quote)
        });
        Ok(StudyDocument {
            dataset: study.dataset.clone(),
            added_up,
            order,
            accounts: planned.collect::<Result<_, Failure>>()?,
            fits_now: quoted.map(|quote| quote.is_admitted()),
            questions,
        })
    }

    fn text(&self) -> String {
        let mut questions = TextTable::new(&["question", ">times", "cost each", ">95% within ±"]);
        for PlannedQuestion { name, times, cost, within, .. } in &self.questions {
            let within = within.map_or("–".to_string(), |width| grouped(&format!("{width}")));
            questions.row([name.clone(), times.to_string(), show_cost(cost), within]);
        }
        let mut accounts =
            TextTable::new(&["account", "rule", "budget", ">needs ε", ">left", ">left after", ">then fit"]);
        for account in &self.accounts {
            let budget = account.budget.budget().map_or("–".to_string(), |budget| budget.to_string());
            accounts.row([
                account.account.to_string(),
                account.rule.clone(),
                budget,
                account.needs.map_or("too much".to_string(), |needs| format!("{needs:.4}")),
                show::share(account.left.map(|left| left.0)),
                show::share(account.left_after.map(|left| left.0)),
                account.surprises.map_or("–".to_string(), |count| grouped(&count.to_string())),
            ]);
        }
        let added_up = self
            .added_up
            .map_or("not possible: a cost has no ε".to_string(), |sum| format!("ε = {}", sum.significant(6)));
        let verdict = match self.fits_now {
            Some(true) => "all questions fit now; nothing was charged",
            Some(false) => "the questions do not all fit now; nothing was charged",
            None => "too many charges to quote at once; the table says what a new budget needs",
        };
        let order = match self.order {
            "any" => "any: the budget does not depend on it",
            "small-first" => "small costs first",
            "large-first" => "large costs first",
            _ => "as listed",
        };
        format!(
            "{questions}\n\nadding up   {added_up}\nbest order  {order}\nverdict     {verdict}\n\n{accounts}\n\n\
             needs ε   the smallest new budget with this rule and δ that takes all of them\n\
             then fit  how many more of ε = {SURPRISE} a new account with this budget takes afterwards"
        )
    }
}

impl PlannedAccount {
    fn new(account: &AccountDocument, costs: &[Cost], quoted: Option<&QuotedAccountDocument>) -> Result<Self, Failure> {
        let Some(filter) = &account.filter else {
            return Err(usage(format!("the account {} has no budget; it takes every question", account.account)));
        };
        let spec = spec(account)?;
        let surprise = Cost::Pure { epsilon: Amount::parse_exact(SURPRISE)? };
        let after = admitted(&spec, costs).map(|filter| filter.count(&surprise)).transpose();
        Ok(PlannedAccount {
            account: account.account.clone(),
            rule: filter.rule.clone(),
            budget: filter.budget.clone(),
            needs: smallest_epsilon(&spec, costs),
            left: quoted.and_then(|quoted| quoted.left).or(account.left().map(Computed)),
            left_after: quoted.and_then(|quoted| quoted.left_after),
            // A rule may have no theorem for a pure ε beside other costs.
            surprises: after.ok().flatten().map(|count| count.count),
        })
    }
}

/// The half width of the 95% intervals, where it is known before the answer: that of an average depends on the number of rows.
fn within(price: Price, explanation: &Explanation) -> Option<f64> {
    match (price, explanation.parts.as_slice()) {
        (Price::Error { width, .. }, _) => Some(width.to_f64()),
        (_, [part]) if explanation.averages.is_empty() => part.half_width.as_str().parse().ok(),
        _ => None,
    }
}

/// The specification of an account's filter, as a new account would have it.
fn spec(account: &AccountDocument) -> Result<FilterSpec, Failure> {
    let missing = || usage(format!("the account {} has no budget; it takes every question", account.account));
    let filter = account.filter.as_ref().ok_or_else(missing)?;
    let request = FilterRequest {
        parameters: filter.parameters.clone(),
        max_cost: filter.max_cost,
        ..FilterRequest::new(FilterRule::ALL.into_iter().find(|rule| rule.name() == filter.rule), filter.budget.clone())
    };
    specs(Some(&request), None, FilterRule::default())?.0.ok_or_else(missing)
}

/// All charges in the order for which the root's budget is smallest.
fn best_order(
    questions: &[PlannedQuestion],
    accounts: &[AccountDocument],
) -> Result<(&'static str, Vec<Cost>), Failure> {
    let repeated = |question: &PlannedQuestion| question.charges.repeat(question.times as usize);
    let listed: Vec<Cost> = questions.iter().flat_map(repeated).collect();
    let mut small_first = listed.clone();
    small_first.sort_by_key(|cost| cost.size());
    let large_first: Vec<Cost> = small_first.iter().rev().copied().collect();
    let Some(root) = accounts.first() else { return Ok(("any", listed)) };
    let root = spec(root)?;
    let mut orders = [("as-listed", listed), ("small-first", small_first), ("large-first", large_first)]
        .map(|(name, costs)| (smallest_epsilon(&root, &costs).unwrap_or(f64::INFINITY), name, costs));
    let differs = orders.iter().any(|(needs, ..)| (needs - orders[0].0).abs() > 1e-6 * orders[0].0);
    orders.sort_by(|one, other| one.0.total_cmp(&other.0));
    let [(_, name, costs), ..] = orders;
    Ok((if differs { name } else { "any" }, costs))
}

/// A new filter after all costs; nothing if it refuses one, or has no theorem for it.
fn admitted(spec: &FilterSpec, costs: &[Cost]) -> Option<Filter> {
    let mut filter = Filter::new(spec.clone()).ok()?;
    costs.iter().all(|cost| matches!(filter.charge(cost), Ok(Verdict::Continue))).then_some(filter)
}

/// The smallest ε of a new budget that takes all costs, to about six digits and rounded up.
fn smallest_epsilon(spec: &FilterSpec, costs: &[Cost]) -> Option<f64> {
    let admits = |epsilon: f64| {
        let budget = Budget::new(Amount::at_most(epsilon), spec.budget.delta());
        let budget = budget.and_then(|budget| budget.with_mechanism_delta(spec.budget.mechanism_delta()));
        budget.is_ok_and(|budget| admitted(&FilterSpec { budget, ..spec.clone() }, costs).is_some())
    };
    let mut enough = 1.0;
    while !admits(enough) {
        enough *= 2.0;
        if enough > Filter::LARGEST_EPSILON as f64 {
            return None;
        }
    }
    let mut too_little = 0.0;
    while enough - too_little > 1e-6 * enough {
        let middle = 0.5 * (enough + too_little);
        if admits(middle) { enough = middle } else { too_little = middle }
    }
    Some(enough)
}

fn charge(account: &AccountName, costs: &[Cost]) -> ChargeRequest {
    let costs = costs.iter().copied().map(DeclaredCost).collect();
    ChargeRequest { accounts: vec![account.clone()], costs, unit: None, neighbours: None, by: None, note: None }
}
