//! A witness over HTTP: two paths, for ledgers on other machines.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use taximeter_service::witness::{CosigningWitness, WitnessAnswer};
use taximeter_service::{Code, Problem};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The longest request: a proof of 63 hashes and a note.
const LARGEST_BODY: usize = 16 * 1024;

/// The most connections at the same time; others wait.
const CONNECTIONS: usize = 256;

/// How long the head of a request may take, and how long a connection may be idle. A ledger that charges keeps its connection.
const ARRIVAL: Duration = Duration::from_secs(60);

/// How long to wait after accepting a connection failed.
const PAUSE: Duration = Duration::from_millis(200);

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
            .layer(DefaultBodyLimit::max(LARGEST_BODY))
            .with_state(state);
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        let mut open = JoinSet::new();
        let mut end = std::pin::pin!(end);
        loop {
            let accepted = async {
                let permit = Arc::clone(&permits).acquire_owned().await;
                (self.listener.accept().await, permit)
            };
            tokio::select! {
                () = &mut end => return Ok(()),
                Some(news) = heard.recv() => tell(&news?),
                Some(_) = open.join_next() => {}
                (accepted, permit) = accepted => match accepted {
                    Ok((stream, _)) => {
                        let app = TowerToHyperService::new(app.clone());
                        open.spawn(async move {
                            let _held = permit;
                            let _ = stream.set_nodelay(true);
                            let mut http = http1::Builder::new();
                            http.timer(TokioTimer::new()).header_read_timeout(ARRIVAL);
                            // The peer knows how the connection ended.
                            let _ = http.serve_connection(TokioIo::new(stream), app).await;
                        });
                    }
                    Err(_) => sleep(PAUSE).await,
                }
            }
        }
    }
}

async fn add_checkpoint(State(state): State<WitnessState>, body: Bytes) -> Response {
    let Ok(text) = String::from_utf8(body.to_vec()) else {
        return (StatusCode::BAD_REQUEST, "a request is text\n").into_response();
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

async fn latest_checkpoint(State(state): State<WitnessState>, body: Bytes) -> Response {
    let Ok(text) = String::from_utf8(body.to_vec()) else {
        return (StatusCode::BAD_REQUEST, "a request is text\n").into_response();
    };
    response(state.witness.show(&text))
}

fn response(answer: WitnessAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, answer.content_type)], answer.body).into_response()
}

#[cfg(test)]
mod tests;
