//! Tokens of a ledger on this machine. The ledger is only read: a server may have it open.

use taximeter_api::{CreatedToken, NewToken, TokenDocument, TokenList};
use taximeter_ledger::AccountName;
use taximeter_server::{TokenPlace, Tokens as Kept};

use super::Local;
use crate::office::Tokens;
use crate::output::{Failure, tell};

impl Tokens for Local {
    fn tokens(&self) -> Result<TokenList, Failure> {
        Ok(TokenList { tokens: self.kept()?.list()? })
    }

    fn create_token(&self, token: &NewToken) -> Result<CreatedToken, Failure> {
        let reader = self.read()?;
        let missing = |names: &[AccountName]| -> Vec<AccountName> {
            names.iter().filter(|name| reader.account(name).is_err()).cloned().collect()
        };
        for name in missing(&token.accounts) {
            tell(&format!(
                "warning: there is no account {name} yet; the token is good for it once `account create` makes it"
            ));
        }
        // A dataset has an account of the same name.
        for name in missing(&token.datasets) {
            tell(&format!(
                "warning: there is no dataset {name} yet; the token is good for it once `dataset add` makes it"
            ));
        }
        Ok(self.kept()?.create(token)?)
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
