//! What is hard to read or hear is found, and nothing else.

use taximeter_testing::{Browser, PageTheme};

use super::site::Site;

/// A page, and the texts on it that are hard to read.
const CASES: &[(&str, &[&str])] = &[
    ("<p>black on white</p>", &[]),
    ("<p style='color: #777'>just too pale</p><p style='color: #767676'>just dark enough</p>", &["just too pale"]),
    // Large text needs less.
    (
        "<p style='color: #949494; font-size: 24px'>large</p><p style='color: #949494; font-size: 23px'>not large</p>",
        &["not large"],
    ),
    (
        "<p style='color: #949494; font: bold 19px serif'>bold</p><p style='color: #949494; font: 19px serif'>thin</p>",
        &["thin"],
    ),
    ("<p style='color: #959595; font-size: 24px'>too pale even so</p>", &["too pale even so"]),
    // What is behind it may be far above, and may shine through.
    ("<div style='background: #333'><ul><li>dark on dark</li></ul></div>", &["dark on dark"]),
    ("<div style='background: #000'><p style='background: rgba(255,255,255,.9)'>nearly white</p></div>", &[]),
    (
        "<div style='background: #000'><p style='background: rgba(255,255,255,.3)'>nearly black</p></div>",
        &["nearly black"],
    ),
    ("<p style='color: rgba(0,0,0,.4)'>ink that shines through</p>", &["ink that shines through"]),
    // An opacity is that of text and background together.
    ("<p style='opacity: .4'>faded</p><p style='opacity: .8'>less faded</p>", &["faded"]),
    ("<div style='background: #000'><p style='opacity: .5; background: #fff'>black on grey</p></div>", &[]),
    ("<body style='background: #222; color: #eee'><p>light on dark</p><p style='color: #444'>lost</p>", &["lost"]),
    ("<p style='color: color-mix(in srgb, black 20%, white)'>mixed</p>", &["mixed"]),
    ("<p style='background: linear-gradient(#fff, #eee)'>on an image</p>", &["on an image"]),
    // What lies behind need not be above.
    (
        "<div style='position: absolute; inset: 0 0 auto; height: 90px; background: #222'></div>\
      <p style='position: relative'>over another</p>",
        &["over another"],
    ),
    (
        "<div style='position: absolute; inset: 0 0 auto; height: 90px; background: #222; pointer-events: none'></div>\
      <p style='position: relative'>over one that lets clicks through</p>",
        &["over one that lets clicks through"],
    ),
    // Labels of drawings, on what is behind the drawing.
    ("<svg width=200 height=40><text y=20>dark label</text></svg>", &[]),
    (
        "<div style='background: #222'><svg width=200 height=40><text y=20>lost label</text></svg></div>",
        &["lost label"],
    ),
    ("<svg viewBox='0 0 100 20' width=500><text y=15 fill='#999'>pale label</text></svg>", &["pale label"]),
    // Fields: what is typed, and what stands there before.
    ("<input name=a style='color: #aaa' value=typed>", &["typed"]),
    ("<style>::placeholder { color: #bbb }</style><input placeholder=hint><p><textarea>fine</textarea>", &["hint"]),
    ("<select style='background: #555; color: #777'><option>chosen</option></select>", &["chosen"]),
    // What cannot be seen or used needs no contrast.
    ("<p>seen</p><p hidden style='color: #fff'>hidden</p><p style='color: #fff; visibility: hidden'>also</p>", &[]),
    (
        "<p>seen</p><span style='position: absolute; width: 1px; height: 1px; overflow: hidden; color: #fff'>for readers</span>",
        &[],
    ),
    ("<p>seen</p><details><summary>more</summary><p style='color: #eee'>folded</p></details>", &[]),
    ("<p>seen</p><button disabled style='color: #ddd; background: #eee'>not now</button>", &[]),
    // Beyond the view, up, down and to the side.
    ("<p>seen</p><p style='margin-top: 4000px; color: #ccc'>far down</p>", &["far down"]),
    (
        "<p>seen</p><div style='width: 100px; overflow: auto'><p style='width: 900px; text-align: right; color: #ccc'>aside</p></div>",
        &["aside"],
    ),
];

/// The faults of a page whose text starts with a rule.
fn faults(browser: &Browser, rule: &str) -> Vec<String> {
    let found = browser.accessibility();
    assert!(found.measured + found.faults.len() > 0, "nothing was measured");
    found.faults.into_iter().filter(|fault| fault.starts_with(rule)).collect()
}

#[test]
fn low_contrast_is_found_wherever_it_is() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    for (page, expected) in CASES {
        browser.open(&site.put("/", "", page));
        let found = faults(&browser, "color-contrast");
        assert_eq!(found.len(), expected.len(), "{page}: {found:?}");
        for text in *expected {
            assert!(found.iter().any(|fault| fault.contains(text)), "{page}: {found:?}");
        }
    }
}

#[test]
fn what_a_screen_reader_could_not_tell_is_found() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    let page = |body: &str| format!("<!doctype html><html lang=en><title>t</title><main><h1>t</h1>{body}</main>");
    for (body, rule) in [
        ("<input name=amount>", "label"),
        ("<button></button>", "button-name"),
        ("<img src=x>", "image-alt"),
        ("<h4>deep</h4>", "heading-order"),
        ("<p aria-hidden=true><a href=#>hidden</a>", "aria-hidden-focus"),
    ] {
        browser.open(&site.put("/", "", &page("<p>fine</p>")));
        assert_eq!(browser.accessibility().faults, Vec::<String>::new());
        browser.open(&site.put("/", "", &page(body)));
        assert_eq!(faults(&browser, rule).len(), 1, "{body}: {:?}", browser.accessibility().faults);
    }
}

#[test]
fn a_dark_page_without_colours_of_its_own_is_measured_on_the_systems() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    let page = site.put(
        "/",
        "",
        "<style>:root { color-scheme: light dark }</style><p>own</p><p style='color: #333'>fixed</p>",
    );
    for (theme, expected) in [(PageTheme::Light, 0), (PageTheme::Dark, 1)] {
        browser.set_theme(theme);
        browser.open(&page);
        assert_eq!(faults(&browser, "color-contrast").len(), expected, "{theme:?}");
    }
}

#[test]
fn a_strict_policy_does_not_keep_from_checking() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    let policy = "content-security-policy: default-src 'none'; style-src 'self'\r\n";
    browser.open(&site.put("/", policy, "<p><font color=#cccccc>pale</font></p>"));
    assert_eq!(faults(&browser, "color-contrast").len(), 1);
    assert_eq!(browser.layout_faults().len(), 0);
}
