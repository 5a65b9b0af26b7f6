//! A small OpenID Connect issuer on loopback: discovery, keys, a page to sign in that asks nothing, and codes that are redeemed once.

mod keys;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

pub use self::keys::TestKey;
use crate::responder::{CannedReply, ReceivedRequest, Responder};
use crate::waiting::PATIENCE;

/// How an issuer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuerBehaviour {
    /// As it should.
    Fine,
    /// It cuts every connection.
    Away,
    /// It answers nothing until it behaves otherwise.
    Silent,
    /// It answers with an error.
    Failing,
    /// It calls itself something else.
    Renamed,
}

/// The issuer. It lives as long as the process.
pub struct TestIssuer {
    responder: Responder,
    state: Arc<IssuerState>,
}

struct IssuerState {
    url: Mutex<String>,
    now: Mutex<Current>,
    changed: Condvar,
}

struct Current {
    behaviour: IssuerBehaviour,
    keys: Vec<Arc<TestKey>>,
    /// The claims of the person at the browser.
    person: Value,
    /// What the next id tokens say instead of what they should.
    changes: Value,
    secret: Option<String>,
    codes: HashMap<String, HashMap<String, String>>,
    count: usize,
}

/// The name of the server under test at the issuer, and the audience of its tokens.
const CLIENT: &str = "taximeter";

impl Default for TestIssuer {
    fn default() -> TestIssuer {
        TestIssuer::new(TestKey::rsa("first"))
    }
}

#[allow(clippy::missing_panics_doc, reason = "a test cannot go on without its issuer")]
impl TestIssuer {
    /// Starts an issuer with one key.
    pub fn new(key: TestKey) -> TestIssuer {
        let state = Arc::new(IssuerState {
            url: Mutex::default(),
            now: Mutex::new(Current {
                behaviour: IssuerBehaviour::Fine,
                keys: vec![Arc::new(key)],
                person: json!({}),
                changes: json!({}),
                secret: None,
                codes: HashMap::new(),
                count: 0,
            }),
            changed: Condvar::new(),
        });
        let answering = Arc::clone(&state);
        let responder = Responder::new(move |request, _| answering.answer(request));
        state.url.lock().unwrap().clone_from(&responder.url);
        TestIssuer { responder, state }
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.responder.url
    }

    /// What it calls itself: its URL, unless it is called otherwise.
    pub fn name(&self) -> String {
        self.state.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets it be reached by another URL, by which it calls itself from now on.
    pub fn call(&self, url: &str) {
        *self.state.url.lock().unwrap_or_else(PoisonError::into_inner) = url.to_string();
    }

    /// The newest key.
    pub fn key(&self) -> Arc<TestKey> {
        Arc::clone(self.state.current().keys.last().unwrap())
    }

    /// Publishes a new key, and none of the earlier ones.
    pub fn rotate(&self, key: TestKey) {
        self.state.current().keys = vec![Arc::new(key)];
    }

    /// Changes how it answers.
    pub fn behave(&self, behaviour: IssuerBehaviour) {
        self.state.current().behaviour = behaviour;
        self.state.changed.notify_all();
    }

    /// Says who sits at the browser, by their claims.
    pub fn sign_in_as(&self, person: Value) {
        self.state.current().person = person;
    }

    /// Changes claims of the id tokens that follow.
    pub fn change_claims(&self, changes: Value) {
        self.state.current().changes = changes;
    }

    /// Requires a client's secret.
    pub fn require_secret(&self, secret: &str) {
        self.state.current().secret = Some(secret.to_string());
    }

    /// How many requests for a path there were.
    pub fn count(&self, path: &str) -> usize {
        let is_for = |request: &ReceivedRequest| request.line.split([' ', '?']).nth(1) == Some(path);
        self.responder.requests().iter().filter(|request| is_for(request)).count()
    }

    /// Good claims for the server under test, with these in addition or instead.
    pub fn claims(&self, more: Value) -> Value {
        self.state.claims(more)
    }

    /// A good token for the server under test, with these claims in addition or instead.
    pub fn token(&self, more: Value) -> String {
        self.key().token(&self.claims(more))
    }
}

impl IssuerState {
    fn current(&self) -> MutexGuard<'_, Current> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claims(&self, more: Value) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let url = self.url.lock().unwrap_or_else(PoisonError::into_inner).clone();
        merged(json!({ "iss": url, "aud": CLIENT, "sub": "alice", "iat": now, "exp": now + 600 }), more)
    }

