//! Accounts and their journal on this machine.

use std::io::Write;
use std::sync::Arc;

use taximeter_ledger::{AccountName, Error, ErrorKind, Key, Ledger, LedgerId, Position, Signing};
use taximeter_service::{
    AccountDocument, AccountList, ChargeOutcome, ChargeRequest, CheckpointDocument, CloseRequest, Closed,
    ConsistencyProof, HistoryDocument, LedgerDocument, NewAccount, Opened, QuoteDocument, ReceiptProof, Sight,
    VerifyDocument, accounts, blocked_by, checkpoints, journal,
};

use super::Local;
use crate::backend::AccountBackend;
use crate::ledger::proof::RecordChoice;
use crate::output::{Failure, usage};

impl AccountBackend for Local {
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
        Ok(Opened {
            ledger_created: Some(is_new),
            witness: Some(ledger.witness().display().to_string()),
            ..accounts::open(&ledger, account)?
        })
    }

    fn close_account(&self, name: &AccountName, request: &CloseRequest) -> Result<Closed, Failure> {
        Ok(accounts::close(&self.write(false)?, name, request.by.clone(), request.note.clone())?)
    }

    fn charge(&self, request: &ChargeRequest, key: &Key) -> Result<ChargeOutcome, Failure> {
        let charge = request.charge(key.clone())?;
        let ledger = self.write(false)?;
        // The key tells later whether the charge was made.
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
        Ok(journal::describe(&self.read()?, &self.location))
    }

    fn verify(&self, progress: &dyn Fn(f64)) -> Result<VerifyDocument, Failure> {
        let result =
            checkpoints::verify(&self.location, self.witness.as_deref(), &mut |done, of| progress(share(done, of)));
        match result {
            Err(error) if !error.is_integrity() => Err(error.into()),
            result => Ok(VerifyDocument::of(&result)),
        }
    }

    fn receipt_proof(&self, record: &RecordChoice) -> Result<ReceiptProof, Failure> {
        let mut reader = self.read()?;
        let (receipt, what) = match record {
            RecordChoice::Sequence(sequence) => (reader.receipt(*sequence)?, format!("there is no record {sequence}")),
            RecordChoice::Key(key) => (reader.receipt_of(key)?, format!("nothing was charged under the key {key:?}")),
        };
        let receipt = receipt.ok_or_else(|| usage(what))?;
        Ok(checkpoints::receipt_proof(&mut reader, &self.location, &receipt)?)
    }

    fn checkpoint(&self) -> Result<CheckpointDocument, Failure> {
        Ok(CheckpointDocument::new(&checkpoints::newest(&self.read()?, &self.location)?))
    }

    fn make_checkpoint(&self, signing: Option<Arc<Signing>>) -> Result<CheckpointDocument, Failure> {
        let signing = signing.or_else(|| self.signing.clone());
        let signing = signing.ok_or_else(|| usage("name a key to sign with: --checkpoint-key FILE"))?;
        let signed = if signing.cosigners.is_empty() {
            checkpoints::make(&mut self.read()?, &self.location, &signing.signers)?
        } else {
            // Opening the ledger has its newest record cosigned.
            let ledger = self.write_with(false, Some(Arc::clone(&signing)))?;
            let signed = ledger.checkpoint()?.ok_or_else(|| Failure::Other("no witness cosigned".to_string()))?;
            checkpoints::keep(&self.location, ledger.id(), &signed, &signing.signers)?;
            signed
        };
        Ok(CheckpointDocument::new(&signed))
    }

    fn consistency_proof(&self, from: u64) -> Result<ConsistencyProof, Failure> {
        Ok(checkpoints::consistency(&mut self.read()?, &self.location, from)?)
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
