//! The form of a question: the SQL, the price, and the account that pays.

use std::collections::BTreeMap;

use maud::{Markup, html};
use taximeter_accounting::{Amount, CostKind, FilterRule};
use taximeter_gate::{NoiseKind, Number, Price};
use taximeter_ledger::{AccountName, Key};
use taximeter_service::{Problem, QuestionRequest};

use super::{QuestionForm, schema};
use crate::form::{TextField, check, choice};
use crate::form_data::FormData;
use crate::pages::cost::payer;
use crate::visitor::Visitor;

/// The kinds of price: the value in the form, and its label.
const OFFERS: [(&str, &str); 4] = [
    ("epsilon", "a fixed ε (Laplace noise, quantiles)"),
    ("gaussian", "a fixed μ (Gaussian noise)"),
    ("error", "a target error (Laplace noise)"),
    ("error-gaussian", "a target error (Gaussian noise)"),
];

/// The given values, with an example for missing ones.
pub(super) fn with_defaults(given: FormData, page: &QuestionForm) -> FormData {
    let payer = page.payers.first().map_or(String::new(), |account| account.account.to_string());
    let dataset = page.chosen.dataset.to_string();
    let example = schema::example(&page.chosen);
    let defaults = [("dataset", dataset), ("account", payer), ("question", example), ("amount", "0.1".to_string())];
    defaults.into_iter().fold(given, |fields, (name, value)| match fields.get(name) {
        Some(_) => fields,
        None => fields.with(name, &value),
    })
}

/// The question that was filled in.
pub(super) fn request(fields: &FormData) -> Result<QuestionRequest, Problem> {
    Ok(QuestionRequest {
        dataset: AccountName::parse(fields.required("dataset", "the dataset")?)?,
        question: fields.required("question", "the question")?.to_string(),
        price: price(fields)?,
        weights: BTreeMap::new(),
        clamp: fields.is_ticked("clamp"),
        max_groups_per_unit: fields.get("max_groups_per_unit").map(most_groups).transpose()?,
        count_clamped: fields.is_ticked("count_clamped"),
        account: fields.get("account").map(AccountName::parse).transpose()?,
        joined_account: None,
        reuse: fields.is_ticked("reuse"),
    })
}

fn most_groups(text: &str) -> Result<u32, Problem> {
    let wrong = |_| {
        Problem::bad_request(format!("the maximum of groups per unit is {text:?}; write a whole number, at least 1"))
    };
    text.parse().map_err(wrong)
}

fn price(fields: &FormData) -> Result<Price, Problem> {
    let text = fields.required("amount", "the price, or the error")?;
    let error = |noise| Ok::<_, Problem>(Price::Error { width: Number::parse(text)?, noise });
    match fields.get("offer") {
        Some("gaussian") => Ok(Price::Gaussian(Amount::parse_exact(text)?)),
        Some("error") => error(NoiseKind::Laplace),
        Some("error-gaussian") => error(NoiseKind::Gaussian),
        _ => {
            let (epsilon, delta) = (Amount::parse_exact(text)?, fields.amount("delta", "δ")?);
            Ok(match delta.filter(|delta| !delta.is_zero()) {
                Some(delta) => Price::Approximate { epsilon, delta },
                None => Price::Epsilon(epsilon),
            })
        }
    }
}

/// The rules that take the gate's Gaussian noise.
fn gaussian_rules() -> String {
    let takes = |rule: &FilterRule| rule.takes(CostKind::Gaussian);
    FilterRule::ALL.into_iter().filter(takes).map(FilterRule::name).collect::<Vec<_>>().join(" or ")
}

/// The path of the form with another price, and all other fields as they are.
pub(super) fn with_price(fields: &FormData, offer: &str, amount: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in ["dataset", "question", "delta", "max_groups_per_unit", "account", "clamp", "count_clamped", "reuse"] {
        if let Some(value) = fields.get(name) {
            query.append_pair(name, value);
        }
    }
    query.append_pair("offer", offer).append_pair("amount", amount);
    format!("/ask?{}", query.finish())
}

/// The choice of the dataset. It is a form of its own because another dataset has another schema.
pub(super) fn dataset_choice(page: &QuestionForm) -> Markup {
    html! {
        form.choice method="get" action="/ask" {
            div.field {
                label for="dataset" { "Dataset" }
                select #dataset name="dataset" data-submits {
                    @for dataset in &page.datasets {
                        option value=(dataset.dataset) selected[dataset.dataset == page.chosen.dataset] { (dataset.dataset) }
                    }
                }
            }
            button.quiet { "Choose" }
        }
    }
}

/// The form, as it was filled in. Enter explains the question; asking needs the other button.
pub(super) fn form(visitor: &Visitor, page: &QuestionForm, fields: &FormData, key: &Key) -> Markup {
    let value = |name: &str| fields.get(name).unwrap_or_default();
    html! {
        form.stacked method="post" action="/ask/explain" data-preview="/ask/explain" data-result="explanation" {
            (visitor.form_key())
            input type="hidden" name="key" value=(key);
            input type="hidden" name="dataset" value=(page.chosen.dataset);
            label for="question" { "Question, in SQL" }
            textarea #question name="question" rows="6" required spellcheck="false" autocapitalize="off" autocomplete="off"
                aria-describedby="question-help" { (value("question")) }
            p.help #question-help { "The SQL is parsed and checked, and never run as written. Its cost is shown below." }
            div.row {
                (choice("offer", "Price", OFFERS, fields.get("offer"), ""))
                div.field {
                    label for="amount" { "Amount" }
                    input #amount name="amount" required inputmode="decimal" autocomplete="off" spellcheck="false"
                        value=(value("amount")) aria-describedby="amount-help";
                    p.help.offers #amount-help {
                        span data-offers="epsilon" { "ε for the whole question, such as 0.1." }
                        span data-offers="gaussian" {
                            "μ for the whole question, such as 0.05; for accounts with the rule " (gaussian_rules()) "."
                        }
                        span data-offers="error error-gaussian" {
                            "The half width of the 95% interval, in the units of the answer, such as 50. The smallest cost that \
                             achieves it is charged."
                        }
                    }
                }
                div data-offers="epsilon" {
                    (TextField::amount("delta", "δ for open groups", fields).placeholder("1e-9").help(
                        "Only to group by a column without declared categories: groups above a threshold are answered. It is paid from the \
                         δ that the account has set aside."
                    ))
                    (TextField::amount("max_groups_per_unit", "Maximum groups per unit (undeclared groups)", fields).placeholder("3").help(
                        "Only to group by a column without declared categories: a smaller number lowers the noise and the threshold."
                    ))
                }
                (payer(&page.payers, fields, ""))
            }
            (check("clamp", "Set counts below 0 to 0", fields))
            (check("count_clamped", "Count the rows with values outside of their bounds, for a tenth of the price", fields))
            @if page.chosen.reuse {
                (check("reuse", "Show my earlier answer, free of charge, if I have asked the same at the same price", fields))
            }
            div.actions {
                button { "Explain" }
                button.quiet formaction="/ask/dummy" { "Try on made-up rows" }
                button.charge formaction="/ask" { "Ask" }
            }
        }
    }
}
