//! A shell script that runs a program for this process, and outlives it just long enough to clean up.
//!
//! Destructors are not enough: a static is never dropped, and a process that is killed drops nothing. The end of a pipe is seen in all
//! cases. So the script starts and stops the program as it is told through a pipe, and cleans up when the pipe ends.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::query::without_postgres_settings;

/// The other end of the script's pipes.
pub struct Watchdog {
    process: Child,
    // Present until the watchdog is dropped; closing the orders is what ends the script.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
    /// Whom the program runs as, if not this process's own user.
    user: Option<User>,
}

impl Watchdog {
    /// Starts a script, as a user if one is named. Its arguments are the folder for temporary files and another one; the first thing
    /// that it says is the folder that it made.
    pub fn start(script: &str, argument: &Path, user: Option<User>) -> Result<Watchdog, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script, "taximeter-watchdog"]).arg(std::env::temp_dir()).arg(argument);
        without_postgres_settings(&mut command);
        set_apart(&mut command, user.as_ref());
        let name = user.as_ref().map_or("this user", |user| user.name);
        let mut process = command
            // Messages in English, since some of them are looked for.
            .env("LC_ALL", "C")
            // The current folder may be closed to the user that the program runs as.
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Not inherited: a program that reads the output of the tests would have to wait for the script as well.
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("a shell for {} could not be started as {name}: {error}", argument.display()))?;
        let (Some(orders), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            unreachable!("both are piped");
        };
        let (orders, answers) = (Some(orders), BufReader::new(answers));
        let mut watchdog = Watchdog { process, orders, answers, folder: PathBuf::new(), user };
        watchdog.folder = PathBuf::from(watchdog.answer().map_err(|_| {
            let temporary = std::env::temp_dir();
            format!(
                "{name} can make a folder neither in {} nor in /tmp; set TMPDIR to a folder that is open to that user",
                temporary.display()
            )
        })?);
        Ok(watchdog)
    }

    /// The folder of the program; it holds its log, and is gone when this is dropped.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file into the folder, for the program alone to read.
    pub fn write_file(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join(name);
        let written = std::fs::write(&path, text).and_then(|()| hand_over(&path, self.user.as_ref()));
        written.map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }

    /// What the program has logged.
    pub fn log(&self) -> String {
        let path = self.folder.join("log");
        match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => format!("the log {} cannot be read: {error}", path.display()),
        }
    }

    /// Gives an order and waits until it is carried out. The log says why it was not.
    pub fn order(&mut self, order: &str) -> Result<(), String> {
        // The first word only: what follows may be a password.
        let verb = order.split(' ').next().unwrap_or_default();
        let Some(orders) = &mut self.orders else { unreachable!("present until the watchdog is dropped") };
        writeln!(orders, "{order}").map_err(|error| format!("the private server's watchdog is gone: {error}"))?;
        match self.answer()?.as_str() {
            "done" => Ok(()),
            _ => Err(format!("the private server did not carry out {verb:?}")),
        }
    }

    /// The next line that the script says.
    pub fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err("the private server's watchdog is gone without an answer".to_string()),
            Ok(_) => Ok(line.trim_end().to_string()),
            Err(error) => Err(format!("the private server's watchdog cannot be heard: {error}")),
        }
    }
}

impl Drop for Watchdog {
    /// Returns when nothing is left of the program.
    fn drop(&mut self) {
        self.orders = None;
        // The script is this process's own child; waiting for it fails only if another thread did so before.
        let _ = self.process.wait();
    }
}

/// A user of this machine.
pub struct User {
    name: &'static str,
    user_id: u32,
    group_id: u32,
}

/// Whom a server runs as; this process's own user if there is no such user. PostgreSQL refuses to run as root.
pub fn server_user() -> Result<Option<User>, String> {
    if id(&["-u"]) != Some(0) {
        return Ok(None);
    }
    let user = |name| Some(User { name, user_id: id(&["-u", name])?, group_id: id(&["-g", name])? });
    match ["postgres", "nobody"].into_iter().find_map(user) {
        Some(user) => Ok(Some(user)),
        None => Err("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as; \
             add one with `useradd --system postgres`"
            .to_string()),
    }
}

fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// In a process group of its own, the script does not get the signals that a terminal or a runner of tests sends to a whole group.
#[cfg(unix)]
fn set_apart(command: &mut Command, user: Option<&User>) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
    if let Some(user) = user {
        // This also takes root's further groups away.
        command.uid(user.user_id).gid(user.group_id);
    }
}

/// PostgreSQL takes a key only from a file that others cannot read.
#[cfg(unix)]
fn hand_over(path: &Path, user: Option<&User>) -> std::io::Result<()> {
    use std::os::unix::fs::{PermissionsExt, chown};
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    user.map_or(Ok(()), |user| chown(path, Some(user.user_id), Some(user.group_id)))
}

#[cfg(not(unix))]
fn hand_over(_: &Path, _: Option<&User>) -> std::io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn set_apart(_: &mut Command, _: Option<&User>) {}
