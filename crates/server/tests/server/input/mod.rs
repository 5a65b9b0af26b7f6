//! Invalid requests are answered with problems.

mod mutations;

use crate::fixture::{Reply, TestServer};
use axum::body::Body;
use axum::http::Request;

const COUNT: &str = "SELECT COUNT(*) FROM census";

fn check_problem(what: &str, reply: &Reply) {
    assert!(reply.status.is_client_error(), "{what}: {} {}", reply.status, reply.text());
    reply.code();
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_bodies_are_problems() {
    let server = TestServer::new();
    let charge = |cost: &str| format!(r#"{{"accounts":["census"],"costs":[{cost}]}}"#);
    let digits = "9".repeat(200_000);
    let mut bodies: Vec<String> = [
        r#"{"epsilon":NaN}"#,
        r#"{"epsilon":"NaN"}"#,
        r#"{"epsilon":"inf"}"#,
        r#"{"epsilon":Infinity}"#,
        r#"{"epsilon":"-1"}"#,
        r#"{"epsilon":-1}"#,
        r#"{"epsilon":1e999}"#,
        r#"{"epsilon":"1e999"}"#,
        r#"{"epsilon":""}"#,
        r#"{"epsilon":null}"#,
        r#"{"epsilon":true}"#,
        r#"{"epsilon":["0.1"]}"#,
        r#"{"epsilon":"0.1","epsilon":"0.2"}"#,
        r#"{"epsilon":"0.1","gaussian":"0.1"}"#,
        r#"{"delta":"0.1"}"#,
        r#"{"epsilon":"0.1","more":1}"#,
        "{}",
        "[]",
        "1",
        "\"0.1\"",
        "null",
        r#"{"gaussian":{"sigma":"0"}}"#,
        r#"{"gaussian":{"sigma":"1","sensitivity":"-1"}}"#,
        r#"{"randomized_response":{"truth":"2"}}"#,
        r#"{"epsilon":"0.1","delta":"2"}"#,
        r#"{"epsilon":"\u0000"}"#,
        r#"{"epsilon":"\ud800"}"#,
    ]
    .map(charge)
    .into();
    bodies.push(charge(&format!(r#"{{"epsilon":{digits}}}"#)));
    bodies.push(charge(&format!(r#"{{"epsilon":"{digits}"}}"#)));
    bodies.push(charge(&format!(r#"{{"epsilon":"0.{digits}"}}"#)).replace("census", "nothing"));
    bodies.push(charge(&"[".repeat(100_000)));
    bodies.push("[".repeat(200_000));
    bodies.push(r#"{"a":"#.repeat(20_000));
    let valid = r#"{"epsilon":"0.1"}"#;
    bodies.push(charge(&vec![valid; 65].join(",")));
    bodies.push(format!(
        r#"{{"accounts":[{}],"costs":[{valid}]}}"#,
        (0..17).map(|at| format!("\"a{at}\"")).collect::<Vec<_>>().join(",")
    ));
    for text in ["", " ", "{", "nothing", "{\"accounts\":[]}", "\u{feff}{}"] {
        bodies.push(text.to_string());
    }
    for (field, value) in [
        ("unit", "\"a b\""),
        ("neighbours", "\"none\""),
        ("by", "\"\""),
        ("note", "\"a\\nb\""),
        ("x", "1"),
        ("accounts", "[]"),
    ] {
        bodies.push(format!(r#"{{"accounts":["census"],"costs":[{valid}],"{field}":{value}}}"#));
    }
    for account in ["", "/", "census/", "..", "a\\u0000", "census//alice", "a/a/a/a/a/a/a/a/a"] {
        bodies.push(format!(r#"{{"accounts":["{account}"],"costs":[{valid}]}}"#));
    }
    for path in [
        "/v1/charges",
        "/v1/quotes",
        "/v1/accounts",
        "/v1/questions",
        "/v1/questions/explain",
        "/v1/questions/dummy",
        "/v1/plans",
        "/v1/datasets",
        "/v1/tokens",
        "/v1/datasets/census/analysts",
    ] {
        for body in &bodies {
            let what = format!("{path} {}", body.chars().take(100).collect::<String>());
            let headers = [("Content-Type", "application/json")];
            check_problem(&what, &server.send_with("owner", "POST", path, body, &headers).await);
        }
    }
    assert_eq!(server.ledger.account(&crate::fixture::name("census")).unwrap().charges(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_values_of_other_documents_are_problems() {
    let server = TestServer::new();
    let huge = "9".repeat(1000);
    for (path, body) in [
        ("/v1/accounts", r#"{"account":"x"}"#.to_string()),
        ("/v1/accounts", r#"{"account":"x","filter":{"budget":{"epsilon":"1","delta":"1"}}}"#.to_string()),
        (
            "/v1/accounts",
            r#"{"account":"x","filter":{"rule":"best","budget":{"epsilon":"1","delta":"1e-6"}}}"#.to_string(),
        ),
        (
            "/v1/accounts",
            r#"{"account":"x","filter":{"rule":"basic","parameters":{"order":"2"},"budget":{"epsilon":"1","delta":"1e-6"}}}"#
                .to_string(),
        ),
        ("/v1/accounts", r#"{"account":"x/y","filter":{"budget":{"epsilon":"1","delta":"1e-6"}}}"#.to_string()),
        ("/v1/accounts", r#"{"account":"x","odometer":{"at_delta":"2"}}"#.to_string()),
        ("/v1/accounts", r#"{"account":"x","odometer":{"at_delta":"1e-6","parameters":{"z":"1"}}}"#.to_string()),
        ("/v1/accounts", format!(r#"{{"account":"x","filter":{{"budget":{{"epsilon":"{huge}"}}}}}}"#)),
        (
            "/v1/accounts",
            r#"{"account":"census/x","unit":"person","filter":{"budget":{"epsilon":"1","delta":"1e-6"}}}"#.to_string(),
        ),
        ("/v1/questions", r#"{"dataset":"census","question":"","price":{"epsilon":"1"}}"#.to_string()),
        ("/v1/questions", r#"{"dataset":"census","question":"SELECT","price":{"epsilon":"0"}}"#.to_string()),
        ("/v1/questions", format!(r#"{{"dataset":"census","question":"{COUNT}","price":{{"epsilon":"0"}}}}"#)),
        (
            "/v1/questions",
            format!(r#"{{"dataset":"census","question":"{COUNT}","price":{{"epsilon":"1","gaussian":"1"}}}}"#),
        ),
        (
            "/v1/questions",
            format!(r#"{{"dataset":"census","question":"{COUNT}","price":{{"error":{{"width":"-1"}}}}}}"#),
        ),
        (
            "/v1/questions",
            format!(r#"{{"dataset":"census","question":"{COUNT}","price":{{"error":{{"width":"1e999"}}}}}}"#),
        ),
        ("/v1/questions", format!(r#"{{"dataset":"census","question":"{COUNT}","price":{{}}}}"#)),
        (
            "/v1/questions",
            format!(
                r#"{{"dataset":"census","question":"{COUNT} WHERE {}","price":{{"epsilon":"1"}}}}"#,
                "(".repeat(50_000)
            ),
        ),
        (
            "/v1/questions",
            format!(
                r#"{{"dataset":"census","question":"{COUNT} WHERE {}","price":{{"epsilon":"1"}}}}"#,
                "NOT ".repeat(20_000)
            ),
        ),
        (
            "/v1/questions",
            format!(r#"{{"dataset":"census","question":"{COUNT}","price":{{"epsilon":"1"}},"account":"wages"}}"#),
        ),
        ("/v1/datasets", r#"{"dataset":"x","data":{"upload":{"id":"x"}},"timeout_seconds":-1}"#.to_string()),
        ("/v1/datasets", r#"{"dataset":"x","data":{"upload":{"id":"x"}},"timeout_seconds":1e300}"#.to_string()),
        ("/v1/datasets", r#"{"dataset":"x","data":{"upload":{"id":"x"}},"schema":{"unit":"person"}}"#.to_string()),
        (
            "/v1/datasets",
            r#"{"dataset":"x","data":{"upload":{"id":"x"}},"schema":{"unit":"row","columns":[{"name":"a","bounds":["1","0"]}]}}"#
                .to_string(),
        ),
        (
            "/v1/datasets",
            r#"{"dataset":"x","data":{"upload":{"id":"x"}},"schema":{"unit":"row","columns":[{"name":"a","categories":[1.5]}]}}"#
                .to_string(),
        ),
        (
            "/v1/datasets",
            r#"{"dataset":"x","data":{"postgres":{"url":"nothing","table":"t"}},"odometer":{"at_delta":"1e-6"}}"#
                .to_string(),
        ),
        ("/v1/datasets", r#"{"dataset":"nothing","data":{"upload":{"id":"x"}},"new_version":true}"#.to_string()),
        (
            "/v1/datasets/census/analysts",
            r#"{"analyst":"../x","filter":{"budget":{"epsilon":"1","delta":"1e-6"}}}"#.to_string(),
        ),
        ("/v1/tokens", r#"{"principal":"a:b","role":"owner"}"#.to_string()),
        ("/v1/tokens", r#"{"principal":"","role":"owner"}"#.to_string()),
        ("/v1/tokens", r#"{"principal":"a","role":"king"}"#.to_string()),
        ("/v1/accounts/census/close", r#"{"by":"someone"}"#.to_string()),
        ("/v1/accounts/census/close", format!(r#"{{"note":"{}"}}"#, "n".repeat(2000))),
    ] {
        check_problem(
            &format!("{path} {}", &body[..body.len().min(150)]),
            &server.send("owner", "POST", path, &body).await,
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_paths_queries_and_headers_are_problems() {
    let server = TestServer::new();
    for path in [
        "",
        "..",
        "%2E%2E",
        "%2F",
        "%00",
        "census%00",
        "%FF",
        "census%2F",
        "census%2F%2F",
        "a%20b",
        "%E2%80%AE",
        &"x".repeat(5000),
    ] {
        for template in [
            "/v1/accounts/{}",
            "/v1/accounts/{}/history",
            "/v1/datasets/{}",
            "/v1/datasets/{}/check",
            "/v1/receipts/{}",
        ] {
            let path = template.replace("{}", path);
            let reply = server.get("owner", &path).await;
            // An empty name is the list.
            assert!(reply.status.is_client_error(), "{path}: {} {}", reply.status, reply.text());
            reply.code();
        }
        server.send("owner", "POST", &format!("/v1/tokens/{path}/revoke"), "").await.expect(if path == "%FF" {
            400
        } else {
            404
        });
    }
    for query in [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=x",
        "limit=1&limit=2",
        "from=x",
        "from=99999999999999999999",
        "more=1",
        "limit=%FF",
        "from=1",
    ] {
        check_problem(query, &server.get("owner", &format!("/v1/accounts/census%2Falice/history?{query}")).await);
    }
    for query in ["", "?", "?key=", "?key=%00", "?key=a&key=b", "?other=1"] {
        check_problem(query, &server.get("owner", &format!("/v1/receipts{query}")).await);
    }
    let body = r#"{"accounts":["census"],"costs":[{"epsilon":"0.01"}]}"#;
    let long = "k".repeat(129);
    for headers in [
        vec![("Content-Type", "text/plain")],
        vec![("Content-Type", "application/x-www-form-urlencoded")],
        vec![("Content-Type", "")],
        vec![("Content-Type", "application/json"), ("Idempotency-Key", "")],
        vec![("Content-Type", "application/json"), ("Idempotency-Key", &long)],
        vec![("Content-Type", "application/json"), ("Idempotency-Key", "a"), ("Idempotency-Key", "b")],
        vec![("Content-Type", "application/json"), ("Authorization", "Bearer x")],
    ] {
        check_problem(&format!("{headers:?}"), &server.send_with("owner", "POST", "/v1/charges", body, &headers).await);
    }
    let request = Request::post("/v1/charges")
        .header("Authorization", format!("Bearer {}", server.secret("owner")))
        .header("Content-Type", "application/json")
        .header("Idempotency-Key", axum::http::HeaderValue::from_bytes(b"\xff\xfe").unwrap())
        .body(Body::from(body))
        .unwrap();
    check_problem("a key that is no text", &server.raw(request).await);
    let request = Request::post("/v1/charges")
        .header("Authorization", format!("Bearer {}", server.secret("owner")))
        .header("Content-Type", "application/json")
        .body(Body::from(&b"{\"accounts\":[\"\xff\xfe\"]}"[..]))
        .unwrap();
    check_problem("a body that is no text", &server.raw(request).await);
    let large = format!(r#"{{"accounts":["{}"]}}"#, "x".repeat(300 * 1024));
    server.send("owner", "POST", "/v1/charges", &large).await.expect(413);
    let reply = server.send("owner", "DELETE", "/v1/accounts", "").await.expect(405);
    assert!(reply.header("allow").contains("GET") && reply.header("allow").contains("POST"), "{:?}", reply.headers);
    assert_eq!(server.ledger.account(&crate::fixture::name("census")).unwrap().charges(), 0);
}
