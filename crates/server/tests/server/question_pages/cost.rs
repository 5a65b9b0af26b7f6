//! Quotes and charges.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_shows_only_visible_accounts_and_charges_nothing() {
    let server = TestServer::new();
    let path = "/cost?account=census/alice&kind=epsilon&epsilon=0.5";
    let owner = sign_in(&server, "owner").await.get(path, 200).await;
    let read = owner.read("quote");
    let (above, below) = (read.find("census takes it").unwrap(), read.find("census/alice takes it").unwrap());
    assert!(above < below, "from the root down: {read}");
    for part in
        ["It fits.", "ε = 0.5 would be charged", "fits 5 times", "100% → 80% left", "100% → 90% left", "0 → 0.5"]
    {
        assert!(read.contains(part), "{part}: {read}");
    }
    owner.has(&["Charge it", "data-preview=\"/cost/quote\""]);
    let alice = sign_in(&server, "alice").await.get(path, 200).await;
    let read = alice.read("quote");
    assert!(read.contains("fits 10 times") && read.contains("one of them may still refuse"), "{read}");
    assert!(!read.contains("census takes it") && !read.contains("80%"), "{read}");
    // A POST gives the same page.
    let mut visit = sign_in(&server, "alice").await;
    let posted = visit.post("/cost/quote", &cost("census/alice", "0.5", "k"), 200).await;
    assert_eq!(posted.read("quote"), read);
    assert_eq!(charges(&server, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cost_that_cannot_be_quoted_shows_the_problem_and_keeps_the_form() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "owner").await;
    let form = |field: &'static str, value: &'static str| {
        let mut form = cost("census/alice", "0.25", "k");
        form.retain(|(name, _)| *name != field);
        form.extend([(field, value), ("note", "of households")]);
        form
    };
    for (field, value, status, why) in [
        ("epsilon", "a lot", 400, "a lot"),
        ("epsilon", "-1", 400, "minus sign"),
        ("times", "65", 400, "from 1 to 64"),
        ("times", "no", 400, "from 1 to 64"),
        ("account", "no/where", 404, "no/where"),
        ("others", "census/!", 400, "census/!"),
        ("note", "two\nlines", 400, "control character"),
    ] {
        let page = visit.post("/cost/quote", &form(field, value), status).await;
        let read = page.read("quote");
        assert!(read.contains(why), "{field} = {value}: {read}");
        page.has(&[value]);
        if field != "note" {
            page.has(&["value=\"of households\""]);
        }
    }
    // An empty form is not an error.
    let page = visit.post("/cost/quote", &form("epsilon", ""), 200).await;
    assert!(page.read("quote").contains("Enter a cost"));
    // Charging fails too, and keeps the values.
    let page = visit.post("/cost", &form("epsilon", "a lot"), 400).await;
    page.has(&["role=\"alert\"", "value=\"a lot\"", "value=\"of households\""]);
    // For an analyst, a missing account and one of others give the same error.
    let mut bob = sign_in(&server, "bob").await;
    let [other, none] = ["census/alice", "census/missing"];
    let page = bob.get(&format!("/cost?account={other}&epsilon=1"), 403).await.read("quote");
    assert_eq!(bob.get(&format!("/cost?account={none}&epsilon=1"), 403).await.read("quote"), page.replace(other, none));
    assert_eq!(charges(&server, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cost_that_does_not_fit_names_the_refusing_account_and_offers_the_largest_that_fits() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "owner").await;
    let page = visit.get("/cost?account=census/alice&kind=epsilon&epsilon=3&note=mine", 200).await;
    let read = page.read("quote");
    for part in ["It does not fit.", "ε = 2.5", "census refuses it", "census/alice takes it", "Fill it in"] {
        assert!(read.contains(part), "{part}: {read}");
    }
    let filled = visit.get(&page.link("fill-in"), 200).await;
    assert!(filled.read("quote").contains("It fits. ε = 2.5 would be charged"), "{}", filled.read("quote"));
    filled.has(&["value=\"mine\"", "value=\"2.5\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn charging_goes_on_until_it_is_refused() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "alice").await;
    for round in 1..=2u64 {
        let key = visit.get("/cost", 200).await.hidden("key").unwrap();
        // A form that is sent twice is charged once.
        for notice in ["Charged ε = 1 to census/alice: record", "nothing was charged again"] {
            let page = visit.post("/cost", &cost("census/alice", "1", &key), 303).await;
            assert_eq!(page.0.header("location"), "/accounts/census%2Falice");
            visit.get("/cost", 200).await.has(&[notice]);
        }
        assert_eq!(charges(&server, "census"), round);
    }
    // Another form with a key that was used.
    let key = visit.get("/cost", 200).await.hidden("key").unwrap();
    visit.post("/cost", &cost("census/alice", "0.1", &key), 303).await;
    let page = visit.post("/cost", &cost("census/alice", "0.2", &key), 422).await;
    page.has(&["sent before with other values"]);
    assert_ne!(page.hidden("key").unwrap(), key);
    // Alice has enough left. She learns that an account above refuses, and not what it has left.
    let page = visit.post("/cost", &cost("census/alice", "1", "another"), 409).await;
    let read = page.read("quote");
    assert!(read.contains("It was refused.") && read.contains("an account above does not take it"), "{read}");
    page.has(&["value=\"1\"", "role=\"alert\""]).lacks(&["0.4"]);
    // The owner sees the account, the reason and what fits.
    let mut owner = sign_in(&server, "owner").await;
    let page = owner.post("/cost", &cost("census/alice", "1", "mine"), 409).await;
    assert!(page.read("quote").contains("The largest that fits: ε = 0.4 "), "{}", page.read("quote"));
    owner.get(&page.link("fill-in"), 200).await.has(&["value=\"0.4\""]);
    assert_eq!(charges(&server, "census"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_costs_on_several_accounts_are_all_charged_or_none() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "two").await;
    let form = |times: &'static str, key: &'static str| {
        let mut form = cost("census/alice", "0.5", key);
        form.retain(|(name, _)| *name != "times");
        form.extend([("others", "census/bob"), ("times", times), ("note", "both")]);
        form
    };
    visit.post("/cost", &form("7", "too-much"), 409).await.has(&["census/bob"]);
    assert_eq!(charges(&server, "census"), 0);
    visit.post("/cost", &form("2", "fits"), 303).await;
    visit.get("/cost", 200).await.has(&["Charged 2 × (ε = 0.5) to census/alice, census/bob: record"]);
    assert_eq!([charges(&server, "census/alice"), charges(&server, "census/bob")], [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn auditors_quote_and_neither_charge_nor_ask() {
    let server = TestServer::new();
    let mut visit = sign_in(&server, "auditor").await;
    let page = visit.get("/cost?account=census/alice&epsilon=0.5", 200).await;
    assert!(page.read("quote").contains("It fits."));
    page.lacks(&["Charge it", "href=\"/ask\""]);
    visit.post("/cost", &cost("census/alice", "0.5", "k"), 403).await;
    visit.get("/ask", 403).await.lacks(&["<textarea"]);
    visit.post("/ask", &question(COUNT, "0.1", "k"), 403).await;
    visit.post("/ask/explain", &question(COUNT, "0.1", "k"), 403).await;
    visit.get("/answers/k", 403).await;
    assert_eq!(charges(&server, "census"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_another_session_charges_nothing() {
    let server = TestServer::new();
    let (mut alice, bob) = (sign_in(&server, "alice").await, sign_in(&server, "bob").await);
    alice.form_key = bob.form_key.clone();
    for (path, form) in [
        ("/cost", cost("census/alice", "0.5", "k")),
        ("/ask", question(COUNT, "0.5", "k")),
        ("/cost/quote", Vec::new()),
    ] {
        alice.post(path, &form, 403).await.has(&["another session"]);
    }
    assert_eq!(charges(&server, "census"), 0);
}
