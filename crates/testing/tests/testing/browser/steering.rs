//! What a browser is told to do.

use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use taximeter_testing::{Browser, PageTheme, keys};

use super::site::Site;

const FORM: &str = r#"<title>A form</title><h1>Charge</h1>
<form action=/done><label>Note <input name=note></label>
<label>Rule <select name=rule><option value=b>basic</option><option value=r>residue</option></select></label>
<label><input type=checkbox name=sure> Sure</label><button>Go</button></form>"#;

#[test]
fn a_form_is_filled_in_with_mouse_and_keyboard() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    let url = site.put("/form", "", FORM);
    site.put("/done?note=caf%C3%A9&rule=r&sure=on", "", "<title>Done</title>thank you");
    browser.open(&url);
    assert_eq!((browser.url(), browser.title()), (url, "A form".to_string()));
    assert!(browser.text().contains("Charge"), "{}", browser.text());
    assert!(browser.source().contains("<h1>Charge</h1>"));
    let note = browser.find("input[name=note]");
    assert_eq!((note.role().as_str(), note.label().as_str()), ("textbox", "Note"));
    assert_eq!(browser.find("[name=sure]").label(), "Sure");
    note.type_text("wrong");
    assert_eq!(note.property("value"), "wrong");
    note.clear();
    note.type_text("café");
    browser.find("select").select("residue");
    assert_eq!(browser.find("select").property("value"), "r");
    browser.find("[name=sure]").click();
    assert_eq!(browser.find("[name=sure]").property("checked"), true);
    browser.find("button").follow();
    assert_eq!(browser.title(), "Done");
    browser.back();
    browser.reload();
    site.put("/done?note=ab&rule=r", "", "<title>Done again</title>thank you");
    // The same without the mouse: into the field, from one element to the next, and off.
    browser.press(&[keys::TAB, "aXb", keys::LEFT, keys::BACKSPACE].concat());
    browser.press(keys::TAB);
    assert_eq!(browser.focused().attribute("name").as_deref(), Some("rule"));
    browser.press(keys::DOWN);
    browser.press(&[keys::SHIFT, keys::TAB].concat());
    assert_eq!(browser.focused().attribute("name").as_deref(), Some("note"));
    browser.press(keys::ENTER);
    browser.wait_for_text("thank you");
    assert_eq!(browser.title(), "Done again");
}

#[test]
fn what_comes_later_is_waited_for_and_what_never_comes_is_told_with_the_page() {
    let (mut browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    let nobody = format!("http://{}/", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    // It comes some time after it was called, so that it is not there before, however slow the machine is.
    let late = "<p id=now>here</p><script>function call() {
        setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<p id=late>there</p>'), 300) }</script>";
    browser.open(&site.put("/", "", late));
    assert!(browser.find_all("#late").is_empty());
    assert_eq!(browser.text_of("#late"), None);
    browser.script("call()", &[]);
    assert_eq!(browser.wait_for("#late").text(), "there");
    assert_eq!(browser.text_of("#late").as_deref(), Some("there"));
    assert_eq!(browser.find_all("p").len(), 2);
    browser.set_patience(Duration::from_secs(1));
    for (attempt, parts) in [
        (&(|| drop(browser.find("#never"))) as &dyn Fn(), &["find \"#never\"", "no such element", "here\n"][..]),
        (&|| browser.wait_for_text("nowhere"), &["waited 1s", "the page says \"nowhere\"", "there"]),
        (&|| browser.find("#late").select("x"), &["could not run a script", "here\n"]),
        (&|| drop(browser.script("return nothing.at.all", &[])), &["run a script", "nothing is not defined"]),
        (&|| browser.open(&nobody), &["could not open http://127.0.0.1:", "ERR_CONNECTION_REFUSED"]),
    ] {
        let panicked = catch_unwind(AssertUnwindSafe(attempt)).expect_err("it must fail");
        let message = panicked.downcast_ref::<String>().expect("a message");
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in {message}");
        }
    }
}

#[test]
fn scripts_take_and_return_values_and_elements() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    browser.open(&site.put("/", "", "<p class=one>a</p><p hidden>b</p>"));
    let add = "return { sum: arguments[0] + arguments[1], name: arguments[2].className }";
    let result = browser.script(add, &[1.into(), 2.into(), browser.find("p").reference()]);
    assert_eq!(result, serde_json::json!({ "sum": 3, "name": "one" }));
    assert_eq!(browser.script("return Promise.resolve('later')", &[]), "later");
    let shown: Vec<bool> = browser.find_all("p").iter().map(|element| element.is_shown()).collect();
    assert_eq!(shown, [true, false]);
}

