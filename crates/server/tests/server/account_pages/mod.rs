//! The pages of accounts: the overview, and one account.

use crate::house::visit::Visit;
use crate::house::{House, Reply, name};
use axum::body::Body;
use axum::http::{Request, header};
use serde_json::Value;
use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec, OnHalt};
use taximeter_gate::Gate;
use taximeter_ledger::{AccountSpec, Charge, Key, Ledger, Location, Note, Options, Outcome, Privacy, Who};
use taximeter_server::App;
use taximeter_service::{Log, LogForm, Service, Settings, TokenPlace, Tokens};
use taximeter_service::{NewToken, Role};

/// A page once everything that it shows of the past was read.
async fn settled(visit: &mut Visit<'_>, path: &str) -> String {
    crate::house::eventually(&format!("{path} is read"), async || {
        let page = visit.get(path).await.expect(200).text();
        (!page.contains("data-again")).then_some(page)
    })
    .await
}

/// The part of a page from the start tag with an id to the first end of its kind.
fn part<'a>(page: &'a str, id: &str, end: &str) -> &'a str {
    let from = page.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id} in {page}"));
    let to = page[from..].find(end).unwrap_or_else(|| panic!("no end of {id} in {page}"));
    &page[from..from + to]
}

/// What a page says, without its tags.
fn words(html: &str) -> String {
    let mut text = String::new();
    for piece in html.split('<') {
        text.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
        text.push(' ');
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn check_says(page: &str, expected: &[&str]) {
    let text = words(page);
    for expected in expected {
        assert!(text.contains(expected), "{expected:?} is not in: {text}");
    }
}

fn check_says_nothing_of(reply: &Reply, hidden: &[&str]) {
    let page = reply.text();
    for hidden in hidden {
        assert!(!page.contains(hidden), "{hidden:?} is in: {page}");
    }
}

fn open(house: &House, account: &str, budget: &str, on_halt: OnHalt) {
    let budget = Budget::parse(budget).unwrap();
    house
        .ledger
        .open_account(AccountSpec {
            name: name(account),
            privacy: Privacy::default(),
            filter: Some(FilterSpec { on_halt, ..FilterSpec::new(FilterRule::Basic, budget) }),
            odometer: OdometerSpec::new(OdometerRule::Basic, budget.delta()),
        })
        .unwrap();
}

fn charge(house: &House, account: &str, epsilon: &str, by: &str, note: &str) -> Outcome {
    let cost = Cost::parse_epsilon(epsilon).unwrap().cost;
    let charge = Charge::new(Key::generate().unwrap(), vec![name(account)], vec![cost]).unwrap();
    let note = (!note.is_empty()).then(|| Note::parse("note", note).unwrap());
    house.ledger.charge(charge.by(Some(Who::parse("by", by).unwrap())).with_note(note)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_sees_the_accounts_that_they_may_and_no_others() {
    let house = House::new();
    house.charge("bob", &["census/bob"], "0.4321", "k").await.expect(201);
    const ALL: [&str; 4] = ["census", "census/alice", "census/bob", "wages"];
    for (who, seen, hidden) in [
        ("owner", &ALL[..], &[][..]),
        ("auditor", &ALL[..], &[]),
        ("alice", &["census/alice"], &["wages", "bob", "0.4321"]),
        ("above", &["census", "census/alice"], &["wages", "bob"]),
        ("two", &["census/alice", "census/bob"], &["wages"]),
    ] {
        let mut visit = house.sign_in(who).await;
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
    // Somebody else's account, and one that does not exist, in the same words.
    let mut alice = house.sign_in("alice").await;
    for account in ["census%2Fbob", "census%2Fnobody"] {
        let reply = alice.get(&format!("/accounts/{account}")).await.expect(403);
        check_says(&reply.text(), &["The token does not allow this", "ask an owner for a token that does", "Sign out"]);
    }
    house.sign_in("owner").await.get("/accounts/nobody").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_overview_tells_what_is_left_and_what_was_refused() {
    let house = House::new();
    charge(&house, "census/alice", "0.5", "alice", "");
    charge(&house, "census/alice", "0.75", "alice", "");
    house.charge("alice", &["census/alice"], "4.5", "too much").await.expect(409);
    house.charge("bob", &["census/bob"], "3.2", "too much").await.expect(409);
    let mut owner = house.sign_in("owner").await;
    let page = settled(&mut owner, "/").await;
    check_says(part(&page, "totals", "</section>"), &["Accounts 4", "Charges 2", "Refusals 2"]);
    let tree = part(&page, "tree", "</table>");
    check_says(tree, &["census open 50% 1.25 at δ = 1e-6 2", "census/ alice open 75% 1.25 at δ = 1e-6 2"]);
    // What less than a minute shows is no rate.
    assert!(!tree.contains("% a"), "{tree}");
    check_says(tree, &["wages open 100% 0 at δ = 1e-6 0 – –"]);
    check_says(part(&page, "refusals", "</section>"), &["census ", "alice", "bob"]);
    // census refused both, and it is not alice's.
    let page = settled(&mut house.sign_in("alice").await, "/").await;
    check_says(&page, &["Accounts 1", "Charges 2", "Refusals 0 lately", "No charge was refused"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_stopped_is_told_from_one_that_is_kept_from_charges() {
    let house = House::new();
    open(&house, "stops", "1,1e-6", OnHalt::Stop);
    open(&house, "stops/below", "1,1e-6", OnHalt::Refuse);
    charge(&house, "stops", "2", "alice", "");
    let mut owner = house.sign_in("owner").await;
    let page = settled(&mut owner, "/").await;
    check_says(part(&page, "tree", "</table>"), &["stops halted 0%", "stops/ below open stopped by stops 100%"]);
    let page = settled(&mut owner, "/accounts/stops%2Fbelow").await;
    check_says(part(&page, "figures", "</section>"), &["It takes no charges: stops above it is halted."]);
    let page = settled(&mut owner, "/accounts/stops").await;
    check_says(
        &page,
        &["The account stops for good", "100% of the budget was left when the account stopped", "halt of ε = 2"],
    );
    check_says(part(&page, "below", "</section>"), &["stops/below open 100% 0 0"]);
    assert!(!page.contains("Close the account"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_opens_an_account_with_a_form() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
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
    check_says(&page, &["lab is open, by record"]);
    check_says(
        part(&page, "promise", "</section>"),
        &[
            "nobody can tell whether any one person in the data was exchanged for another",
            "The filter zcdp decides",
            "ε = 1.5, δ = 1e-7, of which 1e-8 is set aside",
            "The account stops for good.",
            "The odometer stitched reads",
            "arXiv:2203.05481v3, Theorem 4",
        ],
    );
    // What was left for the next page to say is said once.
    assert!(!owner.get("/accounts/lab").await.text().contains("lab is open, by record"));
    let shown = house.get("owner", "/v1/accounts/lab").await.json();
    assert_eq!((&shown["filter"]["on_halt"], &shown["unit"]), (&"stop".into(), &"person".into()));
    // The defaults are those of the API, but for δ, and an account below takes what is protected from above.
    let reply = owner.post("/accounts", &[("account", "lab/below"), ("epsilon", "1"), ("delta", "1e-6")]).await;
    owner.follow(reply).await.expect(200);
    let shown = house.get("owner", "/v1/accounts/lab%2Fbelow").await.json();
    let rules = (&shown["filter"]["rule"], &shown["odometer"]["rule"], &shown["unit"], &shown["neighbours"]);
    assert_eq!(rules, (&"residue".into(), &"renyi-mixture".into(), &"person".into(), &"substitute".into()));
    // A browser sends every field, empty or not, and a budget without a δ is a budget.
    let page = owner.get("/").await.text();
    assert!(part(&page, "odometer", "</select>").contains("<option value=\"\""), "{page}");
    for (account, delta) in [("pure", ""), ("zero", "0")] {
        let fields = [("account", account), ("epsilon", "1"), ("delta", delta), ("rule", "residue"), ("odometer", "")];
        let reply = owner.post("/accounts", &fields).await;
        owner.follow(reply).await.expect(200);
        let shown = house.get("owner", &format!("/v1/accounts/{account}")).await.json();
        assert_eq!((&shown["filter"]["rule"], &shown["odometer"]["rule"]), (&"residue".into(), &"basic".into()));
    }
    // One that only reads has to say so.
    let reply = owner.post("/accounts", &[("account", "reads"), ("delta", "1e-6"), ("only_reads", "yes")]).await;
    check_says(
        &owner.follow(reply).await.expect(200).text(),
        &["No filter decides", "Reading, ε at δ = 1e-6", "no budget"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_is_not_taken_says_why_and_is_still_filled_in() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    owner.get("/").await.expect(200);
    let before = house.ledger.accounts().len();
    for (fields, why) in [
        (vec![("account", "")], "the name is empty"),
        (vec![("account", "a b"), ("epsilon", "1")], "cannot stand in it"),
        (vec![("account", "census"), ("epsilon", "1"), ("delta", "1e-6")], "account census already exists"),
        (
            vec![("account", "none/below"), ("epsilon", "1"), ("delta", "1e-6")],
            "stands below none, which does not exist",
        ),
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
    assert_eq!(house.ledger.accounts().len(), before);
    // Others have no form, and what they send is not taken.
    for who in ["auditor", "alice"] {
        let mut visit = house.sign_in(who).await;
        visit.get("/").await.expect(200);
        visit.post("/accounts", &[("account", "lab"), ("epsilon", "1"), ("delta", "1e-6")]).await.expect(403);
        visit.post("/accounts/census%2Falice/close", &[("sure", "yes")]).await.expect(403);
    }
    assert_eq!(house.ledger.accounts().len(), before);
    assert_eq!(house.get("owner", "/v1/accounts/census%2Falice").await.json()["standing"], "open");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_shows_its_meter_its_spenders_and_its_history() {
    let house = House::new();
    charge(&house, "census/alice", "1", "alice", "households");
    charge(&house, "census/alice", "0.25", "anna", "");
    charge(&house, "census", "0.5", "olga", "the total");
    let mut owner = house.sign_in("owner").await;
    let page = settled(&mut owner, "/accounts/census").await;
    check_says(
        part(&page, "figures", "</section>"),
        &["Left of the budget 30%", "Reading, ε at δ = 1e-6 1.75", "Charges 3"],
    );
    let meter = part(&page, "meter", "</section>");
    check_says(
        meter,
        &["Now: 3 charges, reading ε = 1.75, 30% left", "not measured against the budget", "charges paid"],
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
    // The way up.
    let page = settled(&mut owner, "/accounts/census%2Falice").await;
    assert!(page.contains("<li><a href=\"/accounts/census\">census</a></li>"), "{page}");
    // An auditor sees the same and can change nothing.
    let page = settled(&mut house.sign_in("auditor").await, "/accounts/census").await;
    assert!(page.contains("id=\"meter\"") && !page.contains("Close the account"));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_an_account_above_an_analyst_sees_what_is_left_and_not_how_it_came_to_that() {
    let house = House::new();
    charge(&house, "census/alice", "0.25", "alice", "mine");
    charge(&house, "census/bob", "0.75", "bob", "secret plan");
    let mut above = house.sign_in("above").await;
    let reply = above.get("/accounts/census").await.expect(200);
    check_says(
        &reply.text(),
        &["Left of the budget 60%", "Reading, ε at δ = 1e-6 1", "The filter basic decides", "census/alice"],
    );
    let parts = ["id=\"meter\"", "id=\"spending\"", "id=\"records\"", "Close", "/cost?account=census\"", "receipts"];
    check_says_nothing_of(&reply, &parts);
    check_says_nothing_of(&reply, &["bob", "secret plan", "0.75"]);
    above.get("/accounts/census/history.jsonl").await.expect(403);
    // Its own has all of it, and nothing of others'.
    let page = settled(&mut above, "/accounts/census%2Falice").await;
    check_says(&page, &["The meter", "alice 1 5%", "mine"]);
    assert!(!page.contains("bob") && !page.contains("secret plan"));
    let mut alice = house.sign_in("alice").await;
    let page = settled(&mut alice, "/accounts/census%2Falice").await;
    assert!(!page.contains("href=\"/accounts/census\""), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_wrote_stays_text() {
    let house = House::new();
    let (script, image) = ("<script>alert(1)</script>", "<img src=x onerror=alert(2)>\"'");
    charge(&house, "census/alice", "0.1", image, script);
    let mut owner = house.sign_in("owner").await;
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
    let house = House::new();
    charge(&house, "census/alice", "0.1", "alice", "");
    let mut owner = house.sign_in("owner").await;
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
async fn what_pages_refer_to_is_there_once() {
    let house = House::new();
    charge(&house, "census/alice", "0.1", "alice", "");
    let mut owner = house.sign_in("owner").await;
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
        // What is live has an id to be found by.
        for tag in page.split('<').filter(|tag| tag.split('>').next().unwrap().contains(" data-live")) {
            assert!(tag.contains(" id=\""), "{path}: <{tag}");
        }
        assert_eq!(values(&page, "data-events").len(), 1, "{path}");
    }
}

/// The numbers of the records on a page, and where it goes on.
fn records(page: &str) -> (Vec<u64>, Option<String>) {
    let rows = page.split("data-label=\"Record\">").skip(1);
    let numbers = rows.map(|row| row.split('<').next().unwrap().parse().unwrap()).collect();
    let nav = part(page, "records", "</nav>");
    let next = nav.rsplit("href=\"").next().filter(|rest| rest.contains("Older") || rest.contains("further"));
    (numbers, next.map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_goes_back_page_by_page_and_through_a_filter() {
    let house = House::new();
    open(&house, "lab", "100,1e-6", OnHalt::Refuse);
    for at in 0..60 {
        let (by, note) = if at % 10 == 0 { ("bob", "Every Tenth") } else { ("alice", "") };
        charge(&house, "lab", "0.1", by, note);
    }
    let newest = house.ledger.account(&name("lab")).unwrap().sequence();
    let mut owner = house.sign_in("owner").await;
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
async fn receipts_and_the_history_can_be_taken_away() {
    let house = House::new();
    charge(&house, "census/alice", "0.1", "alice", "mine");
    charge(&house, "census/bob", "0.2", "bob", "not alice's");
    let newest = |account: &str| house.ledger.account(&name(account)).unwrap().sequence();
    let mut owner = house.sign_in("owner").await;
    let path = format!("/accounts/census/receipts/{}.json", newest("census/alice"));
    let reply = owner.get(&path).await.expect(200);
    let file = format!("attachment; filename=\"taximeter-receipt-{}.json\"", newest("census/alice"));
    assert_eq!((reply.header("content-disposition"), reply.header("content-type")), (&*file, "application/json"));
    let same = house.get("owner", &format!("/v1/receipts/{}", newest("census/alice"))).await;
    assert_eq!(reply.text(), same.text());
    // An analyst has what the API gives, and of others' nothing.
    let mut alice = house.sign_in("alice").await;
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
    let whole = house.get("owner", "/v1/accounts/census/history?limit=1000").await.json();
    assert_eq!(Value::Array(lines), whole["records"]);
    alice.get("/accounts/census%2Fbob/history.jsonl").await.expect(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_who_is_sure_closes_an_account() {
    let house = House::new();
    let mut owner = house.sign_in("owner").await;
    owner.get("/accounts/census%2Falice").await.expect(200);
    let path = "/accounts/census%2Falice/close";
    let page = owner.post(path, &[("note", "the study has ended")]).await.expect(400).text();
    check_says(&page, &["tick the box"]);
    assert!(page.contains("value=\"the study has ended\""), "{page}");
    assert_eq!(house.get("owner", "/v1/accounts/census%2Falice").await.json()["standing"], "open");
    let reply = owner.post(path, &[("note", "the study has ended"), ("sure", "yes")]).await;
    assert_eq!(reply.header("location"), "/accounts/census%2Falice");
    let page = owner.follow(reply).await.expect(200).text();
    check_says(&page, &["census/alice is closed, by record", "Standing closed", "close olga the study has ended"]);
    assert!(!page.contains("Close the account"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_accounts_are_shown_in_parts() {
    let house = House::new();
    open(&house, "many", "1,1e-6", OnHalt::Refuse);
    for at in 0..420 {
        open(&house, &format!("many/a{at:03}"), "1,1e-6", OnHalt::Refuse);
    }
    let mut owner = house.sign_in("owner").await;
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
