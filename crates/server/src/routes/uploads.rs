//! Uploads of files to register.

use axum::Json;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use taximeter_dashboard::body::is_of_type;
use taximeter_service::{Action, Caller, Code, Upload};

use crate::failure::FailedResponse;
use crate::responses::BodyProblems;

/// Upload a CSV file with a header, to register it afterwards. It expires after an hour.
#[utoipa::path(post, path = "/v1/uploads", tag = "datasets", security(("token" = [])),
    request_body(content = serde_json::Value, content_type = "text/csv", description = "The file"),
    responses((status = 201, description = "The upload", body = Upload), BodyProblems))]
pub(crate) async fn upload(caller: Caller, request: Request) -> Result<(StatusCode, Json<Upload>), FailedResponse> {
    caller.require(Action::ChangeDatasets)?;
    if !is_of_type(request.headers(), "text/csv") {
        return Err(FailedResponse::new(
            Code::UnsupportedMediaType,
            "an upload must be a CSV file; send it with `Content-Type: text/csv`",
        ));
    }
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    caller.require_upload_size(length.unwrap_or(0))?;
    Ok((StatusCode::CREATED, Json(caller.upload(request.into_body().into_data_stream()).await?)))
}
