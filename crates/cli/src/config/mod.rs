//! What holds for every command unless a flag says otherwise: variables of the environment, and a file.
//!
//! The file is named by TAXIMETER_CONFIG, or is `taximeter/taximeter.toml` in the user's folder of configurations. None is looked for in
//! the working folder: a file that came with a download could send the user's token to another server.

mod file;
mod show;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use self::file::ConfigFile;
use self::show::ShowCommand;
use crate::output::{Failure, usage};

/// Settings that hold for every command: show
///
/// The file taximeter.toml is in $XDG_CONFIG_HOME/taximeter or ~/.config/taximeter, or where TAXIMETER_CONFIG says. Flags override the
/// environment, and the environment overrides the file.
#[derive(Subcommand)]
pub enum ConfigCommand {
    Show(ShowCommand),
}

impl ConfigCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            ConfigCommand::Show(show) => show.run(),
        }
    }
}

/// Something that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Ledger,
    Witness,
    Data,
    Server,
    TokenFile,
    Ca,
    Epsilon,
    Listen,
}

impl Setting {
    pub const ALL: [Setting; 8] = [
        Setting::Ledger,
        Setting::Witness,
        Setting::Data,
        Setting::Server,
        Setting::TokenFile,
        Setting::Ca,
        Setting::Epsilon,
        Setting::Listen,
    ];

    /// Its key in the file; those of the table `defaults` are behind a point.
    pub fn key(self) -> &'static str {
        match self {
            Setting::Ledger => "ledger",
            Setting::Witness => "witness",
            Setting::Data => "data",
            Setting::Server => "server",
            Setting::TokenFile => "token_file",
            Setting::Ca => "ca",
            Setting::Epsilon => "defaults.epsilon",
            Setting::Listen => "defaults.listen",
        }
    }

    /// Its variable; a token is a variable itself.
    fn variable(self) -> Option<&'static str> {
        match self {
            Setting::Ledger => Some("TAXIMETER_LEDGER"),
            Setting::Witness => Some("TAXIMETER_WITNESS"),
            Setting::Data => Some("TAXIMETER_DATA"),
            Setting::Server => Some("TAXIMETER_SERVER"),
            Setting::Ca => Some("TAXIMETER_CA"),
            Setting::TokenFile | Setting::Epsilon | Setting::Listen => None,
        }
    }

    /// Whether it is a file or a folder: in the configuration, one beside it. A ledger may also be a URL.
    fn is_path(self, value: &str) -> bool {
        match self {
            Setting::Ledger => !value.contains("://"),
            Setting::Witness | Setting::Data | Setting::TokenFile | Setting::Ca => true,
            Setting::Server | Setting::Epsilon | Setting::Listen => false,
        }
    }

    /// Its value in the environment or the file, and where it was found.
    pub fn find(self) -> Result<Option<FoundSetting>, Failure> {
        if let Some(found) = self.in_environment() {
            return Ok(Some(found));
        }
        self.in_file()
    }

    /// Its value in the environment.
    pub fn in_environment(self) -> Option<FoundSetting> {
        let name = self.variable()?;
        Some(FoundSetting { value: variable(name)?, from: SettingOrigin::Variable(name) })
    }

    /// Its value in the file.
    pub fn in_file(self) -> Result<Option<FoundSetting>, Failure> {
        let Some(file) = ConfigFile::read()? else { return Ok(None) };
        Ok(file.value(self).map(|value| FoundSetting { value, from: SettingOrigin::File(file.path().to_path_buf()) }))
    }

    /// Its value as text.
    pub fn text(self) -> Result<Option<String>, Failure> {
        self.find()?.map(FoundSetting::text).transpose()
    }

    /// Its value as a path.
    pub fn path(self) -> Result<Option<PathBuf>, Failure> {
        Ok(self.find()?.map(|found| PathBuf::from(found.value)))
    }
}

/// A value, and where it is from.
pub struct FoundSetting {
    pub value: OsString,
    pub from: SettingOrigin,
}

impl FoundSetting {
    /// The value, which must be text.
    pub fn text(self) -> Result<String, Failure> {
        let FoundSetting { value, from } = self;
        value.into_string().map_err(|_| usage(format!("{from} is not UTF-8 text; write it as text")))
    }
}

/// Where a value is from.
pub enum SettingOrigin {
    Flag(&'static str),
    Variable(&'static str),
    File(PathBuf),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::Flag(name) | SettingOrigin::Variable(name) => f.write_str(name),
            SettingOrigin::File(path) => path.display().fmt(f),
        }
    }
}

/// An environment variable, if it is set and not empty.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// A folder in the user's home.
fn in_home(folder: &str) -> Option<PathBuf> {
    variable("HOME").map(|home| PathBuf::from(home).join(folder))
}
