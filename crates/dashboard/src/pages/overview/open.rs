//! Opening an account.

use axum::response::Response;
use maud::{Markup, html};
use taximeter_accounting::{Amount, FilterRule, OdometerRule, OnHalt};
use taximeter_ledger::{AccountName, Neighbours, Unit};
use taximeter_service::{BudgetDocument, FilterRequest, NewAccount, OdometerRequest, Problem};

use super::TITLE;
use crate::display::{self, account_path};
use crate::form::{TextField, check, choice, filter_rule, rule_choices};
use crate::form_data::FormData;
use crate::page::Section;
use crate::visitor::Visitor;

/// The form, as it was filled in.
pub(super) fn form(visitor: &Visitor, fields: &FormData, is_open: bool) -> Markup {
    html! {
        section.panel #open aria-labelledby="open-title" {
            h2 #open-title { "Open an account" }
            details open[is_open] {
                summary { "Name, budget and rule" }
                form.stacked method="post" action="/accounts" {
                    (visitor.form_key())
                    (TextField::new("account", "Name", fields).required(true).placeholder("census/alice").help(
                        "Letters, digits, -, _ and . in each part. An account below another, such as census/alice below census, pays \
                         together with it; the account above must be open.",
                    ))
                    div.row {
                        (TextField::amount("epsilon", "Budget, ε", fields).help("For instance 1."))
                        (TextField::amount("delta", "Budget, δ", fields).or("1e-6").help("Far below 1 divided by the number of people."))
                    }
                    (filter_rule("Filter: the rule that decides", fields, "All settings of an account are final."))
                    (choice("on_halt", "A charge that does not fit", ON_HALT, fields.get("on_halt"), ""))
                    (more(fields))
                    button { "Open the account" }
                }
            }
        }
    }
}

fn more(fields: &FormData) -> Markup {
    let names = ["unit", "neighbours", "odometer", "at_delta", "mechanism_delta", "only_reads"];
    html! {
        details open[names.iter().any(|name| fields.get(name).is_some())] {
            summary { "More" }
            div.row {
                (TextField::new("unit", "Unit", fields).placeholder("record")
                    .help("What is protected: a record, a person. If empty, that of the account above."))
                (choice("neighbours", "Neighbours", NEIGHBOURS, fields.get("neighbours"), ""))
            }
            (choice("odometer", "Odometer: the rule that reads", odometer_choices(), fields.get("odometer"), ""))
            div.row {
                (TextField::amount("at_delta", "Reading at δ", fields).help("If empty, that of the budget."))
                (TextField::amount("mechanism_delta", "δ set aside", fields).help("The part of δ for charges with their own δ."))
            }
            (check("only_reads", "No budget: the account only reads, and refuses nothing", fields))
        }
    }
}

/// The default depends on the budget: without a δ it is another rule.
fn odometer_choices() -> impl Iterator<Item = (&'static str, String)> {
    let default = ("", "the default for the budget".to_string());
    std::iter::once(default).chain(rule_choices(OdometerRule::ALL.map(|rule| (rule.name(), rule.short()))))
}

/// What happens to a charge that does not fit.
const ON_HALT: [(&str, &str); 2] =
    [("refuse", "is refused; smaller ones may still fit"), ("stop", "stops the account for good, as in the paper")];

const NEIGHBOURS: [(&str, &str); 3] = [
    ("", "as the account above, or add-remove"),
    ("add-remove", "add-remove: one unit more or less"),
    ("substitute", "substitute: one unit replaced by another"),
];

/// Opens the account and redirects to its page.
pub(super) async fn open(visitor: Visitor, fields: FormData) -> Response {
    let opened = match asked(&fields) {
        Ok(new) => visitor.caller.open_account(new).await,
        Err(failure) => Err(failure),
    };
    match opened {
        Ok(opened) => {
            let name = &opened.account.account;
            let notice = format!("{name} is open: record {}.{}", opened.sequence, display::warnings(&opened.warnings));
            visitor.done(notice, &account_path(name))
        }
        Err(failure) => visitor.page_again(Section::Accounts, TITLE, failure, Ok(form(&visitor, &fields, true))),
    }
}

/// The account that a form asks for. Empty fields have the API's defaults.
fn asked(fields: &FormData) -> Result<NewAccount, Problem> {
    let account = AccountName::parse(fields.required("account", "the name")?)?;
    let unit = fields.get("unit").map(Unit::parse).transpose()?;
    let neighbours = fields.get("neighbours").map(Neighbours::from_name).transpose()?;
    let mechanism_delta = fields.amount("mechanism_delta", "the δ set aside")?.unwrap_or(Amount::ZERO);
    let only_reads = fields.is_ticked("only_reads");
    let (epsilon, delta) = (fields.amount("epsilon", "the budget's ε")?, fields.amount("delta", "the budget's δ")?);
    let filter = match epsilon {
        None if only_reads => None,
        None => {
            let detail = "the budget's ε is empty; fill it in, or tick \"No budget\" under More";
            return Err(Problem::bad_request(detail));
        }
        Some(_) if only_reads => {
            let detail = "there is a budget, and \"No budget\" is ticked; empty ε, or untick it";
            return Err(Problem::bad_request(detail));
        }
        Some(epsilon) => {
            let delta = delta.unwrap_or(Amount::ZERO);
            Some(filter(fields, BudgetDocument { epsilon, delta, mechanism_delta })?)
        }
    };
    let odometer = OdometerRequest {
        rule: fields.get("odometer").map(OdometerRule::from_name).transpose()?,
        at_delta: fields.amount("at_delta", "the δ of the reading")?.or(delta),
        // A budget already has it.
        mechanism_delta: if only_reads { mechanism_delta } else { Amount::ZERO },
        ..OdometerRequest::default()
    };
    Ok(NewAccount { account, unit, neighbours, filter, odometer: Some(odometer) })
}

fn filter(fields: &FormData, budget: BudgetDocument) -> Result<FilterRequest, Problem> {
    let on_halt = match fields.get("on_halt") {
        None | Some("refuse") => OnHalt::Refuse,
        Some("stop") => OnHalt::Stop,
        Some(other) => {
            let detail = format!("unknown choice {other:?} for a charge that does not fit; choose refuse or stop");
            return Err(Problem::bad_request(detail));
        }
    };
    let rule = fields.get("rule").map(FilterRule::from_name).transpose()?;
    Ok(FilterRequest { on_halt, ..FilterRequest::new(rule, budget) })
}
