//! `taximeter receipt`: the proof that a charge is in the journal that was signed, and its check without the ledger.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use taximeter_ledger::Key;
use taximeter_service::{ConsistencyProof, ReceiptProof};

use crate::ledger::LedgerArgs;
use crate::ledger::checkpoint::{describe, document};
use crate::output::{Failure, in_flag, print_json, print_line};
use crate::signing::TrustArgs;

/// Prove that a charge is in the signed journal, and check such a proof without the ledger
#[derive(Subcommand)]
pub enum ReceiptCommand {
    Proof(ReceiptProofArgs),
    Check(ReceiptCheckArgs),
}

/// Print a receipt with the proof that it is in the journal that a signed checkpoint covers, as JSON
///
/// Keep it: it proves the charge even if the ledger is rewritten.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter receipt proof 17 > receipt.json
  taximeter receipt proof monday > receipt.json")]
pub struct ReceiptProofArgs {
    /// The number of the record, or the key of a charge
    #[arg(value_name = "KEY|SEQUENCE")]
    record: String,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Check a receipt with its proof, without the ledger
///
/// The record must match its hash and be in the tree of the checkpoint, and the checkpoint must have the required signatures. Exits with 4
/// if a check fails.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taximeter receipt check receipt.json --signer 'taximeter/…+1a2b3c4d+…' --cosigner 'witness.example.org+…+…'
  taximeter receipt check receipt.json --extended-by proof.json --signer …")]
pub struct ReceiptCheckArgs {
    /// The output of `receipt proof`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The output of `checkpoint proof`: a newer checkpoint, which must extend the one of the receipt
    #[arg(long, value_name = "FILE")]
    extended_by: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
}

/// A record, by its number or its key.
pub enum RecordChoice {
    Sequence(u64),
    Key(Key),
}

impl ReceiptCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            ReceiptCommand::Proof(ReceiptProofArgs { record, ledger }) => {
                let choice = match record.parse() {
                    Ok(sequence) => RecordChoice::Sequence(sequence),
                    Err(_) => RecordChoice::Key(Key::parse("key", record).map_err(in_flag("KEY"))?),
                };
                print_json(&ledger.backend()?.receipt_proof(&choice)?)?;
            }
            ReceiptCommand::Check(args) => args.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl ReceiptCheckArgs {
    fn run(&self) -> Result<(), Failure> {
        let trust = self.trust.trust()?;
        let proof: ReceiptProof = document(&self.file, "receipt proof")?;
        let (signed, cosigners) = proof.check(&trust)?;
        let mut lines = describe(&signed, &cosigners);
        let (sequence, shown) = (proof.receipt.sequence, proof.receipt.record.is_some());
        let what = match shown {
            true => "is in the signed journal, as printed here",
            false => "is in the signed journal; its content is not shown to its holder",
        };
        lines.add("record", format!("{sequence} {what}"));
        if let Some(path) = &self.extended_by {
            let newer: ConsistencyProof = document(path, "checkpoint proof")?;
            let (newer, _) = newer.check(&signed, &trust)?;
            lines.add("extended by", format!("the checkpoint of {} records", newer.checkpoint().size));
        }
        print_line(&lines.to_string())
    }
}
