//! Tables: with a caption for screen readers, and in a frame that is moved sideways where the table is too wide for it. On a phone
//! their rows are cards, so cells say what they are (`data-label`).

use maud::{Markup, html};

/// The head of a column.
#[derive(Clone, Copy)]
pub(super) enum Head<'a> {
    Text(&'a str),
    /// Of numbers, which stand on the right.
    Number(&'a str),
}

/// A table. Its label is for those who move through a page, its caption for those who are at it.
pub(super) fn cards(class: &str, label: &str, caption: &str, heads: &[Head<'_>], rows: &Markup) -> Markup {
    let class = format!("{class} cards");
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table class=(class.trim_start()) {
                caption.hidden-text { (caption) }
                thead {
                    tr {
                        @for head in heads {
                            @match head {
                                Head::Text(name) => th scope="col" { (name) },
                                Head::Number(name) => th.number scope="col" { (name) },
                            }
                        }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}
