//! A copy of what a restore needs: the journal, the gate's folder and the tokens. Others may charge and ask while it is made.
//!
//! The gate's folder is copied before the journal. A question that is asked in between is then in the journal and has no answer in the
//! copy: *charged, no answer*. The other way round, the copy could have an answer that was never charged. The witness is left out on
//! purpose: put back together with the ledger, it would not notice an old copy.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};
use serde::{Deserialize, Serialize};
use taximeter_gate::Catalog;
use taximeter_ledger::files::{beside, make_private_folder, private, sync_folder};
use taximeter_ledger::{ImportedJournal, LedgerId, LedgerReader, Location, Options, Position, import};

use crate::{Code, Problem, TokenPlace, Tokens};

const DESCRIPTION: &str = "backup.json";
const JOURNAL: &str = "journal.jsonl";
const GATE: &str = "gate";
const TOKENS: &str = "tokens.db";

/// What a backup holds, as `backup.json` in its folder. It is written last: a folder without it is incomplete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupDocument {
    /// The ledger's identity.
    pub ledger: LedgerId,
    /// The newest record in it.
    pub newest: Position,
    /// When it was made.
    pub time: Timestamp,
    /// All other files of the folder.
    pub files: Vec<BackedUpFile>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackedUpFile {
    /// Its path below the backup's folder.
    pub name: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The BLAKE3 hash of its content.
    pub blake3: String,
}

/// A ledger on this machine, its witness and its gate.
pub struct BackupPlace {
    /// Where the ledger is.
    pub location: Location,
    /// The witness, if it is not at its usual place.
    pub witness: Option<PathBuf>,
    /// The folder of the gate.
    pub data: PathBuf,
}

/// Makes a backup in a new folder. `progress` receives the share of the journal that is done. If it fails, it leaves nothing behind.
pub fn create(folder: &Path, place: &BackupPlace, progress: &dyn Fn(f64)) -> Result<BackupDocument, Problem> {
    if folder.exists() {
        return Err(Problem::bad_request(format!("{} is there already; name a new folder", folder.display())));
    }
    make_private_folder(folder).map_err(|error| cannot("made", folder, &error))?;
    let made = fill(folder, place, progress);
    if made.is_err() {
        // Only the first error is reported. A leftover folder has no description, so it does not count as a backup.
        let _ = fs::remove_dir_all(folder);
    }
    made
}

fn fill(folder: &Path, place: &BackupPlace, progress: &dyn Fn(f64)) -> Result<BackupDocument, Problem> {
    let open = || LedgerReader::open(&place.location, place.witness.as_deref());
    let mut names = Vec::new();
    if Catalog::exists(&place.data) {
        let copied = Catalog::open(&place.data, open()?.id())?.back_up(&folder.join(GATE))?;
        names.extend(copied.into_iter().map(|name| Path::new(GATE).join(name)));
    }
    if let TokenPlace::File(path) = TokenPlace::of(&place.location)
        && path.exists()
    {
        copy_database(&path, &folder.join(TOKENS)).map_err(|why| cannot("copied", &path, &why))?;
        names.push(TOKENS.into());
    }
    // Opened after the gate was copied: a reader sees the ledger as it was when it was opened.
    let mut reader = open()?;
    let journal = folder.join(JOURNAL);
    let written = |error: io::Error| cannot("written", &journal, &error);
    let mut out = BufWriter::new(private().create_new(true).open(&journal).map_err(written)?);
    let newest = reader.export(&mut out, &mut |done, of| progress(done as f64 / of.max(1) as f64))?;
    out.into_inner().map_err(|error| written(error.into_error()))?.sync_all().map_err(written)?;
    names.push(JOURNAL.into());

    names.iter().try_for_each(|name| sync_name(&folder.join(name)))?;
    let files = names.into_iter().map(|name| describe(folder, name)).collect::<Result<_, _>>()?;
    let document = BackupDocument { ledger: reader.id(), newest, time: Timestamp::now(), files };
    write_description(folder, &document)?;
    Ok(document)
}

