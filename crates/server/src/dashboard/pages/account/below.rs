//! The accounts right below one.

use maud::{Markup, html};
use taximeter_ledger::{AccountName, Error, Ledger};
use taximeter_service::words::thousands;
use taximeter_service::{AccountEvent, Sight};

use crate::access::Caller;
use crate::dashboard::gauge::gauge;
use crate::dashboard::table::Table;
use crate::dashboard::visitor::Visitor;
use crate::dashboard::words::{account_link, reading, standing};
use crate::failure::Failure;

/// The most accounts that are listed.
const MOST: usize = 50;

/// The panel about those that may be seen; nothing if there are none.
pub(super) async fn panel(visitor: &Visitor, name: &AccountName) -> Result<Markup, Failure> {
    let above = name.clone();
    let find = move |caller: &Caller| Ok(find(caller.ledger(), &above, &caller.sight)?);
    let (shown, count) = visitor.caller.blocking(find).await?;
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("starts", &format!("{name}/")).finish();
    let caption = format!("Accounts right below {name}");
    let table = Table::new("Accounts below", &caption)
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
                    p { a href={ "/?" (query) } { "All " (thousands(count as u64)) " of them" } }
                }
            }
        }
    })
}

/// The first accounts right below, by their names, and how many there are.
fn find(ledger: &Ledger, above: &AccountName, sight: &Sight) -> Result<(Vec<AccountEvent>, usize), Error> {
    let start = format!("{above}/");
    let is_right_below = |name: &str| name.strip_prefix(&start).is_some_and(|rest| !rest.contains('/'));
    let is_wanted = |name: &AccountName| is_right_below(name.as_str()) && sight.sees(name);
    let mut all = ledger.survey(|account| is_wanted(account.name()).then(|| account.name().clone()));
    all.sort();
    // Reading a meter takes a while, so it is done on copies, for which the writer does not wait.
    let shown = all.iter().take(MOST).map(|name| Ok(AccountEvent::from(&ledger.account(name)?)));
    Ok((shown.collect::<Result<_, Error>>()?, all.len()))
}
