//! The rehearsal of docs/operations.md, run as it stands there: a snapshot put back, and a history rewritten.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The fenced blocks of the section, with their languages.
fn blocks() -> Vec<(String, String)> {
    let text = include_str!("../../../../docs/operations.md");
    let (_, section) = text.split_once("### Rehearsal").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("the next section");
    let parts = section.split("```").skip(1).step_by(2);
    parts.map(|part| part.split_once('\n').expect("a language")).map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

fn shell(script: &str, folder: &Path) -> Command {
    let program = assert_cmd::cargo::cargo_bin("taximeter");
    let programs = program.parent().expect("the program is in a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-ec", script]).current_dir(folder).env("PATH", path);
    for name in ["LEDGER", "WITNESS", "DATA", "SERVER", "CHECKPOINT_KEY", "COSIGNERS", "REQUIRE_COSIGNATURES"] {
        shell.env_remove(format!("TAXIMETER_{name}"));
    }
    shell
}

/// A witness that runs.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the witness on a free port, and says where it listens.
fn start(script: &str, folder: &Path) -> (Running, String) {
    let script = format!("exec {}", script.trim().replace("127.0.0.1:7071", "127.0.0.1:0"));
    let mut child = shell(&script, folder).stderr(Stdio::piped()).spawn().expect("a shell");
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("listening on http://").unwrap_or_else(|| panic!("{line}")).to_string();
    (Running(child), address)
}

#[test]
fn a_snapshot_and_a_rewritten_history_are_noticed_as_the_document_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut witness, mut scripts) = (None, 0);
    for (language, script) in blocks() {
        match language.as_str() {
            "witness" => witness = Some(start(&script, folder.path())),
            "sh" => {
                let address = witness.as_ref().map_or("127.0.0.1:7071", |(_, address)| address.as_str());
                let script = script.replace("127.0.0.1:7071", address);
                let output = shell(&script, folder.path()).output().expect("a shell");
                let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                assert!(output.status.success(), "{script}\n{}\n{}", printed[0], printed[1]);
                // A check that is expected to fail must not pass: `|| test $? = 4` alone would let it.
                let failing = script.matches("|| test $? = 4").count();
                assert_eq!(printed[1].matches("error: ").count(), failing, "{script}\n{}\n{}", printed[0], printed[1]);
                scripts += 1;
            }
            other => panic!("a block of {other:?}"),
        }
    }
    assert_eq!((scripts, witness.is_some()), (4, true));
}
