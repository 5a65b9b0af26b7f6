//! Files that owners upload, until they are registered or forgotten.

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

/// How many files there may be at a time, those that arrive included.
const MOST: usize = 16;

/// How long a file is kept.
const KEPT: Duration = Duration::from_secs(3600);

/// The files that were uploaded.
pub(crate) struct Uploads {
    shelf: Arc<Shelf>,
    largest: u64,
    places: Arc<Semaphore>,
}

/// A folder of files, and what they are known by.
struct Shelf {
    folder: PathBuf,
    /// Beside the folder, and held as long as the server lives.
    lock: PathBuf,
    _held: File,
    /// Nothing in the place of a file while a registration reads it.
    files: Mutex<HashMap<String, Option<Stored>>>,
}

/// A file that has arrived. It is removed when it is dropped.
struct Stored {
    file: TempPath,
    arrived: Instant,
    _place: OwnedSemaphorePermit,
}

impl Uploads {
    /// The uploads of a gate's folder, in a folder of their own: other servers may use the same gate.
    pub(crate) fn new(gate_folder: PathBuf, largest: u64) -> Result<Uploads, Problem> {
        let folder = gate_folder.join("uploads");
        let unusable =
            |error: io::Error| Problem::new(Code::Storage, format!("the folder {}: {error}", folder.display()));
        let shelf = Shelf::new(&folder).map_err(unusable)?;
        Ok(Uploads { shelf: Arc::new(shelf), largest, places: Arc::new(Semaphore::new(MOST)) })
    }

    /// Takes a body in. `pause` is how long it may be silent. If the sender goes away, nothing is left of it.
    async fn receive<E>(
        &self,
        body: impl Stream<Item = Result<Bytes, E>> + Send,
        pause: Duration,
    ) -> Result<Upload, Problem> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            // The server does not get less busy by itself: uploaders must register their files.
            Problem::new(
                Code::TooManyRequests,
                format!("there are {MOST} uploads already; register them, or wait an hour until they are forgotten"),
            )
        })?;
        // One that only the server's user may read.
        let (file, path) = NamedTempFile::new_in(&self.shelf.folder).map_err(unwritable)?.into_parts();
        let mut file = tokio::fs::File::from_std(file);
        let mut stream = pin!(body);
        let mut bytes = 0;
        loop {
            let chunk = tokio::time::timeout(pause, stream.next()).await.map_err(|_| {
                Problem::new(Code::RequestTimeout, "nothing arrived of the upload for too long; send it again")
            })?;
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
        let stored = Stored { file: path, arrived: Instant::now(), _place: place };
        self.shelf.files().insert(upload.clone(), Some(stored));
        self.forget_later(upload.clone());
        Ok(Upload { upload, bytes })
    }

    fn too_large(&self) -> Problem {
        Problem::new(Code::TooLarge, format!("an upload has at most {} bytes; divide the data", self.largest))
    }

    fn forget_later(&self, name: String) {
        let shelf = Arc::downgrade(&self.shelf);
        tokio::spawn(async move {
            tokio::time::sleep(KEPT).await;
            if let Some(shelf) = shelf.upgrade() {
                shelf.forget(&name);
            }
        });
    }

    /// A file to register. It stays if the registration fails, so that it can be tried again.
    pub(crate) fn take(&self, name: &str) -> Result<InUse, Problem> {
        // Only names that were given out are known.
        match self.shelf.files().get_mut(name).map(Option::take) {
            Some(Some(stored)) => {
                Ok(InUse { shelf: Arc::clone(&self.shelf), name: name.to_string(), stored: Some(stored) })
            }
            Some(None) => {
                Err(Problem::new(Code::Busy, "the upload is being registered already; wait until that has ended"))
            }
            None => Err(Problem::new(
                Code::NotFound,
                "there is no such upload: it was registered, or is older than an hour; upload the file again",
            )),
        }
    }
}

impl Caller {
    /// Takes a CSV file in, to register it afterwards. It is forgotten after an hour.
    pub async fn upload<E>(&self, body: impl Stream<Item = Result<Bytes, E>> + Send) -> Result<Upload, Problem> {
        self.require(Action::ChangeDatasets)?;
        let received = self.service.uploads.receive(body, self.service.settings.arrival).await;
        received.map_err(|problem| self.redact(problem))
    }

