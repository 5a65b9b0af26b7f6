//! The cookies by which a browser is known: one of a session, and one of the form to sign in.
//!
//! The sign-in cookie opens nothing: it ties the form to the browser that asked for it. It is not the cookie of the session: a browser
//! that follows a link from another site keeps that back, and must not lose it to a new one.

use axum::http::{HeaderMap, HeaderValue, header};
use cookie::{CookieBuilder, SameSite, time};
use taximeter_service::Settings;

use super::sessions::Ticket;

/// A cookie that holds a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cookie {
    /// Of a person who is signed in.
    Session,
    /// Of a browser that shows the form to sign in.
    SignIn,
}

impl Cookie {
    /// Its name. Where everything is encrypted, the prefix tells browsers to take it from this very host alone.
    fn name(self, settings: &Settings) -> &'static str {
        match (self, settings.is_encrypted) {
            (Cookie::Session, false) => "taximeter",
            (Cookie::Session, true) => "__Host-taximeter",
            (Cookie::SignIn, false) => "taximeter-sign-in",
            (Cookie::SignIn, true) => "__Host-taximeter-sign-in",
        }
    }

    /// The ticket that a browser sent in it.
    pub(super) fn ticket(self, headers: &HeaderMap, settings: &Settings) -> Option<Ticket> {
        cookie(headers, self.name(settings)).and_then(|value| Ticket::parse(&value))
    }

    /// The header that gives it to a browser.
    pub(super) fn set(self, settings: &Settings, ticket: &Ticket) -> HeaderValue {
        self.header(settings, ticket.to_string(), |cookie| cookie)
    }

    /// The header that takes it from a browser.
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
        let cookie = finish(cookie.same_site(SameSite::Strict).secure(settings.is_encrypted));
        // Letters, digits and signs that a header may have.
        HeaderValue::try_from(cookie.build().to_string()).unwrap_or(HeaderValue::from_static(""))
    }
}

/// A cookie by its name, if it is there once: of two, it is unknown which is ours.
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
            assert_eq!(cookie(&headers, "taximeter").as_deref(), expected, "{lines:?}");
        }
    }

    #[test]
    fn cookies_are_for_this_host_and_its_own_pages_and_encrypted_where_everything_is() {
        let ticket = Ticket::generate().unwrap();
        for (is_encrypted, prefix, suffix) in [(false, "", ""), (true, "__Host-", "; Secure")] {
            let settings = Settings { is_encrypted, ..Settings::default() };
            for (cookie, name) in [(Cookie::Session, "taximeter"), (Cookie::SignIn, "taximeter-sign-in")] {
                let expected = format!("{prefix}{name}={ticket}; HttpOnly; SameSite=Strict{suffix}; Path=/");
                assert_eq!(cookie.set(&settings, &ticket), expected);
                let expected = format!("{prefix}{name}=; HttpOnly; SameSite=Strict{suffix}; Path=/; Max-Age=0");
                assert_eq!(cookie.clear(&settings), expected);
            }
        }
    }
}
