//! What every page looks like, in both themes, on a sandbox and on a phone; and what it is to a screen reader.

use taximeter_testing::PageTheme;

use crate::pages::furnished;

#[test]
fn every_page_fits_and_can_be_read_in_both_themes_on_a_desk_and_on_a_phone() {
    let (visit, pages) = furnished();
    let mut faults = Vec::new();
    for page in &pages {
        for width in [1280, 360] {
            visit.browser.set_size(width, 800);
            page.show(&visit);
            faults.extend(visit.browser.layout_faults().iter().map(|fault| format!("{}, {width}: {fault}", page.name)));
            for theme in PageTheme::ALL {
                visit.browser.set_theme(theme);
                let found = visit.browser.accessibility();
                assert!(found.measured > 3, "{} has {} texts", page.name, found.measured);
                let told = |fault: &String| format!("{}, {}, {width}: {fault}", page.name, theme.name());
                faults.extend(found.faults.iter().map(told));
            }
        }
        let heard = visit.browser.script(include_str!("reader.js"), &[]);
        let heard = heard.as_array().expect("a list").iter();
        faults.extend(heard.map(|fault| format!("{}, read out: {}", page.name, fault.as_str().unwrap_or_default())));
        visit.is_content();
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
