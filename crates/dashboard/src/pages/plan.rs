//! The page of a plan: a study, what its questions cost, which budget they need, and what they leave.

use axum::Router;
use axum::extract::RawQuery;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use taximeter_accounting::Count;
use taximeter_ledger::AccountName;
use taximeter_service::words::{grouped, show_cost, show_count, show_number};
use taximeter_service::{Computed, PlannedAccount, PlannedQuestion, Problem, RefusedQuestion, StudyPlan, StudyRequest};

use super::ask::{explanation::marked, schema};
use super::cost::{quote, with_status, wrong};
use crate::Dashboard;
use crate::chart::{WaterfallStep, waterfall};
use crate::display;
use crate::form_data::FormData;
use crate::page::Section;
use crate::table::DataTable;
use crate::visitor::Visitor;

const TITLE: &str = "Plan a study";

pub(super) fn routes() -> Router<Dashboard> {
    Router::new().route("/plan", get(show).post(plan))
}

/// The form with an example, or with the study in the path.
async fn show(visitor: Visitor, RawQuery(query): RawQuery) -> Response {
    let fields = FormData::from_query(query.as_deref());
    let study = match fields.get("study") {
        Some(study) => Ok(study.to_string()),
        None => example(&visitor).await,
    };
    let hint = html! { p.quiet-text { "Show the plan to see what the questions cost. A plan charges nothing and reads no data." } };
    visitor.page(Section::Plan, TITLE, study.map(|study| content(&visitor, &study, hint)))
}

/// The form as it was filled in, with its plan or the problem.
async fn plan(visitor: Visitor, fields: FormData) -> Response {
    let text = fields.get("study").unwrap_or_default();
    let (result, failure) = match planned(&visitor, text).await {
        Ok(plan) => (shown(&plan), None),
        Err((markup, failure)) => (markup, Some(failure)),
    };
    with_status(visitor.page(Section::Plan, TITLE, Ok(content(&visitor, text, result))), failure)
}

/// The plan of a study, or the problem with it, and how it is shown.
async fn planned(visitor: &Visitor, text: &str) -> Result<StudyPlan, (Markup, Problem)> {
    let study = StudyRequest::parse(text).map_err(|failure| {
        // It shows the line of the study, and so needs letters of one width.
        let markup = html! { div.problem { p { strong { "The study cannot be read" } } pre { (failure.detail) } } };
        (markup, failure)
    })?;
    visitor.caller.plan(study.clone()).await.map_err(|failure| {
        let question = failure.question.and_then(|number| study.questions.get(number.checked_sub(1)?));
        let at = failure.position.zip(question);
        let markup = html! {
            (wrong(&failure))
            @if let Some((position, question)) = at { (marked(&question.sql, position)) }
        };
        (markup, failure)
    })
}

/// A study of the first dataset that the visitor may ask about.
async fn example(visitor: &Visitor) -> Result<String, Problem> {
    let datasets = visitor.caller.datasets().await?.0;
    let Some(dataset) = datasets.first() else { return Ok(String::new()) };
    let pays = |account: &&AccountName| account.path().any(|above| above == dataset.dataset.as_str());
    let own: Vec<_> = visitor.caller.token().accounts.iter().filter(pays).collect();
    // With one account there is nothing to name.
    let account = if let [first, _, ..] = own[..] { format!("account = \"{first}\"\n") } else { String::new() };
    // JSON quotes a text as TOML does.
    let sql = serde_json::Value::from(schema::example(dataset).replace('\n', " "));
    Ok(format!(
        "dataset = \"{}\"\n{account}\n[[questions]]\nname = \"every month\"\nsql = {sql}\nerror = 50\ntimes = 12\n\n\
         [[questions]]\nname = \"once, more exactly\"\nsql = {sql}\nepsilon = 0.2\n",
        dataset.dataset
    ))
}

fn content(visitor: &Visitor, study: &str, result: Markup) -> Markup {
    html! {
        section.panel aria-labelledby="study-heading" {
            h2 #study-heading { "Your study" }
            form.stacked method="post" action="/plan" {
                (visitor.form_key())
                label for="study" { "Questions, in TOML" }
                textarea #study name="study" rows="16" required spellcheck="false" autocapitalize="off" autocomplete="off"
                    aria-describedby="study-help" { (study) }
                p.help #study-help {
                    "Each " code { "[[questions]]" } " has " code { "sql" } " and one of " code { "error" }
                    " (the 95% interval is at most ± this), " code { "epsilon" } " (with a " code { "delta" }
                    " for groups that are not declared) and " code { "gaussian" } ". " code { "times" } " says how often it is asked, "
                    code { "name" } " what the plan calls it. " code { "account" } ", above the questions, names who pays."
                }
                button { "Show the plan" }
            }
        }
        section.panel aria-labelledby="plan-heading" {
            h2 #plan-heading { "The plan" }
            div #plan aria-live="polite" { (result) }
        }
    }
}

