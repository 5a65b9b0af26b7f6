//! The contrast of a page's text with what is behind it, measured in the browser.

use std::fmt;

use serde_json::Value;

use super::{Browser, text};

/// The contrast of all text that can be seen, by WCAG 2, level AA: 4.5, or 3 for large text.
#[derive(Clone, Debug)]
pub struct Contrast {
    /// How many pieces of text were measured.
    pub measured: usize,
    /// Those that are hard to read.
    pub low: Vec<LowContrast>,
}

/// A piece of text that is hard to read.
#[derive(Clone, Debug)]
pub struct LowContrast {
    /// Where it is.
    pub selector: String,
    /// The beginning of it.
    pub text: String,
    /// Its contrast; 0 if it stands on an image, whose contrast nobody can tell.
    pub ratio: f64,
    /// The contrast that it needs.
    pub needed: f64,
    /// The colour of the text, as it is seen.
    pub colour: String,
    /// What is behind it.
    pub background: String,
}

impl fmt::Display for LowContrast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LowContrast { selector, text, ratio, needed, colour, background } = self;
        write!(f, "{text:?} in {selector}: {colour} on {background} is {ratio:.2}, and needs {needed}")
    }
}

impl Browser {
    /// Measures the contrast of all text that the page shows.
    #[track_caller]
    pub fn contrast(&self) -> Contrast {
        let found = self.script(concat!(include_str!("selector.js"), include_str!("contrast.js")), &[]);
        Contrast {
            measured: found["measured"].as_u64().unwrap_or_default() as usize,
            low: found["low"].as_array().into_iter().flatten().map(low).collect(),
        }
    }
}

fn low(found: &Value) -> LowContrast {
    let word = |name: &str| text(found[name].clone());
    let number = |name: &str| found[name].as_f64().unwrap_or_default();
    LowContrast {
        selector: word("selector"),
        text: word("text"),
        ratio: number("ratio"),
        needed: number("needed"),
        colour: word("colour"),
        background: word("background"),
    }
}
