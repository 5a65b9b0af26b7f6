//! What does not fit on a page, measured in the browser.

use super::{Browser, text};

impl Browser {
    /// Elements beyond the page's width, text that is cut off, and labels of a drawing over each other: a sentence for each.
    #[track_caller]
    pub fn layout_faults(&self) -> Vec<String> {
        let found = self.script(include_str!("layout.js"), &[]);
        found.as_array().into_iter().flatten().cloned().map(text).collect()
    }
}
