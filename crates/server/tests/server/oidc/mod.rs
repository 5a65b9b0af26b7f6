//! Callers that an OpenID Connect issuer vouches for, against a real issuer on loopback.

mod api;
mod sign_in;
mod tls;

use std::path::PathBuf;

use serde_json::{Value, json};
use taximeter_service::{ClientSecret, OidcSettings, Settings, SignInSettings};
use taximeter_testing::TestIssuer;

use crate::fixture::TestServer;

const CLAIMS: &str = r#"
name = "example"
scopes = ["groups"]

[[grant]]
claim = "groups"
value = "owners"
role = "owner"

[[grant]]
claim = "groups"
value = "auditors"
role = "auditor"

[[grant]]
claim = "groups"
value = "above"
role = "analyst"
accounts = ["census/alice"]
datasets = ["census"]
sees_above = true

[[grant]]
claim = "groups"
value = "analysts"
role = "analyst"
accounts = ["census/{name}"]
datasets = ["census"]
"#;

/// A server and its issuer.
pub struct OidcServer {
    pub server: TestServer,
    pub issuer: TestIssuer,
    _folder: tempfile::TempDir,
}

impl OidcServer {
    pub fn new() -> OidcServer {
        OidcServer::with(Settings::default(), None)
    }

    /// With other settings, and a secret that the issuer requires of the server.
    pub fn with(settings: Settings, secret: Option<&str>) -> OidcServer {
        OidcServer::of(TestIssuer::default(), settings, secret, None)
    }

    /// With a given issuer, which is trusted by the authorities in a file.
    fn of(issuer: TestIssuer, settings: Settings, secret: Option<&str>, authorities: Option<PathBuf>) -> OidcServer {
        let folder = tempfile::tempdir().unwrap();
        let claims = folder.path().join("claims.toml");
        std::fs::write(&claims, CLAIMS).unwrap();
        if let Some(secret) = secret {
            issuer.require_secret(secret);
        }
        let oidc = OidcSettings {
            issuer: issuer.name(),
            audience: "taximeter".to_string(),
            claims,
            authorities,
            sign_in: Some(SignInSettings {
                public_url: "https://taximeter.test".to_string(),
                client: "taximeter".to_string(),
                secret: secret.map(|secret| ClientSecret::new(secret).unwrap()),
            }),
        };
        let server = TestServer::with(Settings { oidc: Some(oidc), ..settings });
        OidcServer { server, issuer, _folder: folder }
    }

    /// With callers of the issuer in the place of those with tokens.
    pub fn with_callers() -> OidcServer {
        let mut all = OidcServer::new();
        let people = [
            ("owner", "olga", "owners"),
            ("auditor", "otto", "auditors"),
            ("alice", "alice", "analysts"),
            ("above", "anna", "above"),
        ];
        for (who, name, group) in people {
            let token = all.issuer.token(person(name, group));
            all.server.give(who, token);
        }
        all
    }
}

/// The claims of a person in a group.
fn person(name: &str, group: &str) -> Value {
    json!({ "sub": name, "groups": [group] })
}