fn shown(plan: &StudyPlan) -> Markup {
    html! {
        (verdict(plan))
        @if plan.others_pay {
            p.help { "Accounts above pay too. You cannot see what they have left, and one of them may still refuse." }
        }
        (questions(plan))
        dl.facts {
            dt { "Added up" }
            dd {
                @match plan.added_up { Some(sum) => { "ε = " (sum.significant(6)) }, None => "not possible: a cost has no ε" }
            }
            dt { "Best order" } dd { (plan.order.words()) }
            @if let Some(largest) = plan.largest_after {
                dt { "Afterwards" } dd { "one more question of up to ε = " (largest.significant(6)) " fits" }
            }
        }
        (accounts(plan))
        @for account in &plan.accounts { (figure(plan, account)) }
    }
}

fn verdict(plan: &StudyPlan) -> Markup {
    let refused = plan.accounts.iter().filter_map(|account| Some((&account.account, account.refused.as_ref()?)));
    html! {
        @if plan.fits_now {
            p.verdict.takes { strong { "All questions fit now." } " A plan charges nothing." }
        } @else {
            p.verdict.refuses { strong { "The questions do not all fit now." } " A plan charges nothing." }
            @for (account, RefusedQuestion { name, taken, reason }) in refused {
                p {
                    (display::account_link(account)) " stops at " strong { (name) }
                    @if *taken > 0 { ", which fits " (grouped(&taken.to_string())) @if *taken == 1 { " time" } @else { " times" } }
                    ": " (reason) ". Allow a larger error, ask fewer times, or ask the owner for more budget."
                }
            }
        }
    }
}

fn questions(plan: &StudyPlan) -> Markup {
    let within =
        |question: &PlannedQuestion| question.within.map_or("–".to_string(), |width| grouped(&width.to_string()));
    let table = DataTable::new("Questions", "What each question costs")
        .row_head("Question", "wrap", |question: &PlannedQuestion| html! { (question.name) })
        .column("Times", "number", |question| html! { (grouped(&question.times.to_string())) })
        .column("Cost each", "", |question| html! { (show_cost(&question.cost)) })
        .column("95% within ±", "number", |question| html! { (within(question)) });
    html! { h3 { "Questions" } (table.rows(&plan.questions)) }
}

fn accounts(plan: &StudyPlan) -> Markup {
    let table = DataTable::new("Accounts", "What the study needs of each account, and what it leaves")
        .row_head("Account", "wrap", |account: &PlannedAccount| display::account_link(&account.account))
        .column("Rule", "", |account| html! { (account.rule.as_deref().unwrap_or("–")) })
        .column("Budget", "", |account| {
            let budget = account.budget.as_ref().and_then(|budget| budget.budget().ok());
            html! { @match budget { Some(budget) => (budget), None => "none" } }
        })
        .column("Needs, ε", "number", |account| html! { (needs(account)) })
        .column("Left, now and after", "", |account| {
            let [left, after] = [account.left, account.left_after].map(|share| share.map(|Computed(share)| share));
            quote::meter(&account.account, left, after)
        })
        .column("Then fit", "number", |account| {
            let count = account.surprises.map(|count| Count { count, at_least: account.at_least });
            html! { (count.map_or("–".to_string(), show_count)) }
        });
    html! {
        h3 { "Accounts" }
        (table.rows(&plan.accounts))
        p.help {
            "Needs: the smallest new budget with this rule and δ that takes all questions, and nothing else. Then fit: how many more "
            "questions of ε = " (StudyPlan::SURPRISE) " the account takes after all of them."
        }
    }
}

fn needs(account: &PlannedAccount) -> String {
    match (&account.budget, account.needs) {
        (None, _) => "–".to_string(),
        (_, None) => "too much".to_string(),
        (_, Some(Computed(needs))) => show_number(needs),
    }
}

/// How the questions use the budget of an account, in the best order; nothing without a budget.
fn figure(plan: &StudyPlan, account: &PlannedAccount) -> Markup {
    let Some(Computed(now)) = account.left.filter(|_| !account.steps.is_empty()) else { return html! {} };
    let refused = account.refused.as_ref().map(|refused| (account.steps.len() - 1, refused.taken));
    let label = |at: usize, PlannedQuestion { name, times, .. }: &PlannedQuestion| match (refused, times) {
        (Some((last, taken)), _) if at == last => format!("{taken} of {times} × {name}"),
        (_, 1) => name.clone(),
        _ => format!("{times} × {name}"),
    };
    let steps = plan.in_order().into_iter().zip(&account.steps).enumerate();
    let steps = steps.filter_map(|(at, (question, left))| {
        let (Computed(left), label) = ((*left)?, label(at, &plan.questions[question]));
        Some(WaterfallStep { label, left })
    });
    let steps: Vec<_> = steps.collect();
    html! {
        h3 { "How the budget of " (account.account) " is used" }
        (waterfall(account.account.as_str(), now, &steps))
    }
}
