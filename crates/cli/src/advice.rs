//! What to do about an error. The libraries and the server say what is wrong; only the command line names flags and commands.

use taximeter_accounting::{Amount, Refusal};
use taximeter_service::{Code, Problem};

use crate::args::rule_parameters;

const WITNESS: &str = "; its folder must exist and be writable; name another with --witness";
const RESTORE: &str = "; restore the newest copy of the ledger; if there is none, see `ledger restore --help`";
const FOLDER: &str = "; name another folder with --data";

/// Parameters of requests that have a flag, besides the parameters of the rules.
const FLAGS: [&str; 8] =
    ["at_delta", "budget", "max_cost", "mechanism_delta", "new_version", "reuse", "skip_bad_rows", "unit"];

/// Advice about an error of the ledger, to append to its message.
pub fn of_ledger(error: &taximeter_ledger::Error) -> String {
    use taximeter_ledger::ErrorKind::*;
    match error.kind() {
        NoParent { parent, .. } => format!(": `account create {parent}`"),
        NoLedger { .. } => "; `account create` or `dataset add` makes one, or name another with --ledger".to_string(),
        NotALedger { .. } | LedgerExists { .. } => "; name another with --ledger".to_string(),
        NothingRemembered { .. } => "; without it, only --accept-loss is possible".to_string(),
        MissingReceipts { .. } => "; with --accept-loss every account would be exhausted instead".to_string(),
        Integrity { .. } => "; run `verify`".to_string(),
        Alarm { .. } => ", with `ledger clear-alarm`".to_string(),
        Export { .. } => "; export again, or use an undamaged copy".to_string(),
        Behind { .. } | Forked { .. } | SetBack { .. } | CosignedFurther { .. } | CosignedOther { .. } => {
            RESTORE.to_string()
        }
        NoWitness { .. } => {
            "; restore the witness, or name it with --witness; on another machine, copy it there; if it is lost, see \
             `ledger restore --help`"
                .to_string()
        }
        DamagedWitness { .. } => "; restore a copy of it; if there is none, see `ledger restore --help`".to_string(),
        OtherWitness { .. } | NotAWitness { .. } => "; name the right witness with --witness".to_string(),
        LostLedger { .. } => {
            "; restore the ledger, or name another witness with --witness to start a new ledger".to_string()
        }
        Witness { .. } => WITNESS.to_string(),
        _ => of_problem(&error.clone().into()),
    }
}

/// Advice about an error of the gate, to append to its message.
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
        // The data are on this machine, so the reason need not be hidden.
        DataAway { why, .. } => format!(": {why}"),
        _ => of_problem(&error.clone().into()),
    }
}

/// Advice about a problem of a server or of this machine, to append to its message.
pub fn of_problem(problem: &Problem) -> String {
    match (problem.code, problem.parameter.as_deref()) {
        (Code::NoAccount, _) => "; `account list` shows the accounts, `account create` makes one".to_string(),
        (Code::NoDataset, _) => "; `dataset list` shows the datasets, `dataset add` makes one".to_string(),
        (Code::NotFound, Some("token")) => "; `token list` shows the tokens".to_string(),
        (Code::Integrity, _) => "; `verify` checks the ledger, `dataset check` a dataset".to_string(),
        (Code::Alarm, _) => {
            "; `verify` says what is wrong, `ledger clear-alarm` lets it take charges again".to_string()
        }
        (_, Some("by")) => "; omit --by, or use that person's token".to_string(),
        (_, Some("encoding")) => "; give the encoding of the file, for instance --encoding latin1".to_string(),
        (_, Some("threshold")) => {
            ": --epsilon 0.5 --delta 1e-9; `account create` and `dataset add` set it aside with --mechanism-delta"
                .to_string()
        }
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

/// Advice about a limit of an account, which is fixed when the account is created.
pub fn of_limit(parameter: Option<&str>) -> String {
    parameter.map_or(String::new(), |name| format!(" (`account create` with {})", flag(name)))
}

/// The flag for a parameter.
fn flag(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

/// Why a reading has no bound, with the flag that sets a delta aside if none was.
pub fn unbounded(why: &str, set_aside: Amount, spent_delta: Amount) -> String {
    let flag = if set_aside.is_zero() && !spent_delta.is_zero() { " (--mechanism-delta)" } else { "" };
    format!("{why}{flag}")
}
