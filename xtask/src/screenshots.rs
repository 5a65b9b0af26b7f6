//! `cargo xtask screenshots`: pictures of the dashboard, taken in the browser of the tests from a server of `taximeter demo --serve`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use serde_json::Value;
use taximeter_testing::{Browser, Message, PageTheme, keys};

use crate::test::{built, workspace_root};

/// The pictures of the README, in `docs/images`: their names, pages, and themes.
const README: [(&str, &str, PageTheme); 2] =
    [("dashboard-overview", "", PageTheme::Light), ("dashboard-account", "accounts/people", PageTheme::Dark)];

/// A page to take pictures of.
struct Page {
    /// The beginning of the pictures' names.
    name: &'static str,
    /// Its address, without that of the server.
    path: &'static str,
    /// A button of the form on it that is pressed first.
    press: Option<&'static str>,
}

impl Page {
    const fn at(name: &'static str, path: &'static str) -> Page {
        Page { name, path, press: None }
    }

    const fn pressed(name: &'static str, path: &'static str, button: &'static str) -> Page {
        Page { name, path, press: Some(button) }
    }
}

/// What is seen before one is signed in.
const OUTSIDE: [Page; 2] = [Page::at("sign-in", SIGN_IN), Page::pressed("sign-in-wrong", SIGN_IN, "main button")];

/// All pages, with the forms on them filled in, and with what they say when something is refused or wrong.
const PAGES: [Page; 22] = [
    Page::at("overview", ""),
    Page::pressed("overview-open", "", "#open summary"),
    Page::at("account", "accounts/people"),
    Page::at("account-below", "accounts/surveys%2F2026"),
    Page::at("account-filtered", "accounts/people?by=alice"),
    Page::at("account-none", "accounts/nobody"),
    Page::at("cost", "cost"),
    Page::at("cost-fits", "cost?account=surveys%2F2026&kind=epsilon&epsilon=0.0001"),
    Page::at("cost-too-much", "cost?account=people&kind=epsilon&epsilon=50"),
    Page::pressed("cost-refused", "cost?account=people&kind=epsilon&epsilon=50", "button.charge"),
    Page::at("ask", "ask"),
    Page::at("ask-wrong", "ask?question=SELECT+MAX(income)+FROM+people&amount=0.1"),
    Page::pressed("ask-refused", "ask?question=SELECT+COUNT(*)+FROM+people&amount=50", "button.charge"),
    Page::pressed("answer", ANSWERED, "button.charge"),
    Page::pressed("plan", "plan", "main button"),
    Page::at("datasets", "datasets"),
    Page::at("dataset", "datasets/people"),
    Page::at("register", "register"),
    Page::at("register-table", "register/postgres"),
    Page::pressed("audit", "audit", "main button"),
    Page::pressed("tokens", "tokens", "#ended summary"),
    Page::pressed("token-wrong", "tokens", "main form button"),
];

const ANSWERED: &str =
    "ask?question=SELECT+occupation,+COUNT(*),+AVG(income)+FROM+people+GROUP+BY+occupation&amount=0.02";

const SIGN_IN: &str = "sign-in";

/// How wide pages are: on a desk, and on a phone.
const WIDTHS: [u32; 2] = [1280, 360];

const HEIGHT: u32 = 860;

/// What less than a minute shows is no rate of spending.
const RATES: Duration = Duration::from_secs(62);

/// What is wanted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// Where every page in every form goes; nothing for the pictures of the README alone.
    all: Option<PathBuf>,
    /// Whether the program is built as it is for tests, which takes less time.
    dev: bool,
}

/// Takes the pictures.
pub fn run(arguments: &[String]) -> ExitCode {
    let wanted = match Wanted::parse(arguments) {
        Ok(wanted) => wanted,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(crate::WRONG_USAGE);
        }
    };
    match take(&wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

impl Wanted {
    fn parse(arguments: &[String]) -> Result<Wanted, String> {
        let mut wanted = Wanted::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match (argument.as_str(), &wanted.all) {
                ("--dev", _) => wanted.dev = true,
                ("--all", None) => {
                    let folder = arguments.next().ok_or("--all needs a folder for the pictures of all pages")?;
                    wanted.all = Some(PathBuf::from(folder));
                }
                _ => return Err(format!("`cargo xtask screenshots` takes [--dev] [--all FOLDER], not {argument:?}")),
            }
        }
        Ok(wanted)
    }
}

fn take(wanted: &Wanted) -> Result<(), String> {
    let demo = Demo::start(&build(wanted.dev)?)?;
    let camera = Camera { browser: Browser::start()?, demo: &demo };
    if let Some(folder) = &wanted.all {
        for page in &OUTSIDE {
            camera.all_forms(page, folder)?;
        }
    }
    camera.sign_in("olga")?;
    let images = workspace_root().join("docs/images");
    eprintln!("waiting for a minute, until the pages say how fast budgets are spent");
    std::thread::sleep(RATES);
    for (name, page, theme) in README {
        camera.open(page);
        camera.look(theme, WIDTHS[0]);
        save(&images, name, &camera.browser.screenshot_of_view())?;
    }
    if let Some(folder) = &wanted.all {
        for page in &PAGES {
            camera.all_forms(page, folder)?;
        }
    }
    Ok(())
}

