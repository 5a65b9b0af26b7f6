//! Verification and export.

use super::*;

/// The audit page after the verification. Until then it shows progress and reloads.
async fn verified(auditor: &mut Visit<'_>) -> String {
    crate::fixture::eventually("the ledger is verified", async || {
        let text = auditor.get("/audit").await.expect(200).text();
        let is_running = text.contains("Verifying");
        let shown = ["data-again=\"500\"", "<progress"].map(|part| text.contains(part));
        assert_eq!(shown, [is_running, is_running], "{text}");
        (!is_running).then_some(text)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_auditor_verifies_with_progress_and_a_result() {
    let server = TestServer::new();
    for at in 0..20 {
        server.charge("alice", &["census/alice"], "0.01", &format!("k{at}")).await.expect(201);
    }
    let mut auditor = server.sign_in("auditor").await;
    let page = auditor.get("/audit").await.expect(200).text();
    assert!(page.contains("Not verified since") && page.contains("the newest record"), "{page}");
    let ledger = server.get("owner", "/v1/ledger").await.json();
    for value in [&ledger["ledger"], &ledger["newest"]["hash"], &ledger["location"], &ledger["witness"]["path"]] {
        assert!(page.contains(value.as_str().unwrap()), "{value}");
    }
    let begun = auditor.post("/audit/verify", &[]).await;
    auditor.follow(begun).await.expect(200);
    let text = verified(&mut auditor).await;
    let records = ledger["records"].as_u64().unwrap();
    assert!(text.contains("The ledger is whole.") && text.contains(&format!("All {records} records")), "{text}");
    server.charge("alice", &["census/alice"], "0.01", "more").await.expect(201);
    assert!(auditor.get("/audit").await.text().contains("1 record was added since."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_ledger_is_reported_with_the_record() {
    let server = TestServer::new();
    for at in 0..5 {
        server.charge("alice", &["census/alice"], "0.01", &format!("k{at}")).await.expect(201);
    }
    let database = rusqlite::Connection::open(server.folder.path().join("ledger.db")).unwrap();
    let line: String = database.query_row("SELECT line FROM journal WHERE sequence = 6", [], |row| row.get(0)).unwrap();
    let changed = line.replace("0.01", "0.00");
    assert_ne!(line, changed);
    database.execute("UPDATE journal SET line = ?1 WHERE sequence = 6", [changed]).unwrap();
    let mut auditor = server.sign_in("auditor").await;
    auditor.get("/audit").await.expect(200);
    auditor.post("/audit/verify", &[]).await.expect(303);
    let text = verified(&mut auditor).await;
    assert!(text.contains("The ledger is broken.") && text.contains("record 6"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_export_is_the_journal_as_a_file() {
    let server = TestServer::new();
    let mut auditor = server.sign_in("auditor").await;
    let reply = auditor.get("/audit/export").await.expect(200);
    let ledger = server.get("owner", "/v1/ledger").await.json()["ledger"].as_str().unwrap().to_string();
    assert_eq!(reply.header("content-disposition"), format!("attachment; filename=\"taximeter-{ledger}.jsonl\""));
    assert_eq!(reply.header("content-type"), "application/jsonl");
    assert_eq!(reply.bytes, server.get("owner", "/v1/export").await.bytes);
}
