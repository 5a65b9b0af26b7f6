//! The flags of `taximeter serve` for an OpenID Connect issuer.

use std::path::PathBuf;

use clap::Args;
use taximeter_service::{ClientSecret, OidcSettings, SignInSettings};

use crate::config::variable;
use crate::output::{Failure, usage};

/// The variable with the client's secret.
const SECRET: &str = "TAXIMETER_OIDC_SECRET";

#[derive(Args)]
#[command(next_help_heading = "OpenID Connect")]
pub struct OidcArgs {
    /// Also accept tokens (JWTs) of this OpenID Connect issuer, such as https://login.example.org. Write it exactly as its tokens do
    #[arg(long, value_name = "ISSUER", requires = "audience", requires = "oidc_claims")]
    oidc: Option<String>,
    /// The audience that the issuer's tokens for this server have
    #[arg(long, value_name = "NAME", requires = "oidc")]
    audience: Option<String>,
    /// The file that maps claims to roles, accounts and datasets (TOML); read at the start
    #[arg(long, value_name = "FILE", requires = "oidc")]
    oidc_claims: Option<PathBuf>,
    /// The certificate authorities to trust for the issuer's server, in PEM [default: the public ones]
    #[arg(long, value_name = "FILE", requires = "oidc")]
    oidc_ca: Option<PathBuf>,
    /// The URL of this server as browsers see it: people can then sign in to the dashboard with the issuer, which must allow the
    /// redirect URI URL/sign-in/callback
    #[arg(long, value_name = "URL", requires = "oidc")]
    public_url: Option<String>,
    /// The name of this server at the issuer, for signing in [default: the audience]
    #[arg(long, value_name = "NAME", requires = "public_url")]
    oidc_client: Option<String>,
    /// The file with the client's secret, if the issuer gave it one; or set TAXIMETER_OIDC_SECRET
    #[arg(long, value_name = "FILE", requires = "public_url")]
    oidc_secret_file: Option<PathBuf>,
}

impl OidcArgs {
    /// The issuer, if one is given.
    pub fn settings(&self) -> Result<Option<OidcSettings>, Failure> {
        let (Some(issuer), Some(audience), Some(claims)) = (&self.oidc, &self.audience, &self.oidc_claims) else {
            return Ok(None);
        };
        let sign_in = match &self.public_url {
            Some(url) => Some(SignInSettings {
                public_url: url.clone(),
                client: self.oidc_client.clone().unwrap_or_else(|| audience.clone()),
                secret: self.secret()?,
            }),
            None => None,
        };
        Ok(Some(OidcSettings {
            issuer: issuer.clone(),
            audience: audience.clone(),
            claims: claims.clone(),
            authorities: self.oidc_ca.clone(),
            sign_in,
        }))
    }

    /// The client's secret, from a file or the environment.
    fn secret(&self) -> Result<Option<ClientSecret>, Failure> {
        let text = match (&self.oidc_secret_file, variable(SECRET)) {
            (Some(_), Some(_)) => {
                return Err(usage(format!("both --oidc-secret-file and {SECRET} are given; use one")));
            }
            (Some(file), None) => {
                let cannot = |error| usage(format!("--oidc-secret-file {} cannot be read: {error}", file.display()));
                std::fs::read_to_string(file).map_err(cannot)?
            }
            (None, Some(text)) => text.into_string().map_err(|_| usage(format!("{SECRET} is not text")))?,
            (None, None) => return Ok(None),
        };
        Ok(Some(ClientSecret::new(&text)?))
    }
}
