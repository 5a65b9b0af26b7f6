//! What a browser keeps and tells besides the page: cookies, and messages of its console.

use std::fmt;

use serde_json::{Value, json};

use super::{Browser, text};

/// A cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// How bad it is: `SEVERE`, `WARNING`, `INFO` or `DEBUG`.
    pub level: String,
    /// Where it is from: `javascript`, `security`, `network`, `console-api`, ….
    pub source: String,
    /// What it says.
    pub text: String,
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
        let cookies = self.must("tell the cookies", self.order("GET", "cookie", None));
        cookies.as_array().into_iter().flatten().map(cookie).collect()
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
        let messages = self.must("tell its messages", self.order("POST", "se/log", Some(json!({ "type": "browser" }))));
        let message = |message: &Value| Message {
            level: text(message["level"].clone()),
            source: text(message["source"].clone()),
            text: text(message["message"].clone()),
        };
        let messages = messages.as_array().into_iter().flatten().map(message);
        messages.filter(|message| ["SEVERE", "WARNING"].contains(&message.level.as_str())).collect()
    }
}

fn cookie(cookie: &Value) -> Cookie {
    let word = |name: &str| text(cookie[name].clone());
    Cookie {
        name: word("name"),
        value: word("value"),
        path: word("path"),
        http_only: cookie["httpOnly"] == true,
        secure: cookie["secure"] == true,
        same_site: word("sameSite"),
        expiry: cookie["expiry"].as_u64(),
    }
}
