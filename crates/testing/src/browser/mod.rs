//! A browser for tests: Debian's Chromium without a window, told what to do by its chromedriver.

mod accessibility;
mod driver;
mod element;
mod emulation;
pub mod keys;
mod layout;
mod programs;
mod session;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::driver::{Driver, DriverRefusal};
use crate::waiting::{BETWEEN_LOOKS, PATIENCE};

pub use self::accessibility::{AXE_VARIABLE, Accessibility};
pub use self::element::Element;
pub use self::emulation::PageTheme;
pub use self::programs::{BROWSER_VARIABLES, BrowserPrograms, find_browser};
pub use self::session::{Cookie, Message};

/// A browser that belongs to this process, with a profile of its own, that reaches nothing but 127.0.0.1 and localhost. It is gone with
/// all its files when this is dropped, and also when this process ends in any way.
///
/// # Panics
///
/// What it is told to do is part of a test. So every method but [`start`](Browser::start) panics, as an assertion does, when that cannot
/// be done; the message has the page's text.
pub struct Browser {
    driver: Driver,
    session: String,
    patience: Duration,
}

/// How long a page may take to load, and a script to end. Less than how long an order may take.
const ONE_ORDER: Duration = Duration::from_secs(PATIENCE.as_secs() / 2);

/// How much of a page's text is put into a message.
const SHOWN_TEXT: usize = 4000;

impl Browser {
    /// Starts a browser with an empty page, 1280 pixels wide and 800 high; that takes about a second. The error says what to install.
    pub fn start() -> Result<Browser, String> {
        let BrowserPrograms { driver, browser } = find_browser()?;
        let driver = Driver::start(&driver)?;
        let options = json!({ "binary": browser, "args": arguments(&driver)? });
        let session = driver.open_session(json!({
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
            "timeouts": {
                "implicit": 0,
                "pageLoad": ONE_ORDER.as_millis() as u64,
                "script": ONE_ORDER.as_millis() as u64,
            },
        }))?;
        Ok(Browser { driver, session, patience: PATIENCE })
    }

    /// Opens a page, and waits until it is loaded.
    #[track_caller]
    pub fn open(&self, url: &str) {
        self.must(&format!("open {url}"), self.order("POST", "url", Some(json!({ "url": url }))));
    }

    /// Loads the page again.
    #[track_caller]
    pub fn reload(&self) {
        self.must("load the page again", self.order("POST", "refresh", Some(json!({}))));
    }

    /// Goes back to the page before.
    #[track_caller]
    pub fn back(&self) {
        self.must("go back", self.order("POST", "back", Some(json!({}))));
    }

    /// The page's address.
    #[track_caller]
    pub fn url(&self) -> String {
        text(self.must("tell the address", self.order("GET", "url", None)))
    }

    /// The page's title.
    #[track_caller]
    pub fn title(&self) -> String {
        text(self.must("tell the title", self.order("GET", "title", None)))
    }

    /// The page's text as it is shown: what is hidden is not in it.
    #[track_caller]
    pub fn text(&self) -> String {
        text(self.script("return document.body?.innerText ?? ''", &[]))
    }

    /// The page as it stands now, as HTML.
    #[track_caller]
    pub fn source(&self) -> String {
        text(self.must("tell the page's source", self.order("GET", "source", None)))
    }

