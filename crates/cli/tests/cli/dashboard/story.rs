//! What an owner does in a day, from signing in to signing out.

use taximeter_testing::Browser;

use crate::sandbox::Sandbox;
use crate::visit::Visit;

#[test]
fn an_owner_opens_charges_watches_asks_verifies_revokes_and_leaves() {
    let sandbox = Sandbox::new();
    sandbox.done(&["account", "create", "census", "--budget", "2,1e-6"]);
    let visit = Visit::new(sandbox);
    visit.sign_in(&visit.olga);
    let session: Vec<_> = visit.browser.cookies().into_iter().filter(|cookie| cookie.name == "taximeter").collect();
    assert!(matches!(&session[..], [one] if one.http_only && one.same_site == "Strict"), "{session:?}");
    open_an_account(&visit);
    charge_until_it_is_refused(&visit);
    watch_the_meter(&visit);
    register_data(&visit);
    ask(&visit);
    verify(&visit);
    make_a_token_and_revoke_it(&visit);
    leave(&visit);
    visit.is_content();
}

fn open_an_account(visit: &Visit) {
    visit.button("Name, budget and rule").click();
    visit.fill("account", "census/alice");
    visit.fill("epsilon", "0.5");
    visit.follow("Open the account");
    assert_eq!(visit.path(), "/accounts/census%2Falice");
    assert!(visit.notice().contains("census/alice is open"), "{}", visit.notice());
    is_left(visit, 100.0);
    // Loaded again, the page does not say it again.
    visit.browser.reload();
    assert_eq!(visit.notice(), "");
}

fn charge_until_it_is_refused(visit: &Visit) {
    for expected in [41.2, 5.8] {
        visit.follow("What would it cost?");
        visit.go("/cost?account=census%2Falice");
        visit.fill("epsilon", "0.2");
        visit.browser.wait_until("it is quoted", |browser| {
            browser.text_of("#quote").is_some_and(|quote| quote.contains("It fits."))
        });
        visit.follow("Charge it");
        assert_eq!(visit.path(), "/accounts/census%2Falice");
        assert!(visit.notice().starts_with("Charged ε = 0.2 to census/alice: record "), "{}", visit.notice());
        is_left(visit, expected);
    }
    visit.go("/cost?account=census%2Falice");
    visit.fill("epsilon", "0.2");
    visit.browser.wait_until("it is quoted", |browser| {
        browser.text_of("#quote").is_some_and(|quote| quote.contains("It does not fit."))
    });
    visit.follow("Charge it");
    assert_eq!((visit.path().as_str(), visit.status()), ("/cost", 409));
    assert!(visit.problem().contains("census/alice"), "{}", visit.problem());
    let quote = visit.text_of("#quote");
    assert!(quote.contains("It was refused.") && quote.contains("nothing was charged"), "{quote}");
    assert!(quote.contains("The largest that fits: ε = 0.100006."), "{quote}");
    visit.follow("Fill it in");
    assert_eq!(visit.browser.find("#epsilon").property("value"), "0.100006");
    assert!(visit.text_of("#quote").contains("It fits."));
    visit.go("/");
    let refused = visit.text_of("#refusals");
    assert!(refused.contains("census/alice") && refused.contains("olga"), "{refused}");
}

