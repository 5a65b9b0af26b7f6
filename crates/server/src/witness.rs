//! A witness over HTTP: two paths, for ledgers on other machines.

use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use taximeter_dashboard::body::read_whole;
use taximeter_service::witness::{CosigningWitness, WitnessAnswer};
use taximeter_service::{Code, Problem, Slot};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::listen::{Peers, Stream};

/// The longest request: a proof of 63 hashes and a note.
const LARGEST_BODY: usize = 16 * 1024;

/// The most connections at the same time; others wait.
const CONNECTIONS: usize = 256;

/// The most of them from one other machine; more are closed.
const CONNECTIONS_OF_ONE: usize = CONNECTIONS / 4;

/// How long the head of a request may take, and how long a connection may be idle. A ledger that charges keeps its connection.
const IDLE: Duration = Duration::from_secs(60);

/// How long the body of a request may take, and how long the peer may not read its answer.
const ARRIVAL: Duration = Duration::from_secs(5);

/// A witness that listens.
pub struct WitnessListener {
    listener: TcpListener,
    address: SocketAddr,
}

#[derive(Clone)]
struct WitnessState {
    witness: Arc<CosigningWitness>,
    /// What its operator should know: a ledger that forked, or a disk that failed.
    news: mpsc::Sender<Result<String, Problem>>,
    now: fn() -> u64,
}

impl WitnessListener {
    /// Starts to listen.
    pub async fn bind(address: SocketAddr) -> Result<WitnessListener, Problem> {
        let cannot = |error: std::io::Error| {
            Problem::new(Code::Storage, format!("the witness cannot listen on {address}: {error}"))
        };
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        Ok(WitnessListener { listener, address })
    }

    /// The address, with the actual port if it was 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `end`, or until its disk fails, which is an error. `tell` is told of ledgers that went back or forked.
    pub async fn serve(
        self,
        witness: CosigningWitness,
        now: fn() -> u64,
        end: impl Future<Output = ()>,
        tell: impl Fn(&str),
    ) -> Result<(), Problem> {
        let (news, mut heard) = mpsc::channel(16);
        let state = WitnessState { witness: Arc::new(witness), news, now };
        let app = Router::new()
            .route("/add-checkpoint", post(add_checkpoint))
            .route("/latest-checkpoint", post(latest_checkpoint))
            .with_state(state);
        let (permits, peers) = (Arc::new(Semaphore::new(CONNECTIONS)), Peers::new(CONNECTIONS_OF_ONE));
        let (mut open, mut accepted, mut end) = (JoinSet::new(), None, pin!(end));
        loop {
            tokio::select! {
                () = &mut end => return Ok(()),
                Some(news) = heard.recv() => tell(&news?),
                Some(_) = open.join_next() => {}
                next = peers.accept(&self.listener, |_| {}), if accepted.is_none() => accepted = Some(next),
                // The semaphore is never closed.
                Ok(permit) = Arc::clone(&permits).acquire_owned(), if accepted.is_some() => {
                    if let Some((stream, _, slot)) = accepted.take() {
                        open.spawn(serve(stream, app.clone(), (permit, slot)));
                    }
                }
            }
        }
    }
}

/// Serves one connection to its end.
async fn serve(stream: TcpStream, app: Router, _held: (OwnedSemaphorePermit, Slot<IpAddr>)) {
    let _ = stream.set_nodelay(true);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(IDLE);
    let stream = TokioIo::new(Stream::plain(stream, ARRIVAL));
    // The peer knows how the connection ended.
    let _ = http.serve_connection(stream, TowerToHyperService::new(app)).await;
}

async fn add_checkpoint(State(state): State<WitnessState>, body: Body) -> Response {
    let text = match text(body).await {
        Ok(text) => text,
        Err(problem) => return (status(problem.status), format!("{problem}\n")).into_response(),
    };
    let WitnessState { witness, news, now } = state;
    // It syncs a file, here and not on a thread for blocking work: a batch of charges waits for the answer, and two more threads would have
    // to wake for it. Nothing else is kept waiting: every other request needs the same file.
    let answer = match witness.answer(&text, now()) {
        Ok(answer) => answer,
        Err(problem) => {
            // If no one listens any more, the witness has ended already.
            let _ = news.send(Err(problem)).await;
            return (StatusCode::SERVICE_UNAVAILABLE, "the witness failed\n").into_response();
        }
    };
    if answer.is_evidence {
        // Those who flood the witness with forks lose some lines.
        let _ = news.try_send(Ok(format!("refused with {}: {}", answer.status, answer.body.trim())));
    }
    response(answer)
}

async fn latest_checkpoint(State(state): State<WitnessState>, body: Body) -> Response {
    let text = match text(body).await {
        Ok(text) => text,
        Err(problem) => return (status(problem.status), format!("{problem}\n")).into_response(),
    };
    response(state.witness.show(&text))
}

/// The body of a request. No one can hold a connection by not sending it.
async fn text(body: Body) -> Result<String, Problem> {
    let bytes = read_whole(body, LARGEST_BODY, ARRIVAL).await?;
    String::from_utf8(bytes.into()).map_err(|_| Problem::bad_request("a request is text"))
}

fn response(answer: WitnessAnswer) -> Response {
    (status(answer.status), [(header::CONTENT_TYPE, answer.content_type)], answer.body).into_response()
}

fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
mod tests;
