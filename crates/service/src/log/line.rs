//! One line: something that happened, as JSON or in words.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use taximeter_ledger::{Error, ErrorKind};

use super::LogForm;
use crate::{Code, DAMAGED_WITNESS, TokenDocument, VerifyState};

/// Something that happened.
pub(super) struct Entry {
    pub(super) time: Timestamp,
    pub(super) event: Event,
}

/// How much it matters.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Info,
    Warn,
    Error,
}

/// What happened.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "names say it; the sentence for each is below")]
pub enum Event {
    Start {
        listens: String,
        version: &'static str,
    },
    /// The end, and how many connections were cut off because they took too long.
    End {
        cut_off: usize,
    },
    Request(AnsweredRequest),
    /// No connection can be taken now.
    NotAccepted {
        why: String,
    },
    TokensNotRead {
        why: String,
    },
    TokensReadAgain,
    /// A database that an owner wanted to register data from.
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
    /// A verification of the whole journal has ended.
    Verified {
        state: VerifyState,
    },
    /// Questions that a process left without an answer cannot be looked for.
    QuestionsNotSettled {
        code: Code,
    },
    QuestionsSettledAgain,
    /// The ledger takes nothing more, and the server ends.
    LedgerStopped {
        why: Trouble,
    },
    CertificateRenewed,
    /// The files of the certificate changed, and cannot be used.
    CertificateNotRenewed {
        why: String,
    },
    Panic {
        place: String,
    },
}

impl Event {
    fn level(&self) -> Level {
        match self {
            Event::Start { .. } | Event::End { cut_off: 0 } => Level::Info,
            Event::TokensReadAgain | Event::CertificateRenewed | Event::StoreBack => Level::Info,
            Event::AlarmCleared | Event::QuestionsSettledAgain => Level::Info,
            Event::Verified { state: VerifyState::Whole } => Level::Info,
            Event::Request(request) if request.status < 500 => Level::Info,
            Event::End { .. } | Event::DatabaseFailed { .. } | Event::WitnessDamaged => Level::Warn,
            Event::Request(_) | Event::NotAccepted { .. } | Event::TokensNotRead { .. } => Level::Error,
            Event::StoreLost { .. } | Event::LedgerStopped { .. } | Event::AlarmRaised => Level::Error,
            Event::Verified { .. } | Event::QuestionsNotSettled { .. } => Level::Error,
            Event::CertificateNotRenewed { .. } | Event::Panic { .. } => Level::Error,
        }
    }
}

/// What is wrong with a ledger. A kind and no words: those of an error may name accounts.
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
    /// What an error of the ledger is about.
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

    fn words(self) -> &'static str {
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

/// A request that was answered.
#[derive(Serialize)]
#[allow(missing_docs, reason = "names say it")]
pub struct AnsweredRequest {
    pub method: &'static str,
    /// The template of the route; nothing if there is nothing at the path.
    #[serde(rename = "path")]
    pub route: Option<String>,
    pub status: u16,
    #[serde(serialize_with = "code_name")]
    pub code: Option<Code>,
    /// Whoever asked.
    #[serde(flatten, serialize_with = "principal_and_id")]
    pub token: Option<Arc<TokenDocument>>,
    #[serde(rename = "milliseconds", serialize_with = "milliseconds")]
    pub took: Duration,
    /// The length of the answer; nothing if it is streamed.
    pub bytes: Option<u64>,
}

fn code_name<S: serde::Serializer>(code: &Option<Code>, serializer: S) -> Result<S::Ok, S::Error> {
    code.map(Code::name).serialize(serializer)
}

fn principal_and_id<S: serde::Serializer>(
    token: &Option<Arc<TokenDocument>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        principal: Option<&'a str>,
        token: Option<&'a str>,
    }
    let token = token.as_ref();
    let principal = token.map(|token| token.principal.as_str());
    Shown { principal, token: token.map(|token| token.id.as_str()) }.serialize(serializer)
}

fn milliseconds<S: serde::Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    (took.as_micros() as f64 / 1000.0).serialize(serializer)
}

/// The line, with the number of those before it that were dropped.
pub(super) fn line(form: LogForm, entry: &Entry, dropped: u64) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        time: Timestamp,
        level: Level,
        #[serde(flatten)]
        event: &'a Event,
        /// Lines before this one that were not written, because they came faster.
        #[serde(skip_serializing_if = "is_zero")]
        dropped: u64,
    }
    let Entry { time, event } = entry;
    match form {
        LogForm::Json => {
            let document = Document { time: *time, level: event.level(), event, dropped };
            serde_json::to_string(&document).unwrap_or_default()
        }
        _ => {
            let missing = if dropped == 0 { String::new() } else { format!("  ({dropped} lines before were dropped)") };
            format!("{time:.3}  {}{missing}", words(event))
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An event for people.
fn words(event: &Event) -> String {
    match event {
        Event::Start { listens, version } => format!("taximeter {version} serves at {listens}"),
        Event::End { cut_off: 0 } => "the end: everything was answered".to_string(),
        Event::End { cut_off } => format!("the end: {cut_off} connections took too long and were cut off"),
        Event::NotAccepted { why } => format!("no connection can be taken: {why}"),
        Event::TokensNotRead { why } => format!("tokens that others change cannot be seen: {why}"),
        Event::TokensReadAgain => "tokens that others change are seen again".to_string(),
        Event::DatabaseFailed { why } => format!("a database cannot be used for a dataset: {why}"),
        Event::StoreLost { why } => {
            format!("the ledger's store is lost, and nothing is charged meanwhile: {}", why.words())
        }
        Event::StoreBack => "the ledger's store is back".to_string(),
        Event::AlarmRaised => {
            "the ledger is not what was written, and takes no charges until its owner clears the alarm".to_string()
        }
        Event::AlarmCleared => "the alarm is cleared, and the ledger takes charges again".to_string(),
        Event::WitnessDamaged => DAMAGED_WITNESS.to_string(),
        Event::Verified { state: VerifyState::Whole } => "a verification found the ledger whole".to_string(),
        Event::Verified { state: VerifyState::Broken } => {
            "a verification found that the ledger is not what was written".to_string()
        }
        Event::Verified { .. } => "a verification could not be done".to_string(),
        Event::QuestionsNotSettled { code } => {
            format!("questions that were left without an answer cannot be looked for ({})", code.name())
        }
        Event::QuestionsSettledAgain => {
            "questions that were left without an answer can be looked for again".to_string()
        }
        Event::LedgerStopped { why } => {
            format!("the ledger takes nothing more, and the server ends: {}", why.words())
        }
        Event::CertificateRenewed => "a renewed certificate is used from now on".to_string(),
        Event::CertificateNotRenewed { why } => {
            format!("the certificate was changed and the one before is still used: {why}")
        }
        Event::Panic { place } => format!("a defect: a thread panicked at {place}"),
        Event::Request(request) => {
            let AnsweredRequest { method, route, status, code, token, took, bytes } = request;
            let path = route.as_deref().unwrap_or("(unknown path)");
            let code = code.map(|code| format!(" {}", code.name())).unwrap_or_default();
            let who = token.as_ref().map(|token| format!("  {} ({})", token.principal, token.id)).unwrap_or_default();
            let size = bytes.map_or("streamed".to_string(), |bytes| format!("{bytes} B"));
            format!("{method} {path}  {status}{code}  {:.1} ms, {size}{who}", took.as_secs_f64() * 1000.0)
        }
    }
}
