//! The server and its tokens, as one uses them at the command line.

use serde_json::json;
use taximeter_testing::{IssuerBehaviour, TestIssuer};

use crate::sandbox::{Sandbox, Serving, text};

const CLAIMS: &str = "name = \"example\"\n[[grant]]\nclaim = \"groups\"\nvalue = \"audit\"\nrole = \"auditor\"\n";

/// Ends a server with a signal: the exit code, and what it told.
fn end(mut server: Serving, signal: &str) -> (Option<i32>, String) {
    let code = server.signal(signal);
    (code, server.told())
}

#[test]
fn a_server_serves_tokens_that_are_made_and_revoked_beside_it_and_ends_in_order() {
    let sandbox = Sandbox::with_accounts();
    let server = Serving::start(&sandbox, &["--log", "json"]);
    let made = sandbox.run(&["token", "create", "olga", "--role", "owner"]);
    assert!(made.status.success(), "{}", text(&made));
    let told = String::from_utf8(made.stderr).unwrap();
    for part in ["of olga: owner, until 20", "shown only once", "TAXIMETER_TOKEN"] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    let secret = String::from_utf8(made.stdout).unwrap().trim_end().to_string();
    assert_eq!(secret.len(), 85, "the token alone: {secret:?}");
    server.becomes(&secret, 200);
    sandbox.done(&["token", "revoke", &secret[4..20]]);
    server.becomes(&secret, 401);
    let (code, told) = end(server, "-TERM");
    assert_eq!(code, Some(0), "{told}");
    for part in ["there are no tokens yet", "`taximeter token create NAME --role owner`", "\"event\":\"start\""] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    assert!(told.trim_end().ends_with("\"event\":\"end\",\"cut_off\":0}"), "{told}");
    assert!(!told.contains("txm_") && !told.contains(&secret[21..]), "{told}");
    // The ledger is free again.
    sandbox.charge("census", "0.1");
}

#[test]
fn an_interrupt_ends_it_too_and_the_log_may_be_words_or_nothing() {
    let sandbox = Sandbox::with_accounts();
    sandbox.done(&["token", "create", "olga", "--role", "owner"]);
    let (code, told) = end(Serving::start(&sandbox, &["--log", "text", "--tick", "250ms"]), "-INT");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("serves at http://127.0.0.1:") && told.contains("all requests were answered"), "{told}");
    assert!(!told.contains("no tokens yet"), "{told}");
    let (code, told) = end(Serving::start(&sandbox, &["--log", "off"]), "-INT");
    assert_eq!((code, told.lines().count()), (Some(0), 2), "{told}");
}

/// The issuer is away when the server starts, and comes back.
#[test]
fn a_server_accepts_tokens_of_an_issuer_beside_its_own() {
    let (sandbox, issuer) = (Sandbox::with_accounts(), TestIssuer::default());
    std::fs::write(sandbox.folder.path().join("claims.toml"), CLAIMS).unwrap();
    let own = sandbox.document(0, &["token", "create", "olga", "--role", "owner"]);
    let own = own["secret"].as_str().unwrap();
    issuer.behave(IssuerBehaviour::Away);
    let flags = ["--log", "json", "--oidc", issuer.url(), "--audience", "taximeter", "--oidc-claims", "claims.toml"];
    let server = Serving::start(&sandbox, &flags);
    let token = issuer.token(json!({ "groups": ["audit"] }));
    server.tells("issuer-lost");
    assert_eq!((server.status(&token), server.status(own)), (503, 200));
    issuer.behave(IssuerBehaviour::Fine);
    server.becomes(&token, 200);
    assert_eq!(server.status(&issuer.token(json!({ "groups": ["garden"] }))), 403);
    assert_eq!(server.status(&issuer.token(json!({ "groups": ["audit"], "aud": "payroll" }))), 401);
    let (code, told) = end(server, "-TERM");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("issuer-back") && told.contains("\"principal\":\"alice@example\""), "{told}");
    assert!(!told.contains(&token) && !told.contains("audit\"]"), "{told}");
}

