//! A witness: what it remembers about ledgers on other machines. It is on disk before the witness cosigns.
//!
//! The file has a place of 4096 bytes for the witness itself, and two for each ledger, used in turn. Each place holds a line with a
//! checksum, so that a truncated or damaged file is noticed. Such a witness does not start: it could cosign what it once refused. It then
//! needs a new key, which must be given to the ledgers and to everyone who checks signatures.
//!
//! After the line comes the checkpoint as the ledger signed it, with a checksum of its own. It is the proof that the ledger once had what
//! the witness says. Without it, as in files of earlier versions, the witness cosigns and refuses as ever; its word alone is then not
//! enough to stop a ledger that other witnesses cosign.

mod client;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use taximeter_ledger::Hash;
use taximeter_ledger::files::{private, sync_folder};
use taximeter_transparency::{
    CosignRefusal, CosignRequest, Cosigned, KeyUse, NodeHash, PublicKey, SecretKey, SignedCheckpoint, TrustedKey,
    decide,
};

pub use self::client::request_sender;
use crate::{Code, Problem};

/// Bytes from one place to the next. A line is shorter than a sector of a disk, which is written as a whole.
const PLACE: usize = 4096;

/// Where in a place the checkpoint begins, after the sector with the line.
const SHOWN: usize = 512;

const MARK: &str = "taximeter-cosigner-1";

/// A witness that cosigns.
pub struct CosigningWitness {
    key: SecretKey,
    signers: Vec<TrustedKey>,
    memory: Mutex<WitnessMemory>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessAnswer {
    /// The status of HTTP.
    pub status: u16,
    /// The type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
    /// Whether a ledger that it knows went back or forked.
    pub is_evidence: bool,
}

impl CosigningWitness {
    /// Makes the file of a new witness, which has cosigned nothing yet. Both the file and its name are on disk when it returns.
    pub fn create(state: &Path, key: &PublicKey) -> Result<(), Problem> {
        let create = || {
            let mut file = private().create_new(true).open(state)?;
            file.write_all(&padded(&header(key, 0)))?;
            file.sync_all()?;
            sync_folder(state)
        };
        create().map_err(|error| problem(state, &error))
    }

    /// Opens a witness with its key and its file, for ledgers with these signers.
    pub fn open(key: SecretKey, state: &Path, signers: Vec<TrustedKey>) -> Result<CosigningWitness, Problem> {
        if key.public().key_use() != KeyUse::Cosign {
            return Err(Problem::bad_request(
                "this key signs checkpoints of a ledger; a witness needs a key of its own",
            ));
        }
        let memory = Mutex::new(WitnessMemory::open(state, key.public())?);
        Ok(CosigningWitness { key, signers, memory })
    }

    /// Answers a request for a cosignature, at a time in seconds since 1970. The answer is on disk before it is returned. After a disk
    /// error the witness must stop.
    pub fn answer(&self, body: &str, time: u64) -> Result<WitnessAnswer, Problem> {
        let plain = WitnessAnswer::plain;
        let request = match CosignRequest::parse(body) {
            Ok(request) => request,
            Err(error) => return Ok(plain(400, format!("{error}\n"))),
        };
        let origin = &request.checkpoint.checkpoint().origin;
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let refusal = match decide(&request, &self.signers, memory.cosigned(origin)) {
            Ok(now) => {
                memory.remember(origin, now, &request.checkpoint.signed_by(&self.signers).to_string())?;
                return Ok(plain(200, request.cosign(&self.key, time).to_string()));
            }
            Err(refusal) => refusal,
        };
        let answer = plain(0, format!("{refusal}\n"));
        Ok(match refusal {
            CosignRefusal::UnknownLedger(_) => WitnessAnswer { status: 404, ..answer },
            CosignRefusal::NotSigned(_) => WitnessAnswer { status: 403, ..answer },
            CosignRefusal::WrongSizes { .. } => WitnessAnswer { status: 400, ..answer },
            CosignRefusal::Inconsistent(_) => WitnessAnswer { status: 422, is_evidence: true, ..answer },
            CosignRefusal::Conflict { cosigned } => WitnessAnswer {
                status: 409,
                content_type: "text/x.tlog.size",
                body: format!("{cosigned}\n"),
                // A ledger that does not know the size asks with 0.
                is_evidence: request.old != 0,
            },
        })
    }

