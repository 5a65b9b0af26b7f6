//! Ask: a question in SQL with the schema beside it, what it would cost while it is written, and earlier answers.

mod answer;
mod bars;
mod earlier;
mod explanation;
mod form;
mod noise;
mod schema;
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
use crate::fields::Fields;
use crate::page::Section;
use crate::visitor::{SCRIPT, Visitor};

const TITLE: &str = "Ask";

pub(super) fn routes() -> Router<Dashboard> {
    Router::new()
        .route("/ask", get(show).post(ask))
        .route("/ask/explain", get(show).post(explain))
        .route("/answers/{key}", get(answer::show))
        .route("/answers/{key}/answer.json", get(answer::download))
}

/// What a question is about and who can pay for it.
struct QuestionForm {
    datasets: Vec<DatasetDocument>,
    chosen: DatasetDocument,
    /// The accounts of one's own that pay for the dataset.
    payers: Vec<AccountDocument>,
}

impl QuestionForm {
    /// The dataset that was chosen, or the first; nothing if there is none.
    async fn new(visitor: &Visitor, fields: &Fields) -> Result<Option<QuestionForm>, Problem> {
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

/// The form with an example, or with what the path fills in.
async fn show(visitor: Visitor, RawQuery(query): RawQuery) -> Response {
    let fields = Fields::from_query(query.as_deref());
    let form = match QuestionForm::new(&visitor, &fields).await {
        Ok(Some(form)) => form,
        Ok(None) => {
            let none =
                html! { p { "There is no dataset that you may ask about. The owner of the data registers one." } };
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
async fn explained(visitor: &Visitor, fields: &Fields) -> (Markup, Option<Problem>) {
    match explanation::explained(visitor, fields).await {
        Ok(explanation) => (explanation, None),
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
    fields: &Fields,
    key: Result<Key, Problem>,
    explanation: Markup,
) -> Result<Markup, Problem> {
    let form = QuestionForm::new(visitor, fields).await?;
    let form = form.ok_or_else(|| Problem::new(Code::NoDataset, "there is no dataset that you may ask about"))?;
    content(visitor, &form, fields, key, explanation, None).await
}

async fn content(
    visitor: &Visitor,
    form: &QuestionForm,
    fields: &Fields,
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
async fn asked(visitor: &Visitor, fields: &Fields) -> Result<(&'static str, String), Problem> {
    let (key, request) = (sent_key(fields)?, form::request(fields)?);
    let (document, origin) = visitor.caller.ask(key, request).await?;
    let notice = match origin {
        Origin::Fresh => "Charged and answered.",
        Origin::Replayed => "This had been answered before; nothing was charged again.",
        Origin::Reused => "This is your earlier answer to the same question; nothing was charged.",
    };
    // An earlier answer is stored under the key that it was asked with.
    Ok((notice, answer::path(&AnswerDocument::read(&document)?.key)))
}

/// The form again, with why there is no answer.
async fn again(visitor: &Visitor, fields: &Fields, failure: Problem) -> Response {
    let explanation = match (&failure.refusal, failure.position.zip(fields.get("question"))) {
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
