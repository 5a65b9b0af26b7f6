//! The style, the script and the icon, which are part of the program.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use taximeter_api::Code;

use crate::failure::Failure;

/// A file that pages need.
struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

const ASSETS: [Asset; 3] = [
    Asset {
        name: "style.css",
        kind: "text/css; charset=utf-8",
        text: concat!(
            include_str!("assets/style.css"),
            include_str!("assets/accounts.css"),
            include_str!("assets/questions.css"),
            include_str!("assets/owner.css")
        ),
    },
    Asset { name: "dashboard.js", kind: "text/javascript; charset=utf-8", text: include_str!("assets/dashboard.js") },
    Asset { name: "icon.svg", kind: "image/svg+xml", text: include_str!("assets/icon.svg") },
];

/// What the path of an asset has in it, so that a newer program's are not taken for an older one's.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    for asset in &ASSETS {
        hasher.update(asset.text.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_string()
});

/// The path of an asset.
pub(super) fn path(name: &str) -> String {
    format!("/assets/{}/{name}", *VERSION)
}

/// Sends an asset. It has no secrets, and may be kept for as long as anybody likes.
pub(super) async fn asset(Path((version, file)): Path<(String, String)>) -> Response {
    match ASSETS.iter().find(|asset| asset.name == file && version == *VERSION) {
        Some(asset) => {
            let headers =
                [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
            (headers, asset.text).into_response()
        }
        None => Failure::new(Code::NotFound, "there is no such file; open the page again").into_response(),
    }
}
