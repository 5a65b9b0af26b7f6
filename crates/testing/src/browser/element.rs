//! An element of a page.

use serde_json::{Value, json};

use super::{Browser, text};

/// An element of the page that a browser shows. It stays the same one for as long as the page has it; a page that was loaded again has
/// others.
pub struct Element<'a> {
    browser: &'a Browser,
    /// How it was found, for messages.
    css: String,
    id: String,
}

/// The name that WebDriver's standard has for a reference to an element.
const REFERENCE: &str = "element-6066-11e4-a52e-4f735466cecf";

impl<'a> Element<'a> {
    pub(super) fn new(browser: &'a Browser, css: &str, found: &Value) -> Element<'a> {
        Element { browser, css: css.to_string(), id: text(found[REFERENCE].clone()) }
    }

    /// Its text as it is shown.
    #[track_caller]
    pub fn text(&self) -> String {
        text(self.get("text"))
    }

    /// An attribute, if it has that one. Those that are on or off are "true" or not there.
    #[track_caller]
    pub fn attribute(&self, name: &str) -> Option<String> {
        self.get(&format!("attribute/{name}")).as_str().map(str::to_string)
    }

    /// A property, such as `value` or `checked`, as it is now.
    #[track_caller]
    pub fn property(&self, name: &str) -> Value {
        self.get(&format!("property/{name}"))
    }

    /// Its role to a screen reader, such as `button` or `table`.
    #[track_caller]
    pub fn role(&self) -> String {
        text(self.get("computedrole"))
    }

    /// Its name to a screen reader: what its label says. By the standard it has no white space around it, and one space in place of
    /// several; some versions of Chromium give it as it stands in the page.
    #[track_caller]
    pub fn label(&self) -> String {
        text(self.get("computedlabel")).split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Whether it can be seen.
    #[track_caller]
    pub fn is_shown(&self) -> bool {
        self.get("displayed") == true
    }

    /// Brings it into view and clicks on its middle. What leads to another page is for [`follow`](Element::follow): a click does not always
    /// wait for that.
    #[track_caller]
    pub fn click(&self) {
        self.post("click", json!({}));
    }

    /// Clicks on what leads to another page, and waits until that is loaded.
    #[track_caller]
    pub fn follow(&self) {
        self.browser.script("window.isOld = true", &[]);
        self.click();
        self.browser.wait_until(&format!("{:?} has led to another page", self.css), |browser| {
            browser.script("return !window.isOld && document.readyState === 'complete'", &[]) == true
        });
    }

    /// Types text into it, after what is there; names of [`keys`](super::keys) are keys.
    #[track_caller]
    pub fn type_text(&self, keys: &str) {
        self.post("value", json!({ "text": keys }));
    }

    /// Empties a field.
    #[track_caller]
    pub fn clear(&self) {
        self.post("clear", json!({}));
    }

    /// Chooses the option of a list that is called so.
    #[track_caller]
    pub fn select(&self, option: &str) {
        let script = "return [...arguments[0].options].find(option => option.label.trim() === arguments[1]) ?? null";
        let found = self.browser.script(script, &[self.reference(), option.into()]);
        let shown = || self.browser.shown();
        assert!(!found.is_null(), "{:?} has no option {option:?}; {}", self.css, shown());
        Element::new(self.browser, &format!("{} option", self.css), &found).click();
    }

    /// The element as an argument of [`Browser::script`].
    pub fn reference(&self) -> Value {
        json!({ REFERENCE: self.id })
    }

    #[track_caller]
    fn get(&self, what: &str) -> Value {
        let result = self.browser.order("GET", &format!("element/{}/{what}", self.id), None);
        self.browser.must(&format!("tell the {what} of {:?}", self.css), result)
    }

    #[track_caller]
    fn post(&self, what: &str, body: Value) {
        let result = self.browser.order("POST", &format!("element/{}/{what}", self.id), Some(body));
        self.browser.must(&format!("{what} {:?}", self.css), result);
    }
}
