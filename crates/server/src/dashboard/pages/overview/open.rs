//! Opening an account.

use std::sync::Arc;

use axum::extract::State as Shared;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use taximeter_accounting::{Amount, FilterRule, OdometerRule, OnHalt};
use taximeter_api::{BudgetDocument, Code, FilterRequest, NewAccount, OdometerRequest};
use taximeter_ledger::{AccountName, Neighbours, Unit};

use super::TITLE;
use crate::dashboard::fields::Fields;
use crate::dashboard::page::Section;
use crate::dashboard::rules::{of_filter, of_odometer};
use crate::dashboard::visitor::Visitor;
use crate::dashboard::words::account_path;
use crate::extract::Body;
use crate::failure::Failure;
use crate::routes::accounts;
use crate::state::State;

/// The form, as it was filled in.
pub(super) fn form(visitor: &Visitor, fields: &Fields, is_open: bool) -> Markup {
    let value = |name: &str| fields.get(name).unwrap_or_default();
    html! {
        section.panel #open aria-labelledby="open-title" {
            h2 #open-title { "Open an account" }
            details open[is_open] {
                summary { "Name, budget and rule" }
                form.stacked method="post" action="/accounts" {
                    (visitor.form_key())
                    label for="account" { "Name" }
                    input #account name="account" required value=(value("account")) placeholder="census/alice" autocomplete="off"
                        spellcheck="false" aria-describedby="account-help";
                    p.help #account-help {
                        "Letters, digits, -, _ and . in each part. An account below another, such as census/alice below census, pays \
                         together with it, and the one above must be open already."
                    }
                    (budget(fields))
                    (choice("rule", "Filter: the rule that decides", rule_choices(), fields.get("rule").unwrap_or("residue")))
                    p.help { "It is fixed for good, like everything here." }
                    (choice("on_halt", "A charge that does not fit", on_halt_choices(), fields.get("on_halt").unwrap_or("refuse")))
                    (more(fields))
                    button { "Open the account" }
                }
            }
        }
    }
}

fn budget(fields: &Fields) -> Markup {
    html! {
        div.row {
            (amount("epsilon", "Budget, ε", fields.get("epsilon").unwrap_or_default(), "For instance 1."))
            (amount("delta", "Budget, δ", fields.get("delta").unwrap_or("1e-6"), "Far below 1 divided by the number of people."))
        }
    }
}

fn more(fields: &Fields) -> Markup {
    let value = |name: &str| fields.get(name).unwrap_or_default();
    let names = ["unit", "neighbours", "odometer", "at_delta", "mechanism_delta", "only_reads"];
    html! {
        details open[names.iter().any(|name| fields.get(name).is_some())] {
            summary { "More" }
            div.row {
                div.field {
                    label for="unit" { "Unit" }
                    input #unit name="unit" value=(value("unit")) placeholder="record" autocomplete="off" spellcheck="false"
                        aria-describedby="unit-help";
                    p.help #unit-help { "What is protected: a record, a person. Left empty, it is that of the account above." }
                }
                (choice("neighbours", "Neighbours", neighbours_choices(), value("neighbours")))
            }
            (choice("odometer", "Odometer: the rule that reads", odometer_choices(), fields.get("odometer").unwrap_or("renyi-mixture")))
            div.row {
                (amount("at_delta", "Reading at δ", value("at_delta"), "Left empty, it is the budget's."))
                (amount("mechanism_delta", "δ set aside", value("mechanism_delta"), "The part of δ for charges that have a δ of their own."))
            }
            label.check {
                input type="checkbox" name="only_reads" value="yes" checked[fields.is_ticked("only_reads")];
                "No budget: the account reads, and refuses nothing"
            }
        }
    }
}

fn amount(name: &str, label: &str, value: &str, help: &str) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            input id=(name) name=(name) value=(value) inputmode="decimal" autocomplete="off" spellcheck="false"
                aria-describedby={ (name) "-help" };
            p.help id={ (name) "-help" } { (help) }
        }
    }
}

fn choice(name: &str, label: &str, options: Vec<(&str, String)>, chosen: &str) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                @for (value, words) in options { option value=(value) selected[value == chosen] { (words) } }
            }
        }
    }
}

fn rule_choices() -> Vec<(&'static str, String)> {
    let choice = |rule: FilterRule| (rule.name(), format!("{}: {}", rule.name(), of_filter(rule).short));
    // The default stands last in the list of rules, and first here.
    FilterRule::ALL.into_iter().rev().map(choice).collect()
}

