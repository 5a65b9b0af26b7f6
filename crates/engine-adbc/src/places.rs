//! Where drivers are looked for.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A list of folders with libraries or manifests, separated as in `PATH`.
pub(crate) const VARIABLE: &str = "TAXIMETER_DRIVERS";

/// Folders that an owner named; libraries and manifests are right in them.
pub(crate) fn named() -> Vec<PathBuf> {
    variable(VARIABLE)
}

/// Folders of driver manifests, in the order that ADBC defines.
pub(crate) fn manifests() -> Vec<PathBuf> {
    let mut places = variable("ADBC_DRIVER_PATH");
    for environment in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        places.extend(folder(environment).map(|prefix| prefix.join("etc/adbc/drivers")));
    }
    if cfg!(target_os = "macos") {
        places.extend(home().map(|home| home.join("Library/Application Support/ADBC/Drivers")));
        places.push(PathBuf::from("/Library/Application Support/ADBC/Drivers"));
    } else {
        places.extend(config().map(|config| config.join("adbc/drivers")));
        places.push(PathBuf::from("/etc/adbc/drivers"));
    }
    places
}

/// Folders of packages, in each of which a driver has a folder of its own: those of npm and of Python. The current folder is none of
/// them: what lies where the program was started may be anyone's.
pub(crate) fn packages() -> Vec<PathBuf> {
    let mut places = variable("NODE_PATH");
    places.extend(home().map(|home| home.join("node_modules")));
    places.extend(["/usr/local/lib/node_modules", "/usr/lib/node_modules"].map(PathBuf::from));
    let pythons = [folder("VIRTUAL_ENV"), folder("CONDA_PREFIX"), home().map(|home| home.join(".local"))];
    let prefixes = pythons.into_iter().flatten().chain(["/usr/local", "/usr"].map(PathBuf::from));
    for prefix in prefixes {
        for version in python_versions(&prefix.join("lib")) {
            places.extend([version.join("site-packages"), version.join("dist-packages")]);
        }
    }
    places
}

/// Folders of libraries: the owner's, and the system's.
pub(crate) fn libraries() -> Vec<PathBuf> {
    let own = config().map(|config| config.join("taximeter/drivers"));
    let machine = format!("/usr/lib/{}-linux-gnu", env::consts::ARCH);
    let system = ["/usr/local/lib", machine.as_str(), "/usr/lib64", "/usr/lib", "/opt/homebrew/lib"];
    own.into_iter().chain(system.map(PathBuf::from)).collect()
}

fn variable(name: &str) -> Vec<PathBuf> {
    let list = env::var_os(name).unwrap_or_default();
    env::split_paths(&list).filter(|path| path.is_absolute()).collect()
}

fn folder(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn home() -> Option<PathBuf> {
    folder("HOME")
}

fn config() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")))
}

/// The folders `python3` and `python3.x` of a folder of libraries.
fn python_versions(lib: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(lib).into_iter().flatten().flatten();
    let is_python = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with("python3"));
    let mut versions: Vec<PathBuf> =
        entries.filter(|entry| is_python(&entry.file_name())).map(|entry| entry.path()).collect();
    versions.sort();
    versions
}
