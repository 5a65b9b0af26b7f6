//! The effect of a question: how it is understood, its noise, its cost, and what the accounts would have left.

use maud::{Markup, html};
use taximeter_accounting::{Amount, Cost};
use taximeter_service::words::show_cost;
use taximeter_service::{
    Action, ChargeRequest, DeclaredCost, ExplainedStatement, Explanation, Problem, Refused, about_average,
};

use super::form;
use crate::form_data::FormData;
use crate::pages::cost::quote;
use crate::visitor::Visitor;

/// The effect of the question. Charges nothing and touches no data.
pub(super) async fn explained(visitor: &Visitor, fields: &FormData) -> Result<Markup, Problem> {
    visitor.caller.require(Action::Ask)?;
    let explanation = visitor.caller.explain(form::request(fields)?).await?;
    let accounts = vec![explanation.account.clone()];
    let costs = explanation.charges.iter().copied().map(DeclaredCost).collect();
    let request =
        ChargeRequest { accounts: accounts.clone(), costs, unit: None, neighbours: None, by: None, note: None };
    let quote = visitor.caller.quote(request).await?;
    let fill_in = fill_in(quote.fits.as_deref(), fields);
    Ok(html! {
        div.columns {
            div {
                h3 { "Understood as" }
                pre { code { (explanation.question) } }
                p {
                    "It would cost " strong { (show_cost(&explanation.cost)) } ", paid by " (explanation.account)
                    " and all accounts above it."
                }
                (noise(&explanation))
                @if !explanation.named_groups.is_empty() {
                    p.help { "The groups are the values that WHERE names: " (explanation.named_groups.join(", ")) "." }
                }
                @if explanation.groups.is_none() {
                    p.help { "The groups are those with enough rows in the data, above a threshold that the answer says." }
                }
                details #statement {
                    summary {
                        @if explanation.statements.len() > 1 { "The statements that would run" } @else { "The statement that would run" }
                    }
                    @for ExplainedStatement { sql, parameters } in &explanation.statements {
                        pre { code { (sql) } }
                        @if !parameters.is_empty() { p.help { "With " (parameters.join(", ")) "." } }
                    }
                }
            }
            div {
                h3 { "Accounts" }
                (quote::quoted(&quote, &accounts, fill_in.as_deref()))
            }
        }
    })
}

/// The noise of each number, and the width of its interval.
fn noise(explanation: &Explanation) -> Markup {
    html! {
        (super::noise::noise("95% within ±", &explanation.parts))
        @if !explanation.averages.is_empty() {
            p.help {
                "An average is computed from a noisy sum and a noisy count. Its interval depends on the count and comes with the answer."
            }
        }
        @for average in &explanation.averages {
            @match average.has_too_few_rows() {
                true => p.caution { strong { "Warning: " } (about_average(average)) "." },
                false => p.help { (about_average(average)) "." },
            }
        }
    }
}

/// A refused question, with the largest price that fits.
pub(super) fn refusal(refused: &Refused, fields: &FormData) -> Markup {
    quote::refusal(refused, fill_in(refused.fits.as_deref(), fields).as_deref())
}

/// The path of the form with the largest price that fits: the sum of its parts, rounded down.
fn fill_in(fits: Option<&[Cost]>, fields: &FormData) -> Option<String> {
    const DIGITS: u32 = 6;
    match fits? {
        // A δ stays as it is.
        costs @ [Cost::Pure { .. } | Cost::Approximate { .. } | Cost::Exponential { .. }, ..] => {
            let sum = costs.iter().try_fold(Amount::ZERO, |sum, cost| sum.checked_add(cost.size()))?;
            Some(form::with_price(fields, "epsilon", &sum.significant(DIGITS).to_string()))
        }
        costs @ [Cost::Gaussian { .. }, ..] => {
            let square = |cost: &Cost| cost.size().approximate().powi(2);
            let mu = costs.iter().map(square).sum::<f64>().sqrt();
            let mu = Amount::parse_exact(&format!("{mu:.20}")).ok()?.significant(DIGITS);
            Some(form::with_price(fields, "gaussian", &mu.to_string()))
        }
        _ => None,
    }
}

/// A question with the position of its error marked, counted in characters from 1.
pub(in crate::pages) fn marked(question: &str, position: usize) -> Markup {
    const AROUND: usize = 200;
    let at = position.saturating_sub(1);
    let part = |from: usize, to: usize| question.chars().skip(from).take(to.saturating_sub(from)).collect::<String>();
    let wrong = part(at, at + 1);
    html! {
        pre.marked {
            @if at > AROUND { "…" }
            (part(at.saturating_sub(AROUND), at))
            mark { @if wrong.trim().is_empty() { "⌷" } @else { (wrong) } }
            (part(at + 1, at + 1 + AROUND))
            @if question.chars().nth(at + 1 + AROUND).is_some() { "…" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_of_an_error_is_marked_and_escaped() {
        for (question, position, expected) in [
            ("SELECT x", 8, "SELECT <mark>x</mark>"),
            ("größe <b>", 7, "größe <mark>&lt;</mark>b&gt;"),
            ("SELECT", 7, "SELECT<mark>⌷</mark>"),
            ("", 1, "<mark>⌷</mark>"),
        ] {
            let shown = marked(question, position).into_string();
            assert_eq!(shown, format!("<pre class=\"marked\">{expected}</pre>"), "{question}");
        }
    }

    #[test]
    fn what_fits_is_filled_in_as_one_price() {
        let amount = |text: &str| Amount::parse_exact(text).unwrap();
        let pure = |text: &str| Cost::Pure { epsilon: amount(text) };
        let gaussian = |text: &str| Cost::Gaussian { mu: amount(text) };
        let fields = FormData::new(vec![("dataset".to_string(), "a/b".to_string())]);
        for (fits, expected) in [
            (Some(vec![pure("0.3")]), Some("/ask?dataset=a%2Fb&offer=epsilon&amount=0.3")),
            (
                Some(vec![pure("0.11111111"), pure("0.11111111")]),
                Some("/ask?dataset=a%2Fb&offer=epsilon&amount=0.222222"),
            ),
            (
                Some(vec![Cost::approximate(amount("0.1"), amount("1e-9")).unwrap(), pure("0.1")]),
                Some("/ask?dataset=a%2Fb&offer=epsilon&amount=0.2"),
            ),
            (Some(vec![gaussian("0.3"), gaussian("0.4")]), Some("/ask?dataset=a%2Fb&offer=gaussian&amount=0.5")),
            (None, None),
        ] {
            assert_eq!(fill_in(fits.as_deref(), &fields).as_deref(), expected, "{fits:?}");
        }
    }
}
