//! What does not fit is found, and nothing else.

use taximeter_testing::Browser;

use super::site::Site;

const VIEW: &str =
    "<meta name=viewport content='width=device-width, initial-scale=1'><style>body { margin: 8px }</style>";

/// A page 360 pixels wide, and what does not fit on it.
const CASES: &[(&str, &[&str])] = &[
    ("<p>short</p>", &[]),
    ("<p id=a>fine</p><p id=b style='width: 500px'>wide</p>", &["p#b is wider than the page"]),
    (
        "<div id=a style='width: 500px'><span id=b style='display: inline-block; width: 480px'>wide</span></div>",
        &["span#b is wider than the page"],
    ),
    ("<table id=a><tr><td id=b style='min-width: 500px'>x</table>", &["td#b is wider than the page"]),
    ("<p id=a style='margin-left: -20px'>x</p>", &["p#a is wider than the page"]),
    // It can be scrolled to.
    ("<div style='overflow-x: auto'><table style='width: 900px'><tr><td>x</table></div>", &[]),
    ("<div style='overflow: auto; height: 40px'><p>a<p>b<p>c</div>", &[]),
    // Hidden until it gets the focus, or for screen readers alone.
    ("<a style='position: absolute; left: -9999px' href=#a>skip</a>", &[]),
    (
        "<span style='position: absolute; width: 1px; height: 1px; overflow: hidden; white-space: nowrap'>for readers</span>",
        &[],
    ),
    ("<p hidden style='width: 500px'>hidden</p>", &[]),
    // Nobody can scroll to what is cut off.
    (
        "<p id=a style='width: 40px; overflow: hidden; white-space: nowrap'>much too long for it</p>",
        &["p#a is cut off"],
    ),
    (
        "<p id=a style='width: 40px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis'>much too long</p>",
        &["p#a is cut off"],
    ),
    (
        "<div style='height: 20px; overflow: hidden'><p id=a style='margin: 12px 0'>too low</p></div>",
        &["p#a is cut off"],
    ),
    ("<p style='overflow: hidden'>fits</p>", &[]),
    ("<body style='overflow-x: hidden'><p id=a style='width: 500px'>wide</p>", &["p#a is wider than the page"]),
    // Labels of a drawing.
    ("<svg width=100 height=30><text id=a x=60 y=20>out of it</text></svg>", &["text#a is cut off"]),
    ("<svg width=300 height=30><text x=60 y=20>in it</text></svg>", &[]),
    ("<svg width=100 height=30 style='overflow: visible'><text x=60 y=20>beside it</text></svg>", &[]),
    (
        "<svg width=300 height=30><text x=0 y=20>one label</text><text id=a x=30 y=22>another</text></svg>",
        &["text#a is over another label"],
    ),
    ("<svg width=300 height=60><text x=0 y=20>one label</text><text x=0 y=36>another</text></svg>", &[]),
];

#[test]
fn what_does_not_fit_is_found() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    browser.set_size(360, 740);
    for (page, expected) in CASES {
        browser.open(&site.put("/", "", &format!("{VIEW}{page}")));
        let faults = browser.layout_faults();
        assert_eq!(faults.len(), expected.len(), "{page}: {faults:?}");
        for (fault, expected) in faults.iter().zip(*expected) {
            assert!(fault.contains(expected), "{page}: {fault}");
        }
    }
}

#[test]
fn a_fault_is_told_with_its_size() {
    let (browser, site) = (Browser::start().unwrap(), Site::start("127.0.0.1"));
    browser.set_size(360, 740);
    browser.open(&site.put("/", "", &format!("{VIEW}<p id=a style='width: 500px'>wide</p>")));
    assert_eq!(browser.layout_faults()[0], "\"wide\" in p#a is wider than the page, by 148 px");
}
