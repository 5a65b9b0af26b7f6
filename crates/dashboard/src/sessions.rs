//! Sessions: somebody signed in with a token, and looks at pages.
//!
//! A session is a random number in a cookie. The server keeps a hash of it, in memory, with the token that was shown at sign-in: not
//! its secret, and nothing outlives the process. A session ends when somebody signs out, when nobody has used it for an hour, half a
//! day after it began, and with its token.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taximeter_service::{Problem, TokenDocument, Tokens, random, random_digits};

/// How long a session lasts that nobody uses.
const IDLE: Duration = Duration::from_secs(3600);

/// How long a session lasts.
const LONGEST: Duration = Duration::from_secs(12 * 3600);

/// The most sessions of one token; a new one ends the one that was not used for longest.
const OF_ONE: usize = 16;

/// The most sessions.
const MOST: usize = 4096;

/// How many forms that may be sent once a session remembers.
const FORMS: usize = 256;

/// What names a session on this side: a hash of what is in the cookie.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SessionId(blake3::Hash);

/// What is in the cookie: 256 random bits as 64 digits. It has no `Debug`, so that it cannot slip into a message.
#[derive(Clone)]
pub(super) struct Ticket(String);

impl Ticket {
    /// A new one.
    pub(super) fn generate() -> Result<Ticket, Problem> {
        Ok(Ticket(random_digits::<32>()?))
    }

    /// What a browser sent, if it looks like one.
    pub(super) fn parse(text: &str) -> Option<Ticket> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 64 && text.bytes().all(is_digit)).then(|| Ticket(text.to_string()))
    }

    /// What names the session on this side. The hash of a guess tells nothing about how near it is.
    pub(super) fn id(&self) -> SessionId {
        SessionId(blake3::hash(self.0.as_bytes()))
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who looks at a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsedBy {
    /// Somebody, who opened it or sent a form.
    Person,
    /// A page that is open somewhere looks again by itself, and nobody may be there.
    Page,
}

/// All sessions.
pub(crate) struct Sessions {
    open: Mutex<HashMap<SessionId, Session>>,
    /// What forms are signed with.
    key: [u8; 32],
}

struct Session {
    token: Arc<TokenDocument>,
    began: Instant,
    used: Instant,
    /// What the next page says first.
    notice: Option<String>,
    /// The keys of forms that were sent, hashed, the newest last.
    sent: VecDeque<blake3::Hash>,
}

impl Session {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) > LONGEST || now.saturating_duration_since(self.used) > IDLE
    }
}

impl Sessions {
    /// None yet.
    pub(crate) fn new() -> Result<Sessions, Problem> {
        Ok(Sessions { open: Mutex::default(), key: random()? })
    }

    /// Begins a session with a token. The ticket is always a new one.
    pub(super) fn begin(&self, token: Arc<TokenDocument>, now: Instant) -> Result<Ticket, Problem> {
        let ticket = Ticket::generate()?;
        let mut open = self.open();
        open.retain(|_, session| !session.is_over(now));
        let of_one = open.values().filter(|session| session.token.id == token.id).count();
        let is_own = |session: &Session| of_one < OF_ONE || session.token.id == token.id;
        if of_one >= OF_ONE || open.len() >= MOST {
            let oldest = open.iter().filter(|(_, session)| is_own(session)).min_by_key(|(_, session)| session.used);
            if let Some(id) = oldest.map(|(id, _)| *id) {
                open.remove(&id);
            }
        }
        let session = Session { token, began: now, used: now, notice: None, sent: VecDeque::new() };
        open.insert(ticket.id(), session);
        Ok(ticket)
    }

    /// The token of a session that has not ended, nor has its token. `by` says whether that keeps the session open.
    pub(super) fn token(
        &self,
        id: &SessionId,
        tokens: &Tokens,
        by: UsedBy,
        now: Instant,
    ) -> Option<Arc<TokenDocument>> {
        let mut open = self.open();
        let session = open.get_mut(id)?;
        if session.is_over(now) || !tokens.is_valid(&session.token.id) {
            open.remove(id);
            return None;
        }
        if by == UsedBy::Person {
            session.used = now;
        }
        Some(Arc::clone(&session.token))
    }

    /// Whether a session has not ended. Looking does not keep it open.
    pub(crate) fn is_open(&self, id: &SessionId, now: Instant) -> bool {
        self.open().get(id).is_some_and(|session| !session.is_over(now))
    }

