//! `taximeter verify`: the whole journal, made again.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use taximeter_ledger::{Error, Position, Verified, verify};

use crate::ledger::LedgerArgs;
use crate::ledger::show::{Lines, number};
use crate::output::{Failure, INTEGRITY_BROKEN, print_json, print_line};
use crate::progress::Progress;

/// Make the whole journal again: every hash, decision and state must come out as it is stored
#[derive(Args)]
#[command(after_help = "\
Example: taximeter verify --ledger taximeter.db

Works beside a running writer. Exits with 4 and names the first bad record if the ledger is not what was written.")]
pub struct VerifyCommand {
    #[command(flatten)]
    ledger: LedgerArgs,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Document {
    Whole { whole: bool, records: u64, accounts: usize, newest: Position, witness: Option<Position> },
    Broken { whole: bool, reason: String },
}

impl VerifyCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let (location, witness) = (self.ledger.location()?, self.ledger.witness());
        let progress = Progress::new("verifying");
        let result =
            verify(&location, witness.as_deref(), &mut |done, of| progress.share(done as f64 / of.max(1) as f64));
        drop(progress);
        match result {
            Ok(verified) => self.whole(&verified),
            Err(error) if error.is_integrity() && self.ledger.json => {
                print_json(&Document::Broken { whole: false, reason: error.to_string() })?;
                Ok(ExitCode::from(INTEGRITY_BROKEN))
            }
            Err(error) if error.is_integrity() => Err(Failure::Integrity(explain(&error))),
            Err(error) => Err(error.into()),
        }
    }

    fn whole(&self, verified: &Verified) -> Result<ExitCode, Failure> {
        let Verified { records, accounts, head, witness } = *verified;
        if self.ledger.json {
            print_json(&Document::Whole { whole: true, records, accounts, newest: head, witness })?;
            return Ok(ExitCode::SUCCESS);
        }
        let accounts = number(accounts as u64, "account", "accounts");
        let mut lines = Lines::default();
        lines.add("newest", format!("record {}, hash {}", head.sequence, head.hash));
        match witness {
            Some(Position { sequence, .. }) => {
                lines.add("witness", format!("remembers record {sequence}, and it is there"))
            }
            None => lines.add("witness", "not yet written: nothing was charged"),
        }
        print_line(&format!("{}, {accounts}: whole\n\n{lines}", number(records, "record", "records")))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What was found, and what to do about it.
fn explain(error: &Error) -> String {
    match error.is_rollback() {
        // It says so itself.
        true => error.to_string(),
        false => format!(
            "{error}. What is stored is not what was written, and the ledger does not open until it is: keep this copy for \
             inspection, put the newest good copy in its place, and see `taximeter ledger restore --help`"
        ),
    }
}
