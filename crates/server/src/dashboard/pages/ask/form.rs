//! The form of a question: the SQL, what is offered for an answer, and who pays.

use maud::{Markup, html};
use taximeter_accounting::Amount;
use taximeter_api::{AmountDocument, NoiseName, PriceDocument, QuestionRequest};
use taximeter_ledger::{AccountName, Key};

use super::{Desk, schema};
use crate::dashboard::fields::Fields;
use crate::dashboard::visitor::Visitor;
use crate::failure::Failure;

/// More accounts than this are not a list that anybody chooses from.
const MOST: usize = 200;

/// What can be offered: the name in the form, and what people choose it by.
const OFFERS: [(&str, &str); 4] = [
    ("epsilon", "so much ε (Laplace noise)"),
    ("gaussian", "so much μ (Gaussian noise)"),
    ("error", "what an error costs (Laplace noise)"),
    ("error-gaussian", "what an error costs (Gaussian noise)"),
];

/// What the path fills in, and an example for the rest.
pub(super) fn with_defaults(query: Option<&str>, desk: &Desk) -> Fields {
    let mut pairs: Vec<(String, String)> =
        form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect();
    let given = Fields::new(pairs.clone());
    let payer = desk.payers.first().map_or(String::new(), |account| account.account.to_string());
    let dataset = desk.chosen.dataset.to_string();
    let example = schema::example(&desk.chosen);
    let defaults = [("dataset", dataset), ("account", payer), ("question", example), ("amount", "0.1".to_string())];
    let missing = defaults.into_iter().filter(|(name, _)| given.get(name).is_none());
    pairs.extend(missing.map(|(name, value)| (name.to_string(), value)));
    Fields::new(pairs)
}

/// The question that was filled in.
pub(super) fn request(fields: &Fields) -> Result<QuestionRequest, Failure> {
    Ok(QuestionRequest {
        dataset: AccountName::parse(fields.required("dataset", "the dataset")?)?,
        question: fields.required("question", "the question")?.to_string(),
        price: price(fields)?,
        clamp: fields.is_ticked("clamp"),
        account: fields.get("account").map(AccountName::parse).transpose()?,
        reuse: fields.is_ticked("reuse"),
    })
}

fn price(fields: &Fields) -> Result<PriceDocument, Failure> {
    let text = fields.required("amount", "the price, or the error")?;
    let amount = || Ok::<_, Failure>(AmountDocument(Amount::parse_exact(text)?));
    let error = |noise| PriceDocument::Error { width: text.to_string(), noise };
    Ok(match fields.get("offer") {
        Some("gaussian") => PriceDocument::Gaussian(amount()?),
        Some("error") => error(NoiseName::Laplace),
        Some("error-gaussian") => error(NoiseName::Gaussian),
        _ => PriceDocument::Epsilon(amount()?),
    })
}

/// The path of the form with another price in it, and everything else as it is.
pub(super) fn with_price(fields: &Fields, offer: &str, amount: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in ["dataset", "question", "account", "clamp", "reuse"] {
        if let Some(value) = fields.get(name) {
            query.append_pair(name, value);
        }
    }
    query.append_pair("offer", offer).append_pair("amount", amount);
    format!("/ask?{}", query.finish())
}

/// Which dataset it is about. Another one has another schema, and so is another page.
pub(super) fn choice(desk: &Desk) -> Markup {
    html! {
        form.choice method="get" action="/ask" {
            div.field {
                label for="dataset" { "Dataset" }
                select #dataset name="dataset" data-submits {
                    @for dataset in &desk.datasets {
                        option value=(dataset.dataset) selected[dataset.dataset == desk.chosen.dataset] { (dataset.dataset) }
                    }
                }
            }
            button.quiet { "Choose" }
        }
    }
}

/// The form, as it was filled in. Enter explains; to ask takes the other button.
pub(super) fn form(visitor: &Visitor, desk: &Desk, fields: &Fields, key: &Key) -> Markup {
    let value = |name: &str| fields.get(name).unwrap_or_default();
    html! {
        form.stacked method="post" action="/ask/explain" data-preview="/ask/explain" data-result="explanation" {
            (visitor.form_key())
            input type="hidden" name="key" value=(key);
            input type="hidden" name="dataset" value=(desk.chosen.dataset);
            label for="question" { "Question, in SQL" }
            textarea #question name="question" rows="6" required spellcheck="false" autocapitalize="off" autocomplete="off"
                aria-describedby="question-help" { (value("question")) }
            p.help #question-help { "It is parsed and checked, and never run as it stands. What it would cost is shown below." }
            div.row {
                div.field {
                    label for="offer" { "You offer" }
                    select #offer name="offer" {
                        @for (name, title) in OFFERS { option value=(name) selected[value("offer") == name] { (title) } }
                    }
                }
                div.field {
                    label for="amount" { "How much" }
                    input #amount name="amount" required inputmode="decimal" autocomplete="off" spellcheck="false"
                        value=(value("amount")) aria-describedby="amount-help";
                    p.help.offers #amount-help {
                        span data-offers="epsilon" { "ε for the whole question, such as 0.1." }
                        span data-offers="gaussian" { "μ for the whole question, such as 0.05; for accounts with the rules zcdp and renyi." }
                        span data-offers="error error-gaussian" {
                            "The half width of the 95% interval, in the units of the answer, such as 50: the least that buys it is charged."
                        }
                    }
                }
                (who_pays(desk, fields))
            }
            label.check {
                input type="checkbox" name="clamp" value="1" checked[fields.is_ticked("clamp")];
                span { "Set counts below 0 to 0, and averages beyond their bounds to those" }
            }
            @if desk.chosen.reuse {
                label.check {
                    input type="checkbox" name="reuse" value="1" checked[fields.is_ticked("reuse")];
                    span { "Give me my earlier answer, if I have asked the same at the same price: it is free" }
                }
            }
            div.actions { button { "Explain" } button.charge formaction="/ask" { "Ask" } }
        }
    }
}

fn who_pays(desk: &Desk, fields: &Fields) -> Markup {
    let chosen = fields.get("account").unwrap_or_default();
    let is_listed = desk.payers.iter().any(|account| account.account.as_str() == chosen);
    html! {
        div.field {
            label for="account" { "Account that pays" }
            @if desk.payers.len() > MOST {
                input #account name="account" value=(chosen) autocomplete="off" spellcheck="false";
            } @else {
                select #account name="account" {
                    // What was filled in stays, also where there is no such account.
                    @if !chosen.is_empty() && !is_listed { option selected { (chosen) } }
                    @for account in &desk.payers {
                        option value=(account.account) selected[account.account.as_str() == chosen] {
                            (account.account)
                            @if account.blocked_by.is_some() { " (takes no charges)" }
                        }
                    }
                }
            }
        }
    }
}
