//! One line of the log: an event as JSON or as text.

use std::num::NonZeroU64;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use taximeter_ledger::{Error, ErrorKind};

use super::LogForm;
use crate::{Code, DAMAGED_WITNESS, VerifyState};

/// An event with its time.
pub(super) struct LogEntry {
    pub(super) time: Timestamp,
    pub(super) event: LogEvent,
}

/// The severity of an event.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Info,
    Warn,
    Error,
}

/// Something that happened.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names say it; the text for each is below")]
pub enum LogEvent {
    Start {
        listens: String,
        version: &'static str,
    },
    /// Shutdown, and how many connections were cut off because they took too long.
    End {
        cut_off: usize,
    },
    Request(AnsweredRequest),
    /// Accepting a connection failed.
    NotAccepted {
        why: String,
    },
    TokensNotRead {
        why: String,
    },
    TokensReadAgain,
    /// A database that an owner wanted to register data from cannot be used.
    DatabaseFailed {
        why: String,
    },
    /// The ledger's store does not answer.
    StoreLost {
        why: Trouble,
    },
    StoreBack,
    /// The ledger is not what was written, and takes no charges until its owner clears the alarm.
    AlarmRaised,
    AlarmCleared,
    /// One of the two places of the witness cannot be read.
    WitnessDamaged,
    /// A witness on another machine says that it cosigned something else than this ledger, and does not prove it.
    CosignerInDoubt {
        cosigner: String,
    },
    CosignerBack {
        cosigner: String,
    },
    /// A verification of the whole journal has ended.
    Verified {
        state: VerifyState,
    },
    /// Questions that another process left without an answer cannot be settled.
    QuestionsNotSettled {
        code: Code,
    },
    QuestionsSettledAgain,
    /// Signed checkpoints cannot be made or written.
    CheckpointsNotKept {
        code: Code,
    },
    CheckpointsKeptAgain,
    /// The ledger has stopped, and the server shuts down.
    LedgerStopped {
        why: Trouble,
    },
    CertificateRenewed,
    /// The files of the certificate changed, and cannot be used.
    CertificateNotRenewed {
        why: String,
    },
    /// The issuer's keys cannot be read.
    IssuerLost {
        why: IssuerTrouble,
    },
    IssuerBack,
    Panic {
        place: String,
    },
}

impl LogEvent {
    fn level(&self) -> Level {
        match self {
            LogEvent::Start { .. } | LogEvent::End { cut_off: 0 } => Level::Info,
            LogEvent::TokensReadAgain | LogEvent::CertificateRenewed | LogEvent::StoreBack => Level::Info,
            LogEvent::AlarmCleared | LogEvent::QuestionsSettledAgain | LogEvent::IssuerBack => Level::Info,
            LogEvent::CheckpointsKeptAgain | LogEvent::CosignerBack { .. } => Level::Info,
            LogEvent::Verified { state: VerifyState::Whole } => Level::Info,
            LogEvent::Request(request) if request.status < 500 => Level::Info,
            LogEvent::End { .. } | LogEvent::DatabaseFailed { .. } | LogEvent::WitnessDamaged => Level::Warn,
            LogEvent::Request(_) | LogEvent::NotAccepted { .. } | LogEvent::TokensNotRead { .. } => Level::Error,
            LogEvent::StoreLost { .. } | LogEvent::LedgerStopped { .. } | LogEvent::AlarmRaised => Level::Error,
            LogEvent::Verified { .. } | LogEvent::QuestionsNotSettled { .. } => Level::Error,
            LogEvent::CertificateNotRenewed { .. } | LogEvent::Panic { .. } | LogEvent::IssuerLost { .. } => {
                Level::Error
            }
            LogEvent::CheckpointsNotKept { .. } | LogEvent::CosignerInDoubt { .. } => Level::Error,
        }
    }
}

