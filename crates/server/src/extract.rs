//! Extractors for the parts of a request, with problem documents as errors.

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use taximeter_dashboard::body::{is_of_type, read_whole};
use taximeter_ledger::{AccountName, Key};
use taximeter_service::{Code, Settings};

use crate::app::AppState;
use crate::failure::FailedResponse;

/// A JSON body.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<AppState> for JsonBody<T> {
    type Rejection = FailedResponse;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, FailedResponse> {
        if !is_of_type(request.headers(), "application/json") {
            return Err(FailedResponse::new(
                Code::UnsupportedMediaType,
                "the body must be JSON; send it with `Content-Type: application/json`",
            ));
        }
        let Settings { largest_body, arrival, .. } = state.service.settings;
        let bytes = read_whole(request.into_body(), largest_body, arrival).await?;
        let mut reader = serde_json::Deserializer::from_slice(&bytes);
        let body = serde_path_to_error::deserialize(&mut reader).map_err(|error| match error.path().iter().next() {
            Some(_) => unreadable(&format!(", at {}", error.path()), error.inner()),
            None => unreadable("", error.inner()),
        })?;
        reader.end().map_err(|error| unreadable("", &error))?;
        Ok(JsonBody(body))
    }
}

/// An error in a body, with its location. Both are shortened: they may be as long as the body.
fn unreadable(at: &str, why: &serde_json::Error) -> FailedResponse {
    let short = |text: &str| text.chars().take(300).collect::<String>();
    let (at, why) = (short(at), short(&why.to_string()));
    FailedResponse::new(Code::BadRequest, format!("the body{at}: {why}; /openapi.json describes it"))
}

/// The variable part of a path.
pub(crate) struct Segment(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = FailedResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, FailedResponse> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| FailedResponse::new(Code::BadRequest, "the name in the path is not UTF-8 text"))?;
        Ok(Segment(text))
    }
}

/// The name of an account or a dataset in the path, with its slashes as %2F.
pub(crate) struct Name(pub(crate) AccountName);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = FailedResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, FailedResponse> {
        let Segment(text) = Segment::from_request_parts(parts, state).await?;
        Ok(Name(AccountName::parse(&text)?))
    }
}

/// The query parameters.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = FailedResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, FailedResponse> {
        let Query(parameters) = Query::from_request_parts(parts, state)
            .await
            .map_err(|error| FailedResponse::new(Code::BadRequest, format!("the query: {}", error.body_text())))?;
        Ok(Parameters(parameters))
    }
}

/// The idempotency key of a request, or a new one.
pub(crate) struct IdempotencyKey(pub(crate) Key);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = FailedResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, FailedResponse> {
        match one_header(&parts.headers, "idempotency-key")? {
            Some(text) => Ok(IdempotencyKey(Key::parse("Idempotency-Key", text)?)),
            None => Ok(IdempotencyKey(Key::generate()?)),
        }
    }
}

/// A header that may be sent once.
fn one_header<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, FailedResponse> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => str::from_utf8(value.as_bytes())
            .map(Some)
            .map_err(|_| FailedResponse::new(Code::BadRequest, format!("the header {name} is not UTF-8 text"))),
        (Some(_), Some(_)) => {
            Err(FailedResponse::new(Code::BadRequest, format!("the header {name} is sent twice; send it once")))
        }
    }
}
