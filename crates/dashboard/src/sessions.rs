//! Sessions of users who are signed in with a token, or with an issuer.
//!
//! A session is a random number in a cookie. The server keeps a hash of it in memory, with the token of the sign-in but not its secret;
//! nothing outlives the process. A session ends at sign-out, after an hour without use, twelve hours after it began, and with its token.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taximeter_service::{Problem, TokenDocument, Tokens, random, random_digits};

/// How long a session lasts without use.
const IDLE: Duration = Duration::from_secs(3600);

/// How long a session lasts at most.
const LONGEST: Duration = Duration::from_secs(12 * 3600);

/// The most sessions of one token; a new one ends the least recently used.
const OF_ONE: usize = 16;

/// The most sessions.
const MOST: usize = 4096;

/// How many single-use forms a session remembers.
const FORMS: usize = 256;

/// The id of a session on the server: a hash of its ticket.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SessionId(blake3::Hash);

/// The value of the cookie: 256 random bits as 64 digits. It has no `Debug`, so that it cannot end up in a message.
#[derive(Clone)]
pub(super) struct Ticket(String);

impl Ticket {
    /// A new ticket.
    pub(super) fn generate() -> Result<Ticket, Problem> {
        Ok(Ticket(random_digits::<32>()?))
    }

    /// Reads a ticket, if the text has the right form.
    pub(super) fn parse(text: &str) -> Option<Ticket> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 64 && text.bytes().all(is_digit)).then(|| Ticket(text.to_string()))
    }

    /// The id of its session. Ids are hashes, so comparing them reveals nothing about a ticket.
    pub(super) fn id(&self) -> SessionId {
        SessionId(blake3::hash(self.0.as_bytes()))
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What sent a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsedBy {
    /// A person, who opened a page or sent a form.
    Person,
    /// The script of an open page, which reloads by itself.
    Page,
}

/// All sessions.
pub(crate) struct Sessions {
    open: Mutex<HashMap<SessionId, Session>>,
    /// The key that forms are signed with.
    key: [u8; 32],
}

struct Session {
    token: Arc<TokenDocument>,
    began: Instant,
    used: Instant,
    /// The notice for the next page.
    notice: Option<String>,
    /// The hashed keys of single-use forms that were sent, the newest last.
    sent: VecDeque<blake3::Hash>,
}

impl Session {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) > LONGEST || now.saturating_duration_since(self.used) > IDLE
    }
}

impl Sessions {
    /// Starts without sessions.
    pub(crate) fn new() -> Result<Sessions, Problem> {
        Ok(Sessions { open: Mutex::default(), key: random()? })
    }

    /// Begins a session with a token, always with a new ticket.
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

    /// The token of a session, if neither has ended. Use by a person keeps the session open.
    pub(super) fn token(
        &self,
        id: &SessionId,
        tokens: &Tokens,
        by: UsedBy,
        now: Instant,
    ) -> Option<Arc<TokenDocument>> {
        let mut open = self.open();
        let session = open.get_mut(id)?;
        if session.is_over(now) || !tokens.is_valid(&session.token) {
            open.remove(id);
            return None;
        }
        if by == UsedBy::Person {
            session.used = now;
        }
        Some(Arc::clone(&session.token))
    }

    /// Whether a session has not ended. Does not count as use.
    pub(crate) fn is_open(&self, id: &SessionId, now: Instant) -> bool {
        self.open().get(id).is_some_and(|session| !session.is_over(now))
    }

    /// Ends a session.
    pub(super) fn end(&self, id: &SessionId) {
        self.open().remove(id);
    }

    /// Sets the notice for the next page.
    pub(super) fn leave_notice(&self, id: &SessionId, notice: String) {
        if let Some(session) = self.open().get_mut(id) {
            session.notice = Some(notice);
        }
    }

    /// Takes the notice for this page.
    pub(super) fn take_notice(&self, id: &SessionId) -> Option<String> {
        self.open().get_mut(id)?.notice.take()
    }

    /// Whether a single-use form is sent for the first time, by its key.
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

    /// The key that a form must contain: a keyed hash of the ticket, which only this server can compute.
    pub(super) fn form_key(&self, ticket: &Ticket) -> String {
        blake3::keyed_hash(&self.key, ticket.0.as_bytes()).to_hex().to_string()
    }

    /// A secret for one purpose that belongs to a text, such as what a cookie holds: only this server can compute it.
    pub(super) fn derive(&self, purpose: &str, text: &str) -> blake3::Hash {
        // A purpose has no line break, so no two pairs look alike.
        blake3::keyed_hash(&self.key, format!("{purpose}\n{text}").as_bytes())
    }

    /// Whether a form key belongs to the ticket. Compares in constant time.
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
    struct SessionFixture {
        sessions: Sessions,
        tokens: Tokens,
        now: Instant,
        _folder: tempfile::TempDir,
    }

