//! Audit: which ledger it is, whether it is whole, and all of it to take home.

use axum::Router;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use taximeter_ledger::Position;
use taximeter_service::words::thousands;
use taximeter_service::{LedgerDocument, Problem, VerifyDocument, VerifyState};

use crate::Dashboard;
use crate::fields::Fields;
use crate::page::Section;
use crate::visitor::Visitor;

pub(super) fn routes() -> Router<Dashboard> {
    Router::new().route("/audit", get(show)).route("/audit/verify", post(verify)).route("/audit/export", get(export))
}

const TITLE: &str = "Audit";

async fn show(visitor: Visitor) -> Response {
    visitor.page(Section::Audit, TITLE, content(&visitor).await)
}

async fn content(visitor: &Visitor) -> Result<Markup, Problem> {
    let ledger = visitor.caller.ledger_document().await?;
    let verification = visitor.caller.verification()?;
    Ok(html! {
        (ledger_panel(&ledger))
        (verify_panel(visitor, &ledger, &verification))
        (export_panel())
    })
}

fn ledger_panel(ledger: &LedgerDocument) -> Markup {
    html! {
        section.panel aria-labelledby="ledger" {
            h2 #ledger { "The ledger" }
            dl.facts #ledger-facts data-live data-events="" {
                dt { "Identity" } dd { code { (ledger.ledger) } }
                dt { "Where it is" } dd { code { (ledger.location) } }
                dt { "Accounts" } dd { (thousands(ledger.accounts as u64)) }
                dt { "Records" } dd { (thousands(ledger.records)) }
                dt { "Newest record" } dd { (record(&ledger.newest)) }
                dt { "Witness" } dd { code { (ledger.witness.path) } }
                dt { "It remembers" } dd { (record(&ledger.witness.remembers)) " " (how_new(ledger)) }
            }
            p.help {
                "Every record has the hash of the one before it, so the newest hash stands for the whole journal: write it down, and \
                 nobody can change what came before it unnoticed. The witness is a small file, best on another disk, that remembers \
                 the newest record; a ledger that is behind its witness, such as an old copy that was put back, does not open."
            }
        }
    }
}

fn record(position: &Position) -> Markup {
    html! { "record " (thousands(position.sequence)) ", hash " code { (position.hash) } }
}

/// What the witness remembers, beside what there is.
fn how_new(ledger: &LedgerDocument) -> Markup {
    let (newest, remembers) = (&ledger.newest, &ledger.witness.remembers);
    if newest == remembers {
        return html! { span.standing.open { "the newest record" } };
    }
    let behind = newest.sequence.saturating_sub(remembers.sequence);
    html! { span.standing { (counted(behind, "record", "records")) " behind: it is written after the records" } }
}

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

fn verify_panel(visitor: &Visitor, ledger: &LedgerDocument, verification: &VerifyDocument) -> Markup {
    let is_running = verification.state == VerifyState::Running;
    html! {
        section.panel aria-labelledby="verify" {
            h2 #verify { "Verify" }
            p {
                "Makes the whole journal again, from the first record to the newest: every hash, every decision and every reading must \
                 come out as it is stored, and the witness must remember a record of it. Charges go on meanwhile."
            }
            form method="post" action="/audit/verify" { (visitor.form_key()) button { "Verify" } }
            // This element stays when what is in it is replaced, so that screen readers notice.
            div aria-live="polite" { div.verified #verified data-live { (words(ledger, verification)) } }
            div #verifying data-live data-again=[is_running.then_some("500")] {
                @if is_running { (progress(verification)) }
            }
        }
    }
}

/// How far it is. Beside what is read out, since it changes all the time.
fn progress(VerifyDocument { done, of, .. }: &VerifyDocument) -> Markup {
    html! {
        label.hidden-text for="progress" { "Records verified" }
        progress #progress max=(of) value=(done) {}
        p.quiet-text { (thousands(*done)) " of " (thousands(*of)) " records" }
    }
}

