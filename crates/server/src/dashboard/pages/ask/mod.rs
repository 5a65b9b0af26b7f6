//! Ask: a question in SQL with the schema beside it, what it would cost while it is written, and earlier answers.

mod answer;
mod bars;
mod earlier;
mod explanation;
mod form;
mod kept;
mod schema;
mod stored;

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State as Shared};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;
use taximeter_api::words::closed_branch;
use taximeter_api::{AccountDocument, Code, DatasetDocument};
use taximeter_ledger::{AccountName, Key};

use super::cost::{document, from_query, new_key, next_key, sent_before, with_status, wrong};
use crate::access::Action;
use crate::dashboard::fields::Fields;
use crate::dashboard::page::Section;
use crate::dashboard::visitor::{SCRIPT, Visitor};
use crate::extract::{Body, IdempotencyKey};
use crate::failure::Failure;
use crate::routes::{accounts, datasets, questions};
use crate::state::State;

const TITLE: &str = "Ask";

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new()
        .route("/ask", get(show).post(ask))
        .route("/ask/explain", get(show).post(explain))
        .route("/answers/{key}", get(answer::show))
        .route("/answers/{key}/answer.json", get(answer::download))
}

/// What a question is about and who can pay for it.
struct Desk {
    datasets: Vec<DatasetDocument>,
    chosen: DatasetDocument,
    /// The accounts of one's own that pay for the dataset.
    payers: Vec<AccountDocument>,
}

impl Desk {
    /// The dataset that was chosen, or the first; nothing if there is none.
    async fn new(state: &Arc<State>, visitor: &Visitor, fields: &Fields) -> Result<Option<Desk>, Failure> {
        visitor.caller.require(Action::Ask)?;
        let (shared, caller) = (|| Shared(Arc::clone(state)), || visitor.caller.clone());
        let datasets = datasets::list(shared(), caller()).await?.0.0;
        let chosen = match fields.get("dataset").map(AccountName::parse).transpose()? {
            Some(name) => Some(datasets::show(shared(), caller(), crate::extract::Name(name)).await?.0),
            None => datasets.first().cloned(),
        };
        let Some(chosen) = chosen else { return Ok(None) };
        let mut payers = accounts::list(shared(), caller()).await?.0.accounts;
        let pays = |name: &AccountName| name.path().any(|above| above == chosen.dataset.as_str());
        payers.retain(|account| pays(&account.account) && visitor.caller.sight.owns(&account.account));
        Ok(Some(Desk { datasets, chosen, payers }))
    }
}

/// The form with an example, or with what the path fills in.
async fn show(Shared(state): Shared<Arc<State>>, visitor: Visitor, RawQuery(query): RawQuery) -> Response {
    let fields = from_query(query.as_deref());
    let desk = match Desk::new(&state, &visitor, &fields).await {
        Ok(Some(desk)) => desk,
        Ok(None) => {
            let none =
                html! { p { "There is no dataset that you may ask about. The owner of the data registers one." } };
            return visitor.page(Section::Ask, TITLE, Ok(none));
        }
        Err(failure) => return visitor.page(Section::Ask, TITLE, Err(failure)),
    };
    let fields = form::with_defaults(query.as_deref(), &desk);
    let (explanation, _) = explained(&state, &visitor, &fields).await;
    let before = fields.get("before");
    let content = content(&state, &visitor, &desk, &fields, new_key(), explanation, before);
    visitor.page(Section::Ask, TITLE, content.await)
}

/// The form as it was filled in, with what would come of it. To the script of the page, that alone.
async fn explain(Shared(state): Shared<Arc<State>>, visitor: Visitor, headers: HeaderMap, fields: Fields) -> Response {
    let (explanation, failure) = explained(&state, &visitor, &fields).await;
    // To a script the words are the answer: what is half written is no failure.
    if headers.contains_key(SCRIPT) {
        return visitor.page(Section::Ask, TITLE, Ok(result(&explanation)));
    }
    let content = whole(&state, &visitor, &fields, new_key(), explanation).await;
    with_status(visitor.page(Section::Ask, TITLE, content), failure)
}

