//! The start page with the tree of accounts.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn users_see_only_the_accounts_that_they_may() {
    let server = TestServer::new();
    server.charge("bob", &["census/bob"], "0.4321", "k").await.expect(201);
    const ALL: [&str; 4] = ["census", "census/alice", "census/bob", "wages"];
    for (who, seen, hidden) in [
        ("owner", &ALL[..], &[][..]),
        ("auditor", &ALL[..], &[]),
        ("alice", &["census/alice"], &["wages", "bob", "0.4321"]),
        ("above", &["census", "census/alice"], &["wages", "bob"]),
        ("two", &["census/alice", "census/bob"], &["wages"]),
    ] {
        let mut visit = server.sign_in(who).await;
        let reply = visit.get("/").await.expect(200);
        let page = reply.text();
        for account in ALL {
            let link = format!("href=\"/accounts/{}\"", account.replace('/', "%2F"));
            assert_eq!(page.contains(&link), seen.contains(&account), "{who} {account}");
            let own = visit.get(&format!("/accounts/{}", account.replace('/', "%2F"))).await;
            assert_eq!(own.status.as_u16(), if seen.contains(&account) { 200 } else { 403 }, "{who} {account}");
        }
        assert_eq!(page.contains("Open an account"), who == "owner", "{who}");
        check_says_nothing_of(&reply, hidden);
    }
    // The account of someone else, and one that does not exist, give the same error.
    let mut alice = server.sign_in("alice").await;
    for account in ["census%2Fbob", "census%2Fmissing"] {
        let reply = alice.get(&format!("/accounts/{account}")).await.expect(403);
        check_says(&reply.text(), &["The token does not allow this", "ask an owner for a token that does", "Sign out"]);
    }
    server.sign_in("owner").await.get("/accounts/missing").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_overview_shows_what_is_left_and_what_was_refused() {
    let server = TestServer::new();
    charge(&server, "census/alice", "0.5", "alice", "");
    charge(&server, "census/alice", "0.75", "alice", "");
    server.charge("alice", &["census/alice"], "4.5", "too much").await.expect(409);
    server.charge("bob", &["census/bob"], "3.2", "too much").await.expect(409);
    let mut owner = server.sign_in("owner").await;
    let page = settled(&mut owner, "/").await;
    check_says(part(&page, "totals", "</section>"), &["Accounts 4", "Charges 2", "Refusals 2"]);
    let tree = part(&page, "tree", "</table>");
    check_says(tree, &["census open 50% 1.25 at δ = 1e-6 2", "census/ alice open 75% 1.25 at δ = 1e-6 2"]);
    // There is no rate in the first minute.
    assert!(!tree.contains("% a"), "{tree}");
    check_says(tree, &["wages open 100% 0 at δ = 1e-6 0 – –"]);
    check_says(part(&page, "refusals", "</section>"), &["census ", "alice", "bob"]);
    // census refused both, and alice does not own it.
    let page = settled(&mut server.sign_in("alice").await, "/").await;
    check_says(&page, &["Accounts 1", "Charges 2", "Refusals 0 lately", "No charge was refused"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_halted_account_differs_from_one_that_is_blocked_by_it() {
    let server = TestServer::new();
    open(&server, "stops", "1,1e-6", OnHalt::Stop);
    open(&server, "stops/below", "1,1e-6", OnHalt::Refuse);
    charge(&server, "stops", "2", "alice", "");
    let mut owner = server.sign_in("owner").await;
    let page = settled(&mut owner, "/").await;
    check_says(part(&page, "tree", "</table>"), &["stops halted 0%", "stops/ below open stopped by stops 100%"]);
    let page = settled(&mut owner, "/accounts/stops%2Fbelow").await;
    check_says(part(&page, "figures", "</section>"), &["This account takes no charges: stops above it is halted."]);
    let page = settled(&mut owner, "/accounts/stops").await;
    check_says(
        &page,
        &["The account stops for good", "100% of the budget was left when the account stopped", "halt of ε = 2"],
    );
    check_says(part(&page, "below", "</section>"), &["stops/below open 100% 0 0"]);
    assert!(!page.contains("Close the account"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_accounts_are_shown_in_pages() {
    let server = TestServer::new();
    open(&server, "many", "1,1e-6", OnHalt::Refuse);
    for at in 0..420 {
        open(&server, &format!("many/a{at:03}"), "1,1e-6", OnHalt::Refuse);
    }
    let mut owner = server.sign_in("owner").await;
    let rows = |page: &str| page.matches("<th scope=\"row\"").count();
    for (query, count, expected) in [
        ("", 200, "Page 1 of 3, 425 accounts"),
        ("?page=2", 200, "Page 2 of 3"),
        ("?page=3", 25, "Page 3 of 3"),
        ("?page=99", 25, "Page 3 of 3"),
        ("?starts=many%2Fa41", 10, "Names that start with"),
        ("?starts=none", 0, "No account's name starts like this"),
    ] {
        let page = owner.get(&format!("/{query}")).await.expect(200).text();
        let tree = part(&page, "tree-title", "</section>");
        assert_eq!(rows(tree), count, "{query}");
        check_says(&page, &[expected]);
    }
    let page = owner.get("/accounts/many").await.expect(200).text();
    assert_eq!(rows(part(&page, "below", "</section>")), 50);
    assert!(page.contains("href=\"/?starts=many%2F\""), "{page}");
}

/// A page of a server without any account, for its owner.
async fn first_page() -> String {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::File(folder.path().join("ledger.db"));
    let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
    let tokens = Tokens::open(&TokenPlace::of(&location), ledger.id()).unwrap();
    let token = NewToken {
        principal: "olga".to_string(),
        role: Role::Owner,
        accounts: Vec::new(),
        datasets: Vec::new(),
        sees_above: false,
        expires: None,
    };
    let secret = tokens.create(&token).unwrap().secret;
    let gate = Gate::open(&folder.path().join("gate"), ledger).unwrap();
    let state = Service::new(gate, tokens, Log::new(LogForm::Off), Settings::default()).unwrap();
    let service = App::new(&state).unwrap();
    let send = async |method: &str, path: &str, cookie: &str, body: String| {
        let request = Request::builder().method(method).uri(path).header(header::COOKIE, cookie);
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let (parts, body) = service.answer(request.body(Body::from(body)).unwrap()).await.into_parts();
        let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        let cookie = parts.headers.get(header::SET_COOKIE).map_or("", |value| value.to_str().unwrap());
        let cookie = cookie.split(';').next().unwrap().to_string();
        (cookie, String::from_utf8(bytes.to_vec()).unwrap())
    };
    let (cookie, page) = send("GET", "/sign-in", "", String::new()).await;
    let key = page.split_once("name=\"form_key\" value=\"").unwrap().1.split('"').next().unwrap();
    let (cookie, _) = send("POST", "/sign-in", &cookie, format!("form_key={key}&token={secret}")).await;
    send("GET", "/", &cookie, String::new()).await.1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_ledger_says_what_to_do_first() {
    let page = first_page().await;
    check_says(
        &page,
        &["Accounts 0", "There is no account yet", "Open one below", "register data", "No charge was refused"],
    );
    assert!(page.contains("<details open>"), "the form is open: {page}");
}
