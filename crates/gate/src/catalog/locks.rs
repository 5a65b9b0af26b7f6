//! Files in the gate's folder whose locks say which process is at what. A lock ends with its process, however that ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use taximeter_ledger::files::{lock_within, make_private_folder, private};
use taximeter_ledger::{AccountName, Key};

use super::FILE;
use crate::error::{Error, ErrorKind};

/// How the names of files end that keep other registrations of a dataset out.
const REGISTERING: &str = "registering";

/// How the names of files end that say that a process asks.
const ASKING: &str = "asking";

/// How long another program may hold the lock of the folder. Ours open the records, or make or remove a file, and let go.
const LOCK: Duration = Duration::from_secs(10);

/// Makes the folder and an empty file for the records where there are none, and keeps others from doing the same. What processes left
/// that have ended is removed.
pub(super) fn make_folder(folder: &Path) -> io::Result<File> {
    // Data, answers and the passwords of databases are in it.
    make_private_folder(folder)?;
    let opening = lock_folder(folder)?;
    make_private(&folder.join(FILE))?;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_ours = path.extension().is_some_and(|extension| extension == REGISTERING || extension == ASKING);
        // The file of a process that lives is locked.
        if is_ours && lock_file(&path)?.try_lock().is_ok() {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(opening)
}

/// Keeps all others from opening the records, and from making or removing a file that is locked, until the result is dropped.
fn lock_folder(folder: &Path) -> io::Result<File> {
    let path = folder.join("gate.db.lock");
    let opening = lock_file(&path)?;
    match lock_within(&opening, LOCK, Duration::from_millis(5))? {
        true => Ok(opening),
        false => Err(io::Error::other(format!(
            "another program has held the lock {} for {} s; end it",
            path.display(),
            LOCK.as_secs()
        ))),
    }
}

/// A file to lock, which stays when it is not locked any more. Others cannot open it, and so cannot lock it.
fn lock_file(path: &Path) -> io::Result<File> {
    private().create(true).truncate(false).open(path)
}

/// Makes a file that only its owner may read, unless it is there: the records have the owner's log and passwords in them. What SQLite
/// keeps beside it is as private. One that is there is not opened: closing it would end the locks that SQLite has on it.
fn make_private(path: &Path) -> io::Result<()> {
    match private().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(|_| ()),
    }
}

/// A file of a process, which it has locked. Dropped, it is removed.
struct Locked {
    file: File,
    path: PathBuf,
}

impl Locked {
    /// Makes and locks a file; nothing if another process has it.
    fn new(folder: &Path, name: &str) -> io::Result<Option<Locked>> {
        let path = folder.join(name);
        // The process that removes such files waits for the lock, so no process locks a removed file.
        let _opening = lock_folder(folder)?;
        let file = lock_file(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Locked { file, path })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Locked {
    /// Closing the file does not always end the lock: a process that this one is just starting has a copy of the file until its own
    /// program runs. Then the next registration would be refused although this one was answered.
    fn drop(&mut self) {
        if let Some(Ok(_opening)) = self.path.parent().map(lock_folder) {
            // One that stays is removed when the records are opened the next time.
            let _ = std::fs::remove_file(&self.path);
        }
        // A lock that cannot be given back ends with the last copy of the file.
        let _ = self.file.unlock();
    }
}

/// A registration that is under way.
pub(crate) struct Registering {
    _locked: Locked,
}

impl Registering {
    /// Keeps other registrations of a dataset out.
    pub(super) fn new(folder: &Path, name: &AccountName) -> Result<Registering, Error> {
        // A hash, since a name may be longer than that of a file.
        let hash = blake3::hash(name.as_str().as_bytes()).to_hex();
        let locked = Locked::new(folder, &format!("{}.{REGISTERING}", &hash[..32])).map_err(unusable(folder))?;
        Ok(Registering { _locked: locked.ok_or_else(|| ErrorKind::Busy(name.clone()))? })
    }
}

/// Says that this process asks, until it is dropped: questions that it has under way are not those of a process that has ended.
pub(crate) struct AskingProcess {
    name: String,
    _locked: Locked,
}

impl AskingProcess {
    pub(super) fn new(folder: &Path) -> Result<AskingProcess, Error> {
        let name = Key::generate()?.to_string();
        let locked = Locked::new(folder, &file_name(&name)).map_err(unusable(folder))?;
        let taken = || Error::storage(format!("another process has the name {name}, which was made just now"));
        Ok(AskingProcess { _locked: locked.ok_or_else(taken)?, name })
    }

    /// What tells the process from others.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// Whether a process of that name still asks.
pub(super) fn is_asking(folder: &Path, name: &str) -> Result<bool, Error> {
    let file = match File::open(folder.join(file_name(name))) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(unusable(folder)(error).into()),
    };
    // Shared, so that two that look at the same time do not take each other for the process.
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(unusable(folder)(error).into()),
    }
}

fn file_name(process: &str) -> String {
    format!("{process}.{ASKING}")
}

fn unusable(folder: &Path) -> impl Fn(io::Error) -> ErrorKind {
    let folder = folder.to_path_buf();
    move |error| ErrorKind::Records { folder: folder.clone(), why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use taximeter_ledger::LedgerId;

    use super::super::Catalog;
    use super::*;

    fn open(folder: &Path) -> Catalog {
        Catalog::open(folder, LedgerId::parse("0123456789abcdef0123456789abcdef").unwrap()).unwrap()
    }

    fn people() -> AccountName {
        AccountName::parse("people").unwrap()
    }

    #[test]
    fn a_registration_ends_although_a_process_that_is_being_started_has_a_copy_of_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = open(folder.path());
        let registering = catalog.registering(&people()).unwrap();
        let copy = registering._locked.file.try_clone().unwrap();
        assert!(catalog.registering(&people()).is_err(), "one at a time");
        drop(registering);
        catalog.registering(&people()).unwrap();
        drop(copy);
    }

    fn left(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|end| end == REGISTERING || end == ASKING)).count()
    }

    #[test]
    fn processes_leave_no_files_behind() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = open(folder.path());
        drop(catalog.registering(&people()).unwrap());
        drop(catalog.asking().unwrap());
        assert_eq!(left(folder.path()), 0);
        // Those of a process that was killed, and those of one that lives.
        std::fs::write(folder.path().join("0123.registering"), "").unwrap();
        std::fs::write(folder.path().join("0123.asking"), "").unwrap();
        let under_way = (catalog.registering(&people()).unwrap(), catalog.asking().unwrap());
        open(folder.path());
        assert_eq!(left(folder.path()), 2);
        assert!(catalog.registering(&people()).is_err(), "it is still kept out");
        assert!(is_asking(folder.path(), under_way.1.name()).unwrap());
        drop(under_way);
        assert_eq!(left(folder.path()), 0);
    }

    /// Once it waited for ever.
    #[test]
    fn a_lock_that_another_program_holds_is_waited_for_only_so_long() {
        let folder = tempfile::tempdir().unwrap();
        drop(open(folder.path()));
        let held = lock_folder(folder.path()).unwrap();
        let (done, result) = mpsc::channel();
        let path = folder.path().to_path_buf();
        let ledger = LedgerId::parse("0123456789abcdef0123456789abcdef").unwrap();
        thread::spawn(move || done.send(Catalog::open(&path, ledger).map(drop)));
        let error = result.recv_timeout(6 * LOCK).expect("it should have ended by now").unwrap_err();
        assert!(error.to_string().contains("gate.db.lock for 10 s"), "{error}");
        drop(held);
        open(folder.path());
    }
}
