//! `taximeter verify`: the whole journal, made again.

use std::process::ExitCode;

use clap::Args;
use taximeter_ledger::Position;
use taximeter_service::VerifyDocument;

use crate::ledger::LedgerArgs;
use crate::ledger::show::{Lines, number};
use crate::output::{Failure, INTEGRITY_BROKEN, print_json, print_line, tell};
use crate::progress::Progress;

/// Make the whole journal again: every hash, decision and state must come out as it is stored
#[derive(Args)]
#[command(after_help = "\
Example: taximeter verify --ledger taximeter.db

Works beside a running writer. Exits with 4 and names the first bad record if the ledger is not what was written, and raises the
alarm: from then on the ledger takes no charges, until `taximeter ledger clear-alarm`.")]
pub struct VerifyCommand {
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl VerifyCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let office = self.ledger.office()?;
        let progress = Progress::new("verifying");
        let verified = office.verify(&|done| progress.share(done))?;
        drop(progress);
        if let Some(warning) = &verified.warning {
            tell(&format!("warning: {warning}"));
        }
        let Some(is_whole) = verified.whole else {
            return Err(Failure::Other(
                verified.reason.unwrap_or("the verification did not come to an end".to_string()),
            ));
        };
        match (self.ledger.json, is_whole) {
            (true, _) => print_json(&verified)?,
            (false, true) => print_line(&whole(&verified))?,
            (false, false) => return Err(Failure::Integrity(explain(&verified))),
        }
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(INTEGRITY_BROKEN) })
    }
}

fn whole(verified: &VerifyDocument) -> String {
    let [records, accounts] =
        [verified.records, verified.accounts.map(|count| count as u64)].map(|count| count.unwrap_or(0));
    let mut lines = Lines::default();
    if let Some(newest) = verified.newest {
        lines.add("newest", format!("record {}, hash {}", newest.sequence, newest.hash));
    }
    match verified.witness {
        Some(Position { sequence, .. }) => {
            lines.add("witness", format!("remembers record {sequence}, and it is there"))
        }
        None => lines.add("witness", "not yet written: nothing was charged"),
    }
    let accounts = number(accounts, "account", "accounts");
    format!("{}, {accounts}: whole\n\n{lines}", number(records, "record", "records"))
}

/// What was found, and what to do about it.
fn explain(broken: &VerifyDocument) -> String {
    let reason = broken.reason.as_deref().unwrap_or("the journal is not whole");
    format!(
        "{reason}. The ledger takes no charges until this is mended: keep this copy for inspection, put the newest good copy or the right \
         witness in its place, and see `taximeter ledger restore --help`; or go on with it as it is, with `taximeter ledger clear-alarm`"
    )
}
