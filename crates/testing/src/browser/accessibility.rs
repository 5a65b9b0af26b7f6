//! Whether a page can be read and heard, by axe-core.

use super::{Browser, text};

/// The variable of the environment that says where axe-core is; `cargo xtask test` installs it and sets this.
pub const AXE_VARIABLE: &str = "TAXIMETER_AXE";

/// What axe-core finds on a page, by the rules of WCAG 2.1, level AA, and by its own.
#[derive(Clone, Debug)]
pub struct Accessibility {
    /// How many pieces of text had their contrast measured.
    pub measured: usize,
    /// One sentence for each fault, which starts with the name of the rule.
    pub faults: Vec<String>,
}

impl Browser {
    /// Checks the page as it is shown now.
    #[track_caller]
    pub fn accessibility(&self) -> Accessibility {
        let path = std::env::var_os(AXE_VARIABLE)
            .unwrap_or_else(|| panic!("{AXE_VARIABLE} names no file of axe-core; `cargo xtask test` installs one"));
        let axe = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("axe-core cannot be read from {}: {error}", path.display()));
        let check = include_str!("accessibility.js");
        let found = self.script(&format!("{axe}\nreturn (async () => {{{check}}})()"), &[]);
        Accessibility {
            measured: found["measured"].as_u64().unwrap_or_default() as usize,
            faults: found["faults"].as_array().into_iter().flatten().cloned().map(text).collect(),
        }
    }
}
