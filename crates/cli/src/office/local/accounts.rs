//! Accounts and their journal on this machine.

use std::io::Write;

use taximeter_ledger::{AccountName, Error, ErrorKind, Key, Ledger, LedgerId, Position, verify};
use taximeter_service::{
    AccountDocument, AccountList, ChargeOutcome, ChargeRequest, CloseRequest, Closed, HistoryDocument, LedgerDocument,
    NewAccount, Opened, QuoteDocument, Sight, VerifyDocument, WitnessDocument, blocked_by, warning,
};

use super::Local;
use crate::office::Accounts;
use crate::output::Failure;

impl Accounts for Local {
    fn accounts(&self) -> Result<AccountList, Failure> {
        let reader = self.read()?;
        Ok(AccountList::new(reader.id(), reader.accounts(), &Sight::All))
    }

    fn account(&self, name: &AccountName) -> Result<AccountDocument, Failure> {
        let reader = self.read()?;
        let account = reader.account(name)?;
        let blocked_by = blocked_by(account, |name| reader.account(name).ok());
        Ok(AccountDocument::new(account, blocked_by, &Sight::All))
    }

    fn open_account(&self, account: &NewAccount) -> Result<Opened, Failure> {
        let name = &account.account;
        let ledger = self.open_for(name)?;
        let is_new = ledger.position().sequence == 0;
        if is_new {
            self.tell_about_new(&ledger);
        }
        let above = name.parent().and_then(|parent| ledger.account(&parent).ok());
        let receipt = ledger.open_account(account.spec(above.as_ref())?)?;
        Ok(Opened {
            ledger_created: Some(is_new),
            witness: Some(ledger.witness().display().to_string()),
            ..Opened::new(&receipt, &ledger.account(name)?, warning::about_budget(&ledger, name))
        })
    }

    fn close_account(&self, name: &AccountName, request: &CloseRequest) -> Result<Closed, Failure> {
        let ledger = self.write(false)?;
        let receipt = ledger.close_account(name.clone(), request.by.clone(), request.note.clone())?;
        Ok(Closed::new(&receipt, &ledger.account(name)?))
    }

    fn charge(&self, request: &ChargeRequest, key: &Key) -> Result<ChargeOutcome, Failure> {
        let charge = request.charge(key.clone())?;
        let ledger = self.write(false)?;
        // Whoever does not know what came of a charge needs its key to find out.
        let with_key = |error: Error| match error.is_unknown_outcome() {
            true => Failure::Other(format!("{error}: --key {key}")),
            false => error.into(),
        };
        let outcome = ledger.charge(charge).map_err(with_key)?;
        Ok(ChargeOutcome::new(&outcome, key.as_str(), &ledger, &Sight::All)?)
    }

    fn quote(&self, request: &ChargeRequest) -> Result<QuoteDocument, Failure> {
        // The limits of a charge hold for a quote of it; its key is not used.
        let quote = self.read()?.quote(&request.charge(Key::generate()?)?)?;
        Ok(QuoteDocument::new(quote, &Sight::All))
    }

    fn history(&self, name: &AccountName, from: Option<u64>, most: usize) -> Result<HistoryDocument, Failure> {
        let history = self.read()?.history(name, from, most)?;
        Ok(HistoryDocument::new(name, &history, &Sight::All)?)
    }

    fn ledger(&self) -> Result<LedgerDocument, Failure> {
        let reader = self.read()?;
        let (newest, (path, remembers)) = (reader.position(), reader.witness());
        Ok(LedgerDocument {
            ledger: reader.id(),
            location: self.location.to_string(),
            records: newest.sequence + 1,
            accounts: reader.accounts().len(),
            newest,
            witness: WitnessDocument { path: path.display().to_string(), remembers },
        })
    }

    fn verify(&self, progress: &dyn Fn(f64)) -> Result<VerifyDocument, Failure> {
        let result = verify(&self.location, self.witness.as_deref(), &mut |done, of| progress(share(done, of)));
        match result {
            Err(error) if !error.is_integrity() => Err(error.into()),
            result => Ok(VerifyDocument::of(&result)),
        }
    }

    fn export(&self, out: &mut dyn Write, progress: &dyn Fn(f64)) -> Result<(LedgerId, Position), Failure> {
        let mut reader = self.read()?;
        let newest = reader.export(out, &mut |done, of| progress(share(done, of)))?;
        Ok((reader.id(), newest))
    }
}

impl Local {
    /// A ledger is made for the root of a tree only: below another account there must be one.
    fn open_for(&self, name: &AccountName) -> Result<Ledger, Failure> {
        let parent = name.parent();
        Ok(self.write(parent.is_none()).map_err(|error| match (error.kind(), parent) {
            (ErrorKind::NoLedger { .. }, Some(parent)) => ErrorKind::NoParent { account: name.clone(), parent }.into(),
            _ => error,
        })?)
    }
}

/// How much of something is done.
pub(super) fn share(done: u64, of: u64) -> f64 {
    done as f64 / of.max(1) as f64
}
