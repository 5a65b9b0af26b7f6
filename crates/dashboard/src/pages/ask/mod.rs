//! The page of a question: SQL with the schema beside it, its effect as it is entered, and earlier answers.

mod answer;
mod bars;
mod dummy;
mod earlier;
pub(super) mod explanation;
mod form;
mod noise;
pub(super) mod schema;
mod stored;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use taximeter_gate::Origin;
use taximeter_ledger::{AccountName, Key};
use taximeter_service::{AccountDocument, Action, AnswerDocument, Code, DatasetDocument, Problem};

use super::cost::{new_key, next_key, sent_before, sent_key, with_status, wrong};
use crate::Dashboard;
use crate::form_data::FormData;
use crate::page::Section;
use crate::visitor::{SCRIPT, Visitor};

const TITLE: &str = "Ask";

pub(super) fn routes() -> Router<Dashboard> {
    Router::new()
        .route("/ask", get(show).post(ask))
        .route("/ask/explain", get(show).post(explain))
        .route("/ask/dummy", get(show).post(try_out))
        .route("/answers/{key}", get(answer::show))
        .route("/answers/{key}/answer.json", get(answer::download))
}

/// The datasets and payers that the form offers.
struct QuestionForm {
    datasets: Vec<DatasetDocument>,
    chosen: DatasetDocument,
    /// The visitor's own accounts that can pay for the dataset.
    payers: Vec<AccountDocument>,
}

impl QuestionForm {
    /// The form for the chosen dataset, or the first; `None` without datasets.
    async fn new(visitor: &Visitor, fields: &FormData) -> Result<Option<QuestionForm>, Problem> {
        visitor.caller.require(Action::Ask)?;
        let datasets = visitor.caller.datasets().await?.0;
        let chosen = match fields.get("dataset").map(AccountName::parse).transpose()? {
            Some(name) => Some(visitor.caller.dataset(name).await?),
            None => datasets.first().cloned(),
        };
        let Some(chosen) = chosen else { return Ok(None) };
        let mut payers = visitor.caller.accounts().await?.accounts;
        let pays = |name: &AccountName| name.path().any(|above| above == chosen.dataset.as_str());
        payers.retain(|account| pays(&account.account) && visitor.caller.sight().owns(&account.account));
        Ok(Some(QuestionForm { datasets, chosen, payers }))
    }
}

/// The form with an example, or with the values in the path.
async fn show(visitor: Visitor, RawQuery(query): RawQuery) -> Response {
    let fields = FormData::from_query(query.as_deref());
    let form = match QuestionForm::new(&visitor, &fields).await {
        Ok(Some(form)) => form,
        Ok(None) => {
            let none = html! { p { "You have no dataset to ask about. Ask the owner of the data to register one." } };
            return visitor.page(Section::Ask, TITLE, Ok(none));
        }
        Err(failure) => return visitor.page(Section::Ask, TITLE, Err(failure)),
    };
    let fields = form::with_defaults(fields, &form);
    let (explanation, _) = explained(&visitor, &fields).await;
    let before = fields.get("before");
    let content = content(&visitor, &form, &fields, new_key(), explanation, before);
    visitor.page(Section::Ask, TITLE, content.await)
}

/// The form as it was filled in, with its effect. The page's script gets the effect alone.
async fn explain(visitor: Visitor, headers: HeaderMap, fields: FormData) -> Response {
    let (explanation, failure) = explained(&visitor, &fields).await;
    // For a script, an incomplete form is not an error.
    if headers.contains_key(SCRIPT) {
        return visitor.page(Section::Ask, TITLE, Ok(result(&explanation)));
    }
    let content = whole(&visitor, &fields, new_key(), explanation).await;
    with_status(visitor.page(Section::Ask, TITLE, content), failure)
}

/// The form as it was filled in, with an answer from made-up rows in the place of the effect.
async fn try_out(visitor: Visitor, fields: FormData) -> Response {
    let (answer, failure) = or_problem(dummy::tried(&visitor, &fields).await, &fields);
    let content = whole(&visitor, &fields, new_key(), answer).await;
    with_status(visitor.page(Section::Ask, TITLE, content), failure)
}

