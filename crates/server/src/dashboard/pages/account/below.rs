//! The accounts right below one.

use std::sync::Arc;

use maud::{Markup, html};
use taximeter_api::words::thousands;
use taximeter_api::{AccountEvent, Sight};
use taximeter_ledger::{AccountName, Error, Ledger};

use crate::dashboard::gauge::gauge;
use crate::dashboard::table::{Head, cards};
use crate::dashboard::visitor::Visitor;
use crate::dashboard::words::{account_link, reading, standing};
use crate::failure::Failure;
use crate::routes::blocking;
use crate::state::State;

/// The most accounts that are listed.
const MOST: usize = 50;

const HEADS: [Head<'_>; 5] = [
    Head::Text("Account"),
    Head::Text("Standing"),
    Head::Text("Left of its budget"),
    Head::Number("Reading, ε"),
    Head::Number("Charges"),
];

/// The panel about those that may be seen; nothing if there are none.
pub(super) async fn panel(state: &Arc<State>, visitor: &Visitor, name: &AccountName) -> Result<Markup, Failure> {
    let (above, sight) = (name.clone(), visitor.caller.sight.clone());
    let (shown, count) = blocking(state, move |state| find(state.ledger(), &above, &sight)).await?;
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("starts", &format!("{name}/")).finish();
    let rows = html! { @for account in &shown { (line(account)) } };
    Ok(html! {
        @if count > 0 {
            section.panel #below data-live aria-labelledby="below-title" {
                h2 #below-title { "Accounts below" }
                (cards("", "Accounts below", &format!("Accounts right below {name}"), &HEADS, &rows))
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

fn line(account: &AccountEvent) -> Markup {
    html! {
        tr {
            th scope="row" { (account_link(&account.account)) }
            td data-label="Standing" { (standing(account.standing)) }
            td.whole data-label="Left of its budget" { (gauge(&account.account, account.left.map(|left| left.0))) }
            td.number data-label="Reading, ε" { (reading(account.reading.map(|reading| reading.0))) }
            td.number data-label="Charges" { (thousands(account.charges)) }
        }
    }
}
