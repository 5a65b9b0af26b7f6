//! Charges, quotes and receipts.

use taximeter_ledger::{Charge, Error, ErrorKind, Key, Outcome, Receipt, Refusal};

use crate::caller::{Action, Caller, to_the_end};
use crate::limits::Permit;
use crate::{ChargeRequest, Charged, Code, Committed, Problem, QuoteDocument, ReceiptDocument, Refused, Sight};

impl Caller {
    /// Charges accounts, together with all above them. Repeated with the same key, it charges once. A refusal is a problem that
    /// carries it.
    pub async fn charge(&self, key: Key, mut request: ChargeRequest) -> Result<Charged, Problem> {
        self.require(Action::Charge)?;
        self.require_own(&request.accounts)?;
        request.by = Some(self.signature(request.by.as_ref())?);
        let charge = request.charge(self.key(&key)?)?;
        let turn = self.turn(work(&request)).await;
        to_the_end(self.clone().charged(key, charge, turn)).await
    }

    /// Charges, and holds the principal's turn until all of the work is done.
    async fn charged(self, key: Key, charge: Charge, _turn: Permit) -> Result<Charged, Problem> {
        let ledger = self.ledger();
        let outcome = ledger.charge_async(charge).await;
        let outcome = outcome.map_err(|error| self.redact(with_key(error, self.sight(), &key)))?;
        let (outcome, receipt) = match &outcome {
            Outcome::Charged(fresh) => (Committed::Now, fresh.receipt()),
            Outcome::Replayed(receipt) => (Committed::Before, receipt),
            // Computing the largest cost that fits is slow.
            Outcome::Refused(refusal) => {
                let refusal = refusal.clone();
                return Err(self.blocking(move |caller| Ok(refused(&refusal, caller.sight()))).await?);
            }
        };
        let charged = Charged::new(outcome, key.as_str(), receipt, ledger, self.sight());
        charged.map_err(|error| self.redact(error.into()))
    }

    /// The effect that a charge would have. Charges nothing.
    pub async fn quote(&self, mut request: ChargeRequest) -> Result<QuoteDocument, Problem> {
        self.require(Action::SeeAccounts)?;
        self.require_own(&request.accounts)?;
        request.by = Some(self.signature(request.by.as_ref())?);
        let charge = request.charge(Key::generate()?)?;
        let slot = self.quote_slot()?;
        let turn = self.turn(work(&request)).await;
        self.refresh().await?;
        let quote = move |caller: &Caller| {
            // Held to the end of the work: a quote counts even if its caller hangs up.
            let _held = (slot, turn);
            let quote = caller.ledger().quote(&charge).map_err(|error| hide_unseen(error, caller.sight()))?;
            Ok(QuoteDocument::new(quote, caller.sight()))
        };
        self.blocking(quote).await
    }

    /// A record of the journal by its number, without what the caller may not see.
    pub async fn receipt(&self, sequence: u64) -> Result<ReceiptDocument, Problem> {
        Ok(ReceiptDocument::new(&self.seen_receipt(sequence).await?, self.sight()))
    }

    /// The record of one of the caller's charges, by its key.
    pub async fn receipt_of(&self, key: &Key) -> Result<ReceiptDocument, Problem> {
        Ok(ReceiptDocument::new(&self.own_receipt(key).await?, self.sight()))
    }

    /// A record about accounts of the caller.
    pub(crate) async fn seen_receipt(&self, sequence: u64) -> Result<Receipt, Problem> {
        self.require(Action::SeeAccounts)?;
        self.refresh().await?;
        let look = move |caller: &Caller| {
            let (ledger, sight) = (caller.ledger(), caller.sight());
            let is_own = |receipt: &Receipt| receipt.after().iter().any(|after| sight.owns(&after.account));
            // The witnesses are asked about records that the caller may see: their absence tells that a record exists.
            let is_seen = *sight == Sight::All || ledger.records(sequence, 1)?.first().is_some_and(is_own);
            Ok(if is_seen { ledger.receipt(sequence)? } else { None })
        };
        // The same error whether or not the record exists.
        self.blocking(look).await?.ok_or_else(|| {
            let detail = format!("record {sequence} not found, or not about accounts of the token");
            Problem::new(Code::NotFound, detail)
        })
    }

