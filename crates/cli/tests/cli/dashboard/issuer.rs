//! Signing in with an OpenID Connect issuer, in a browser.

use std::sync::{Arc, Mutex};

use serde_json::json;
use taximeter_testing::{Browser, Responder, TestIssuer};

use crate::sandbox::{Sandbox, Serving};
use crate::visit::Visit;

const CLAIMS: &str = "name = \"Example\"\n[[grant]]\nclaim = \"groups\"\nvalue = \"audit\"\nrole = \"auditor\"\n";

/// The issuer is on another site than the server, so that the browser treats their cookies apart.
fn with_issuer() -> (Visit, TestIssuer) {
    let sandbox = Sandbox::with_accounts();
    std::fs::write(sandbox.folder.path().join("claims.toml"), CLAIMS).unwrap();
    let issuer = TestIssuer::default();
    let url = issuer.url().replace("127.0.0.1", "localhost");
    issuer.call(&url);
    // The server's port is not known before it starts: what the issuer sends to this address goes on to the server.
    let address = Arc::new(Mutex::new(String::new()));
    let known = Arc::clone(&address);
    let public = Responder::new(move |asked, _| {
        let path = asked.line.split(' ').nth(1).unwrap_or_default();
        Some((302, format!("location: http://{}{path}", known.lock().unwrap()), String::new()))
    });
    let browser = Browser::start().unwrap_or_else(|why| panic!("{why}"));
    let olga = sandbox.token("olga", "owner", &[]);
    let issuer_flags = ["--oidc", &url, "--audience", "taximeter", "--oidc-claims", "claims.toml"];
    let server = Serving::start(&sandbox, &[&issuer_flags[..], &["--public-url", &public.url]].concat());
    *address.lock().unwrap() = server.address.to_string();
    (Visit { browser, server, sandbox, olga }, issuer)
}

#[test]
fn a_person_signs_in_with_the_issuer_and_comes_to_the_page_that_was_asked_for() {
    let (visit, issuer) = with_issuer();
    issuer.sign_in_as(json!({ "sub": "otto", "groups": ["audit"] }));
    visit.go("/accounts/census?note=a");
    visit.follow("Sign in with Example");
    visit.browser.wait_for("header .who strong");
    assert_eq!(visit.path(), "/accounts/census?note=a");
    assert!(visit.text_of("header .who").contains("otto@Example"), "{}", visit.browser.text());
    visit.follow("Sign out");
    visit.go("/accounts/census");
    assert_eq!(visit.path(), "/sign-in?to=%2Faccounts%2Fcensus");
    // A person without a rule is told why, and can use a token.
    issuer.sign_in_as(json!({ "sub": "zoe", "groups": ["garden"] }));
    visit.follow("Sign in with Example");
    assert_eq!(visit.status(), 403);
    assert!(visit.problem().contains("Example knows you as zoe, but no rule"), "{}", visit.problem());
    visit.sign_in(&visit.olga);
    visit.is_content();
}
