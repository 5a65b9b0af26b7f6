//! Accounts and charges.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_opened_shown_listed_in_pages_and_closed() {
    let server = TestServer::new();
    let new = r#"{"account":"lab","unit":"person","filter":{"budget":{"epsilon":"1","delta":"1e-6"}}}"#;
    let opened = server.send("owner", "POST", "/v1/accounts", new).await.expect(201).json();
    assert_eq!((&opened["outcome"], &opened["account"]["filter"]["rule"]), (&json!("opened"), &json!("residue")));
    server.send("owner", "POST", "/v1/accounts", new).await.expect(400);
    for at in 0..5 {
        server.charge("owner", &["lab"], "0.01", &format!("k{at}")).await.expect(201);
    }
    let (mut path, mut sequences) = ("/v1/accounts/lab/history?limit=2".to_string(), Vec::new());
    loop {
        let part = server.get("owner", &path).await.expect(200).json();
        sequences.extend(part["records"].as_array().unwrap().iter().map(|record| record["sequence"].as_u64().unwrap()));
        let Some(next) = part["next"].as_u64() else { break };
        path = format!("/v1/accounts/lab/history?limit=2&from={next}");
    }
    assert_eq!(sequences.len(), 6);
    assert!(sequences.is_sorted_by(|one, next| one > next));
    let closed = server.send("owner", "POST", "/v1/accounts/lab/close", r#"{"note":"done"}"#).await.expect(200).json();
    assert_eq!((&closed["account"]["standing"], &closed["outcome"]), (&json!("closed"), &json!("closed")));
    let refused = server.charge("owner", &["lab"], "0.01", "late").await.expect(409).json();
    assert_eq!((&refused["code"], &refused["refusal"]["not_open"]), (&json!("refused"), &json!(true)));
    let shown = server.get("owner", "/v1/accounts/lab").await.expect(200).json();
    assert_eq!(shown["charges"], 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_is_signed_by_the_token() {
    let server = TestServer::new();
    let charged = server.charge("alice", &["census/alice"], "0.25", "k").await.expect(201).json();
    assert_eq!(
        (&charged["key"], &charged["outcome"], &charged["record"]),
        (&json!("k"), &json!("charged"), &Value::Null)
    );
    assert_eq!(charged["accounts"].as_array().unwrap().len(), 1);
    let receipt = server.get("owner", &format!("/v1/receipts/{}", charged["sequence"])).await.expect(200).json();
    assert_eq!(receipt["record"]["event"]["charge"]["by"], "alice");
    assert_eq!(receipt["record"]["event"]["charge"]["key"], "alice:k");
    // A token cannot charge under another name.
    let body = r#"{"accounts":["census/alice"],"costs":[{"epsilon":"0.1"}],"by":"bob"}"#;
    server.send("alice", "POST", "/v1/charges", body).await.expect(400);
    let body = r#"{"accounts":["census/alice"],"costs":[{"epsilon":"0.1"}],"by":"alice"}"#;
    let fresh = server.send("alice", "POST", "/v1/charges", body).await.expect(201).json();
    assert!(!fresh["key"].as_str().unwrap().is_empty() && !fresh["key"].as_str().unwrap().contains(':'));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_without_a_delta_takes_the_defaults_and_adds_up() {
    let server = TestServer::new();
    let new = r#"{"account":"lab","filter":{"budget":{"epsilon":"1"}}}"#;
    let opened = server.send("owner", "POST", "/v1/accounts", new).await.expect(201).json();
    assert_eq!(
        (&opened["account"]["filter"]["rule"], &opened["account"]["odometer"]["rule"]),
        (&json!("residue"), &json!("basic"))
    );
    server.charge("owner", &["lab"], "0.9", "large").await.expect(201);
    server.charge("owner", &["lab"], "0.1", "small").await.expect(201);
    server.charge("owner", &["lab"], "0.0001", "more").await.expect(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sampled_gaussian_is_for_the_renyi_rule_and_add_remove_neighbours() {
    let server = TestServer::new();
    let cost = json!({ "sampled_gaussian": { "rate": "0.01", "sigma": 1.1, "steps": 10 } });
    let new = json!({ "account": "train", "filter": { "rule": "renyi", "for": cost, "budget": { "epsilon": "1", "delta": "1e-5" } } });
    let opened = server.send("owner", "POST", "/v1/accounts", &new.to_string()).await.expect(201).json();
    let order: f64 = opened["account"]["filter"]["parameters"]["order"].as_str().unwrap().parse().unwrap();
    assert!(order > 10.0 && order < 11.0, "{order}");
    let body = json!({ "accounts": ["train"], "costs": [cost] }).to_string();
    let quote = server.send("owner", "POST", "/v1/quotes", &body).await.expect(200).json();
    assert_eq!(quote["count"], 13);
    server.send("owner", "POST", "/v1/charges", &body).await.expect(201);
    // Another rule or relation of neighbours is an error.
    for (account, more, part) in
        [("pure", json!({}), "renyi"), ("swap", json!({ "neighbours": "substitute" }), "add-remove")]
    {
        let rule = if account == "pure" { "residue" } else { "renyi" };
        let mut new =
            json!({ "account": account, "filter": { "rule": rule, "budget": { "epsilon": "1", "delta": "1e-5" } } });
        new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.send("owner", "POST", "/v1/accounts", &new.to_string()).await.expect(201);
        let body = json!({ "accounts": [account], "costs": [cost] }).to_string();
        let problem = server.send("owner", "POST", "/v1/charges", &body).await.expect(400).json();
        assert!(problem["detail"].as_str().unwrap().contains(part), "{problem}");
    }
}

/// The message once showed a debug format, and mentioned the journal although nothing was written.
#[tokio::test(flavor = "multi_thread")]
async fn a_charge_is_recorded_under_the_principal_of_the_token() {
    let server = TestServer::new();
    let charge = json!({ "accounts": ["census/alice"], "costs": [{ "epsilon": "0.1" }], "by": "bob" });
    let problem = server.send("alice", "POST", "/v1/charges", &charge.to_string()).await.expect(400).json();
    assert_eq!(problem["parameter"], "by");
    assert_eq!(
        problem["detail"],
        "this token belongs to alice, so the charge is recorded under that name and not under bob"
    );
}
