//! Who is let in, who is not, and who is shown out.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::visit::Visit;

#[test]
fn a_token_that_is_wrong_or_ended_opens_nothing_and_one_that_ends_leads_to_the_door() {
    let visit = Visit::new(Sandbox::with_accounts());
    wrong_ones_are_told_from_right_ones(&visit);
    one_that_expires_leads_to_the_door(&visit);
    one_that_is_revoked_leads_to_the_door(&visit);
    too_many_wrong_ones_are_not_even_tried(&visit);
    visit.is_content();
}

fn wrong_ones_are_told_from_right_ones(visit: &Visit) {
    let mut forged = visit.olga.clone();
    let last = forged.pop();
    forged.push(if last == Some('0') { '1' } else { '0' });
    for wrong in ["nonsense", &forged] {
        visit.try_token(wrong);
        assert_eq!((visit.path().as_str(), visit.status()), ("/sign-in", 401));
        assert!(visit.problem().contains("not known, has expired, or was revoked"), "{}", visit.problem());
        assert_eq!(visit.browser.find("#token").property("value"), "", "it is not shown again");
    }
    visit.go("/accounts/census?note=a");
    assert_eq!(visit.path(), "/sign-in?to=%2Faccounts%2Fcensus%3Fnote%3Da");
    visit.browser.find("#token").type_text(&visit.olga);
    visit.follow("Sign in");
    assert_eq!(visit.path(), "/accounts/census?note=a", "one comes to where one wanted to go");
    visit.follow("Sign out");
}

fn one_that_expires_leads_to_the_door(visit: &Visit) {
    // On a slow machine a token that ends soon has ended before its page is there; then another one lasts longer.
    let brief = [4, 16, 64].into_iter().find_map(|seconds| {
        let expires = (Timestamp::now() + Duration::from_secs(seconds)).to_string();
        let (brief, _) = visit.make_token(&json!({ "principal": "brief", "role": "owner", "expires": expires }));
        visit.try_token(&brief);
        visit.go("/accounts/census");
        (visit.path() == "/accounts/census").then_some(brief)
    });
    let brief = brief.expect("the page is there before the token ends");
    is_led_to_the_door(visit, "census");
    visit.try_token(&brief);
    assert_eq!(visit.status(), 401);
    assert!(visit.problem().contains("has expired"), "{}", visit.problem());
}

fn one_that_is_revoked_leads_to_the_door(visit: &Visit) {
    let new = json!({ "principal": "alice", "role": "analyst", "accounts": ["census/alice"] });
    for page in ["/", "/accounts/census%2Falice", "/cost"] {
        let (alice, id) = visit.make_token(&new);
        visit.sign_in(&alice);
        visit.go(page);
        let answer = visit.post(&visit.olga, &format!("/v1/tokens/{id}/revoke"), "{}");
        assert_eq!(answer.status, 200, "{}", answer.body);
        is_led_to_the_door(visit, "census/alice");
        visit.try_token(&alice);
        assert_eq!(visit.status(), 401);
    }
}

/// The page by itself gives way to the one to sign in, which shows nothing of it.
fn is_led_to_the_door(visit: &Visit, shown: &str) {
    visit.browser.wait_until("the page leads to the door", |browser| browser.url().contains("/sign-in?to="));
    visit.browser.wait_for("#token");
    assert!(!visit.browser.text().contains(shown));
}

fn too_many_wrong_ones_are_not_even_tried(visit: &Visit) {
    // All at once: they count for a minute, and a browser may need longer than that to fill in eleven forms.
    let send = "const form = document.querySelector('#token').form;
        form.token.value = 'txm_wrong';
        const body = new URLSearchParams(new FormData(form));
        const send = () => fetch(form.action, { method: 'POST', body }).then(answer => answer.status);
        return Promise.all(Array.from({ length: 11 }, send))";
    visit.browser.wait_until("the right one is not tried either", |browser| {
        browser.delete_cookie("taximeter");
        visit.go("/sign-in");
        let statuses = browser.script(send, &[]);
        let is_wrong = |status: &Value| [401, 429].contains(&status.as_u64().unwrap_or_default());
        assert!(statuses.as_array().is_some_and(|all| all.len() == 11 && all.iter().all(is_wrong)), "{statuses}");
        visit.try_token(&visit.olga);
        visit.status() == 429
    });
    assert!(visit.problem().contains("too many wrong tokens"), "{}", visit.problem());
}

#[test]
fn an_analyst_who_reaches_for_what_is_not_theirs_sees_none_of_it() {
    let sandbox = Sandbox::with_accounts();
    sandbox.add_people();
    for (account, epsilon) in [("census/bob", "0.125"), ("census/alice", "0.0625")] {
        sandbox.done(&["charge", account, "--epsilon", epsilon, "--note", &format!("{account} asked")]);
    }
    let alice = sandbox.token("alice", "analyst", &["--account", "census/alice"]);
    let visit = Visit::new(sandbox);
    visit.sign_in(&alice);
    let text = visit.browser.text();
    assert!(text.contains("alice") && !text.contains("bob") && !text.contains("people"), "{text}");
    let names: Vec<String> = visit.browser.find_all("header nav a").iter().map(|link| link.text()).collect();
    assert_eq!(names, ["Accounts", "What would it cost?", "Ask", "Plan", "Datasets"]);
    visit.go("/accounts/census%2Falice");
    assert!(visit.browser.text().contains("census/alice asked"));
    for (path, status) in [
        ("/accounts/census%2Fbob", 403),
        ("/accounts/census", 403),
        ("/accounts/people", 403),
        ("/accounts/nobody", 403),
        ("/accounts/census%2Fbob/history.jsonl", 403),
        ("/accounts/census%2Fbob/receipts/4.json", 404),
        ("/cost?account=census%2Fbob&epsilon=0.1", 403),
        ("/ask?dataset=people", 403),
        ("/datasets/people", 403),
        ("/register", 403),
        ("/audit", 403),
        ("/audit/export", 403),
        ("/tokens", 403),
        ("/tokens/0123456789abcdef/revoke", 403),
    ] {
        visit.go(path);
        assert_eq!(visit.status(), status, "{path}: {}", visit.browser.text());
        let source = visit.browser.source();
        for secret in ["0.125", "0.0625", "bob asked", "olga", "75%", "role=\"meter\"", "txm_"] {
            assert!(!source.contains(secret), "{secret:?} is on {path}:\n{}", visit.browser.text());
        }
    }
    visit.is_content();
}
