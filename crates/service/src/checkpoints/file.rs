//! The file that stores a ledger's checkpoints.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use taximeter_ledger::files::{lock_within, private, sync_folder};
use taximeter_ledger::{Error, LedgerId, Location, witness_path};
use taximeter_transparency::{PublicKey, SignedCheckpoint, TrustedKey};

use crate::{Code, Problem};

/// The stored checkpoints of a ledger, oldest first, one line of JSON each.
#[derive(Clone, Debug)]
pub struct CheckpointFile {
    path: PathBuf,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptCheckpoint {
    /// The public keys that signed it.
    signers: Vec<String>,
    checkpoint: String,
}

/// How long to wait while another process holds the lock of the file.
const LOCK: Duration = Duration::from_secs(5);

impl CheckpointFile {
    /// The file of a ledger: next to the witness's default location, under another name.
    pub fn of(location: &Location, ledger: LedgerId) -> Result<CheckpointFile, Error> {
        Ok(CheckpointFile { path: witness_path(location, None, ledger)?.with_extension("checkpoints") })
    }

    /// Adds a checkpoint that these keys signed, and returns when it is on disk.
    pub fn keep(&self, signed: &SignedCheckpoint, signers: &[PublicKey]) -> Result<(), Problem> {
        self.try_keep(signed, signers).map_err(|error| self.problem(&error))
    }

    fn try_keep(&self, signed: &SignedCheckpoint, signers: &[PublicKey]) -> std::io::Result<()> {
        let mut file = private().read(true).create(true).truncate(false).open(&self.path)?;
        if !lock_within(&file, LOCK, Duration::from_millis(5))? {
            return Err(std::io::Error::other("another program holds its lock"));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // A line cut off by a crash does not count.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        let signers = signers.iter().map(ToString::to_string).collect();
        let line = serde_json::to_string(&KeptCheckpoint { signers, checkpoint: signed.to_string() })?;
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_all()?;
        // The first one makes the file, whose name must be on disk, too.
        if end == 0 { sync_folder(&self.path) } else { Ok(()) }
    }

    /// All checkpoints, each with one signature by the given keys.
    pub fn read(&self) -> Result<Vec<SignedCheckpoint>, Problem> {
        let mut text = String::new();
        match File::open(&self.path).and_then(|mut file| file.read_to_string(&mut text)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(|error| self.problem(&error))?,
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let broken = |at: usize, why: &dyn std::fmt::Display| {
            let place = self.path.display();
            Problem::new(Code::Integrity, format!("line {} of the checkpoints in {place}: {why}", at + 1))
        };
        let read = |(at, line): (usize, &str)| {
            let kept: KeptCheckpoint = serde_json::from_str(line).map_err(|error| broken(at, &error))?;
            let signed = SignedCheckpoint::parse(&kept.checkpoint).map_err(|error| broken(at, &error))?;
            let signers = kept.signers.iter().map(|key| TrustedKey::parse(key)).collect::<Result<Vec<_>, _>>();
            signers.and_then(|signers| signed.check_signer(&signers)).map_err(|error| broken(at, &error))?;
            Ok(signed)
        };
        whole.lines().enumerate().map(read).collect()
    }

    fn problem(&self, error: &std::io::Error) -> Problem {
        Problem::new(Code::Storage, format!("the checkpoints in {}: {error}", self.path.display()))
    }
}
