//! The ledger as a whole: its identity, verification and export.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use taximeter_ledger::{LedgerReader, Location};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_stream::wrappers::ReceiverStream;

use crate::caller::{Action, Caller};
use crate::service::EXPORTS;
use crate::{Code, LedgerDocument, Problem, VerifyDocument, WitnessDocument};

/// The identity, location and newest record of a ledger.
pub fn describe(reader: &LedgerReader, location: &Location) -> LedgerDocument {
    let (path, remembers) = reader.witness();
    LedgerDocument {
        ledger: reader.id(),
        location: location.to_string(),
        records: reader.position().sequence + 1,
        accounts: reader.accounts().len(),
        newest: reader.position(),
        witness: WitnessDocument { path: path.display().to_string(), remembers },
    }
}

impl Caller {
    /// The identity, location and newest record of the ledger.
    pub async fn ledger_document(&self) -> Result<LedgerDocument, Problem> {
        self.require(Action::Audit)?;
        let document = |caller: &Caller| Ok(describe(&caller.ledger().reader()?, caller.ledger().location()));
        self.blocking(document).await
    }

    /// Starts a verification of the whole journal, or joins the one that is under way.
    pub fn start_verification(&self) -> Result<VerifyDocument, Problem> {
        self.require(Action::Audit)?;
        let started = self.service.verification.start(self.ledger(), &self.service.log);
        started.map_err(|problem| self.redact(problem))
    }

    /// The progress of a verification, or the result of the last one.
    pub fn verification(&self) -> Result<VerifyDocument, Problem> {
        self.require(Action::Audit)?;
        Ok(self.service.verification.status())
    }

    /// The journal as lines of JSON. The last line says where it ends, so that truncation is noticed; an error aborts the stream.
    pub async fn export(&self) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + use<>, Problem> {
        self.require(Action::Audit)?;
        let permit = self.export_permit()?;
        let mut reader = self.blocking(|caller| Ok(caller.ledger().reader()?)).await?;
        let (sender, receiver) = mpsc::channel(4);
        let runtime = tokio::runtime::Handle::current();
        let mut chunks = Chunks { caller: self.clone(), sender, runtime, buffer: Vec::new() };
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            if let Err(error) = reader.export(&mut chunks, &mut |_, _| {}) {
                // A clean end of the stream would look like the end of the journal.
                chunks.send(Err(io::Error::other(error.to_string()))).ok();
            }
        });
        Ok(ReceiverStream::new(receiver))
    }

    /// A permit to read a whole journal or history.
    pub fn export_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.service.exports).try_acquire_owned().map_err(|_| {
            Problem::new(Code::Busy, format!("{EXPORTS} exports are running, which is the limit; try again later"))
        })
    }
}

/// Sends what is written in chunks. Fails if the client hangs up or stops reading, or if its token expires.
struct Chunks {
    caller: Caller,
    sender: mpsc::Sender<io::Result<Bytes>>,
    runtime: tokio::runtime::Handle,
    buffer: Vec<u8>,
}

impl Chunks {
    const LENGTH: usize = 64 * 1024;
    /// A client that stops reading would hold a view of the journal and keep the store from cleaning up.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn send(&mut self, chunk: io::Result<Bytes>) -> io::Result<()> {
        let sending = async { tokio::time::timeout(Chunks::PATIENCE, self.sender.send(chunk)).await };
        match self.runtime.block_on(sending) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= Chunks::LENGTH {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let chunk = std::mem::take(&mut self.buffer);
        if chunk.is_empty() {
            return Ok(());
        }
        if !self.caller.is_valid() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the token or the session has ended"));
        }
        self.send(Ok(chunk.into()))
    }
}