    /// The first element of a CSS selector.
    #[track_caller]
    pub fn find(&self, css: &str) -> Element<'_> {
        let found = self.order("POST", "element", Some(json!({ "using": "css selector", "value": css })));
        Element::new(self, css, &self.must(&format!("find {css:?}"), found))
    }

    /// All elements of a CSS selector, in the order of the page; there may be none.
    #[track_caller]
    pub fn find_all(&self, css: &str) -> Vec<Element<'_>> {
        let found = self.order("POST", "elements", Some(json!({ "using": "css selector", "value": css })));
        let found = self.must(&format!("look for {css:?}"), found);
        found.as_array().into_iter().flatten().map(|found| Element::new(self, css, found)).collect()
    }

    /// The element that has the focus.
    #[track_caller]
    pub fn focused(&self) -> Element<'_> {
        Element::new(self, "the focus", &self.must("find the focus", self.order("GET", "element/active", None)))
    }

    /// The text of the first element of a selector at this moment, if there is one. For [`wait_until`](Browser::wait_until): a page that
    /// changes meanwhile cannot come in between.
    #[track_caller]
    pub fn text_of(&self, css: &str) -> Option<String> {
        // Elements of a drawing have no text as it is shown.
        let script = "const found = document.querySelector(arguments[0]); return found && (found.innerText ?? found.textContent)";
        self.script(script, &[css.into()]).as_str().map(str::to_string)
    }

    /// Waits until there is an element of a selector.
    #[track_caller]
    pub fn wait_for(&self, css: &str) -> Element<'_> {
        self.wait_until(&format!("there is {css:?}"), |browser| !browser.find_all(css).is_empty());
        self.find(css)
    }

    /// Waits until a text is shown somewhere on the page.
    #[track_caller]
    pub fn wait_for_text(&self, part: &str) {
        self.wait_until(&format!("the page says {part:?}"), |browser| browser.text().contains(part));
    }

    /// Waits until something holds. `what` is for the message: "… until {what}".
    #[track_caller]
    pub fn wait_until(&self, what: &str, mut holds: impl FnMut(&Browser) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            assert!(start.elapsed() < self.patience, "waited {:?} until {what}; {}", self.patience, self.shown());
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Waits so long from now on, in place of [`PATIENCE`](crate::PATIENCE): for a test that waits for what never comes.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Runs the body of a function in the page, and returns its value. Arguments are in `arguments`; an element is one by its
    /// [reference](Element::reference). A promise is waited for.
    #[track_caller]
    pub fn script(&self, body: &str, arguments: &[Value]) -> Value {
        let result = self.order("POST", "execute/sync", Some(json!({ "script": body, "args": arguments })));
        self.must("run a script", result)
    }

    /// Presses keys, one after the other, wherever the focus is: characters, or names of [`keys`]. A modifier is held until the last one.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        let actions = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": keys::strokes(keys) }] });
        self.must(&format!("press {:?}", keys.escape_unicode()), self.order("POST", "actions", Some(actions)));
    }

    /// An order to this session.
    fn order(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value, DriverRefusal> {
        self.driver.order(method, &format!("/session/{}/{path}", self.session), body.as_ref())
    }

    /// An order of Chromium's own protocol.
    #[track_caller]
    fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.must(command, self.order("POST", "goog/cdp/execute", Some(body)))
    }

    /// What came of an order; if it was refused, the end of the test.
    #[track_caller]
    fn must(&self, what: &str, result: Result<Value, DriverRefusal>) -> Value {
        match result {
            Ok(value) => value,
            Err(refused) => panic!("the browser could not {what}: {refused}\n{}", self.shown()),
        }
    }

    /// Where the browser is and what it shows, for a message.
    fn shown(&self) -> String {
        let ask = |path: &str| self.order("GET", path, None).map_or_else(|refused| refused.to_string(), text);
        let body = json!({ "script": "return document.body?.innerText ?? ''", "args": [] });
        let page = self.order("POST", "execute/sync", Some(body)).map_or_else(|refused| refused.to_string(), text);
        let cut: String = page.chars().take(SHOWN_TEXT).collect();
        format!("the page {} ({}) shows:\n{cut}", ask("url"), ask("title"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // An orderly end, if it is possible; the driver ends it in any case.
        let _ = self.driver.order("DELETE", &format!("/session/{}", self.session), None);
    }
}

/// A value that is a text by the protocol.
fn text(value: Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// How Chromium is started.
fn arguments(driver: &Driver) -> Result<Vec<String>, String> {
    let mut arguments: Vec<String> = [
        "--headless=new",
        "--disable-gpu",
        // The usual place for shared memory is small in a container.
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-crash-reporter",
        "--disable-breakpad",
        // No name and no other address leads anywhere; and where names are not looked up here, a proxy that is not there is asked.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
        "--proxy-server=127.0.0.1:9",
        "--proxy-bypass-list=127.0.0.1;localhost",
        // Pictures are the same on every machine, as far as its fonts are.
        "--lang=en-US",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        "--font-render-hinting=none",
        "--window-size=1280,800",
    ]
    .map(str::to_string)
    .to_vec();
    arguments.push(format!("--user-data-dir={}", driver.folder().join("profile").display()));
    if is_roots(driver)? {
        // Chromium refuses to run as root within its sandbox. What it shows here are pages of ours.
        arguments.push("--no-sandbox".to_string());
    }
    Ok(arguments)
}

/// Whether this process is root's: then the folder that the script made is.
#[cfg(unix)]
fn is_roots(driver: &Driver) -> Result<bool, String> {
    use std::os::unix::fs::MetadataExt;
    let folder = driver.folder();
    let owner = std::fs::metadata(folder).map(|metadata| metadata.uid());
    owner.map(|owner| owner == 0).map_err(|error| format!("{} cannot be read: {error}", folder.display()))
}

#[cfg(not(unix))]
fn is_roots(_: &Driver) -> Result<bool, String> {
    Ok(false)
}
