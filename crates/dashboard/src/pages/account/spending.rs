//! How much of an account each principal spent.

use maud::{Markup, html};
use taximeter_service::AccountDocument;
use taximeter_service::timelines::{Spender, Spent, Timeline};
use taximeter_service::words::{show_number, thousands};

use super::history;
use crate::display::{percent, spent, time};
use crate::table::DataTable;

/// The most spenders that are listed, the largest first.
const MOST: usize = 50;

/// The panel of spenders: their shares of the budget, or without one what they added to the reading.
pub(super) fn panel(account: &AccountDocument, timeline: &Timeline) -> Markup {
    let all = timeline.spenders().by_budget();
    let given_up = timeline.spenders().given_up();
    html! {
        section.panel #spending data-live aria-labelledby="spending-title" {
            h2 #spending-title { "Who spent what" }
            @if account.charges == 0 {
                p.quiet-text { "Nobody has charged it yet." }
            } @else if all.is_empty() {
                p.quiet-text { "Not known yet: the journal is still being read." }
            } @else {
                (table(account, &all[..all.len().min(MOST)]))
                @if all.len() > MOST { p.help { "The " (MOST) " largest of " (thousands(all.len() as u64)) "." } }
            }
            @if given_up > 0.0 {
                p.help { (percent(given_up)) " of the budget was left when the account stopped, and cannot be spent any more." }
            }
        }
    }
}

fn table(account: &AccountDocument, spenders: &[(Spender<'_>, &Spent)]) -> Markup {
    let took = if account.filter.is_some() { "Took of the budget" } else { "Added to the reading, ε" };
    let caption = format!("What each person charged to {}", account.account);
    DataTable::new("Who spent what", &caption)
        .row_head("Who", "wrap", |(spender, _): &(Spender<'_>, &Spent)| match spender {
            Spender::Named(who) => html! { a href=(history::path_by(&account.account, who.as_str())) { (who) } },
            Spender::Unnamed => html! { "no name given" },
            Spender::Others => html! { "others" },
        })
        .column("Charges", "number", |(_, taken)| html! { (thousands(taken.charges)) })
        .column(took, "", |(_, taken)| match (&account.filter, taken.reading) {
            (Some(_), _) => bar(taken.budget),
            (None, Some(added)) => html! { (show_number(added)) },
            (None, None) => html! { "removed the bound" },
        })
        .column("Newest", "whole", |(_, taken)| time(&taken.newest.to_string()))
        .rows(spenders)
}

/// A share of the budget as a bar, rounded up.
fn bar(share: f64) -> Markup {
    let width = (share.clamp(0.0, 1.0) * 1000.0).ceil() / 10.0;
    html! {
        span.bar {
            svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
                rect.track width="100" height="10" {}
                rect.fill width=(width) height="10" {}
            }
            span.value { (spent(share)) }
        }
    }
}
