//! What people write stays text, wherever it is shown: no page runs it.

use serde_json::json;

use crate::sandbox::Sandbox;
use crate::visit::Visit;

/// A text that ends an attribute or an element that it is put into as it is, and runs.
const MARKUP: &str = r#"'"></textarea><img src=x onerror=window.ran=1><script>ran=1</script>"#;

/// The part of it that can be seen wherever it is shown as it was written, also where it is cut.
const SEEN: &str = "<img src=x onerror=";

/// The same as the name of a column, which is shorter.
const COLUMN: &str = r#"'"><img src=x onerror=window.ran=1>"#;

#[test]
fn what_people_write_is_shown_and_never_run() {
    let sandbox = Sandbox::with_accounts();
    sandbox.done(&["charge", "census/alice", "--epsilon", "0.01", "--note", MARKUP, "--by", MARKUP]);
    sandbox.done(&["account", "close", "census/bob", "--note", MARKUP]);
    add_data(&sandbox);
    let visit = Visit::new(sandbox);
    visit.sign_in(&visit.olga);
    written_in_the_journal(&visit);
    written_in_the_address(&visit);
    written_in_forms(&visit);
    written_in_questions(&visit);
    written_in_files(&visit);
}

/// A dataset with a column and a category of such names.
fn add_data(sandbox: &Sandbox) {
    let rows: String = (0..100).map(|row| format!("{},{}\n", row % 90, quoted(["north", MARKUP][row % 2]))).collect();
    std::fs::write(sandbox.path("odd.csv"), format!("age,{}\n{rows}", quoted(COLUMN))).unwrap();
    let schema = format!(
        "unit = \"row\"\n[columns.age]\nbounds = [0, 120]\n[columns.{}]\ncategories = [\"north\", {}]\n",
        json!(COLUMN),
        json!(MARKUP)
    );
    std::fs::write(sandbox.path("odd.toml"), schema).unwrap();
    sandbox.done(&["dataset", "add", "odd", "odd.csv", "--schema", "odd.toml", "--budget", "1,1e-6"]);
}

/// A field of a CSV file.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn written_in_the_journal(visit: &Visit) {
    for path in ["/accounts/census%2Falice", "/accounts/census%2Fbob", "/accounts/census"] {
        visit.go(path);
        visit.browser.wait_until("the journal is read", |browser| browser.find_all("[data-again]").is_empty());
        stays_text(visit);
    }
    // The name of who spent leads to what they did.
    visit.go("/accounts/census%2Falice");
    visit.browser.find("#spending tbody a").follow();
    assert_eq!(visit.browser.find("#by").property("value"), MARKUP);
    assert_eq!(visit.rows(".history").len(), 1);
    stays_text(visit);
    // What the script of the page puts there is text too.
    visit.go("/accounts/census%2Falice");
    let note = json!(MARKUP).to_string();
    visit.charge_elsewhere(&visit.olga, "census/alice", "0.01", note.trim_matches('"'));
    visit.browser.wait_until("the history has it", |browser| browser.find_all(".history tbody tr").len() == 3);
    stays_text(visit);
}

fn written_in_the_address(visit: &Visit) {
    let written: String = MARKUP.bytes().map(|byte| format!("%{byte:02x}")).collect();
    for path in [
        format!("/?starts={written}"),
        format!("/accounts/census%2Falice?by={written}&note={written}&what={written}"),
        format!("/accounts/census%2Falice?from={written}"),
        format!("/cost?account={written}&others={written}&epsilon={written}&note={written}&kind={written}"),
        format!("/ask?dataset=odd&question={written}&account={written}&amount={written}"),
    ] {
        visit.go(&path);
        stays_text(visit);
    }
    // These show a part of it, or nothing.
    for path in [
        format!("/ask?dataset={written}"),
        format!("/accounts/{written}"),
        format!("/datasets/{written}"),
        format!("/answers/{written}"),
        format!("/tokens/{written}/revoke"),
        format!("/sign-in?to=/{written}"),
        format!("/{written}"),
    ] {
        visit.go(&path);
        runs_nothing(visit);
    }
}

