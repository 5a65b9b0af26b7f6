//! Where PostgreSQL's programs are.

use std::path::{Path, PathBuf};
use std::process::Command;

/// All that is needed of PostgreSQL. A folder with only some of them is a client's, for instance Debian's `postgresql-client`.
const PROGRAMS: [&str; 3] = ["initdb", "postgres", "psql"];

/// Where Debian and its descendants keep one folder a version, outside of the path.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The folder of PostgreSQL's server programs: the one in the path, or that `pg_config` names, or the newest of Debian's.
///
/// The error says what to install.
pub fn find_programs() -> Result<PathBuf, String> {
    in_path()
        .or_else(of_pg_config)
        .into_iter()
        .chain(newest_first(versions(Path::new(DEBIAN))))
        .find(|folder| is_complete(folder))
        .ok_or_else(|| {
            format!(
                "PostgreSQL's server programs ({}) are neither in the path, nor in the folder of `pg_config --bindir`, nor in \
                 {DEBIAN}/*/bin; install them with `apt-get install postgresql`, or run `cargo xtask test`, which does that where \
                 it may",
                PROGRAMS.join(", ")
            )
        })
}

fn is_complete(folder: &Path) -> bool {
    PROGRAMS.iter().all(|program| folder.join(program).is_file())
}

/// A server in the path may be a link; its companions are where it points to.
fn in_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter_map(|folder| folder.join("postgres").canonicalize().ok())
        .filter_map(|program| Some(program.parent()?.to_path_buf()))
        .find(|folder| is_complete(folder))
}

fn of_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim())).filter(|folder| is_complete(folder))
}

fn versions(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect()
}

/// Version 15 is newer than 9.6, so versions are compared as numbers.
fn newest_first(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    folders.sort_by_key(|folder| {
        let version = folder.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let numbers: Vec<u32> = version.split('.').map(|part| part.parse().unwrap_or(0)).collect();
        std::cmp::Reverse(numbers)
    });
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_tried_first() {
        let folder = |version: &str| Path::new(DEBIAN).join(version).join("bin");
        let sorted = newest_first(["9.6", "15", "9.10", "17", "unknown"].map(folder).to_vec());
        assert_eq!(sorted, ["17", "15", "9.10", "9.6", "unknown"].map(folder));
    }

    #[test]
    fn a_folder_without_the_server_is_not_enough() {
        assert!(!is_complete(Path::new("/nowhere")));
        assert!(versions(Path::new("/nowhere")).is_empty());
    }
}
