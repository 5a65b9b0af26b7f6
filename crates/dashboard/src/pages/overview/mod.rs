//! The start page: all accounts that the visitor may see, as a tree, and recent refusals.

mod open;
mod tree;

use axum::Router;
use axum::extract::RawQuery;
use axum::response::{Redirect, Response};
use axum::routing::get;
use maud::{Markup, html};
use taximeter_ledger::RefusedCharge;
use taximeter_service::words::thousands;
use taximeter_service::{Action, Problem, RefusalList, Sight, TreePage, TreeQuery};

use self::tree::Tree;
use crate::Dashboard;

use crate::display::{account_link, time};
use crate::form_data::FormData;
use crate::page::Section;
use crate::table::DataTable;
use crate::visitor::Visitor;

const TITLE: &str = "Accounts";

/// The most refusals that are listed.
const REFUSALS: usize = 20;

pub(super) fn routes() -> Router<Dashboard> {
    Router::new().route("/", get(show)).route("/accounts", get(async || Redirect::to("/")).post(open::open))
}

async fn show(visitor: Visitor, RawQuery(query): RawQuery) -> Response {
    let content = content(&visitor, &FormData::from_query(query.as_deref())).await;
    visitor.page(Section::Accounts, TITLE, content)
}

async fn content(visitor: &Visitor, asked: &FormData) -> Result<Markup, Problem> {
    visitor.caller.follow_journal();
    let starts = asked.get("starts").unwrap_or_default().to_string();
    let page = asked.get("page").unwrap_or("1");
    let page = page
        .parse()
        .map_err(|_| Problem::bad_request(format!("page is {page:?}; it must be a whole number, such as 2")))?;
    let tree = Tree::find(visitor, TreeQuery { starts, page }).await?;
    let TreePage { accounts, charges, .. } = tree.page;
    let refusals = RecentRefusals::seen(visitor);
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
        @if may_open { (open::form(visitor, &FormData::default(), accounts == 0)) }
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

/// What to do without accounts.
fn nothing_yet(visitor: &Visitor, may_open: bool) -> Markup {
    html! {
        section.panel #tree data-live aria-labelledby="tree-title" {
            h2 #tree-title { "There is no account yet" }
            @if may_open {
                p {
                    "An account is a budget with the rules that enforce it. Open one below for mechanisms that run elsewhere, or "
                    a href="/datasets" { "register data" } ", which opens an account for them. Then make " a href="/tokens" { "tokens" }
                    " for the analysts."
                }
            } @else if *visitor.caller.sight() == Sight::All {
                p { "The owner of the data opens the first one." }
            } @else {
                p { "None of your token's accounts exists. Ask the owner of the data to open one." }
            }
        }
    }
}

/// Recent refusals.
struct RecentRefusals {
    count: u64,
    since: &'static str,
    newest: Vec<RefusedCharge>,
}

impl RecentRefusals {
    /// The refusals by the visitor's own accounts; the total is for visitors who see all accounts.
    fn seen(visitor: &Visitor) -> RecentRefusals {
        let RefusalList { count, newest } = visitor.caller.refusals(REFUSALS);
        let is_all = *visitor.caller.sight() == Sight::All;
        RecentRefusals { count, since: if is_all { "since the server started" } else { "lately" }, newest }
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
        DataTable::new("Recent refusals", "Charges that were refused, newest first")
            .column("Time", "whole", |refused: &RefusedCharge| time(&refused.time.to_string()))
            .column("Account that refused", "whole", |refused| account_link(&refused.account))
            .column("Why", "wrap", |refused| html! { (refused.reason) })
            .column("Who asked", "wrap", |refused| html! { (refused.by.as_ref().map_or("–", |by| by.as_str())) })
            .rows(&self.newest)
    }
}
