//! The witness: a small file that remembers how far the ledger got.
//!
//! A backup of the ledger that is put back would hand out again what was spent since. The witness knows better, if it was not put
//! back with it: keep it on another disk. It is written and synced after a commit and before the charge is acknowledged, so a
//! ledger is never behind its witness unless it was set back.
//!
//! The file has two places of 4096 bytes, used in turn, each with one line of text and its check. A line that a crash tore has the
//! wrong check, and the other place still has the one before. The record of the torn line is in the ledger then, because it was
//! committed first. A ledger that ends at the line before was set back, and the damage is there to hide it.

use std::cmp::Ordering;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::pause;
use crate::error::{Error, ErrorKind};
use crate::files::{PlacedFile, create_synced, folder, make_private_folder};
use crate::hash::Hash;
use crate::journal::{LedgerId, Position};

/// What a witness knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Testimony {
    pub(crate) ledger: LedgerId,
    pub(crate) position: Position,
}

/// What a witness file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) testimony: Testimony,
    /// Whether both places can be read. If not, a newer record may have been in the other one.
    pub(crate) is_whole: bool,
}

/// A witness file that is open for writing.
pub(crate) struct Witness {
    path: PathBuf,
    file: Box<dyn PlacedFile>,
    sharing: Sharing,
}

/// Who else writes to the ledger, and so to the witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// No other process: a witness that knows more is that of another copy which goes on.
    Alone,
    /// Other processes: they may have got further.
    Shared,
}

/// Bytes from one place to the next. No disk tears a write across both.
const PLACE: usize = 4096;

const MARK: &str = "taximeter-witness-1";

/// How long others may hold the lock of the file. They write a line, sync it and let go.
const LOCK: Duration = Duration::from_secs(5);

/// How often a place is read again that cannot be read.
const TRIES: usize = 3;

impl Witness {
    /// Makes a witness where there is none. If another process was faster, its witness is taken.
    pub(crate) fn create(path: &Path, testimony: Testimony, sharing: Sharing) -> Result<Witness, Error> {
        let failed = |error: io::Error| Error::witness(path, error);
        if state_folder().is_some_and(|state| state == folder(path)) {
            make_private_folder(folder(path)).map_err(failed)?;
        }
        let mut bytes = place(&testimony);
        bytes.resize(PLACE, b' ');
        create_file(path, &bytes.repeat(2)).map_err(failed)?;
        let mut witness = Witness::open(path, sharing)?;
        witness.advance(testimony)?;
        Ok(witness)
    }

    /// Opens a witness that is there.
    pub(crate) fn open(path: &Path, sharing: Sharing) -> Result<Witness, Error> {
        let file = open_file(path, OpenOptions::new().read(true).write(true))?;
        Ok(Witness { path: path.to_path_buf(), file, sharing })
    }

    /// Makes a witness say something else, whatever it said: for a ledger that was restored.
    pub(crate) fn overwrite(path: &Path, testimony: Testimony) -> Result<(), Error> {
        if !path.exists() {
            return Witness::create(path, testimony, Sharing::Alone).map(drop);
        }
        let mut witness = Witness::open(path, Sharing::Alone)?;
        let written = witness.locked(|file| {
            for at in [0, 1] {
                file.write_at(at * PLACE, &place(&testimony))?;
                file.sync()?;
            }
            Ok(())
        });
        written.map_err(|error| Error::witness(path, error))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What a witness file says; nothing if there is none.
    pub(crate) fn read(path: &Path) -> Result<Option<Remembered>, Error> {
        if is_missing(path) {
            return Ok(None);
        }
        let failed = |error: io::Error| Error::witness(path, error);
        let mut file = open_file(path, OpenOptions::new().read(true))?;
        let mut bytes = file.read_start(2 * PLACE).map_err(failed)?;
        // A line that another process is just writing is soon whole.
        for _ in 0..TRIES {
            if newest(&bytes).is_some_and(|(_, remembered)| remembered.is_whole) {
                break;
            }
            pause(Duration::from_millis(5));
            bytes = file.read_start(2 * PLACE).map_err(failed)?;
        }
        match newest(&bytes) {
            Some((_, remembered)) => Ok(Some(remembered)),
            None if bytes.chunks(PLACE).any(|place| place.starts_with(MARK.as_bytes())) => {
                Err(ErrorKind::DamagedWitness { witness: path.to_path_buf(), remembered: None }.into())
            }
            None => Err(ErrorKind::NotAWitness(path.to_path_buf()).into()),
        }
    }

    /// Remembers a newer position, and returns when that is on disk. Several processes may share a witness: it only ever moves
    /// forward.
    pub(crate) fn advance(&mut self, testimony: Testimony) -> Result<(), Error> {
        self.try_advance(testimony).map_err(|error| Error::witness(&self.path, error))
    }

    fn try_advance(&mut self, testimony: Testimony) -> io::Result<()> {
        if !self.file.is_at(&self.path)? {
            return Err(invalid("it was replaced by another file while the ledger was open"));
        }
        let sharing = self.sharing;
        self.locked(|file| write(file, sharing, testimony))
    }

    /// Does something while no other process writes to the file.
    fn locked(&mut self, action: impl FnOnce(&mut dyn PlacedFile) -> io::Result<()>) -> io::Result<()> {
        if !self.file.lock_within(LOCK)? {
            let seconds = LOCK.as_secs();
            return Err(io::Error::other(format!(
                "another program has held the lock of the file for {seconds} s; end it"
            )));
        }
        let done = action(&mut *self.file);
        // The next process that gets the lock finds what is written on disk, and may rely on it.
        self.file.unlock()?;
        done
    }
}

fn write(file: &mut dyn PlacedFile, sharing: Sharing, testimony: Testimony) -> io::Result<()> {
    let Some((at, Remembered { testimony: newest, .. })) = newest(&file.read_start(2 * PLACE)?) else {
        return Err(invalid("it was damaged while the ledger was open"));
    };
    if newest.ledger != testimony.ledger {
        return Err(invalid("it belongs to another ledger"));
    }
    match newest.position.sequence.cmp(&testimony.position.sequence) {
        Ordering::Equal if newest.position.hash != testimony.position.hash => {
            return Err(invalid("it remembers another record in the same place: two copies of the ledger are in use"));
        }
        Ordering::Greater if sharing == Sharing::Alone => {
            return Err(invalid("it remembers more than this ledger: another copy of it is in use"));
        }
        // A process may have written it that was killed before its sync, or whose sync failed. After a failed sync the system need not
        // write those bytes in the next one, although it still shows them: they are written again.
        Ordering::Equal | Ordering::Greater => file.write_at(at * PLACE, &place(&newest))?,
        Ordering::Less => file.write_at((1 - at) * PLACE, &place(&testimony))?,
    }
    file.sync()
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn create_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    #[cfg(any(test, feature = "simulation"))]
    if crate::simulation::is_running() {
        return crate::simulation::create_file(path, bytes);
    }
    create_synced(path, bytes)
}

fn open_file(path: &Path, options: &OpenOptions) -> Result<Box<dyn PlacedFile>, Error> {
    #[cfg(any(test, feature = "simulation"))]
    if crate::simulation::is_running() {
        return crate::simulation::open_file(path).map_err(|error| Error::witness(path, error));
    }
    require_file(path)?;
    Ok(Box::new(options.open(path).map_err(|error| Error::witness(path, error))?))
}

fn is_missing(path: &Path) -> bool {
    #[cfg(any(test, feature = "simulation"))]
    if crate::simulation::is_running() {
        return crate::simulation::open_file(path).is_err();
    }
    matches!(std::fs::metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

/// Opening anything other than a file may block.
fn require_file(path: &Path) -> Result<(), Error> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err(Error::witness(path, "it is not a file")),
        Err(error) => Err(Error::witness(path, error)),
    }
}

/// Where the witnesses of ledgers in PostgreSQL are kept, unless it is said; nothing if there is no home folder.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local").join("state")))?;
    Some(state.join("taximeter"))
}

