//! How far the journal was read for what a page shows of the past.

use maud::{Markup, html};

use super::visitor::Visitor;
use super::words::percent;

/// A page that misses fewer records than this says nothing about it: they are there when it looks again.
const FEW: u64 = 1000;

/// What is said while the journal is being read, and when it cannot be. `is_behind` is whether the page misses something for it.
pub(super) fn journal_note(visitor: &Visitor, is_behind: bool) -> Markup {
    if let Some(problem) = visitor.service().timelines.problem() {
        // It may be about the inside, like other problems of the store.
        let problem = if visitor.is_owner() { problem } else { "tell the owner".to_string() };
        return html! {
            div.caution data-again="5000" { p { "The journal cannot be read, so this is not all: " (problem) "." } }
        };
    }
    let (done, of) = visitor.service().timelines.progress();
    // How many records there are is for those who may see all of them; a share tells nobody.
    let share = done as f64 / of.max(1) as f64;
    html! {
        @if is_behind {
            div data-again="500" {
                @if of.saturating_sub(done) > FEW {
                    p.quiet-text {
                        "The journal is being read: " (percent(share)) " of it so far. "
                        progress max="1" value=(format!("{share:.3}")) aria-label="read of the journal" {}
                    }
                }
            }
        }
    }
}
