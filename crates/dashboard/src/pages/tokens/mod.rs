//! The page of tokens: owners create, list and revoke them.

mod make;
mod revoke;

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use jiff::Timestamp;
use maud::{Markup, html};
use taximeter_ledger::AccountName;
use taximeter_service::{Problem, Role, TokenDocument};

use crate::Dashboard;
use crate::display::{account_link, time};
use crate::form_data::FormData;
use crate::page::Section;
use crate::table::DataTable;
use crate::visitor::Visitor;

pub(super) fn routes() -> Router<Dashboard> {
    Router::new()
        .route("/tokens", get(show).post(make::make))
        .route("/tokens/{id}/revoke", get(revoke::ask).post(revoke::revoke))
}

const TITLE: &str = "Tokens";

async fn show(visitor: Visitor) -> Response {
    let content = content(&visitor, &FormData::default()).await;
    visitor.page(Section::Tokens, TITLE, content)
}

/// The page, with the form as it was filled in.
async fn content(visitor: &Visitor, filled: &FormData) -> Result<Markup, Problem> {
    let all = visitor.caller.list_tokens().await?.tokens;
    let now = visitor.service().tokens.now();
    let (valid, ended): (Vec<_>, Vec<_>) =
        all.iter().rev().partition(|token| standing(token, now) == TokenStatus::Valid);
    Ok(html! {
        section.panel aria-labelledby="valid" {
            h2 #valid { "Valid tokens" }
            (table("Valid tokens, newest first", &valid, visitor, now))
            @if !ended.is_empty() {
                details #ended {
                    summary { "Tokens that have ended (" (ended.len()) ")" }
                    (table("Ended tokens, newest first", &ended, visitor, now))
                }
            }
        }
        (make::panel(visitor, filled).await?)
    })
}

/// Whether a token can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenStatus {
    Valid,
    Expired,
    Revoked,
}

fn standing(token: &TokenDocument, now: Timestamp) -> TokenStatus {
    match (&token.revoked, token.expires.parse::<Timestamp>()) {
        (Some(_), _) => TokenStatus::Revoked,
        (None, Ok(expires)) if now < expires => TokenStatus::Valid,
        _ => TokenStatus::Expired,
    }
}

impl TokenStatus {
    fn shown(self) -> Markup {
        match self {
            TokenStatus::Valid => html! { span.standing.open { "valid" } },
            TokenStatus::Expired => html! { span.standing.closed { "expired" } },
            TokenStatus::Revoked => html! { span.standing.closed { "revoked" } },
        }
    }
}

fn table(caption: &str, tokens: &[&TokenDocument], visitor: &Visitor, now: Timestamp) -> Markup {
    DataTable::new(caption, caption)
        .row_head("Holder", "", |token: &TokenDocument| {
            html! {
                (token.principal)
                @if token.id == visitor.caller.token().id { " " span.quiet-text { "(this session)" } }
                br; code.quiet-text { (token.id) }
            }
        })
        .column("Role", "", |token| html! { (token.role.name()) })
        .column("Standing", "", |token| standing(token, now).shown())
        .column("Revoke", "", |token| match standing(token, now) {
            TokenStatus::Valid => {
                html! { a href=(revoke::path(&token.id)) { "Revoke" span.hidden-text { " the token of " (token.principal) } } }
            }
            _ => html! { "–" },
        })
        .column("Accounts", "wrap", |token| what_is_seen(token, &token.accounts, true))
        .column("Datasets", "wrap", |token| what_is_seen(token, &token.datasets, false))
        .column("Sees above", "", |token| match token.role {
            Role::Analyst => html! { (if token.sees_above { "yes" } else { "no" }) },
            _ => html! { "all" },
        })
        .column("Made", "", |token| time(&token.created))
        .column("Ends", "", |token| time(token.revoked.as_ref().unwrap_or(&token.expires)))
        .rows(tokens.iter().copied())
}

/// The accounts or datasets of an analyst; other roles have all.
fn what_is_seen(token: &TokenDocument, names: &[AccountName], are_accounts: bool) -> Markup {
    html! {
        @if token.role != Role::Analyst { "all" }
        @else if names.is_empty() { "none" }
        @else {
            @for (at, name) in names.iter().enumerate() {
                @if at > 0 { ", " }
                @if are_accounts { (account_link(name)) } @else { (name) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_ends_when_it_is_revoked_or_expires() {
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        for (expires, revoked, expected) in [
            ("2026-11-16T12:00:01Z", None, TokenStatus::Valid),
            ("2026-11-16T12:00:00Z", None, TokenStatus::Expired),
            ("2020-01-01T00:00:00Z", None, TokenStatus::Expired),
            ("2030-01-01T00:00:00Z", Some("2026-01-01T00:00:00Z"), TokenStatus::Revoked),
            ("2020-01-01T00:00:00Z", Some("2019-01-01T00:00:00Z"), TokenStatus::Revoked),
            ("never", None, TokenStatus::Expired),
        ] {
            let token = TokenDocument {
                id: "0123456789abcdef".to_string(),
                principal: "alice".to_string(),
                role: Role::Analyst,
                accounts: Vec::new(),
                datasets: Vec::new(),
                sees_above: false,
                created: "2019-01-01T00:00:00Z".to_string(),
                expires: expires.to_string(),
                revoked: revoked.map(str::to_string),
                issuer: None,
            };
            assert_eq!(standing(&token, now), expected, "{expires} {revoked:?}");
        }
    }
}
