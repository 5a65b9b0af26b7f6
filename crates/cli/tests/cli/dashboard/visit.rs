//! A visitor with a browser, at the dashboard of a server.

use serde_json::Value;
use taximeter_testing::{Browser, Element, Response, keys};

use crate::sandbox::{Sandbox, Serving};

/// A sandbox whose ledger is served, and a visitor who looks at its dashboard.
pub struct Visit {
    // Ended in this order: a server whose browser is gone has no streams left to end.
    pub browser: Browser,
    pub server: Serving,
    pub sandbox: Sandbox,
    /// The token of the owner.
    pub olga: String,
}

impl Visit {
    /// Serves a sandbox, and opens a browser.
    pub fn new(sandbox: Sandbox) -> Visit {
        let browser = Browser::start().unwrap_or_else(|why| panic!("{why}"));
        let olga = sandbox.token("olga", "owner", &[]);
        let server = Serving::start(&sandbox, &["--tick", "200ms", "--requests-per-second", "0"]);
        Visit { browser, server, sandbox, olga }
    }

    /// Opens a page of the dashboard.
    #[track_caller]
    pub fn go(&self, path: &str) {
        self.browser.open(&format!("http://{}{path}", self.server.address));
    }

    /// Where the browser is: the path, and what is behind its question mark.
    #[track_caller]
    pub fn path(&self) -> String {
        let url = self.browser.url();
        url.strip_prefix(&format!("http://{}", self.server.address)).unwrap_or(&url).to_string()
    }

    /// The status that the page came with.
    #[track_caller]
    pub fn status(&self) -> u64 {
        let script = "return performance.getEntriesByType('navigation')[0].responseStatus";
        self.browser.script(script, &[]).as_u64().unwrap_or_default()
    }

    /// Tries to sign in with a token.
    #[track_caller]
    pub fn try_token(&self, token: &str) {
        self.go("/sign-in");
        self.browser.find("#token").type_text(token);
        self.follow("Sign in");
    }

    /// Signs in with a token.
    #[track_caller]
    pub fn sign_in(&self, token: &str) {
        self.try_token(token);
        assert_eq!(self.path(), "/", "{}", self.browser.text());
    }

    /// The button or link of a name, on the page itself or else in the frame around it.
    #[track_caller]
    pub fn button(&self, name: &str) -> Element<'_> {
        let script =
            "return [...document.querySelectorAll(arguments[0])].findIndex(it => it.innerText.trim() === arguments[1])";
        for css in ["main button, main a, main summary", "header button, header a"] {
            let place = self.browser.script(script, &[css.into(), name.into()]).as_u64();
            if let Some(place) = place {
                return self.browser.find_all(css).swap_remove(place as usize);
            }
        }
        panic!("there is no {name:?} on {}:\n{}", self.path(), self.browser.text())
    }

    /// Presses a button or a link that leads to another page, and waits until that is there.
    #[track_caller]
    pub fn follow(&self, name: &str) {
        self.button(name).follow();
    }

    /// Writes into a field in place of what is there.
    #[track_caller]
    pub fn fill(&self, name: &str, text: &str) {
        let field = self.browser.find(&format!("main [name={name}]"));
        field.clear();
        field.type_text(text);
    }

    /// The text of a part that the page may replace by itself at any time.
    #[track_caller]
    pub fn text_of(&self, css: &str) -> String {
        self.browser.text_of(css).unwrap_or_else(|| panic!("there is no {css:?} on {}", self.path()))
    }

    /// What is wrong, as the page says it.
    #[track_caller]
    pub fn problem(&self) -> String {
        self.browser.find(".problem[role=alert]").text()
    }

    /// What came of the form before.
    #[track_caller]
    pub fn notice(&self) -> String {
        self.browser.find("#notice").text()
    }

    /// The cells of a table's rows.
    #[track_caller]
    pub fn rows(&self, table: &str) -> Vec<Vec<String>> {
        let script = "return [...document.querySelectorAll(`${arguments[0]} tbody tr`)]
            .map(row => [...row.cells].map(cell => cell.textContent.trim()))";
        let found = self.browser.script(script, &[table.into()]);
        let text = |cell: &Value| cell.as_str().unwrap_or_default().to_string();
        let row = |row: &Value| row.as_array().into_iter().flatten().map(text).collect();
        found.as_array().into_iter().flatten().map(row).collect()
    }

    /// Sends a document to the API, as a program elsewhere would.
    #[track_caller]
    pub fn post(&self, token: &str, path: &str, body: &str) -> Response {
        self.server.connect(token).request("POST", path, "", Some(body)).expect("an answer")
    }

    /// Charges an account from elsewhere.
    #[track_caller]
    pub fn charge_elsewhere(&self, token: &str, account: &str, epsilon: &str, note: &str) {
        let body = format!(r#"{{"accounts":["{account}"],"costs":[{{"epsilon":"{epsilon}"}}],"note":"{note}"}}"#);
        let answer = self.post(token, "/v1/charges", &body);
        assert_eq!(answer.status, 201, "{}", answer.body);
    }

    /// A token that is made while the server runs: its secret, and its id.
    #[track_caller]
    pub fn make_token(&self, body: &Value) -> (String, String) {
        let answer = self.post(&self.olga, "/v1/tokens", &body.to_string());
        assert_eq!(answer.status, 201, "{}", answer.body);
        let made: Value = serde_json::from_str(&answer.body).expect("a document");
        let text = |value: &Value| value.as_str().expect("text").to_string();
        (text(&made["secret"]), text(&made["token"]["id"]))
    }

    /// No script failed, nothing was loaded in vain, and the content security policy forbade nothing. That a page or a form was
    /// answered with a refusal is no complaint, though the browser tells it as one.
    #[track_caller]
    pub fn is_content(&self) {
        let all = self.browser.complaints();
        let is_answer = |text: &str| text.contains("responded with a status of 4") && !text.contains("/assets/");
        let bad: Vec<String> = all
            .iter()
            .filter(|one| one.source != "network" || !is_answer(&one.text))
            .map(ToString::to_string)
            .collect();
        assert!(bad.is_empty(), "{}: {bad:#?}", self.path());
    }

    /// Presses a key a number of times.
    #[track_caller]
    pub fn press_tab(&self, times: usize) {
        self.browser.press(&keys::TAB.repeat(times));
    }
}
