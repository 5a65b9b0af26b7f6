//! `taximeter config show`: each setting, its value, and where it is from.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_ledger::Location;

use super::file::ConfigFile;
use super::{FoundSetting, Setting, SettingOrigin, variable};
use crate::gate::GateArgs;
use crate::output::{Failure, print};
use crate::table::TextTable;

/// Show each setting, its value, and where it is from: a flag, a variable, or the file
#[derive(Args)]
#[command(after_help = "Example: taximeter config show --ledger other.db")]
pub struct ShowCommand {
    #[command(flatten)]
    gate: GateArgs,
}

#[derive(Serialize)]
struct ConfigDocument {
    /// The file; null if there is none.
    file: Option<String>,
    settings: Vec<SettingDocument>,
}

#[derive(Serialize)]
struct SettingDocument {
    setting: &'static str,
    /// Null if it is not set.
    value: Option<String>,
    from: Option<String>,
    /// Whether a command would use it: a ledger is not used beside a server.
    used: bool,
}

impl ShowCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let file = ConfigFile::read()?.map(|file| file.path().display().to_string());
        let has_server = self.gate.ledger.server()?.is_some();
        let settings = Setting::ALL.into_iter().map(|setting| self.document(setting, has_server));
        let document = ConfigDocument { file, settings: settings.collect::<Result<_, Failure>>()? };
        print(self.gate.ledger.json, &document, || document.text())
    }

    fn document(&self, setting: Setting, has_server: bool) -> Result<SettingDocument, Failure> {
        let flag = self.gate.flag(setting).map(|(flag, value)| FoundSetting { value, from: SettingOrigin::Flag(flag) });
        let found = match flag {
            Some(found) => Some(found),
            None => setting.find()?,
        };
        let is_local = matches!(setting, Setting::Ledger | Setting::Witness | Setting::Data);
        let is_remote = matches!(setting, Setting::Server | Setting::TokenFile | Setting::Ca);
        let used = found.is_some() && !(is_local && has_server || is_remote && !has_server);
        let from = found.as_ref().map(|found| found.from.to_string());
        let value = found.map(FoundSetting::text).transpose()?;
        // A URL may have a password in it.
        let value = value.map(|value| match setting {
            Setting::Ledger => Location::parse(&value).map_or(value, |location| location.to_string()),
            _ => value,
        });
        Ok(SettingDocument { setting: setting.key(), value, from, used })
    }
}

impl ConfigDocument {
    fn text(&self) -> String {
        let mut table = TextTable::new(&["setting", "value", "from"]);
        for SettingDocument { setting, value, from, used } in &self.settings {
            let from = match (from, used) {
                (None, _) => "not set".to_string(),
                (Some(from), true) => from.clone(),
                (Some(from), false) => format!("{from}, not used"),
            };
            let value = value.as_deref().map_or("–".to_string(), short);
            table.row([setting.to_string(), value, short(&from)]);
        }
        let file = self.file.as_deref().map_or("none; TAXIMETER_CONFIG names one".to_string(), short);
        format!("file  {file}\n\n{table}")
    }
}

/// A path in the user's home, as people write it.
fn short(text: &str) -> String {
    let home = variable("HOME").and_then(|home| home.into_string().ok());
    match home.as_deref().and_then(|home| text.strip_prefix(home)) {
        Some(rest) if rest.starts_with('/') => format!("~{rest}"),
        _ => text.to_string(),
    }
}
