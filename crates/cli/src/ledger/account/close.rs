//! `taximeter account close`: no more charges.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use taximeter_ledger::{AccountName, Hash, LedgerId};

use crate::ledger::document::AccountJson;
use crate::ledger::receipt::ReceiptJson;
use crate::ledger::{LedgerArgs, SignatureArgs};
use crate::output::{Failure, print_json, print_line};

/// Close an account for good: it takes no more charges, nor does any account below it
#[derive(Args)]
#[command(after_help = "Example: taximeter account close census/alice --by owner --note \"the project ended\"")]
pub struct Close {
    /// The account
    name: String,
    #[command(flatten)]
    signature: SignatureArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    outcome: &'static str,
    ledger: LedgerId,
    sequence: u64,
    hash: Hash,
    record: Box<RawValue>,
    account: AccountJson<'a>,
}

impl Close {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let (name, by, note) = (AccountName::parse(&self.name)?, self.signature.by()?, self.signature.note()?);
        let ledger = self.ledger.write()?;
        let receipt = ledger.close_account(name.clone(), by, note)?;
        if self.ledger.json {
            let account = ledger.account(&name)?;
            let ReceiptJson { ledger, sequence, hash, record } = ReceiptJson::new(&receipt)?;
            let account = AccountJson::new(&account, Some(&name));
            print_json(&Document { outcome: "closed", ledger, sequence, hash, record, account })?;
        } else {
            print_line(&format!("closed {name} for good, in record {}; its history stays", receipt.sequence()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
