//! Security headers, and every form of every page, tested as an attacker would.

use std::collections::BTreeSet;

use crate::fixture::visit::{MULTIPART, with_file};
use crate::fixture::{Reply, TestServer};
use axum::body::Body;
use taximeter_service::Settings;

const SESSION: &str = "taximeter";

/// The state that a form could change: the journal, the tokens and the datasets.
async fn state_of(server: &TestServer) -> (u64, String, String) {
    let [tokens, datasets] = [server.get("owner", "/v1/tokens").await, server.get("owner", "/v1/datasets").await];
    (server.ledger.position().sequence, tokens.text(), datasets.text())
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
    // For screen readers.
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
    let server = TestServer::new();
    for who in ["owner", "auditor", "alice"] {
        let mut visit = server.sign_in(who).await;
        let pages = visit.crawl(&["/"]).await;
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
    let mut visit = server.visit();
    let page = visit.get("/sign-in").await.expect(200);
    check_page("/sign-in", &page);
    check_page("a wrong token", &visit.sign_in("nothing").await.expect(401));
    check_page("no session", &visit.post("/tokens", &[]).await.expect(401));
    check_page("to sign in", &visit.get("/tokens").await.expect(303));
    // Assets may be cached.
    let style =
        page.text().split("<link rel=\"stylesheet\" href=\"").nth(1).unwrap().split('"').next().unwrap().to_string();
    assert_eq!(visit.get(&style).await.expect(200).header("cache-control"), "public, max-age=31536000, immutable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_not_there_is_a_page_for_people_and_a_problem_for_programs() {
    let server = TestServer::new();
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
        let reply = server.visit().send(method, path, &[("Accept", accept)], Body::empty()).await;
        assert_eq!((reply.status.as_u16(), reply.is_page()), (status, is_page), "{method} {path} {accept}");
        if is_page {
            check_page(path, &reply);
        } else {
            assert!(reply.code().is_some());
        }
    }
}

/// The forms of a page: their path, and whether they have a file.
fn forms(page: &str) -> Vec<(String, bool)> {
    let heads = page.split("<form").skip(1).map(|form| form.split('>').next().unwrap());
    let posts = heads.filter(|head| head.contains(" method=\"post\""));
    let action = |head: &str| head.split(" action=\"").nth(1).map(|rest| rest.split('"').next().unwrap().to_string());
    posts.map(|head| (action(head).expect("a form says where it goes"), head.contains("multipart/form-data"))).collect()
}

/// Forms that would change something with the right key.
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
    let server = TestServer::new();
    let mut visit = server.sign_in("owner").await;
    let mut actions: BTreeSet<(String, bool)> = BTreeSet::new();
    for (_, page) in visit.crawl(&["/"]).await {
        actions.extend(forms(&page.text()));
    }
    let mine = ["/sign-out", "/tokens", "/audit/verify", "/register/postgres", "/datasets/census/analysts"];
    for action in mine {
        assert!(actions.contains(&(action.to_string(), false)), "{action} is not among {actions:?}");
    }
    assert!(actions.contains(&("/register".to_string(), true)), "{actions:?}");
    assert!(actions.iter().any(|(action, _)| action.starts_with("/tokens/") && action.ends_with("/revoke")));
    let (mut other, mut door) = (server.sign_in("owner").await, server.visit());
    other.get("/").await.expect(200);
    door.get("/sign-in").await.expect(200);
    let before = state_of(&server).await;
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
                true => (with_file(&fields, TestServer::CSV), MULTIPART.to_string()),
                false => (encoded, "application/x-www-form-urlencoded".to_string()),
            };
            let headers = [("Content-Type", kind.as_str()), header];
            let reply = visit.clone().send("POST", action, &headers, Body::from(body)).await;
            assert_eq!(reply.status, 403, "{action} {what}: {}", reply.text());
            check_page(action, &reply);
        }
    }
    assert_eq!(state_of(&server).await, before);
    assert_eq!(std::fs::read_dir(server.uploads()).unwrap().count(), 0);
    visit.get("/").await.expect(200);
    assert!(visit.get("/audit").await.text().contains("Not verified since"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_sent_to_a_page_nothing_breaks() {
    let server = TestServer::with(Settings { largest_body: 10_000, largest_upload: 50_000, ..Settings::default() });
    let mut visit = server.sign_in("owner").await;
    visit.get("/tokens").await.expect(200);
    let (key, before) = (visit.form_key.clone(), server.ledger.position().sequence);
    let form = "application/x-www-form-urlencoded";
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
        (MULTIPART, Vec::new()),
        (MULTIPART, vec![b'-'; 5000]),
        (MULTIPART, with_file(&[("form_key", &key)], "").into_bytes()),
        (MULTIPART, with_file(&[("form_key", &key), ("dataset", "x"), ("epsilon", "1")], "\0\0\0").into_bytes()),
        (MULTIPART, with_file(&[("form_key", &key), ("dataset", &long)], "a\n1\n").into_bytes()),
        (MULTIPART, with_file(&[("form_key", &key), ("upload", "../../ledger.db")], "a\n1\n").into_bytes()),
        (MULTIPART, with_file(&[("form_key", &key)], &"1\n".repeat(50_000)).into_bytes()),
    ];
    let whole = with_file(&[("form_key", &key), ("dataset", "cut"), ("epsilon", "1")], TestServer::CSV).into_bytes();
    bodies.push((MULTIPART, whole[..whole.len() - 30].to_vec()));
    let id = server.get("owner", "/v1/me").await.json()["token"]["id"].as_str().unwrap().to_string();
    let revoke = format!("/tokens/{}0/revoke", &id[1..]);
    let mut paths: BTreeSet<String> =
        ["/sign-in", "/datasets/x/data", "/datasets/%FF/check", &revoke].map(str::to_string).into();
    for (_, page) in visit.crawl(&["/"]).await {
        paths.extend(forms(&page.text()).into_iter().map(|(action, _)| action));
    }
    // These forms need no values.
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
    assert_eq!(server.ledger.position().sequence, before);
    assert_eq!(server.get("owner", "/v1/datasets").await.json().as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_methods_are_answered_and_do_nothing() {
    let server = TestServer::new();
    let mut visit = server.sign_in("owner").await;
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