/// The effect of the question, or the problem.
async fn explained(visitor: &Visitor, fields: &FormData) -> (Markup, Option<Problem>) {
    or_problem(explanation::explained(visitor, fields).await, fields)
}

fn or_problem(outcome: Result<Markup, Problem>, fields: &FormData) -> (Markup, Option<Problem>) {
    match outcome {
        Ok(markup) => (markup, None),
        Err(failure) => {
            let at = failure.position.zip(fields.get("question"));
            let markup = html! {
                (wrong(&failure))
                @if let Some((position, question)) = at { (explanation::marked(question, position)) }
            };
            (markup, Some(failure))
        }
    }
}

/// The page of a form that was filled in.
async fn whole(
    visitor: &Visitor,
    fields: &FormData,
    key: Result<Key, Problem>,
    explanation: Markup,
) -> Result<Markup, Problem> {
    let form = QuestionForm::new(visitor, fields).await?;
    let form = form.ok_or_else(|| Problem::new(Code::NoDataset, "you have no dataset to ask about"))?;
    content(visitor, &form, fields, key, explanation, None).await
}

async fn content(
    visitor: &Visitor,
    form: &QuestionForm,
    fields: &FormData,
    key: Result<Key, Problem>,
    explanation: Markup,
    before: Option<&str>,
) -> Result<Markup, Problem> {
    let earlier = earlier::earlier(visitor, before).await?;
    let key = key?;
    Ok(html! {
        div.columns.ask data-events=(form.chosen.dataset) {
            section.panel aria-labelledby="question-heading" {
                h2 #question-heading { "Your question" }
                (form::dataset_choice(form))
                (form::form(visitor, form, fields, &key))
            }
            section.panel aria-labelledby="schema-heading" {
                h2 #schema-heading { "The schema of " (form.chosen.dataset) }
                (schema::schema(&form.chosen))
            }
        }
        section.panel aria-labelledby="explanation-heading" {
            h2 #explanation-heading { "Effect" }
            div aria-live="polite" { (result(&explanation)) }
        }
        section.panel aria-labelledby="earlier-heading" {
            h2 #earlier-heading { "Your earlier answers" }
            (earlier)
        }
    })
}

/// The part that changes while a question is written.
fn result(explanation: &Markup) -> Markup {
    html! { div #explanation { (explanation) } }
}

/// Asks the question. A form that is sent twice is charged once and has one answer.
async fn ask(visitor: Visitor, fields: FormData) -> Response {
    match asked(&visitor, &fields).await {
        Ok((notice, path)) => visitor.done(notice, &path),
        Err(failure) => again(&visitor, &fields, sent_before(failure)).await,
    }
}

/// The notice about an answer, and the path of its page.
async fn asked(visitor: &Visitor, fields: &FormData) -> Result<(&'static str, String), Problem> {
    let (key, request) = (sent_key(fields)?, form::request(fields)?);
    let (document, origin) = visitor.caller.ask(key, request).await?;
    let notice = match origin {
        Origin::Fresh => "Charged and answered.",
        Origin::Replayed => "This was answered before; nothing was charged again.",
        Origin::Reused => "This is your earlier answer to the same question; nothing was charged.",
    };
    // A reused answer is stored under its first key.
    Ok((notice, answer::path(&AnswerDocument::read(&document)?.key)))
}

/// The form again, with the problem.
async fn again(visitor: &Visitor, fields: &FormData, failure: Problem) -> Response {
    let explanation = match (&failure.refusal, failure.position.zip(fields.get("question"))) {
        (Some(refused), _) => explanation::refusal(refused, fields),
        (None, Some((position, question))) => explanation::marked(question, position),
        (None, None) => html! { p.quiet-text { "See the problem above." } },
    };
    let content = whole(visitor, fields, next_key(&failure, fields), explanation).await;
    visitor.page_again(Section::Ask, TITLE, failure, content)
}
