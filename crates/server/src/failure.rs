//! Problems as responses, in words that are for whoever asked.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use taximeter_service::{Code, Problem};

use crate::trace::Trace;

/// A request that came to nothing, as a problem document.
#[derive(Clone, Debug)]
pub(crate) struct Failure(pub(crate) Box<Problem>);

impl Failure {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Failure {
        Failure(Box::new(Problem::new(code, detail)))
    }

    /// What went wrong inside is told to owners alone; others learn that it did, and what to do.
    pub(crate) fn told_to(self, is_owner: bool) -> Failure {
        let Failure(problem) = self;
        match is_owner || !problem.is_internal {
            true => Failure(problem),
            false => Failure(Box::new(Problem { detail: words(problem.code).to_string(), ..*problem })),
        }
    }

    /// The status that says it.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl<T: Into<Problem>> From<T> for Failure {
    fn from(problem: T) -> Failure {
        Failure(Box::new(problem.into()))
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        let headers = response.headers_mut();
        match self.0.code {
            Code::Unauthorized => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Code::TooManyRequests | Code::Busy => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        // For the log, which has codes and no details.
        response.extensions_mut().insert(self.0.code);
        // For an edge that words it differently, or shows a page.
        response.extensions_mut().insert(self);
        response
    }
}

/// Tells what went wrong inside to owners alone; others learn that it did, and what to do.
pub(crate) fn discreet(response: Response, trace: &Trace) -> Response {
    match response.extensions().get::<Failure>().filter(|failure| failure.0.is_internal && !trace.is_owner()) {
        Some(failure) => failure.clone().told_to(false).into_response(),
        None => response,
    }
}

fn words(code: Code) -> &'static str {
    match code {
        Code::Integrity => "records are not what was written; tell the owner",
        Code::Alarm => {
            "a verification found that the ledger is not what was written, and nothing is charged until its owner has cleared the alarm"
        }
        Code::Busy => "the ledger cannot be reached right now; nothing was charged, try again in a moment",
        Code::Stopped => "the ledger has stopped and takes nothing more; nothing was charged. Tell its owner",
        Code::UnknownOutcome => "what came of it is not known; ask again with the same key",
        _ => "this cannot be done right now; tell the owner",
    }
}

#[cfg(test)]
mod tests {
    use taximeter_ledger::{Error, ErrorKind};

    use super::*;

    /// Once an analyst was told what PostgreSQL had said.
    #[test]
    fn what_a_database_says_is_for_owners_and_others_learn_that_nothing_was_charged() {
        let said = "PostgreSQL: error connecting to server: Connection refused (os error 111)";
        let failure = Failure::from(Error::from(ErrorKind::Busy(said.to_string())));
        assert_eq!((failure.0.code, failure.status().as_u16()), (Code::Busy, 503));
        assert!(failure.clone().told_to(true).0.detail.contains(said));
        let detail = failure.told_to(false).0.detail;
        assert!(detail.contains("nothing was charged") && detail.contains("try again"), "{detail}");
        assert!(!detail.contains("PostgreSQL") && !detail.contains("111"), "{detail}");
    }

    #[test]
    fn what_a_server_says_of_itself_is_for_all() {
        let failure = Failure::new(Code::Busy, "too many questions are being answered; nothing was charged");
        assert_eq!(failure.clone().told_to(false).0.detail, failure.0.detail);
    }
}
