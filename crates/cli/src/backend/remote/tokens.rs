//! Tokens at a server.

use taximeter_service::{CreatedToken, NewToken, TokenDocument, TokenList};

use super::Remote;
use super::exchange::Call;
use crate::backend::TokenBackend;
use crate::output::{Failure, usage};

impl TokenBackend for Remote {
    fn tokens(&self) -> Result<TokenList, Failure> {
        self.document(&Call::get("/v1/tokens"))
    }

    fn create_token(&self, token: &NewToken) -> Result<CreatedToken, Failure> {
        self.document(&Call::post("/v1/tokens", token)?)
    }

    fn revoke_token(&self, id: &str) -> Result<TokenDocument, Failure> {
        // A text that is not an id may be the token itself, and is not sent.
        if id.len() != 16 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(usage("this is not the id of a token: an id has 16 digits, as in `token list`"));
        }
        self.document(&Call::post_empty(format!("/v1/tokens/{id}/revoke")))
    }
}
