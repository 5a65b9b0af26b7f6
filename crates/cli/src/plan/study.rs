//! `taximeter plan --questions`: what the questions of a study cost, and which budget they need together.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use taximeter_accounting::Count;
use taximeter_gate::Number;
use taximeter_ledger::AccountName;
use taximeter_service::words::grouped;
use taximeter_service::{PlannedAccount, PlannedQuestion, StudyPlan, StudyQuestion, StudyRequest};

use crate::gate::GateArgs;
use crate::ledger::show;
use crate::output::{Failure, REFUSED, in_flag, print, show_cost, show_count, usage};
use crate::table::TextTable;

/// A study, and what an error calls it.
pub struct NamedStudy {
    study: StudyRequest,
    /// Nothing for files of SQL: their questions have the names of their files.
    name: Option<String>,
}

impl NamedStudy {
    /// A file in TOML.
    pub fn of_file(file: &Path) -> Result<NamedStudy, Failure> {
        let name = format!("the study {}", file.display());
        let study = StudyRequest::parse(&read(file, &name)?);
        let study = study.map_err(|problem| usage(format!("{name}: {}", problem.detail)))?;
        Ok(NamedStudy { study, name: Some(name) })
    }

    /// A question in each file, with an error for all of them or one for each.
    pub fn of_sql(files: &[PathBuf], dataset: &str, errors: &[String]) -> Result<NamedStudy, Failure> {
        let questions: Result<Vec<StudyQuestion>, Failure> = match errors {
            [] => Err(usage("--error is missing; for example --error 50")),
            [error] => files.iter().map(|file| question_in(file, error)).collect(),
            errors if errors.len() == files.len() => {
                files.iter().zip(errors).map(|(file, error)| question_in(file, error)).collect()
            }
            errors => Err(usage(format!(
                "there are {} files of SQL and {} errors; give one error for all of them, or one for each in the same order",
                files.len(),
                errors.len()
            ))),
        };
        let study = StudyRequest { dataset: AccountName::parse(dataset)?, account: None, questions: questions? };
        Ok(NamedStudy { study, name: None })
    }
}

/// The question in a file of SQL, with the error that is wanted.
fn question_in(file: &Path, error: &str) -> Result<StudyQuestion, Failure> {
    Number::parse(error).map_err(in_flag("--error"))?;
    let name = file.display().to_string();
    Ok(StudyQuestion {
        sql: read(file, &name)?,
        name: Some(name),
        error: Some(error.into()),
        noise: None,
        epsilon: None,
        delta: None,
        gaussian: None,
        times: NonZeroU32::MIN,
    })
}

/// Whether a file is a question in SQL, by its name.
pub fn is_sql(file: &Path) -> bool {
    file.extension().is_some_and(|end| end.eq_ignore_ascii_case("sql"))
}

fn read(file: &Path, name: &str) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| usage(format!("{name}: it cannot be read: {error}")))
}

/// Prints the plan of a study.
pub fn run(named: &NamedStudy, gate: &GateArgs) -> Result<ExitCode, Failure> {
    let plan = gate.backend()?.plan(&named.study).map_err(|failure| match (failure, &named.name) {
        (Failure::Usage(message) | Failure::Question { message, .. }, Some(name)) => {
            usage(format!("{name}: {message}"))
        }
        (Failure::Question { message, .. }, None) => usage(message),
        (other, _) => other,
    })?;
    print(gate.ledger.json, &plan, || show_plan(&plan))?;
    Ok(if plan.fits_now { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
}

fn show_plan(plan: &StudyPlan) -> String {
    let mut questions = TextTable::new(&["question", ">times", "cost each", ">95% within ±"]);
    for PlannedQuestion { name, times, cost, within, .. } in &plan.questions {
        let within = within.map_or("–".to_string(), |width| grouped(&format!("{width}")));
        questions.row([name.clone(), times.to_string(), show_cost(cost), within]);
    }
    let mut accounts = TextTable::new(&["account", "rule", "budget", ">needs ε", ">left", ">left after", ">then fit"]);
    plan.accounts.iter().for_each(|account| accounts.row(account_row(account)));
    let added_up =
        plan.added_up.map_or("not possible: a cost has no ε".to_string(), |sum| format!("ε = {}", sum.significant(6)));
    let verdict = match plan.fits_now {
        true => "all questions fit now; nothing was charged",
        false => "the questions do not all fit now; nothing was charged",
    };
    let stops = plan.accounts.iter().filter_map(|account| account.refused.as_ref().map(|refused| (account, refused)));
    let stops: String = stops
        .map(|(account, refused)| {
            let (account, taken) = (&account.account, show::number(refused.taken.into(), "time", "times"));
            format!("\nstops at    {}, after {taken}: {account}: {}", refused.name, refused.reason)
        })
        .collect();
    let largest = plan.largest_after.map_or(String::new(), |largest| {
        format!("\nafterwards  one more of up to ε = {} fits", largest.significant(6))
    });
    format!(
        "{questions}\n\nadding up   {added_up}\nbest order  {}\nverdict     {verdict}{stops}{largest}\n\n{accounts}\n\n\
         needs ε   the smallest new budget with this rule and δ that takes all of them\n\
         then fit  how many more of ε = {} the account takes after all of them",
        plan.order.words(),
        StudyPlan::SURPRISE
    )
}

fn account_row(account: &PlannedAccount) -> [String; 7] {
    let budget = account.budget.as_ref().and_then(|budget| budget.budget().ok());
    let needs = match (&account.budget, account.needs) {
        (None, _) => "–".to_string(),
        (_, None) => "too much".to_string(),
        (_, Some(needs)) => format!("{:.4}", needs.0),
    };
    let surprises = account.surprises.map(|count| show_count(Count { count, at_least: account.at_least }));
    [
        account.account.to_string(),
        account.rule.clone().unwrap_or("–".to_string()),
        budget.map_or("none".to_string(), |budget| budget.to_string()),
        needs,
        show::share(account.left.map(|left| left.0)),
        show::share(account.left_after.map(|left| left.0)),
        surprises.unwrap_or("–".to_string()),
    ]
}