/// What would come of what was filled in, or what is wrong with it.
async fn explained(state: &Arc<State>, visitor: &Visitor, fields: &Fields) -> (Markup, Option<Failure>) {
    match explanation::explained(state, visitor, fields).await {
        Ok(explanation) => (explanation, None),
        Err(failure) => {
            let failure = failure.told_to(visitor.is_owner());
            let at = failure.0.position.zip(fields.get("question"));
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
    state: &Arc<State>,
    visitor: &Visitor,
    fields: &Fields,
    key: Result<Key, Failure>,
    explanation: Markup,
) -> Result<Markup, Failure> {
    let desk = Desk::new(state, visitor, fields).await?;
    let desk = desk.ok_or_else(|| Failure::new(Code::NoDataset, "there is no dataset that you may ask about"))?;
    content(state, visitor, &desk, fields, key, explanation, None).await
}

async fn content(
    state: &Arc<State>,
    visitor: &Visitor,
    desk: &Desk,
    fields: &Fields,
    key: Result<Key, Failure>,
    explanation: Markup,
    before: Option<&str>,
) -> Result<Markup, Failure> {
    let earlier = earlier::earlier(state, visitor, before).await?;
    let key = key?;
    Ok(html! {
        div.columns.ask data-events=(desk.chosen.dataset) {
            section.panel aria-labelledby="question-heading" {
                h2 #question-heading { "Your question" }
                (form::choice(desk))
                (form::form(visitor, desk, fields, &key))
            }
            section.panel aria-labelledby="schema-heading" {
                h2 #schema-heading { "The schema of " (desk.chosen.dataset) }
                (schema::schema(&desk.chosen))
            }
        }
        section.panel aria-labelledby="explanation-heading" {
            h2 #explanation-heading { "What would come of it" }
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

/// Asks what was filled in. Sent twice, it is charged once and answered the same.
async fn ask(Shared(state): Shared<Arc<State>>, visitor: Visitor, fields: Fields) -> Response {
    match asked(&state, &visitor, &fields).await {
        Ok((notice, path)) => {
            state.sessions.leave_notice(&visitor.session(), notice);
            Redirect::to(&path).into_response()
        }
        Err(failure) => again(&state, &visitor, &fields, sent_before(failure)).await,
    }
}

/// What an answer is found by.
#[derive(Deserialize)]
struct Found {
    key: String,
}

async fn asked(state: &Arc<State>, visitor: &Visitor, fields: &Fields) -> Result<(String, String), Failure> {
    let key = IdempotencyKey(Key::parse("key", fields.required("key", "the key of the form")?)?);
    let request = Body(form::request(fields)?);
    let response = questions::ask(Shared(Arc::clone(state)), visitor.caller.clone(), key, request).await?;
    let notice = notice(response.headers());
    // An earlier answer is stored under the key that it was asked with.
    let Found { key } = document(response).await?;
    Ok((notice, answer::path(&key)))
}

/// What to say about an answer: whether it was charged, and what that closed.
fn notice(headers: &HeaderMap) -> String {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut notice = match header("taximeter-answer") {
        "reused" => "This is your earlier answer to the same question; nothing was charged.".to_string(),
        "replayed" => "This had been answered before; nothing was charged again.".to_string(),
        _ => "Charged and answered.".to_string(),
    };
    for (account, branch) in header("taximeter-closes").split(", ").filter_map(|one| one.split_once('=')) {
        if let Ok(account) = AccountName::parse(account) {
            notice += &format!(" Closed on {}.", closed_branch(&account, branch));
        }
    }
    notice
}

/// The form again, with why there is no answer.
async fn again(state: &Arc<State>, visitor: &Visitor, fields: &Fields, failure: Failure) -> Response {
    let explanation = match (&failure.0.refusal, failure.0.position.zip(fields.get("question"))) {
        (Some(refused), _) => explanation::refusal(refused, fields),
        (None, Some((position, question))) => explanation::marked(question, position),
        (None, None) => html! { p.quiet-text { "See above what is wrong." } },
    };
    match whole(state, visitor, fields, next_key(&failure, fields), explanation).await {
        Ok(content) => visitor.page_again(Section::Ask, TITLE, failure, content),
        // Without the dataset there is no form; what went wrong first is what matters.
        Err(_) => visitor.page(Section::Ask, TITLE, Err(failure)),
    }
}
