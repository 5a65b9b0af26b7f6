//! The page of one account.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn an_account_shows_its_meter_its_spenders_and_its_history() {
    let server = TestServer::new();
    charge(&server, "census/alice", "1", "alice", "households");
    charge(&server, "census/alice", "0.25", "anna", "");
    charge(&server, "census", "0.5", "olga", "the total");
    let mut owner = server.sign_in("owner").await;
    let page = settled(&mut owner, "/accounts/census").await;
    check_says(
        part(&page, "figures", "</section>"),
        &["Left of the budget 30%", "Reading, ε at δ = 1e-6 1.75", "Charges 3"],
    );
    let meter = part(&page, "meter", "</section>");
    check_says(
        meter,
        &["Now: 3 charges, reading ε = 1.75, 30% left", "The filter does not use the reading", "charges paid"],
    );
    assert!(meter.contains("data-x=\"0 33.33 66.67 100\""), "{meter}");
    assert_eq!(meter.matches("<tr>").count(), 1 + 4, "{meter}");
    check_says(part(&page, "spending", "</section>"), &["alice 1 40%", "olga 1 20%", "anna 1 10%"]);
    check_says(
        part(&page, "records", "</table>"),
        &[
            "charge of ε = 0.5 olga the total 1.75 30%",
            "charge of ε = 1 on census/alice alice households 1 60%",
            "open , budget ε = 2.5",
        ],
    );
    check_says(part(&page, "below", "</section>"), &["census/alice open 75% 1.25 2", "census/bob open 100% 0 0"]);
    assert!(page.contains("href=\"/cost?account=census\"") && page.contains("data-events=\"census\""));
    // The links to the accounts above.
    let page = settled(&mut owner, "/accounts/census%2Falice").await;
    assert!(page.contains("<li><a href=\"/accounts/census\">census</a></li>"), "{page}");
    // An auditor sees the same and can change nothing.
    let page = settled(&mut server.sign_in("auditor").await, "/accounts/census").await;
    assert!(page.contains("id=\"meter\"") && !page.contains("Close the account"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_analyst_sees_the_balance_of_an_account_above_but_not_its_history() {
    let server = TestServer::new();
    charge(&server, "census/alice", "0.25", "alice", "mine");
    charge(&server, "census/bob", "0.75", "bob", "secret plan");
    let mut above = server.sign_in("above").await;
    let reply = above.get("/accounts/census").await.expect(200);
    check_says(
        &reply.text(),
        &["Left of the budget 60%", "Reading, ε at δ = 1e-6 1", "The filter basic decides", "census/alice"],
    );
    let parts = ["id=\"meter\"", "id=\"spending\"", "id=\"records\"", "Close", "/cost?account=census\"", "receipts"];
    check_says_nothing_of(&reply, &parts);
    check_says_nothing_of(&reply, &["bob", "secret plan", "0.75"]);
    above.get("/accounts/census/history.jsonl").await.expect(403);
    // Her own account shows everything, and nothing of others.
    let page = settled(&mut above, "/accounts/census%2Falice").await;
    check_says(&page, &["The meter", "alice 1 5%", "mine"]);
    assert!(!page.contains("bob") && !page.contains("secret plan"));
    let mut alice = server.sign_in("alice").await;
    let page = settled(&mut alice, "/accounts/census%2Falice").await;
    assert!(!page.contains("href=\"/accounts/census\""), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_others_is_escaped() {
    let server = TestServer::new();
    let (script, image) = ("<script>alert(1)</script>", "<img src=x onerror=alert(2)>\"'");
    charge(&server, "census/alice", "0.1", image, script);
    let mut owner = server.sign_in("owner").await;
    let by = form_urlencoded::byte_serialize(image.as_bytes()).collect::<String>();
    let note = form_urlencoded::byte_serialize(script.as_bytes()).collect::<String>();
    for path in [
        "/accounts/census".to_string(),
        "/accounts/census%2Falice".to_string(),
        format!("/accounts/census?by={by}&note={note}"),
        format!("/?starts={note}"),
    ] {
        let page = settled(&mut owner, &path).await;
        assert!(!page.contains("<script>alert") && !page.contains("<img"), "{path}: {page}");
        assert!(page.contains("&lt;script&gt;alert(1)"), "{path}: {page}");
    }
    let reply = owner.post("/accounts", &[("account", image)]).await.expect(400);
    check_says_nothing_of(&reply, &["<img"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_nothing_that_the_content_security_policy_forbids() {
    let server = TestServer::new();
    charge(&server, "census/alice", "0.1", "alice", "");
    let mut owner = server.sign_in("owner").await;
    for path in ["/", "/accounts/census", "/accounts/census%2Falice?what=charge"] {
        let page = settled(&mut owner, path).await;
        for tag in page.split('<').filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
            let is_inline = tag.contains(" style=") || (tag.starts_with("script") && !tag.contains(" src="));
            let is_handler = tag.split(' ').skip(1).any(|attribute| attribute.starts_with("on"));
            assert!(!is_inline && !is_handler, "{path}: <{tag}>");
        }
    }
}

/// The values of an attribute in a page.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    page.split(&*start).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reference_in_a_page_has_one_target() {
    let server = TestServer::new();
    charge(&server, "census/alice", "0.1", "alice", "");
    let mut owner = server.sign_in("owner").await;
    for path in ["/", "/?starts=census", "/accounts/census", "/accounts/census%2Falice?what=charge"] {
        let page = settled(&mut owner, path).await;
        let mut ids = values(&page, "id");
        ids.sort_unstable();
        assert!(ids.is_sorted_by(|one, next| one < next), "{path}: {ids:?}");
        for attribute in ["for", "aria-labelledby", "aria-describedby", "data-table"] {
            for id in values(&page, attribute) {
                assert!(ids.contains(&id), "{path}: {attribute} of {id}");
            }
        }
        // A live part needs an id.
        for tag in page.split('<').filter(|tag| tag.split('>').next().unwrap().contains(" data-live")) {
            assert!(tag.contains(" id=\""), "{path}: <{tag}");
        }
        assert_eq!(values(&page, "data-events").len(), 1, "{path}");
    }
}
