//! Creating tokens.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_made_once_and_shown_once() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    let key = owner.get("/tokens").await.expect(200).hidden("key").unwrap();
    let fields = [
        ("key", key.as_str()),
        ("principal", "carol"),
        ("role", "analyst"),
        ("accounts", "census/alice"),
        ("accounts", "census/bob"),
        ("datasets", "census"),
        ("sees_above", "yes"),
        ("expires", "2030-01-31"),
    ];
    let page = owner.post("/tokens", &fields).await.expect(200).text();
    let secret = page.split("txm_").nth(1).unwrap().split('<').next().unwrap();
    let secret = format!("txm_{secret}");
    assert_eq!(page.matches("txm_").count(), 1);
    let me =
        server.visit().send("GET", "/v1/me", &[("Authorization", &format!("Bearer {secret}"))], Body::empty()).await;
    let token = &me.expect(200).json()["token"];
    assert_eq!(
        json!([
            token["principal"],
            token["role"],
            token["accounts"],
            token["datasets"],
            token["sees_above"],
            token["expires"]
        ]),
        json!(["carol", "analyst", ["census/alice", "census/bob"], ["census"], true, "2030-02-01T00:00:00Z"])
    );
    let count = async || server.get("owner", "/v1/tokens").await.json()["tokens"].as_array().unwrap().len();
    let before = count().await;
    let again = owner.post("/tokens", &fields).await.expect(400).text();
    assert!(again.contains("sent before") && again.contains("carol") && !again.contains("txm_"), "{again}");
    assert_eq!(count().await, before);
    for path in ["/tokens", "/audit", "/"] {
        assert!(!owner.get(path).await.text().contains(&secret));
    }
    assert!(owner.get("/tokens").await.text().contains("carol"));
    // Another session has another form.
    let mut carol = server.visit();
    carol.sign_in(&secret).await.expect(303);
    carol.get("/datasets/census").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_token_shows_the_problem_and_keeps_the_form() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    for (fields, words) in [
        (vec![("principal", "carol"), ("role", "analyst")], "would allow nothing"),
        (vec![("principal", "a b"), ("role", "auditor")], "a b"),
        (vec![("principal", "carol"), ("role", "king")], "king"),
        (vec![("principal", "carol"), ("role", "owner"), ("datasets", "census")], "sees every account"),
        (vec![("principal", "carol"), ("role", "auditor"), ("expires", "2001-01-01")], "has passed"),
        (vec![("principal", "carol"), ("role", "auditor"), ("expires", "soon")], "soon"),
        (vec![("principal", "carol"), ("role", "analyst"), ("accounts", "../x")], "../x"),
        (vec![("principal", ""), ("role", "auditor")], "is empty"),
    ] {
        let key = owner.get("/tokens").await.hidden("key").unwrap();
        let given: Vec<(&str, &str)> = fields.iter().copied().chain([("key", key.as_str())]).collect();
        let reply = owner.post("/tokens", &given).await.expect(400);
        let page = reply.text();
        assert!(page.contains(words) && page.contains("Make a token"), "{words}: {page}");
        assert!(
            page.contains(&format!(
                "name=\"principal\" required autocomplete=\"off\" spellcheck=\"false\" maxlength=\"63\" value=\"{}\"",
                fields[0].1
            )),
            "{page}"
        );
        assert_ne!(reply.hidden("key").unwrap(), key);
    }
    assert!(
        owner.post("/tokens", &[("principal", "carol"), ("role", "auditor")]).await.expect(400).text().contains("key")
    );
    let page =
        owner.post("/tokens", &[("principal", "x y"), ("role", "analyst"), ("datasets", "wages"), ("key", "k")]).await;
    let page = page.expect(400).text();
    assert!(page.contains("name=\"datasets\" value=\"wages\" checked"), "{page}");
    assert_eq!(server.get("owner", "/v1/tokens").await.json()["tokens"].as_array().unwrap().len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_accounts_are_typed_and_not_ticked() {
    let server = TestServer::new();
    for at in 0..60 {
        let body = json!({ "account": format!("a{at}"), "filter": { "budget": { "epsilon": "1", "delta": "1e-6" } } });
        server.send("owner", "POST", "/v1/accounts", &body.to_string()).await.expect(201);
    }
    let mut owner = server.sign_in("owner").await;
    let page = owner.get("/tokens").await.expect(200);
    assert!(page.text().contains("<textarea id=\"accounts\"") && !page.text().contains("value=\"a1\""));
    let key = page.hidden("key").unwrap();
    let fields = [("principal", "carol"), ("role", "analyst"), ("accounts", "a1, a2\r\na3"), ("key", &key)];
    owner.post("/tokens", &fields).await.expect(200);
    let tokens = server.get("owner", "/v1/tokens").await.json();
    assert_eq!(tokens["tokens"].as_array().unwrap().last().unwrap()["accounts"], json!(["a1", "a2", "a3"]));
}
