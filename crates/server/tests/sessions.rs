//! Sessions, forms and what browsers are told: looked at the way somebody would who wants in.

#[allow(dead_code, reason = "each test program uses its own part")]
mod house;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use house::visit::Visit;
use house::{House, Reply};
use taximeter_server::{Listener, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

const SESSION: &str = "taximeter";
const DOOR: &str = "taximeter-door";

/// What is needed to notice that something was done: the journal, the tokens and the datasets.
async fn state_of(house: &House) -> (u64, String, String) {
    let [tokens, datasets] = [house.get("owner", "/v1/tokens").await, house.get("owner", "/v1/datasets").await];
    (house.ledger.position().sequence, tokens.text(), datasets.text())
}

fn cookies_set(reply: &Reply) -> Vec<String> {
    reply.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap().to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_signs_in_and_out() {
    let house = House::new();
    let mut visit = house.visit();
    let turned = visit.get("/datasets/census").await.expect(303);
    assert_eq!(turned.header("location"), "/sign-in?to=%2Fdatasets%2Fcensus");
    let page = visit.follow(turned).await.expect(200);
    assert_eq!(page.hidden("to").unwrap(), "/datasets/census");
    let fields = [("token", house.secret("owner")), ("to", "/datasets/census")];
    let signed_in = visit.post("/sign-in", &fields).await.expect(303);
    let ticket = visit.cookie(SESSION).unwrap().to_string();
    assert_eq!(
        cookies_set(&signed_in),
        [
            format!("{SESSION}={ticket}; Path=/; HttpOnly; SameSite=Strict"),
            format!("{DOOR}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
        ]
    );
    assert_eq!(visit.cookies.len(), 1);
    let page = visit.follow(signed_in).await.expect(200).text();
    assert!(page.contains("<strong>olga</strong> · owner") && page.contains("<h1>census</h1>"), "{page}");
    let out = visit.post("/sign-out", &[]).await.expect(303);
    assert_eq!(cookies_set(&out), [format!("{SESSION}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")]);
    assert_eq!(out.header("location"), "/sign-in");
    // Whoever kept the cookie has nothing in it.
    visit.cookies.push((SESSION.to_string(), ticket));
    visit.get("/datasets").await.expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_everything_is_encrypted_cookies_are_for_this_host_alone() {
    let house = House::with(Settings { is_encrypted: true, ..Settings::default() });
    let mut visit = house.visit();
    let door = cookies_set(&visit.get("/sign-in").await.expect(200)).concat();
    let signed_in = visit.post("/sign-in", &[("token", house.secret("owner"))]).await.expect(303);
    for cookie in cookies_set(&signed_in).into_iter().chain([door]) {
        assert!(
            cookie.starts_with("__Host-taximeter") && cookie.contains("; Path=/; HttpOnly; SameSite=Strict; Secure")
        );
    }
    visit.get("/").await.expect(200);
    // A cookie that did not come encrypted is another one.
    let ticket = visit.cookie("__Host-taximeter").unwrap().to_string();
    visit.cookies = vec![(SESSION.to_string(), ticket)];
    visit.get("/").await.expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_from_before_is_worth_nothing_after_signing_in() {
    let house = House::new();
    // One that somebody else put there, and knows.
    let planted = "a".repeat(64);
    let mut visit = house.visit();
    visit.cookies = vec![(SESSION.to_string(), planted.clone()), (DOOR.to_string(), planted.clone())];
    visit.get("/").await.expect(303);
    visit.sign_in(house.secret("owner")).await.expect(303);
    let first = visit.cookie(SESSION).unwrap().to_string();
    assert_ne!(first, planted);
    // The one of a session that goes on.
    visit.sign_in(house.secret("auditor")).await.expect(303);
    assert_ne!(visit.cookie(SESSION).unwrap(), first);
    assert!(visit.get("/").await.expect(200).text().contains("otto"));
    for ticket in [planted, first] {
        let mut other = house.visit();
        other.cookies = vec![(SESSION.to_string(), ticket)];
        other.get("/").await.expect(303);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_ticket_or_stands_twice_opens_nothing() {
    let house = House::new();
    let visit = house.sign_in("owner").await;
    let ticket = visit.cookie(SESSION).unwrap().to_string();
    for cookies in [
        format!("{SESSION}={ticket}; {SESSION}={ticket}"),
        format!("{SESSION}={ticket}; {SESSION}={}", "a".repeat(64)),
        format!("{SESSION}={}", ticket.to_uppercase()),
        format!("{SESSION}=\"{ticket}\""),
        format!("{SESSION}={}", &ticket[1..]),
        format!("{SESSION}={ticket}0"),
        format!("{SESSION}="),
        format!("{DOOR}={ticket}"),
        format!("__Host-{SESSION}={ticket}"),
        "=; ;;=".to_string(),
    ] {
        let reply = house.visit().send("GET", "/", &[("Cookie", &cookies)], Body::empty()).await;
        assert_eq!(reply.status, 303, "{cookies}");
    }
    let good = format!("a=b;{SESSION}={ticket} ;c");
    house.visit().send("GET", "/", &[("Cookie", &good)], Body::empty()).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_does_not_sign_in_and_is_not_repeated() {
    let house = House::new();
    let revoked = house.send("owner", "POST", "/v1/tokens", r#"{"principal":"gone","role":"owner"}"#).await.expect(201);
    let path = format!("/v1/tokens/{}/revoke", revoked.json()["token"]["id"].as_str().unwrap());
    house.send("owner", "POST", &path, "").await.expect(200);
    let almost = house.secret("owner").replace("txm_", "txm-");
    for secret in ["", "nothing", "<script>alert(1)</script>", &almost, revoked.json()["secret"].as_str().unwrap()] {
        let mut visit = house.visit();
        let reply = visit.sign_in(secret).await.expect(401);
        assert!(reply.is_page() && reply.text().contains("not known, has expired, or was revoked"));
        assert!(secret.is_empty() || !reply.text().contains(secret), "{secret}");
        assert_eq!(visit.cookie(SESSION), None);
        // And the form can be sent again.
        visit.post("/sign-in", &[("token", house.secret("owner"))]).await.expect(303);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_signed_in_by_another_site() {
    let house = House::new();
    let secret = house.secret("alice");
    let (mut here, mut there) = (house.visit(), house.visit());
    here.get("/sign-in").await.expect(200);
    there.get("/sign-in").await.expect(200);
    let fields = |key: &str| format!("form_key={key}&token={secret}");
    let cookie = |visit: &Visit| format!("{DOOR}={}", visit.cookie(DOOR).unwrap());
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
        let reply = house.visit().send("POST", "/sign-in", &headers, Body::from(fields(key))).await;
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
        let house = House::with(Settings { is_behind_proxy, ..Settings::default() });
        let mut visit = house.visit();
        visit.get("/sign-in").await.expect(200);
        let attempt = async |secret: &str, from: &str| {
            let body = Body::from(format!("form_key={}&token={secret}", visit.form_key));
            let headers = [("Content-Type", "application/x-www-form-urlencoded"), ("X-Forwarded-For", from)];
            visit.clone().send("POST", "/sign-in", &headers, body).await.status.as_u16()
        };
        // Right ones do not count.
        for _ in 0..15 {
            assert_eq!(attempt(house.secret("owner"), "192.0.2.1").await, 303);
        }
        for _ in 0..10 {
            assert_eq!(attempt("nothing", "192.0.2.1").await, 401);
        }
        assert_eq!(attempt("nothing", "192.0.2.1").await, 429);
        assert_eq!(attempt(house.secret("owner"), "192.0.2.1").await, 429);
        // What somebody says is before the comma, and what the proxy says behind it.
        assert_eq!(attempt(house.secret("owner"), "192.0.2.9, 192.0.2.1").await, 429);
        assert_eq!(attempt(house.secret("owner"), "192.0.2.1, 192.0.2.2").await, other_place);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_leads_to_pages_of_ours_alone() {
    let house = House::new();
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
        let mut visit = house.visit();
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("to", to).finish();
        let page = visit.get(&format!("/sign-in?{query}")).await.expect(200);
        assert_eq!(page.hidden("to").unwrap(), expected);
        let reply = visit.post("/sign-in", &[("token", house.secret("owner")), ("to", to)]).await.expect(303);
        assert_eq!(reply.header("location"), expected, "{to}");
    }
    for query in ["?to=/a&to=/b", "?to", "?=", "?%FF=%FF&to=%FF", "?to=%00", "?&&&", "?to=%2F%2Felsewhere.example"] {
        house.visit().get(&format!("/sign-in{query}")).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_on_another_site_leads_to_the_page_and_leaves_the_session_alone() {
    let house = House::new();
    let navigation = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];
    // The browser keeps a strict cookie back.
    let reply = house.visit().send("GET", "/datasets?x=1", &navigation, Body::empty()).await.expect(200);
    assert_eq!(reply.header("refresh"), "0;url=/datasets?x=1");
    assert!(reply.text().contains("<a href=\"/datasets?x=1\">") && cookies_set(&reply).is_empty());
    // Nothing but whole pages goes this way, and no page opens another site.
    let frame = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")];
    house.visit().send("GET", "/datasets", &frame, Body::empty()).await.expect(303);
    let quiet = house.visit().get("/sign-in").await.expect(200);
    assert!(cookies_set(&quiet).iter().all(|cookie| cookie.starts_with(DOOR)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_ends_its_sessions_and_no_others() {
    let house = House::new();
    let (mut olga, mut alice, mut bob) =
        (house.sign_in("owner").await, house.sign_in("alice").await, house.sign_in("bob").await);
    let tokens = house.get("owner", "/v1/tokens").await.json();
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
    house.get("alice", "/v1/me").await.expect(401);
    // One's own.
    let page = olga.get(&of("olga")).await.expect(200).text();
    assert!(page.contains("you are signed in with") && page.contains("last token of an owner"), "{page}");
    let revoked = olga.post(&of("olga"), &[]).await.expect(303);
    assert_eq!((revoked.header("location"), olga.cookie(SESSION)), ("/sign-in", None));
    house.get("owner", "/v1/me").await.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_session_is_told_so_in_its_own_way() {
    let house = House::new();
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
        let reply = house.visit().send(method, path, headers, Body::empty()).await;
        assert_eq!((reply.status.as_u16(), reply.is_page()), (status, is_page), "{method} {path} {headers:?}");
    }
    assert_eq!(house.get("owner", "/tokens").await.status, 303);
    let mut visit = house.sign_in("owner").await;
    visit.get("/v1/me").await.expect(401);
}

/// Every path that the pages lead to for a visitor, with the page.
async fn crawl(visit: &mut Visit<'_>) -> Vec<(String, Reply)> {
    let mut waiting = vec!["/".to_string()];
    let mut known: BTreeSet<String> = waiting.iter().cloned().collect();
    let mut found = Vec::new();
    while let Some(path) = waiting.pop() {
        let reply = visit.get(&path).await;
        for link in reply.text().split(" href=\"").skip(1) {
            let link = link.split('"').next().unwrap().replace("&amp;", "&");
            if link.starts_with('/') && !link.starts_with("/assets/") && known.len() < 300 && known.insert(link.clone())
            {
                waiting.push(link);
            }
        }
        found.push((path, reply));
    }
    found
}

/// The attributes of all elements, as `name="value"` or `name`.
fn attributes(page: &str) -> Vec<String> {
    let mut attributes = Vec::new();
    for tag in page.split('<').skip(1) {
        let (mut rest, mut quoted, mut current) = (tag.chars(), false, String::new());
        for c in rest.by_ref() {
            match c {
                '"' => {
                    quoted = !quoted;
                    current.push(c);
                }
                ' ' | '>' if !quoted => attributes.push(std::mem::take(&mut current)),
                _ => current.push(c),
            }
            if c == '>' && !quoted {
                break;
            }
        }
    }
    attributes
}

fn check_page(path: &str, reply: &Reply) {
    for (name, value) in [
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri \
             'none'; frame-ancestors 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(reply.header(name), value, "{path}");
    }
    if !reply.is_page() {
        return;
    }
    let page = reply.text();
    for attribute in attributes(&page) {
        assert!(!attribute.starts_with("on") && !attribute.starts_with("style"), "{path}: {attribute}");
        assert!(!attribute.contains("javascript:"), "{path}: {attribute}");
    }
    assert!(!page.contains("<style") && !page.contains("http-equiv"), "{path}");
    let scripts: Vec<&str> = page.split("<script").skip(1).collect();
    let is_ours = |script: &&str| script.starts_with(" src=\"/assets/") && script.contains(" defer></script>");
    assert!(scripts.len() == 1 && scripts.iter().all(is_ours), "{path}: {scripts:?}");
    // For those who cannot see it.
    assert!(page.contains("<html lang=\"en\"") && page.matches("<h1>").count() == 1, "{path}");
    let ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{path}: {ids:?}");
    for table in page.split("<table").skip(1) {
        assert!(table.split("</table>").next().unwrap().contains("<caption"), "{path}: a table without a caption");
    }
    for reference in ["for", "aria-labelledby", "aria-describedby", "data-copies", "data-result"] {
        for target in page.split(&format!(" {reference}=\"")).skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(target.split(' ').all(|id| ids.contains(&id)), "{path}: {reference} names {target}");
        }
    }
}

#[test]
fn attributes_are_found() {
    let page = "<a href=\"/x y\" hidden onclick=\"a>b\">style=\"no\"</a><p style=\"\">";
    let expected = ["a", "href=\"/x y\"", "hidden", "onclick=\"a>b\"", "/a", "p", "style=\"\""];
    assert_eq!(attributes(page), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_strict_about_what_a_browser_may_do() {
    let house = House::new();
    for who in ["owner", "auditor", "alice"] {
        let mut visit = house.sign_in(who).await;
        let pages = crawl(&mut visit).await;
        assert!(pages.len() >= 6, "{who}: {:?}", pages.iter().map(|(path, _)| path).collect::<Vec<_>>());
        for (path, reply) in &pages {
            assert_eq!(reply.status, 200, "{who}: {path}");
            check_page(path, reply);
        }
        for path in ["/datasets/nothing", "/datasets/%FF", "/datasets/a%20b", "/accounts/%00", "/tokens/nothing/revoke"]
        {
            let reply = visit.get(path).await;
            assert!(reply.status.is_client_error() || reply.status == 200, "{who}: {path}: {}", reply.status);
            assert!(reply.is_page(), "{who}: {path}");
            check_page(path, &reply);
        }
    }
    let mut visit = house.visit();
    let page = visit.get("/sign-in").await.expect(200);
    check_page("/sign-in", &page);
    check_page("a wrong token", &visit.sign_in("nothing").await.expect(401));
    check_page("no session", &visit.post("/tokens", &[]).await.expect(401));
    check_page("to sign in", &visit.get("/tokens").await.expect(303));
    // What is no secret may be kept.
    let style =
        page.text().split("<link rel=\"stylesheet\" href=\"").nth(1).unwrap().split('"').next().unwrap().to_string();
    assert_eq!(visit.get(&style).await.expect(200).header("cache-control"), "public, max-age=31536000, immutable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_not_there_is_a_page_for_people_and_a_problem_for_programs() {
    let house = House::new();
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (method, path, accept, status, is_page) in [
        ("GET", "/nothing", browser, 404, true),
        ("GET", "/v1x", browser, 404, true),
        ("GET", "/sign-out", browser, 405, true),
        ("PUT", "/tokens", browser, 405, true),
        ("GET", "/nothing", "*/*", 404, false),
        ("GET", "/nothing", "application/json", 404, false),
        ("GET", "/v1/nothing", browser, 404, false),
        ("GET", "/v1", browser, 404, false),
        ("DELETE", "/v1/me", browser, 405, false),
        ("GET", "/v1/me", browser, 401, false),
        ("GET", "/nothing/<script>alert(1)</script>".split('<').next().unwrap(), browser, 404, true),
    ] {
        let reply = house.visit().send(method, path, &[("Accept", accept)], Body::empty()).await;
        assert_eq!((reply.status.as_u16(), reply.is_page()), (status, is_page), "{method} {path} {accept}");
        if is_page {
            check_page(path, &reply);
        } else {
            assert!(reply.code().is_some());
        }
    }
}

/// The forms of a page that are sent: where to, and whether with a file.
fn forms(page: &str) -> Vec<(String, bool)> {
    let heads = page.split("<form").skip(1).map(|form| form.split('>').next().unwrap());
    let posts = heads.filter(|head| head.contains(" method=\"post\""));
    let action = |head: &str| head.split(" action=\"").nth(1).map(|rest| rest.split('"').next().unwrap().to_string());
    posts.map(|head| (action(head).expect("a form says where it goes"), head.contains("multipart/form-data"))).collect()
}

const BOUNDARY: &str = "----edge";

/// A form with a file in it.
fn with_file(fields: &[(&str, &str)], file: &str) -> String {
    let mut body = String::new();
    for (name, value) in fields {
        body += &format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    }
    body += &format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"data.csv\"\r\nContent-Type: text/csv\r\n\r\n{file}\r\n--{BOUNDARY}--\r\n"
    );
    body
}

/// What would do something if it were sent with the right key.
const FILLED: [(&str, &str); 12] = [
    ("key", "one"),
    ("principal", "eve"),
    ("role", "owner"),
    ("analyst", "eve"),
    ("dataset", "eve"),
    ("account", "eve"),
    ("name", "eve"),
    ("epsilon", "0.1"),
    ("delta", "1e-7"),
    ("budget", "0.1,1e-7"),
    ("question", "SELECT COUNT(*) FROM census"),
    ("note", "eve"),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_form_does_anything_without_the_key_of_its_own_session() {
    let house = House::new();
    let mut visit = house.sign_in("owner").await;
    let mut actions: BTreeSet<(String, bool)> = BTreeSet::new();
    for (_, page) in crawl(&mut visit).await {
        actions.extend(forms(&page.text()));
    }
    let mine = ["/sign-out", "/tokens", "/audit/verify", "/register/postgres", "/datasets/census/analysts"];
    for action in mine {
        assert!(actions.contains(&(action.to_string(), false)), "{action} is not among {actions:?}");
    }
    assert!(actions.contains(&("/register".to_string(), true)), "{actions:?}");
    assert!(actions.iter().any(|(action, _)| action.starts_with("/tokens/") && action.ends_with("/revoke")));
    let (mut other, mut door) = (house.sign_in("owner").await, house.visit());
    other.get("/").await.expect(200);
    door.get("/sign-in").await.expect(200);
    let before = state_of(&house).await;
    let [ours, theirs] = [&visit, &other].map(|visit| visit.form_key.clone());
    assert_ne!(ours, theirs);
    for (action, has_file) in &actions {
        for (what, key, header) in [
            ("without a key", None, ("X", "")),
            ("with an empty key", Some(String::new()), ("X", "")),
            ("with another session's key", Some(theirs.clone()), ("X", "")),
            ("with the door's key", Some(door.form_key.clone()), ("X", "")),
            ("with the ticket itself", visit.cookie(SESSION).map(str::to_string), ("X", "")),
            ("from another site", Some(ours.clone()), ("Origin", "http://elsewhere.example")),
            ("from a hidden site", Some(ours.clone()), ("Origin", "null")),
            ("from another site, in a word", Some(ours.clone()), ("Sec-Fetch-Site", "cross-site")),
        ] {
            let key: Vec<(&str, &str)> = key.iter().map(|key| ("form_key", key.as_str())).collect();
            let fields: Vec<(&str, &str)> = key.iter().copied().chain(FILLED).collect();
            let encoded = form_urlencoded::Serializer::new(String::new()).extend_pairs(&fields).finish();
            let (body, kind) = match has_file {
                true => (with_file(&fields, House::CSV), format!("multipart/form-data; boundary={BOUNDARY}")),
                false => (encoded, "application/x-www-form-urlencoded".to_string()),
            };
            let headers = [("Content-Type", kind.as_str()), header];
            let reply = visit.clone().send("POST", action, &headers, Body::from(body)).await;
            assert_eq!(reply.status, 403, "{action} {what}: {}", reply.text());
            check_page(action, &reply);
        }
    }
    assert_eq!(state_of(&house).await, before);
    assert_eq!(std::fs::read_dir(house.uploads()).unwrap().count(), 0);
    visit.get("/").await.expect(200);
    assert!(visit.get("/audit").await.text().contains("Nobody has verified"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_sent_to_a_page_nothing_breaks() {
    let house = House::with(Settings { largest_body: 10_000, largest_upload: 50_000, ..Settings::default() });
    let mut visit = house.sign_in("owner").await;
    visit.get("/tokens").await.expect(200);
    let (key, before) = (visit.form_key.clone(), house.ledger.position().sequence);
    let form = "application/x-www-form-urlencoded";
    let multipart = format!("multipart/form-data; boundary={BOUNDARY}");
    let long = "9".repeat(20_000);
    let mut bodies: Vec<(&str, Vec<u8>)> = vec![
        ("", Vec::new()),
        (form, Vec::new()),
        (form, format!("form_key={key}").into_bytes()),
        (form, format!("form_key={key}&form_key=0&principal=%FF%00&role=owner&key=%00").into_bytes()),
        (form, format!("form_key={key}&={}&&&=&%&%zz", "&".repeat(1000)).into_bytes()),
        (form, format!("form_key={key}&principal={long}").into_bytes()),
        (
            form,
            format!("form_key={key}&principal=<script>&role=<b>&expires=tomorrow&key=k&accounts=../..").into_bytes(),
        ),
        (form, vec![0xff; 5000]),
        ("application/json", b"{}".to_vec()),
        ("text/plain", format!("form_key={key}").into_bytes()),
        ("multipart/form-data", b"x".to_vec()),
        (&multipart, Vec::new()),
        (&multipart, vec![b'-'; 5000]),
        (&multipart, with_file(&[("form_key", &key)], "").into_bytes()),
        (&multipart, with_file(&[("form_key", &key), ("dataset", "x"), ("epsilon", "1")], "\0\0\0").into_bytes()),
        (&multipart, with_file(&[("form_key", &key), ("dataset", &long)], "a\n1\n").into_bytes()),
        (&multipart, with_file(&[("form_key", &key), ("upload", "../../ledger.db")], "a\n1\n").into_bytes()),
        (&multipart, with_file(&[("form_key", &key)], &"1\n".repeat(50_000)).into_bytes()),
    ];
    let whole = with_file(&[("form_key", &key), ("dataset", "cut"), ("epsilon", "1")], House::CSV).into_bytes();
    bodies.push((&multipart, whole[..whole.len() - 30].to_vec()));
    let id = house.get("owner", "/v1/me").await.json()["token"]["id"].as_str().unwrap().to_string();
    let revoke = format!("/tokens/{}0/revoke", &id[1..]);
    let mut paths: BTreeSet<String> =
        ["/sign-in", "/datasets/x/data", "/datasets/%FF/check", &revoke].map(str::to_string).into();
    for (_, page) in crawl(&mut visit).await {
        paths.extend(forms(&page.text()).into_iter().map(|(action, _)| action));
    }
    // These need nothing to be filled in, and would do what they do.
    let needs_more = |path: &&String| {
        *path == &revoke || !["/sign-out", "/audit/verify", "/check", "/revoke"].iter().any(|end| path.ends_with(end))
    };
    for path in paths.iter().filter(needs_more) {
        for (kind, body) in &bodies {
            let mut visit = visit.clone();
            let what = format!("{path} {kind} {}", String::from_utf8_lossy(&body[..body.len().min(100)]));
            let reply = visit.send("POST", path, &[("Content-Type", kind)], Body::from(body.clone())).await;
            assert!(!reply.status.is_server_error(), "{what}: {} {}", reply.status, reply.text());
            assert!(reply.is_page(), "{what}");
            check_page(&what, &reply);
        }
    }
    assert_eq!(house.ledger.position().sequence, before);
    assert_eq!(house.get("owner", "/v1/datasets").await.json().as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_methods_are_answered_and_do_nothing() {
    let house = House::new();
    let mut visit = house.sign_in("owner").await;
    for path in
        ["/", "/audit", "/tokens", "/datasets", "/datasets/census", "/register", "/sign-in", "/datasets/nothing"]
    {
        let status = if path == "/datasets/nothing" { 404 } else { 200 };
        let head = visit.send("HEAD", path, &[], Body::empty()).await;
        assert_eq!((head.status.as_u16(), head.bytes.len()), (status, 0), "{path}");
        for method in ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "BREW"] {
            let reply = visit.send(method, path, &[], Body::empty()).await;
            assert_eq!(reply.status, 405, "{method} {path}");
            assert_eq!(reply.header("access-control-allow-origin"), "");
        }
    }
    visit.get("/").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_be_said_is_said_to_somebody_who_looks() {
    let house = House::new();
    let mut visit = house.sign_in("owner").await;
    visit.get("/datasets/census").await.expect(200);
    visit.post("/datasets/census/check", &[]).await.expect(303);
    let script = [("taximeter-script", "1")];
    let said = "is as it was registered";
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
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains("event: accounts") {
        let mut some = [0; 4096];
        let count = timeout(Duration::from_secs(10), stream.read(&mut some)).await.unwrap().unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&some[..count]);
    }
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_events_ends_with_its_session_and_with_its_token() {
    let house = House::new();
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), None).await.unwrap();
    let address = listener.address();
    let (end, ended) = oneshot::channel::<()>();
    let serving = tokio::spawn(listener.serve(Arc::clone(&house.state), async { ended.await.unwrap_or(()) }));
    let (mut signs_out, mut revoked, stays) =
        (house.sign_in("alice").await, house.sign_in("bob").await, house.sign_in("alice").await);
    let [first, second, third] = [&signs_out, &revoked, &stays].map(|visit| visit.cookie(SESSION).unwrap().to_string());
    let (mut first, mut second, mut third) =
        (listen(address, &first).await, listen(address, &second).await, listen(address, &third).await);
    signs_out.get("/").await.expect(200);
    signs_out.post("/sign-out", &[]).await.expect(303);
    let tokens = house.get("owner", "/v1/tokens").await.json();
    let bob = tokens["tokens"].as_array().unwrap().iter().find(|token| token["principal"] == "bob").unwrap();
    let path = format!("/v1/tokens/{}/revoke", bob["id"].as_str().unwrap());
    house.send("owner", "POST", &path, "").await.expect(200);
    revoked.get("/").await.expect(303);
    for stream in [&mut first, &mut second] {
        let mut rest = Vec::new();
        timeout(Duration::from_secs(3), stream.read_to_end(&mut rest)).await.expect("the stream goes on").ok();
        assert!(!String::from_utf8_lossy(&rest).contains("event: accounts"));
    }
    // The other session of the same token goes on.
    let mut some = [0; 64];
    assert!(timeout(Duration::from_millis(500), third.read(&mut some)).await.is_err());
    end.send(()).unwrap();
    drop(third);
    serving.await.unwrap().unwrap();
}
