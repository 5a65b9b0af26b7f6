//! The dashboard with the keyboard alone.

use taximeter_testing::{Browser, keys};

use crate::pages::furnished;
use crate::visit::Visit;

/// Notes what gets the focus, by its place among all that can be used, and whether one sees that it has it.
const NOTE_FOCUS: &str = "
    const css = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex=\"0\"]';
    const all = [...document.querySelectorAll(css)].filter(it => it.checkVisibility({ visibilityProperty: true }) && !it.disabled);
    window.order = [];
    window.unseen = [];
    document.addEventListener('focusin', ({ target }) => {
        window.order.push(all.indexOf(target));
        const { outlineStyle, outlineWidth } = getComputedStyle(target);
        // Measured from the top of the page: the browser may scroll to the element only after this event.
        const { right, bottom } = target.getBoundingClientRect();
        const isOnPage = right + window.scrollX > 0 && bottom + window.scrollY > 0;
        const isSeen = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && isOnPage;
        if (!isSeen) window.unseen.push(target.outerHTML.slice(0, 120));
    });
    // From the top of the page, wherever it puts the focus itself.
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute('tabindex');
    window.order = [];
    window.unseen = [];
    return all.length";

#[test]
fn tab_reaches_everything_in_the_order_of_the_page_and_the_focus_is_seen() {
    // The parts of a date are stops of their own, in one field.
    const PARTS_OF_DATES: usize = 8;
    let (visit, pages) = furnished();
    for page in &pages {
        page.show(&visit);
        let count = visit.browser.script(NOTE_FOCUS, &[]).as_u64().expect("a number") as usize;
        visit.press_tab(count + PARTS_OF_DATES);
        let order = visit.browser.script("return window.order", &[]);
        let order: Vec<i64> = order.as_array().into_iter().flatten().filter_map(|place| place.as_i64()).collect();
        let expected: Vec<i64> = (0..count as i64).collect();
        let reached = &order[..count.min(order.len())];
        assert_eq!(reached, expected, "{}: {}", page.name, told(&visit.browser, reached, &expected));
        let unseen = visit.browser.script("return window.unseen", &[]);
        assert!(unseen.as_array().is_some_and(Vec::is_empty), "{}: {unseen}", page.name);
    }
}

/// The first element that was not reached in its turn.
fn told(browser: &Browser, reached: &[i64], expected: &[i64]) -> String {
    let Some(place) = expected.iter().zip(reached).position(|(one, other)| one != other) else {
        return "not all were reached".to_string();
    };
    format!("out of turn after {place} stops; the focus is on {:?}", browser.focused().text())
}

#[test]
fn one_signs_in_skips_charges_and_reads_a_chart_with_keys() {
    let (visit, _) = furnished();
    let browser = &visit.browser;
    visit.follow("Sign out");
    // The field gets the focus by itself.
    browser
        .wait_until("the field has the focus", |browser| browser.focused().attribute("id").as_deref() == Some("token"));
    browser.press(&[&visit.olga, keys::ENTER].concat());
    browser.wait_until("a visitor is signed in", |browser| browser.find_all("#theme").len() == 1);
    skip_to_the_content(&visit);
    visit.go("/cost?account=census%2Falice");
    tab_to(&visit, "#epsilon");
    browser.press("0.001");
    tab_to(&visit, "button.charge");
    browser.press(keys::ENTER);
    browser.wait_for_text("Charged ε = 0.001 to census/alice");
    read_the_chart(&visit);
    // What is folded opens with Enter, and stays open when the page changes by itself.
    tab_to(&visit, "#points-behind > summary");
    browser.press(keys::ENTER);
    assert!(browser.find("#points").is_shown());
    browser.script("document.activeElement.blur()", &[]);
    visit.charge_elsewhere(&visit.olga, "census/alice", "0.001", "another");
    browser.wait_until("the page changes", |browser| {
        browser.text_of("#records").is_some_and(|records| records.contains("another"))
    });
    browser.wait_until("the table has it, and is shown", |browser| {
        let script = "const table = document.querySelector('#points');
            return table.checkVisibility() && table.tBodies[0].rows.length === 33";
        browser.script(script, &[]) == true
    });
}

fn skip_to_the_content(visit: &Visit) {
    let browser = &visit.browser;
    visit.go("/");
    // A page that is not yet ready ignores a key.
    browser.wait_until("Tab reaches the first link", |browser| {
        let is_nowhere = browser.script("return document.activeElement === document.body", &[]) == true;
        if is_nowhere {
            visit.press_tab(1);
        }
        browser.focused().text() == "Skip to the content"
    });
    browser.press(keys::ENTER);
    browser.wait_until("the focus is on the content", |browser| {
        browser.focused().attribute("id").as_deref() == Some("main")
    });
    visit.press_tab(1);
    let script = "return document.activeElement.closest('main') !== null";
    assert_eq!(browser.script(script, &[]), true);
}

fn read_the_chart(visit: &Visit) {
    let browser = &visit.browser;
    browser.wait_until("the chart has it", |browser| {
        browser.text_of(".chart output").is_some_and(|text| text.starts_with("Now: 31 charges"))
    });
    tab_to(visit, ".chart svg[tabindex]");
    let told = || browser.text_of(".chart output").expect("a chart");
    let usual = told();
    for (key, charges) in [
        (keys::RIGHT, "0"),
        (keys::RIGHT, "1"),
        (keys::RIGHT, "2"),
        (keys::LEFT, "1"),
        (keys::END, "31"),
        (keys::RIGHT, "31"),
        (keys::HOME, "0"),
    ] {
        browser.press(key);
        assert!(told().starts_with(&format!("Charges {charges} · ")), "{key:?}: {}", told());
        assert!(browser.find(".chart .cursor").attribute("hidden").is_none());
    }
    visit.press_tab(1);
    assert_eq!(told(), usual);
}

/// Presses Tab until an element has the focus.
#[track_caller]
fn tab_to(visit: &Visit, css: &str) {
    let is_there =
        |browser: &Browser| browser.script("return document.activeElement.matches(arguments[0])", &[css.into()]);
    for _ in 0..100 {
        if is_there(&visit.browser) == true {
            return;
        }
        visit.press_tab(1);
    }
    panic!("a hundred tabs do not lead to {css} on {}", visit.path());
}
