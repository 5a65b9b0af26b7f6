//! Forms that open and close accounts.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_opens_an_account_with_a_form() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    owner.get("/").await.expect(200);
    let fields = [
        ("account", "lab"),
        ("epsilon", "1.5"),
        ("delta", "1e-7"),
        ("rule", "zcdp"),
        ("on_halt", "stop"),
        ("unit", "person"),
        ("neighbours", "substitute"),
        ("odometer", "stitched"),
        ("mechanism_delta", "1e-8"),
    ];
    let reply = owner.post("/accounts", &fields).await;
    assert_eq!(reply.header("location"), "/accounts/lab");
    let page = owner.follow(reply).await.expect(200).text();
    check_says(&page, &["lab is open: record"]);
    check_says(
        part(&page, "promise", "</section>"),
        &[
            "do not reveal whether any one person in the data was replaced by another",
            "The filter zcdp decides",
            "ε = 1.5, δ = 1e-7, of which 1e-8 is set aside",
            "The account stops for good.",
            "The odometer stitched reads",
            "arXiv:2203.05481v3, Theorem 4",
        ],
    );
    // The notice is shown once.
    assert!(!owner.get("/accounts/lab").await.text().contains("lab is open: record"));
    let shown = server.get("owner", "/v1/accounts/lab").await.json();
    assert_eq!((&shown["filter"]["on_halt"], &shown["unit"]), (&"stop".into(), &"person".into()));
    // The defaults are those of the API, except δ; an account below inherits unit and neighbours.
    let reply = owner.post("/accounts", &[("account", "lab/below"), ("epsilon", "1"), ("delta", "1e-6")]).await;
    owner.follow(reply).await.expect(200);
    let shown = server.get("owner", "/v1/accounts/lab%2Fbelow").await.json();
    let rules = (&shown["filter"]["rule"], &shown["odometer"]["rule"], &shown["unit"], &shown["neighbours"]);
    assert_eq!(rules, (&"residue".into(), &"renyi-mixture".into(), &"person".into(), &"substitute".into()));
    // A browser also sends empty fields; a budget without δ is valid.
    let page = owner.get("/").await.text();
    assert!(part(&page, "odometer", "</select>").contains("<option value=\"\""), "{page}");
    for (account, delta) in [("pure", ""), ("zero", "0")] {
        let fields = [("account", account), ("epsilon", "1"), ("delta", delta), ("rule", "residue"), ("odometer", "")];
        let reply = owner.post("/accounts", &fields).await;
        owner.follow(reply).await.expect(200);
        let shown = server.get("owner", &format!("/v1/accounts/{account}")).await.json();
        assert_eq!((&shown["filter"]["rule"], &shown["odometer"]["rule"]), (&"residue".into(), &"basic".into()));
    }
    // An account without a budget must be requested explicitly.
    let reply = owner.post("/accounts", &[("account", "reads"), ("delta", "1e-6"), ("only_reads", "yes")]).await;
    check_says(
        &owner.follow(reply).await.expect(200).text(),
        &["No filter decides", "Reading, ε at δ = 1e-6", "no budget"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_form_shows_the_problem_and_keeps_its_values() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    owner.get("/").await.expect(200);
    let before = server.ledger.accounts().len();
    for (fields, why) in [
        (vec![("account", "")], "the name is empty"),
        (vec![("account", "a b"), ("epsilon", "1")], "cannot stand in it"),
        (vec![("account", "census"), ("epsilon", "1"), ("delta", "1e-6")], "account census already exists"),
        (vec![("account", "none/below"), ("epsilon", "1"), ("delta", "1e-6")], "is below none, which does not exist"),
        (vec![("account", "lab")], "the budget's ε is empty"),
        (vec![("account", "lab"), ("epsilon", "one")], "the budget's ε: "),
        (vec![("account", "lab"), ("epsilon", "1"), ("delta", "-1")], "the budget's δ: "),
        (vec![("account", "lab"), ("epsilon", "1"), ("rule", "magic")], "the filter rule"),
        (vec![("account", "lab"), ("epsilon", "1"), ("on_halt", "go on")], "choose refuse or stop"),
        (vec![("account", "lab"), ("epsilon", "1"), ("odometer", "magic")], "the odometer rule"),
        (vec![("account", "lab"), ("epsilon", "1"), ("neighbours", "next door")], "neighbouring relation"),
        (vec![("account", "lab"), ("epsilon", "1"), ("only_reads", "yes")], "empty ε, or untick it"),
    ] {
        let page = owner.post("/accounts", &fields).await.expect(400).text();
        assert!(page.contains("role=\"alert\"") && page.contains(why), "{fields:?}: {}", words(&page));
        let account = fields[0].1;
        assert!(page.contains(&format!("placeholder=\"census/alice\" value=\"{account}\"")), "{fields:?}: {page}");
    }
    assert_eq!(server.ledger.accounts().len(), before);
    // Other roles have no form, and sending one fails.
    for who in ["auditor", "alice"] {
        let mut visit = server.sign_in(who).await;
        visit.get("/").await.expect(200);
        visit.post("/accounts", &[("account", "lab"), ("epsilon", "1"), ("delta", "1e-6")]).await.expect(403);
        visit.post("/accounts/census%2Falice/close", &[("sure", "yes")]).await.expect(403);
    }
    assert_eq!(server.ledger.accounts().len(), before);
    assert_eq!(server.get("owner", "/v1/accounts/census%2Falice").await.json()["standing"], "open");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_closes_an_account_after_confirming() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    owner.get("/accounts/census%2Falice").await.expect(200);
    let path = "/accounts/census%2Falice/close";
    let page = owner.post(path, &[("note", "the study has ended")]).await.expect(400).text();
    check_says(&page, &["tick the box"]);
    assert!(page.contains("value=\"the study has ended\""), "{page}");
    assert_eq!(server.get("owner", "/v1/accounts/census%2Falice").await.json()["standing"], "open");
    let reply = owner.post(path, &[("note", "the study has ended"), ("sure", "yes")]).await;
    assert_eq!(reply.header("location"), "/accounts/census%2Falice");
    let page = owner.follow(reply).await.expect(200).text();
    check_says(&page, &["census/alice is closed: record", "Standing closed", "close olga the study has ended"]);
    assert!(!page.contains("Close the account"));
}
