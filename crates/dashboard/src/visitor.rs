//! The user of a page: known by a session cookie, or sent to sign in.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use taximeter_service::{Action, Caller, Code, Problem, Role, Service, Settings, Trace};

use super::cookies::{TicketCookie, cookie};
use super::form_data::not_ours;
use super::page::{ProblemPage, outside};
use super::sessions::{SessionId, Sessions, Ticket, UsedBy};
use crate::Dashboard;

/// A user who is signed in.
pub(crate) struct Visitor {
    pub(super) caller: Caller,
    dashboard: Dashboard,
    pub(super) ticket: Ticket,
    pub(super) theme: Theme,
    /// The notice of the form that was sent before.
    pub(super) notice: Option<String>,
    /// The key that every form must contain.
    pub(super) form_key: String,
}

impl Visitor {
    pub(super) fn sessions(&self) -> &Sessions {
        &self.dashboard.sessions
    }

    pub(super) fn service(&self) -> &Service {
        &self.dashboard.service
    }

    pub(super) fn session(&self) -> SessionId {
        self.ticket.id()
    }

    pub(super) fn is_owner(&self) -> bool {
        self.caller.token().role == Role::Owner
    }

    pub(super) fn may(&self, action: Action) -> bool {
        self.caller.may(action)
    }
}

/// The colour theme that the user chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Theme {
    /// That of the system.
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    const COOKIE: &'static str = "taximeter-theme";

    pub(super) fn of(headers: &HeaderMap) -> Theme {
        match cookie(headers, Theme::COOKIE).as_deref() {
            Some("light") => Theme::Light,
            Some("dark") => Theme::Dark,
            _ => Theme::System,
        }
    }

    /// Its name in the page; `None` for that of the system.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Theme::System => None,
            Theme::Light => Some("light"),
            Theme::Dark => Some("dark"),
        }
    }
}

/// Why a request has no session.
pub(crate) enum Rejected {
    /// The user has to sign in, and returns to this path.
    SignIn(String),
    /// The browser withheld the cookie because the link is on another site: the request is repeated from our own page.
    Reload(String),
    /// The request comes from a script, which cannot sign in.
    Script,
    /// The request failed.
    Failed(Box<Problem>),
}

impl Rejected {
    /// The reaction to a request without a session.
    fn without_session(parts: &Parts) -> Rejected {
        let back = || own_path(parts.uri.path_and_query().map(|path| path.as_str())).to_string();
        let is = |name: &str, value: &str| parts.headers.get(name).is_some_and(|found| found == value);
        match &parts.method {
            _ if used_by(parts) == UsedBy::Page => Rejected::Script,
            &Method::GET if is("sec-fetch-site", "cross-site") && is("sec-fetch-dest", "document") => {
                Rejected::Reload(back())
            }
            &Method::GET | &Method::HEAD => Rejected::SignIn(back()),
            _ => Rejected::Failed(Box::new(Problem::new(
                Code::Unauthorized,
                "you are no longer signed in, and nothing was done; sign in, and send the form again",
            ))),
        }
    }
}

impl IntoResponse for Rejected {
    fn into_response(self) -> Response {
        match self {
            Rejected::SignIn(back) => {
                let query = form_urlencoded::Serializer::new(String::new()).append_pair("to", &back).finish();
                Redirect::to(&format!("/sign-in?{query}")).into_response()
            }
            Rejected::Reload(back) => {
                let content = html! { p { a href=(back) { "Go on" } } };
                let page = outside(Theme::System, StatusCode::OK, "One moment", content);
                ([("refresh", format!("0;url={back}"))], page).into_response()
            }
            Rejected::Script => StatusCode::UNAUTHORIZED.into_response(),
            Rejected::Failed(problem) => ProblemPage(*problem).into_response(),
        }
    }
}

impl FromRequestParts<Dashboard> for Visitor {
    type Rejection = Rejected;

