//! The history of an account, and its downloads.

use super::*;

/// The numbers of the records on a page, and the link to the next page.
fn records(page: &str) -> (Vec<u64>, Option<String>) {
    let rows = page.split("data-label=\"Record\">").skip(1);
    let numbers = rows.map(|row| row.split('<').next().unwrap().parse().unwrap()).collect();
    let nav = part(page, "records", "</nav>");
    let next = nav.rsplit("href=\"").next().filter(|rest| rest.contains("Older") || rest.contains("further"));
    (numbers, next.map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_goes_back_page_by_page_and_through_a_filter() {
    let server = TestServer::new();
    open(&server, "lab", "100,1e-6", OnHalt::Refuse);
    for at in 0..60 {
        let (by, note) = if at % 10 == 0 { ("bob", "Every Tenth") } else { ("alice", "") };
        charge(&server, "lab", "0.1", by, note);
    }
    let newest = server.ledger.account(&name("lab")).unwrap().sequence();
    let mut owner = server.sign_in("owner").await;
    settled(&mut owner, "/accounts/lab").await;
    let opened = newest - 60;
    for (query, expected, pages) in [
        ("", (opened..=newest).rev().collect::<Vec<_>>(), 3),
        ("?what=open", vec![opened], 1),
        ("?by=bob", (0..6).rev().map(|at| opened + 1 + 10 * at).collect(), 1),
        ("?note=tenth&what=charge", (0..6).rev().map(|at| opened + 1 + 10 * at).collect(), 1),
        ("?what=charge", (opened + 1..=newest).rev().collect(), 3),
        (&format!("?from={}&to={}", opened + 3, opened + 5), vec![opened + 5, opened + 4, opened + 3], 1),
        (&format!("?to={}", newest + 1000), (opened..=newest).rev().collect(), 3),
        ("?what=halt", vec![], 1),
        ("?what=&by=&note=&from=&to=", (opened..=newest).rev().collect(), 3),
    ] {
        let (mut path, mut found, mut count) = (format!("/accounts/lab{query}"), Vec::new(), 0);
        loop {
            let (numbers, next) = records(&owner.get(&path).await.expect(200).text());
            found.extend(numbers);
            count += 1;
            let Some(next) = next else { break };
            path = next.split('#').next().unwrap().to_string();
        }
        assert_eq!((found, count), (expected, pages), "{query}");
    }
    for query in ["?from=x", "?start=999999", "?start=0"] {
        let page = owner.get(&format!("/accounts/lab{query}")).await.expect(400).text();
        check_says(&page, &["The request cannot be used"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_and_the_history_can_be_downloaded() {
    let server = TestServer::new();
    charge(&server, "census/alice", "0.1", "alice", "mine");
    charge(&server, "census/bob", "0.2", "bob", "not alice's");
    let newest = |account: &str| server.ledger.account(&name(account)).unwrap().sequence();
    let mut owner = server.sign_in("owner").await;
    let path = format!("/accounts/census/receipts/{}.json", newest("census/alice"));
    let reply = owner.get(&path).await.expect(200);
    let file = format!("attachment; filename=\"taximeter-receipt-{}.json\"", newest("census/alice"));
    assert_eq!((reply.header("content-disposition"), reply.header("content-type")), (&*file, "application/json"));
    let same = server.get("owner", &format!("/v1/receipts/{}", newest("census/alice"))).await;
    assert_eq!(reply.text(), same.text());
    // An analyst gets the same as from the API, and nothing of others.
    let mut alice = server.sign_in("alice").await;
    let own =
        alice.get(&format!("/accounts/census%2Falice/receipts/{}.json", newest("census/alice"))).await.expect(200);
    assert_eq!(own.json()["record"], Value::Null);
    for file in [format!("{}.json", newest("census/bob")), "999999.json".to_string()] {
        let reply = alice.get(&format!("/accounts/census%2Falice/receipts/{file}")).await.expect(404);
        check_says(&reply.text(), &["Not found"]);
    }
    alice.get("/accounts/census%2Falice/receipts/x.json").await.expect(400);
    let reply = owner.get("/accounts/census/history.jsonl").await.expect(200);
    assert_eq!(reply.header("content-disposition"), "attachment; filename=\"taximeter-history-census.jsonl\"");
    let lines: Vec<Value> = reply.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let whole = server.get("owner", "/v1/accounts/census/history?limit=1000").await.json();
    assert_eq!(Value::Array(lines), whole["records"]);
    alice.get("/accounts/census%2Fbob/history.jsonl").await.expect(403);
}
