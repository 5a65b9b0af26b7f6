//! A note about the progress of reading the journal, for pages that show the past.

use maud::{Markup, html};

use super::display::percent;
use super::visitor::Visitor;

/// Below this number of missing records the note is left out: they appear at the next reload.
const FEW: u64 = 1000;

/// The note while the journal is being read, or if it cannot be read. `is_behind` is whether records are missing on the page.
pub(super) fn journal_note(visitor: &Visitor, is_behind: bool) -> Markup {
    if let Some(problem) = visitor.service().timelines.problem() {
        // Problems of the store may have internal details.
        let problem = if visitor.is_owner() { problem } else { "tell the owner".to_string() };
        return html! {
            div.caution data-again="5000" { p { "The journal cannot be read, so this page is incomplete: " (problem) "." } }
        };
    }
    let (done, of) = visitor.service().timelines.progress();
    // The number of records is only for callers who see all accounts, so a share is shown.
    let share = done as f64 / of.max(1) as f64;
    html! {
        @if is_behind {
            div data-again="500" {
                @if of.saturating_sub(done) > FEW {
                    p.quiet-text {
                        "Reading the journal: " (percent(share)) " done. "
                        progress max="1" value=(format!("{share:.3}")) aria-label="Progress of reading the journal" {}
                    }
                }
            }
        }
    }
}