/// What is wrong with a ledger. Only the kind: the text of an error may name accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// It does not answer in time.
    NoAnswer,
    /// It cannot be reached.
    Unreachable,
    /// It is not what was written.
    NotAsWritten,
    /// It is behind its witness, forked from it, or without it.
    SetBack,
    /// Its witness cannot be read or written.
    Witness,
    /// The store, the disk or the system failed.
    Storage,
}

impl Trouble {
    /// The kind of an error of the ledger.
    pub fn of(error: &Error) -> Trouble {
        match error.kind() {
            ErrorKind::Stopped(Some(cause)) | ErrorKind::UnknownOutcome(Some(cause)) => Trouble::of(cause),
            ErrorKind::Witness { .. } => Trouble::Witness,
            _ if error.is_rollback() => Trouble::SetBack,
            _ if error.is_integrity() => Trouble::NotAsWritten,
            _ if error.is_busy() => Trouble::Unreachable,
            _ => Trouble::Storage,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Trouble::NoAnswer => "it does not answer in time",
            Trouble::Unreachable => "it cannot be reached",
            Trouble::NotAsWritten => "it is not what was written",
            Trouble::SetBack => "it was set back, or its witness is missing",
            Trouble::Witness => "its witness cannot be read or written",
            Trouble::Storage => "the store, the disk or the system failed",
        }
    }
}

/// Why an issuer's keys cannot be read. Only the kind: an answer may contain anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IssuerTrouble {
    /// It cannot be reached.
    Unreachable,
    /// It does not answer in time.
    NoAnswer,
    /// Its certificate is not trusted.
    Untrusted,
    /// Its answer is an error, is too long, or cannot be read.
    BadAnswer,
    /// It names itself differently from the configured issuer.
    OtherName,
    /// It publishes an address that is not encrypted.
    Unprotected,
    /// A defect of this server.
    Defect,
}

impl IssuerTrouble {
    fn text(self) -> &'static str {
        match self {
            IssuerTrouble::Unreachable => "it cannot be reached",
            IssuerTrouble::NoAnswer => "it does not answer in time",
            IssuerTrouble::Untrusted => "its certificate is not trusted",
            IssuerTrouble::BadAnswer => "its answer is an error, is too long, or cannot be read",
            IssuerTrouble::OtherName => "it calls itself something else; its URL must be written exactly as it does",
            IssuerTrouble::Unprotected => "it publishes an address without https://",
            IssuerTrouble::Defect => "a defect in reading them",
        }
    }
}

/// A request that was answered.
#[derive(Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct AnsweredRequest {
    pub method: &'static str,
    /// The template of the route; `None` for an unknown path.
    #[serde(rename = "path")]
    pub route: Option<String>,
    pub status: u16,
    pub code: Option<Code>,
    pub principal: Option<String>,
    /// The public id of the token.
    pub token: Option<String>,
    #[serde(rename = "milliseconds", serialize_with = "milliseconds")]
    pub took: Duration,
    /// The length of the answer; `None` if it is streamed.
    pub bytes: Option<u64>,
}

fn milliseconds<S: serde::Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    (took.as_micros() as f64 / 1000.0).serialize(serializer)
}

/// The text of a line. `dropped` counts the lines before it that were not written.
pub(super) fn line(form: LogForm, entry: &LogEntry, dropped: u64) -> String {
    #[derive(Serialize)]
    struct LogLine<'a> {
        time: Timestamp,
        level: Level,
        #[serde(flatten)]
        event: &'a LogEvent,
        #[serde(skip_serializing_if = "Option::is_none")]
        dropped: Option<NonZeroU64>,
    }
    let (LogEntry { time, event }, dropped) = (entry, NonZeroU64::new(dropped));
    match form {
        LogForm::Json => {
            let line = LogLine { time: *time, level: event.level(), event, dropped };
            serde_json::to_string(&line).unwrap_or_default()
        }
        _ => {
            let missing = dropped.map(|dropped| format!("  ({dropped} lines before were dropped)"));
            format!("{time:.3}  {}{}", text(event), missing.unwrap_or_default())
        }
    }
}

