//! The page of the ledger: its identity, verification and export.

use axum::Router;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use taximeter_ledger::Position;
use taximeter_service::words::{counted, thousands};
use taximeter_service::{LedgerDocument, Problem, VerifyDocument, VerifyState};

use crate::Dashboard;
use crate::form_data::FormData;
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
                dt { "Location" } dd { code { (ledger.location) } }
                dt { "Accounts" } dd { (thousands(ledger.accounts as u64)) }
                dt { "Records" } dd { (thousands(ledger.records)) }
                dt { "Newest record" } dd { (record(&ledger.newest)) }
                dt { "Witness" } dd { code { (ledger.witness.path) } }
                dt { "Record in the witness" } dd { (record(&ledger.witness.remembers)) " " (witness_lag(ledger)) }
            }
            p.help {
                "Every record has the hash of the one before it, so the newest hash covers the whole journal: write it down, and any later \
                 change to older records can be detected. The witness is a small file, best on another disk, that stores the newest \
                 record; a ledger that is behind its witness, such as an old backup, does not open."
            }
        }
    }
}

fn record(position: &Position) -> Markup {
    html! { "record " (thousands(position.sequence)) ", hash " code { (position.hash) } }
}

/// How far the witness is behind the ledger.
fn witness_lag(ledger: &LedgerDocument) -> Markup {
    let (newest, remembers) = (&ledger.newest, &ledger.witness.remembers);
    if newest == remembers {
        return html! { span.standing.open { "the newest record" } };
    }
    let behind = newest.sequence.saturating_sub(remembers.sequence);
    html! { span.standing { (counted(behind, "record", "records")) " behind: it is written after the records" } }
}

fn verify_panel(visitor: &Visitor, ledger: &LedgerDocument, verification: &VerifyDocument) -> Markup {
    let is_running = verification.state == VerifyState::Running;
    html! {
        section.panel aria-labelledby="verify" {
            h2 #verify { "Verify" }
            p {
                "Recomputes the whole journal: every hash, decision and reading must equal the stored one, and the witness must match a \
                 record. Charging continues meanwhile."
            }
            form method="post" action="/audit/verify" { (visitor.form_key()) button { "Verify" } }
            // The outer element stays when its content is replaced, so that screen readers announce it.
            div aria-live="polite" { div.verified #verified data-live { (status(ledger, verification)) } }
            div #verifying data-live data-again=[is_running.then_some("500")] {
                @if is_running { (progress(verification)) }
            }
        }
    }
}

/// The progress bar. It is not announced, since it changes all the time.
fn progress(VerifyDocument { done, of, .. }: &VerifyDocument) -> Markup {
    html! {
        label.hidden-text for="progress" { "Records verified" }
        progress #progress max=(of) value=(done) {}
        p.quiet-text { (thousands(*done)) " of " (thousands(*of)) " records" }
    }
}

/// The progress of a verification, or its result.
fn status(ledger: &LedgerDocument, verification: &VerifyDocument) -> Markup {
    let reason = verification.reason.as_deref().unwrap_or("the reason is not known");
    match verification.state {
        VerifyState::None => html! { p.quiet-text { "Not verified since the server started." } },
        // In steps of ten percent, which screen readers announce.
        VerifyState::Running => match 10 * verification.done.min(verification.of) / verification.of.max(1) {
            0 => html! { p { "Verifying." } },
            // At most 90%: after all records, the accounts are compared.
            tenths => html! { p { "Verifying: more than " (tenths.min(9) * 10) "% done." } },
        },
        VerifyState::Whole => whole(ledger, verification),
        VerifyState::Broken => html! {
            div.problem {
                p { strong { "The ledger is broken." } " " (reason) }
                p {
                    "Stop charging it. Keep the files for inspection, replace them with the newest good backup, and restore the ledger \
                     with the taximeter program, from receipts or an export of the journal."
                }
            }
        },
        VerifyState::Failed => html! {
            div.caution { p { strong { "The verification failed." } " " (reason) } p { "The ledger itself may be whole." } }
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
                " equal the stored ones."
            }
            @if let Some(newest) = &verification.newest { p { "Verified up to " (record(newest)) "." } }
            @match &verification.witness {
                Some(witness) => p { "The witness matches record " (thousands(witness.sequence)) "." },
                None => p { "There is no witness yet: it is written after the first charge." },
            }
            @if let Some(warning) = &verification.warning { p { strong { "Check the witness: " } (warning) "." } }
            @if let Some(since @ 1..) = since { p { (counted(since, "record was", "records were")) " added since." } }
        }
    }
}

fn export_panel() -> Markup {
    html! {
        section.panel aria-labelledby="export" {
            h2 #export { "Export" }
            p {
                "The journal as lines of JSON, one per record, and a last line that says where it ends. Any program with BLAKE3 can \
                 check the chain: the hash of a record is the hash of its line. A lost ledger can be restored from an older backup and \
                 this export."
            }
            p { a.button href="/audit/export" { "Export the journal" } }
        }
    }
}

fn file_name(ledger: &LedgerDocument) -> String {
    format!("taximeter-{}.jsonl", ledger.ledger)
}

async fn verify(visitor: Visitor, _: FormData) -> Response {
    match visitor.caller.start_verification() {
        Ok(_) => Redirect::to("/audit").into_response(),
        Err(failure) => visitor.page_again(Section::Audit, TITLE, failure, content(&visitor).await),
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