/// The newest line that can be read, and its place.
pub(crate) fn newest(bytes: &[u8]) -> Option<(usize, Remembered)> {
    let read = [0, 1].map(|at| parse(bytes.get(at * PLACE..(at + 1) * PLACE)?));
    let is_whole = read.iter().all(Option::is_some);
    let places = read.into_iter().enumerate().filter_map(|(at, testimony)| Some((at, testimony?)));
    let (at, testimony) = places.max_by_key(|(_, testimony)| testimony.position.sequence)?;
    Some((at, Remembered { testimony, is_whole }))
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
    // A number has one form: without a sign, and without zeros before it.
    let is_plain = position.sequence.to_string() == sequence;
    (mark == MARK && is_plain).then_some(Testimony { ledger: LedgerId::parse(ledger)?, position })
}

/// The number of the newest record that the bytes of a witness file name, and whether both places can be read.
#[cfg(feature = "fuzzing")]
pub fn read_witness(bytes: &[u8]) -> Option<(u64, bool)> {
    newest(bytes).map(|(_, remembered)| (remembered.testimony.position.sequence, remembered.is_whole))
}

/// A line of a witness file as it would be written, if it can be read.
#[cfg(feature = "fuzzing")]
pub fn read_witness_line(line: &[u8]) -> Option<Vec<u8>> {
    parse(line).map(|testimony| place(&testimony))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn testimony(sequence: u64) -> Testimony {
        let hash = Hash::of(&sequence.to_le_bytes());
        Testimony { ledger: LedgerId::parse(&"a".repeat(32)).unwrap(), position: Position { sequence, hash } }
    }

    /// What a whole witness says.
    fn remembered(path: &Path) -> Testimony {
        let Remembered { testimony, is_whole } = Witness::read(path).unwrap().unwrap();
        assert!(is_whole);
        testimony
    }

    #[test]
    fn it_moves_forward_and_never_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness");
        assert_eq!(Witness::read(&path).unwrap(), None);
        let mut witness = Witness::create(&path, testimony(3), Sharing::Shared).unwrap();
        for (advance, expected) in [(4, 4), (9, 9), (7, 9), (1_000_000, 1_000_000), (10, 1_000_000)] {
            witness.advance(testimony(advance)).unwrap();
            assert_eq!(remembered(&path), testimony(expected));
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

    /// `+4` and `004` were read as 4, so that one position had many lines. Found by fuzzing.
    #[test]
    fn a_number_has_one_form() {
        let line = |number: &str| {
            let text = format!("{MARK} {} {number} {}", "a".repeat(32), Hash::of(&4u64.to_le_bytes()));
            format!("{text} {}\n", Hash::of(text.as_bytes()))
        };
        assert_eq!(parse(line("4").as_bytes()), Some(testimony(4)));
        for number in ["+4", "004", "-4", "4.0", "18446744073709551616", ""] {
            assert_eq!(parse(line(number).as_bytes()), None, "{number:?}");
        }
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
            torn[at] ^= 1;
            std::fs::write(&path, &torn).unwrap();
            let damaged = Remembered { testimony: testimony(3), is_whole: false };
            assert_eq!(Witness::read(&path).unwrap(), Some(damaged), "byte {at}");
            torn[PLACE + at] ^= 1;
            std::fs::write(&path, &torn).unwrap();
            assert!(Witness::read(&path).unwrap_err().is_rollback());
        }
    }
}
