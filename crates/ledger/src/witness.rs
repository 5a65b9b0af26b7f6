//! The witness: a small file that remembers how far the ledger got.
//!
//! A backup of the ledger that is put back would hand out again what was spent since. The witness knows better, if it was not put
//! back with it: keep it on another disk. It is written and synced after a commit and before the charge is acknowledged, so a
//! ledger is never behind its witness unless it was set back.
//!
//! The file has two places of 4096 bytes, used in turn, each with one line of text. A line that a crash tore has the wrong check,
//! and the other place still has the one before.

use std::cmp::Ordering;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::hash::Hash;
use crate::journal::{LedgerId, Position};
use crate::store::beside;

/// What a witness knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Testimony {
    pub(crate) ledger: LedgerId,
    pub(crate) position: Position,
}

/// A witness file that is open for writing.
pub(crate) struct Witness {
    path: PathBuf,
    file: File,
    sharing: Sharing,
}

/// Who else writes to the ledger, and so to the witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Nobody: a witness that knows more is that of another copy which goes on.
    Alone,
    /// Other processes: they may have got further.
    Shared,
}

/// Bytes from one place to the next. No disk tears a write across both.
const PLACE: usize = 4096;

const MARK: &str = "taximeter-witness-1";

impl Witness {
    /// Makes a witness where there is none. If another process was faster, its witness is taken.
    pub(crate) fn create(path: &Path, testimony: Testimony, sharing: Sharing) -> Result<Witness, Error> {
        let failed = |error: io::Error| failed(path, &error);
        let new = beside(path, &format!(".new-{}", std::process::id()));
        let mut file = File::create(&new).map_err(failed)?;
        let mut bytes = place(&testimony);
        bytes.resize(2 * PLACE, b' ');
        file.write_all(&bytes).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        // A link, not a new name: it does not take the place of a file that somebody holds open.
        let linked = std::fs::hard_link(&new, path);
        std::fs::remove_file(&new).map_err(failed)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => sync_folder(path).map_err(failed)?,
        }
        let mut witness = Witness::open(path, sharing)?;
        witness.advance(testimony)?;
        Ok(witness)
    }

    /// Opens a witness that is there.
    pub(crate) fn open(path: &Path, sharing: Sharing) -> Result<Witness, Error> {
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|error| failed(path, &error))?;
        Ok(Witness { path: path.to_path_buf(), file, sharing })
    }

    /// Makes a witness say something else, whatever it said: for a ledger that was restored.
    pub(crate) fn overwrite(path: &Path, testimony: Testimony) -> Result<(), Error> {
        if !path.exists() {
            return Witness::create(path, testimony, Sharing::Alone).map(drop);
        }
        let mut witness = Witness::open(path, Sharing::Alone)?;
        let written = (|| {
            witness.file.lock()?;
            for at in [0, 1] {
                witness.file.seek(SeekFrom::Start((at * PLACE) as u64))?;
                witness.file.write_all(&place(&testimony))?;
                witness.file.sync_all()?;
            }
            witness.file.unlock()
        })();
        written.map_err(|error| failed(path, &error))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What a witness file says; nothing if there is none.
    pub(crate) fn read(path: &Path) -> Result<Option<Testimony>, Error> {
        match File::open(path) {
            Ok(mut file) => {
                let newest = newest(&mut file).map_err(|error| failed(path, &error))?;
                let damaged = || {
                    Error::rollback(format!(
                        "the witness {} is damaged: neither of its two places can be read; if you have a copy of it, put it back, \
                         otherwise see `ledger restore --help`",
                        path.display()
                    ))
                };
                Ok(Some(newest.ok_or_else(damaged)?.1))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(path, &error)),
        }
    }

    /// Remembers a newer position, and returns when that is on disk. Several processes may share a witness: it only ever moves
    /// forward.
    pub(crate) fn advance(&mut self, testimony: Testimony) -> Result<(), Error> {
        self.try_advance(testimony).map_err(|error| failed(&self.path, &error))
    }

    fn try_advance(&mut self, testimony: Testimony) -> io::Result<()> {
        if !is_same_file(&self.file, &self.path)? {
            return Err(invalid("it was replaced by another file while the ledger was open"));
        }
        self.file.lock()?;
        let written = self.write(testimony);
        // Whoever gets the lock next finds what is written on disk, and may rely on it.
        self.file.unlock()?;
        written
    }

    fn write(&mut self, testimony: Testimony) -> io::Result<()> {
        let Some((at, newest)) = newest(&mut self.file)? else {
            return Err(invalid("it was damaged while the ledger was open"));
        };
        if newest.ledger != testimony.ledger {
            return Err(invalid("it is of another ledger"));
        }
        match newest.position.sequence.cmp(&testimony.position.sequence) {
            Ordering::Equal if newest.position.hash != testimony.position.hash => {
                return Err(invalid("it remembers another record in the same place: two copies of the ledger go on"));
            }
            Ordering::Greater if self.sharing == Sharing::Alone => {
                return Err(invalid("it remembers more than this ledger: another copy of it goes on"));
            }
            // It may be what a process wrote that was killed before it could sync.
            Ordering::Equal | Ordering::Greater => return self.file.sync_data(),
            Ordering::Less => {}
        }
        let at = 1 - at;
        self.file.seek(SeekFrom::Start((at * PLACE) as u64))?;
        self.file.write_all(&place(&testimony))?;
        self.file.sync_data()
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
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

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::storage(format!(
        "the witness {}: {error}; its folder must exist and be writable (--witness)",
        path.display()
    ))
}

/// The newest line that can be read, and its place.
fn newest(file: &mut File) -> io::Result<Option<(usize, Testimony)>> {
    let mut bytes = Vec::with_capacity(2 * PLACE);
    file.seek(SeekFrom::Start(0))?;
    file.take(2 * PLACE as u64).read_to_end(&mut bytes)?;
    let places = bytes.chunks(PLACE).enumerate().filter_map(|(at, place)| Some((at, parse(place)?)));
    Ok(places.max_by_key(|(_, testimony)| testimony.position.sequence))
}

/// One line, padded with spaces so that nothing of an older, longer one remains.
fn place(testimony: &Testimony) -> Vec<u8> {
    let Testimony { ledger, position: Position { sequence, hash } } = testimony;
    let text = format!("{MARK} {ledger} {sequence} {hash}");
    let mut bytes = format!("{text} {}\n", Hash::of(text.as_bytes())).into_bytes();
    bytes.resize(bytes.len().next_multiple_of(512), b' ');
    bytes
}

fn parse(place: &[u8]) -> Option<Testimony> {
    let line = std::str::from_utf8(place.split(|byte| *byte == b'\n').next()?).ok()?;
    let (text, check) = line.rsplit_once(' ')?;
    if Hash::parse(check)? != Hash::of(text.as_bytes()) {
        return None;
    }
    let [mark, ledger, sequence, hash] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let position = Position { sequence: sequence.parse().ok()?, hash: Hash::parse(hash)? };
    (mark == MARK).then_some(Testimony { ledger: LedgerId::parse(ledger)?, position })
}

/// A new name in a folder is on disk when the folder is.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Elsewhere folders cannot be synced.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn testimony(sequence: u64) -> Testimony {
        let hash = Hash::of(&sequence.to_le_bytes());
        Testimony { ledger: LedgerId::parse(&"a".repeat(32)).unwrap(), position: Position { sequence, hash } }
    }

    #[test]
    fn it_moves_forward_and_never_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness");
        assert_eq!(Witness::read(&path).unwrap(), None);
        let mut witness = Witness::create(&path, testimony(3), Sharing::Shared).unwrap();
        for (advance, expected) in [(4, 4), (9, 9), (7, 9), (1_000_000, 1_000_000), (10, 1_000_000)] {
            witness.advance(testimony(advance)).unwrap();
            assert_eq!(Witness::read(&path).unwrap(), Some(testimony(expected)));
        }
    }

    #[test]
    fn two_copies_of_a_ledger_cannot_both_go_on_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness");
        let mut one = Witness::create(&path, testimony(3), Sharing::Alone).unwrap();
        let mut other = Witness::open(&path, Sharing::Alone).unwrap();
        one.advance(testimony(5)).unwrap();
        assert!(other.advance(testimony(4)).unwrap_err().to_string().contains("another copy"));
        let fork = Testimony { position: Position { hash: Hash::NONE, ..testimony(5).position }, ..testimony(5) };
        assert!(other.advance(fork).unwrap_err().to_string().contains("same place"));
        let foreign = Testimony { ledger: LedgerId::parse(&"b".repeat(32)).unwrap(), ..testimony(6) };
        assert!(other.advance(foreign).unwrap_err().to_string().contains("another ledger"));
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        Witness::create(&path, testimony(5), Sharing::Alone).unwrap();
        assert!(one.advance(testimony(6)).unwrap_err().to_string().contains("replaced"));
    }

    #[test]
    fn a_torn_line_leaves_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness");
        let mut witness = Witness::create(&path, testimony(3), Sharing::Alone).unwrap();
        witness.advance(testimony(4)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for at in 0..place(&testimony(4)).trim_ascii_end().len() {
            let mut torn = whole.clone();
            torn[PLACE + at] ^= 1;
            std::fs::write(&path, &torn).unwrap();
            assert_eq!(Witness::read(&path).unwrap(), Some(testimony(3)), "byte {at}");
            torn[at] ^= 1;
            std::fs::write(&path, &torn).unwrap();
            assert!(Witness::read(&path).unwrap_err().is_rollback());
        }
    }
}