    async fn from_request_parts(parts: &mut Parts, dashboard: &Dashboard) -> Result<Visitor, Rejected> {
        let by = used_by(parts);
        let Dashboard { service, sessions, .. } = dashboard;
        let ticket = TicketCookie::Session.ticket(&parts.headers, &service.settings);
        let found = ticket.and_then(|ticket| {
            let token = sessions.token(&ticket.id(), &service.tokens, by, Instant::now())?;
            Some((token, ticket))
        });
        let Some((token, ticket)) = found else { return Err(Rejected::without_session(parts)) };
        let caller = Caller::admit(service, token, parts.extensions.get())
            .map_err(|problem| Rejected::Failed(Box::new(problem)))?;
        let (open, id) = (Arc::clone(sessions), ticket.id());
        Ok(Visitor {
            caller: caller.admitted_while(move || open.is_open(&id, Instant::now())),
            dashboard: dashboard.clone(),
            theme: Theme::of(&parts.headers),
            // A notice is for the person, and not for a page that reloads by itself.
            notice: if by == UsedBy::Page { None } else { sessions.take_notice(&ticket.id()) },
            form_key: sessions.form_key(&ticket),
            ticket,
        })
    }
}

/// The header that a page's script sends.
pub(super) const SCRIPT: &str = "taximeter-script";

/// Whether a person or the script of an open page sent a request. The script reloads, listens to events and previews forms, even when
/// the user is away.
fn used_by(parts: &Parts) -> UsedBy {
    let listens = parts.headers.get(header::ACCEPT).is_some_and(|kind| kind == "text/event-stream");
    if listens || parts.headers.contains_key(SCRIPT) { UsedBy::Page } else { UsedBy::Person }
}

/// A path to redirect to, if it is on this site.
pub(super) fn own_path(to: Option<&str>) -> &str {
    const LONGEST: usize = 2000;
    let is_own = |path: &&str| {
        path.starts_with('/')
            && !path.starts_with("//")
            && !path.starts_with("/\\")
            && !path.starts_with("/sign-")
            && path.len() <= LONGEST
            && path.bytes().all(|byte| byte.is_ascii_graphic())
    };
    to.filter(is_own).unwrap_or("/")
}

