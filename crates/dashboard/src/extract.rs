//! Extractors for the path of a page. A path that cannot be used gives a page with the problem.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use taximeter_ledger::AccountName;
use taximeter_service::Problem;

use crate::page::ProblemPage;

/// The variable part of a path.
pub(crate) struct PathText(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = ProblemPage;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemPage> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(PathText(text)),
            Err(_) => Err(ProblemPage(Problem::bad_request("the name in the path is not UTF-8 text"))),
        }
    }
}

/// The name of an account or a dataset in the path, with its slashes as %2F.
pub(crate) struct PathName(pub(crate) AccountName);

impl<S: Send + Sync> FromRequestParts<S> for PathName {
    type Rejection = ProblemPage;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemPage> {
        let PathText(text) = PathText::from_request_parts(parts, state).await?;
        AccountName::parse(&text).map(PathName).map_err(|error| ProblemPage(error.into()))
    }
}