    /// Ends a session.
    pub(super) fn end(&self, id: &SessionId) {
        self.open().remove(id);
    }

    /// Leaves something for the next page to say.
    pub(super) fn leave_notice(&self, id: &SessionId, notice: String) {
        if let Some(session) = self.open().get_mut(id) {
            session.notice = Some(notice);
        }
    }

    /// What was left for this page to say.
    pub(super) fn take_notice(&self, id: &SessionId) -> Option<String> {
        self.open().get_mut(id)?.notice.take()
    }

    /// Whether a form that may be sent once is sent for the first time, by the key that it was made with.
    pub(super) fn is_first(&self, id: &SessionId, key: &str) -> bool {
        let (mut open, key) = (self.open(), blake3::hash(key.as_bytes()));
        let Some(Session { sent, .. }) = open.get_mut(id) else { return false };
        if sent.contains(&key) {
            return false;
        }
        if sent.len() == FORMS {
            sent.pop_front();
        }
        sent.push_back(key);
        true
    }

    /// What a form must have in it to be one of ours: it follows from the ticket, and only this server can say how.
    pub(super) fn form_key(&self, ticket: &Ticket) -> String {
        blake3::keyed_hash(&self.key, ticket.0.as_bytes()).to_hex().to_string()
    }

    /// Whether a form is one of ours. Takes the same time wherever the first difference is.
    pub(super) fn is_form_key(&self, ticket: &Ticket, given: &str) -> bool {
        let expected = blake3::keyed_hash(&self.key, ticket.0.as_bytes());
        blake3::Hash::from_hex(given).is_ok_and(|given| given == expected)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use taximeter_ledger::{Ledger, Location, Options};
    use taximeter_service::{NewToken, Role};

    use super::*;
    use taximeter_service::TokenPlace;

    const MINUTE: Duration = Duration::from_secs(60);
    const HOUR: Duration = Duration::from_secs(3600);

    /// Sessions, tokens, and the time.
    struct Desk {
        sessions: Sessions,
        tokens: Tokens,
        now: Instant,
        _folder: tempfile::TempDir,
    }

    impl Desk {
        fn new() -> Desk {
            let folder = tempfile::tempdir().unwrap();
            let location = Location::File(folder.path().join("taximeter.db"));
            let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
            let tokens = Tokens::open(&TokenPlace::of(&location), ledger.id()).unwrap();
            Desk { sessions: Sessions::new().unwrap(), tokens, now: Instant::now(), _folder: folder }
        }

        fn token(&self, principal: &str) -> Arc<TokenDocument> {
            let new = NewToken {
                principal: principal.to_string(),
                role: Role::Owner,
                accounts: Vec::new(),
                datasets: Vec::new(),
                sees_above: false,
                expires: None,
            };
            self.tokens.find(&self.tokens.create(&new).unwrap().secret).unwrap()
        }

        fn begin(&self, token: &Arc<TokenDocument>) -> SessionId {
            self.sessions.begin(Arc::clone(token), self.now).unwrap().id()
        }

        fn is_used(&self, id: &SessionId, by: UsedBy) -> bool {
            self.sessions.token(id, &self.tokens, by, self.now).is_some()
        }
    }

    #[test]
    fn a_session_ends_when_nobody_uses_it_for_an_hour() {
        let mut desk = Desk::new();
        let id = desk.begin(&desk.token("olga"));
        for _ in 0..3 {
            desk.now += HOUR;
            assert!(desk.sessions.is_open(&id, desk.now) && desk.is_used(&id, UsedBy::Person));
        }
        desk.now += HOUR + MINUTE;
        assert!(!desk.sessions.is_open(&id, desk.now));
        assert!(!desk.is_used(&id, UsedBy::Person));
        // And stays so, even if the clock were to go back.
        desk.now -= 2 * HOUR;
        assert!(!desk.is_used(&id, UsedBy::Person));
    }

    #[test]
    fn a_page_that_looks_again_by_itself_does_not_keep_a_session_open() {
        let mut desk = Desk::new();
        let id = desk.begin(&desk.token("olga"));
        for _ in 0..6 {
            desk.now += 10 * MINUTE;
            assert!(desk.is_used(&id, UsedBy::Page));
        }
        desk.now += MINUTE;
        assert!(!desk.is_used(&id, UsedBy::Page));
    }

    #[test]
    fn a_session_ends_after_half_a_day_however_much_it_is_used() {
        let mut desk = Desk::new();
        let id = desk.begin(&desk.token("olga"));
        for _ in 0..12 * 60 {
            desk.now += MINUTE;
            assert!(desk.is_used(&id, UsedBy::Person));
        }
        desk.now += MINUTE;
        assert!(!desk.sessions.is_open(&id, desk.now));
        assert!(!desk.is_used(&id, UsedBy::Person));
    }

    #[test]
    fn a_session_ends_with_its_token_and_the_others_go_on() {
        let desk = Desk::new();
        let (olga, otto) = (desk.token("olga"), desk.token("otto"));
        let [one, other] = [&olga, &otto].map(|token| desk.begin(token));
        desk.tokens.revoke(&olga.id).unwrap();
        assert!(!desk.is_used(&one, UsedBy::Person) && desk.is_used(&other, UsedBy::Person));
        desk.sessions.end(&other);
        assert!(!desk.is_used(&other, UsedBy::Person));
    }

    #[test]
    fn the_session_that_was_not_used_for_longest_makes_room_for_one_more_of_the_same_token() {
        let mut desk = Desk::new();
        let (olga, otto) = (desk.token("olga"), desk.token("otto"));
        let first = desk.begin(&otto);
        let mut ids: Vec<SessionId> = Vec::new();
        for _ in 0..OF_ONE {
            desk.now += MINUTE;
            ids.push(desk.begin(&olga));
        }
        desk.now += MINUTE;
        assert!(desk.is_used(&ids[0], UsedBy::Person));
        desk.now += MINUTE;
        ids.push(desk.begin(&olga));
        let open: Vec<bool> = ids.iter().map(|id| desk.sessions.is_open(id, desk.now)).collect();
        assert_eq!(open.iter().position(|open| !open), Some(1));
        assert_eq!(open.iter().filter(|open| !**open).count(), 1);
        assert!(desk.sessions.is_open(&first, desk.now));
    }

    #[test]
    fn a_form_key_is_that_of_one_ticket_and_one_server() {
        let (desk, other) = (Desk::new(), Sessions::new().unwrap());
        let [one, two] = [(); 2].map(|()| Ticket::generate().unwrap());
        let key = desk.sessions.form_key(&one);
        assert!(desk.sessions.is_form_key(&one, &key));
        for wrong in ["", "0", &key[1..], &format!("{key}0"), &desk.sessions.form_key(&two), &other.form_key(&one)] {
            assert!(!desk.sessions.is_form_key(&one, wrong), "{wrong}");
        }
        assert!(!desk.sessions.is_form_key(&two, &key));
        assert_ne!(key, one.to_string());
    }

    #[test]
    fn a_form_that_may_be_sent_once_is_first_once_in_a_session() {
        let desk = Desk::new();
        let [one, other] = [(); 2].map(|()| desk.begin(&desk.token("olga")));
        for id in [&one, &other] {
            assert!(desk.sessions.is_first(id, "a") && desk.sessions.is_first(id, "b"));
            assert!(!desk.sessions.is_first(id, "a") && !desk.sessions.is_first(id, "b"));
        }
        for at in 0..FORMS - 1 {
            assert!(desk.sessions.is_first(&one, &at.to_string()));
        }
        assert!(!desk.sessions.is_first(&one, "b"));
        desk.sessions.end(&one);
        assert!(!desk.sessions.is_first(&one, "c"));
    }

    #[test]
    fn what_is_left_for_the_next_page_is_said_once_and_in_that_session() {
        let desk = Desk::new();
        let [one, other] = [(); 2].map(|()| desk.begin(&desk.token("olga")));
        desk.sessions.leave_notice(&one, "done".to_string());
        assert_eq!(desk.sessions.take_notice(&other), None);
        assert_eq!(desk.sessions.take_notice(&one).as_deref(), Some("done"));
        assert_eq!(desk.sessions.take_notice(&one), None);
    }

    #[test]
    fn a_ticket_is_what_a_cookie_may_hold_and_nothing_else() {
        let ticket = Ticket::generate().unwrap().to_string();
        assert!(Ticket::parse(&ticket).is_some_and(|parsed| parsed.to_string() == ticket));
        for wrong in ["", &ticket[1..], &format!("{ticket}0"), &ticket.replace(|c: char| c.is_ascii_digit(), "g")] {
            assert!(Ticket::parse(wrong).is_none(), "{wrong}");
        }
        assert!(Ticket::parse(&"A".repeat(64)).is_none() && Ticket::parse(&"é".repeat(32)).is_none());
    }
}
