//! Tokens of an issuer on the API.

use serde_json::{Value, json};
use taximeter_testing::{IssuerBehaviour, TestIssuer, TestKey};

use super::{OidcServer, person};

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_of_the_issuer_is_known_by_a_name_of_its_own() {
    let mut all = OidcServer::new();
    let token = all.issuer.token(person("alice", "analysts"));
    all.server.give("alice@example", token);
    let me = all.server.get("alice@example", "/v1/me").await.expect(200).json();
    assert_eq!((&me["token"]["principal"], &me["token"]["role"]), (&json!("alice@example"), &json!("analyst")));
    assert_eq!(me["token"]["issuer"], all.issuer.url());
    assert_eq!(me["token"]["accounts"], json!(["census/alice"]));
    // The same key belongs to two: to a token's holder, and to the issuer's.
    for who in ["alice", "alice@example"] {
        let receipt = all.server.charge(who, &["census/alice"], "0.01", "k").await.expect(201).json();
        let record = all.server.get("owner", &format!("/v1/receipts/{}", receipt["sequence"])).await.expect(200).text();
        assert!(record.contains(&format!("\"by\":\"{who}\"")), "{record}");
        all.server.charge(who, &["census/alice"], "0.01", "k").await.expect(200);
    }
    // A token for the same name as the issuer's cannot be made.
    let body = json!({ "principal": "alice@example", "role": "auditor" }).to_string();
    let refused = all.server.send("owner", "POST", "/v1/tokens", &body).await.expect(400);
    assert!(refused.text().contains("contains '@'"), "{}", refused.text());
    // It is not in the list of tokens, and cannot be revoked there.
    let list = all.server.get("owner", "/v1/tokens").await.expect(200).text();
    assert!(!list.contains("@example"), "{list}");
    let path = format!("/v1/tokens/{}/revoke", me["token"]["id"].as_str().unwrap());
    all.server.send("owner", "POST", &path, "").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_foreign_and_expired_tokens_are_refused_and_not_repeated() {
    let mut all = OidcServer::new();
    let (key, now) = (all.issuer.key(), all.issuer.claims(json!({}))["iat"].as_i64().unwrap());
    let other = TestIssuer::new(TestKey::rsa("first"));
    let owner = |more: Value| {
        let mut claims = person("mallory", "owners");
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all.issuer.claims(claims)
    };
    let good = key.token(&owner(json!({})));
    let (rest, signature) = good.rsplit_once('.').unwrap();
    let swapped = key.token(&owner(json!({ "sub": "eve" })));
    let tokens = [
        ("without a signature", key.unsigned_token(&owner(json!({})))),
        ("with the public key as a secret", key.confused_token(&owner(json!({})))),
        ("of another key with the same id", TestKey::p256("first").token(&owner(json!({})))),
        ("of a key that does not exist", TestKey::p256("missing").token(&owner(json!({})))),
        ("for another audience", key.token(&owner(json!({ "aud": "payroll" })))),
        ("for no audience", key.token(&owner(json!({ "aud": null })))),
        ("of another issuer", other.token(person("mallory", "owners"))),
        ("of another issuer with this one's key", key.token(&owner(json!({ "iss": other.url() })))),
        ("expired", key.token(&owner(json!({ "exp": now - 61 })))),
        ("without an end", key.token(&owner(json!({ "exp": null })))),
        ("not yet valid", key.token(&owner(json!({ "nbf": now + 3600 })))),
        ("from the future", key.token(&owner(json!({ "iat": now + 3600 })))),
        ("with another's signature", format!("{rest}.{}", swapped.rsplit_once('.').unwrap().1)),
        ("with a cut signature", format!("{rest}.{}", &signature[..signature.len() - 4])),
        ("without its signature", format!("{rest}.")),
        ("too long", key.token(&owner(json!({ "more": "a".repeat(16_384) })))),
        ("nonsense", "a.b.c".to_string()),
    ];
    for (what, token) in tokens {
        all.server.give("mallory", token.clone());
        let reply = all.server.get("mallory", "/v1/me").await;
        assert_eq!(
            (reply.status.as_u16(), reply.code().as_deref()),
            (401, Some("unauthorized")),
            "{what}: {}",
            reply.text()
        );
        assert_eq!(reply.header("www-authenticate"), "Bearer");
        let text = reply.text();
        assert!(
            !text.contains("mallory") && !text.contains(all.issuer.url()) && !text.contains(&token),
            "{what}: {text}"
        );
    }
    all.server.give("mallory", good);
    all.server.get("mallory", "/v1/me").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_whom_no_rule_names_is_told_so() {
    let mut all = OidcServer::new();
    for (claims, part) in [
        (person("zoe", "gardeners"), "no rule in this server's claims file"),
        (json!({ "sub": "zoe" }), "no rule in this server's claims file"),
        (person("zoe/../alice", "owners"), "cannot name you here"),
        (json!({ "sub": null, "groups": ["owners"] }), "no claim sub"),
    ] {
        let token = all.issuer.token(claims);
        all.server.give("zoe", token);
        let reply = all.server.get("zoe", "/v1/accounts").await.expect(403);
        assert_eq!(reply.code().as_deref(), Some("forbidden"));
        assert!(reply.text().contains(part), "{}", reply.text());
        assert!(!reply.text().contains("owners"), "the rules are not told: {}", reply.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_this_server_need_no_issuer() {
    let all = OidcServer::with_callers();
    all.issuer.behave(IssuerBehaviour::Away);
    let reply = all.server.get("alice", "/v1/me").await.expect(503);
    assert_eq!((reply.code().as_deref(), reply.header("retry-after")), (Some("busy"), "1"));
    assert!(reply.text().contains("nothing was charged"), "{}", reply.text());
    all.server.get("bob", "/v1/me").await.expect(200);
    all.server.get("bad", "/v1/me").await.expect(401);
    // Without an issuer, its tokens are no tokens.
    let token = all.issuer.token(person("olga", "owners"));
    let mut without = crate::fixture::TestServer::new();
    without.give("olga", token);
    without.get("olga", "/v1/me").await.expect(401);
    all.issuer.behave(IssuerBehaviour::Fine);
}