fn written_in_forms(visit: &Visit) {
    visit.go("/");
    visit.button("Name, budget and rule").click();
    visit.fill("account", MARKUP);
    visit.fill("epsilon", MARKUP);
    visit.follow("Open the account");
    assert_eq!(visit.status(), 400);
    stays_text(visit);
    visit.go("/cost");
    visit.fill("note", MARKUP);
    visit.fill("epsilon", "100");
    visit.browser.wait_for_text("It does not fit.");
    visit.follow("Charge it");
    assert_eq!(visit.status(), 409);
    stays_text(visit);
    visit.go("/tokens");
    visit.fill("principal", &MARKUP[..60]);
    visit.browser.find("select[name=role] option[value=owner]").click();
    visit.follow("Make the token");
    assert_eq!(visit.status(), 400);
    stays_text(visit);
    visit.go("/datasets/odd");
    visit.fill("analyst", MARKUP);
    visit.fill("epsilon", "1");
    visit.fill("delta", "1e-6");
    visit.follow("Add the analyst");
    assert_eq!(visit.status(), 400);
    stays_text(visit);
}

fn written_in_questions(visit: &Visit) {
    visit.go("/ask?dataset=odd");
    visit.browser.wait_for_text("Understood as");
    stays_text(visit);
    visit.follow("Ask");
    assert!(visit.path().starts_with("/answers/"), "{}", visit.path());
    let groups: Vec<String> = visit.rows("main .panel table").into_iter().map(|mut row| row.swap_remove(0)).collect();
    assert_eq!(groups[..2], ["north", MARKUP]);
    stays_text(visit);
    // A question that is none is shown with the place that is wrong.
    visit.go("/ask?dataset=odd");
    visit.fill("question", &format!("SELECT COUNT(*) FROM odd WHERE age = '{}'", MARKUP.replace('\'', "''")));
    visit.browser.wait_for("#explanation .problem");
    stays_text(visit);
    visit.follow("Ask");
    assert!(visit.browser.find_all(".problem[role=alert]").len() == 1);
    stays_text(visit);
    visit.go("/ask");
    visit.browser.wait_for("#earlier table");
    stays_text(visit);
}

fn written_in_files(visit: &Visit) {
    let file = visit.sandbox.path("bad.csv");
    std::fs::write(&file, format!("age,region\n1,north\n{},south\n", quoted(MARKUP))).unwrap();
    let fill_in = |skip: bool| {
        visit.go("/register");
        visit.browser.find("#file").type_text(&file.display().to_string());
        let declared = [("bounds", "age=0..120"), ("types", "age=integer")];
        for (name, text) in
            [("dataset", "bad"), ("unit", "row"), ("epsilon", "1"), ("delta", "1e-6")].into_iter().chain(declared)
        {
            visit.fill(name, text);
        }
        if skip {
            visit.browser.find("[name=skip_bad_rows]").click();
        }
        visit.follow("Register");
    };
    fill_in(false);
    assert_eq!(visit.status(), 400, "{}", visit.browser.text());
    stays_text(visit);
    fill_in(true);
    assert_eq!(visit.path(), "/datasets/bad");
    stays_text(visit);
    // A header that cannot be used is repeated.
    std::fs::write(&file, format!("{0},{0}\n1,2\n", quoted(COLUMN))).unwrap();
    visit.go("/register");
    visit.browser.find("#file").type_text(&file.display().to_string());
    for (name, text) in [("dataset", "worse"), ("unit", "row"), ("epsilon", "1"), ("delta", "1e-6")] {
        visit.fill(name, text);
    }
    visit.follow("Register");
    assert_eq!(visit.status(), 400);
    stays_text(visit);
}

/// The markup is on the page as it was written, and did not become a part of it.
#[track_caller]
fn stays_text(visit: &Visit) {
    let script = "return document.body.textContent.includes(arguments[0])
        || [...document.querySelectorAll('input, textarea, option')].some(field => field.value.includes(arguments[0]))";
    let is_shown = visit.browser.script(script, &[SEEN.into()]);
    assert_eq!(is_shown, true, "{} does not show it:\n{}", visit.path(), visit.browser.text());
    runs_nothing(visit);
}

#[track_caller]
fn runs_nothing(visit: &Visit) {
    let script = "return { ran: window.ran ?? null, made: document.querySelectorAll('img, script:not([src]), [onerror]').length }";
    let found = visit.browser.script(script, &[]);
    assert_eq!(found, json!({ "ran": null, "made": 0 }), "{}", visit.path());
    // The policy had nothing to forbid.
    visit.is_content();
}
