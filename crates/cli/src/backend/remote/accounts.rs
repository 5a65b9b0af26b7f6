//! Accounts and their journal at a server.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use serde::Deserialize;
use taximeter_ledger::{AccountName, Key, LedgerId, Position, Signing};
use taximeter_service::{
    AccountDocument, AccountList, ChargeOutcome, ChargeRequest, CheckpointDocument, CloseRequest, Closed, Code,
    ConsistencyProof, HistoryDocument, LedgerDocument, NewAccount, Opened, Problem, QuoteDocument, ReceiptProof,
    VerifyDocument, VerifyState,
};

use super::exchange::Call;
use super::{Remote, segment};
use crate::backend::AccountBackend;
use crate::ledger::proof::RecordChoice;
use crate::output::{Failure, usage};

/// The largest number of records in one answer of a server.
const HISTORY_PART: usize = 1000;

/// The interval between requests for the state of a verification.
const POLL: Duration = Duration::from_millis(100);

/// The longest line of an export, in bytes. Any record is much shorter.
const LONGEST_LINE: u64 = 16 << 20;

impl AccountBackend for Remote {
    fn accounts(&self) -> Result<AccountList, Failure> {
        self.document(&Call::get("/v1/accounts"))
    }

    fn account(&self, name: &AccountName) -> Result<AccountDocument, Failure> {
        self.document(&Call::get(format!("/v1/accounts/{}", segment(name))))
    }

    fn open_account(&self, account: &NewAccount) -> Result<Opened, Failure> {
        // A server has a ledger already.
        let opened = self.document(&Call::post("/v1/accounts", account)?)?;
        Ok(Opened { ledger_created: Some(false), ..opened })
    }

    fn close_account(&self, name: &AccountName, request: &CloseRequest) -> Result<Closed, Failure> {
        self.document(&Call::post(format!("/v1/accounts/{}/close", segment(name)), request)?)
    }

    fn charge(&self, request: &ChargeRequest, key: &Key) -> Result<ChargeOutcome, Failure> {
        let call = Call::post("/v1/charges", request)?.under(key)?;
        match self.answered(&call)? {
            Ok(answer) => Ok(ChargeOutcome::Charged(self.parse(&answer.into_text())?)),
            Err(Problem { code: Code::Refused, refusal: Some(refusal), .. }) => Ok(ChargeOutcome::Refused(refusal)),
            Err(problem) => Err(self.failure(problem, &call)),
        }
    }

    fn quote(&self, request: &ChargeRequest) -> Result<QuoteDocument, Failure> {
        self.document(&Call::post("/v1/quotes", request)?.repeatable())
    }

    fn history(&self, name: &AccountName, from: Option<u64>, most: usize) -> Result<HistoryDocument, Failure> {
        let path = |from: Option<u64>, limit: usize| {
            let from = from.map_or(String::new(), |from| format!("&from={from}"));
            format!("/v1/accounts/{}/history?limit={limit}{from}", segment(name))
        };
        let mut history: HistoryDocument = self.document(&Call::get(path(from, most.min(HISTORY_PART))))?;
        while let Some(next) = history.next.filter(|_| history.records.len() < most) {
            let limit = (most - history.records.len()).min(HISTORY_PART);
            let more: HistoryDocument = self.document(&Call::get(path(Some(next), limit)))?;
            history.records.extend(more.records);
            // A server that always announces more must not cause an endless loop.
            history.next = more.next.filter(|more| *more < next);
        }
        Ok(history)
    }

    fn ledger(&self) -> Result<LedgerDocument, Failure> {
        self.document(&Call::get("/v1/ledger"))
    }

    fn verify(&self, progress: &dyn Fn(f64)) -> Result<VerifyDocument, Failure> {
        let mut verified: VerifyDocument = self.document(&Call::post_empty("/v1/verify").repeatable())?;
        while verified.state == VerifyState::Running {
            progress(verified.done as f64 / verified.of.max(1) as f64);
            sleep(POLL);
            verified = self.document(&Call::get("/v1/verify"))?;
        }
        match verified.state {
            VerifyState::None => {
                Err(Failure::Other("the server has lost the verification, perhaps by a restart; try again".to_string()))
            }
            VerifyState::Failed => {
                let why = verified.reason.unwrap_or("it gives no reason".to_string());
                Err(Failure::Other(format!("the server could not verify the journal: {why}")))
            }
            _ => Ok(verified),
        }
    }

    fn receipt_proof(&self, record: &RecordChoice) -> Result<ReceiptProof, Failure> {
        self.document(&Call::get(match record {
            RecordChoice::Sequence(sequence) => format!("/v1/receipts/{sequence}/proof"),
            RecordChoice::Key(key) => format!("/v1/receipts/proof?key={}", escaped(key.as_str())),
        }))
    }

    fn checkpoint(&self) -> Result<CheckpointDocument, Failure> {
        self.document(&Call::get("/v1/checkpoint"))
    }

    fn make_checkpoint(&self, signing: Option<Arc<Signing>>) -> Result<CheckpointDocument, Failure> {
        match signing {
            None => self.document(&Call::post_empty("/v1/checkpoint")),
            Some(_) => Err(usage("the server signs with its own key; omit --checkpoint-key and --cosigner")),
        }
    }

    fn consistency_proof(&self, from: u64) -> Result<ConsistencyProof, Failure> {
        self.document(&Call::get(format!("/v1/checkpoint/proof?from={from}")))
    }

    fn export(&self, out: &mut dyn Write, progress: &dyn Fn(f64)) -> Result<(LedgerId, Position), Failure> {
        let LedgerDocument { ledger, records, .. } = self.ledger()?;
        let mut lines = BufReader::new(self.stream("/v1/export")?);
        let (mut line, mut last) = (Vec::new(), Vec::new());
        for count in 0u64.. {
            line.clear();
            let read = lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
            read.map_err(|error| Failure::Other(format!("{CUT_OFF}: {error}; try again")))?;
            if line.is_empty() {
                break;
            }
            out.write_all(&line)?;
            std::mem::swap(&mut line, &mut last);
            progress(count as f64 / records.max(1) as f64);
        }
        out.flush()?;
        let End { end } = serde_json::from_slice(&last).map_err(|_| Failure::Other(format!("{CUT_OFF}; try again")))?;
        Ok((ledger, end))
    }
}

const CUT_OFF: &str = "the export was cut off: the journal is incomplete";

/// The last line of an export.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    end: Position,
}

/// A text in a query, with everything escaped that is not a letter, a digit or one of `-._~`.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