/// An event as a sentence.
fn text(event: &LogEvent) -> String {
    match event {
        LogEvent::Start { listens, version } => format!("taximeter {version} serves at {listens}"),
        LogEvent::End { cut_off: 0 } => "the end: everything was answered".to_string(),
        LogEvent::End { cut_off } => format!("the end: {cut_off} connections took too long and were cut off"),
        LogEvent::NotAccepted { why } => format!("connections cannot be accepted: {why}"),
        LogEvent::TokensNotRead { why } => format!("changes to tokens by other processes cannot be read: {why}"),
        LogEvent::TokensReadAgain => "changes to tokens by other processes are read again".to_string(),
        LogEvent::DatabaseFailed { why } => format!("a database cannot be used for a dataset: {why}"),
        LogEvent::StoreLost { why } => {
            format!("the ledger's store is lost, and nothing is charged meanwhile: {}", why.text())
        }
        LogEvent::StoreBack => "the ledger's store is back".to_string(),
        LogEvent::AlarmRaised => {
            "the ledger is not what was written, and takes no charges until its owner clears the alarm".to_string()
        }
        LogEvent::AlarmCleared => "the alarm is cleared, and the ledger takes charges again".to_string(),
        LogEvent::WitnessDamaged => DAMAGED_WITNESS.to_string(),
        LogEvent::CosignerInDoubt { cosigner } => {
            format!(
                "the witness {cosigner} says that it cosigned something else than this ledger, and shows nothing that the ledger signed: \
                 it lies or is broken, and counts for nothing until it cosigns again"
            )
        }
        LogEvent::CosignerBack { cosigner } => format!("the witness {cosigner} cosigns this ledger again"),
        LogEvent::Verified { state: VerifyState::Whole } => "a verification found the ledger whole".to_string(),
        LogEvent::Verified { state: VerifyState::Broken } => {
            "a verification found that the ledger is not what was written".to_string()
        }
        LogEvent::Verified { .. } => "a verification could not be done".to_string(),
        LogEvent::QuestionsNotSettled { code } => {
            format!("questions without an answer cannot be settled ({})", code.name())
        }
        LogEvent::QuestionsSettledAgain => "questions without an answer are settled again".to_string(),
        LogEvent::CheckpointsNotKept { code } => format!("signed checkpoints cannot be kept ({})", code.name()),
        LogEvent::CheckpointsKeptAgain => "signed checkpoints are kept again".to_string(),
        LogEvent::LedgerStopped { why } => {
            format!("the ledger has stopped, and the server shuts down: {}", why.text())
        }
        LogEvent::CertificateRenewed => "a renewed certificate is in use".to_string(),
        LogEvent::CertificateNotRenewed { why } => {
            format!("the changed certificate cannot be used, and the one before stays in use: {why}")
        }
        LogEvent::IssuerLost { why } => {
            format!(
                "the issuer's keys cannot be read, and those from before are used for an hour at most: {}",
                why.text()
            )
        }
        LogEvent::IssuerBack => "the issuer's keys are read again".to_string(),
        LogEvent::Panic { place } => format!("a defect: a thread panicked at {place}"),
        LogEvent::Request(request) => {
            let AnsweredRequest { method, route, status, code, principal, token, took, bytes } = request;
            let path = route.as_deref().unwrap_or("(unknown path)");
            let code = code.map(|code| format!(" {}", code.name())).unwrap_or_default();
            let who = principal.as_ref().zip(token.as_ref());
            let who = who.map(|(principal, token)| format!("  {principal} ({token})")).unwrap_or_default();
            let size = bytes.map_or("streamed".to_string(), |bytes| format!("{bytes} B"));
            format!("{method} {path}  {status}{code}  {:.1} ms, {size}{who}", took.as_secs_f64() * 1000.0)
        }
    }
}