/// The client's address: the other end of the connection, or behind a proxy the last address that it names.
pub(super) fn origin_address(headers: &HeaderMap, trace: Option<&Trace>, settings: &Settings) -> IpAddr {
    let forwarded = headers.get_all("x-forwarded-for").iter().next_back().filter(|_| settings.is_behind_proxy);
    let forwarded = forwarded.and_then(|value| {
        let last = value.to_str().ok()?.rsplit(',').next()?.trim();
        // Some proxies add the port.
        last.parse().ok().or_else(|| Some(last.parse::<SocketAddr>().ok()?.ip()))
    });
    forwarded.or_else(|| trace?.peer()).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

/// Rejects a form that the browser says comes from another site. Newer browsers say so in `Sec-Fetch-Site`, which pages cannot forge
/// and proxies do not change; all browsers send the origin.
pub(super) fn require_own_page(headers: &HeaderMap) -> Result<(), Problem> {
    // An unreadable header is an unknown value.
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_own = match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => {
            let (from, host) = (origin.split_once("://").map(|(_, from)| from), text("host"));
            from.zip(host).is_some_and(|(from, host)| from.eq_ignore_ascii_case(host))
        }
        (None, None) => true,
    };
    match is_own {
        true => Ok(()),
        false => Err(not_ours(
            "this form was sent from another site, and nothing was done; open the page here and send it again. A proxy must pass on the \
             Host header",
        )),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn redirects_go_to_our_own_pages_only() {
        let long = format!("/{}", "a".repeat(2000));
        for (to, expected) in [
            (None, "/"),
            (Some("/accounts/census%2Falice?from=7"), "/accounts/census%2Falice?from=7"),
            (Some("https://elsewhere.example/"), "/"),
            (Some("elsewhere.example"), "/"),
            (Some("//elsewhere.example/"), "/"),
            (Some("/\\elsewhere.example/"), "/"),
            (Some("/\t/elsewhere.example"), "/"),
            (Some("/\r\nset-cookie: taximeter=1"), "/"),
            (Some("javascript:alert(1)"), "/"),
            (Some("/sign-in"), "/"),
            (Some("/sign-out"), "/"),
            (Some("/ä"), "/"),
            (Some(&long), "/"),
        ] {
            assert_eq!(own_path(to), expected, "{to:?}");
        }
    }

    #[test]
    fn a_form_from_another_site_is_rejected() {
        const HOST: (&str, &str) = ("host", "meter.example:7070");
        for (lines, is_own) in [
            (vec![HOST], true),
            (vec![HOST, ("origin", "http://meter.example:7070")], true),
            (vec![HOST, ("origin", "https://METER.example:7070")], true),
            (vec![HOST, ("origin", "http://meter.example")], false),
            (vec![HOST, ("origin", "http://meter.example:7071")], false),
            (vec![HOST, ("origin", "http://elsewhere.example:7070")], false),
            (vec![HOST, ("origin", "http://meter.example:7070.elsewhere.example")], false),
            (vec![HOST, ("origin", "null")], false),
            (vec![HOST, ("origin", "")], false),
            (vec![HOST, ("origin", "\u{e9}")], false),
            (vec![("origin", "http://meter.example:7070")], false),
            (vec![HOST, ("sec-fetch-site", "same-origin")], true),
            (vec![HOST, ("sec-fetch-site", "none")], true),
            (vec![HOST, ("sec-fetch-site", "same-site")], false),
            (vec![HOST, ("sec-fetch-site", "cross-site")], false),
            (vec![HOST, ("sec-fetch-site", "cross-site"), ("origin", "http://meter.example:7070")], false),
            // A proxy changed the Host.
            (vec![HOST, ("sec-fetch-site", "same-origin"), ("origin", "https://public.example")], true),
        ] {
            assert_eq!(require_own_page(&headers(&lines)).is_ok(), is_own, "{lines:?}");
        }
    }

    #[test]
    fn only_a_configured_proxy_names_the_client() {
        let peer: IpAddr = "10.0.0.1".parse().unwrap();
        let trace = Trace::new(Some(peer), || ());
        let forwarded = headers(&[("x-forwarded-for", "192.0.2.1, 192.0.2.2")]);
        let mut twice = forwarded.clone();
        twice.append("x-forwarded-for", "192.0.2.3".parse().unwrap());
        for (headers, behind, direct) in [
            (HeaderMap::new(), "10.0.0.1", "10.0.0.1"),
            (forwarded, "192.0.2.2", "10.0.0.1"),
            (twice, "192.0.2.3", "10.0.0.1"),
            (headers(&[("x-forwarded-for", "192.0.2.1:4711")]), "192.0.2.1", "10.0.0.1"),
            (headers(&[("x-forwarded-for", "[2001:db8::1]:4711")]), "2001:db8::1", "10.0.0.1"),
            (headers(&[("x-forwarded-for", "2001:db8::1")]), "2001:db8::1", "10.0.0.1"),
            (headers(&[("x-forwarded-for", "nonsense")]), "10.0.0.1", "10.0.0.1"),
            (headers(&[("x-forwarded-for", "192.0.2.1,")]), "10.0.0.1", "10.0.0.1"),
        ] {
            for (is_behind_proxy, expected) in [(true, behind), (false, direct)] {
                let settings = Settings { is_behind_proxy, ..Settings::default() };
                let found = origin_address(&headers, Some(&trace), &settings);
                assert_eq!(found, expected.parse::<IpAddr>().unwrap(), "{headers:?} {is_behind_proxy}");
            }
        }
    }
}