fn write_description(folder: &Path, document: &BackupDocument) -> Result<(), Problem> {
    let path = folder.join(DESCRIPTION);
    let failed = |error: io::Error| cannot("written", &path, &error);
    let text = serde_json::to_string_pretty(document).map_err(|error| failed(error.into()))?;
    let mut file = private().create_new(true).open(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    sync_name(&path)?;
    sync_name(folder)
}

/// Returns when the name of a new file or folder is on disk.
fn sync_name(path: &Path) -> Result<(), Problem> {
    sync_folder(path).map_err(|error| cannot("synced", path, &error))
}

/// Checks a backup as a restore would: every file's hash, and every record of the journal, which is imported into a temporary ledger.
pub fn check(folder: &Path, progress: &dyn Fn(f64)) -> Result<BackupDocument, Problem> {
    let document = read(folder)?;
    let temporary = tempfile::tempdir().map_err(|error| cannot("made", &std::env::temp_dir(), &error))?;
    let location = Location::File(temporary.path().join("ledger.db"));
    import_journal(folder, &document, &location, Some(temporary.path().join("witness")), progress)?;
    Ok(document)
}

/// A ledger that was made from a backup.
pub struct RestoredLedger {
    /// Its journal.
    pub journal: ImportedJournal,
    /// How many of its tokens were valid in the backup.
    pub tokens: usize,
}

/// Makes a ledger, its gate and its tokens from a backup that was read. The target must be empty. If it fails, it leaves nothing behind. An
/// existing witness that remembers more than the backup has is an error. Without a witness, a new one is made, and charges missing from the
/// backup go unnoticed: the caller decides whether to accept that. All tokens are revoked, unless they are to be kept: the backup does not
/// know which of them were revoked after it.
pub fn restore(
    folder: &Path,
    document: &BackupDocument,
    place: &BackupPlace,
    keeps_tokens: bool,
    progress: &dyn Fn(f64),
) -> Result<RestoredLedger, Problem> {
    let (gate, tokens) = (gate_copies(folder, document, place), tokens_copy(folder, document, place));
    refuse_existing(gate.iter().chain(&tokens).map(|(_, to)| to.as_path()), place)?;
    let mut made = Vec::new();
    let restored = copy_all(&gate, &mut made).and_then(|()| {
        // Before there is a ledger whose server could accept them.
        let tokens = match tokens {
            Some((from, to)) => {
                let valid = restore_tokens(&from, &to, document.ledger, keeps_tokens)?;
                made.push(to);
                valid
            }
            None => 0,
        };
        let journal = import_journal(folder, document, &place.location, place.witness.clone(), progress)?;
        Ok(RestoredLedger { journal, tokens })
    });
    if restored.is_err() {
        for path in made {
            let _ = fs::remove_file(path);
        }
    }
    restored
}

/// What may lie beside a file of SQLite. Left over from another file, it would be taken for a part of the restored one, or removed.
const SIDES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A backup replaces nothing that is there, and takes nothing over. A ledger that is there is left to the import.
fn refuse_existing<'a>(targets: impl Iterator<Item = &'a Path>, place: &BackupPlace) -> Result<(), Problem> {
    let sides = |path: &Path| SIDES.map(|side| beside(path, side));
    let mut there: Vec<PathBuf> =
        targets.flat_map(|path| sides(path).into_iter().chain([path.to_path_buf(), beside(path, ".lock")])).collect();
    match &place.location {
        Location::File(path) if !path.exists() => there.extend(sides(path)),
        Location::File(_) | Location::Postgres(_) => {}
    }
    there.retain(|path| path.exists());
    match there.first() {
        None => Ok(()),
        Some(there) => Err(Problem::bad_request(format!(
            "{} is there already, and a backup replaces nothing; move it away, or restore elsewhere",
            there.display()
        ))),
    }
}

/// The files of the gate, and where each is copied to.
fn gate_copies(folder: &Path, document: &BackupDocument, place: &BackupPlace) -> Vec<(PathBuf, PathBuf)> {
    let below = |file: &BackedUpFile| file.name.strip_prefix(GATE).ok().map(Path::to_path_buf);
    let copy = |file: &BackedUpFile| Some((folder.join(&file.name), place.data.join(below(file)?)));
    document.files.iter().filter_map(copy).collect()
}

/// The file of the tokens, and where it is restored; nothing if they are not in the backup, or are in a database.
fn tokens_copy(folder: &Path, document: &BackupDocument, place: &BackupPlace) -> Option<(PathBuf, PathBuf)> {
    let TokenPlace::File(to) = TokenPlace::of(&place.location) else { return None };
    document.files.iter().any(|file| file.name == Path::new(TOKENS)).then(|| (folder.join(TOKENS), to))
}

