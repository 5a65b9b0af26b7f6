//! Uploads: files on their way to a registration.

use axum::Json;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use taximeter_service::{Code, Upload};

use crate::access::{Action, Caller};
use crate::extract::is_of_type;
use crate::failure::Failure;
use crate::responses;

/// Upload a CSV file with a header, to register it afterwards. It is forgotten after an hour.
#[utoipa::path(post, path = "/v1/uploads", tag = "datasets", security(("token" = [])),
    request_body(content = serde_json::Value, content_type = "text/csv", description = "The file"),
    responses((status = 201, description = "It is there", body = Upload), responses::Body))]
pub(crate) async fn upload(caller: Caller, request: Request) -> Result<(StatusCode, Json<Upload>), Failure> {
    caller.require(Action::ChangeDatasets)?;
    if !is_of_type(request.headers(), "text/csv") {
        return Err(Failure::new(
            Code::UnsupportedMediaType,
            "an upload must be a CSV file; send it with `Content-Type: text/csv`",
        ));
    }
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length| caller.state.uploads.is_too_large(length)) {
        return Err(caller.state.uploads.too_large().into());
    }
    let upload = caller.state.uploads.receive(request.into_body(), caller.state.settings.arrival).await?;
    Ok((StatusCode::CREATED, Json(upload)))
}
