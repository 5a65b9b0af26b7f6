//! Looking for drivers, and what was found.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::AdbcError;
use crate::known::{KNOWN, KnownDriver, advice};
use crate::manifest::DriverManifest;
use crate::spec::DriverSpec;
use crate::{places, trust};

/// Where drivers are looked for on this machine.
#[derive(Clone, Debug)]
pub struct Search {
    named: Vec<PathBuf>,
    manifests: Vec<PathBuf>,
    packages: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
}

/// A driver that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundDriver {
    /// Its name.
    pub name: String,
    /// The library.
    pub library: PathBuf,
    /// The function that starts it.
    pub entry: String,
    /// The manifest that names it, if there is one.
    pub manifest: Option<PathBuf>,
    /// Why it is not loaded, if it is not.
    pub refused: Option<String>,
}

impl Search {
    /// The places that the environment of this process and the standard name.
    pub fn of_this_machine() -> Search {
        Search {
            named: places::named(),
            manifests: places::manifests(),
            packages: places::packages(),
            libraries: places::libraries(),
        }
    }

    /// These folders alone.
    pub fn in_folders(folders: Vec<PathBuf>) -> Search {
        Search { named: folders, manifests: Vec::new(), packages: Vec::new(), libraries: Vec::new() }
    }

    /// All folders, in the order in which they are looked through.
    pub fn folders(&self) -> Vec<PathBuf> {
        let all = [&self.named, &self.manifests, &self.packages, &self.libraries];
        let mut seen = BTreeSet::new();
        all.into_iter().flatten().filter(|place| seen.insert(place.as_path())).cloned().collect()
    }

    /// All drivers that are there, the first of each name.
    pub fn drivers(&self) -> Vec<FoundDriver> {
        let mut names: BTreeSet<String> = KNOWN.iter().map(|known| known.name.to_string()).collect();
        for folder in self.named.iter().chain(&self.manifests) {
            names.extend(manifests_in(folder));
        }
        names.iter().filter_map(|name| self.look_for(name)).collect()
    }

    /// The driver that an owner names; an error says why there is none or why it is not used.
    pub fn find(&self, spec: &DriverSpec) -> Result<FoundDriver, AdbcError> {
        let found = match spec {
            DriverSpec::Name(name) => self.look_for(name).ok_or_else(|| AdbcError::Missing {
                name: name.clone(),
                advice: advice(name),
                looked: self.folders().into_iter().filter(|folder| folder.is_dir()).collect(),
            })?,
            DriverSpec::Library { path, entry } => {
                let is_there = path.is_file();
                if !is_there {
                    return Err(AdbcError::Load { path: path.clone(), why: "file not found".to_string() });
                }
                let entry = entry.clone().unwrap_or_else(|| usual_entry(path));
                FoundDriver { name: spec.to_string(), library: path.clone(), entry, manifest: None, refused: None }
            }
            DriverSpec::Manifest(path) => {
                checked(path)?;
                let DriverManifest { library, entry } = DriverManifest::read(path)?;
                let entry = entry.unwrap_or_else(|| usual_entry(&library));
                let manifest = Some(path.clone());
                FoundDriver { name: spec.to_string(), library, entry, manifest, refused: None }
            }
        };
        for file in found.manifest.iter().chain([&found.library]) {
            checked(file)?;
        }
        Ok(found)
    }

    /// Looks for a name: in the folders that the owner named, then manifests, packages and libraries.
    fn look_for(&self, name: &str) -> Option<FoundDriver> {
        let known = KnownDriver::find(name);
        let file = known.map_or_else(|| library_file(name), KnownDriver::file);
        let manifest = |folder: &PathBuf| by_manifest(name, folder.join(format!("{name}.toml")));
        let library = |folder: PathBuf| by_library(name, folder.join(&file));
        let packages = || {
            let folders = known.into_iter().flat_map(KnownDriver::folders).collect::<Vec<_>>();
            self.packages
                .iter()
                .flat_map(move |place| folders.clone().into_iter().map(move |folder| place.join(folder)))
        };
        (self.named.iter().find_map(|folder| manifest(folder).or_else(|| library(folder.clone()))))
            .or_else(|| self.manifests.iter().find_map(manifest))
            .or_else(|| packages().find_map(library))
            .or_else(|| self.libraries.iter().cloned().find_map(library))
    }
}

fn by_manifest(name: &str, path: PathBuf) -> Option<FoundDriver> {
    if !path.is_file() {
        return None;
    }
    let read = checked(&path).and_then(|()| DriverManifest::read(&path));
    Some(match read {
        Ok(DriverManifest { library, entry }) => {
            let entry = entry.unwrap_or_else(|| entry_of(name, &library));
            let refused = checked(&library).err().map(|error| error.to_string());
            FoundDriver { name: name.to_string(), library, entry, manifest: Some(path), refused }
        }
        Err(error) => FoundDriver {
            name: name.to_string(),
            library: PathBuf::new(),
            entry: String::new(),
            manifest: Some(path),
            refused: Some(error.to_string()),
        },
    })
}

fn by_library(name: &str, library: PathBuf) -> Option<FoundDriver> {
    if !library.is_file() {
        return None;
    }
    let refused = checked(&library).err().map(|error| error.to_string());
    Some(FoundDriver { name: name.to_string(), entry: entry_of(name, &library), library, manifest: None, refused })
}

/// Checks the file that a path leads to, links followed.
fn checked(path: &Path) -> Result<(), AdbcError> {
    let resolved = path
        .canonicalize()
        .map_err(|error| AdbcError::Load { path: path.to_path_buf(), why: format!("it cannot be found: {error}") })?;
    trust::check(&resolved)
}

fn entry_of(name: &str, library: &Path) -> String {
    KnownDriver::find(name).map_or_else(|| usual_entry(library), |known| known.entry.to_string())
}

/// The entry point of a library that says none: that of a driver that is known by its file, or the standard's.
fn usual_entry(library: &Path) -> String {
    let file = library.file_name().unwrap_or_default().to_string_lossy();
    let known = KNOWN.iter().find(|known| known.file() == file);
    known.map_or("AdbcDriverInit", |known| known.entry).to_string()
}

fn library_file(name: &str) -> String {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    format!("{DLL_PREFIX}adbc_driver_{}{DLL_SUFFIX}", name.replace('-', "_"))
}

/// The names of the manifests in a folder.
fn manifests_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let manifests = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "toml"));
    manifests.filter_map(|path| Some(path.file_stem()?.to_str()?.to_string())).collect()
}
