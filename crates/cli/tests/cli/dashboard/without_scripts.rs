//! The dashboard where no script runs.

use crate::sandbox::Sandbox;
use crate::visit::Visit;

#[test]
fn one_signs_in_opens_quotes_charges_asks_and_verifies_without_scripts() {
    let sandbox = Sandbox::with_accounts();
    sandbox.add_people();
    let visit = Visit::new(sandbox);
    let browser = &visit.browser;
    browser.set_scripts_enabled(false);
    visit.sign_in(&visit.olga);
    assert!(!browser.find("#theme").is_shown(), "a button that does nothing");
    visit.button("Name, budget and rule").click();
    visit.fill("account", "census/carol");
    visit.fill("epsilon", "0.5");
    visit.follow("Open the account");
    assert_eq!(visit.path(), "/accounts/census%2Fcarol");

    visit.follow("What would it cost?");
    visit.fill("epsilon", "0.25");
    assert!(browser.find("#quote").text().contains("Enter a cost"));
    visit.follow("Show the quote");
    assert!(browser.find("#quote").text().contains("It fits."));
    assert_eq!(browser.find("#epsilon").property("value"), "0.25");
    visit.follow("Charge it");
    assert_eq!(visit.path(), "/accounts/census%2Fcarol");
    assert!(visit.notice().contains("Charged ε = 0.25"), "{}", visit.notice());
    browser.wait_until("the chart has it", |browser| {
        browser.reload();
        browser.find_all(".chart path").len() == 2
    });

    visit.follow("Ask");
    visit.fill("amount", "0.125");
    visit.follow("Explain");
    assert!(browser.find("#explanation").text().contains("It would cost ε = 0.125"));
    visit.follow("Ask");
    assert!(visit.path().starts_with("/answers/"), "{}", visit.path());
    assert_eq!(browser.find_all(".bars rect.bar").len(), 2);

    visit.follow("Audit");
    visit.follow("Verify");
    browser.wait_until("it is verified", |browser| {
        browser.reload();
        browser.text_of("#verified").is_some_and(|text| text.contains("The ledger is whole."))
    });
    visit.is_content();
}
