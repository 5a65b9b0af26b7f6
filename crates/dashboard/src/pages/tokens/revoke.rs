//! Revoking a token: a page with its details and the consequences, then the revocation.

use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use taximeter_service::{Code, Problem, Role, TokenDocument};

use super::{TokenStatus, standing, what_is_seen};
use crate::cookies::TicketCookie;
use crate::display::time;
use crate::extract::PathText;
use crate::form_data::FormData;
use crate::page::Section;
use crate::visitor::Visitor;

/// The path of the page that asks for confirmation.
pub(super) fn path(id: &str) -> String {
    format!("/tokens/{id}/revoke")
}

const TITLE: &str = "Revoke a token";

pub(super) async fn ask(visitor: Visitor, PathText(id): PathText) -> Response {
    visitor.page(Section::Tokens, TITLE, content(&visitor, &id).await)
}

async fn content(visitor: &Visitor, id: &str) -> Result<Markup, Problem> {
    let all = visitor.caller.list_tokens().await?.tokens;
    // An unknown id is not repeated: it may be a token's secret.
    let token = all
        .iter()
        .find(|token| token.id == id)
        .ok_or_else(|| Problem::new(Code::NotFound, "token not found; the page Tokens lists all tokens"))?;
    let now = visitor.service().tokens.now();
    let is_last_owner = token.role == Role::Owner
        && !all.iter().any(|other| {
            other.id != token.id && other.role == Role::Owner && standing(other, now) == TokenStatus::Valid
        });
    Ok(html! {
        section.panel aria-labelledby="token" {
            h2 #token { "The token of " (token.principal) }
            (facts(token, now))
            @match standing(token, now) {
                TokenStatus::Valid => (form(visitor, token, is_last_owner)),
                _ => p { "It has ended already. " a href="/tokens" { "Back to the tokens" } },
            }
        }
    })
}

/// The details of a token.
pub(super) fn facts(token: &TokenDocument, now: Timestamp) -> Markup {
    html! {
        dl.facts {
            dt { "Holder" } dd { (token.principal) }
            dt { "Id" } dd { code { (token.id) } " (not secret)" }
            dt { "Role" } dd { (token.role.name()) }
            dt { "Accounts" } dd { (what_is_seen(token, &token.accounts, true)) }
            dt { "Datasets" } dd { (what_is_seen(token, &token.datasets, false)) }
            @if token.role == Role::Analyst {
                dt { "Sees accounts above" } dd { (if token.sees_above { "yes" } else { "no" }) }
            }
            dt { "Made" } dd { (time(&token.created)) }
            @match &token.revoked {
                Some(revoked) => { dt { "Revoked" } dd { (time(revoked)) } }
                None => { dt { "Ends" } dd { (time(&token.expires)) } }
            }
            dt { "Standing" } dd { (standing(token, now).shown()) }
        }
    }
}

fn form(visitor: &Visitor, token: &TokenDocument, is_last_owner: bool) -> Markup {
    html! {
        p {
            "The token ends at once and for good: requests with it are refused, and users signed in with it are signed out. Its charges \
             and answers stay. A new token for " (token.principal) " has access to the same stored answers."
        }
        @if token.id == visitor.caller.token().id {
            div.caution { p { strong { "This is the token that you are signed in with." } " You will have to sign in with another one." } }
        }
        @if is_last_owner {
            div.caution {
                p {
                    strong { "This is the last token of an owner." } " Without it, tokens can only be made on the server's machine, with "
                    code { "taximeter token create" } "."
                }
            }
        }
        form method="post" action=(path(&token.id)) {
            (visitor.form_key())
            div.actions { button.danger { "Revoke" } a.button.quiet href="/tokens" { "Keep it" } }
        }
    }
}

pub(super) async fn revoke(visitor: Visitor, PathText(id): PathText, _: FormData) -> Response {
    let token = match visitor.caller.revoke_token(id).await {
        Ok(token) => token,
        Err(failure) => return visitor.page(Section::Tokens, TITLE, Err(failure)),
    };
    if token.id == visitor.caller.token().id {
        visitor.sessions().end(&visitor.session());
        let cookie = [(header::SET_COOKIE, TicketCookie::Session.clear(&visitor.service().settings))];
        return (cookie, Redirect::to("/sign-in")).into_response();
    }
    let notice =
        format!("The token {} of {} is revoked, and anyone using it is signed out.", token.id, token.principal);
    visitor.done(notice, "/tokens")
}
