//! A mechanism that runs after its charge: a command of one's own.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use taximeter_api::Charged;

use crate::output::{Failure, NO_ANSWER, tell};

/// A command that is there to be run.
pub struct Mechanism<'a> {
    program: &'a OsString,
    arguments: &'a [OsString],
}

impl Mechanism<'_> {
    /// The command, if one is given. A program that is not there is noticed before anything is charged.
    pub fn find(command: &[OsString]) -> Result<Option<Mechanism<'_>>, Failure> {
        let Some((program, arguments)) = command.split_first() else { return Ok(None) };
        match is_there(program) {
            true => Ok(Some(Mechanism { program, arguments })),
            false => Err(Failure::Usage(format!(
                "there is no program {}, so nothing was charged; name one that is in the path, or give its path",
                program.display()
            ))),
        }
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

/// Whether a program is in the path, or at the path that is given.
fn is_there(program: &OsStr) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match Path::new(program).components().count() {
        1 => std::env::split_paths(&path).any(|folder| folder.join(program).is_file()),
        _ => Path::new(program).is_file(),
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