fn odometer_choices() -> Vec<(&'static str, String)> {
    let choice = |rule: OdometerRule| (rule.name(), format!("{}: {}", rule.name(), of_odometer(rule).short));
    OdometerRule::ALL.into_iter().rev().map(choice).collect()
}

fn on_halt_choices() -> Vec<(&'static str, String)> {
    vec![
        ("refuse", "is refused; smaller ones may still fit".to_string()),
        ("stop", "stops the account for good, as in the paper".to_string()),
    ]
}

fn neighbours_choices() -> Vec<(&'static str, String)> {
    vec![
        ("", "as the account above, or add-remove".to_string()),
        (Neighbours::AddRemove.name(), "add-remove: one unit more or less".to_string()),
        (Neighbours::Substitute.name(), "substitute: one unit is another".to_string()),
    ]
}

/// Opens it, and goes to its page.
pub(super) async fn open(Shared(state): Shared<Arc<State>>, visitor: Visitor, fields: Fields) -> Response {
    let opened = match asked(&fields) {
        Ok(new) => accounts::open(Shared(Arc::clone(&state)), visitor.caller.clone(), Body(new)).await,
        Err(failure) => Err(failure),
    };
    match opened {
        Ok((_, opened)) => {
            let name = &opened.account.account;
            state.sessions.leave_notice(&visitor.session(), format!("{name} is open, by record {}.", opened.sequence));
            Redirect::to(&account_path(name)).into_response()
        }
        Err(failure) => visitor.page_again(Section::Accounts, TITLE, failure, form(&visitor, &fields, true)),
    }
}

/// The account that a form asks for. What is left empty has the API's default.
fn asked(fields: &Fields) -> Result<NewAccount, Failure> {
    let account = AccountName::parse(fields.required("account", "the name")?)?;
    let unit = fields.get("unit").map(Unit::parse).transpose()?;
    let neighbours = fields.get("neighbours").map(Neighbours::from_name).transpose()?;
    let mechanism_delta = parsed(fields, "mechanism_delta", "the δ set aside")?.unwrap_or(Amount::ZERO);
    let only_reads = fields.is_ticked("only_reads");
    let (epsilon, delta) = (parsed(fields, "epsilon", "the budget's ε")?, parsed(fields, "delta", "the budget's δ")?);
    let filter = match epsilon {
        None if only_reads => None,
        None => {
            let detail = "the budget's ε is empty; fill it in, or tick that the account has no budget, under More";
            return Err(Failure::new(Code::BadRequest, detail));
        }
        Some(_) if only_reads => {
            let detail = "the account has a budget, and it is ticked that it has none; empty ε, or untick it";
            return Err(Failure::new(Code::BadRequest, detail));
        }
        Some(epsilon) => {
            let delta = delta.unwrap_or(Amount::ZERO);
            Some(filter(fields, BudgetDocument { epsilon, delta, mechanism_delta })?)
        }
    };
    let odometer = OdometerRequest {
        rule: fields.get("odometer").map_or(Ok(OdometerRule::RenyiMixture), OdometerRule::from_name)?,
        at_delta: parsed(fields, "at_delta", "the δ of the reading")?.or(delta),
        // A budget says it already.
        mechanism_delta: if only_reads { mechanism_delta } else { Amount::ZERO },
        ..OdometerRequest::default()
    };
    Ok(NewAccount { account, unit, neighbours, filter, odometer: Some(odometer) })
}

fn filter(fields: &Fields, budget: BudgetDocument) -> Result<FilterRequest, Failure> {
    let on_halt = match fields.get("on_halt") {
        None | Some("refuse") => OnHalt::Refuse,
        Some("stop") => OnHalt::Stop,
        Some(other) => {
            let detail = format!("{other:?} is not what happens to a charge that does not fit; choose refuse or stop");
            return Err(Failure::new(Code::BadRequest, detail));
        }
    };
    Ok(FilterRequest {
        rule: fields.get("rule").map(FilterRule::from_name).transpose()?,
        budget,
        order: None,
        max_cost: None,
        on_halt,
    })
}

/// An amount that may be left empty.
fn parsed(fields: &Fields, name: &str, what: &str) -> Result<Option<Amount>, Failure> {
    let amount = fields.get(name).map(|text| {
        Amount::parse_exact(text).map_err(|error| Failure::new(Code::BadRequest, format!("{what}: {error}")))
    });
    amount.transpose()
}
