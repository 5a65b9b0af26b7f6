//! Tokens at a server.

use taximeter_service::{CreatedToken, NewToken, TokenDocument, TokenList};

use super::Client;
use super::exchange::Call;
use crate::office::Tokens;
use crate::output::Failure;

impl Tokens for Client {
    fn tokens(&self) -> Result<TokenList, Failure> {
        self.document(&Call::get("/v1/tokens"))
    }

    fn create_token(&self, token: &NewToken) -> Result<CreatedToken, Failure> {
        self.document(&Call::post("/v1/tokens", token)?)
    }

    fn revoke_token(&self, id: &str) -> Result<TokenDocument, Failure> {
        // What is not an id may be the token itself, and is not sent.
        if id.len() != 16 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Failure::Usage(
                "a token's id has 16 digits, as `token list` shows them; this is none".to_string(),
            ));
        }
        self.document(&Call::post_empty(format!("/v1/tokens/{id}/revoke")))
    }
}
