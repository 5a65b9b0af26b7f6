//! The accounts directly below one.

use maud::{Markup, html};
use taximeter_ledger::AccountName;
use taximeter_service::words::thousands;
use taximeter_service::{AccountEvent, Problem};

use crate::display::{account_link, path_with, reading, standing};
use crate::gauge::gauge;
use crate::table::DataTable;
use crate::visitor::Visitor;

/// The most accounts that are listed.
const MOST: usize = 50;

/// The panel of the accounts that the visitor may see; empty if there are none.
pub(super) async fn panel(visitor: &Visitor, name: &AccountName) -> Result<Markup, Problem> {
    let (shown, count) = visitor.caller.accounts_below(name, MOST).await?;
    let caption = format!("Accounts directly below {name}");
    let table = DataTable::new("Accounts below", &caption)
        .row_head("Account", "", |account: &AccountEvent| account_link(&account.account))
        .column("Standing", "", |account| standing(account.standing))
        .column("Left of its budget", "whole", |account| gauge(&account.account, account.left.map(|left| left.0)))
        .column("Reading, ε", "number", |account| html! { (reading(account.reading.map(|reading| reading.0))) })
        .column("Charges", "number", |account| html! { (thousands(account.charges)) });
    Ok(html! {
        @if count > 0 {
            section.panel #below data-live aria-labelledby="below-title" {
                h2 #below-title { "Accounts below" }
                (table.rows(&shown))
                @if count > shown.len() {
                    p { a href=(path_with("/", "starts", &format!("{name}/"))) { "All " (thousands(count as u64)) " of them" } }
                }
            }
        }
    })
}
