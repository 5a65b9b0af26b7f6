//! Files that owners upload, until they are registered or expire.

use std::collections::{HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tempfile::{NamedTempFile, TempPath};
use tokio::io::AsyncWriteExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::caller::{Action, Caller};
use crate::random::random_digits;
use crate::{Code, Problem, Upload};

/// The most files at a time, including those still arriving.
const MOST: usize = 16;

/// How long a file is kept.
const LIFETIME: Duration = Duration::from_secs(3600);

/// The uploaded files of one server.
pub(crate) struct Uploads {
    folder: Arc<UploadFolder>,
    largest: u64,
    permits: Arc<Semaphore>,
}

/// The folder of one server's uploads.
struct UploadFolder {
    path: PathBuf,
    /// A file next to the folder, locked as long as the server runs.
    lock: PathBuf,
    _held: File,
    /// By id; `None` while a registration reads the file.
    files: Mutex<HashMap<String, Option<UploadedFile>>>,
}

/// A file that has arrived. It is removed when it is dropped.
struct UploadedFile {
    file: TempPath,
    arrived: Instant,
    _permit: OwnedSemaphorePermit,
}

impl Uploads {
    /// A new folder for uploads below the gate's: other servers may use the same gate.
    pub(crate) fn new(gate_folder: PathBuf, largest: u64) -> Result<Uploads, Problem> {
        let parent = gate_folder.join("uploads");
        let folder = UploadFolder::new(&parent)
            .map_err(|error| Problem::new(Code::Storage, format!("the folder {}: {error}", parent.display())))?;
        Ok(Uploads { folder: Arc::new(folder), largest, permits: Arc::new(Semaphore::new(MOST)) })
    }

    /// Receives a file. `pause` is how long it may be silent. If the client hangs up, nothing is kept.
    async fn receive<E>(
        &self,
        body: impl Stream<Item = Result<Bytes, E>> + Send,
        pause: Duration,
    ) -> Result<Upload, Problem> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().map_err(|_| {
            // Not `Busy`: waiting a moment does not help, owners must register their files.
            Problem::new(
                Code::TooManyRequests,
                format!("there are {MOST} uploads already; register them, or wait an hour until they expire"),
            )
        })?;
        // Only the server's user may read it.
        let (file, path) = NamedTempFile::new_in(&self.folder.path).map_err(unwritable)?.into_parts();
        let mut file = tokio::fs::File::from_std(file);
        let mut stream = pin!(body);
        let mut bytes = 0;
        loop {
            let chunk = tokio::time::timeout(pause, stream.next())
                .await
                .map_err(|_| Problem::new(Code::RequestTimeout, "the upload stalled for too long; send it again"))?;
            let Some(chunk) = chunk else { break };
            let chunk = chunk.map_err(|_| Problem::bad_request("the upload did not arrive whole; send it again"))?;
            bytes += chunk.len() as u64;
            if bytes > self.largest {
                return Err(self.too_large());
            }
            file.write_all(&chunk).await.map_err(unwritable)?;
        }
        file.flush().await.map_err(unwritable)?;
        let upload = random_digits::<16>()?;
        let file = UploadedFile { file: path, arrived: Instant::now(), _permit: permit };
        self.folder.files().insert(upload.clone(), Some(file));
        self.expire_later(upload.clone());
        Ok(Upload { upload, bytes })
    }

    fn too_large(&self) -> Problem {
        Problem::new(Code::TooLarge, format!("an upload has at most {} bytes; divide the data", self.largest))
    }

    fn expire_later(&self, id: String) {
        let folder = Arc::downgrade(&self.folder);
        tokio::spawn(async move {
            tokio::time::sleep(LIFETIME).await;
            if let Some(folder) = folder.upgrade() {
                folder.expire(&id);
            }
        });
    }

    /// Takes a file to register it. It is put back if the registration fails, so that the owner can try again.
    pub(crate) fn take(&self, id: &str) -> Result<TakenUpload, Problem> {
        match self.folder.files().get_mut(id).map(Option::take) {
            Some(Some(file)) => {
                Ok(TakenUpload { folder: Arc::clone(&self.folder), id: id.to_string(), file: Some(file) })
            }
            Some(None) => {
                Err(Problem::new(Code::Busy, "the upload is being registered already; wait until that has finished"))
            }
            None => Err(Problem::new(
                Code::NotFound,
                "upload not found: it was registered, or is older than an hour; upload the file again",
            )),
        }
    }
}

impl Caller {
    /// Receives a CSV file, to register it afterwards. It expires after an hour.
    pub async fn upload<E>(&self, body: impl Stream<Item = Result<Bytes, E>> + Send) -> Result<Upload, Problem> {
        self.require(Action::ChangeDatasets)?;
        let received = self.service.uploads.receive(body, self.service.settings.arrival).await;
        received.map_err(|problem| self.redact(problem))
    }

