//! A quote: the effect of a charge on each account.

use maud::{Markup, html};
use taximeter_accounting::{Cost, Count};
use taximeter_ledger::{AccountName, Standing};
use taximeter_service::words::{nothing_fits, show_cost, show_costs, show_count};
use taximeter_service::{Computed, QuoteDocument, QuotedAccountDocument, Refused};

use crate::display;
use crate::gauge::gauge;

/// A quote of a charge on the named accounts. `fill_in` is the path of the form with the largest cost that fits.
pub(in crate::pages) fn quoted(quote: &QuoteDocument, named: &[AccountName], fill_in: Option<&str>) -> Markup {
    let is_seen = |name: &str| quote.accounts.iter().any(|account| account.account.as_str() == name);
    let is_all_seen = named.iter().flat_map(AccountName::path).all(is_seen);
    html! {
        @if quote.is_admitted() { (admitted(quote)) } @else { (refused(quote, is_all_seen, fill_in)) }
        @if !is_all_seen {
            p.help {
                "The accounts above pay too. You cannot see what they have left, and one of them may still refuse."
            }
        }
        ol.quoted aria-label="Accounts that would pay, from the root down" {
            @for account in &quote.accounts { li { (of_account(account)) } }
        }
    }
}

fn admitted(quote: &QuoteDocument) -> Markup {
    html! {
        p.verdict.takes {
            strong { "It fits." } " " (show_costs(&quote.asked)) " would be charged"
            @match count(quote.count, quote.at_least) {
                Some(count) => { ". The same fits " (times(count)) ", this time included." },
                None => ".",
            }
        }
    }
}

fn refused(quote: &QuoteDocument, is_all_seen: bool, fill_in: Option<&str>) -> Markup {
    let is_not_open = quote.accounts.iter().any(|account| account.standing != Standing::Open);
    html! {
        p.verdict.refuses {
            strong { "It does not fit." } " " (show_costs(&quote.asked))
            " would be refused, and nothing would be charged."
        }
        (what_fits(&quote.asked, quote.fits.as_deref(), is_not_open, is_all_seen, fill_in))
    }
}

/// A refusal: the accounts that refused, their reasons, and the largest cost that fits.
pub(in crate::pages) fn refusal(refused: &Refused, fill_in: Option<&str>) -> Markup {
    let is_all_seen = refused.refused.iter().all(|account| account.account.is_some());
    html! {
        p.verdict.refuses { strong { "It was refused." } " " (show_costs(&refused.asked)) " does not fit; nothing was charged." }
        dl.facts {
            @for by in &refused.refused {
                dt { @match &by.account { Some(account) => (display::account_link(account)), None => "an account above" } }
                dd { (by.reason) }
            }
        }
        @for account in &refused.halted {
            p.caution { (account) " stops at the first charge that it refuses: it is now halted for good." }
        }
        (what_fits(&refused.asked, refused.fits.as_deref(), refused.not_open, is_all_seen, fill_in))
    }
}

/// The largest cost that fits, with a link that fills it in.
fn what_fits(
    asked: &[Cost],
    fits: Option<&[Cost]>,
    is_not_open: bool,
    is_all_seen: bool,
    fill_in: Option<&str>,
) -> Markup {
    let Some(fits) = fits else {
        return html! {
            p {
                @if is_not_open { "Nothing fits: an account takes no more charges." }
                @else if is_all_seen { "What fits: " (nothing_fits(asked)) "." }
                @else { "What fits depends on an account that you cannot see." }
            }
        };
    };
    // Rounded down to what people can read.
    let short: Vec<_> = fits.iter().map(|cost| cost.with_size(cost.size().significant(6))).collect();
    html! {
        p {
            "The largest that fits" @if !is_all_seen { " on the accounts that you can see" } ": "
            strong { (show_costs(&short)) } "."
            @if let Some(path) = fill_in { " " a.button.quiet #fill-in href=(path) { "Fill it in" } }
        }
    }
}

fn of_account(account: &QuotedAccountDocument) -> Markup {
    let [left, left_after, reading, reading_after] =
        [account.left, account.left_after, account.reading, account.reading_after]
            .map(|value| value.map(|Computed(value)| value));
    html! {
        p.head {
            (display::account_link(&account.account)) " "
            @if account.is_admitted() { span.standing.open { "takes it" } } @else { span.standing.halted { "refuses it" } }
        }
        p { (meter(&account.account, left, left_after)) }
        @if left_after > left {
            p.help { "The share rises because from then on the filter adds up every ε." }
        }
        dl.facts {
            @if let Some(reason) = &account.reason { dt { "Why" } dd { (reason) } }
            dt { "Reading, ε" }
            dd {
                (display::reading(reading))
                @if account.is_admitted() { " → " (display::reading(reading_after)) }
                @if let Some(reason) = &account.reading_reason { " (" (reason) ")" }
            }
            @if let Some(count) = count(account.count, account.at_least) { dt { "Fits" } dd { (times(count)) } }
        }
    }
}

/// A gauge of what is left, with the part that would be spent marked.
pub(in crate::pages) fn meter(name: &AccountName, before: Option<f64>, after: Option<f64>) -> Markup {
    let (Some(before), Some(after)) = (before, after) else { return gauge(name, before) };
    let [before, after] = [before, after].map(|share| share.clamp(0.0, 1.0));
    // Rounded down: the bar is never longer than the share.
    let [now, then] = [before, after].map(|share| (share * 1000.0).floor() / 10.0);
    let change = format!("{} → {}", display::percent(before), display::percent(after));
    html! {
        span.gauge.change role="meter" aria-label={ "left of " (name) } aria-valuemin="0" aria-valuemax="100"
            aria-valuenow=(then) aria-valuetext={ (display::percent(before)) " left now, " (display::percent(after)) " afterwards" } {
            svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
                rect.track width="100" height="10" {}
                rect.going width=(now) height="10" {}
                rect.fill width=(then) height="10" {}
            }
            span.value { (change) " left" }
        }
    }
}

/// A note that a cost was rounded up.
pub(super) fn rounded_up(cost: &Cost) -> Markup {
    html! { p.help { "The cost was rounded up to " (show_cost(cost)) ": amounts have thirty decimal places." } }
}

fn count(count: Option<u64>, at_least: bool) -> Option<Count> {
    count.map(|count| Count { count, at_least })
}

fn times(count: Count) -> String {
    match count {
        Count { count: 0, .. } => "not once".to_string(),
        Count { count: 1, at_least: false } => "once".to_string(),
        count => format!("{} times", show_count(count)),
    }
}
