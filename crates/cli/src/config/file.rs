//! The file taximeter.toml.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{Setting, in_home, variable};
use crate::output::{Failure, usage};

/// The file, read and checked.
pub struct ConfigFile {
    path: PathBuf,
    values: BTreeMap<&'static str, String>,
}

impl ConfigFile {
    /// The file that holds here: the one that is named, or the one in the user's folder if it is there.
    pub fn read() -> Result<Option<ConfigFile>, Failure> {
        let named = variable("TAXIMETER_CONFIG").map(PathBuf::from);
        let folder = || {
            let configured = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
            configured.or_else(|| in_home(".config"))
        };
        let own = || folder().map(|folder| folder.join("taximeter/taximeter.toml")).filter(|path| path.exists());
        let Some(path) = named.or_else(own) else { return Ok(None) };
        let wrong = |why: String| usage(format!("the configuration {}: {why}", path.display()));
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(format!("it cannot be read: {error}")))?;
        let values = parse(&text).map_err(wrong)?;
        Ok(Some(ConfigFile { path, values }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The value of a setting. A path is from the file's folder on, and `~/` is the user's home.
    pub fn value(&self, setting: Setting) -> Option<OsString> {
        let text = self.values.get(setting.key())?;
        if !setting.is_path(text) {
            return Some(text.into());
        }
        let path = match text.strip_prefix("~/").and_then(in_home) {
            Some(path) => path,
            None => self.path.parent().unwrap_or(Path::new("")).join(text),
        };
        Some(path.into())
    }
}

/// The settings of a file by their keys.
fn parse(text: &str) -> Result<BTreeMap<&'static str, String>, String> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let mut values = BTreeMap::new();
    for (key, value) in table {
        match value {
            Value::Table(table) => {
                for (inner, value) in table {
                    add(&mut values, &format!("{key}.{inner}"), &value)?;
                }
            }
            value => add(&mut values, &key, &value)?,
        }
    }
    if values.contains_key(Setting::Server.key()) && values.contains_key(Setting::Ledger.key()) {
        return Err("it names a server and a ledger; a command goes to one of them: omit the other".to_string());
    }
    Ok(values)
}

fn add(values: &mut BTreeMap<&'static str, String>, key: &str, value: &Value) -> Result<(), String> {
    let known = Setting::ALL.map(Setting::key);
    let Some(known) = known.into_iter().find(|known| *known == key) else {
        let distance = |known: &&str| strsim::damerau_levenshtein(known, key);
        let near = known.into_iter().min_by_key(distance).filter(|known| distance(known) <= key.len().div_ceil(2));
        let advice =
            near.map_or_else(|| format!("the keys are {}", known.join(", ")), |near| format!("did you mean {near}?"));
        return Err(format!("unknown key {key}; {advice}"));
    };
    let text = match value {
        Value::String(text) if text.is_empty() => return Err(format!("{key} is empty; omit it instead")),
        Value::String(text) => text.clone(),
        // An amount is exact as it is written in quotes; a number of TOML is binary.
        Value::Integer(_) | Value::Float(_) => return Err(format!("{key} is {value}; write it in quotes")),
        other => return Err(format!("{key} is {}; write text in quotes", other.type_str())),
    };
    values.insert(known, text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_key_and_a_wrong_one_is_told_with_the_nearest() {
        for setting in Setting::ALL {
            let (table, key) = setting.key().split_once('.').unwrap_or(("", setting.key()));
            let table = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
            let values = parse(&format!("{table}{key} = \"x\"")).unwrap();
            assert_eq!(values.get(setting.key()).map(String::as_str), Some("x"));
        }
        for (text, why) in [
            ("leger = \"a\"", "unknown key leger; did you mean ledger?"),
            ("tokenfile = \"a\"", "did you mean token_file?"),
            ("[defaults]\nepsilom = \"a\"", "did you mean defaults.epsilon?"),
            ("colour = \"red\"", "the keys are ledger, witness"),
            ("ledger = 5", "ledger is 5; write it in quotes"),
            ("ledger = \"\"", "omit it"),
            ("server = true", "server is boolean; write text in quotes"),
            ("server = \"https://a\"\nledger = \"b\"", "omit the other"),
            ("ledger", "expected"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn paths_are_from_the_folder_of_the_file_on() {
        let values = parse("ledger = \"a.db\"\nwitness = \"/mnt/witness\"\n[defaults]\nepsilon = \"0.01\"").unwrap();
        let file = ConfigFile { path: PathBuf::from("/etc/taximeter/taximeter.toml"), values };
        assert_eq!(file.value(Setting::Ledger).unwrap(), "/etc/taximeter/a.db");
        assert_eq!(file.value(Setting::Witness).unwrap(), "/mnt/witness");
        assert_eq!(file.value(Setting::Epsilon).unwrap(), "0.01");
        let values = parse("ledger = \"postgres://db/taximeter\"").unwrap();
        let file = ConfigFile { path: PathBuf::from("/etc/taximeter/taximeter.toml"), values };
        assert_eq!(file.value(Setting::Ledger).unwrap(), "postgres://db/taximeter");
    }
}