    /// Rejects an upload whose declared size is above the limit.
    pub fn require_upload_size(&self, bytes: u64) -> Result<(), Problem> {
        let uploads = &self.service.uploads;
        if bytes > uploads.largest { Err(uploads.too_large()) } else { Ok(()) }
    }
}

/// The lock that a server holds while it cleans up and creates its own folder.
const START_LOCK: &str = "door.lock";

impl UploadFolder {
    /// A new folder below `parent`. Removes the folders of servers that no longer run.
    fn new(parent: &Path) -> io::Result<UploadFolder> {
        match private_folder(parent) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let start = File::create(parent.join(START_LOCK))?;
        start.lock()?;
        clean_up(parent)?;
        let name = random_digits::<16>().map_err(|problem| io::Error::other(problem.detail))?;
        let (path, lock) = (parent.join(&name), parent.join(format!("{name}.lock")));
        let held = File::create_new(&lock)?;
        held.lock()?;
        private_folder(&path)?;
        Ok(UploadFolder { path, lock, _held: held, files: Mutex::default() })
    }

    /// Removes an expired file; one that is being registered is removed afterwards.
    fn expire(&self, id: &str) {
        let mut files = self.files();
        if files.get(id).is_some_and(Option::is_some) {
            files.remove(id);
        }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<String, Option<UploadedFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UploadFolder {
    fn drop(&mut self) {
        // If this fails, the next server to start removes it.
        let _ = std::fs::remove_dir_all(&self.path);
        let _ = std::fs::remove_file(&self.lock);
    }
}

/// Removes the files of servers that no longer run. The caller holds the start lock.
fn clean_up(parent: &Path) -> io::Result<()> {
    let entries: Vec<PathBuf> = std::fs::read_dir(parent)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let is_lock = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "lock");
    let mut running = HashSet::from([parent.join(START_LOCK)]);
    for lock in entries.iter().filter(is_lock).filter(|lock| !lock.ends_with(START_LOCK)) {
        match File::open(lock)?.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => running.extend([lock.clone(), lock.with_extension("")]),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    for path in entries.iter().filter(|path| !running.contains(*path)) {
        match std::fs::symlink_metadata(path)?.is_dir() {
            true => std::fs::remove_dir_all(path)?,
            false => std::fs::remove_file(path)?,
        }
    }
    Ok(())
}

/// A folder that only the server's user may enter.
fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// A file that is being registered. Dropping it puts the file back, unless it was registered or has expired.
pub(crate) struct TakenUpload {
    folder: Arc<UploadFolder>,
    id: String,
    /// `None` once it is registered.
    file: Option<UploadedFile>,
}

impl TakenUpload {
    pub(crate) fn path(&self) -> PathBuf {
        self.file.as_ref().map_or_else(PathBuf::new, |file| file.file.to_path_buf())
    }

    /// The name for messages: its owner knows it by its id.
    pub(crate) fn display_name(&self) -> PathBuf {
        format!("the upload {}", self.id).into()
    }

    /// Removes the file, which is registered.
    pub(crate) fn registered(mut self) {
        self.file = None;
    }
}

impl Drop for TakenUpload {
    fn drop(&mut self) {
        let mut files = self.folder.files();
        match self.file.take().filter(|file| file.arrived.elapsed() < LIFETIME) {
            Some(file) => files.insert(std::mem::take(&mut self.id), Some(file)),
            None => files.remove(&self.id),
        };
    }
}

fn unwritable(error: std::io::Error) -> Problem {
    Problem::new(Code::Storage, format!("the upload cannot be written: {error}; is the disk full?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn servers_on_one_gate_keep_each_others_files_and_remove_those_of_killed_servers() {
        let gate = tempfile::tempdir().unwrap();
        let parent = gate.path().join("uploads");
        let one = Uploads::new(gate.path().to_path_buf(), 100).unwrap();
        std::fs::write(one.folder.path.join("a"), "rows").unwrap();
        // A killed server leaves its folder and a lock file without a lock; older versions left files.
        std::fs::create_dir(parent.join("dead")).unwrap();
        std::fs::write(parent.join("dead").join("b"), "rows").unwrap();
        std::fs::write(parent.join("dead.lock"), "").unwrap();
        std::fs::write(parent.join("old"), "rows").unwrap();
        let other = Uploads::new(gate.path().to_path_buf(), 100).unwrap();
        assert_eq!(std::fs::read_to_string(one.folder.path.join("a")).unwrap(), "rows");
        assert_eq!(names(&parent).len(), 5, "{:?}", names(&parent));
        drop(one);
        assert_eq!(names(&parent).len(), 3, "{:?}", names(&parent));
        drop(other);
        assert_eq!(names(&parent), [START_LOCK]);
    }

    #[test]
    fn a_folder_that_cannot_be_created_is_named() {
        let gate = tempfile::tempdir().unwrap();
        std::fs::write(gate.path().join("uploads"), "a file").unwrap();
        let problem = Uploads::new(gate.path().to_path_buf(), 100).err().unwrap();
        assert!(problem.detail.contains("uploads: "), "{}", problem.detail);
    }
}
