//! `taximeter plan --questions`: what the questions of a study cost, and which budget they need together.

use std::path::Path;
use std::process::ExitCode;

use taximeter_accounting::Count;
use taximeter_service::words::grouped;
use taximeter_service::{PlannedAccount, PlannedQuestion, StudyPlan, StudyRequest};

use crate::gate::GateArgs;
use crate::ledger::show;
use crate::output::{Failure, REFUSED, print, show_cost, show_count, usage};
use crate::table::TextTable;

pub fn run(file: &Path, gate: &GateArgs) -> Result<ExitCode, Failure> {
    let wrong = |why: &str| usage(format!("the study {}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&format!("it cannot be read: {error}")))?;
    let study = StudyRequest::parse(&text).map_err(|problem| wrong(&problem.detail))?;
    let plan = gate.backend()?.plan(&study).map_err(|failure| match failure {
        Failure::Usage(message) | Failure::Question { message, .. } => wrong(&message),
        other => other,
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
