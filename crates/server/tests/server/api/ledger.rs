//! Verification, export and tokens.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_is_verified_and_exported_whole() {
    let server = TestServer::new();
    assert_eq!(server.get("auditor", "/v1/verify").await.expect(200).json()["state"], "none");
    for at in 0..50 {
        server.charge("owner", &["wages"], "0.001", &format!("k{at}")).await.expect(201);
    }
    server.send("auditor", "POST", "/v1/verify", "").await.expect(202);
    let state = crate::fixture::eventually("the journal is verified", async || {
        let state = server.get("auditor", "/v1/verify").await.expect(200).json();
        (state["state"] != "running").then_some(state)
    });
    let state = state.await;
    let ledger = server.get("auditor", "/v1/ledger").await.expect(200).json();
    assert_eq!(
        (&state["state"], &state["whole"], &state["records"]),
        (&json!("whole"), &json!(true), &ledger["records"])
    );
    let export = server.get("auditor", "/v1/export").await.expect(200);
    assert_eq!(export.header("content-type"), "application/jsonl");
    let lines: Vec<Value> = export.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len() as u64, ledger["records"].as_u64().unwrap() + 1);
    assert_eq!(lines.last().unwrap()["end"], ledger["newest"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_breaks_off_when_its_token_ends() {
    let server = TestServer::new();
    let note = Note::parse("note", &"n".repeat(500)).unwrap();
    let cost = Cost::parse_epsilon("0.0001").unwrap().cost;
    for _ in 0..600 {
        let charge = Charge::new(Key::generate().unwrap(), vec![AccountName::parse("wages").unwrap()], vec![cost]);
        server.ledger.charge(charge.unwrap().with_note(Some(note.clone()))).unwrap();
    }
    let whole = server.get("auditor", "/v1/export").await.expect(200).bytes.len();
    for is_revoked in [false, true] {
        let made = server.send("owner", "POST", "/v1/tokens", r#"{"principal":"nora","role":"auditor"}"#).await;
        let made = made.expect(201).json();
        let secret = format!("Bearer {}", made["secret"].as_str().unwrap());
        let request = Request::get("/v1/export").header("Authorization", secret).body(Body::empty()).unwrap();
        let body = server.app.answer(request).await.into_body();
        if is_revoked {
            let path = format!("/v1/tokens/{}/revoke", made["token"]["id"].as_str().unwrap());
            server.send("owner", "POST", &path, "").await.expect(200);
        }
        // The client was slow: less than half was sent.
        let read = body.collect().await.map(|body| body.to_bytes().len());
        assert_eq!(read.ok(), (!is_revoked).then_some(whole));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_created_used_and_revoked() {
    let server = TestServer::new();
    let made = server.send("owner", "POST", "/v1/tokens", r#"{"principal":"nora","role":"auditor"}"#).await.expect(201);
    assert_eq!(made.header("cache-control"), "no-store");
    let made = made.json();
    let get = |secret: String| Request::get("/v1/me").header("Authorization", secret).body(Body::empty()).unwrap();
    let secret = made["secret"].as_str().unwrap();
    let me = server.raw(get(format!("bearer {secret}"))).await.expect(200).json();
    assert_eq!(
        (&me["token"]["principal"], me["ledger"].as_str().unwrap()),
        (&json!("nora"), server.ledger.id().to_string().as_str())
    );
    for header in [secret.to_string(), format!("Basic {secret}"), format!("Bearer {secret}x"), "Bearer ".to_string()] {
        let reply = server.raw(get(header)).await.expect(401);
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
    let list = server.get("owner", "/v1/tokens").await.expect(200);
    assert!(!list.text().contains(secret));
    let id = made["token"]["id"].as_str().unwrap();
    let revoked = server.send("owner", "POST", &format!("/v1/tokens/{id}/revoke"), "").await.expect(200).json();
    assert!(revoked["revoked"].is_string());
    server.raw(get(format!("Bearer {secret}"))).await.expect(401);
}
