//! What does not fit on a page, measured in the browser.

use std::fmt;

use serde_json::Value;

use super::{Browser, text};

/// Something that does not fit.
#[derive(Clone, Debug)]
pub struct LayoutFault {
    /// What is wrong: `wider than the page`, `cut off`, or `over another label`.
    pub kind: String,
    /// Where it is.
    pub selector: String,
    /// The beginning of its text.
    pub text: String,
    /// By how many pixels.
    pub by: u64,
}

impl fmt::Display for LayoutFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LayoutFault { kind, selector, text, by } = self;
        write!(f, "{text:?} in {selector} is {kind}, by {by} px")
    }
}

impl Browser {
    /// Elements beyond the page's width, text that is cut off, and labels of a drawing over each other.
    #[track_caller]
    pub fn layout_faults(&self) -> Vec<LayoutFault> {
        let found = self.script(concat!(include_str!("selector.js"), include_str!("layout.js")), &[]);
        found.as_array().into_iter().flatten().map(fault).collect()
    }
}

fn fault(found: &Value) -> LayoutFault {
    let word = |name: &str| text(found[name].clone());
    let by = found["by"].as_u64().unwrap_or_default();
    LayoutFault { kind: word("kind"), selector: word("selector"), text: word("text"), by }
}
