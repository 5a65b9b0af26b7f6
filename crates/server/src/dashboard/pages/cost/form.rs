//! The form of a cost: who pays, what, how often, and what for.

use maud::{Markup, html};
use taximeter_accounting::{Cost, Declared};
use taximeter_api::{AccountDocument, ChargeRequest, Code, DeclaredCost};
use taximeter_ledger::{AccountName, Charge, Key, Note};

use super::kinds::{KINDS, Kind, NUMBERS};
use crate::access::Action;
use crate::dashboard::fields::Fields;
use crate::dashboard::visitor::Visitor;
use crate::failure::Failure;

/// More accounts than this are not a list that anybody chooses from.
const MOST: usize = 200;

/// What a form asks for, if anything yet.
pub(super) struct Asked {
    pub(super) request: ChargeRequest,
    /// Whether digits were rounded up.
    pub(super) is_rounded: bool,
}

impl Asked {
    /// Reads a form.
    pub(super) fn read(fields: &Fields) -> Result<Asked, Failure> {
        let accounts = named(fields)?;
        if accounts.is_empty() {
            return Err(Failure::new(Code::BadRequest, "no account is named; choose the one that pays"));
        }
        let Declared { cost, rounded } = Kind::chosen(fields).cost(fields)?;
        let note = fields.get("note").map(|note| Note::parse("note", note)).transpose()?;
        let costs = vec![DeclaredCost(cost); times(fields)?];
        let request = ChargeRequest { accounts, costs, unit: None, neighbours: None, by: None, note };
        Ok(Asked { request, is_rounded: rounded })
    }

    /// Whether enough is filled in to read it.
    pub(super) fn is_complete(fields: &Fields) -> bool {
        let is_named = fields.get("account").or(fields.get("others")).is_some();
        is_named && Kind::chosen(fields).is_complete(fields)
    }
}

fn named(fields: &Fields) -> Result<Vec<AccountName>, Failure> {
    let mut accounts = fields.names("account")?;
    accounts.extend(fields.names("others")?);
    Ok(accounts)
}

fn times(fields: &Fields) -> Result<usize, Failure> {
    let text = fields.get("times").unwrap_or("1");
    text.parse().ok().filter(|times| (1..=Charge::COSTS).contains(times)).ok_or_else(|| {
        Failure::new(
            Code::BadRequest,
            format!(
                "{text:?} is not how often it can be charged at once; write a whole number from 1 to {}",
                Charge::COSTS
            ),
        )
    })
}

/// The path of the form with another cost in it, and everything else as it is.
pub(super) fn with_cost(fields: &Fields, cost: &Cost) -> String {
    let (kind, numbers) = Kind::declaring(cost);
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

/// The form, as it was filled in. Enter asks for the quote; to charge takes the other button.
pub(super) fn form(visitor: &Visitor, accounts: &[AccountDocument], fields: &Fields, key: &Key) -> Markup {
    let value = |name: &str| fields.get(name).unwrap_or_default();
    html! {
        form.stacked.cost method="post" action="/cost/quote" data-preview="/cost/quote" data-result="quote" {
            (visitor.form_key())
            input type="hidden" name="key" value=(key);
            (who_pays(accounts, fields))
            label for="kind" { "Kind of cost" }
            select #kind name="kind" {
                @for kind in &KINDS {
                    option value=(kind.name) selected[kind.name == Kind::chosen(fields).name] { (kind.title) }
                }
            }
            div.row {
                @for number in &NUMBERS {
                    div.field.number-of-kind data-kinds=(kinds_with(number.name)) {
                        label for=(number.name) { (number.label) }
                        input id=(number.name) name=(number.name) inputmode="decimal" autocomplete="off" spellcheck="false"
                            value=(value(number.name)) aria-describedby={ (number.name) "-help" };
                        p.help id={ (number.name) "-help" } { (number.help) }
                    }
                }
                div.field {
                    label for="times" { "How many times" }
                    input #times name="times" type="number" min="1" max=(Charge::COSTS) step="1"
                        value=(fields.get("times").unwrap_or("1")) aria-describedby="times-help";
                    p.help #times-help { "All of them at once, or none. At most " (Charge::COSTS) "." }
                }
            }
            label for="note" { "Note" }
            input #note name="note" maxlength="1024" value=(value("note")) aria-describedby="note-help";
            p.help #note-help { "What it is for. It stands in the journal for good. May be left out." }
            div.actions {
                button { "Show the quote" }
                @if visitor.may(Action::Charge) { button.charge formaction="/cost" { "Charge it" } }
            }
        }
    }
}

/// The kinds that need a number; the style shows it with those.
fn kinds_with(number: &str) -> String {
    let kinds = KINDS.iter().filter(|kind| kind.numbers.contains(&number));
    kinds.map(|kind| kind.name).collect::<Vec<_>>().join(" ")
}

fn who_pays(accounts: &[AccountDocument], fields: &Fields) -> Markup {
    let chosen = fields.get("account").unwrap_or_default();
    let is_listed = accounts.iter().any(|account| account.account.as_str() == chosen);
    html! {
        label for="account" { "Account that pays" }
        @if accounts.len() > MOST {
            input #account name="account" value=(chosen) autocomplete="off" spellcheck="false" placeholder="census/alice"
                aria-describedby="account-help";
        } @else {
            select #account name="account" aria-describedby="account-help" {
                // What was filled in stays, also where there is no such account.
                @if !chosen.is_empty() && !is_listed { option selected { (chosen) } }
                @for account in accounts {
                    option value=(account.account) selected[account.account.as_str() == chosen] {
                        (account.account)
                        @if account.blocked_by.is_some() { " (takes no charges)" }
                    }
                }
            }
        }
        p.help #account-help { "All accounts above it pay the same." }
        details open[fields.get("others").is_some()] {
            summary { "Further accounts" }
            label for="others" { "Accounts that pay too" }
            input #others name="others" value=(fields.get("others").unwrap_or_default()) autocomplete="off"
                spellcheck="false" aria-describedby="others-help";
            p.help #others-help {
                "Names with spaces between them. All of them pay, or none; an account above several pays once."
            }
        }
    }
}
