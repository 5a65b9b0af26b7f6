//! Ask: a question in SQL with the schema beside it, what it would cost while it is written, and earlier answers.

mod answer;
mod bars;
mod earlier;
mod explanation;
mod form;
mod kept;
mod noise;
mod schema;
mod stored;

use std::sync::Arc;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use taximeter_gate::Origin;
use taximeter_ledger::{AccountName, Key};
use taximeter_service::{AccountDocument, AnswerDocument, Code, DatasetDocument};

use super::cost::{new_key, next_key, sent_before, sent_key, with_status, wrong};
use crate::access::Action;
use crate::dashboard::fields::Fields;
use crate::dashboard::page::Section;
use crate::dashboard::visitor::{SCRIPT, Visitor};
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
    async fn new(visitor: &Visitor, fields: &Fields) -> Result<Option<Desk>, Failure> {
        visitor.caller.require(Action::Ask)?;
        let datasets = datasets::list(visitor.caller.clone()).await?.0.0;
        let chosen = match fields.get("dataset").map(AccountName::parse).transpose()? {
            Some(name) => Some(datasets::show(visitor.caller.clone(), crate::extract::Name(name)).await?.0),
            None => datasets.first().cloned(),
        };
        let Some(chosen) = chosen else { return Ok(None) };
        let mut payers = accounts::list(visitor.caller.clone()).await?.0.accounts;
        let pays = |name: &AccountName| name.path().any(|above| above == chosen.dataset.as_str());
        payers.retain(|account| pays(&account.account) && visitor.caller.sight.owns(&account.account));
        Ok(Some(Desk { datasets, chosen, payers }))
    }
}

/// The form with an example, or with what the path fills in.
async fn show(visitor: Visitor, RawQuery(query): RawQuery) -> Response {
    let fields = Fields::from_query(query.as_deref());
    let desk = match Desk::new(&visitor, &fields).await {
        Ok(Some(desk)) => desk,
        Ok(None) => {
            let none =
                html! { p { "There is no dataset that you may ask about. The owner of the data registers one." } };
            return visitor.page(Section::Ask, TITLE, Ok(none));
        }
        Err(failure) => return visitor.page(Section::Ask, TITLE, Err(failure)),
    };
    let fields = form::with_defaults(fields, &desk);
    let (explanation, _) = explained(&visitor, &fields).await;
    let before = fields.get("before");
    let content = content(&visitor, &desk, &fields, new_key(), explanation, before);
    visitor.page(Section::Ask, TITLE, content.await)
}

/// The form as it was filled in, with what would come of it. To the script of the page, that alone.
async fn explain(visitor: Visitor, headers: HeaderMap, fields: Fields) -> Response {
    let (explanation, failure) = explained(&visitor, &fields).await;
    // To a script the words are the answer: what is half written is no failure.
    if headers.contains_key(SCRIPT) {
        return visitor.page(Section::Ask, TITLE, Ok(result(&explanation)));
    }
    let content = whole(&visitor, &fields, new_key(), explanation).await;
    with_status(visitor.page(Section::Ask, TITLE, content), failure)
}

/// What would come of what was filled in, or what is wrong with it.
async fn explained(visitor: &Visitor, fields: &Fields) -> (Markup, Option<Failure>) {
    match explanation::explained(visitor, fields).await {
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
    visitor: &Visitor,
    fields: &Fields,
    key: Result<Key, Failure>,
    explanation: Markup,
) -> Result<Markup, Failure> {
    let desk = Desk::new(visitor, fields).await?;
    let desk = desk.ok_or_else(|| Failure::new(Code::NoDataset, "there is no dataset that you may ask about"))?;
    content(visitor, &desk, fields, key, explanation, None).await
}

async fn content(
    visitor: &Visitor,
    desk: &Desk,
    fields: &Fields,
    key: Result<Key, Failure>,
    explanation: Markup,
    before: Option<&str>,
) -> Result<Markup, Failure> {
    let earlier = earlier::earlier(visitor, before).await?;
    let key = key?;
    Ok(html! {
        div.columns.ask data-events=(desk.chosen.dataset) {
            section.panel aria-labelledby="question-heading" {
                h2 #question-heading { "Your question" }
                (form::dataset_choice(desk))
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
async fn ask(visitor: Visitor, fields: Fields) -> Response {
    match asked(&visitor, &fields).await {
        Ok((notice, path)) => visitor.done(notice, &path),
        Err(failure) => again(&visitor, &fields, sent_before(failure)).await,
    }
}

/// What to say about an answer, and the path of its page.
async fn asked(visitor: &Visitor, fields: &Fields) -> Result<(&'static str, String), Failure> {
    let (key, request) = (sent_key(fields)?, form::request(fields)?);
    let (document, origin) = questions::answered(visitor.caller.clone(), key, request).await?;
    let notice = match origin {
        Origin::Fresh => "Charged and answered.",
        Origin::Replayed => "This had been answered before; nothing was charged again.",
        Origin::Reused => "This is your earlier answer to the same question; nothing was charged.",
    };
    // An earlier answer is stored under the key that it was asked with.
    Ok((notice, answer::path(&AnswerDocument::read(&document)?.key)))
}

/// The form again, with why there is no answer.
async fn again(visitor: &Visitor, fields: &Fields, failure: Failure) -> Response {
    let explanation = match (&failure.0.refusal, failure.0.position.zip(fields.get("question"))) {
        (Some(refused), _) => explanation::refusal(refused, fields),
        (None, Some((position, question))) => explanation::marked(question, position),
        (None, None) => html! { p.quiet-text { "See above what is wrong." } },
    };
    match whole(visitor, fields, next_key(&failure, fields), explanation).await {
        Ok(content) => visitor.page_again(Section::Ask, TITLE, failure, content),
        // Without the dataset there is no form; what went wrong first is what matters.
        Err(_) => visitor.page(Section::Ask, TITLE, Err(failure)),
    }
}
