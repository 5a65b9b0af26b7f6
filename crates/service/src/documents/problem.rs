//! Errors as problem documents (RFC 9457) with stable codes.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::documents::charge::Refused;

/// A problem document, `application/problem+json`.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// `about:blank`: the code says which problem it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// The title of the code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The kind of problem, for programs; codes are stable.
    pub code: Code,
    /// What was wrong, with the value, and what to do.
    pub detail: String,
    /// The parameter of the request that is wrong.
    pub parameter: Option<String>,
    /// The position of the error in a question, counted in characters from 1.
    pub position: Option<usize>,
    /// The question of a study that is wrong, counted from 1.
    pub question: Option<usize>,
    /// The idempotency key, if a retry with it tells the outcome of the request.
    pub key: Option<String>,
    /// The journal record of a charge that has no answer.
    pub sequence: Option<u64>,
    /// The refusal, with the code `refused`.
    pub refusal: Option<Refused>,
    /// Whether the detail is internal: paths, hosts, messages of a database. Such details are for owners. Not part of the document.
    #[serde(skip)]
    pub is_internal: bool,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $status:literal, $code:tt, $title:literal;)+) => {
        /// The kind of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        pub enum Code {
            $($(#[doc = $doc])+ #[serde(rename = $code)] $name,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Code] = &[$(Code::$name),+];

            /// Its HTTP status.
            pub fn status(self) -> u16 {
                match self { $(Code::$name => $status,)+ }
            }

            /// The code in documents.
            pub fn name(self) -> &'static str {
                match self { $(Code::$name => $code,)+ }
            }

            /// Its title for people.
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)+ }
            }
        }
    };
}

codes! {
    /// Something in the request cannot be used. Nothing was charged.
    BadRequest = 400, "bad-request", "The request cannot be used";
    /// There is no token, or it is unknown, expired or revoked.
    Unauthorized = 401, "unauthorized", "A valid token is needed";
    /// The token's role does not allow it, or it is about something that the token may not see.
    Forbidden = 403, "forbidden", "The token does not allow this";
    /// The account does not exist, or the token may not see it.
    NoAccount = 404, "no-account", "Account not found";
    /// The dataset does not exist, or the token may not see it.
    NoDataset = 404, "no-dataset", "Dataset not found";
    /// The path, record, token or upload is not found.
    NotFound = 404, "not-found", "Not found";
    /// The path is right, the method is not.
    MethodNotAllowed = 405, "method-not-allowed", "The method is not allowed here";
    /// The request did not arrive in time. Nothing was charged.
    RequestTimeout = 408, "request-timeout", "The request took too long to arrive";
    /// A filter said halt. Nothing was charged.
    Refused = 409, "refused", "Refused by a budget";
    /// The body is too large.
    TooLarge = 413, "too-large", "The body is too large";
    /// The body is of another type than the path takes.
    UnsupportedMediaType = 415, "unsupported-media-type", "The body is of another type";
    /// The idempotency key was used for another request.
    KeyReused = 422, "key-reused", "The key belongs to another request";
    /// It was charged, and there is no answer. The same code for every cause: the cause may depend on the data.
    NoAnswer = 424, "no-answer", "Charged, but there is no answer";
    /// The token makes too many requests, or leaves too many uploads unregistered.
    TooManyRequests = 429, "too-many-requests", "Too many requests";
    /// Headers are too large.
    HeadersTooLarge = 431, "headers-too-large", "The headers are too large";
    /// Records are not what was written.
    Integrity = 500, "integrity", "An integrity check failed";
    /// The store or the disk failed.
    Storage = 500, "storage", "The store failed";
    /// It is busy, or it shuts down. Nothing was charged: try again.
    Busy = 503, "busy", "Try again in a moment";
    /// The ledger stopped after a failure and takes nothing more. Nothing was charged.
    Stopped = 503, "stopped", "The ledger stopped";
    /// A verification found that the ledger is not what was written, and raised the alarm. Nothing was charged.
    Alarm = 503, "alarm", "A verification raised the alarm";
    /// The charge may or may not have been made: asking again with the same key tells.
    UnknownOutcome = 503, "unknown-outcome", "The outcome is not known";
}

impl Problem {
    /// A problem. The detail says what was wrong and what to do.
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        Problem {
            kind: "about:blank".to_string(),
            title: code.title().to_string(),
            status: code.status(),
            code,
            detail: detail.into(),
            parameter: None,
            position: None,
            question: None,
            key: None,
            sequence: None,
            refusal: None,
            is_internal: matches!(
                code,
                Code::Storage | Code::Integrity | Code::Stopped | Code::Alarm | Code::UnknownOutcome
            ),
        }
    }

    /// A request that cannot be used.
    pub fn bad_request(detail: impl Into<String>) -> Problem {
        Problem::new(Code::BadRequest, detail)
    }

    /// The problem without internal details, such as accounts, files or addresses, which are for owners.
    pub fn redacted(self) -> Problem {
        if !self.is_internal {
            return self;
        }
        let detail = match self.code {
            Code::Integrity => "integrity check failed; tell the owner",
            Code::Alarm => "integrity check failed; nothing is charged until the owner has cleared the alarm",
            Code::Busy => "the ledger cannot be reached right now; nothing was charged, try again in a moment",
            Code::Stopped => "the ledger has stopped and takes no charges; nothing was charged. Tell its owner",
            Code::UnknownOutcome => "it is not known whether the charge was made; ask again with the same key",
            _ => "this cannot be done right now; tell the owner",
        };
        Problem { detail: detail.to_string(), ..self }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)
    }
}

