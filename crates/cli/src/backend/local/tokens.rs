//! Tokens of a ledger on this machine. The ledger is only read: a server may have it open.

use taximeter_service::{CreatedToken, NewToken, TokenDocument, TokenList, warning};
use taximeter_service::{TokenPlace, Tokens as Kept};

use super::Local;
use crate::backend::TokenBackend;
use crate::output::Failure;

impl TokenBackend for Local {
    fn tokens(&self) -> Result<TokenList, Failure> {
        Ok(TokenList { tokens: self.kept()?.list()? })
    }

    fn create_token(&self, token: &NewToken) -> Result<CreatedToken, Failure> {
        let reader = self.read()?;
        let warnings = warning::about_token(token, |name| reader.account(name).is_ok());
        Ok(CreatedToken { warnings, ..self.kept()?.create(token)? })
    }

    fn revoke_token(&self, id: &str) -> Result<TokenDocument, Failure> {
        Ok(self.kept()?.revoke(id)?)
    }
}

impl Local {
    fn kept(&self) -> Result<Kept, Failure> {
        Ok(Kept::open(&TokenPlace::of(&self.location), self.read()?.id())?)
    }
}