    /// The record of one of the caller's charges.
    pub(crate) async fn own_receipt(&self, key: &Key) -> Result<Receipt, Problem> {
        self.require(Action::SeeAccounts)?;
        let (own, key) = (key.clone(), self.key(key)?);
        self.refresh().await?;
        let look = move |caller: &Caller| {
            caller.ledger().receipt_of(&key).map_err(|error| with_key(error, caller.sight(), &own))
        };
        self.blocking(look).await?.ok_or_else(|| {
            let detail = format!("{} has charged nothing under this key", self.token().principal);
            Problem::new(Code::NotFound, detail)
        })
    }
}

/// The work of a charge or a quote: every cost is priced for every account.
fn work(request: &ChargeRequest) -> u64 {
    (request.accounts.len() * request.costs.len()) as u64
}

/// A refusal as a problem.
pub(crate) fn refused(refusal: &Refusal, sight: &Sight) -> Problem {
    let refusal = Refused::new(refusal, sight);
    let by = refusal.refused.iter().map(|refused| match &refused.account {
        Some(account) => format!("{account}: {}", refused.reason),
        None => refused.reason.clone(),
    });
    let detail = format!("nothing was charged; {}", by.collect::<Vec<_>>().join("; "));
    Problem { refusal: Some(refusal), ..Problem::new(Code::Refused, detail) }
}

/// An error of a charge. It has the caller's own key if a retry with that key tells the outcome.
pub(crate) fn with_key(error: Error, sight: &Sight, key: &Key) -> Problem {
    let problem = match error.kind() {
        ErrorKind::KeyTaken { record, .. } => {
            Error::from(ErrorKind::KeyTaken { key: key.clone(), record: *record }).into()
        }
        _ => hide_unseen(error, sight),
    };
    let tells = matches!(problem.code, Code::UnknownOutcome | Code::KeyReused);
    Problem { key: tells.then(|| key.to_string()), ..problem }
}

