//! The ledger as a whole: where it is, whether it is whole, and all of it.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use taximeter_service::{Code, LedgerDocument, VerifyDocument, WitnessDocument};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::access::{Action, Caller};
use crate::failure::Failure;
use crate::responses::Token;

/// Which ledger it is, and how far it got.
#[utoipa::path(get, path = "/v1/ledger", tag = "ledger", security(("token" = [])),
    responses((status = 200, description = "The ledger", body = LedgerDocument), Token))]
pub(crate) async fn show(caller: Caller) -> Result<Json<LedgerDocument>, Failure> {
    caller.require(Action::Audit)?;
    let document = caller.blocking(|caller| {
        let reader = caller.ledger().reader()?;
        let (path, remembers) = reader.witness();
        Ok(LedgerDocument {
            ledger: reader.id(),
            location: caller.ledger().location().to_string(),
            records: reader.position().sequence + 1,
            accounts: reader.accounts().len(),
            newest: reader.position(),
            witness: WitnessDocument { path: path.display().to_string(), remembers },
        })
    });
    Ok(Json(document.await?))
}

/// Start to make the whole journal again, or join whoever does.
#[utoipa::path(post, path = "/v1/verify", tag = "ledger", security(("token" = [])),
    responses((status = 202, description = "It is under way", body = VerifyDocument), Token))]
pub(crate) async fn start_verification(caller: Caller) -> Result<(StatusCode, Json<VerifyDocument>), Failure> {
    caller.require(Action::Audit)?;
    Ok((StatusCode::ACCEPTED, Json(caller.state.verification.start(caller.ledger(), &caller.state.log)?)))
}

/// How far a verification is, or what came of the last one.
#[utoipa::path(get, path = "/v1/verify", tag = "ledger", security(("token" = [])),
    responses((status = 200, description = "How far it is", body = VerifyDocument), Token))]
pub(crate) async fn verification(caller: Caller) -> Result<Json<VerifyDocument>, Failure> {
    caller.require(Action::Audit)?;
    Ok(Json(caller.state.verification.look()))
}

/// The journal as lines of JSON; the last one says where it ends, so that a cut is noticed.
#[utoipa::path(get, path = "/v1/export", tag = "ledger", security(("token" = [])),
    responses((status = 200, description = "The journal", body = String, content_type = "application/jsonl"), Token))]
pub(crate) async fn export(caller: Caller) -> Result<Response, Failure> {
    caller.require(Action::Audit)?;
    let permit = Arc::clone(&caller.state.exports).try_acquire_owned().map_err(|_| {
        Failure::new(Code::Busy, "as many exports as may be are under way; try again when one has ended")
    })?;
    let mut reader = caller.blocking(|caller| Ok(caller.ledger().reader()?)).await?;
    let (sender, receiver) = mpsc::channel(4);
    let runtime = tokio::runtime::Handle::current();
    let mut chunks = Chunks { caller, sender, runtime, buffer: Vec::new() };
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        if let Err(error) = reader.export(&mut chunks, &mut |_, _| {}) {
            // Breaks the connection. An end in good order would be taken for the end of the journal.
            chunks.send(Err(io::Error::other(error.to_string()))).ok();
        }
    });
    let body = Body::from_stream(ReceiverStream::new(receiver));
    Ok(([(header::CONTENT_TYPE, "application/jsonl")], body).into_response())
}

/// Sends what is written in chunks, and fails when whoever reads them has gone away, stopped reading, or may read no more.
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
