//! The forms of owners and auditors: datasets, tokens and the audit.

mod audit;
mod datasets;
mod tokens;

use crate::fixture::visit::Visit;
use crate::fixture::{Reply, TestServer};
use axum::body::Body;
use serde_json::json;
use taximeter_service::Settings;

#[tokio::test(flavor = "multi_thread")]
async fn text_of_others_is_escaped() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    owner.get("/tokens").await.expect(200);
    let script = "<script>alert(1)</script>";
    let key = owner.get("/tokens").await.hidden("key").unwrap();
    let fields = [("principal", script), ("role", script), ("expires", script), ("key", &key)];
    for reply in [
        owner.post("/tokens", &fields).await.expect(400),
        owner.post("/datasets/census/analysts", &[("analyst", script), ("epsilon", script)]).await.expect(400),
        owner
            .post("/register/postgres", &[("dataset", script), ("unit", "row"), ("table", script), ("bounds", script)])
            .await
            .expect(400),
        owner.get("/datasets/%3Cscript%3Ealert(1)%3C%2Fscript%3E").await.expect(400),
    ] {
        assert!(!reply.text().contains(script) && reply.text().contains("&lt;script&gt;"), "{}", reply.text());
    }
    // Columns and categories may contain any text.
    let csv = "<b>,<i>\n1,x\n";
    let fields = [
        ("dataset", "odd"),
        ("unit", "row"),
        ("epsilon", "1"),
        ("delta", "1e-6"),
        ("categories", "<i>=<u>,x"),
        ("bounds", "<b>=0..9"),
    ];
    send_file(&mut owner, "/register", &fields, csv).await.expect(303);
    for path in ["/datasets", "/datasets/odd"] {
        let page = owner.get(path).await.expect(200).text();
        assert!(["<b>", "<i>", "<u>"].iter().all(|tag| !page.contains(tag)), "{page}");
    }
    assert!(owner.get("/datasets/odd").await.text().contains("&lt;u&gt;, x"));
}

/// Opens the page of a form with a file, and sends it.
async fn send_file(visit: &mut Visit<'_>, path: &str, fields: &[(&str, &str)], file: &str) -> Reply {
    visit.get(path.trim_end_matches("/data")).await.expect(200);
    visit.post_file(path, fields, file).await
}
