//! The style sheet, the script and the icon, embedded in the program.

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
    // Built once, and used as long as the program runs.
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

/// Style rules that show only the numbers of the chosen kind of cost, for browsers with `:has`.
fn cost_numbers() -> String {
    let forms = CostKind::ALL.into_iter().flat_map(|kind| kind.forms());
    let selectors = forms
        .map(|CostForm { name, .. }| format!(".cost:has(option[value=\"{name}\"]:checked) [data-kinds~=\"{name}\"]"));
    let selectors = selectors.collect::<Vec<_>>().join(",\n  ");
    format!(
        "@supports selector(:has(*)) {{\n  .cost .number-of-kind {{ display: none; }}\n  {selectors} {{ display: block; }}\n}}\n"
    )
}

/// A hash in the path of every asset, so that caches do not mix versions.
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

/// Sends an asset. It has no secrets and may be cached forever.
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