/// How far a verification is, or what came of it, in words.
fn words(ledger: &LedgerDocument, verification: &VerifyDocument) -> Markup {
    let reason = verification.reason.as_deref().unwrap_or("it is not known why");
    match verification.state {
        VerifyState::None => html! { p.quiet-text { "Nobody has verified it since the server started." } },
        // In steps that are worth being read out.
        VerifyState::Running => match 10 * verification.done.min(verification.of) / verification.of.max(1) {
            0 => html! { p { "Verifying." } },
            // When all records are read, the accounts are still compared.
            tenths => html! { p { "Verifying: more than " (tenths.min(9) * 10) "% done." } },
        },
        VerifyState::Whole => whole(ledger, verification),
        VerifyState::Broken => html! {
            div.problem {
                p { strong { "The ledger is broken." } " " (reason) }
                p {
                    "Take no more charges from it. Keep the files as they are for inspection, put the newest good copy in their place, \
                     and restore the ledger with the program there, from receipts or an export of the journal."
                }
            }
        },
        VerifyState::Failed => html! {
            div.caution { p { strong { "It could not be verified." } " " (reason) } p { "This says nothing about the ledger." } }
        },
    }
}

fn whole(ledger: &LedgerDocument, verification: &VerifyDocument) -> Markup {
    let since = verification.newest.map(|newest| ledger.newest.sequence.saturating_sub(newest.sequence));
    html! {
        div.notice {
            p {
                strong { "The ledger is whole." } " All " (counted(verification.records.unwrap_or(0), "record", "records"))
                " and the states of " (counted(verification.accounts.unwrap_or(0) as u64, "account", "accounts"))
                " came out as they are stored."
            }
            @if let Some(newest) = &verification.newest { p { "Verified up to " (record(newest)) "." } }
            @match &verification.witness {
                Some(witness) => p { "The witness remembers record " (thousands(witness.sequence)) " of it." },
                None => p { "There is no witness yet: it is written after the first charge." },
            }
            @if let Some(warning) = &verification.warning { p { strong { "See to the witness: " } (warning) "." } }
            @if let Some(since @ 1..) = since { p { (counted(since, "record was", "records were")) " added since." } }
        }
    }
}

fn export_panel() -> Markup {
    html! {
        section.panel aria-labelledby="export" {
            h2 #export { "Export" }
            p {
                "The journal as it is: one record a line, as JSON, and a last line that says where it ends. With it anyone can check the \
                 chain elsewhere, with any program that computes BLAKE3: the hash of a record is that of its line. Should the ledger be \
                 lost, it can be restored from an older copy and the records in this export."
            }
            p { a.button href="/audit/export" { "Export the journal" } }
        }
    }
}

fn file_name(ledger: &LedgerDocument) -> String {
    format!("taximeter-{}.jsonl", ledger.ledger)
}

async fn verify(visitor: Visitor, _: Fields) -> Response {
    match visitor.caller.start_verification() {
        Ok(_) => Redirect::to("/audit").into_response(),
        Err(failure) => match content(&visitor).await {
            Ok(content) => visitor.page_again(Section::Audit, TITLE, failure, content),
            Err(_) => visitor.page(Section::Audit, TITLE, Err(failure)),
        },
    }
}

async fn export(visitor: Visitor) -> Response {
    let named = async {
        let ledger = visitor.caller.ledger_document().await?;
        let body = Body::from_stream(visitor.caller.export().await?);
        let disposition = format!("attachment; filename=\"{}\"", file_name(&ledger));
        let headers = [(header::CONTENT_TYPE, "application/jsonl"), (header::CONTENT_DISPOSITION, &disposition)];
        Ok((headers, body).into_response())
    };
    named.await.unwrap_or_else(|failure| visitor.page(Section::Audit, TITLE, Err(failure)))
}
