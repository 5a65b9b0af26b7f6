//! Signing in to the dashboard with an issuer, tested as an attacker would.

use axum::body::Body;
use serde_json::{Value, json};
use taximeter_service::Settings;
use taximeter_testing::{IssuerBehaviour, browse};

use super::{OidcServer, person};
use crate::fixture::Reply;
use crate::fixture::visit::Visit;

const SESSION: &str = "taximeter";
const ISSUER: &str = "taximeter-issuer";
const PUBLIC: &str = "https://taximeter.test";

/// Follows the button to the issuer: the URL there.
async fn leave(visit: &mut Visit<'_>, query: &str) -> String {
    visit.get(&format!("/sign-in/issuer{query}")).await.expect(303).header("location").to_string()
}

/// Signs in at the issuer: the path here that it sends the browser to.
async fn at_issuer(url: String) -> String {
    let back = tokio::task::spawn_blocking(move || browse(&url)).await.unwrap();
    back.strip_prefix(PUBLIC).unwrap().to_string()
}

/// A link on the issuer's site: the browser withholds strict cookies, and sends the others.
async fn come_back(visit: &mut Visit<'_>, path: &str) -> Reply {
    let strict = visit.cookies.clone();
    visit.cookies.retain(|(name, _)| name.contains("issuer"));
    let headers = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];
    let reply = visit.send("GET", path, &headers, Body::empty()).await;
    let kept = strict.into_iter().filter(|(name, _)| !name.contains("issuer") && visit.cookie(name).is_none());
    visit.cookies.extend(kept.collect::<Vec<_>>());
    reply
}

async fn sign_in(visit: &mut Visit<'_>, query: &str) -> Reply {
    let url = leave(visit, query).await;
    let back = at_issuer(url).await;
    come_back(visit, &back).await
}

