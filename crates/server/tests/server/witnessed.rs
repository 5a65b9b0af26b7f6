//! Records that wait for a witness on another machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use taximeter_service::Settings;

use crate::fixture::{TestServer, eventually};

/// The outcome of a charge was unknown, and its receipt was withheld; but the history had the same bytes.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_waits_for_a_witness_is_a_receipt_nowhere() {
    let is_up = Arc::new(AtomicBool::new(true));
    let server = TestServer::with_witness(Settings::default(), Some(&is_up));
    server.charge("above", &["census/alice"], "0.01", "before").await.expect(201);
    is_up.store(false, Ordering::SeqCst);
    server.charge("above", &["census/alice"], "0.01", "unknown").await.expect(503);
    let sequence = server.ledger.position().sequence;
    let receipt = format!("/v1/receipts/{sequence}");
    assert_eq!(server.get("above", "/v1/receipts?key=unknown").await.code().as_deref(), Some("unknown-outcome"));
    assert_eq!(server.get("above", &receipt).await.code().as_deref(), Some("unknown-outcome"));
    let history = async |who: &str| {
        let document = server.get(who, "/v1/accounts/census%2Falice/history").await.expect(200).json();
        let mut pages = server.sign_in(who).await;
        let download = pages.get("/accounts/census%2Falice/history.jsonl").await.expect(200).text();
        let lines: Vec<Value> = download.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(document["records"], Value::Array(lines));
        (document, pages.get("/accounts/census%2Falice").await.expect(200).text())
    };
    let file = format!("/receipts/{sequence}.json");
    for who in ["owner", "above"] {
        let (document, page) = history(who).await;
        let (newest, before) = (&document["records"][0], &document["records"][1]);
        assert_eq!((&newest["sequence"], &newest["waits_for_witnesses"]), (&sequence.into(), &true.into()));
        assert_eq!((&newest["hash"], &newest["record"]), (&Value::Null, &Value::Null));
        assert!(before["hash"].is_string() && !before["record"].is_null() && before["waits_for_witnesses"].is_null());
        assert!(page.contains("waits for witnesses") && !page.contains(&file), "{page}");
    }
    // To others it is as if there were no such record.
    let foreign = server.get("bob", &receipt).await;
    let missing = server.get("bob", "/v1/receipts/999999").await;
    assert_eq!((foreign.code(), missing.code().as_deref()), (missing.code(), Some("not-found")));
    is_up.store(true, Ordering::SeqCst);
    eventually("the witness is asked again", async || server.ledger.health().ok()).await;
    let (document, page) = history("above").await;
    assert!(document["records"][0]["record"].is_string() || document["records"][0]["record"].is_object());
    assert!(page.contains(&file), "{page}");
    server.get("above", &receipt).await.expect(200);
}
