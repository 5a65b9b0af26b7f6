//! The cookies: one for the session, one for the sign-in form, and one for a sign-in with an issuer.
//!
//! The sign-in cookie grants nothing: it binds the form to the browser that loaded it. It is separate from the session cookie, which a
//! browser withholds when it follows a link from another site and must not be overwritten then. The issuer sends a browser back by such a
//! link, so a browser sends that cookie along with it.

use std::fmt::Display;

use axum::http::{HeaderMap, HeaderValue, header};
use cookie::{CookieBuilder, SameSite, time};
use taximeter_service::Settings;

use super::sessions::Ticket;

/// A cookie that holds a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TicketCookie {
    /// For a user who is signed in.
    Session,
    /// For a browser that shows the sign-in form.
    SignIn,
    /// For a browser that was sent to the issuer. It holds more than a ticket.
    Issuer,
}

impl TicketCookie {
    /// Its name. With TLS, the prefix tells browsers to accept it from this host only.
    fn name(self, settings: &Settings) -> &'static str {
        match (self, settings.is_encrypted) {
            (TicketCookie::Session, false) => "taximeter",
            (TicketCookie::Session, true) => "__Host-taximeter",
            (TicketCookie::SignIn, false) => "taximeter-sign-in",
            (TicketCookie::SignIn, true) => "__Host-taximeter-sign-in",
            (TicketCookie::Issuer, false) => "taximeter-issuer",
            (TicketCookie::Issuer, true) => "__Host-taximeter-issuer",
        }
    }

    /// The ticket that a browser sent in it.
    pub(super) fn ticket(self, headers: &HeaderMap, settings: &Settings) -> Option<Ticket> {
        self.value(headers, settings).and_then(|value| Ticket::parse(&value))
    }

    /// What a browser sent in it.
    pub(super) fn value(self, headers: &HeaderMap, settings: &Settings) -> Option<String> {
        cookie(headers, self.name(settings))
    }

    /// The header that sets it.
    pub(super) fn set(self, settings: &Settings, value: impl Display) -> HeaderValue {
        self.header(settings, value.to_string(), |cookie| cookie)
    }

    /// The header that removes it.
    pub(super) fn clear(self, settings: &Settings) -> HeaderValue {
        self.header(settings, String::new(), |cookie| cookie.max_age(time::Duration::ZERO))
    }

    fn header(
        self,
        settings: &Settings,
        value: String,
        finish: impl FnOnce(CookieBuilder<'static>) -> CookieBuilder<'static>,
    ) -> HeaderValue {
        let cookie = cookie::Cookie::build((self.name(settings), value)).path("/").http_only(true);
        let same_site = if self == TicketCookie::Issuer { SameSite::Lax } else { SameSite::Strict };
        let cookie = finish(cookie.same_site(same_site).secure(settings.is_encrypted));
        // All characters are valid in a header.
        HeaderValue::try_from(cookie.build().to_string()).unwrap_or(HeaderValue::from_static(""))
    }
}

/// A cookie by its name, if it is sent exactly once: of two, one may not be ours.
pub(super) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let cookies = lines.flat_map(cookie::Cookie::split_parse).filter_map(Result::ok);
    let mut found = cookies.filter(|cookie| cookie.name() == name);
    match (found.next(), found.next()) {
        (Some(cookie), None) => Some(cookie.value().to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_if_it_is_sent_once() {
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
            assert_eq!(cookie(&headers, "taximeter").as_deref(), expected, "{lines:?}");
        }
    }

    #[test]
    fn cookies_are_for_this_host_and_its_own_pages_and_encrypted_where_everything_is() {
        let ticket = Ticket::generate().unwrap();
        for (is_encrypted, prefix, suffix) in [(false, "", ""), (true, "__Host-", "; Secure")] {
            let settings = Settings { is_encrypted, ..Settings::default() };
            for (cookie, name, site) in [
                (TicketCookie::Session, "taximeter", "Strict"),
                (TicketCookie::SignIn, "taximeter-sign-in", "Strict"),
                (TicketCookie::Issuer, "taximeter-issuer", "Lax"),
            ] {
                let expected = format!("{prefix}{name}={ticket}; HttpOnly; SameSite={site}{suffix}; Path=/");
                assert_eq!(cookie.set(&settings, &ticket), expected);
                let expected = format!("{prefix}{name}=; HttpOnly; SameSite={site}{suffix}; Path=/; Max-Age=0");
                assert_eq!(cookie.clear(&settings), expected);
            }
        }
    }
}