    impl SessionFixture {
        fn new() -> SessionFixture {
            let folder = tempfile::tempdir().unwrap();
            let location = Location::File(folder.path().join("taximeter.db"));
            let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
            let tokens = Tokens::open(&TokenPlace::of(&location), ledger.id()).unwrap();
            SessionFixture { sessions: Sessions::new().unwrap(), tokens, now: Instant::now(), _folder: folder }
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
    fn a_session_ends_after_an_hour_without_use() {
        let mut fixture = SessionFixture::new();
        let id = fixture.begin(&fixture.token("olga"));
        for _ in 0..3 {
            fixture.now += HOUR;
            assert!(fixture.sessions.is_open(&id, fixture.now) && fixture.is_used(&id, UsedBy::Person));
        }
        fixture.now += HOUR + MINUTE;
        assert!(!fixture.sessions.is_open(&id, fixture.now));
        assert!(!fixture.is_used(&id, UsedBy::Person));
        // It stays ended even if the clock goes back.
        fixture.now -= 2 * HOUR;
        assert!(!fixture.is_used(&id, UsedBy::Person));
    }

    #[test]
    fn a_page_that_reloads_by_itself_does_not_keep_a_session_open() {
        let mut fixture = SessionFixture::new();
        let id = fixture.begin(&fixture.token("olga"));
        for _ in 0..6 {
            fixture.now += 10 * MINUTE;
            assert!(fixture.is_used(&id, UsedBy::Page));
        }
        fixture.now += MINUTE;
        assert!(!fixture.is_used(&id, UsedBy::Page));
    }

    #[test]
    fn a_session_ends_after_half_a_day_however_much_it_is_used() {
        let mut fixture = SessionFixture::new();
        let id = fixture.begin(&fixture.token("olga"));
        for _ in 0..12 * 60 {
            fixture.now += MINUTE;
            assert!(fixture.is_used(&id, UsedBy::Person));
        }
        fixture.now += MINUTE;
        assert!(!fixture.sessions.is_open(&id, fixture.now));
        assert!(!fixture.is_used(&id, UsedBy::Person));
    }

    #[test]
    fn a_session_ends_with_its_token_and_the_others_go_on() {
        let fixture = SessionFixture::new();
        let (olga, otto) = (fixture.token("olga"), fixture.token("otto"));
        let [one, other] = [&olga, &otto].map(|token| fixture.begin(token));
        fixture.tokens.revoke(&olga.id).unwrap();
        assert!(!fixture.is_used(&one, UsedBy::Person) && fixture.is_used(&other, UsedBy::Person));
        fixture.sessions.end(&other);
        assert!(!fixture.is_used(&other, UsedBy::Person));
    }

    #[test]
    fn the_least_recently_used_session_of_a_token_makes_room_for_another() {
        let mut fixture = SessionFixture::new();
        let (olga, otto) = (fixture.token("olga"), fixture.token("otto"));
        let first = fixture.begin(&otto);
        let mut ids: Vec<SessionId> = Vec::new();
        for _ in 0..OF_ONE {
            fixture.now += MINUTE;
            ids.push(fixture.begin(&olga));
        }
        fixture.now += MINUTE;
        assert!(fixture.is_used(&ids[0], UsedBy::Person));
        fixture.now += MINUTE;
        ids.push(fixture.begin(&olga));
        let open: Vec<bool> = ids.iter().map(|id| fixture.sessions.is_open(id, fixture.now)).collect();
        assert_eq!(open.iter().position(|open| !open), Some(1));
        assert_eq!(open.iter().filter(|open| !**open).count(), 1);
        assert!(fixture.sessions.is_open(&first, fixture.now));
    }

    #[test]
    fn a_form_key_belongs_to_one_ticket_and_one_server() {
        let (fixture, other) = (SessionFixture::new(), Sessions::new().unwrap());
        let [one, two] = [(); 2].map(|()| Ticket::generate().unwrap());
        let key = fixture.sessions.form_key(&one);
        assert!(fixture.sessions.is_form_key(&one, &key));
        for wrong in ["", "0", &key[1..], &format!("{key}0"), &fixture.sessions.form_key(&two), &other.form_key(&one)] {
            assert!(!fixture.sessions.is_form_key(&one, wrong), "{wrong}");
        }
        assert!(!fixture.sessions.is_form_key(&two, &key));
        assert_ne!(key, one.to_string());
    }

    #[test]
    fn a_single_use_form_is_first_once_in_a_session() {
        let fixture = SessionFixture::new();
        let [one, other] = [(); 2].map(|()| fixture.begin(&fixture.token("olga")));
        for id in [&one, &other] {
            assert!(fixture.sessions.is_first(id, "a") && fixture.sessions.is_first(id, "b"));
            assert!(!fixture.sessions.is_first(id, "a") && !fixture.sessions.is_first(id, "b"));
        }
        for at in 0..FORMS - 1 {
            assert!(fixture.sessions.is_first(&one, &at.to_string()));
        }
        assert!(!fixture.sessions.is_first(&one, "b"));
        fixture.sessions.end(&one);
        assert!(!fixture.sessions.is_first(&one, "c"));
    }

    #[test]
    fn a_notice_is_shown_once_and_in_its_session() {
        let fixture = SessionFixture::new();
        let [one, other] = [(); 2].map(|()| fixture.begin(&fixture.token("olga")));
        fixture.sessions.leave_notice(&one, "done".to_string());
        assert_eq!(fixture.sessions.take_notice(&other), None);
        assert_eq!(fixture.sessions.take_notice(&one).as_deref(), Some("done"));
        assert_eq!(fixture.sessions.take_notice(&one), None);
    }

    #[test]
    fn only_a_well_formed_ticket_is_read() {
        let ticket = Ticket::generate().unwrap().to_string();
        assert!(Ticket::parse(&ticket).is_some_and(|parsed| parsed.to_string() == ticket));
        for wrong in ["", &ticket[1..], &format!("{ticket}0"), &ticket.replace(|c: char| c.is_ascii_digit(), "g")] {
            assert!(Ticket::parse(wrong).is_none(), "{wrong}");
        }
        assert!(Ticket::parse(&"A".repeat(64)).is_none() && Ticket::parse(&"é".repeat(32)).is_none());
    }
}
