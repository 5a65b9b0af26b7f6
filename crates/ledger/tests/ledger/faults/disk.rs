//! A folder whose disk fails, and a program that keeps a ledger there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use taximeter_ledger::Location;

use crate::crash::load::{Line, Log, Request, Running};

/// What the program does with a ledger: a scripted run, always the same.
pub struct Life {
    name: &'static str,
    /// What is there already.
    before: Option<tempfile::TempDir>,
    script: Script,
}

/// What the program is asked to do.
#[derive(Clone, Copy)]
struct Script {
    prefix: &'static str,
    charges: u64,
    times: u64,
}

impl Life {
    /// A ledger is made, accounts are opened, some charges are made, it is closed, opened again, and charged again.
    pub fn whole() -> Life {
        Life { name: "a whole life", before: None, script: Script { prefix: "k", charges: 4, times: 2 } }
    }

    /// A ledger is opened and charged whose write-ahead file is almost full: a few charges later it is brought into the database.
    pub fn with_checkpoint() -> Life {
        let script = Script { prefix: "k", charges: 5, times: 1 };
        Life { name: "a checkpoint", before: Some(almost_full()), script }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A folder where this life begins.
    pub fn disk(&self) -> Disk {
        let disk = Disk::new(self.script);
        if let Some(before) = &self.before {
            for entry in std::fs::read_dir(before.path()).unwrap() {
                let entry = entry.unwrap();
                std::fs::copy(entry.path(), disk.folder().join(entry.file_name())).unwrap();
            }
        }
        disk
    }
}

/// The files of a ledger whose write-ahead file is so full that the next few charges bring it into the database.
fn almost_full() -> tempfile::TempDir {
    let pages = pages_until_checkpoint();
    let disk = Disk::new(Script { prefix: "before", charges: 4, times: 1 });
    assert!(disk.run(&[]).succeeded);
    // Many versions of the same page, so that it is the file that is long, and not what is done with it.
    let connection = rusqlite::Connection::open(disk.folder().join("ledger.db")).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0").unwrap();
    for _ in 0..(pages - 12) / 2 {
        for change in [1, -1] {
            connection.execute("UPDATE accounts SET sequence = sequence + ?1 WHERE number = 0", [change]).unwrap();
        }
    }
    let folder = folder_in_memory();
    // As long as the connection is there, the file is not brought into the database.
    for name in ["ledger.db", "ledger.db-wal", "ledger.db.witness"] {
        std::fs::copy(disk.folder().join(name), folder.path().join(name)).unwrap();
    }
    folder
}

/// How many pages there are in the write-ahead file when it is brought into the database.
fn pages_until_checkpoint() -> usize {
    let disk = Disk::new(Script { prefix: "before", charges: 4000, times: 1 });
    let log = disk.run(&[("DISK_TRACE", "1")]).log;
    let charged = log.0.iter().position(|line| line.verb == "charged").expect("a charge");
    let is_operation = |line: &Line, what: &str| line.verb == "operation" && line.rest == what;
    let checkpoint =
        log.0[charged..].iter().position(|line| is_operation(line, "write ledger.db")).expect("a checkpoint");
    // A page is two writes: its header and itself.
    log.0[..charged + checkpoint].iter().filter(|line| is_operation(line, "write ledger.db-wal")).count() / 2
}

/// A folder whose disk fails.
pub struct Disk {
    folder: tempfile::TempDir,
    script: Script,
}

/// What came of one run.
pub struct Run {
    pub log: Log,
    pub succeeded: bool,
}

impl Disk {
    fn new(script: Script) -> Disk {
        let folder = folder_in_memory();
        for name in ["files", "state"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Disk { folder, script }
    }

    /// Where the ledger is: nothing else is there.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    pub fn location(&self) -> Location {
        Location::File(self.folder().join("ledger.db"))
    }

    pub fn witness(&self) -> PathBuf {
        self.folder().join("ledger.db.witness")
    }

    /// Where a process that ends leaves for the next one what is on disk.
    pub fn state(&self) -> String {
        self.folder.path().join("state").to_str().expect("a path in UTF-8").to_string()
    }

    /// What the program is asked to do here. The keys of every run are the same.
    pub fn request(&self) -> Request {
        let Script { prefix, charges, times } = self.script;
        Request {
            location: self.folder().join("ledger.db").to_str().expect("a path in UTF-8").to_string(),
            witness: self.witness(),
            threads: 1,
            charges: Some(charges),
            prefix: prefix.to_string(),
            seed: 1,
            times,
        }
    }

    /// Runs the program on a disk with these settings; see disk.c.
    pub fn run(&self, settings: &[(&str, &str)]) -> Run {
        let mut command = self.request().command();
        command.env("LD_PRELOAD", library()).env("DISK_FOLDER", self.folder()).envs(settings.iter().copied());
        self.start(command)
    }

    /// Runs a program to its end. Without the library the disk works.
    pub fn start(&self, command: Command) -> Run {
        let (status, log) = Running::start(command, self.folder.path()).finish();
        assert_ne!(status.code(), Some(99), "the failing disk failed: {log:?}");
        Run { log, succeeded: status.success() }
    }
}

/// What is on disk is only thought up here, so where there is a folder in memory, that is faster.
fn folder_in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// The compiled library, in cargo's folder for the files of tests.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let (source, library) = (folder.path().join("disk.c"), folder.path().join("disk.so"));
        std::fs::write(&source, include_str!("disk.c")).unwrap();
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).args(["-ldl", "-lpthread"]);
        let output = compile.output().expect("the tests of a failing disk need a C compiler, `cc`");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failing-disk.so");
        // Copied under another name first: a run of the same tests beside may just be using it.
        let copy = kept.with_extension(std::process::id().to_string());
        std::fs::copy(&library, &copy).and_then(|_| std::fs::rename(&copy, &kept)).unwrap();
        kept
    })
}
