//! The cookies by which a browser is known: one of a session, and one of the door.
//!
//! The cookie of the door opens nothing: it ties the form to sign in to the browser that asked for it. It is not that of the session,
//! since a browser that comes from a link on another site keeps the latter back, and must not lose it to a new one.

use axum::http::{HeaderMap, HeaderValue, header};

use super::sessions::Ticket;
use crate::state::Settings;

/// A cookie that holds a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cookie {
    /// Of somebody who is signed in.
    Session,
    /// Of whoever stands at the door.
    Door,
}

impl Cookie {
    /// Its name. Where everything is encrypted, the name tells browsers to take it from this very host alone.
    fn name(self, settings: &Settings) -> &'static str {
        match (self, settings.is_encrypted) {
            (Cookie::Session, false) => "taximeter",
            (Cookie::Session, true) => "__Host-taximeter",
            (Cookie::Door, false) => "taximeter-door",
            (Cookie::Door, true) => "__Host-taximeter-door",
        }
    }

    /// The ticket that a browser sent in it.
    pub(super) fn ticket(self, headers: &HeaderMap, settings: &Settings) -> Option<Ticket> {
        cookie(headers, self.name(settings)).and_then(Ticket::parse)
    }

    /// The header that gives it to a browser.
    pub(super) fn set(self, settings: &Settings, ticket: &Ticket) -> HeaderValue {
        self.header(settings, &ticket.to_string(), "")
    }

    /// The header that takes it from a browser.
    pub(super) fn clear(self, settings: &Settings) -> HeaderValue {
        self.header(settings, "", "; Max-Age=0")
    }

    fn header(self, settings: &Settings, value: &str, more: &str) -> HeaderValue {
        let (name, secure) = (self.name(settings), if settings.is_encrypted { "; Secure" } else { "" });
        // Letters, digits and signs that a header may have.
        HeaderValue::try_from(format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}"))
            .unwrap_or(HeaderValue::from_static(""))
    }
}

/// A cookie by its name, if it is there once: which of two is ours nobody can tell.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(other, _)| *other == name).map(|(_, value)| value);
    match (found.next(), found.next()) {
        (Some(value), None) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_if_it_is_there_once() {
        for (lines, expected) in [
            (vec!["taximeter=1"], Some("1")),
            (vec!["a=2; taximeter=1;b=3"], Some("1")),
            (vec!["a=2", "taximeter=1"], Some("1")),
            (vec!["taximeter=a=b"], Some("a=b")),
            (vec!["taximeter="], Some("")),
            (vec!["taximeter"], None),
            (vec!["taximeters=1; xtaximeter=2; Taximeter=3"], None),
            (vec!["taximeter=1; taximeter=1"], None),
            (vec!["taximeter=1", "taximeter=2"], None),
            (vec![], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in &lines {
                headers.append(header::COOKIE, HeaderValue::from_static(line));
            }
            assert_eq!(cookie(&headers, "taximeter"), expected, "{lines:?}");
        }
    }

    #[test]
    fn cookies_are_for_this_host_and_its_own_pages_and_encrypted_where_everything_is() {
        let ticket = Ticket::generate().unwrap();
        for (is_encrypted, prefix, suffix) in [(false, "", ""), (true, "__Host-", "; Secure")] {
            let settings = Settings { is_encrypted, ..Settings::default() };
            for (cookie, name) in [(Cookie::Session, "taximeter"), (Cookie::Door, "taximeter-door")] {
                let expected = format!("{prefix}{name}={ticket}; Path=/; HttpOnly; SameSite=Strict{suffix}");
                assert_eq!(cookie.set(&settings, &ticket), expected);
                let expected = format!("{prefix}{name}=; Path=/; HttpOnly; SameSite=Strict{suffix}; Max-Age=0");
                assert_eq!(cookie.clear(&settings), expected);
            }
        }
    }
}
