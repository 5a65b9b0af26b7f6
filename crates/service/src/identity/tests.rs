//! An issuer's keys over HTTP: read, rotated, and unavailable.

use std::path::Path;

use serde_json::json;
use taximeter_testing::{Authority, Captured, IssuerBehaviour, TestIssuer, TestKey};

use super::*;
use crate::LogForm;

const FILE: &str = "name = \"example\"\n[[grant]]\nclaim = \"sub\"\nvalue = \"alice\"\nrole = \"auditor\"\n";

/// An issuer and this server's view of it.
struct IssuerFixture {
    issuer: TestIssuer,
    known: Arc<Issuer>,
    log: Captured,
    _folder: tempfile::TempDir,
}

impl IssuerFixture {
    /// With the lifetime of keys, and the shortest time between two requests for them.
    fn new(lifetime: Duration, pause: Duration) -> IssuerFixture {
        let (issuer, folder, log) = (TestIssuer::default(), tempfile::tempdir().unwrap(), Captured::default());
        let claims = folder.path().join("claims.toml");
        std::fs::write(&claims, FILE).unwrap();
        let settings = settings(issuer.url(), &claims);
        let to = Log::to(LogForm::Json, log.clone());
        let known = Issuer::with_times(&settings, to, KeyTimes { lifetime, pause }).unwrap();
        IssuerFixture { issuer, known, log, _folder: folder }
    }

    async fn identify(&self, token: &str) -> Result<String, Problem> {
        Ok(self.known.identify(token, Timestamp::now()).await?.principal.clone())
    }

    /// The code of the problem with a good token that a key signed.
    async fn code(&self, key: &TestKey) -> Option<Code> {
        self.identify(&key.token(&self.issuer.claims(json!({})))).await.err().map(|problem| problem.code)
    }

    /// The events in the log.
    fn end(self) -> String {
        drop(self.known);
        self.log.text()
    }
}

fn settings(url: &str, claims: &Path) -> OidcSettings {
    OidcSettings {
        issuer: url.to_string(),
        audience: "taximeter".to_string(),
        claims: claims.to_path_buf(),
        authorities: None,
        sign_in: None,
    }
}

const LONG: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn keys_are_read_once_for_many_tokens() {
    let fixture = IssuerFixture::new(LONG, LONG);
    let token = fixture.issuer.token(json!({}));
    let asking = (0..20).map(|_| fixture.identify(&token));
    for result in futures_util::future::join_all(asking).await {
        assert_eq!(result.unwrap(), "alice@example");
    }
    assert_eq!((fixture.issuer.count("/.well-known/openid-configuration"), fixture.issuer.count("/keys")), (1, 1));
}

#[tokio::test]
async fn new_keys_are_found_and_withdrawn_ones_are_refused_without_a_restart() {
    let fixture = IssuerFixture::new(LONG, Duration::ZERO);
    let first = fixture.issuer.key();
    assert_eq!(fixture.code(&first).await, None);
    for key in [TestKey::p256("second"), TestKey::ed25519("third")] {
        fixture.issuer.rotate(key);
        assert_eq!(fixture.code(&fixture.issuer.key()).await, None);
        assert_eq!(fixture.code(&first).await, Some(Code::Unauthorized));
    }
}

#[tokio::test]
async fn tokens_with_unknown_keys_do_not_make_the_server_ask_again_and_again() {
    let fixture = IssuerFixture::new(LONG, LONG);
    for at in 0..50 {
        let key = TestKey::ed25519(&format!("garbage-{at}"));
        assert_eq!(fixture.code(&key).await, Some(Code::Unauthorized));
    }
    assert_eq!(fixture.issuer.count("/keys"), 1);
    // Tokens of other issuers, and texts that are not tokens, cause no request at all.
    let fixture = IssuerFixture::new(LONG, Duration::ZERO);
    let foreign = fixture.issuer.token(json!({ "iss": "https://elsewhere.example" }));
    for token in [foreign.as_str(), "a.b.c", &"a".repeat(100_000)] {
        assert_eq!(fixture.identify(token).await.unwrap_err().code, Code::Unauthorized);
    }
    assert_eq!(fixture.issuer.count("/keys"), 0);
}