#[test]
fn cookies_are_seen_with_their_attributes_and_forgotten() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    let cookies = "set-cookie: session=abc; HttpOnly; SameSite=Strict; Path=/; Max-Age=60\r\nset-cookie: plain=x\r\n";
    browser.open(&site.put("/", cookies, "in"));
    let mut found = browser.cookies();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    let [plain, session] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((plain.value.as_str(), plain.http_only, plain.expiry), ("x", false, None));
    assert_eq!((session.value.as_str(), session.path.as_str(), session.same_site.as_str()), ("abc", "/", "Strict"));
    assert!(session.http_only && !session.secure && session.expiry.is_some(), "{session:?}");
    browser.delete_cookie("session");
    assert_eq!(browser.cookies().len(), 1);
}

#[test]
fn a_broken_script_and_a_breach_of_the_policy_are_complaints() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    let icon = "<link rel=icon href='data:,'>";
    let check = |headers: &str, body: &str, expected: &[&str]| {
        browser.open(&site.put("/", headers, &format!("{icon}{body}")));
        let complaints: Vec<String> = browser.complaints().iter().map(ToString::to_string).collect();
        assert_eq!(complaints.len(), expected.len(), "{complaints:?}");
        for (complaint, part) in complaints.iter().zip(expected) {
            assert!(complaint.contains(part), "{part:?} is not in {complaint}");
        }
    };
    let policy = "content-security-policy: default-src 'none'; img-src data:\r\n";
    check("", "fine<script>console.log('fine')</script>", &[]);
    check("", "<script>nothing.at.all()</script>", &["nothing is not defined"]);
    check(policy, "fine", &[]);
    check(policy, "<script>document.title = 'broken in'</script>", &["Content Security Policy"]);
    assert_eq!(browser.title(), "");
    check(policy, "<p style='color: red'>red</p>", &["Content Security Policy"]);
}

#[test]
fn the_view_is_as_wide_and_as_dark_as_it_is_told_and_scripts_can_be_off() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    let style =
        "<style>@media (prefers-color-scheme: dark) { body { background: #000 } } div { height: 3000px }</style>";
    let view = "<meta name=viewport content='width=device-width, initial-scale=1'>";
    let script = "<p id=out>without</p><script>document.querySelector('#out').textContent = 'with'</script>";
    let url = site.put("/", "", &format!("{view}{style}{script}<div></div>"));
    let without_view = site.put("/wide", "", "x");
    browser.open(&url);
    let background = || browser.script("return getComputedStyle(document.body).backgroundColor", &[]);
    let width = || browser.script("return document.documentElement.clientWidth", &[]);
    browser.set_theme(PageTheme::Dark);
    assert_eq!((background(), browser.text()), ("rgb(0, 0, 0)".into(), "with".to_string()));
    browser.set_theme(PageTheme::Light);
    assert_eq!(background(), "rgba(0, 0, 0, 0)");
    for wide in [360, 1280] {
        browser.set_size(wide, 740);
        browser.reload();
        assert_eq!(width(), wide);
        assert_eq!(size_of_png(&browser.screenshot_of_view()), (wide, 740));
        let (picture_width, height) = size_of_png(&browser.screenshot());
        assert!(picture_width == wide && height > 3000, "{picture_width} by {height}");
    }
    // A phone shows a page that says nothing about its width as if it were a wide one.
    browser.set_size(360, 740);
    browser.open(&without_view);
    assert_eq!(width(), 980);
    browser.set_scripts_enabled(false);
    browser.open(&url);
    assert_eq!(browser.text(), "without");
    assert_eq!(browser.find("#out").text(), "without");
    browser.set_scripts_enabled(true);
    browser.reload();
    assert_eq!(browser.text(), "with");
}

/// The size stands in the first block of a PNG.
fn size_of_png(bytes: &[u8]) -> (u32, u32) {
    assert!(bytes.starts_with(b"\x89PNG"), "not a PNG");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
fn nothing_but_this_address_and_localhost_can_be_reached() {
    // Another address of this machine stands for the rest of the world: it would answer.
    let (site, world) = (Site::start("127.0.0.1"), Site::start("127.0.0.2"));
    let browser = Browser::start().unwrap();
    let outside = world.put("/image", "", "x");
    let port = site.address.port();
    site.put("/by-name", "", "found");
    browser.open(&site.put("/", "", "home"));
    let fetch = "return fetch(arguments[0], { mode: 'no-cors' }).then(() => 'reached', () => 'not reached')";
    for (url, expected) in [
        (outside, "not reached"),
        (format!("http://localhost:{port}/by-name"), "reached"),
        (format!("http://taximeter.example:{port}/by-name"), "not reached"),
        ("https://192.0.2.1/".to_string(), "not reached"),
    ] {
        assert_eq!(browser.script(fetch, &[url.as_str().into()]), expected, "{url}");
    }
    assert!(!world.was_asked("/image") && site.was_asked("/by-name"));
}
