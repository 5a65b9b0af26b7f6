//! A sign-in with an issuer that is under way: what the browser keeps of it while it is away.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use taximeter_service::{Problem, SignInRequest};

use crate::sessions::{Sessions, Ticket};
use crate::visitor::own_path;

/// How long a sign-in may take.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// The longest path to return to that a cookie keeps.
const LONGEST_PATH: usize = 1000;

/// A sign-in that is under way. Its cookie holds all of it, and the server nothing: state, nonce and verifier are computed from the
/// cookie with a key of this server, so that none of them fits another browser, another sign-in, or a changed cookie.
pub(super) struct PendingSignIn {
    ticket: Ticket,
    began: Timestamp,
    to: String,
}

impl PendingSignIn {
    /// Begins a sign-in that leads to a path of ours.
    pub(super) fn begin(to: &str, now: Timestamp) -> Result<PendingSignIn, Problem> {
        let to = Some(to).filter(|to| to.len() <= LONGEST_PATH).unwrap_or("/");
        Ok(PendingSignIn { ticket: Ticket::generate()?, began: now, to: to.to_string() })
    }

    /// Reads the value of a cookie; `None` if it is not one, or is too old.
    pub(super) fn parse(text: &str, now: Timestamp) -> Option<PendingSignIn> {
        let mut parts = text.splitn(3, '.');
        let (ticket, began, to) = (parts.next()?, parts.next()?, parts.next()?);
        let began = Timestamp::from_second(began.parse().ok()?).ok()?;
        let query = format!("to={to}");
        let (_, to) = form_urlencoded::parse(query.as_bytes()).next()?;
        let is_recent = (SignedDuration::ZERO..=LONGEST).contains(&now.duration_since(began));
        is_recent.then_some(PendingSignIn { ticket: Ticket::parse(ticket)?, began, to: to.to_string() })
    }

    /// What the sign-in is recognised by.
    pub(super) fn request(&self, sessions: &Sessions) -> SignInRequest {
        let (value, derive) =
            (self.to_string(), |purpose, value: &str| sessions.derive(purpose, value).to_hex().to_string());
        SignInRequest {
            state: derive("issuer state", &value),
            nonce: derive("issuer nonce", &value),
            verifier: derive("issuer verifier", &value),
        }
    }

    /// Whether a state belongs to this sign-in. Compares in constant time.
    pub(super) fn is_state(&self, sessions: &Sessions, given: &str) -> bool {
        let expected = sessions.derive("issuer state", &self.to_string());
        blake3::Hash::from_hex(given).is_ok_and(|given| given == expected)
    }

    /// The path to return to, which is one of ours.
    pub(super) fn to(&self) -> &str {
        own_path(Some(&self.to))
    }
}

impl fmt::Display for PendingSignIn {
    /// The value of the cookie.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.", self.ticket, self.began.as_second())?;
        form_urlencoded::byte_serialize(self.to.as_bytes()).try_for_each(|part| f.write_str(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_is_recognised_by_its_own_cookie_and_server_for_ten_minutes() {
        let (sessions, others) = (Sessions::new().unwrap(), Sessions::new().unwrap());
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let [one, other] = [(); 2].map(|()| PendingSignIn::begin("/accounts/census%2Falice?a=b.c", now).unwrap());
        let request = one.request(&sessions);
        let read = |text: &str, after: i64| PendingSignIn::parse(text, now + SignedDuration::from_secs(after));
        let again = read(&one.to_string(), 600).unwrap();
        assert_eq!(again.to(), "/accounts/census%2Falice?a=b.c");
        assert!(again.is_state(&sessions, &request.state));
        let same = again.request(&sessions);
        assert_eq!((same.nonce, same.verifier), (request.nonce.clone(), request.verifier.clone()));
        assert!(request.state != request.nonce && request.nonce != request.verifier);
        // A verifier has 43 to 128 characters (RFC 7636).
        assert_eq!(request.verifier.len(), 64);
        for wrong in
            [&request.nonce, &request.verifier, "", &other.request(&sessions).state, &one.request(&others).state]
        {
            assert!(!one.is_state(&sessions, wrong), "{wrong}");
        }
        let changed = one.to_string().replace("alice", "bob");
        assert!(!read(&changed, 0).unwrap().is_state(&sessions, &request.state));
        assert!(read(&one.to_string(), 601).is_none() && read(&one.to_string(), -1).is_none());
        for text in ["", ".", "..", "a.b.c", &one.to_string()[1..], &one.to_string().replace(".1", ".x")] {
            assert!(read(text, 0).is_none(), "{text}");
        }
    }

    #[test]
    fn a_sign_in_leads_to_our_own_pages_and_its_cookie_is_short() {
        let now = Timestamp::UNIX_EPOCH;
        let long = format!("/{}", "%".repeat(LONGEST_PATH));
        for (to, expected) in [("/datasets", "/datasets"), ("//elsewhere.example", "/"), (long.as_str(), "/")] {
            let pending = PendingSignIn::begin(to, now).unwrap();
            let value = pending.to_string();
            assert!(
                value.len() < 3200 && value.bytes().all(|byte| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte))
            );
            assert_eq!(PendingSignIn::parse(&value, now).unwrap().to(), expected, "{to}");
        }
    }
}