    fn answer(&self, request: &ReceivedRequest) -> CannedReply<String> {
        let is_silent = |current: &mut Current| current.behaviour == IssuerBehaviour::Silent;
        let waited = self.changed.wait_timeout_while(self.current(), PATIENCE, is_silent);
        let behaviour = waited.unwrap_or_else(PoisonError::into_inner).0.behaviour;
        match behaviour {
            IssuerBehaviour::Away | IssuerBehaviour::Silent => return None,
            IssuerBehaviour::Failing => return Some((500, "content-type: text/html".to_string(), "<p>".to_string())),
            IssuerBehaviour::Fine | IssuerBehaviour::Renamed => {}
        }
        let path = request.line.split(' ').nth(1).unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let is_renamed = behaviour == IssuerBehaviour::Renamed;
        match path {
            "/.well-known/openid-configuration" => json_reply(200, self.discovery(is_renamed)),
            "/keys" => {
                let keys: Vec<Value> = self.current().keys.iter().map(|key| key.published()).collect();
                json_reply(200, json!({ "keys": keys }))
            }
            "/authorize" => Some((302, format!("location: {}", self.authorize(fields(query))), String::new())),
            "/token" => self.redeem(request),
            _ => json_reply(404, json!({})),
        }
    }

    fn discovery(&self, is_renamed: bool) -> Value {
        let url = self.url.lock().unwrap_or_else(PoisonError::into_inner).clone();
        json!({
            "issuer": if is_renamed { format!("{url}/") } else { url.clone() },
            "jwks_uri": format!("{url}/keys"),
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
        })
    }

    /// Where the browser is sent back to.
    fn authorize(&self, request: HashMap<String, String>) -> String {
        let mut current = self.current();
        current.count += 1;
        let code = format!("code-{}", current.count);
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("code", &code)
            .append_pair("state", &request["state"])
            .finish();
        let back = format!("{}?{query}", request["redirect_uri"]);
        current.codes.insert(code, request);
        back
    }

    fn redeem(&self, request: &ReceivedRequest) -> CannedReply<String> {
        let form = fields(&request.body);
        let mut current = self.current();
        let refused = || json_reply(400, json!({ "error": "invalid_grant" }));
        if let Some(secret) = &current.secret {
            let expected = format!("Basic {}", BASE64_STANDARD.encode(format!("{CLIENT}:{secret}")));
            if request.header("authorization") != Some(&expected) {
                return json_reply(401, json!({ "error": "invalid_client" }));
            }
        }
        // A code is redeemed once.
        let Some(asked) = form.get("code").and_then(|code| current.codes.remove(code)) else { return refused() };
        let verifier = form.get("code_verifier").map_or("", String::as_str);
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes()));
        let is_same = |name: &str| form.get(name) == asked.get(name) && form.contains_key(name);
        let is_fine = is_same("redirect_uri")
            && is_same("client_id")
            && form.get("grant_type").is_some_and(|kind| kind == "authorization_code")
            && asked.get("code_challenge") == Some(&challenge)
            && asked.get("code_challenge_method").is_some_and(|method| method == "S256");
        if !is_fine {
            return refused();
        }
        let claims = self.claims(merged(current.person.clone(), json!({ "nonce": asked["nonce"] })));
        let claims = merged(claims, current.changes.clone());
        let token = current.keys.last().map(|key| key.token(&claims)).unwrap_or_default();
        json_reply(200, json!({ "access_token": "unused", "token_type": "Bearer", "id_token": token }))
    }
}

/// One set of claims with those of another in addition or instead; a null takes one away.
fn merged(mut claims: Value, more: Value) -> Value {
    if let (Some(claims), Value::Object(more)) = (claims.as_object_mut(), more) {
        claims.extend(more);
        claims.retain(|_, value| !value.is_null());
    }
    claims
}

fn fields(query: &str) -> HashMap<String, String> {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

#[allow(clippy::unnecessary_wraps, reason = "every answer may be none")]
fn json_reply(status: u16, document: Value) -> CannedReply<String> {
    Some((status, "content-type: application/json".to_string(), document.to_string()))
}

/// Opens a URL of the issuer like a browser, and returns where it is sent.
///
/// # Panics
///
/// If the issuer does not redirect.
pub fn browse(url: &str) -> String {
    use std::io::{Read, Write};
    let rest = url.strip_prefix("http://").expect("a URL on loopback");
    let (host, path) = rest.split_once('/').expect("a URL with a path");
    let mut stream = std::net::TcpStream::connect(host).expect("the issuer listens");
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the issuer reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the issuer answers");
    let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
    location.unwrap_or_else(|| panic!("{answer}")).to_string()
}
