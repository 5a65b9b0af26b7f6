//! The ledger and the gate on this machine. A user at the machine sees everything.

mod accounts;
mod datasets;
mod tokens;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taximeter_gate::{Catalog, Gate, folder_beside};
use taximeter_ledger::{Ledger, LedgerReader, Location, Options, Signing};
use taximeter_service::DAMAGED_WITNESS;
use taximeter_service::backup::BackupPlace;

use crate::output::{Failure, tell};

/// A ledger, and the gate that it pays for.
pub struct Local {
    location: Location,
    witness: Option<PathBuf>,
    /// The folder of the gate, if it was said.
    data: Option<PathBuf>,
    /// Opened for the first question, and kept for the next ones.
    gate: OnceCell<Gate>,
    /// Who signs checkpoints, and which witnesses on other machines cosign what is written.
    signing: Option<Arc<Signing>>,
}

impl Local {
    /// A ledger with its witness, and the folder of the gate, if those were said.
    pub fn new(location: Location, witness: Option<PathBuf>, data: Option<PathBuf>) -> Local {
        Local { location, witness, data, gate: OnceCell::new(), signing: None }
    }

    /// The same ledger, with those who sign and cosign what is written.
    pub fn signed_by(self, signing: Option<Arc<Signing>>) -> Local {
        Local { signing: signing.or(self.signing), ..self }
    }

    /// Opens the ledger to read it; another process may write to it meanwhile.
    pub fn read(&self) -> Result<LedgerReader, Failure> {
        let reader = LedgerReader::open(&self.location, self.witness.as_deref())?;
        warn_of_damage(reader.is_witness_whole(), reader.witness().0);
        Ok(reader)
    }

    /// Opens the ledger to write to it, and makes it where there is none, if so wished.
    fn write(&self, create: bool) -> Result<Ledger, taximeter_ledger::Error> {
        self.write_with(create, self.signing.clone())
    }

    fn write_with(&self, create: bool, signing: Option<Arc<Signing>>) -> Result<Ledger, taximeter_ledger::Error> {
        // A server keeps all cores busy, and no other command charges much at once.
        let options = Options { witness: self.witness.clone(), create, overlap: false, signing, ..Options::default() };
        let ledger = Ledger::open(&self.location, options)?;
        warn_of_damage(ledger.was_witness_whole(), ledger.witness());
        Ok(ledger)
    }

    /// Tells where a new ledger and its witness are.
    fn tell_about_new(&self, ledger: &Ledger) {
        tell(&format!("made the ledger {} with the witness {}", self.location, ledger.witness().display()));
        tell(match self.witness {
            None => {
                "  The witness remembers the newest record, so that a restored old copy is detected. Keep it on another disk\n  \
                 (--witness PATH, or TAXIMETER_WITNESS): if both are restored together, nothing is detected.\n"
            }
            Some(_) => "  Name this witness with every command (--witness, or TAXIMETER_WITNESS).\n",
        });
    }

    /// What a backup copies, or puts back.
    pub fn backup_place(&self) -> BackupPlace {
        BackupPlace { location: self.location.clone(), witness: self.witness.clone(), data: self.folder() }
    }

    /// The folder of the gate.
    fn folder(&self) -> PathBuf {
        match (self.data.clone(), &self.location) {
            (Some(folder), _) => folder,
            (None, Location::File(path)) => folder_beside(path),
            (None, Location::Postgres(_)) => PathBuf::from("taximeter.gate"),
        }
    }

    /// The folder of the gate, if there is something in it.
    fn existing_folder(&self) -> Result<PathBuf, Failure> {
        let folder = self.folder();
        match Catalog::exists(&folder) {
            true => Ok(folder),
            false => Err(Failure::Usage(format!(
                "there are no datasets in {} yet; `dataset add` makes one, or name another folder with --data",
                folder.display()
            ))),
        }
    }

    /// The gate's records, to read them; another process may ask questions meanwhile.
    fn look(&self) -> Result<(Catalog, LedgerReader), Failure> {
        let reader = self.read()?;
        Ok((Catalog::open(&self.existing_folder()?, reader.id())?, reader))
    }

    /// The gate, to ask. Where there is none, none is made: a wrong folder is a mistake.
    fn gate(&self) -> Result<&Gate, Failure> {
        if let Some(gate) = self.gate.get() {
            return Ok(gate);
        }
        let ledger = self.write(false)?;
        let gate = Gate::open(&self.existing_folder()?, ledger)?;
        Ok(self.gate.get_or_init(|| gate))
    }

    /// Opens the gate to register data, and makes the ledger where there is none, if so wished.
    pub fn open_or_make(&self, create: bool) -> Result<Gate, Failure> {
        let ledger = self.write(create)?;
        if ledger.position().sequence == 0 {
            self.tell_about_new(&ledger);
        }
        Ok(Gate::open(&self.folder(), ledger)?)
    }
}

/// Warns of a witness of which one place cannot be read.
fn warn_of_damage(is_whole: bool, witness: &Path) {
    if !is_whole {
        tell(&format!("warning: {DAMAGED_WITNESS}: {}", witness.display()));
    }
}
