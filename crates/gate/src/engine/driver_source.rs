//! Where data are that a driver of ADBC reads: what is written down about them. A program without drivers reads it too, and says so.

use std::fmt;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A driver as its owner named it: by a name, or by the path of its library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverChoice {
    /// The name, or a path.
    pub driver: String,
    /// The library's entry point, if it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

impl Default for DriverChoice {
    /// DuckDB, wherever it is found.
    fn default() -> DriverChoice {
        DriverChoice { driver: "duckdb".to_string(), entry: None }
    }
}

/// Data that a driver reads.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdbcSource {
    pub(crate) driver: DriverChoice,
    pub(crate) data: AdbcData,
}

/// Where they are.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum AdbcData {
    /// Parquet files of the owner.
    Lake {
        /// What the owner named: a file, a folder or a pattern.
        pattern: String,
        /// The files that it named when they were registered.
        files: Vec<LakeFile>,
        /// The file of the gate's own with the rows that are kept of every unit; nothing if the owner's files are asked as they are.
        kept: Option<PathBuf>,
    },
    /// A file of DuckDB in the gate's folder.
    Own { file: PathBuf },
}

/// A file as it was when it was registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LakeFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970-01-01.
    pub(crate) modified: i64,
}

impl LakeFile {
    /// A file as it is now.
    pub(crate) fn look(path: &Path) -> Result<LakeFile, Error> {
        let metadata = path.metadata().map_err(|error| {
            Error::storage(format!("the file {} cannot be found: {error}; put it back, or register the data again", path.display()))
        })?;
        Ok(LakeFile { path: path.to_path_buf(), bytes: metadata.len(), modified: modified(&metadata) })
    }

    /// Whether it is still as it was.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match LakeFile::look(&self.path)? == *self {
            true => Ok(()),
            false => Err(Error::storage(format!(
                "the file {} was changed since it was registered; register the data again, as a new version",
                self.path.display()
            ))),
        }
    }
}

/// When a file was changed last. A file system without times has sizes alone.
fn modified(metadata: &Metadata) -> i64 {
    let time = metadata.modified().unwrap_or(UNIX_EPOCH);
    let (since, sign) = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => (since, 1),
        Err(before) => (before.duration(), -1),
    };
    sign * i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

impl AdbcSource {
    /// The gate's own file, if the data are in one.
    pub(crate) fn own_file(&self) -> Option<&Path> {
        match &self.data {
            AdbcData::Lake { kept, .. } => kept.as_deref(),
            AdbcData::Own { file } => Some(file),
        }
    }
}

impl fmt::Debug for AdbcSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.data {
            AdbcData::Lake { pattern, files, kept } => {
                let plural = if files.len() == 1 { "" } else { "s" };
                write!(f, "{pattern} ({} Parquet file{plural})", files.len())?;
                match kept {
                    None => Ok(()),
                    Some(kept) => write!(f, ", with the rows that count in {}", kept.display()),
                }
            }
            AdbcData::Own { file } => write!(f, "{} (DuckDB)", file.display()),
        }
    }
}