    /// Shows a ledger the newest checkpoint of its own that was cosigned. Who asks shows one, too: what others' ledgers have is not for
    /// everybody.
    pub fn show(&self, note: &str) -> WitnessAnswer {
        let asks = match SignedCheckpoint::parse(note) {
            Ok(asks) => asks,
            Err(error) => return WitnessAnswer::plain(400, format!("{error}\n")),
        };
        let origin = &asks.checkpoint().origin;
        if let Err(error) = asks.check_signer(&self.signers) {
            return WitnessAnswer::plain(403, format!("{error}\n"));
        }
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        match memory.ledgers.iter().find(|ledger| ledger.origin == *origin).map(|ledger| &ledger.shown) {
            Some(shown) if !shown.is_empty() => WitnessAnswer::plain(200, shown.clone()),
            _ => WitnessAnswer::plain(404, "this witness has no checkpoint of the ledger to show\n".to_string()),
        }
    }
}

impl WitnessAnswer {
    fn plain(status: u16, body: String) -> WitnessAnswer {
        WitnessAnswer { status, content_type: "text/plain", body, is_evidence: false }
    }
}

/// What a witness remembers about each ledger.
struct WitnessMemory {
    path: PathBuf,
    file: File,
    key: PublicKey,
    ledgers: Vec<RememberedLedger>,
    /// Whether a write failed, so that the content of the disk is unknown.
    is_broken: bool,
}

struct RememberedLedger {
    origin: String,
    cosigned: Cosigned,
    /// The newest checkpoint that is there to show; empty if none is.
    shown: String,
    /// Which of its two places is current.
    at: usize,
}

impl WitnessMemory {
    fn open(path: &Path, key: &PublicKey) -> Result<WitnessMemory, Problem> {
        let mut file = private().read(true).open(path).map_err(|error| problem(path, &error))?;
        if file.try_lock().is_err() {
            return Err(Problem::new(Code::Busy, format!("another process uses the witness in {}", path.display())));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| problem(path, &error))?;
        let ledgers = read(&bytes, key).map_err(|why| {
            let path = path.display();
            let detail = format!(
                "the witness's state {path} {why}. With it, the witness could cosign what it once refused; create a new key and a new \
                 state file, and tell those who use the witness"
            );
            Problem::new(Code::Integrity, detail)
        })?;
        Ok(WitnessMemory { path: path.to_path_buf(), file, key: key.clone(), ledgers, is_broken: false })
    }

    fn cosigned(&self, origin: &str) -> Option<Cosigned> {
        self.ledgers.iter().find(|ledger| ledger.origin == origin).map(|ledger| ledger.cosigned)
    }

    /// Returns once it is on disk.
    fn remember(&mut self, origin: &str, cosigned: Cosigned, shown: &str) -> Result<(), Problem> {
        let written = match self.is_broken {
            true => Err(io::Error::other("a write to it failed before")),
            false => self.write(origin, cosigned, shown),
        };
        self.is_broken |= written.is_err();
        written.map_err(|error| problem(&self.path, &error))
    }

    fn write(&mut self, origin: &str, cosigned: Cosigned, shown: &str) -> io::Result<()> {
        let (line, shown) = (place(origin, &cosigned), if shown.len() <= LONGEST_SHOWN { shown } else { "" });
        let bytes = with_checkpoint(&line, shown);
        let count = self.ledgers.len();
        if let Some(number) = self.ledgers.iter().position(|ledger| ledger.origin == origin) {
            let ledger = &mut self.ledgers[number];
            let at = 1 - ledger.at;
            write_at(&mut self.file, 1 + 2 * number + at, &bytes)?;
            (ledger.at, ledger.cosigned) = (at, cosigned);
            shown.clone_into(&mut ledger.shown);
            return self.file.sync_data();
        }
        for at in 0..2 {
            write_at(&mut self.file, 1 + 2 * count + at, &bytes)?;
        }
        self.file.sync_all()?;
        // It counts only after the sync.
        write_at(&mut self.file, 0, &padded(&header(&self.key, count + 1)))?;
        self.file.sync_all()?;
        let (origin, shown) = (origin.to_string(), shown.to_string());
        self.ledgers.push(RememberedLedger { origin, cosigned, shown, at: 0 });
        Ok(())
    }
}

fn write_at(file: &mut File, place: usize, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start((place * PLACE) as u64))?;
    file.write_all(bytes)
}