/// Restores the tokens, revoked or kept. Returns how many were valid. They get the name that a server looks for when that is done: a crash
/// in between leaves none that is valid.
fn restore_tokens(from: &Path, to: &Path, ledger: LedgerId, keeps_tokens: bool) -> Result<usize, Problem> {
    let failed = |error: io::Error| cannot("restored", to, &error);
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_private_folder(folder).map_err(failed)?;
    let apart = tempfile::tempdir_in(folder).map_err(failed)?;
    let copy = apart.path().join(TOKENS);
    copy_file(from, &copy).map_err(failed)?;
    let tokens = Tokens::open(&TokenPlace::File(copy.clone()), ledger)?;
    let valid = if keeps_tokens { tokens.count_valid() } else { tokens.revoke_all()? };
    // SQLite brings everything into one file when it closes it.
    drop(tokens);
    match beside(&copy, "-wal").exists() {
        true => Err(failed(io::Error::other("SQLite cannot complete the file"))),
        false => fs::rename(&copy, to).and_then(|()| sync_folder(to)).map(|()| valid).map_err(failed),
    }
}

fn copy_all(copies: &[(PathBuf, PathBuf)], made: &mut Vec<PathBuf>) -> Result<(), Problem> {
    for (from, to) in copies {
        let failed = |error: io::Error| cannot("restored", to, &error);
        if let Some(folder) = to.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            make_private_folder(folder).map_err(failed)?;
        }
        made.push(to.clone());
        copy_file(from, to).map_err(failed)?;
    }
    Ok(())
}

/// Copies a file, to where there is none.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut file = private().create_new(true).open(to)?;
    io::copy(&mut File::open(from)?, &mut file)?;
    file.sync_all().and_then(|()| sync_folder(to))
}

fn import_journal(
    folder: &Path,
    document: &BackupDocument,
    location: &Location,
    witness: Option<PathBuf>,
    progress: &dyn Fn(f64),
) -> Result<ImportedJournal, Problem> {
    let options = Options { witness, create: true, ..Options::default() };
    let path = folder.join(JOURNAL);
    let mut journal = BufReader::new(File::open(&path).map_err(|error| cannot("read", &path, &error))?);
    let records = document.newest.sequence + 1;
    Ok(import(location, &options, &mut journal, &mut |done| progress(done as f64 / records as f64))?)
}

/// Reads the description of a backup, and compares every file with it.
pub fn read(folder: &Path) -> Result<BackupDocument, Problem> {
    let path = folder.join(DESCRIPTION);
    let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Problem::bad_request(format!("{} is not a complete backup: it has no {DESCRIPTION}", folder.display()))
        }
        _ => cannot("read", &path, &error),
    })?;
    let damaged = |why: String| Problem::new(Code::Integrity, format!("the backup {}: {why}", folder.display()));
    let document: BackupDocument =
        serde_json::from_str(&text).map_err(|error| damaged(format!("{DESCRIPTION} cannot be read: {error}")))?;
    for expected in &document.files {
        if !expected.name.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(damaged(format!("{:?} is not the name of a file in it", expected.name)));
        }
        if describe(folder, expected.name.clone())? != *expected {
            return Err(damaged(format!(
                "integrity check failed: {} was changed; use another backup",
                expected.name.display()
            )));
        }
    }
    match document.files.iter().any(|file| file.name == Path::new(JOURNAL)) {
        true => Ok(document),
        false => Err(damaged(format!("{DESCRIPTION} does not name {JOURNAL}"))),
    }
}

fn describe(folder: &Path, name: PathBuf) -> Result<BackedUpFile, Problem> {
    let path = folder.join(&name);
    let mut hasher = blake3::Hasher::new();
    let read = File::open(&path).and_then(|file| io::copy(&mut BufReader::new(file), &mut hasher));
    let bytes = read.map_err(|error| cannot("read", &path, &error))?;
    Ok(BackedUpFile { name, bytes, blake3: hasher.finalize().to_hex().to_string() })
}

/// Copies a file of SQLite that others may write to meanwhile.
fn copy_database(from: &Path, to: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let to = to.to_str().ok_or("the path is not text; choose another folder")?;
    Connection::open_with_flags(from, OpenFlags::SQLITE_OPEN_READ_ONLY)?.execute("VACUUM INTO ?1", [to])?;
    Ok(File::open(to)?.sync_all()?)
}

fn cannot(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Problem {
    Problem::new(Code::Storage, format!("{} cannot be {what}: {error}", path.display()))
}