impl From<taximeter_accounting::Error> for Problem {
    fn from(error: taximeter_accounting::Error) -> Problem {
        use taximeter_accounting::ErrorKind::*;
        let parameter = match error.kind() {
            Parameter { name, .. } => Some(name.to_string()),
            ForeignParameter { name, .. } => Some(name.clone()),
            Budget { .. } => Some("budget".to_string()),
            _ => None,
        };
        Problem { parameter, ..Problem::bad_request(error.to_string()) }
    }
}

impl From<taximeter_ledger::Error> for Problem {
    fn from(error: taximeter_ledger::Error) -> Problem {
        use taximeter_ledger::ErrorKind::*;
        let code = match error.kind() {
            Accounting(source) => return source.clone().into(),
            NoAccount { .. } => Code::NoAccount,
            KeyTaken { .. } => Code::KeyReused,
            Busy { .. } | Locked { .. } => Code::Busy,
            Stopped { .. } => Code::Stopped,
            Alarm { .. } => Code::Alarm,
            UnknownOutcome { .. } => Code::UnknownOutcome,
            _ if error.is_input() => Code::BadRequest,
            _ if error.is_integrity() => Code::Integrity,
            _ => Code::Storage,
        };
        let problem = Problem::new(code, error.to_string());
        // Why a store is busy is internal.
        Problem { is_internal: problem.is_internal || code == Code::Busy, ..problem }
    }
}

impl From<taximeter_gate::Error> for Problem {
    fn from(error: taximeter_gate::Error) -> Problem {
        use taximeter_gate::ErrorKind::*;
        let (code, parameter) = match error.kind() {
            Ledger(source) => return source.clone().into(),
            NoDataset { .. } => (Code::NoDataset, None),
            NoPublicTable { .. } => (Code::NotFound, None),
            PublicTableExists { .. } => (Code::BadRequest, Some("replace")),
            KeyTaken { .. } => (Code::KeyReused, None),
            DatasetExists { .. } | NoEarlierVersion { .. } | NoTable { .. } => (Code::BadRequest, Some("new_version")),
            NoPayer { .. } | PayerExists { .. } => (Code::BadRequest, Some("budget")),
            OtherPrivacy { .. } => (Code::BadRequest, Some("unit")),
            NoReuse { .. } => (Code::BadRequest, Some("reuse")),
            HeaderEncoding { .. } => (Code::BadRequest, Some("encoding")),
            BadRows { bad, .. } if bad.iter().any(|row| row.is_not_utf8) => (Code::BadRequest, Some("encoding")),
            BadRows { .. } => (Code::BadRequest, Some("skip_bad_rows")),
            Schema { .. } => (Code::BadRequest, Some("schema")),
            Input { parameter: parameter @ "threshold", .. } => (Code::BadRequest, Some(*parameter)),
            Busy { .. } | DataAway { .. } | UnderWay { .. } => (Code::Busy, None),
            Integrity { .. } => (Code::Integrity, None),
            _ if error.is_input() => (Code::BadRequest, None),
            _ => (Code::Storage, None),
        };
        let (position, parameter) = (error.position(), parameter.map(str::to_string));
        Problem { position, parameter, ..Problem::new(code, error.to_string()) }
    }
}

#[cfg(test)]
mod tests {
    use taximeter_ledger::{Error, ErrorKind};

    use super::*;

    /// An analyst once saw a message of PostgreSQL.
    #[test]
    fn messages_of_a_database_are_for_owners_and_others_learn_that_nothing_was_charged() {
        let said = "PostgreSQL: error connecting to server: Connection refused (os error 111)";
        let problem = Problem::from(Error::from(ErrorKind::Busy(said.to_string())));
        assert_eq!((problem.code, problem.status), (Code::Busy, 503));
        assert!(problem.detail.contains(said));
        let detail = problem.redacted().detail;
        assert!(detail.contains("nothing was charged") && detail.contains("try again"), "{detail}");
        assert!(!detail.contains("PostgreSQL") && !detail.contains("111"), "{detail}");
    }

    #[test]
    fn messages_of_the_server_itself_are_for_all() {
        let problem = Problem::new(Code::Busy, "too many questions are being answered; nothing was charged");
        assert_eq!(problem.clone().redacted().detail, problem.detail);
    }
}