/// An error about an account that the caller may not see names neither the account nor its rule.
pub(crate) fn hide_unseen(error: Error, sight: &Sight) -> Problem {
    match error.kind() {
        ErrorKind::UnsupportedCost { account, .. } if !sight.sees(account) => Problem::bad_request(
            "an account above has no theorem for a cost of this kind; ask its owner which it takes",
        ),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;

    use taximeter_gate::Gate;
    use taximeter_ledger::{AccountName, Cosigner, Ledger, LedgerId, Location, Options, Signing};
    use taximeter_testing::PATIENCE;
    use taximeter_transparency::{Checkpoint, CosignRequest, KeyUse, SecretKey};

    use super::*;
    use crate::{Log, LogForm, NewAccount, NewToken, RecordDocument, Role, Service, Settings, TokenPlace, Tokens};

    fn request() -> ChargeRequest {
        serde_json::from_str(r#"{"accounts":["census"],"costs":[{"epsilon":"0.01"}]}"#).unwrap()
    }

    fn key() -> Key {
        Key::generate().unwrap()
    }

    /// A service with the account `census`, and two analysts who may charge it.
    fn callers() -> (tempfile::TempDir, Arc<Service>, [Caller; 2]) {
        callers_with(|_| None)
    }

    /// The same, with witnesses for the ledger.
    fn callers_with(
        signing: impl FnOnce(LedgerId) -> Option<Arc<Signing>>,
    ) -> (tempfile::TempDir, Arc<Service>, [Caller; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("taximeter.db"));
        let id = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap().id();
        let ledger = Ledger::open(&location, Options { signing: signing(id), ..Options::default() }).unwrap();
        let account = r#"{"account":"census","filter":{"budget":{"epsilon":"1","delta":"1e-6"}}}"#;
        let account: NewAccount = serde_json::from_str(account).unwrap();
        ledger.open_account(account.spec(None).unwrap()).unwrap();
        let tokens = Tokens::open(&TokenPlace::of(&location), ledger.id()).unwrap();
        let gate = Gate::open(&folder.path().join("gate"), ledger).unwrap();
        let service = Service::new(gate, tokens, Log::new(LogForm::Off), Settings::default()).unwrap();
        let callers = ["mallory", "bob"].map(|principal| {
            let (principal, accounts) = (principal.to_string(), vec![AccountName::parse("census").unwrap()]);
            let (role, datasets) = (Role::Analyst, vec![AccountName::parse("people").unwrap()]);
            let (sees_above, expires) = (false, None);
            let new = NewToken { principal, role, accounts, datasets, sees_above, expires };
            let token = service.tokens.find(&service.tokens.create(&new).unwrap().secret).unwrap();
            Caller::admit(&service, token, None).unwrap()
        });
        (folder, service, callers)
    }

    /// Waits until something holds, and lets others work meanwhile.
    async fn until(what: &str, holds: impl Fn() -> bool) {
        let waiting = async {
            while !holds() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited {PATIENCE:?} until {what}"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_charge_counts_until_its_work_has_ended_even_if_its_caller_hangs_up() {
        let (_folder, service, [mallory, _]) = callers();
        let ledger = service.ledger().clone();
        let before = ledger.position().sequence;
        // The writer waits for a reader of the books.
        let ((looks, looked), (let_go, held)) = (channel(), channel());
        let looking = std::thread::spawn(move || {
            ledger.look(&AccountName::parse("census").unwrap(), |_| {
                looks.send(()).unwrap();
                held.recv().unwrap();
            })
        });
        looked.recv().unwrap();
        let charging = tokio::spawn(async move { mallory.charge(key(), request()).await });
        until("the charge is under way", || service.work.busy() > 0).await;
        charging.abort();
        assert!(charging.await.unwrap_err().is_cancelled());
        assert!(service.work.busy() > 0, "the writer is still at it");
        let_go.send(()).unwrap();
        looking.join().unwrap().unwrap();
        until("its work has ended", || service.work.busy() == 0).await;
        assert_eq!(service.ledger().position().sequence, before + 1, "and it is charged");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_flood_of_quotes_does_not_block_the_charges_of_others() {
        let (_folder, service, [mallory, bob]) = callers();
        // Mallory has the most work under way, and the most quotes waiting for it.
        let busy = service.work.take("mallory", u64::MAX).await;
        let quote = || {
            let mallory = mallory.clone();
            tokio::spawn(async move { mallory.quote(request()).await.map(|_| ()) })
        };
        let quotes: Vec<_> = (0..Settings::default().quotes_at_once).map(|_| quote()).collect();
        until("the quotes wait for her own work", || service.work.waiting() == quotes.len()).await;
        assert_eq!(quote().await.unwrap().unwrap_err().code, Code::TooManyRequests);
        assert_eq!(bob.charge(key(), request()).await.unwrap().outcome, Committed::Now);
        assert!(bob.quote(request()).await.is_ok());
        assert!(quotes.iter().all(|quote| !quote.is_finished()), "the quotes wait for her own work alone");
        drop(busy);
        for quote in quotes {
            assert!(quote.await.unwrap().is_ok());
        }
    }

    /// A ledger's signing, with one witness that must cosign, while it is up.
    fn with_a_witness(ledger: LedgerId, is_up: &Arc<AtomicBool>) -> Arc<Signing> {
        let signer = SecretKey::generate(&Checkpoint::origin_of(&ledger.to_string()), KeyUse::Sign).unwrap();
        let witness = SecretKey::generate("witness.example", KeyUse::Cosign).unwrap();
        let cosigner = Cosigner { url: String::new(), key: witness.public().clone() };
        let is_up = Arc::clone(is_up);
        let send = move |_: &str, body: &str, _| match is_up.load(Ordering::SeqCst) {
            true => Ok((200, CosignRequest::parse(body).unwrap().cosign(&witness, 7).to_string())),
            false => Err("it is switched off".to_string()),
        };
        Arc::new(Signing { signers: vec![signer], cosigners: vec![cosigner], required: 1, send: Box::new(send) })
    }

    /// The outcome of a charge was unknown, because a witness was away, and yet its receipt was shown.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_receipt_waits_for_the_witnesses_as_its_charge_does() {
        let is_up = Arc::new(AtomicBool::new(true));
        let (_folder, service, [mallory, _]) = callers_with(|ledger| Some(with_a_witness(ledger, &is_up)));
        is_up.store(false, Ordering::SeqCst);
        let key = key();
        let charged = mallory.charge(key.clone(), request()).await.unwrap_err();
        let sequence = service.ledger().position().sequence;
        let (by_key, by_number) =
            (mallory.receipt_of(&key).await.unwrap_err(), mallory.receipt(sequence).await.unwrap_err());
        for unknown in [&charged, &by_key, &by_number] {
            assert_eq!(unknown.code, Code::UnknownOutcome, "{unknown}");
        }
        assert_eq!(by_key.key, Some(key.to_string()), "the same key tells later");
        let history =
            async || mallory.history(&AccountName::parse("census").unwrap(), None, None).await.unwrap().records;
        let is_withheld = |record: &RecordDocument| match record.waits_for_witnesses {
            true => record.hash.is_none() && record.record.is_none(),
            false => false,
        };
        assert_eq!(history().await.iter().map(is_withheld).collect::<Vec<_>>(), [true, false]);
        assert!(mallory.receipt(sequence - 1).await.is_ok(), "what the witness knows is shown");
        is_up.store(true, Ordering::SeqCst);
        until("the witness is asked again", || service.ledger().health().is_ok()).await;
        assert_eq!(mallory.receipt_of(&key).await.unwrap().sequence, sequence);
        assert_eq!(mallory.receipt(sequence).await.unwrap().sequence, sequence);
        assert!(history().await.iter().all(|record| record.record.is_some() && !record.waits_for_witnesses));
    }

    /// One row whose receipt could not be shown was an error instead of the page.
    #[tokio::test(flavor = "multi_thread")]
    async fn earlier_answers_are_listed_while_one_of_them_waits_for_witnesses() {
        let is_up = Arc::new(AtomicBool::new(true));
        let (folder, _service, [mallory, _]) = callers_with(|ledger| Some(with_a_witness(ledger, &is_up)));
        let answers = rusqlite::Connection::open(folder.path().join("gate/gate.db")).unwrap();
        for (at, name) in ["first", "second"].into_iter().enumerate() {
            is_up.store(at == 0, Ordering::SeqCst);
            let charged = mallory.charge(Key::parse("key", name).unwrap(), request()).await;
            assert_eq!(charged.is_ok(), at == 0);
            let row = "INSERT INTO answers VALUES (?1, '', 'census', 'people', 1, NULL, '2026-01-01T00:00:00Z')";
            answers.execute(row, [format!("mallory:{name}")]).unwrap();
        }
        let (listed, _) = mallory.answers(None).await.unwrap();
        let of = |key: &str| listed.iter().find(|answer| answer.key == key).unwrap();
        assert!(of("second").waits_for_witnesses && of("second").charge.is_none());
        assert!(!of("first").waits_for_witnesses && of("first").sequence.is_some());
        let failed = mallory.own_answer_of("second").await.err().unwrap();
        assert_eq!(failed.code, Code::UnknownOutcome);
    }

    #[tokio::test]
    async fn internal_details_are_for_owners_only() {
        let (_folder, service, [analyst, _]) = callers();
        let token = |role| NewToken {
            principal: format!("the-{role:?}"),
            role,
            accounts: Vec::new(),
            datasets: Vec::new(),
            sees_above: false,
            expires: None,
        };
        let [owner, auditor] = [Role::Owner, Role::Auditor].map(|role| {
            let secret = service.tokens.create(&token(role)).unwrap().secret;
            Caller::admit(&service, service.tokens.find(&secret).unwrap(), None).unwrap()
        });
        let said = "PostgreSQL at 10.0.0.7 refused the connection";
        for (caller, is_told) in [(&owner, true), (&auditor, false), (&analyst, false)] {
            let failure = caller.blocking(move |_| Err::<(), _>(Problem::new(Code::Storage, said))).await.unwrap_err();
            assert_eq!((failure.code, failure.detail.contains("10.0.0.7")), (Code::Storage, is_told), "{failure}");
        }
    }
}
