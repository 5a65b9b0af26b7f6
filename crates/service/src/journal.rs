//! The ledger as a whole: where it is, whether it is intact, and all of it.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use taximeter_ledger::{Location, Reader};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_stream::wrappers::ReceiverStream;

use crate::caller::{Action, Caller};
use crate::{Code, LedgerDocument, Problem, VerifyDocument, WitnessDocument};

/// Which ledger it is, and how far it got.
pub fn describe(reader: &Reader, location: &Location) -> LedgerDocument {
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
    /// Which ledger it is, and how far it got.
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
        Ok(self.service.verification.look())
    }

    /// The journal as lines of JSON. The last line says where it ends, so that a cut is noticed; an error breaks the stream off.
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
                // An end in good order would be taken for the end of the journal.
                chunks.send(Err(io::Error::other(error.to_string()))).ok();
            }
        });
        Ok(ReceiverStream::new(receiver))
    }

    /// A permit to read a whole journal or history.
    pub fn export_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.service.exports).try_acquire_owned().map_err(|_| {
            Problem::new(Code::Busy, "the most exports that may run are under way; try again when one has ended")
        })
    }
}

/// Sends what is written in chunks, and fails when the reader has gone away, has stopped reading, or may read no more.
struct Chunks {
    caller: Caller,
    sender: mpsc::Sender<io::Result<Bytes>>,
    runtime: tokio::runtime::Handle,
    buffer: Vec<u8>,
}

impl Chunks {
    const LENGTH: usize = 64 * 1024;
    /// A reader that stands still would keep the journal's view, and with it the store from tidying up.
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
