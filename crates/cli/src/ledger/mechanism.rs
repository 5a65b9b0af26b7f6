//! A mechanism that runs after its charge: a command of one's own.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use taximeter_service::Charged;

use crate::output::{Failure, NO_ANSWER, tell};

/// A command that is there to be run.
pub struct Mechanism<'a> {
    program: &'a OsString,
    arguments: &'a [OsString],
}

impl Mechanism<'_> {
    /// The command, if one is given. A program that is not there or may not be run is noticed before anything is charged.
    pub fn find(command: &[OsString]) -> Result<Option<Mechanism<'_>>, Failure> {
        let Some((program, arguments)) = command.split_first() else { return Ok(None) };
        let files = candidates(program);
        if files.iter().any(|file| is_executable(file)) {
            return Ok(Some(Mechanism { program, arguments }));
        }
        let name = program.display();
        Err(Failure::Usage(match files.iter().find(|file| file.is_file()) {
            Some(file) => format!(
                "{} may not be executed, so nothing was charged; make it executable, or name the program that runs it",
                file.display()
            ),
            None => format!(
                "there is no program {name}, so nothing was charged; name one that is in the path, or give its path"
            ),
        }))
    }

    /// Runs it with its receipt, and passes its exit status on.
    pub fn run(&self, receipt: &Charged) -> Result<ExitCode, Failure> {
        let document = serde_json::to_string(receipt).map_err(|error| Failure::Other(error.to_string()))?;
        let status = Command::new(self.program).args(self.arguments).env("TAXIMETER_RECEIPT", document).status();
        match status {
            Ok(status) => Ok(passed_on(status)),
            Err(error) => {
                tell(&format!("error: {} could not be started: {error}; the charge stands", self.program.display()));
                Ok(ExitCode::from(NO_ANSWER))
            }
        }
    }
}

/// Where a program may be: at the path that is given, or in a folder of the variable PATH.
fn candidates(program: &OsStr) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match program.as_encoded_bytes().contains(&b'/') {
        true => vec![PathBuf::from(program)],
        false => std::env::split_paths(&path).map(|folder| folder.join(program)).collect(),
    }
}

/// Whether a file can be started by some user; the system decides for this one.
fn is_executable(file: &Path) -> bool {
    match file.metadata() {
        #[cfg(unix)]
        Ok(metadata) => {
            metadata.is_file() && std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0
        }
        #[cfg(not(unix))]
        Ok(metadata) => metadata.is_file(),
        Err(_) => false,
    }
}

/// The status of the command, or as a shell has it, 128 and the number of the signal that ended it.
fn passed_on(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ExitCode::from(128u8.wrapping_add(signal as u8));
    }
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
