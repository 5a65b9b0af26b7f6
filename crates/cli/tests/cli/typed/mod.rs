//! Documents whose commands are typed: what they print is what the document says.
//!
//! A block `sh` is typed into a shell in a home of its own, and the block `text` below it is what is printed. After the word `text` may
//! stand `noisy` if numbers have noise, `exit=3` if the command ends so, and `stderr` if it is a message. A block `sh server` is typed
//! into another terminal, and runs until the document is at its end. `TAXIMETER_UPDATE_DOCUMENTS=1` writes what is printed into the
//! documents instead.

mod compare;

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use taximeter_testing::wait_until;
use tempfile::TempDir;

use self::compare::{matches, without_numbers};

/// The port that documents name, and that a test must not take.
const PORT: &str = "127.0.0.1:7070";

/// A home in which documents are typed, one after the other.
pub struct TypedSession {
    home: TempDir,
    address: String,
    servers: Vec<Child>,
    /// What was typed, with its exit code.
    pub typed: Vec<(String, i32)>,
}

impl TypedSession {
    pub fn new() -> TypedSession {
        // As many digits as the port of the documents, so that columns are as wide.
        let first = u16::try_from(std::process::id() % 1000).unwrap_or_default() + 8000;
        let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
        let free = (first..=9999).find(is_free).map(|port| format!("127.0.0.1:{port}")).expect("a free port");
        TypedSession {
            home: tempfile::tempdir().expect("a folder"),
            address: free,
            servers: Vec::new(),
            typed: Vec::new(),
        }
    }

    /// Types the commands of a document of the project.
    pub fn run(&mut self, document: &str) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let is_updated = std::env::var_os("TAXIMETER_UPDATE_DOCUMENTS").is_some();
        let mut written = String::new();
        let mut blocks = parts(&text).into_iter().peekable();
        while let Some(part) = blocks.next() {
            written += &part.written();
            let Part::Block { language, text: command } = part else { continue };
            match language.as_str() {
                "sh" => {}
                "sh server" => {
                    self.serve(&command);
                    continue;
                }
                _ => continue,
            }
            let expected = blocks.next_if(|next| next.is_blank());
            written += &expected.map_or(String::new(), |blank| blank.written());
            let expected =
                blocks.next_if(|next| matches!(next, Part::Block { language, .. } if language.starts_with("text")));
            let (form, expected) = match expected {
                Some(Part::Block { language, text }) => (language, text),
                _ => (String::new(), String::new()),
            };
            let words: Vec<&str> = form.split(' ').collect();
            let printed = self.type_in(&command, &words, document);
            let shown = match words.contains(&"noisy") {
                true => [&expected, &printed].map(|text| without_numbers(text)),
                false => [expected.clone(), printed.clone()],
            };
            let same = matches(&shown[0], &shown[1]);
            if !is_updated {
                assert!(same, "{document}: {command} prints:\n{printed}\nand not\n{expected}");
            }
            if !form.is_empty() {
                let text = if same { expected } else { printed };
                written += &Part::Block { language: form, text }.written();
            }
        }
        self.end_servers();
        if is_updated && written != text {
            std::fs::write(&path, written).expect("the document can be written");
        }
    }

    /// What a command prints; its exit code must be what the document says.
    fn type_in(&mut self, command: &str, words: &[&str], document: &str) -> String {
        let output = self.shell(&command.replace(PORT, &self.address)).output().expect("a shell");
        let (printed, said) = (lossy(&output.stdout), lossy(&output.stderr));
        let exit =
            words.iter().find_map(|word| word.strip_prefix("exit=")).map_or(0, |code| code.parse().expect("a code"));
        assert_eq!(output.status.code(), Some(exit), "{document}: {command}: {printed}{said}");
        self.typed.push((command.to_string(), exit));
        let shown = if words.contains(&"stderr") { said } else { printed };
        shown.replace(&self.address, PORT).replace(&self.home.path().display().to_string(), "~")
    }

    /// Starts a server in another terminal, and waits until it listens.
    fn serve(&mut self, command: &str) {
        let command = format!("exec {} --listen {}", command.trim_end(), self.address);
        let log = std::fs::File::create(self.home.path().join(".typed.server")).expect("a log");
        let server = self.shell(&command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        self.servers.push(server.expect("the server starts"));
        self.typed.push((command, 0));
        wait_until("the server listens", || TcpStream::connect(&self.address).is_ok());
    }

    /// Ends the servers, as Ctrl-C would.
    fn end_servers(&mut self) {
        for mut server in self.servers.drain(..) {
            let _ = Command::new("kill").args(["-s", "INT", &server.id().to_string()]).status();
            let _ = server.wait();
        }
    }

    /// A shell that is where the last one was, and knows its variables.
    fn shell(&self, command: &str) -> Command {
        let programs = assert_cmd::cargo::cargo_bin("taximeter");
        let programs = programs.parent().expect("the program is in a folder").display().to_string();
        let state = self.home.path().join(".typed");
        let script = format!(
            "cd ~; test -f {state}.env && . {state}.env; test -f {state}.folder && cd \"$(cat {state}.folder)\"\n{command}\n\
             typed_code=$?; pwd > {state}.folder; export -p > {state}.env; exit $typed_code",
            state = state.display()
        );
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).env_clear().env("PATH", path).env("HOME", self.home.path());
        shell
    }
}

impl Drop for TypedSession {
    /// A failed test leaves no server behind.
    fn drop(&mut self) {
        self.end_servers();
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A part of a document.
enum Part {
    Prose(String),
    Block { language: String, text: String },
}

impl Part {
    fn written(&self) -> String {
        match self {
            Part::Prose(text) => text.clone(),
            Part::Block { language, text } => format!("```{language}\n{text}```\n"),
        }
    }

    fn is_blank(&self) -> bool {
        matches!(self, Part::Prose(text) if text.trim().is_empty())
    }
}

/// A document in its parts: prose between fenced blocks.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut prose, mut open): (String, Option<(String, String)>) = (String::new(), None);
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => parts.extend(open.take().map(|(language, text)| Part::Block { language, text })),
            (Some(language), None) => {
                parts.push(Part::Prose(std::mem::take(&mut prose)));
                open = Some((language.trim().to_string(), String::new()));
            }
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => prose.push_str(line),
        }
    }
    assert!(open.is_none(), "a block is not closed");
    parts.push(Part::Prose(prose));
    parts
}
