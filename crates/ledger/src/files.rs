//! Files: where they are, who may read them, and when they are on disk.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The path of a file, also when it is named through a link.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// The path of a file beside another, with something added to its name.
pub fn beside(path: &Path, addition: &str) -> PathBuf {
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

/// Makes a folder that its owner alone may look into, and those that it is in. The names of the new ones are on disk when it returns.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    builder.recursive(true).create(path)?;
    missing.into_iter().rev().try_for_each(sync_folder)
}

/// A file that is written in place, synced, and locked meanwhile: on disk, or on the disk of a simulation.
pub(crate) trait PlacedFile: Send {
    /// Its first bytes.
    fn read_start(&mut self, most: usize) -> io::Result<Vec<u8>>;
    /// Writes bytes from a place on.
    fn write_at(&mut self, at: usize, bytes: &[u8]) -> io::Result<()>;
    /// Returns when all that was written is on disk.
    fn sync(&self) -> io::Result<()>;
    /// Waits so long for its lock, and says whether it was to be had.
    fn lock_within(&self, wait: Duration) -> io::Result<bool>;
    /// Lets go of its lock.
    fn unlock(&self) -> io::Result<()>;
    /// Whether a path still leads to it.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
}

impl PlacedFile for File {
    fn read_start(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(most);
        self.seek(SeekFrom::Start(0))?;
        self.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write_at(&mut self, at: usize, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(at as u64))?;
        self.write_all(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn lock_within(&self, wait: Duration) -> io::Result<bool> {
        lock_within(self, wait, Duration::from_millis(1))
    }

    fn unlock(&self) -> io::Result<()> {
        File::unlock(self)
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        is_same_file(self, path)
    }
}

/// Makes a file with these bytes, on disk, where there is none. One that another process made meanwhile stays.
pub(crate) fn create_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = beside(path, &format!(".new-{}", std::process::id()));
    let mut file = private().create(true).truncate(true).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    // A link, not a new name: it does not take the place of a file that another process holds open.
    let linked = std::fs::hard_link(&new, path);
    std::fs::remove_file(&new)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => sync_folder(path),
    }
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
fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (open, there) = (file.metadata()?, std::fs::metadata(path)?);
    Ok((open.dev(), open.ino()) == (there.dev(), there.ino()))
}

/// Elsewhere an open file cannot be replaced.
#[cfg(not(unix))]
fn is_same_file(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// A new name in a folder is on disk when the folder is.
#[cfg(unix)]
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

/// Elsewhere folders cannot be synced.
#[cfg(not(unix))]
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
