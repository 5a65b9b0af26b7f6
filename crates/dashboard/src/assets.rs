//! The style, the script and the icon, which are part of the program.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use taximeter_accounting::{CostForm, CostKind};
use taximeter_service::{Code, Problem};

use crate::page::ProblemPage;

/// A file that pages need.
struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    let style = [
        include_str!("assets/style.css"),
        include_str!("assets/accounts.css"),
        include_str!("assets/questions.css"),
        include_str!("assets/owner.css"),
        &cost_numbers(),
    ];
    // Made once, and kept for as long as the program runs.
    let style = Box::leak(style.concat().into_boxed_str());
    [
        Asset { name: "style.css", kind: "text/css; charset=utf-8", text: style },
        Asset {
            name: "dashboard.js",
            kind: "text/javascript; charset=utf-8",
            text: include_str!("assets/dashboard.js"),
        },
        Asset { name: "icon.svg", kind: "image/svg+xml", text: include_str!("assets/icon.svg") },
    ]
});

/// Shows the numbers of the form of cost that is chosen, and no others, where the style can tell.
fn cost_numbers() -> String {
    let forms = CostKind::ALL.into_iter().flat_map(|kind| kind.forms());
    let selectors = forms
        .map(|CostForm { name, .. }| format!(".cost:has(option[value=\"{name}\"]:checked) [data-kinds~=\"{name}\"]"));
    let selectors = selectors.collect::<Vec<_>>().join(",\n  ");
    format!(
        "@supports selector(:has(*)) {{\n  .cost .number-of-kind {{ display: none; }}\n  {selectors} {{ display: block; }}\n}}\n"
    )
}

/// What the path of an asset has in it, so that a newer program's are not taken for an older one's.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    for asset in ASSETS.iter() {
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
        None => ProblemPage(Problem::new(Code::NotFound, "file not found; open the page again")).into_response(),
    }
}
