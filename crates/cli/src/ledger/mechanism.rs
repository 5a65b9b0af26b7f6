//! Runs a mechanism after its charge: a command given by the user.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use taximeter_service::Charged;

use crate::output::{Failure, NO_ANSWER, tell, usage};

/// A command that exists and can be executed.
pub struct MechanismCommand<'a> {
    program: &'a OsString,
    arguments: &'a [OsString],
}

impl MechanismCommand<'_> {
    /// The command, if one is given. A missing or non-executable program is an error before anything is charged.
    pub fn find(command: &[OsString]) -> Result<Option<MechanismCommand<'_>>, Failure> {
        let Some((program, arguments)) = command.split_first() else { return Ok(None) };
        let files = candidates(program);
        if files.iter().any(|file| is_executable(file)) {
            return Ok(Some(MechanismCommand { program, arguments }));
        }
        let name = program.display();
        Err(usage(match files.iter().find(|file| file.is_file()) {
            Some(file) => format!(
                "{} may not be executed, so nothing was charged; make it executable, or name the program that runs it",
                file.display()
            ),
            None => format!(
                "there is no program {name}, so nothing was charged; name one that is in the path, or give its path"
            ),
        }))
    }

    /// Runs the command with the receipt in its environment. Returns its exit status.
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

/// The files that a program may be: the given path, or files in the folders of the variable PATH.
fn candidates(program: &OsStr) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match program.as_encoded_bytes().contains(&b'/') {
        true => vec![PathBuf::from(program)],
        false => std::env::split_paths(&path).map(|folder| folder.join(program)).collect(),
    }
}

/// Whether the file is executable for any user. The system decides later about this user.
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

/// The exit status, or 128 plus the number of the signal that ended the command, as in a shell.
fn passed_on(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ExitCode::from(128u8.wrapping_add(signal as u8));
    }
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