fn parameters(url: &str) -> Value {
    let query = url.split_once('?').unwrap().1;
    form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (name.to_string(), json!(value))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_with_the_issuer_and_out() {
    let all = OidcServer::new();
    all.issuer.sign_in_as(person("alice", "analysts"));
    let mut visit = all.server.visit();
    let page = visit.get("/sign-in?to=/datasets").await.expect(200).text();
    assert!(
        page.contains("href=\"/sign-in/issuer?to=%2Fdatasets\"") && page.contains("Sign in with example"),
        "{page}"
    );
    assert!(page.contains("name=\"token\""), "the token's field stays");
    let url = leave(&mut visit, "?to=/datasets").await;
    let asked = parameters(&url);
    assert!(url.starts_with(&format!("{}/authorize?", all.issuer.url())), "{url}");
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "taximeter"),
        ("redirect_uri", "https://taximeter.test/sign-in/callback"),
        ("scope", "openid groups"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(asked[name], value, "{url}");
    }
    // Nothing about the page that was asked for goes to the issuer, nor the ticket of the browser.
    let ticket = visit.cookie(ISSUER).unwrap().split('.').next().unwrap().to_string();
    assert!(!url.contains("datasets") && !url.contains(&ticket), "{url}");
    let back = at_issuer(url).await;
    let reply = come_back(&mut visit, &back).await.expect(200);
    assert_eq!(reply.header("refresh"), "0;url=/datasets");
    assert_eq!(visit.cookie(ISSUER), None);
    let page = visit.get("/datasets").await.expect(200).text();
    assert!(page.contains("alice@example") && page.contains("analyst"), "{page}");
    // The pages of others are as closed as with a token, and forms need their key.
    visit.get("/tokens").await.expect(403);
    visit.clone().post_bare("/sign-out", "form_key=").await.expect(403);
    visit.get("/").await.expect(200);
    visit.post("/sign-out", &[]).await.expect(303);
    visit.get("/").await.expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_signs_in() {
    let all = OidcServer::new();
    for (name, group, tokens) in [("olga", "owners", 200), ("otto", "auditors", 403), ("alice", "analysts", 403)] {
        all.issuer.sign_in_as(person(name, group));
        let mut visit = all.server.visit();
        sign_in(&mut visit, "").await.expect(200);
        assert!(visit.get("/").await.expect(200).text().contains(&format!("{name}@example")));
        visit.get("/tokens").await.expect(tokens);
    }
    all.issuer.sign_in_as(person("zoe", "gardeners"));
    let mut visit = all.server.visit();
    let reply = sign_in(&mut visit, "").await.expect(403);
    assert!(reply.text().contains("no rule in this server") && visit.cookie(SESSION).is_none(), "{}", reply.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn id_tokens_for_another_sign_in_client_or_time_are_refused() {
    let all = OidcServer::new();
    all.issuer.sign_in_as(person("olga", "owners"));
    let now = all.issuer.claims(json!({}))["iat"].as_i64().unwrap();
    for changes in [
        json!({ "nonce": "another" }),
        json!({ "nonce": null }),
        json!({ "aud": "payroll" }),
        json!({ "aud": ["taximeter", "payroll"] }),
        json!({ "azp": "payroll" }),
        json!({ "iss": "https://elsewhere.example" }),
        json!({ "exp": now - 61 }),
        json!({ "iat": now + 3600 }),
    ] {
        all.issuer.change_claims(changes.clone());
        let mut visit = all.server.visit();
        let reply = sign_in(&mut visit, "").await;
        assert_eq!(reply.status, 401, "{changes}: {}", reply.text());
        assert!(visit.cookie(SESSION).is_none() && visit.cookie(ISSUER).is_none(), "{changes}");
        assert!(reply.text().contains("Sign in with example"), "one can start again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_belongs_to_the_browser_that_started_it() {
    let all = OidcServer::new();
    all.issuer.sign_in_as(person("mallory", "analysts"));
    // An attacker's code, sent to a victim as a link: with no sign-in under way, and with the victim's own.
    let mut attacker = all.server.visit();
    let url = leave(&mut attacker, "").await;
    let link = at_issuer(url).await;
    let mut victim = all.server.visit();
    for _ in 0..2 {
        let reply = come_back(&mut victim, &link).await.expect(403);
        assert!(reply.text().contains("was not started in this browser"), "{}", reply.text());
        assert!(victim.cookie(SESSION).is_none());
        leave(&mut victim, "").await;
    }
    // The attacker's code with the victim's state: the verifier does not fit.
    let own = leave(&mut victim, "").await;
    let (state, code) = (parameters(&own)["state"].clone(), parameters(&link)["code"].clone());
    let mixed = format!("/sign-in/callback?code={}&state={}", code.as_str().unwrap(), state.as_str().unwrap());
    come_back(&mut victim, &mixed).await.expect(401);
    assert!(victim.cookie(SESSION).is_none());
    // The code is spent by that, and a state without its cookie is worth nothing.
    come_back(&mut attacker, &link).await.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_whole_answer_of_the_issuer_signs_in() {
    let all = OidcServer::new();
    all.issuer.sign_in_as(person("alice", "analysts"));
    let mut visit = all.server.visit();
    let url = leave(&mut visit, "").await;
    let path = at_issuer(url).await;
    for path in [
        path.replace("state=", "other="),
        path.replace("state=", "state=0"),
        path.replace("code=", "kode="),
        format!("{path}&error=access_denied&error_description=%3Cscript%3Ealert(1)%3C/script%3E"),
        format!("{path}&iss=https://elsewhere.example"),
        "/sign-in/callback".to_string(),
    ] {
        let reply = come_back(&mut visit.clone(), &path).await;
        assert!([401, 403].contains(&reply.status.as_u16()), "{path}: {}", reply.text());
        assert!(!reply.text().contains("<script>alert"), "{path}");
    }
    come_back(&mut visit, &path).await.expect(200);
    // A used callback is not used again: the cookie is gone, and with it the code is still spent.
    let mut again = visit.clone();
    come_back(&mut again, &path).await.expect(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_redeemed_once_even_by_the_same_browser() {
    let all = OidcServer::new();
    all.issuer.sign_in_as(person("alice", "analysts"));
    let mut visit = all.server.visit();
    let url = leave(&mut visit, "").await;
    let back = at_issuer(url).await;
    let mut copy = visit.clone();
    come_back(&mut visit, &back).await.expect(200);
    come_back(&mut copy, &back).await.expect(401);
    assert!(copy.cookie(SESSION).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_leads_to_pages_of_ours_alone() {
    let all = OidcServer::new();
    all.issuer.sign_in_as(person("alice", "analysts"));
    for (to, expected) in [
        ("/datasets?x=1", "/datasets?x=1"),
        ("https://elsewhere.example", "/"),
        ("//elsewhere.example", "/"),
        ("/\\elsewhere.example", "/"),
        ("/sign-out", "/"),
    ] {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("to", to).finish();
        let mut visit = all.server.visit();
        let reply = sign_in(&mut visit, &format!("?{query}")).await.expect(200);
        assert_eq!(reply.header("refresh"), format!("0;url={expected}"), "{to}");
    }
    // Nor if the cookie was changed: then its state does not fit.
    let mut visit = all.server.visit();
    let url = leave(&mut visit, "?to=/datasets").await;
    let path = at_issuer(url).await;
    for (_, value) in visit.cookies.iter_mut().filter(|(name, _)| name == ISSUER) {
        *value = value.replace("%2Fdatasets", "%2F%2Felsewhere.example");
    }
    let reply = come_back(&mut visit, &path).await.expect(403);
    assert!(!reply.text().contains("elsewhere"), "{}", reply.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_with_the_token_of_its_sign_in() {
    let all = OidcServer::new();
    let now = all.issuer.claims(json!({}))["iat"].as_i64().unwrap();
    all.issuer.sign_in_as(person("alice", "analysts"));
    // It has just expired, which the clocks may disagree about: it signs in, and opens nothing.
    all.issuer.change_claims(json!({ "exp": now - 5 }));
    let mut visit = all.server.visit();
    sign_in(&mut visit, "").await.expect(200);
    visit.get("/").await.expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_of_a_sign_in_are_encrypted_where_everything_is() {
    let all = OidcServer::with(Settings { is_encrypted: true, ..Settings::default() }, None);
    all.issuer.sign_in_as(person("alice", "analysts"));
    let mut visit = all.server.visit();
    let reply = visit.get("/sign-in/issuer").await.expect(303);
    let cookie = reply.header("set-cookie").to_string();
    assert!(
        cookie.starts_with("__Host-taximeter-issuer=") && cookie.contains("; HttpOnly; SameSite=Lax; Secure; Path=/"),
        "{cookie}"
    );
    let url = reply.header("location").to_string();
    let path = at_issuer(url).await;
    come_back(&mut visit, &path).await.expect(200);
    visit.get("/").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_secret_proves_it() {
    let all = OidcServer::with(Settings::default(), Some("a secret: with signs &+%"));
    all.issuer.sign_in_as(person("alice", "analysts"));
    // The issuer expects it as in a form.
    all.issuer.require_secret("a+secret%3A+with+signs+%26%2B%25");
    sign_in(&mut all.server.visit(), "").await.expect(200);
    all.issuer.require_secret("another");
    let reply = sign_in(&mut all.server.visit(), "").await.expect(401);
    assert!(!reply.text().contains("secret"), "{}", reply.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_says_that_the_issuer_is_away_and_tokens_still_work() {
    let all = OidcServer::new();
    all.issuer.behave(IssuerBehaviour::Away);
    let mut visit = all.server.visit();
    let reply = visit.get("/sign-in/issuer?to=/datasets").await.expect(503);
    assert!(
        reply.text().contains("example cannot be reached") && reply.text().contains("name=\"token\""),
        "{}",
        reply.text()
    );
    assert_eq!(reply.hidden("to").unwrap(), "/datasets");
    all.server.sign_in("alice").await.get("/").await.expect(200);
    // Without an issuer there is no button, and no path.
    let without = crate::fixture::TestServer::new();
    let mut visit = without.visit();
    assert!(!visit.get("/sign-in").await.expect(200).text().contains("Sign in with"));
    visit.get("/sign-in/issuer").await.expect(404);
    visit.get("/sign-in/callback?code=a&state=b").await.expect(404);
    all.issuer.behave(IssuerBehaviour::Fine);
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_sign_ins_do_not_make_the_server_ask_the_issuer_without_end() {
    let all = OidcServer::new();
    let mut visit = all.server.visit();
    let url = leave(&mut visit, "").await;
    let state = parameters(&url)["state"].as_str().unwrap().to_string();
    for at in 0..10 {
        come_back(&mut visit.clone(), &format!("/sign-in/callback?code=guess-{at}&state={state}")).await.expect(401);
    }
    come_back(&mut visit.clone(), &format!("/sign-in/callback?code=guess&state={state}")).await.expect(429);
    assert_eq!(all.issuer.count("/token"), 10);
}