#[test]
fn what_cannot_be_served_is_said() {
    let sandbox = Sandbox::with_accounts();
    std::fs::write(sandbox.folder.path().join("claims.toml"), CLAIMS.replace("value", "valeu")).unwrap();
    for (arguments, part) in [
        (&["--listen", "0.0.0.0:7070"][..], "--behind-proxy"),
        (&["--listen", "localhost"], "127.0.0.1:7070"),
        (&["--tls-cert", "a.pem"], "--tls-key"),
        (&["--tls-cert", "a.pem", "--tls-key", "a.key"], "a.pem"),
        (&["--tick", "2h"], "250ms"),
        (&["--largest-body", "1kb"], "256KiB"),
        (&["--connections", "0"], "between 1"),
        (&["--json"], "--log json"),
        (&["--oidc", "https://login.example.org"], "--audience"),
        (&["--audience", "taximeter"], "--oidc"),
        (&["--public-url", "https://budgets.example"], "--oidc"),
        (&["--oidc", "http://login.example.org", "--audience", "a", "--oidc-claims", "claims.toml"], "use https://"),
        (
            &["--oidc", "https://login.example.org", "--audience", "a", "--oidc-claims", "claims.toml"],
            "valeu of grant 1",
        ),
        (
            &[
                "--oidc",
                "https://login.example.org",
                "--audience",
                "a",
                "--oidc-claims",
                "claims.toml",
                "--public-url",
                "https://budgets.example",
                "--oidc-secret-file",
                "missing.txt",
            ],
            "--oidc-secret-file missing.txt cannot be read",
        ),
        (&["--ledger", "missing.db"], "there is no ledger at missing.db"),
    ] {
        let message = sandbox.fails(2, &[&["serve"], arguments].concat());
        assert!(message.contains(part), "{arguments:?}: {part:?} is not in {message}");
    }
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let sandbox = Sandbox::with_accounts();
    assert!(sandbox.done(&["token", "list"]).contains("there are no tokens"));
    let made = sandbox.document(
        0,
        &[
            "token",
            "create",
            "alice",
            "--role",
            "analyst",
            "--account",
            "census/alice",
            "--dataset",
            "people",
            "--sees-above",
            "--expires",
            "30d",
        ],
    );
    let id = made["token"]["id"].as_str().unwrap();
    assert_eq!(made["token"]["accounts"][0], "census/alice");
    let list = sandbox.done(&["token", "list"]);
    assert!(list.contains(id) && list.contains("analyst of census/alice, asks about people, sees above"), "{list}");
    assert!(list.contains("valid") && !list.contains("txm_"), "{list}");
    assert_eq!(sandbox.document(0, &["token", "revoke", id])["id"], id);
    assert!(sandbox.done(&["token", "list"]).contains("revoked"));
    assert_eq!(sandbox.document(0, &["token", "list"])["tokens"].as_array().unwrap().len(), 1);
    for (arguments, part) in [
        (&["create", "a:b", "--role", "owner"][..], "contains ':'"),
        (&["create", "alice", "--role", "analyst"], "no account and no dataset"),
        (&["create", "alice", "--role", "king"], "king"),
        (&["create", "alice", "--role", "owner", "--expires", "soon"], "90d"),
        (&["create", "alice", "--role", "owner", "--expires", "0d"], "has passed"),
        (&["create", "alice", "--role", "analyst", "--account", "//"], "account name"),
        (&["revoke", "0123456789abcdef"], "`token list`"),
        (&["revoke", made["secret"].as_str().unwrap()], "16 digits"),
    ] {
        let message = sandbox.fails(2, &[&["token"], arguments].concat());
        assert!(message.contains(part), "{arguments:?}: {part:?} is not in {message}");
        assert!(!message.contains(made["secret"].as_str().unwrap()), "{message}");
    }
}
