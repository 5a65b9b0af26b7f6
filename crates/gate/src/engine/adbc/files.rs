//! Files of an owner: whether they are as they were when they were registered.

use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::engine::driver_source::LakeFile;
use crate::error::Error;

impl LakeFile {
    /// A file as it is now.
    pub(crate) fn look(path: &Path) -> Result<LakeFile, Error> {
        let metadata = path.metadata().map_err(|error| {
            Error::storage(format!(
                "the file {} cannot be found: {error}; restore it, or register the data again",
                path.display()
            ))
        })?;
        let (bytes, modified, touched) = (metadata.len(), modified(&metadata), touched(&metadata));
        Ok(LakeFile { path: path.to_path_buf(), bytes, modified, touched })
    }

    /// Whether it is still as it was.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match LakeFile::look(&self.path)?.identity() == self.identity() {
            true => Ok(()),
            false => Err(Error::storage(format!(
                "the file {} was changed since it was registered; register the data again, as a new version",
                self.path.display()
            ))),
        }
    }

    /// What tells it from another file.
    pub(crate) fn identity(&self) -> (&Path, u64, i64) {
        (&self.path, self.bytes, self.modified)
    }

    /// Whether nothing at all was changed about it, not even its name or who may read it.
    pub(crate) fn is_untouched(&self) -> bool {
        self.touched.is_some() && LakeFile::look(&self.path).is_ok_and(|now| now == *self)
    }
}

/// When anything about a file was changed last.
#[cfg(unix)]
fn touched(metadata: &Metadata) -> Option<i64> {
    use std::os::unix::fs::MetadataExt;
    metadata.ctime().checked_mul(1_000_000_000)?.checked_add(metadata.ctime_nsec())
}

/// Elsewhere there is no time that programs cannot set.
#[cfg(not(unix))]
fn touched(_: &Metadata) -> Option<i64> {
    None
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
