//! The OpenAPI document, generated from the code.

use std::fmt::Write;
use std::sync::LazyLock;

use axum::body::Bytes;
use taximeter_service::{Code, Problem};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

/// The parts that all paths share.
#[derive(OpenApi)]
#[openapi(
    components(schemas(Problem)),
    modifiers(&Common),
    tags(
        (name = "accounts", description = "Accounts with their budgets, and their history"),
        (name = "charges", description = "Charges, quotes and receipts"),
        (name = "datasets", description = "Datasets, and the owner's log"),
        (name = "questions", description = "Questions, charged before the data are touched"),
        (name = "ledger", description = "The ledger as a whole: verify, export and signed checkpoints"),
        (name = "tokens", description = "Tokens and roles"),
        (name = "server", description = "Health checks, and this document"),
    )
)]
pub(crate) struct Api;

struct Common;

impl Modify for Common {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        document.info.title = "Taximeter".to_string();
        document.info.description = Some(description());
        let mut bearer = Http::new(HttpAuthScheme::Bearer);
        bearer.description = Some(
            "A token of this server, or, if it accepts an OpenID Connect issuer, a JWT of that issuer.".to_string(),
        );
        let scheme = SecurityScheme::Http(bearer);
        document.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

fn description() -> String {
    let mut text = "One privacy budget, many analysts. Exact amounts are strings. The name of an account or a dataset is one segment of \
                    a path, with its slashes as %2F. Every error is a problem document (RFC 9457) with one of these stable \
                    codes:\n\n| code | status | meaning |\n|---|---|---|\n"
        .to_string();
    for code in Code::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{}` | {} | {} |", code.name(), code.status(), code.title());
    }
    text
}

/// The document, as it is sent.
pub(crate) fn document() -> Bytes {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
        let document = crate::routes::api().into_openapi();
        serde_json::to_vec(&document).expect("the document can be written as JSON").into()
    });
    DOCUMENT.clone()
}
