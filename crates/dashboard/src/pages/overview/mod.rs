//! The page to begin with: all accounts that may be seen, as a tree, and what was refused lately.

mod open;
mod tree;

use axum::Router;
use axum::response::{Redirect, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;
use taximeter_ledger::RefusedCharge;
use taximeter_service::words::thousands;
use taximeter_service::{Action, Problem, Sight, TreePage, TreeQuery};

use self::tree::Tree;
use crate::Dashboard;
use crate::extract::Parameters;
use crate::fields::Fields;
use crate::page::Section;
use crate::table::Table;
use crate::visitor::Visitor;
use crate::words::{account_link, time};

const TITLE: &str = "Accounts";

/// The most refusals that are listed.
const REFUSALS: usize = 20;

pub(super) fn routes() -> Router<Dashboard> {
    Router::new().route("/", get(show)).route("/accounts", get(async || Redirect::to("/")).post(open::open))
}

/// Which accounts are wanted.
#[derive(Deserialize)]
struct Wanted {
    /// How their names start.
    starts: Option<String>,
    /// Which part of a long list, counted from 1.
    page: Option<usize>,
}

async fn show(visitor: Visitor, Parameters(wanted): Parameters<Wanted>) -> Response {
    let content = content(&visitor, wanted).await;
    visitor.page(Section::Accounts, TITLE, content)
}

async fn content(visitor: &Visitor, wanted: Wanted) -> Result<Markup, Problem> {
    visitor.caller.follow_journal();
    let starts = wanted.starts.as_deref().unwrap_or_default().trim().to_string();
    let tree = Tree::find(visitor, TreeQuery { starts, page: wanted.page.unwrap_or(1) }).await?;
    let TreePage { accounts, charges, .. } = tree.page;
    let refusals = Refusals::seen(visitor);
    let may_open = visitor.may(Action::ChangeAccounts);
    Ok(html! {
        section.panel #totals data-live data-events="" aria-label="In all" {
            div.figures {
                (figure("Accounts", accounts, ""))
                (figure("Charges", charges, ""))
                (figure("Refusals", refusals.count, refusals.since))
            }
        }
        @if accounts == 0 { (nothing_yet(visitor, may_open)) } @else { (tree.panel(visitor)) }
        (refusals.panel())
        @if may_open { (open::form(visitor, &Fields::default(), accounts == 0)) }
    })
}

fn figure(label: &str, number: u64, about: &str) -> Markup {
    html! {
        div {
            span.label { (label) }
            span.value { (thousands(number)) }
            @if !about.is_empty() { span.label { (about) } }
        }
    }
}

/// What to do first.
fn nothing_yet(visitor: &Visitor, may_open: bool) -> Markup {
    html! {
        section.panel #tree data-live aria-labelledby="tree-title" {
            h2 #tree-title { "There is no account yet" }
            @if may_open {
                p {
                    "An account is a budget with the rules that keep it. Open one below for mechanisms that run elsewhere, or "
                    a href="/datasets" { "register data" } ", which opens one for them. Then make " a href="/tokens" { "tokens" }
                    " for the analysts."
                }
            } @else if *visitor.caller.sight() == Sight::All {
                p { "The owner of the data opens the first one." }
            } @else {
                p { "None of the accounts that your token names is open. Ask the owner of the data." }
            }
        }
    }
}

/// What was refused lately.
struct Refusals {
    count: u64,
    since: &'static str,
    newest: Vec<RefusedCharge>,
}

impl Refusals {
    /// Those by accounts of the visitor's own. How many there were in all is for those who see all.
    fn seen(visitor: &Visitor) -> Refusals {
        let (count, newest) = visitor.caller.refusals(REFUSALS);
        let is_all = *visitor.caller.sight() == Sight::All;
        Refusals { count, since: if is_all { "since the server started" } else { "lately" }, newest }
    }

    fn panel(&self) -> Markup {
        html! {
            section.panel #refusals data-live aria-labelledby="refusals-title" {
                h2 #refusals-title { "Recent refusals" }
                @if self.newest.is_empty() {
                    p.quiet-text { "No charge was refused since the server started." }
                } @else {
                    (self.table())
                }
            }
        }
    }

    fn table(&self) -> Markup {
        Table::new("Recent refusals", "Charges that were refused, newest first")
            .column("Time", "whole", |refused: &RefusedCharge| time(&refused.time.to_string()))
            .column("Account that refused", "whole", |refused| account_link(&refused.account))
            .column("Why", "wrap", |refused| html! { (refused.reason) })
            .column("Who asked", "wrap", |refused| html! { (refused.by.as_ref().map_or("–", |by| by.as_str())) })
            .rows(&self.newest)
    }
}
