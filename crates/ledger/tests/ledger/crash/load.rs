//! The program `load` (crates/ledger/examples/load.rs) as a child, and what it said.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use taximeter_testing::PATIENCE;

/// What one run of the program asks for; see its documentation.
#[derive(Clone, Debug)]
pub struct Request {
    pub location: String,
    pub witness: PathBuf,
    pub threads: u64,
    /// Nothing for no end.
    pub charges: Option<u64>,
    pub prefix: String,
    pub seed: u64,
    pub times: u64,
}

impl Request {
    /// The program with these arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(program());
        command.args(self.arguments());
        command
    }

    pub fn arguments(&self) -> [String; 7] {
        let charges = self.charges.map_or("forever".to_string(), |charges| charges.to_string());
        let witness = self.witness.to_str().expect("a path in UTF-8").to_string();
        let (threads, seed, times) = (self.threads.to_string(), self.seed.to_string(), self.times.to_string());
        [self.location.clone(), witness, threads, charges, self.prefix.clone(), seed, times]
    }
}

/// Where the program is: cargo builds the examples beside the tests.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test.parent().and_then(Path::parent).expect("a test is in target/<profile>/deps");
    let program = profile.join("examples").join(format!("load{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is missing: run `cargo test -p taximeter-ledger`, or `cargo build -p taximeter-ledger --example load` first",
        program.display()
    );
    program
}

/// A program that runs. It is killed when this is dropped, and ends by itself when the test does, since its input ends then.
pub struct Running {
    child: Child,
    output: PathBuf,
    errors: PathBuf,
}

impl Running {
    /// Starts a program; what it says goes to files in `folder`, so that nothing of it is lost when it is killed.
    pub fn start(mut command: Command, folder: &Path) -> Running {
        let (output, errors) = (folder.join("output"), folder.join("errors"));
        let file = |path: &Path| File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        command.stdin(Stdio::piped()).stdout(file(&output)).stderr(file(&errors));
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
        Running { child, output, errors }
    }

    /// Waits until something is so, or the program has ended, or for too long. Whether it is so.
    pub fn wait_until(&mut self, mut is_so: impl FnMut(&Running) -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if is_so(self) {
                return true;
            }
            if Instant::now() >= deadline || self.has_ended() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be asked for").is_some()
    }

    /// What it said up to now.
    pub fn log(&self) -> Log {
        Log::parse(&std::fs::read_to_string(&self.output).expect("the output of the program"))
    }

    /// Kills it with SIGKILL, unless it has ended.
    pub fn kill(&mut self) {
        // Both fail only if it was awaited before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends its input: then it closes the ledger and ends.
    pub fn ask_to_end(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Lets it end, and waits for that.
    pub fn finish(mut self) -> (ExitStatus, Log) {
        self.ask_to_end();
        self.wait_until(|_| false);
        assert!(self.has_ended(), "the program does not end: {}", self.errors());
        (self.child.wait().expect("a child can be awaited"), self.log())
    }

    /// What it said on standard error.
    pub fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// One answer of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The first word: `opened`, `charged`, `replayed`, `refused`, `unknown`, `stopped`, `failed`, or what the failing disk says.
    pub verb: String,
    /// The key, if it is about one.
    pub key: String,
    /// All the rest.
    pub rest: String,
}

impl Line {
    /// Whether the charge is said to be on disk.
    pub fn is_acknowledged(&self) -> bool {
        matches!(self.verb.as_str(), "charged" | "replayed")
    }

    pub fn is_error(&self) -> bool {
        matches!(self.verb.as_str(), "unknown" | "stopped" | "failed")
    }
}

/// All that a program said, in order.
#[derive(Clone, Debug, Default)]
pub struct Log(pub Vec<Line>);

impl Log {
    fn parse(text: &str) -> Log {
        // What has no end was cut off by the kill.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let line = |line: &str| {
            let mut words = line.splitn(3, ' ').map(str::to_string);
            let mut word = || words.next().unwrap_or_default();
            Line { verb: word(), key: word(), rest: word() }
        };
        Log(whole.lines().map(line).collect())
    }

    /// How many lines start with this word.
    pub fn count(&self, verb: &str) -> usize {
        self.0.iter().filter(|line| line.verb == verb).count()
    }

    pub fn errors(&self) -> impl Iterator<Item = &Line> {
        self.0.iter().filter(|line| line.is_error())
    }
}
