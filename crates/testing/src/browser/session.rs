//! What a browser keeps and tells besides the page: cookies, and messages of its console.

use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Browser;

/// A cookie.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cookie {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The pages that it is sent to.
    pub path: String,
    /// Whether scripts cannot read it.
    pub http_only: bool,
    /// Whether it is sent on encrypted connections alone.
    pub secure: bool,
    /// When it is sent with requests from other sites: `Strict`, `Lax` or `None`.
    pub same_site: String,
    /// When it ends, in seconds since 1970; nothing for one that ends with the browser.
    pub expiry: Option<u64>,
}

/// A line of the browser's console.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Message {
    /// How bad it is: `SEVERE`, `WARNING`, `INFO` or `DEBUG`.
    pub level: String,
    /// Where it is from: `javascript`, `security`, `network`, `console-api`, ….
    pub source: String,
    /// What it says.
    #[serde(rename = "message")]
    pub text: String,
}

impl Message {
    /// Whether it is an error or a warning of a page that was visited. The browser's own pages, such as the one it starts with, also write
    /// to the console, and what they say depends on its version.
    fn is_complaint_of_a_page(&self) -> bool {
        ["SEVERE", "WARNING"].contains(&self.level.as_str()) && !self.text.starts_with("chrome://")
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.level, self.source, self.text)
    }
}

impl Browser {
    /// The cookies that go to the page's address.
    #[track_caller]
    pub fn cookies(&self) -> Vec<Cookie> {
        parsed(self.must("tell the cookies", self.order("GET", "cookie", None)))
    }

    /// Forgets a cookie.
    #[track_caller]
    pub fn delete_cookie(&self, name: &str) {
        self.must("forget a cookie", self.order("DELETE", &format!("cookie/{name}"), None));
    }

    /// The errors and warnings of the console since the last time: scripts that failed, what a content security policy forbade, what
    /// could not be loaded.
    #[track_caller]
    pub fn complaints(&self) -> Vec<Message> {
        // Messages come here some time after they were made, and in their order. So all of the page are here when this one is; and
        // unlike the question for messages, a script waits for a page that is still being loaded.
        const LAST: &str = "the last message that is waited for";
        self.script("console.debug(arguments[0])", &[LAST.into()]);
        let mut messages = Vec::new();
        self.wait_until("all messages are here", |_| {
            messages.extend(self.messages());
            messages.iter().any(|message| message.text.contains(LAST))
        });
        messages.retain(Message::is_complaint_of_a_page);
        messages
    }

    /// The lines of the console that came since the last time.
    #[track_caller]
    fn messages(&self) -> Vec<Message> {
        parsed(self.must("tell its messages", self.order("POST", "se/log", Some(json!({ "type": "browser" })))))
    }
}

/// What chromedriver tells, as its documents have it.
#[track_caller]
fn parsed<T: DeserializeOwned>(told: Value) -> Vec<T> {
    serde_json::from_value(told).unwrap_or_else(|error| panic!("chromedriver tells what cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_that_were_visited_complain() {
        let check = |level: &str, text: &str, expected: bool| {
            let message =
                Message { level: level.to_string(), source: "javascript".to_string(), text: text.to_string() };
            assert_eq!(message.is_complaint_of_a_page(), expected, "{message}");
        };
        check("SEVERE", "http://127.0.0.1:7070/script.js 3:1 Uncaught Error: no chrome://resources", true);
        check("WARNING", "security - refused to load a style", true);
        check("DEBUG", "http://127.0.0.1:7070/ 1:1 done", false);
        check(
            "SEVERE",
            "chrome://resources/lit/v3_0/lit.rollup.js 15:881 Uncaught Error: the callback is no longer runnable",
            false,
        );
    }
}
