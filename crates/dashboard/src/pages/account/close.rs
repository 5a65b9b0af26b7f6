//! Closing an account for good.

use axum::response::Response;
use maud::{Markup, html};
use taximeter_ledger::{AccountName, Note};
use taximeter_service::{CloseRequest, Problem};

use crate::display::account_path;
use crate::extract::PathName;
use crate::form_data::FormData;
use crate::page::Section;
use crate::visitor::Visitor;

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
                        "The account and all accounts below it take no more charges. What is left is given up; the history stays. This \
                         cannot be undone."
                    }
                    label for="close-note" { "Note" }
                    input #close-note name="note" maxlength="1024" value=(note) autocomplete="off" aria-describedby="close-note-help";
                    p.help #close-note-help { "The reason, optional. The journal keeps it for good." }
                    label.check { input type="checkbox" name="sure" value="yes" required; "I know that this cannot be undone" }
                    button.danger { "Close the account" }
                }
            }
        }
    }
}

/// Closes the account and redirects to its page.
pub(super) async fn close(visitor: Visitor, PathName(name): PathName, fields: FormData) -> Response {
    match done(&visitor, &name, &fields).await {
        Ok(record) => {
            let notice = format!("{name} is closed: record {record}. It takes no more charges.");
            visitor.done(notice, &account_path(&name))
        }
        Err(failure) => {
            let form = form(&visitor, &name, fields.get("note").unwrap_or_default());
            visitor.page_again(Section::Accounts, name.as_str(), failure, Ok(form))
        }
    }
}

async fn done(visitor: &Visitor, name: &AccountName, fields: &FormData) -> Result<u64, Problem> {
    if !fields.is_ticked("sure") {
        return Err(Problem::bad_request("nothing was closed; tick the box to confirm"));
    }
    let note = fields.get("note").map(|note| Note::parse("note", note)).transpose()?;
    Ok(visitor.caller.close_account(name.clone(), CloseRequest { by: None, note }).await?.sequence)
}
