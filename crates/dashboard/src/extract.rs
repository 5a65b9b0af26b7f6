//! What is taken out of the address of a page. A part that cannot be used is answered with a page that says so.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use taximeter_ledger::AccountName;
use taximeter_service::Problem;

use crate::page::ProblemPage;

/// The one part of the path that is not fixed.
pub(crate) struct Segment(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = ProblemPage;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemPage> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = text.map_err(|_| page("the name in the path is not UTF-8 text"))?;
        Ok(Segment(text))
    }
}

/// The name of an account or a dataset in the path, with its slashes as %2F.
pub(crate) struct Name(pub(crate) AccountName);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = ProblemPage;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemPage> {
        let Segment(text) = Segment::from_request_parts(parts, state).await?;
        AccountName::parse(&text).map(Name).map_err(|error| ProblemPage(error.into()))
    }
}

/// The parameters behind the question mark.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = ProblemPage;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemPage> {
        let parameters = Query::from_request_parts(parts, state).await;
        let Query(parameters) = parameters.map_err(|error| page(format!("the query: {}", error.body_text())))?;
        Ok(Parameters(parameters))
    }
}

fn page(detail: impl Into<String>) -> ProblemPage {
    ProblemPage(Problem::bad_request(detail))
}