fn header(key: &PublicKey, count: usize) -> String {
    format!("{MARK} {key} {count}")
}

fn place(origin: &str, cosigned: &Cosigned) -> String {
    format!("{origin} {} {}", cosigned.size, cosigned.root)
}

/// A line with its checksum, at the beginning of a place.
fn padded(line: &str) -> Vec<u8> {
    let mut bytes = format!("{line} {}\n", Hash::of(line.as_bytes())).into_bytes();
    bytes.resize(PLACE, b' ');
    bytes
}

/// The longest checkpoint that fits into a place, with its checksum and a newline after each.
const LONGEST_SHOWN: usize = PLACE - SHOWN - 64 - 2;

/// A place with a line and a checkpoint.
fn with_checkpoint(line: &str, shown: &str) -> Vec<u8> {
    let mut bytes = padded(line);
    if !shown.is_empty() {
        let text = format!("{}\n{shown}\n", Hash::of(shown.as_bytes()));
        bytes[SHOWN..SHOWN + text.len()].copy_from_slice(text.as_bytes());
    }
    bytes
}

/// The checkpoint in a place, if there is a whole one.
fn shown(bytes: &[u8], at: usize) -> Option<&str> {
    let place = bytes.get(at * PLACE + SHOWN..(at + 1) * PLACE)?;
    let (check, rest) = std::str::from_utf8(place).ok()?.split_once('\n')?;
    let text = rest.trim_end_matches(' ').strip_suffix('\n')?;
    (Hash::parse(check)? == Hash::of(text.as_bytes())).then_some(text)
}

fn read(bytes: &[u8], key: &PublicKey) -> Result<Vec<RememberedLedger>, &'static str> {
    const DAMAGED: &str = "is damaged, or was cut off";
    let line = |at: usize| {
        let place = bytes.get(at * PLACE..(at + 1) * PLACE)?;
        let line = std::str::from_utf8(place.split(|byte| *byte == b'\n').next()?).ok()?;
        let (text, check) = line.rsplit_once(' ')?;
        (Hash::parse(check)? == Hash::of(text.as_bytes())).then_some(text)
    };
    let head = line(0).and_then(|line| line.strip_prefix(MARK)?.trim_start().split_once(' ')).ok_or(DAMAGED)?;
    if head.0 != key.to_string() {
        return Err("belongs to another key");
    }
    let count: usize = head.1.parse().map_err(|_| DAMAGED)?;
    let parse = |at: usize| {
        let [origin, size, root] = line(at)?.split(' ').collect::<Vec<_>>().try_into().ok()?;
        Some((origin, Cosigned { size: size.parse().ok()?, root: NodeHash::parse(root).ok()? }))
    };
    let ledger = |number: usize| {
        let [one, two] = [0, 1].map(|at| parse(1 + 2 * number + at));
        let ((origin, one), (other, two)) = one.zip(two).ok_or(DAMAGED)?;
        let (at, cosigned) = if two.size > one.size { (1, two) } else { (0, one) };
        let origin = (origin == other).then(|| origin.to_string()).ok_or(DAMAGED)?;
        // A crash in the middle of a write may have left the line alone; the checkpoint before it is a proof, too.
        let shown = [at, 1 - at].into_iter().find_map(|at| shown(bytes, 1 + 2 * number + at)).unwrap_or_default();
        Ok(RememberedLedger { origin, cosigned, shown: shown.to_string(), at })
    };
    (0..count).map(ledger).collect()
}

fn problem(path: &Path, error: &io::Error) -> Problem {
    Problem::new(Code::Storage, format!("the witness's state {}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
