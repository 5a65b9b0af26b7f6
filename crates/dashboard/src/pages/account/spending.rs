//! Who spent what of an account.

use maud::{Markup, html};
use taximeter_service::AccountDocument;
use taximeter_service::timelines::{Spender, Spent, Timeline};
use taximeter_service::words::{show_number, thousands};

use super::history;
use crate::table::Table;
use crate::words::{percent, spent, time};

/// The most spenders that are listed; they are those who took the most.
const MOST: usize = 50;

/// The panel about spenders. With a budget it tells shares of it, and else what was added to the reading.
pub(super) fn panel(account: &AccountDocument, timeline: &Timeline) -> Markup {
    let all = timeline.spenders().by_budget();
    let given_up = timeline.spenders().given_up();
    html! {
        section.panel #spending data-live aria-labelledby="spending-title" {
            h2 #spending-title { "Who spent what" }
            @if account.charges == 0 {
                p.quiet-text { "Nobody has charged it yet." }
            } @else if all.is_empty() {
                p.quiet-text { "It is not known yet: the journal is not read so far." }
            } @else {
                (table(account, &all[..all.len().min(MOST)]))
                @if all.len() > MOST { p.help { "The " (MOST) " who took the most, of " (thousands(all.len() as u64)) "." } }
            }
            @if given_up > 0.0 {
                p.help { (percent(given_up)) " of the budget was left when the account stopped, and nobody spends it any more." }
            }
        }
    }
}

fn table(account: &AccountDocument, spenders: &[(Spender<'_>, &Spent)]) -> Markup {
    let took = if account.filter.is_some() { "Took of the budget" } else { "Added to the reading, ε" };
    let caption = format!("What each person charged to {}", account.account);
    Table::new("Who spent what", &caption)
        .row_head("Who", "wrap", |(spender, _): &(Spender<'_>, &Spent)| match spender {
            Spender::Named(who) => html! { a href=(history::path_by(&account.account, who.as_str())) { (who) } },
            Spender::Unnamed => html! { "nobody said who" },
            Spender::Others => html! { "others, who came later" },
        })
        .column("Charges", "number", |(_, taken)| html! { (thousands(taken.charges)) })
        .column(took, "", |(_, taken)| match (&account.filter, taken.reading) {
            (Some(_), _) => bar(taken.budget),
            (None, Some(added)) => html! { (show_number(added)) },
            (None, None) => html! { "no bound since" },
        })
        .column("Newest", "whole", |(_, taken)| time(&taken.newest.to_string()))
        .rows(spenders)
}

/// A share of the budget with a bar of that length, rounded up.
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
