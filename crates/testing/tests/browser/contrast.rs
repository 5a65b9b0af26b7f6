//! Text that is hard to read is found, and no other.

use taximeter_testing::{Browser, Theme};

use crate::site::Site;

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
    // Drawings.
    ("<svg viewBox='0 0 100 20' width=500><text y=15 fill='#999'>pale label</text></svg>", &["pale label"]),
    (
        "<svg viewBox='0 0 100 20' width=100><rect width=100 height=20 fill='#111'/><text y=15>on a bar</text>\
      <text y=15 x=60 fill='#fff'>legible</text></svg>",
        &["on a bar"],
    ),
    (
        "<svg width=200 height=40><rect width=35 height=40 fill='#111'/><text y=20 x=5>half on a bar</text></svg>",
        &["half on a bar"],
    ),
    (
        "<svg width=200 height=40><path d='M0 20H200' stroke='#111' stroke-width=30 fill=none /><text y=25>on a line</text></svg>",
        &["on a line"],
    ),
    (
        "<svg width=200 height=40><circle cx=180 cy=20 r=9 /><path d='M0 0L200 0L200 40Z' fill='#111' /><text y=35>beside it</text></svg>",
        &[],
    ),
    // 12 units, drawn twice as large.
    ("<svg viewBox='0 0 100 20' width=200><text y=15 font-size=12 fill='#888'>large in fact</text></svg>", &[]),
    // Fields: what is typed, and what stands there before.
    ("<input name=a style='color: #aaa' value=typed>", &["typed"]),
    ("<style>::placeholder { color: #bbb }</style><input placeholder=hint><textarea>fine</textarea>", &["hint"]),
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

#[test]
fn low_contrast_is_found_wherever_it_is() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    for (page, expected) in CASES {
        browser.open(&site.put("/", "", page));
        let contrast = browser.contrast();
        assert!(contrast.measured > 0, "nothing was measured on {page}");
        let mut found: Vec<&str> = contrast.low.iter().map(|low| low.text.as_str()).collect();
        found.sort_unstable();
        assert_eq!(&found, expected, "{page}: {:?}", contrast.low.iter().map(ToString::to_string).collect::<Vec<_>>());
        let scrolled =
            "return [...document.querySelectorAll('*')].filter(it => it.scrollTop + it.scrollLeft > 0).length";
        assert_eq!(browser.script(scrolled, &[]), 0, "all is where it was");
    }
}

#[test]
fn ratios_are_those_of_the_standard() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    // By hand from the definition: relative luminances of 0.18116 and 1, and 0.05127 and 0.01444.
    browser.open(&site.put(
        "/",
        "",
        "<p id=a style='color: #777'>one</p><p style='color: #404040; background: #202020'>two</p>",
    ));
    let shown: Vec<String> = browser.contrast().low.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "\"one\" in p#a: #777777 on #ffffff is 4.48, and needs 4.5",
            "\"two\" in body > p: #404040 on #202020 is 1.57, and needs 4.5",
        ]
    );
}

#[test]
fn a_dark_page_without_colours_of_its_own_is_measured_on_the_systems() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    let page = site.put(
        "/",
        "",
        "<style>:root { color-scheme: light dark }</style><p>own</p><p style='color: #333'>fixed</p>",
    );
    for (theme, expected) in [(Theme::Light, 0), (Theme::Dark, 1)] {
        browser.set_theme(theme);
        browser.open(&page);
        assert_eq!(browser.contrast().low.len(), expected, "{theme:?}");
    }
}

#[test]
fn a_strict_policy_does_not_keep_from_measuring() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    let policy = "content-security-policy: default-src 'none'; style-src 'self'\r\n";
    browser.open(&site.put("/", policy, "<p><font color=#cccccc>pale</font></p>"));
    assert_eq!(browser.contrast().low.len(), 1);
    assert_eq!(browser.layout_faults().len(), 0);
}
