//! `taximeter verify`: recomputes the whole journal.

use std::process::ExitCode;

use clap::Args;
use taximeter_ledger::Position;
use taximeter_service::VerifyDocument;

use crate::key_values::KeyValues;
use crate::ledger::LedgerArgs;
use crate::ledger::show::number;
use crate::output::{Failure, INTEGRITY_BROKEN, print, warn};
use crate::progress::Progress;

/// Recompute the whole journal: every hash, decision and state must match what is stored
#[derive(Args)]
#[command(after_help = "\
Example: taximeter verify --ledger taximeter.db

Other processes may write to the ledger meanwhile. If the ledger differs from what was written, exits with 4, names the first bad
record, and raises the alarm: the ledger takes no charges until `taximeter ledger clear-alarm`.")]
pub struct VerifyCommand {
    #[command(flatten)]
    ledger: LedgerArgs,
}

impl VerifyCommand {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let verified = self.ledger.backend()?.verify(&Progress::new("verifying").shares())?;
        warn(verified.warning.as_slice());
        let Some(is_whole) = verified.whole else {
            return Err(Failure::Other(verified.reason.unwrap_or("the verification did not finish".to_string())));
        };
        if !is_whole && !self.ledger.json {
            return Err(Failure::Integrity(explain(&verified)));
        }
        print(self.ledger.json, &verified, || whole(&verified))?;
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(INTEGRITY_BROKEN) })
    }
}

fn whole(verified: &VerifyDocument) -> String {
    let [records, accounts] =
        [verified.records, verified.accounts.map(|count| count as u64)].map(|count| count.unwrap_or(0));
    let mut lines = KeyValues::default();
    if let Some(newest) = verified.newest {
        lines.add("newest", format!("record {}, hash {}", newest.sequence, newest.hash));
    }
    match verified.witness {
        Some(Position { sequence, .. }) => {
            lines.add("witness", format!("remembers record {sequence}, which the ledger has"))
        }
        None => lines.add("witness", "not yet written: nothing was charged"),
    }
    let accounts = number(accounts, "account", "accounts");
    format!("{}, {accounts}: whole\n\n{lines}", number(records, "record", "records"))
}

/// What is wrong, and what to do.
fn explain(broken: &VerifyDocument) -> String {
    let reason = broken.reason.as_deref().unwrap_or("the journal is not whole");
    format!(
        "{reason}. The ledger takes no charges until this is repaired: keep this copy for inspection, restore the newest good copy or the \
         right witness, and see `taximeter ledger restore --help`; or continue with it as it is, with `taximeter ledger clear-alarm`"
    )
}
