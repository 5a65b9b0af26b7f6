//! `taximeter checkpoint`: signed statements of how far the journal got, for those who do not trust its owner.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::Value;
use taximeter_service::checkpoints::check_export;
use taximeter_service::{CheckpointDocument, ConsistencyProof};
use taximeter_transparency::{Checkpoint, KeyUse, PublicKey, SecretKey, SignedCheckpoint};

use crate::key_values::KeyValues;
use crate::ledger::LedgerArgs;
use crate::output::{Failure, print, print_json, print_line, usage};
use crate::signing::{SigningArgs, TrustArgs, read_key, write_key};

/// Sign checkpoints of the journal, and check them without the ledger
#[derive(Subcommand)]
pub enum CheckpointCommand {
    /// Make a key to sign with, or show its public key
    #[command(subcommand)]
    Key(SignerKeyCommand),
    Create(NewCheckpointArgs),
    /// Show the newest checkpoint
    #[command(after_help = "Example: taximeter checkpoint show")]
    Show(LedgerArgs),
    Proof(CheckpointProofArgs),
    Check(CheckpointCheckArgs),
}

/// Make a key to sign with, or show its public key
#[derive(Subcommand)]
pub enum SignerKeyCommand {
    /// Make a key that signs checkpoints of a ledger, and print its public key
    #[command(after_help = "Example: taximeter checkpoint key create signer.key")]
    Create {
        /// The file to make, readable by its owner alone
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        ledger: LedgerArgs,
    },
    /// Print the public key
    #[command(after_help = "Example: taximeter checkpoint key show signer.key")]
    Show {
        /// The file of the key
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Sign a checkpoint of all records, and keep it next to the ledger
///
/// A server signs with its own key. On this machine, give a key; with witnesses, no server may run meanwhile.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter checkpoint create --checkpoint-key signer.key
  taximeter checkpoint create --server https://budget.example.org")]
pub struct NewCheckpointArgs {
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Prove that the newest checkpoint extends an older one
#[derive(Args)]
#[command(after_help = "Example: taximeter checkpoint proof --from 1200 > proof.json")]
pub struct CheckpointProofArgs {
    /// How many records the older checkpoint covers: its second line
    #[arg(long, value_name = "NUMBER")]
    from: u64,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Check a checkpoint without the ledger: its signatures, that it extends an older one, or that an export has the signed records
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter checkpoint check newest.txt --signer 'taximeter/…+1a2b3c4d+…'
  taximeter checkpoint check proof.json --since receipt.json --signer … --cosigner …
  taximeter checkpoint check receipt.json --export journal.jsonl --signer …

Exits with 4 if a check fails: then the history is not the one that was signed.")]
pub struct CheckpointCheckArgs {
    /// A file with a checkpoint, from `checkpoint show`, `checkpoint proof` or `receipt proof`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A file with an older checkpoint, which the one from `checkpoint proof` must extend
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// An export, which must begin with the records that were signed
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
}

impl CheckpointCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            CheckpointCommand::Key(SignerKeyCommand::Create { file, ledger }) => {
                let id = ledger.backend()?.ledger()?.ledger;
                let key = SecretKey::generate(&Checkpoint::origin_of(&id.to_string()), KeyUse::Sign)?;
                write_key(file, &key)?;
                print_line(&key.public().to_string())?;
            }
            CheckpointCommand::Key(SignerKeyCommand::Show { file }) => {
                print_line(&read_key(file)?.public().to_string())?;
            }
            CheckpointCommand::Create(NewCheckpointArgs { signing, ledger }) => {
                let made = ledger.backend()?.make_checkpoint(signing.signing()?)?;
                print(ledger.json, &made, || made.checkpoint.trim_end().to_string())?;
            }
            CheckpointCommand::Show(ledger) => {
                let newest: CheckpointDocument = ledger.backend()?.checkpoint()?;
                print(ledger.json, &newest, || newest.checkpoint.trim_end().to_string())?;
            }
            CheckpointCommand::Proof(CheckpointProofArgs { from, ledger }) => {
                print_json(&ledger.backend()?.consistency_proof(*from)?)?;
            }
            CheckpointCommand::Check(args) => args.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl CheckpointCheckArgs {
    fn run(&self) -> Result<(), Failure> {
        let trust = self.trust.trust()?;
        let signed = checkpoint_in(&self.file)?;
        let cosigners = signed.check(&trust)?;
        let mut lines = describe(&signed, &cosigners);
        if let Some(path) = &self.since {
            let old = checkpoint_in(path)?;
            // What an older checkpoint says counts only if it was signed.
            old.check_signer(&trust.signers)?;
            let proof: ConsistencyProof = document(&self.file, "checkpoint proof")?;
            proof.check(&old, &trust)?;
            lines.add("extends", format!("the checkpoint of {} records", old.checkpoint().size));
        }
        if let Some(path) = &self.export {
            let file = File::open(path).map_err(|error| usage(format!("{}: {error}", path.display())))?;
            check_export(signed.checkpoint(), &mut BufReader::new(file))?;
            lines.add("export", "begins with the records that were signed");
        }
        print_line(&lines.to_string())
    }
}

/// What is known after a check.
pub fn describe(signed: &SignedCheckpoint, cosigners: &[&PublicKey]) -> KeyValues {
    let mut lines = KeyValues::default();
    let checkpoint = signed.checkpoint();
    lines.add("signed", format!("{} records of {}, {}", checkpoint.size, checkpoint.origin, checkpoint.time));
    for witness in cosigners {
        lines.add("cosigned", witness.name());
    }
    lines
}

/// The checkpoint in a file: the note itself, or a document that has it.
fn checkpoint_in(path: &Path) -> Result<SignedCheckpoint, Failure> {
    let text = read(path)?;
    let note = match serde_json::from_str::<Value>(&text) {
        Ok(document) => document["checkpoint"].as_str().unwrap_or_default().to_string(),
        Err(_) => format!("{}\n", text.trim_end()),
    };
    SignedCheckpoint::parse(&note).map_err(|error| usage(format!("{}: {error}", path.display())))
}

/// A document in a file, of a command.
pub fn document<T: serde::de::DeserializeOwned>(path: &Path, command: &str) -> Result<T, Failure> {
    serde_json::from_str(&read(path)?)
        .map_err(|error| usage(format!("{} is not the output of `{command}`: {error}", path.display())))
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| usage(format!("{} cannot be read: {error}", path.display())))
}
