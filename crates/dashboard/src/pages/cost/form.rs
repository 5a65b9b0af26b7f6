//! The form of a cost: the accounts that pay, the amount, the number of times, and a note.

use maud::{Markup, Render, html};
use taximeter_accounting::{Cost, Declared};
use taximeter_ledger::{AccountName, Charge, Key, Note};
use taximeter_service::{AccountDocument, Action, ChargeRequest, Code, DeclaredCost, Problem};

use super::kinds;
use crate::form::TextField;
use crate::form_data::FormData;
use crate::visitor::Visitor;

/// With more accounts than this, the account is typed and not chosen from a list.
const MOST: usize = 200;

/// The charge that a form asks for.
pub(super) struct CostRequest {
    pub(super) request: ChargeRequest,
    /// Whether digits were rounded up.
    pub(super) is_rounded: bool,
}

impl CostRequest {
    /// Reads a form.
    pub(super) fn read(fields: &FormData) -> Result<CostRequest, Problem> {
        let accounts = named(fields)?;
        if accounts.is_empty() {
            return Err(Problem::new(Code::BadRequest, "no account is named; choose the one that pays"));
        }
        let Declared { cost, rounded } = kinds::cost(fields)?;
        let note = fields.get("note").map(|note| Note::parse("note", note)).transpose()?;
        let costs = vec![DeclaredCost(cost); times(fields)?];
        let request = ChargeRequest { accounts, costs, unit: None, neighbours: None, by: None, note };
        Ok(CostRequest { request, is_rounded: rounded })
    }

    /// Whether all required fields are filled in.
    pub(super) fn is_complete(fields: &FormData) -> bool {
        let is_named = fields.get("account").or(fields.get("others")).is_some();
        is_named && kinds::is_complete(fields)
    }
}

fn named(fields: &FormData) -> Result<Vec<AccountName>, Problem> {
    let mut accounts = fields.names("account")?;
    accounts.extend(fields.names("others")?);
    Ok(accounts)
}

fn times(fields: &FormData) -> Result<usize, Problem> {
    let text = fields.get("times").unwrap_or("1");
    text.parse().ok().filter(|times| (1..=Charge::COSTS).contains(times)).ok_or_else(|| {
        Problem::new(
            Code::BadRequest,
            format!("the number of times is {text:?}; write a whole number from 1 to {}", Charge::COSTS),
        )
    })
}

/// The path of the form with another cost, rounded down to the digits that are shown, and all other fields as they are.
pub(super) fn with_cost(fields: &FormData, cost: &Cost) -> String {
    let (kind, numbers) = kinds::declaring(&cost.with_size(cost.size().significant(6)));
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in ["account", "others", "times", "note"] {
        if let Some(value) = fields.get(name) {
            query.append_pair(name, value);
        }
    }
    query.append_pair("kind", kind);
    for (name, size) in numbers {
        query.append_pair(name, &size.to_string());
    }
    format!("/cost?{}", query.finish())
}

/// The form, as it was filled in. Enter shows the quote; charging needs the other button.
pub(super) fn form(visitor: &Visitor, accounts: &[AccountDocument], fields: &FormData, key: &Key) -> Markup {
    let value = |name: &str| fields.get(name).unwrap_or_default();
    html! {
        form.stacked.cost method="post" action="/cost/quote" data-preview="/cost/quote" data-result="quote" {
            (visitor.form_key())
            input type="hidden" name="key" value=(key);
            (payer(accounts, fields, "All accounts above it pay the same."))
            details open[fields.get("others").is_some()] {
                summary { "Further accounts" }
                (TextField::new("others", "Accounts that pay too", fields)
                    .help("Names, separated by spaces. Either all of them pay or none; an account above several pays once."))
            }
            label for="kind" { "Kind of cost" }
            select #kind name="kind" {
                @for form in kinds::forms() {
                    option value=(form.name) selected[form.name == kinds::chosen(fields).name] { (form.title) }
                }
            }
            div.row {
                @for number in kinds::numbers() {
                    div.field.number-of-kind data-kinds=(kinds_with(number.name)) {
                        label for=(number.name) { (number.label) }
                        input id=(number.name) name=(number.name) inputmode="decimal" autocomplete="off" spellcheck="false"
                            value=(value(number.name)) aria-describedby={ (number.name) "-help" };
                        p.help id={ (number.name) "-help" } { (number.help()) }
                    }
                }
                div.field {
                    label for="times" { "Number of times" }
                    input #times name="times" type="number" min="1" max=(Charge::COSTS) step="1"
                        value=(fields.get("times").unwrap_or("1")) aria-describedby="times-help";
                    p.help #times-help { "Either all are charged or none. At most " (Charge::COSTS) "." }
                }
            }
            (TextField::new("note", "Note", fields).longest(1024)
                .help("The purpose, optional. The journal keeps it for good."))
            div.actions {
                button { "Show the quote" }
                @if visitor.may(Action::Charge) { button.charge formaction="/cost" { "Charge it" } }
            }
        }
    }
}

/// The kinds that need a number; the style sheet shows it with those.
fn kinds_with(number: &str) -> String {
    let with = kinds::forms().filter(|form| form.numbers.iter().any(|other| other.name == number));
    with.map(|form| form.name).collect::<Vec<_>>().join(" ")
}

/// The field for the account that pays: a list, unless it would be too long.
pub(in crate::pages) fn payer(accounts: &[AccountDocument], fields: &FormData, help: &str) -> Markup {
    let chosen = fields.get("account").unwrap_or_default();
    let is_listed = accounts.iter().any(|account| account.account.as_str() == chosen);
    if accounts.len() > MOST {
        return TextField::new("account", "Account that pays", fields).placeholder("census/alice").help(help).render();
    }
    html! {
        div.field {
            label for="account" { "Account that pays" }
            select #account name="account" {
                // The value stays, even if the account does not exist.
                @if !chosen.is_empty() && !is_listed { option selected { (chosen) } }
                @for account in accounts {
                    option value=(account.account) selected[account.account.as_str() == chosen] {
                        (account.account)
                        @if account.blocked_by.is_some() { " (takes no charges)" }
                    }
                }
            }
            @if !help.is_empty() { p.help { (help) } }
        }
    }
}
