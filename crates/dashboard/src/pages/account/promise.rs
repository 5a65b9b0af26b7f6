//! The guarantees of an account, in plain language, with their theorems.

use maud::{Markup, html};
use taximeter_accounting::{FilterRule, OdometerRule, OnHalt};
use taximeter_service::{AccountDocument, FilterDocument, OdometerDocument};

use crate::rules;

/// The panel about unit, budget and rules.
pub(super) fn panel(account: &AccountDocument) -> Markup {
    html! {
        section.panel #promise data-live aria-labelledby="promise-title" {
            h2 #promise-title { "What it promises" }
            p { (rules::of_privacy(account.unit.as_str(), account.neighbours)) }
            dl.facts {
                dt { "Unit" }
                dd { (account.unit) }
                dt { "Neighbours" }
                dd { (account.neighbours.name()) ": " (account.privacy()) }
            }
            @match &account.filter {
                Some(filter) => (decides(filter)),
                None => {
                    h3 { "No filter decides" }
                    p { "The account has no budget. It only reads what was charged, and refuses nothing." }
                },
            }
            (reads(&account.odometer))
        }
    }
}

fn decides(filter: &FilterDocument) -> Markup {
    let budget = &filter.budget;
    html! {
        h3 { "The filter " (filter.rule) " decides" }
        @if let Ok(rule) = FilterRule::from_name(&filter.rule) { p { (rule.long()) } }
        dl.facts {
            dt { "Budget" }
            dd {
                "ε = " (budget.epsilon) ", δ = " (budget.delta)
                @if !budget.mechanism_delta.is_zero() {
                    ", of which " (budget.mechanism_delta) " is set aside for the δ of single charges"
                }
            }
            dt { "Added up" }
            dd {
                @match filter.spent.epsilon {
                    Some(epsilon) => { "ε = " (epsilon) },
                    None => "not finite: a charge had no finite ε",
                }
                ", δ = " (filter.spent.delta)
            }
            @for (name, value) in &filter.parameters { dt { "Parameter " (name) } dd { (value) } }
            @if let Some(largest) = filter.max_cost { dt { "Largest charge" } dd { "ε = " (largest) } }
            dt { "A charge that does not fit" }
            dd {
                @match filter.on_halt {
                    OnHalt::Refuse => "It is refused; smaller charges may still fit.",
                    OnHalt::Stop => "The account stops for good.",
                }
            }
            dt { "Guarantee" }
            dd { (filter.guarantee) }
            dt { "From" }
            dd { (filter.citation) }
        }
    }
}

fn reads(odometer: &OdometerDocument) -> Markup {
    html! {
        h3 { "The odometer " (odometer.rule) " reads" }
        p {
            "The reading bounds the privacy loss so far, at any time. "
            @if let Ok(rule) = OdometerRule::from_name(&odometer.rule) { (rule.long()) }
        }
        dl.facts {
            dt { "At" }
            dd { "δ = " (odometer.at_delta) }
            @if !odometer.mechanism_delta.is_zero() {
                dt { "Set aside" }
                dd { (odometer.mechanism_delta) " of it for the δ of single charges" }
            }
            @for (name, value) in &odometer.parameters { dt { "Parameter " (name) } dd { (value) } }
            dt { "Guarantee" }
            dd { (odometer.guarantee) }
            dt { "From" }
            dd { (odometer.citation) }
        }
    }
}