#[tokio::test]
async fn known_keys_go_on_while_the_issuer_is_away_and_others_have_to_wait() {
    for behaviour in [IssuerBehaviour::Away, IssuerBehaviour::Failing, IssuerBehaviour::Renamed] {
        let fixture = IssuerFixture::new(LONG, Duration::ZERO);
        let (first, second) = (fixture.issuer.key(), TestKey::p256("second"));
        assert_eq!(fixture.code(&first).await, None);
        fixture.issuer.behave(behaviour);
        assert_eq!(fixture.code(&second).await, Some(Code::Busy), "{behaviour:?}");
        assert_eq!(fixture.code(&first).await, None, "{behaviour:?}");
        fixture.issuer.behave(IssuerBehaviour::Fine);
        fixture.issuer.rotate(second);
        assert_eq!(fixture.code(&fixture.issuer.key()).await, None);
        let log = fixture.end();
        let count = |event: &str| log.matches(&format!("\"event\":\"{event}\"")).count();
        assert_eq!((count("issuer-lost"), count("issuer-back")), (1, 1), "{log}");
    }
}

#[tokio::test]
async fn keys_end_with_their_lifetime_if_the_issuer_stays_away() {
    let fixture = IssuerFixture::new(Duration::ZERO, Duration::ZERO);
    // The lifetime is zero, so every token asks the issuer.
    assert_eq!(fixture.code(&fixture.issuer.key()).await, Some(Code::Busy));
    fixture.issuer.behave(IssuerBehaviour::Away);
    let problem = fixture.identify(&fixture.issuer.token(json!({}))).await.unwrap_err();
    assert_eq!((problem.code, problem.status), (Code::Busy, 503));
    assert!(problem.detail.contains("example cannot be reached") && problem.detail.contains("nothing was charged"));
    assert!(!problem.detail.contains(fixture.issuer.url()), "{}", problem.detail);
}

#[tokio::test]
async fn a_slow_issuer_delays_only_tokens_with_unknown_keys() {
    let fixture = IssuerFixture::new(LONG, Duration::ZERO);
    let first = fixture.issuer.key();
    assert_eq!(fixture.code(&first).await, None);
    fixture.issuer.behave(IssuerBehaviour::Silent);
    let second = TestKey::p256("second");
    let (mut waiting, mut known) = (Box::pin(fixture.code(&second)), 0);
    let late = loop {
        tokio::select! {
            late = &mut waiting => break late,
            code = fixture.code(&first) => {
                assert_eq!(code, None);
                known += 1;
                tokio::task::yield_now().await;
            }
        }
    };
    assert_eq!(late, Some(Code::Busy));
    assert!(known > 10, "{known}");
    fixture.issuer.behave(IssuerBehaviour::Fine);
}

#[tokio::test]
async fn an_answer_is_kept_even_if_the_one_who_waited_for_it_is_gone() {
    let fixture = IssuerFixture::new(LONG, LONG);
    fixture.issuer.behave(IssuerBehaviour::Silent);
    let token = fixture.issuer.token(json!({}));
    tokio::select! {
        biased;
        _ = fixture.identify(&token) => panic!("the issuer is silent"),
        () = async { while fixture.issuer.count("/.well-known/openid-configuration") == 0 { tokio::task::yield_now().await } } => {}
    }
    fixture.issuer.behave(IssuerBehaviour::Fine);
    // The next one waits for the same answer: there is no second request.
    assert_eq!(fixture.identify(&token).await.unwrap(), "alice@example");
    assert_eq!(fixture.issuer.count("/keys"), 1);
}

#[test]
fn settings_that_cannot_work_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let (claims, authorities) = (folder.path().join("claims.toml"), folder.path().join("ca.pem"));
    std::fs::write(&claims, FILE).unwrap();
    let good = settings("https://login.example.org", &claims);
    let new =
        |settings: &OidcSettings| Issuer::new(settings, Log::new(LogForm::Off)).err().map(|problem| problem.detail);
    assert_eq!(new(&good), None);
    for (settings, part) in [
        (OidcSettings { issuer: "http://login.example.org".to_string(), ..good.clone() }, "use https://"),
        (OidcSettings { audience: String::new(), ..good.clone() }, "audience"),
        (OidcSettings { claims: folder.path().join("missing"), ..good.clone() }, "cannot be read"),
        (OidcSettings { authorities: Some(claims.clone()), ..good.clone() }, "no certificate"),
        (OidcSettings { authorities: Some(authorities.clone()), ..good.clone() }, "cannot be used"),
    ] {
        let detail = new(&settings).unwrap();
        assert!(detail.contains(part), "{detail}");
    }
    std::fs::write(&authorities, Authority::new().unwrap().root()).unwrap();
    assert_eq!(new(&OidcSettings { authorities: Some(authorities), ..good }), None);
    let secret = ClientSecret::new("a secret\n").unwrap();
    assert_eq!(format!("{secret:?}"), "(secret)");
    assert!(ClientSecret::new("\n").is_err() && ClientSecret::new("a\nb").is_err());
}
