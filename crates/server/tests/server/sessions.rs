//! Sessions, forms and security headers, tested as an attacker would.

use std::net::SocketAddr;

use crate::fixture::visit::Visit;
use crate::fixture::{Reply, TestServer};
use axum::body::Body;
use taximeter_server::Listener;
use taximeter_service::Settings;
use taximeter_testing::PATIENCE;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

const SESSION: &str = "taximeter";
const SIGN_IN: &str = "taximeter-sign-in";

fn cookies_set(reply: &Reply) -> Vec<String> {
    reply.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap().to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_and_out() {
    let server = TestServer::new();
    let mut visit = server.visit();
    let turned = visit.get("/datasets/census").await.expect(303);
    assert_eq!(turned.header("location"), "/sign-in?to=%2Fdatasets%2Fcensus");
    let page = visit.follow(turned).await.expect(200);
    assert_eq!(page.hidden("to").unwrap(), "/datasets/census");
    let fields = [("token", server.secret("owner")), ("to", "/datasets/census")];
    let signed_in = visit.post("/sign-in", &fields).await.expect(303);
    let ticket = visit.cookie(SESSION).unwrap().to_string();
    assert_eq!(
        cookies_set(&signed_in),
        [
            format!("{SESSION}={ticket}; HttpOnly; SameSite=Strict; Path=/"),
            format!("{SIGN_IN}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0")
        ]
    );
    assert_eq!(visit.cookies.len(), 1);
    let page = visit.follow(signed_in).await.expect(200).text();
    assert!(page.contains("<strong>olga</strong> · owner") && page.contains("<h1>census</h1>"), "{page}");
    let out = visit.post("/sign-out", &[]).await.expect(303);
    assert_eq!(cookies_set(&out), [format!("{SESSION}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0")]);
    assert_eq!(out.header("location"), "/sign-in");
    // A cookie kept after sign-out is useless.
    visit.cookies.push((SESSION.to_string(), ticket));
    visit.get("/datasets").await.expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_everything_is_encrypted_cookies_are_for_this_host_alone() {
    let server = TestServer::with(Settings { is_encrypted: true, ..Settings::default() });
    let mut visit = server.visit();
    let door = cookies_set(&visit.get("/sign-in").await.expect(200)).concat();
    let signed_in = visit.post("/sign-in", &[("token", server.secret("owner"))]).await.expect(303);
    for cookie in cookies_set(&signed_in).into_iter().chain([door]) {
        assert!(
            cookie.starts_with("__Host-taximeter") && cookie.contains("; HttpOnly; SameSite=Strict; Secure; Path=/")
        );
    }
    visit.get("/").await.expect(200);
    // A cookie sent without TLS has another name.
    let ticket = visit.cookie("__Host-taximeter").unwrap().to_string();
    visit.cookies = vec![(SESSION.to_string(), ticket)];
    visit.get("/").await.expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_from_before_is_worth_nothing_after_signing_in() {
    let server = TestServer::new();
    // A ticket that an attacker planted, and knows.
    let planted = "a".repeat(64);
    let mut visit = server.visit();
    visit.cookies = vec![(SESSION.to_string(), planted.clone()), (SIGN_IN.to_string(), planted.clone())];
    visit.get("/").await.expect(303);
    visit.sign_in(server.secret("owner")).await.expect(303);
    let first = visit.cookie(SESSION).unwrap().to_string();
    assert_ne!(first, planted);
    // The ticket of another session, which stays open.
    visit.sign_in(server.secret("auditor")).await.expect(303);
    assert_ne!(visit.cookie(SESSION).unwrap(), first);
    assert!(visit.get("/").await.expect(200).text().contains("otto"));
    for ticket in [planted, first] {
        let mut other = server.visit();
        other.cookies = vec![(SESSION.to_string(), ticket)];
        other.get("/").await.expect(303);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_or_repeated_ticket_opens_nothing() {
    let server = TestServer::new();
    let visit = server.sign_in("owner").await;
    let ticket = visit.cookie(SESSION).unwrap().to_string();
    for cookies in [
        format!("{SESSION}={ticket}; {SESSION}={ticket}"),
        format!("{SESSION}={ticket}; {SESSION}={}", "a".repeat(64)),
        format!("{SESSION}={}", ticket.to_uppercase()),
        format!("{SESSION}=\"{ticket}\""),
        format!("{SESSION}={}", &ticket[1..]),
        format!("{SESSION}={ticket}0"),
        format!("{SESSION}="),
        format!("{SIGN_IN}={ticket}"),
        format!("__Host-{SESSION}={ticket}"),
        "=; ;;=".to_string(),
    ] {
        let reply = server.visit().send("GET", "/", &[("Cookie", &cookies)], Body::empty()).await;
        assert_eq!(reply.status, 303, "{cookies}");
    }
    let good = format!("a=b;{SESSION}={ticket} ;c");
    server.visit().send("GET", "/", &[("Cookie", &good)], Body::empty()).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_does_not_sign_in_and_is_not_repeated() {
    let server = TestServer::new();
    let revoked =
        server.send("owner", "POST", "/v1/tokens", r#"{"principal":"gone","role":"owner"}"#).await.expect(201);
    let path = format!("/v1/tokens/{}/revoke", revoked.json()["token"]["id"].as_str().unwrap());
    server.send("owner", "POST", &path, "").await.expect(200);
    let almost = server.secret("owner").replace("txm_", "txm-");
    for secret in ["", "nothing", "<script>alert(1)</script>", &almost, revoked.json()["secret"].as_str().unwrap()] {
        let mut visit = server.visit();
        let reply = visit.sign_in(secret).await.expect(401);
        assert!(reply.is_page() && reply.text().contains("not known, has expired, or was revoked"));
        assert!(secret.is_empty() || !reply.text().contains(secret), "{secret}");
        assert_eq!(visit.cookie(SESSION), None);
        // The form can be sent again.
        visit.post("/sign-in", &[("token", server.secret("owner"))]).await.expect(303);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_site_cannot_sign_a_user_in() {
    let server = TestServer::new();
    let secret = server.secret("alice");
    let (mut here, mut there) = (server.visit(), server.visit());
    here.get("/sign-in").await.expect(200);
    there.get("/sign-in").await.expect(200);
    let fields = |key: &str| format!("form_key={key}&token={secret}");
    let cookie = |visit: &Visit| format!("{SIGN_IN}={}", visit.cookie(SIGN_IN).unwrap());
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    for (what, cookies, key, origin) in [
        ("no cookie", String::new(), here.form_key.as_str(), ("X", "")),
        ("no key", cookie(&here), "", ("X", "")),
        ("another's key", cookie(&here), there.form_key.as_str(), ("X", "")),
        ("another site", cookie(&here), here.form_key.as_str(), ("Origin", "http://elsewhere.example")),
        ("a hidden site", cookie(&here), here.form_key.as_str(), ("Origin", "null")),
        ("another site, in a word", cookie(&here), here.form_key.as_str(), ("Sec-Fetch-Site", "cross-site")),
        ("another port", cookie(&here), here.form_key.as_str(), ("Sec-Fetch-Site", "same-site")),
    ] {
        let headers = [kind, ("Cookie", cookies.as_str()), origin];
        let reply = server.visit().send("POST", "/sign-in", &headers, Body::from(fields(key))).await;
        assert_eq!(reply.status, 403, "{what}: {}", reply.text());
        assert!(!cookies_set(&reply).iter().any(|cookie| cookie.starts_with("taximeter=")), "{what}");
    }
    let own = [kind, ("Origin", "http://taximeter.test"), ("Sec-Fetch-Site", "same-origin")];
    let body = Body::from(fields(&here.form_key.clone()));
    here.send("POST", "/sign-in", &own, body).await.expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_are_counted_by_where_they_come_from() {
    for (is_behind_proxy, other_place) in [(false, 429), (true, 303)] {
        let server = TestServer::with(Settings { is_behind_proxy, ..Settings::default() });
        let mut visit = server.visit();
        visit.get("/sign-in").await.expect(200);
        let attempt = async |secret: &str, from: &str| {
            let body = Body::from(format!("form_key={}&token={secret}", visit.form_key));
            let headers = [("Content-Type", "application/x-www-form-urlencoded"), ("X-Forwarded-For", from)];
            visit.clone().send("POST", "/sign-in", &headers, body).await.status.as_u16()
        };
        // Successful attempts do not count.
        for _ in 0..15 {
            assert_eq!(attempt(server.secret("owner"), "192.0.2.1").await, 303);
        }
        for _ in 0..10 {
            assert_eq!(attempt("nothing", "192.0.2.1").await, 401);
        }
        assert_eq!(attempt("nothing", "192.0.2.1").await, 429);
        assert_eq!(attempt(server.secret("owner"), "192.0.2.1").await, 429);
        // The client can write what is before the comma; the proxy adds what is after it.
        assert_eq!(attempt(server.secret("owner"), "192.0.2.9, 192.0.2.1").await, 429);
        assert_eq!(attempt(server.secret("owner"), "192.0.2.1, 192.0.2.2").await, other_place);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_leads_to_pages_of_ours_alone() {
    let server = TestServer::new();
    for (to, expected) in [
        ("/datasets?x=1", "/datasets?x=1"),
        ("https://elsewhere.example", "/"),
        ("//elsewhere.example", "/"),
        ("/\\elsewhere.example", "/"),
        ("/\r\nset-cookie: taximeter=1", "/"),
        ("javascript:alert(1)", "/"),
        ("/sign-out", "/"),
        ("\"><script>", "/"),
    ] {
        let mut visit = server.visit();
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("to", to).finish();
        let page = visit.get(&format!("/sign-in?{query}")).await.expect(200);
        assert_eq!(page.hidden("to").unwrap(), expected);
        let reply = visit.post("/sign-in", &[("token", server.secret("owner")), ("to", to)]).await.expect(303);
        assert_eq!(reply.header("location"), expected, "{to}");
    }
    for query in ["?to=/a&to=/b", "?to", "?=", "?%FF=%FF&to=%FF", "?to=%00", "?&&&", "?to=%2F%2Felsewhere.example"] {
        server.visit().get(&format!("/sign-in{query}")).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_on_another_site_leads_to_the_page_and_leaves_the_session_alone() {
    let server = TestServer::new();
    let navigation = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];
    // The browser withholds a strict cookie.
    let reply = server.visit().send("GET", "/datasets?x=1", &navigation, Body::empty()).await.expect(200);
    assert_eq!(reply.header("refresh"), "0;url=/datasets?x=1");
    assert!(reply.text().contains("<a href=\"/datasets?x=1\">") && cookies_set(&reply).is_empty());
    // Only whole pages are reloaded this way, and no page redirects to another site.
    let frame = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")];
    server.visit().send("GET", "/datasets", &frame, Body::empty()).await.expect(303);
    let quiet = server.visit().get("/sign-in").await.expect(200);
    assert!(cookies_set(&quiet).iter().all(|cookie| cookie.starts_with(SIGN_IN)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_ends_its_sessions_and_no_others() {
    let server = TestServer::new();
    let (mut olga, mut alice, mut bob) =
        (server.sign_in("owner").await, server.sign_in("alice").await, server.sign_in("bob").await);
    let tokens = server.get("owner", "/v1/tokens").await.json();
    let of = |who: &str| {
        let token = tokens["tokens"].as_array().unwrap().iter().find(|token| token["principal"] == who).unwrap();
        format!("/tokens/{}/revoke", token["id"].as_str().unwrap())
    };
    alice.get("/").await.expect(200);
    assert!(olga.get(&of("alice")).await.expect(200).text().contains("The token of alice"));
    let revoked = olga.post(&of("alice"), &[]).await;
    assert!(olga.follow(revoked).await.expect(200).text().contains("of alice is revoked"));
    alice.get("/").await.expect(303);
    assert_eq!(alice.post("/sign-out", &[]).await.status, 401);
    bob.get("/").await.expect(200);
    server.get("alice", "/v1/me").await.expect(401);
    // One's own.
    let page = olga.get(&of("olga")).await.expect(200).text();
    assert!(page.contains("you are signed in with") && page.contains("last token of an owner"), "{page}");
    let revoked = olga.post(&of("olga"), &[]).await.expect(303);
    assert_eq!((revoked.header("location"), olga.cookie(SESSION)), ("/sign-in", None));
    server.get("owner", "/v1/me").await.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_session_is_answered_by_its_kind() {
    let server = TestServer::new();
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    for (method, path, headers, status, is_page) in [
        ("GET", "/tokens", &[][..], 303, false),
        ("HEAD", "/tokens", &[], 303, false),
        ("POST", "/tokens", &form, 401, true),
        ("GET", "/tokens", &[("taximeter-script", "1")], 401, false),
        ("POST", "/tokens", &[("taximeter-script", "1")], 401, false),
        ("GET", "/events", &[("Accept", "text/event-stream")], 401, false),
        // A token is for programs, and a session for people.
        ("GET", "/tokens", &[("Authorization", "Bearer nothing")], 303, false),
    ] {
        let reply = server.visit().send(method, path, headers, Body::empty()).await;
        assert_eq!((reply.status.as_u16(), reply.is_page()), (status, is_page), "{method} {path} {headers:?}");
    }
    assert_eq!(server.get("owner", "/tokens").await.status, 303);
    let mut visit = server.sign_in("owner").await;
    visit.get("/v1/me").await.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_is_shown_to_a_person_and_not_to_a_script() {
    let server = TestServer::new();
    let mut visit = server.sign_in("owner").await;
    visit.get("/datasets/census").await.expect(200);
    visit.post("/datasets/census/check", &[]).await.expect(303);
    let script = [("taximeter-script", "1")];
    let said = "is unchanged since it was registered";
    assert!(!visit.send("GET", "/datasets/census", &script, Body::empty()).await.text().contains(said));
    visit.send("GET", "/events", &[("Accept", "text/event-stream")], Body::empty()).await.expect(200);
    assert!(visit.get("/datasets/census").await.text().contains(said));
    assert!(!visit.get("/datasets/census").await.text().contains(said));
}

/// A stream of events over a real connection, after its first bytes.
async fn listen(address: SocketAddr, ticket: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /events HTTP/1.1\r\nHost: here\r\nAccept: text/event-stream\r\nConnection: close\r\nCookie: {SESSION}={ticket}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    hear(&mut stream).await;
    stream
}

/// Waits for the next event. A stream that is silent also shows that it is alive.
async fn hear(stream: &mut TcpStream) {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains("event: accounts") {
        let mut some = [0; 4096];
        let count = timeout(PATIENCE, stream.read(&mut some)).await.unwrap().unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&some[..count]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_events_ends_with_its_session_and_with_its_token() {
    let server = TestServer::new();
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), None).await.unwrap();
    let address = listener.address();
    let (end, ended) = oneshot::channel::<()>();
    let serving = tokio::spawn(listener.serve(server.app.clone(), async { ended.await.unwrap_or(()) }));
    let (mut signs_out, mut revoked, stays) =
        (server.sign_in("alice").await, server.sign_in("bob").await, server.sign_in("alice").await);
    let [first, second, third] = [&signs_out, &revoked, &stays].map(|visit| visit.cookie(SESSION).unwrap().to_string());
    let (mut first, mut second, mut third) =
        (listen(address, &first).await, listen(address, &second).await, listen(address, &third).await);
    signs_out.get("/").await.expect(200);
    signs_out.post("/sign-out", &[]).await.expect(303);
    let tokens = server.get("owner", "/v1/tokens").await.json();
    let bob = tokens["tokens"].as_array().unwrap().iter().find(|token| token["principal"] == "bob").unwrap();
    let path = format!("/v1/tokens/{}/revoke", bob["id"].as_str().unwrap());
    server.send("owner", "POST", &path, "").await.expect(200);
    revoked.get("/").await.expect(303);
    for stream in [&mut first, &mut second] {
        let mut rest = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("the stream goes on").ok();
        assert!(!String::from_utf8_lossy(&rest).contains("event: accounts"));
    }
    // The other session of the same token goes on.
    server.charge("owner", &["census/alice"], "0.1", "k").await.expect(201);
    hear(&mut third).await;
    end.send(()).unwrap();
    drop(third);
    serving.await.unwrap().unwrap();
}