fn watch_the_meter(visit: &Visit) {
    let carol = visit.sandbox.token("carol", "analyst", &["--account", "census/alice"]);
    visit.server.becomes(&carol, 200);
    visit.go("/accounts/census%2Falice");
    // At once, since the page replaces the chart.
    let curve = |browser: &Browser| {
        browser.script("return document.querySelector('.chart path.left')?.getAttribute('d') ?? null", &[])
    };
    visit.browser.wait_until("the chart is there", |browser| !curve(browser).is_null());
    let (before, drawn) = (left(&visit.browser), curve(&visit.browser));
    visit.browser.script("window.stillHere = true", &[]);
    visit.charge_elsewhere(&carol, "census/alice", "0.05", "from elsewhere");
    visit.browser.wait_until("the gauge moves", |browser| left(browser) < before);
    visit.browser.wait_until("the chart moves", |browser| curve(browser) != drawn);
    visit.browser.wait_until("the history has it", |browser| {
        browser.text_of("#records").is_some_and(|records| records.contains("from elsewhere"))
    });
    is_left(visit, 1.8);
    let percent = format!("{}%", left(&visit.browser));
    let figures = visit.text_of("#figures");
    assert!(figures.contains(&percent) && figures.contains("Charges\n3"), "{figures}");
    let points = visit.rows("#points");
    assert_eq!(
        points.last().map(|point| (point[0].as_str(), point[4].as_str())),
        Some(("3", percent.as_str())),
        "{points:?}"
    );
    assert!(visit.text_of("#spending").contains("carol"));
    // No page was loaded meanwhile.
    assert_eq!(visit.browser.script("return window.stillHere", &[]), true);
    // What is refused elsewhere shows on the overview, also without loading it again.
    visit.go("/");
    visit.browser.script("window.stillHere = true", &[]);
    let answer = visit.post(&carol, "/v1/charges", r#"{"accounts":["census/alice"],"costs":[{"epsilon":"0.4"}]}"#);
    assert_eq!(answer.status, 409, "{}", answer.body);
    visit.browser.wait_until("the refusal shows", |browser| {
        browser.text_of("#refusals").is_some_and(|refusals| refusals.contains("carol"))
    });
    assert_eq!(visit.browser.script("return window.stillHere", &[]), true);
}

/// What is left, as the gauge of the account has it for a screen reader.
fn left(browser: &Browser) -> f64 {
    let script = "return document.querySelector('#figures [role=meter]')?.getAttribute('aria-valuenow')";
    browser.script(script, &[]).as_str().and_then(|left| left.parse().ok()).expect("a gauge")
}

/// The gauge shows so much, or a little less: it is rounded down.
#[track_caller]
fn is_left(visit: &Visit, percent: f64) {
    let left = left(&visit.browser);
    assert!((percent - 0.1..=percent).contains(&left), "{left}% are left, and not {percent}%");
}

fn register_data(visit: &Visit) {
    let rows: String = (0..300).map(|row| format!("{},{}\n", row % 90, ["north", "south"][row % 2])).collect();
    let file = visit.sandbox.path("people.csv");
    std::fs::write(&file, format!("age,region\n{rows}")).unwrap();
    visit.follow("Datasets");
    visit.follow("Register a dataset");
    visit.browser.find("#file").type_text(&file.display().to_string());
    for (name, text) in [
        ("dataset", "people"),
        ("unit", "row"),
        ("epsilon", "1"),
        ("delta", "1e-6"),
        ("bounds", "age=0..120"),
        ("categories", "region=north,south,west"),
    ] {
        visit.fill(name, text);
    }
    visit.follow("Register");
    assert_eq!(visit.path(), "/datasets/people");
    let notice = visit.notice();
    assert!(notice.contains("people is registered, version 1. All of its 300 rows count."), "{notice}");
}

fn ask(visit: &Visit) {
    visit.go("/ask?dataset=people");
    visit.fill("question", "SELECT region, COUNT(*) FROM people GROUP BY region");
    visit.fill("amount", "0.4");
    visit.browser.wait_until("it is explained", |browser| {
        browser.text_of("#explanation").is_some_and(|text| text.contains("It would cost ε = 0.4"))
    });
    visit.follow("Ask");
    assert!(visit.path().starts_with("/answers/"), "{}", visit.path());
    assert!(visit.notice().starts_with("Charged and answered."), "{}", visit.notice());
    let rows = visit.rows("main .panel table");
    assert_eq!(rows[..3].iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ["north", "south", "west"], "{rows:?}");
    for row in &rows[..3] {
        let number = |text: &str| text.replace(',', "").replace("± ", "").parse::<f64>().expect("a number");
        let [value, low, high, half_width] = [1, 2, 3, 4].map(|cell| number(&row[cell]));
        assert!(low < value && value < high && high - low == 2.0 * half_width, "{row:?}");
    }
    assert_eq!(visit.browser.find_all(".bars rect.bar").len(), 3);
    let answer = visit.path();
    visit.go("/ask");
    let earlier = visit.text_of("#earlier");
    assert!(earlier.contains("FROM people GROUP BY region"), "{earlier}");
    visit.browser.find("#earlier tbody a").follow();
    assert_eq!(visit.path(), answer);
}

fn verify(visit: &Visit) {
    visit.follow("Audit");
    visit.follow("Verify");
    visit.browser.wait_until("it is verified", |browser| {
        browser.text_of("#verified").is_some_and(|text| text.contains("The ledger is whole."))
    });
    let facts = visit.text_of("#ledger-facts");
    let verified = visit.text_of("#verified");
    let hash = visit.text_of("#verified code");
    assert!(hash.len() == 64 && facts.contains(&hash), "{facts}\n{verified}");
}

fn make_a_token_and_revoke_it(visit: &Visit) {
    visit.go("/tokens");
    visit.fill("principal", "dora");
    visit.browser.find("input[name=accounts][value='census/alice']").click();
    visit.follow("Make the token");
    let secret = visit.browser.find("#secret").property("value").as_str().unwrap_or_default().trim().to_string();
    assert_eq!(visit.server.status(&secret), 200, "{secret}");
    visit.go("/tokens");
    assert!(!visit.browser.source().contains(&secret[4..]));
    let row = visit.rows("main table").into_iter().find(|row| row[0].starts_with("dora")).expect("a row for dora");
    for cell in ["analyst", "census/alice", "valid"] {
        assert!(row.iter().any(|other| other == cell), "{cell} is not in {row:?}");
    }
    visit.go(&format!("/tokens/{}/revoke", &secret[4..20]));
    visit.follow("Revoke");
    assert_eq!(visit.path(), "/tokens");
    assert!(visit.notice().contains("of dora is revoked"), "{}", visit.notice());
    assert_eq!(visit.server.status(&secret), 401);
}

fn leave(visit: &Visit) {
    visit.go("/accounts/census%2Falice");
    visit.follow("Sign out");
    assert_eq!(visit.path(), "/sign-in");
    assert!(!visit.browser.cookies().iter().any(|cookie| cookie.name == "taximeter"));
    visit.browser.back();
    visit.browser.wait_until("the page asks for a token", |browser| browser.url().contains("/sign-in?to="));
    let text = visit.browser.text();
    assert!(!text.contains("carol") && !text.contains("0.05") && !text.contains("Charges"), "{text}");
}
