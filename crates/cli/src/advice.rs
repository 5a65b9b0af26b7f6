//! What to type about an error. The libraries and the server say what is wrong, in words for all; flags and commands are the command
//! line's own.

use taximeter_accounting::{Amount, Refusal};
use taximeter_service::{Code, Problem};

use crate::args::rule_parameters;

const WITNESS: &str = "; its folder must exist and be writable; say where it is with --witness";
const RESTORE: &str = "; put the newest copy of the ledger back; if there is none, see `ledger restore --help`";
const FOLDER: &str = "; name another folder with --data";

/// Parameters of requests that are flags of their own, besides those of the rules.
const FLAGS: [&str; 8] =
    ["at_delta", "budget", "max_cost", "mechanism_delta", "new_version", "reuse", "skip_bad_rows", "unit"];

/// What ends a sentence about an error of the ledger.
pub fn of_ledger(error: &taximeter_ledger::Error) -> String {
    use taximeter_ledger::ErrorKind::*;
    match error.kind() {
        NoParent { parent, .. } => format!(": `account create {parent}`"),
        NoLedger { .. } => "; `account create` or `dataset add` makes one, or name another with --ledger".to_string(),
        NotALedger { .. } | LedgerExists { .. } => "; name another with --ledger".to_string(),
        NothingRemembered { .. } => "; without it, only --accept-loss is left".to_string(),
        MissingReceipts { .. } => "; with --accept-loss every account would be exhausted instead".to_string(),
        Integrity { .. } => "; run `verify`".to_string(),
        Alarm { .. } => ", with `ledger clear-alarm`".to_string(),
        Export { .. } => "; make the export again, or use a good copy of it".to_string(),
        Behind { .. } | Forked { .. } | SetBack { .. } => RESTORE.to_string(),
        NoWitness { .. } => {
            "; put the witness back, or name it with --witness; on another machine, copy it there; if it is lost, \
                             see `ledger restore --help`"
                .to_string()
        }
        DamagedWitness { .. } => "; put a copy of it back; if there is none, see `ledger restore --help`".to_string(),
        OtherWitness { .. } | NotAWitness { .. } => "; name the right witness with --witness".to_string(),
        LostLedger { .. } => {
            "; put the ledger back, or name another witness with --witness to start a new ledger".to_string()
        }
        Witness { .. } => WITNESS.to_string(),
        _ => of_problem(&error.clone().into()),
    }
}

/// What ends a sentence about an error of the gate.
pub fn of_gate(error: &taximeter_gate::Error) -> String {
    use taximeter_gate::ErrorKind::*;
    match error.kind() {
        Ledger(error) => of_ledger(error),
        OtherPrivacy { declared, .. } => format!(
            "; `account create` with --unit {} and --neighbours {} opens an account for it",
            declared.unit,
            declared.neighbours.name()
        ),
        NotAGate { .. } | Records { .. } => FOLDER.to_string(),
        OtherLedger { .. } => "; name the right ledger with --ledger, or another folder with --data".to_string(),
        Integrity { .. } => String::new(),
        // A person who has the data here may know.
        DataAway { why, .. } => format!(": {why}"),
        _ => of_problem(&error.clone().into()),
    }
}

/// What ends a sentence about a problem, of a server or of this machine.
pub fn of_problem(problem: &Problem) -> String {
    match (problem.code, problem.parameter.as_deref()) {
        (Code::NoAccount, _) => "; `account list` shows the accounts, `account create` makes one".to_string(),
        (Code::NoDataset, _) => "; `dataset list` shows the datasets, `dataset add` makes one".to_string(),
        (Code::NotFound, Some("token")) => "; `token list` shows the tokens".to_string(),
        (Code::Integrity, _) => "; `verify` checks the ledger, `dataset check` a dataset".to_string(),
        (Code::Alarm, _) => "; `verify` says what is wrong, `ledger clear-alarm` goes on".to_string(),
        (_, Some("by")) => "; leave --by out, or use that person's token".to_string(),
        (_, Some("encoding")) => "; say how the file is written, for instance --encoding latin1".to_string(),
        (_, Some("schema")) => "; `dataset add --help` shows a schema".to_string(),
        (_, Some(name)) if FLAGS.contains(&name) || rule_parameters().iter().any(|number| number.name == name) => {
            format!(" ({})", flag(name))
        }
        _ => String::new(),
    }
}

/// Why a filter refused, with the flag that sets the limit.
pub fn refusal(refusal: &Refusal) -> String {
    let flag = refusal.parameter().map_or(String::new(), |name| format!(" ({})", flag(name)));
    refusal.reason() + &flag
}

/// What ends a sentence about an account that refuses by one of its limits: they are fixed when it is created.
pub fn of_limit(parameter: Option<&str>) -> String {
    parameter.map_or(String::new(), |name| format!(" (`account create` with {})", flag(name)))
}

/// The flag for a parameter.
fn flag(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

/// Why a reading has no bound, with the flag that sets a delta aside where none was.
pub fn unbounded(why: &str, set_aside: Amount, spent_delta: Amount) -> String {
    let flag = if set_aside.is_zero() && !spent_delta.is_zero() { " (--mechanism-delta)" } else { "" };
    format!("{why}{flag}")
}
