//! Driver manifests, as ADBC defines them: a TOML file with the path of the library for each kind of machine.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::AdbcError;

/// What a manifest says that is of use here.
pub(crate) struct DriverManifest {
    pub(crate) library: PathBuf,
    pub(crate) entry: Option<String>,
}

#[derive(Deserialize)]
struct ManifestText {
    manifest_version: Option<i64>,
    #[serde(rename = "Driver")]
    driver: Option<DriverTable>,
}

#[derive(Deserialize)]
struct DriverTable {
    entrypoint: Option<String>,
    shared: Option<SharedLibrary>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SharedLibrary {
    Everywhere(PathBuf),
    ByMachine(std::collections::BTreeMap<String, PathBuf>),
}

impl DriverManifest {
    /// Reads a manifest. A path in it that is not absolute starts at the folder of the manifest.
    pub(crate) fn read(path: &Path) -> Result<DriverManifest, AdbcError> {
        let wrong = |why: String| AdbcError::Manifest { path: path.to_path_buf(), why };
        let text = fs::read_to_string(path).map_err(|error| wrong(format!("it cannot be read: {error}")))?;
        let text: ManifestText = toml::from_str(&text).map_err(|error| wrong(error.message().to_string()))?;
        if let Some(version) = text.manifest_version.filter(|version| *version != 1) {
            return Err(wrong(format!("its manifest_version is {version}, and only 1 is known; use a newer program")));
        }
        let driver = text.driver.ok_or_else(|| wrong("it has no table [Driver]".to_string()))?;
        let machine = machine();
        let shared = match driver.shared {
            None => return Err(wrong("[Driver] has no entry \"shared\" with the path of the library".to_string())),
            Some(SharedLibrary::Everywhere(path)) => path,
            Some(SharedLibrary::ByMachine(mut paths)) => {
                paths.remove(&machine).ok_or_else(|| wrong(format!("[Driver.shared] has no library for {machine}")))?
            }
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        Ok(DriverManifest { library: folder.join(shared), entry: driver.entrypoint })
    }
}

/// This kind of machine in ADBC's words.
fn machine() -> String {
    let machine = match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let library = if cfg!(target_env = "musl") { "_musl" } else { "" };
    format!("{OS}_{machine}{library}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<DriverManifest, AdbcError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        fs::write(&path, text).unwrap();
        let manifest = DriverManifest::read(&path)?;
        let library = manifest.library.strip_prefix(folder.path()).unwrap_or(&manifest.library).to_path_buf();
        Ok(DriverManifest { library, ..manifest })
    }

    #[test]
    fn a_manifest_names_a_library_for_every_machine_or_for_each() {
        let manifest = read("name = 'x'\n[ADBC]\nversion = '1.1.0'\n[Driver]\nshared = '/opt/x.so'").unwrap();
        assert_eq!((manifest.library.as_path(), manifest.entry), (Path::new("/opt/x.so"), None));
        let text =
            format!("manifest_version = 1\n[Driver]\nentrypoint = 'XInit'\n[Driver.shared]\n{} = 'x.so'", machine());
        let manifest = read(&text).unwrap();
        assert_eq!((manifest.library.as_path(), manifest.entry.as_deref()), (Path::new("x.so"), Some("XInit")));
    }

    #[test]
    fn a_manifest_that_says_nothing_of_use_is_an_error_that_says_what_is_missing() {
        for (text, part) in [
            ("", "[Driver]"),
            ("[Driver]", "shared"),
            ("[Driver.shared]\nplan9_mips = 'x.so'", &machine()),
            ("manifest_version = 2\n[Driver]\nshared = 'x.so'", "manifest_version is 2"),
            ("[Driver", "table"),
        ] {
            let Err(error) = read(text) else { panic!("{text} was read") };
            assert!(error.to_string().contains(part), "{text:?}: {error}");
        }
    }
}
