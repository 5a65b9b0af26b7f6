//! Files: where they are, who may read them, and when they are on disk.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The path of a file, also when it is named through a link.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// The path of a file beside another, with something added to its name.
pub(crate) fn beside(path: &Path, addition: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(addition);
    name.into()
}

/// The folder that a file is in.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether two paths lead to the same place, where there may not be a file yet.
pub(crate) fn is_same_place(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| Some(folder(path).canonicalize().ok()?.join(path.file_name()?));
    resolved(one) == resolved(other) || (place(one).is_some() && place(one) == place(other))
}

/// How files are made that their owner alone may read and write.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder that its owner alone may look into, and those that it is in.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Waits so long for the lock of a file, and says whether it was to be had. Others may hold it for good, by a mistake or on purpose.
pub fn lock_within(file: &File, wait: Duration, pause: Duration) -> io::Result<bool> {
    let until = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(pause),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Whether a path still leads to an open file.
#[cfg(unix)]
pub(crate) fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (open, there) = (file.metadata()?, std::fs::metadata(path)?);
    Ok((open.dev(), open.ino()) == (there.dev(), there.ino()))
}

/// Elsewhere an open file cannot be replaced.
#[cfg(not(unix))]
pub(crate) fn is_same_file(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// A new name in a folder is on disk when the folder is.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

/// Elsewhere folders cannot be synced.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
