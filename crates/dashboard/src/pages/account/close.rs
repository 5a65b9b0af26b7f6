//! Closing an account for good.

use axum::response::Response;
use maud::{Markup, html};
use taximeter_ledger::{AccountName, Note};
use taximeter_service::{CloseRequest, Code, Problem};

use crate::extract::Name;
use crate::fields::Fields;
use crate::page::Section;
use crate::visitor::Visitor;
use crate::words::account_path;

/// The form, with the note that was filled in.
pub(super) fn form(visitor: &Visitor, name: &AccountName, note: &str) -> Markup {
    html! {
        section.panel aria-labelledby="close-title" {
            h2 #close-title { "Close it" }
            details open[!note.is_empty()] {
                summary { "Close " (name) " for good" }
                form.stacked method="post" action={ (account_path(name)) "/close" } {
                    (visitor.form_key())
                    p {
                        "It takes no more charges then, nor does any account below it. What is left is given up. This cannot be undone; \
                         its history stays."
                    }
                    label for="close-note" { "Note" }
                    input #close-note name="note" maxlength="1024" value=(note) autocomplete="off" aria-describedby="close-note-help";
                    p.help #close-note-help { "Why. It stands in the journal for good. May be left out." }
                    label.check { input type="checkbox" name="sure" value="yes" required; "I know that this cannot be undone" }
                    button.danger { "Close the account" }
                }
            }
        }
    }
}

/// Closes it, and goes back to its page.
pub(super) async fn close(visitor: Visitor, Name(name): Name, fields: Fields) -> Response {
    match done(&visitor, &name, &fields).await {
        Ok(record) => {
            let notice = format!("{name} is closed, by record {record}. It takes no more charges.");
            visitor.done(notice, &account_path(&name))
        }
        Err(failure) => {
            let form = form(&visitor, &name, fields.get("note").unwrap_or_default());
            visitor.page_again(Section::Accounts, name.as_str(), failure, form)
        }
    }
}

async fn done(visitor: &Visitor, name: &AccountName, fields: &Fields) -> Result<u64, Problem> {
    if !fields.is_ticked("sure") {
        return Err(Problem::new(Code::BadRequest, "nothing was closed; tick the box to say that you are sure"));
    }
    let note = fields.get("note").map(|note| Note::parse("note", note)).transpose()?;
    Ok(visitor.caller.close_account(name.clone(), CloseRequest { by: None, note }).await?.sequence)
}
