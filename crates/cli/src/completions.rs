//! `taximeter completions` and `taximeter man`: what a shell and a reader of manuals know of the commands.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::output::{Failure, tell};

/// Write completions for a shell to standard output
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter completions bash > ~/.local/share/bash-completion/completions/taximeter
  taximeter completions zsh > \"${fpath[1]}/_taximeter\"
  taximeter completions fish > ~/.config/fish/completions/taximeter.fish")]
pub struct CompletionsCommand {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsCommand {
    pub fn run(&self, mut program: Command) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "taximeter", &mut script);
        std::io::stdout().lock().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Write the manual pages, one for every command, into a folder
#[derive(Args)]
pub struct ManCommand {
    /// The folder; it must exist
    folder: PathBuf,
}

impl ManCommand {
    pub fn run(&self, program: Command) -> Result<ExitCode, Failure> {
        clap_mangen::generate_to(program, &self.folder).map_err(|error| {
            Failure::Other(format!("the manual pages cannot be written into {}: {error}", self.folder.display()))
        })?;
        tell(&format!("the manual pages are in {}", self.folder.display()));
        Ok(ExitCode::SUCCESS)
    }
}
