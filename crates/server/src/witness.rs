//! A witness over HTTP: two paths, for ledgers on other machines.

use std::future::pending;
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
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::listen::{Peers, Stream, UnauthenticatedConnection, UnauthenticatedConnections};

/// The longest request: a proof of 63 hashes and a note.
const LARGEST_BODY: usize = 16 * 1024;

/// The most connections at the same time. A new one then closes the oldest that has sent no valid request, or waits.
const CONNECTIONS: usize = 256;

/// How long a connection may be idle after a valid request. A ledger that charges keeps its connection.
const IDLE: Duration = Duration::from_secs(60);

/// How long the first valid request of a connection may take to arrive, and the body of every other; and how long the peer may not read its
/// answer.
const ARRIVAL: Duration = Duration::from_secs(5);

/// A witness that listens.
pub struct WitnessListener {
    listener: TcpListener,
    address: SocketAddr,
    connections: usize,
    is_behind_proxy: bool,
}

#[derive(Clone)]
struct WitnessState {
    witness: Arc<CosigningWitness>,
    /// What its operator should know: a ledger that forked, or a disk that failed.
    news: mpsc::Sender<Result<String, Problem>>,
    now: fn() -> u64,
    connection: Arc<UnauthenticatedConnection>,
}

impl WitnessListener {
    /// Starts to listen.
    pub async fn bind(address: SocketAddr) -> Result<WitnessListener, Problem> {
        let cannot = |error: std::io::Error| {
            Problem::new(Code::Storage, format!("the witness cannot listen on {address}: {error}"))
        };
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        Ok(WitnessListener { listener, address, connections: CONNECTIONS, is_behind_proxy: false })
    }

    /// Whether a proxy on another machine may stand for all ledgers. Otherwise connections from one machine are at most a quarter of all.
    pub fn behind_proxy(self, is_behind_proxy: bool) -> WitnessListener {
        WitnessListener { is_behind_proxy, ..self }
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
        let (news, mut heard) = mpsc::channel::<Result<String, Problem>>(16);
        let witness = Arc::new(witness);
        let of_one = if self.is_behind_proxy { 0 } else { self.connections.div_ceil(4) };
        let (permits, peers) = (Arc::new(Semaphore::new(self.connections)), Peers::new(of_one));
        let strangers = Arc::<UnauthenticatedConnections>::default();
        let (mut open, mut accepted, mut end) = (JoinSet::new(), None, pin!(end));
        loop {
            tokio::select! {
                () = &mut end => return Ok(()),
                Some(news) = heard.recv() => tell(&news?),
                Some(_) = open.join_next() => {}
                next = peers.accept(&self.listener, |_| {}), if accepted.is_none() => accepted = Some(next),
                permit = strangers.make_room(&permits), if accepted.is_some() => {
                    if let Some((stream, _, slot)) = accepted.take() {
                        let (connection, closed) = strangers.add();
                        let (witness, news, connection) = (Arc::clone(&witness), news.clone(), Arc::new(connection));
                        let app = app(WitnessState { witness, news, now, connection });
                        open.spawn(serve(stream, app, closed, (permit, slot)));
                    }
                }
            }
        }
    }
}

fn app(state: WitnessState) -> Router {
    Router::new()
        .route("/add-checkpoint", post(add_checkpoint))
        .route("/latest-checkpoint", post(latest_checkpoint))
        .with_state(state)
}

/// Serves one connection to its end, or until it has to make room. One without a valid request ends soon.
async fn serve(
    stream: TcpStream,
    app: Router,
    closed: oneshot::Receiver<()>,
    _held: (OwnedSemaphorePermit, Slot<IpAddr>),
) {
    let _ = stream.set_nodelay(true);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(IDLE);
    let stream = TokioIo::new(Stream::plain(stream, ARRIVAL));
    let ends = async {
        // A valid request drops the sender.
        if let Ok(Err(_)) = timeout(ARRIVAL, closed).await {
            pending().await
        }
    };
    tokio::select! {
        // What has arrived is answered, also after the disk of the witness kept it waiting.
        biased;
        // The peer knows how the connection ended.
        _ = http.serve_connection(stream, TowerToHyperService::new(app)) => {}
        () = ends => {}
    }
}

/// Why the body of a request cannot be read.
type UnreadBody = (StatusCode, String);

async fn add_checkpoint(State(state): State<WitnessState>, body: Body) -> Result<Response, UnreadBody> {
    let text = text(body).await?;
    let WitnessState { witness, news, now, connection } = state;
    // It syncs a file, here and not on a thread for blocking work: a batch of charges waits for the answer, and two more threads would have
    // to wake for it. Nothing else is kept waiting: every other request needs the same file.
    let answer = match witness.answer(&text, now()) {
        Ok(answer) => answer,
        Err(problem) => {
            // If no one listens any more, the witness has ended already.
            let _ = news.send(Err(problem)).await;
            return Ok((StatusCode::SERVICE_UNAVAILABLE, "the witness failed\n").into_response());
        }
    };
    if answer.is_evidence {
        // Those who flood the witness with forks lose some lines.
        let _ = news.try_send(Ok(format!("refused with {}: {}", answer.status, answer.body.trim())));
    }
    Ok(response(answer, &connection))
}

async fn latest_checkpoint(State(state): State<WitnessState>, body: Body) -> Result<Response, UnreadBody> {
    let text = text(body).await?;
    Ok(response(state.witness.show(&text), &state.connection))
}

/// The body of a request. No one can hold a connection by not sending it.
async fn text(body: Body) -> Result<String, UnreadBody> {
    let read = read_whole(body, LARGEST_BODY, ARRIVAL).await.map_err(Problem::from);
    let not_text = |_| Problem::bad_request("the body is not UTF-8");
    read.and_then(|bytes| String::from_utf8(bytes.into()).map_err(not_text))
        .map_err(|problem| (status(problem.status), format!("{problem}\n")))
}

fn response(answer: WitnessAnswer, connection: &UnauthenticatedConnection) -> Response {
    // Only a ledger that the witness knows gets this far.
    if matches!(answer.status, 200 | 409 | 422) {
        connection.authenticate();
    }
    (status(answer.status), [(header::CONTENT_TYPE, answer.content_type)], answer.body).into_response()
}

fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
mod tests;
