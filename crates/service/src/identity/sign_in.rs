//! Signing in by the authorization code flow with PKCE (RFC 6749, RFC 7636, OpenID Connect Core 1.0).
//!
//! A browser is sent to the issuer with a state, a nonce and the hash of a verifier, and comes back with a code. The code and the
//! verifier are redeemed for an id token, which must repeat the nonce. The caller binds state, nonce and verifier to the browser.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::Deserialize;

use super::Issuer;
use super::http::{IssuerMetadata, IssuerUrl};
use super::jwt::ExpectedClaims;
use crate::{Code, Problem, TokenDocument};

/// The path that the issuer sends browsers back to.
const CALLBACK: &str = "/sign-in/callback";

/// The longest code that is redeemed, in bytes.
const LONGEST_CODE: usize = 4096;

/// How people sign in to the dashboard with an issuer.
#[derive(Clone, Debug)]
pub struct SignInSettings {
    /// The URL of this server, as browsers see it.
    pub public_url: String,
    /// The name of this server at the issuer.
    pub client: String,
    /// The secret that proves it; `None` for a public client, which only PKCE protects.
    pub secret: Option<ClientSecret>,
}

/// A client's secret. It is not shown.
#[derive(Clone)]
pub struct ClientSecret(String);

impl ClientSecret {
    /// A secret, without the line break at its end.
    pub fn new(text: &str) -> Result<ClientSecret, Problem> {
        let text = text.trim_end_matches(['\r', '\n']);
        match !text.is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            true => Ok(ClientSecret(text.to_string())),
            false => {
                Err(Problem::bad_request("the client's secret is empty, or has more than one line of plain characters"))
            }
        }
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl SignInSettings {
    pub(super) fn check(self) -> Result<SignInSettings, Problem> {
        IssuerUrl::parse("the public URL", &self.public_url)?;
        match self.client.is_empty() {
            true => Err(Problem::bad_request("the client's name at the issuer is empty")),
            false => Ok(self),
        }
    }

    fn redirect(&self) -> String {
        format!("{}{CALLBACK}", self.public_url.trim_end_matches('/'))
    }
}

/// The values that identify one sign-in. They are bound to one browser.
pub struct SignInRequest {
    /// Sent to the issuer, which sends it back.
    pub state: String,
    /// Repeated in the id token.
    pub nonce: String,
    /// Kept here; the issuer first gets its hash, and gets the value itself with the code.
    pub verifier: String,
}

/// The part of the issuer's answer that is used.
#[derive(Deserialize)]
struct TokenAnswer {
    id_token: String,
}

impl Issuer {
    /// Whether people can sign in with it.
    pub fn signs_in(&self) -> bool {
        self.sign_in.is_some()
    }

    /// The URL of the issuer's page to sign in.
    pub async fn authorization_url(self: &Arc<Issuer>, request: &SignInRequest) -> Result<String, Problem> {
        let (settings, document) = (self.sign_in_settings()?, self.document().await?);
        let endpoint = document.metadata.authorization_endpoint.as_ref().ok_or_else(|| self.no_sign_in())?;
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, request.verifier.as_bytes()));
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &settings.client)
            .append_pair("redirect_uri", &settings.redirect())
            .append_pair("scope", &self.rules.scope())
            .append_pair("state", &request.state)
            .append_pair("nonce", &request.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .finish();
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        Ok(format!("{endpoint}{separator}{query}"))
    }

    /// Redeems a code for an id token, and returns what its claims grant. The issuer accepts a code once.
    pub async fn redeem(
        self: &Arc<Issuer>,
        code: &str,
        request: &SignInRequest,
        now: Timestamp,
    ) -> Result<Arc<TokenDocument>, Problem> {
        let (settings, document) = (self.sign_in_settings()?, self.document().await?);
        let answer = self.exchange(code, request, settings, &document.metadata).await?;
        let nonce = Some(request.nonce.as_str());
        let expected = ExpectedClaims { issuer: self.url.as_str(), audience: &settings.client, nonce };
        self.verify(&answer.id_token, &expected, now).await
    }

    async fn exchange(
        &self,
        code: &str,
        request: &SignInRequest,
        settings: &SignInSettings,
        metadata: &IssuerMetadata,
    ) -> Result<TokenAnswer, Problem> {
        let refused =
            || Problem::new(Code::Unauthorized, format!("{} did not accept this sign-in; start again", self.name()));
        if code.len() > LONGEST_CODE {
            return Err(refused());
        }
        let endpoint = metadata.token_endpoint.clone().ok_or_else(|| self.no_sign_in())?;
        let mut form = vec![
            ("grant_type", "authorization_code".to_string()),
            ("code", code.to_string()),
            ("redirect_uri", settings.redirect()),
            ("client_id", settings.client.clone()),
            ("code_verifier", request.verifier.clone()),
        ];
        let authorization = match &settings.secret {
            Some(secret) if metadata.takes_secret_in_body() => {
                form.push(("client_secret", secret.0.clone()));
                None
            }
            Some(secret) => Some(basic(&settings.client, secret)),
            None => None,
        };
        let client = self.client.clone();
        let sent = tokio::task::spawn_blocking(move || {
            let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
            client.post(&endpoint, authorization, &form)
        });
        match sent.await {
            Ok(Ok((200, bytes))) => serde_json::from_slice(&bytes).map_err(|_| refused()),
            // The answer's text may repeat what was sent.
            Ok(Ok((400..=499, _))) => Err(refused()),
            Ok(Ok(_) | Err(_)) | Err(_) => Err(self.unavailable()),
        }
    }

    fn sign_in_settings(&self) -> Result<&SignInSettings, Problem> {
        self.sign_in.as_ref().ok_or_else(|| self.no_sign_in())
    }

    fn no_sign_in(&self) -> Problem {
        Problem::new(Code::NotFound, format!("people cannot sign in with {} here; use a token", self.name()))
    }
}

/// The header that proves who the client is: both parts are encoded as in a form (RFC 6749, section 2.3.1).
fn basic(client: &str, secret: &ClientSecret) -> String {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{}", encode(client), encode(&secret.0))))
}
