//! Problems as responses.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use taximeter_service::{Code, Problem};

/// A request that failed, answered with a problem document (RFC 9457).
#[derive(Debug)]
pub(crate) struct FailedResponse(Box<Problem>);

impl FailedResponse {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> FailedResponse {
        FailedResponse(Box::new(Problem::new(code, detail)))
    }
}

impl<T: Into<Problem>> From<T> for FailedResponse {
    fn from(problem: T) -> FailedResponse {
        FailedResponse(Box::new(problem.into()))
    }
}

impl IntoResponse for FailedResponse {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
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
        // For the log, which records codes and no details.
        response.extensions_mut().insert(self.0.code);
        response
    }
}