    /// An upload must not be larger than the limit, as far as its size is known before it arrives.
    pub fn require_upload_size(&self, bytes: u64) -> Result<(), Problem> {
        let uploads = &self.service.uploads;
        if bytes > uploads.largest { Err(uploads.too_large()) } else { Ok(()) }
    }
}

impl Shelf {
    /// A new shelf. What servers left behind that live no more is gone.
    fn new(shelves: &Path) -> io::Result<Shelf> {
        match private_folder(shelves) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // One server at a time clears up and makes its own.
        let door = File::create(shelves.join("door.lock"))?;
        door.lock()?;
        clear_up(shelves)?;
        let name = random_digits::<16>().map_err(|problem| io::Error::other(problem.detail))?;
        let (folder, lock) = (shelves.join(&name), shelves.join(format!("{name}.lock")));
        let held = File::create_new(&lock)?;
        held.lock()?;
        private_folder(&folder)?;
        Ok(Shelf { folder, lock, _held: held, files: Mutex::default() })
    }

    /// Removes a file whose time is over; one that is being read is removed by its reader.
    fn forget(&self, name: &str) {
        let mut files = self.files();
        if files.get(name).is_some_and(Option::is_some) {
            files.remove(name);
        }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<String, Option<Stored>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        // What cannot be removed is removed when a server starts again.
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_file(&self.lock);
    }
}

/// Removes what belongs to no server that lives. Whoever does this is at the door alone.
fn clear_up(shelves: &Path) -> io::Result<()> {
    let entries: Vec<PathBuf> =
        std::fs::read_dir(shelves)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let is_lock = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "lock");
    let mut living = HashSet::from([shelves.join("door.lock")]);
    for lock in entries.iter().filter(is_lock).filter(|lock| !lock.ends_with("door.lock")) {
        match File::open(lock)?.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => living.extend([lock.clone(), lock.with_extension("")]),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    for path in entries.iter().filter(|path| !living.contains(*path)) {
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

/// A file that is being registered.
pub(crate) struct InUse {
    shelf: Arc<Shelf>,
    name: String,
    /// Nothing once it is registered.
    stored: Option<Stored>,
}

impl InUse {
    pub(crate) fn path(&self) -> PathBuf {
        self.stored.as_ref().map_or_else(PathBuf::new, |stored| stored.file.to_path_buf())
    }

    /// What its owner knows it by.
    pub(crate) fn shown(&self) -> PathBuf {
        format!("the upload {}", self.name).into()
    }

    /// It is registered, and not needed any more.
    pub(crate) fn registered(mut self) {
        self.stored = None;
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut files = self.shelf.files();
        match self.stored.take().filter(|stored| stored.arrived.elapsed() < KEPT) {
            Some(stored) => files.insert(std::mem::take(&mut self.name), Some(stored)),
            None => files.remove(&self.name),
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
    fn servers_on_one_gate_leave_each_others_files_alone_and_clear_up_after_the_dead() {
        let gate = tempfile::tempdir().unwrap();
        let shelves = gate.path().join("uploads");
        let one = Uploads::new(gate.path().to_path_buf(), 100).unwrap();
        std::fs::write(one.shelf.folder.join("a"), "rows").unwrap();
        // What a server leaves behind that was killed: its folder, and a lock that nobody holds; and what older versions left.
        std::fs::create_dir(shelves.join("dead")).unwrap();
        std::fs::write(shelves.join("dead").join("b"), "rows").unwrap();
        std::fs::write(shelves.join("dead.lock"), "").unwrap();
        std::fs::write(shelves.join("old"), "rows").unwrap();
        let other = Uploads::new(gate.path().to_path_buf(), 100).unwrap();
        assert_eq!(std::fs::read_to_string(one.shelf.folder.join("a")).unwrap(), "rows");
        assert_eq!(names(&shelves).len(), 5, "{:?}", names(&shelves));
        drop(one);
        assert_eq!(names(&shelves).len(), 3, "{:?}", names(&shelves));
        drop(other);
        assert_eq!(names(&shelves), ["door.lock"]);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let gate = tempfile::tempdir().unwrap();
        std::fs::write(gate.path().join("uploads"), "a file").unwrap();
        let problem = Uploads::new(gate.path().to_path_buf(), 100).err().unwrap();
        assert!(problem.detail.contains("uploads: "), "{}", problem.detail);
    }
}