/// Builds the program; where it is.
fn build(dev: bool) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let mut command = Command::new(cargo);
    command.args(["build", "--package", "taximeter"]).current_dir(workspace_root());
    if !dev {
        command.arg("--release");
    }
    let status = command.status().map_err(|error| format!("cargo could not be started: {error}"))?;
    match status.success() {
        true => Ok(built().join(if dev { "debug" } else { "release" }).join("taximeter")),
        false => Err(format!("the program could not be built ({status}); see above")),
    }
}

/// A server to take pictures of, in a folder among what is built; both go when this is dropped.
struct Demo {
    process: Child,
    folder: PathBuf,
    /// Its address and its tokens.
    document: Value,
}

impl Demo {
    fn start(program: &Path) -> Result<Demo, String> {
        let folder = built().join("screenshots");
        // One that was left by a task that was killed.
        let _ = std::fs::remove_dir_all(&folder);
        eprintln!("starting a populated server");
        let process = Command::new(program)
            .args(["demo", "--serve", "--json", "--listen", "127.0.0.1:0", "--folder"])
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", program.display()))?;
        let mut demo = Demo { process, folder, document: Value::Null };
        let mut line = String::new();
        if let Some(output) = demo.process.stdout.take() {
            let read = BufReader::new(output).read_line(&mut line);
            read.map_err(|error| format!("the demo cannot be heard: {error}"))?;
        }
        demo.document = serde_json::from_str(&line)
            .map_err(|_| "the demo did not say where it serves; `taximeter demo --serve` tells why".to_string())?;
        Ok(demo)
    }

    fn address(&self) -> &str {
        self.document["address"].as_str().unwrap_or_default()
    }

    fn token(&self, principal: &str) -> Result<&str, String> {
        let tokens = self.document["tokens"].as_array();
        let mut tokens = tokens.into_iter().flatten().filter(|token| token["principal"] == principal);
        let token = tokens.next().and_then(|token| token["token"].as_str());
        token.ok_or_else(|| format!("the demo made no token for {principal}"))
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // Whatever it was about to write goes with its folder.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A browser in front of a server.
struct Camera<'a> {
    browser: Browser,
    demo: &'a Demo,
}

impl Camera<'_> {
    fn sign_in(&self, principal: &str) -> Result<(), String> {
        let token = self.demo.token(principal)?;
        self.open(SIGN_IN);
        self.browser.find("input[name=token]").type_text(&[token, keys::ENTER].concat());
        self.browser.wait_until("the owner is signed in", |browser| !browser.url().contains(SIGN_IN));
        Ok(())
    }

    fn open(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.demo.address()));
    }

    /// Makes the page wide or narrow, light or dark, and waits until it looks so.
    fn look(&self, theme: PageTheme, width: u32) {
        self.browser.set_size(width, HEIGHT);
        self.browser.set_theme(theme);
        self.browser.script("return document.fonts.ready.then(() => true)", &[]);
    }

    /// A page in both themes and widths, each as page-theme-width.png; what does not fit is told.
    fn all_forms(&self, page: &Page, folder: &Path) -> Result<(), String> {
        self.open(page.path);
        if let Some(button) = page.press {
            // A form is sent as it stands, also where a field of it must be filled in.
            self.browser.script("for (const form of document.forms) form.noValidate = true", &[]);
            let element = self.browser.find(button);
            if button.ends_with("summary") { element.click() } else { element.follow() }
        }
        self.browser.wait_until("it has all that it tells", |browser| browser.find_all("[data-again]").is_empty());
        for theme in PageTheme::ALL {
            for width in WIDTHS {
                self.look(theme, width);
                let name = format!("{}-{}-{width}", page.name, theme.name());
                save(folder, &name, &self.browser.screenshot())?;
                self.browser.layout_faults().iter().for_each(|fault| eprintln!("{name}: {fault}"));
            }
        }
        // That a form is answered with a refusal is what the picture is of.
        let is_answer = |message: &Message| message.source == "network" && message.text.contains("with a status of 4");
        let complaints = self.browser.complaints().into_iter().filter(|message| !is_answer(message));
        complaints.for_each(|message| eprintln!("{}: {message}", page.name));
        Ok(())
    }
}

fn save(folder: &Path, name: &str, picture: &[u8]) -> Result<(), String> {
    let path = folder.join(format!("{name}.png"));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, picture))
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_mean_nothing_are_refused() {
        let parse = |words: &str| {
            let words: Vec<String> = words.split_whitespace().map(str::to_string).collect();
            Wanted::parse(&words)
        };
        assert_eq!(parse(""), Ok(Wanted::default()));
        assert_eq!(parse("--dev --all here"), Ok(Wanted { all: Some(PathBuf::from("here")), dev: true }));
        for (words, part) in
            [("--all", "needs a folder"), ("here", "not \"here\""), ("--all a --all b", "not \"--all\"")]
        {
            assert!(parse(words).unwrap_err().contains(part), "{words}");
        }
    }
}
