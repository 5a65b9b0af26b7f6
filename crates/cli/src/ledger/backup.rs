//! `taximeter backup`: a copy of the ledger, the gate's data and the tokens, and a ledger made from one.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use taximeter_ledger::{ImportedJournal, LedgerId, Position, witness_path};
use taximeter_service::backup::{self, BackupDocument, RestoredLedger};

use crate::gate::GateArgs;
use crate::key_values::KeyValues;
use crate::ledger::show::number;
use crate::output::{Failure, print, tell, usage};
use crate::progress::Progress;

/// Back up the ledger, the data and the tokens; check or restore a backup
#[derive(Subcommand)]
pub enum BackupCommand {
    Create(NewBackupArgs),
    Check(CheckedBackupArgs),
    Restore(RestoreBackupArgs),
}

/// Copy the journal, the gate's folder and the tokens into a new folder, while others charge and ask
///
/// The copy is consistent: of a question that is asked meanwhile, it has the charge and the answer, or only the charge. It does not contain
/// the witness, which must not be restored together with the ledger; data that stay elsewhere (PostgreSQL tables, Parquet files, servers);
/// or the tokens of a ledger in PostgreSQL, which are in that database's own backup.
#[derive(Args)]
#[command(after_help = "Example: taximeter backup create /mnt/backups/monday")]
pub struct NewBackupArgs {
    /// The folder to make
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    gate: GateArgs,
}

/// Check a backup: every file's hash, and every record of the journal
///
/// The journal is imported into a temporary ledger, as a restore would do it.
#[derive(Args)]
#[command(after_help = "Example: taximeter backup check /mnt/backups/monday")]
pub struct CheckedBackupArgs {
    /// The folder of the backup
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Make a ledger, its data and its tokens from a backup, where there are none
///
/// Charges after the backup are not in it. If a witness remembers them, the restore is refused, so that their budget is not spent twice.
/// Then import the journal with another witness, and restore the missing records:
///
/// taximeter import FOLDER/journal.jsonl --ledger restored.db --witness unused.witness
///
/// taximeter ledger restore --receipts receipts.jsonl --ledger restored.db --witness the-old.witness
///
/// The tokens are revoked, because one that was revoked after the backup would be valid again: create new ones, or use --keep-tokens.
#[derive(Args)]
#[command(
    after_help = "Example: taximeter backup restore /mnt/backups/monday --ledger taximeter.db --witness /mnt/other/witness"
)]
pub struct RestoreBackupArgs {
    /// The folder of the backup
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Make a new witness because the old one is lost: only if nothing was charged after the backup
    #[arg(long)]
    new_witness: bool,
    /// Keep the backup's tokens valid: only if none was revoked after the backup
    #[arg(long)]
    keep_tokens: bool,
    #[command(flatten)]
    gate: GateArgs,
}

impl BackupCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            BackupCommand::Create(NewBackupArgs { folder, gate }) => {
                // Only the machine of the ledger has all of it.
                gate.ledger.location()?;
                let place = gate.local()?.backup_place();
                let made = backup::create(folder, &place, &Progress::new("copying the journal").shares())?;
                print(gate.ledger.json, &made, || text("backed up", &made))
            }
            BackupCommand::Check(CheckedBackupArgs { folder, json }) => {
                let checked = backup::check(folder, &Progress::new("checking the journal").shares())?;
                print(*json, &checked, || text("whole", &checked))
            }
            BackupCommand::Restore(args) => args.run(),
        }
    }
}

fn text(what: &str, backup: &BackupDocument) -> String {
    let bytes: u64 = backup.files.iter().map(|file| file.bytes).sum();
    let mut lines = KeyValues::default();
    lines.add("ledger", backup.ledger);
    lines.add("newest", format!("record {}, hash {}", backup.newest.sequence, backup.newest.hash));
    lines.add("made", backup.time);
    let [files, bytes] = [number(backup.files.len() as u64, "file", "files"), number(bytes, "byte", "bytes")];
    format!("{what}: {files}, {bytes}\n\n{lines}")
}

#[derive(Serialize)]
struct RestoredBackup {
    ledger: LedgerId,
    records: u64,
    newest: Position,
    witness: String,
    /// How many tokens were valid in the backup, and are revoked.
    revoked_tokens: usize,
    /// How many are valid again.
    kept_tokens: usize,
}

impl RestoreBackupArgs {
    fn run(&self) -> Result<ExitCode, Failure> {
        self.gate.ledger.location()?;
        let place = self.gate.local()?.backup_place();
        let document = backup::read(&self.folder)?;
        let witness = witness_path(&place.location, place.witness.as_deref(), document.ledger)?;
        if !witness.exists() && !self.new_witness {
            return Err(usage(format!(
                "there is no witness {}, so charges after the backup cannot be detected, and their budget could be spent twice; name the \
                 ledger's witness with --witness, or, only if nothing was charged after the backup, add --new-witness",
                witness.display()
            )));
        }
        let progress = Progress::new("restoring").shares();
        let restored = backup::restore(&self.folder, &document, &place, self.keep_tokens, &progress)?;
        let RestoredLedger { journal: ImportedJournal { ledger, head: newest, witness, .. }, tokens } = restored;
        let (records, witness) = (newest.sequence + 1, witness.display().to_string());
        let (revoked_tokens, kept_tokens) = if self.keep_tokens { (0, tokens) } else { (tokens, 0) };
        let restored = RestoredBackup { ledger, records, newest, witness, revoked_tokens, kept_tokens };
        let done = print(self.gate.ledger.json, &restored, || {
            format!(
                "restored {} of the ledger {ledger}; its witness is {}",
                number(records, "record", "records"),
                restored.witness
            )
        })?;
        if !self.gate.ledger.json {
            tell(
                "This is the same ledger, not a new one: do not use the old one any more, or its budgets are spent twice.",
            );
            if tokens > 0 {
                tell(&self.about_tokens(tokens));
            }
        }
        Ok(done)
    }

    /// What became of the tokens.
    fn about_tokens(&self, tokens: usize) -> String {
        let tokens = number(tokens as u64, "token", "tokens");
        match self.keep_tokens {
            true => format!(
                "{tokens} of the backup can be used again, including any that were revoked after it: look with `token list`, and \
                 revoke them with `token revoke ID`."
            ),
            false => format!(
                "{tokens} of the backup can no longer be used, because the backup does not say which were revoked after it: create new \
                 ones with `token create`."
            ),
        }
    }
}
