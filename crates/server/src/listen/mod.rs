//! Connections: accepted within limits, served, and shut down gracefully.

mod peers;
mod stream;
mod tls;
mod unauthenticated;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use taximeter_service::log::{LogEvent, Trouble};
use taximeter_service::{Code, Events, Problem, Service, keep_checkpoints, settle_questions, verify_journal};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

pub(crate) use self::peers::{Accepted, Peers};
pub(crate) use self::stream::Stream;
use self::tls::Certificate;
pub(crate) use self::unauthenticated::{UnauthenticatedConnection, UnauthenticatedConnections};
use crate::app::App;

/// The files of the certificate and its key.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate chain, in PEM.
    pub certificate: PathBuf,
    /// The private key, in PEM.
    pub key: PathBuf,
}

/// A listening socket.
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<Certificate>>,
}

/// The most bytes of a request's line and headers.
const LARGEST_HEAD: usize = 32 * 1024;

/// How often tokens and the certificate are reloaded.
const RELOAD: Duration = Duration::from_secs(1);

impl Listener {
    /// Starts to listen.
    pub async fn bind(address: SocketAddr, tls: Option<Tls>) -> Result<Listener, Problem> {
        let cannot = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => "; another program listens there: choose another port",
                io::ErrorKind::PermissionDenied => "; ports below 1024 are for root: choose another port",
                io::ErrorKind::AddrNotAvailable => "; this machine does not have the address",
                _ => "",
            };
            Problem::new(Code::Storage, format!("the server cannot listen on {address}: {error}{hint}"))
        };
        let tls = tls.map(Certificate::read).transpose()?.map(Arc::new);
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        Ok(Listener { listener, address, tls })
    }

    /// The address, with the actual port if it was 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The scheme of this server's URLs.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Serves until `end`, or until the ledger has stopped, which is an error; then answers the requests that were accepted.
    pub async fn serve(self, app: App, end: impl Future<Output = ()>) -> Result<(), Problem> {
        let service = Arc::clone(app.service());
        let listens = format!("{}://{}", self.scheme(), self.address);
        service.log.write(LogEvent::Start { listens, version: env!("CARGO_PKG_VERSION") });
        if !service.ledger().was_witness_whole() {
            service.log.write(LogEvent::WitnessDamaged);
        }
        let mut background = vec![
            tokio::spawn(reload_tokens(Arc::clone(&service))),
            tokio::spawn(Events::run(Arc::clone(&service))),
            tokio::spawn(settle_questions(Arc::clone(&service))),
        ];
        let verifying = service.settings.verify_every.map(|every| verify_journal(Arc::clone(&service), every));
        background.extend(verifying.map(tokio::spawn));
        background.extend(service.issuer.clone().map(|issuer| tokio::spawn(issuer.keep_fresh())));
        let signing = service.settings.checkpoint_every.map(|every| keep_checkpoints(Arc::clone(&service), every));
        background.extend(signing.map(tokio::spawn));
        background.extend(self.tls.clone().map(|tls| tokio::spawn(renew_certificate(tls, Arc::clone(&service)))));
        let connections = Connections {
            app,
            permits: Arc::new(Semaphore::new(service.settings.connections)),
            unauthenticated: Arc::default(),
            peers: Peers::new(service.settings.connections_of_one),
            tls: self.tls,
            service: Arc::clone(&service),
        };
        let (mut open, mut accepted) = (JoinSet::new(), None);
        let (mut end, mut stopped) = (pin!(end), pin!(service.readiness.watch(service.ledger(), &service.log)));
        let result = loop {
            tokio::select! {
                () = &mut end => break Ok(()),
                cause = &mut stopped => break Err(why_it_ends(cause)),
                // Removes connections that have ended.
                Some(_) = open.join_next() => {}
                next = connections.next(&self.listener), if accepted.is_none() => accepted = Some(next),
                permit = connections.unauthenticated.make_room(&connections.permits), if accepted.is_some() => {
                    if let Some(accepted) = accepted.take() {
                        open.spawn(connections.serve(accepted, permit));
                    }
                }
            }
        };
        drop(self.listener);
        service.end();
        let all = async { while open.join_next().await.is_some() {} };
        let _ = timeout(service.settings.shutdown, all).await;
        service.log.write(LogEvent::End { cut_off: open.len() });
        open.shutdown().await;
        background.iter().for_each(|task| task.abort());
        result
    }
}

/// The state of all connections.
struct Connections {
    app: App,
    permits: Arc<Semaphore>,
    unauthenticated: Arc<UnauthenticatedConnections>,
    peers: Peers,
    tls: Option<Arc<Certificate>>,
    service: Arc<Service>,
}

impl Connections {
    /// Accepts the next connection, which may still have to wait for a permit.
    async fn next(&self, listener: &TcpListener) -> Accepted {
        let failed = |error: &io::Error| self.service.log.write(LogEvent::NotAccepted { why: error.to_string() });
        self.peers.accept(listener, failed).await
    }

    /// Serves one connection to its end.
    fn serve(&self, (stream, peer, slot): Accepted, permit: OwnedSemaphorePermit) -> impl Future<Output = ()> + use<> {
        let (connection, closed) = self.unauthenticated.add();
        let app = self.app.for_connection(peer, connection);
        let (service, tls) = (Arc::clone(&self.service), self.tls.clone());
        let serving = async move {
            let _held = (permit, slot);
            // Answers are small, and clients wait for them.
            let _ = stream.set_nodelay(true);
            let arrival = service.settings.arrival;
            let stream = match tls {
                None => Stream::plain(stream, arrival),
                Some(tls) => match timeout(arrival, tls.acceptor().accept(stream)).await {
                    Ok(Ok(stream)) => Stream::encrypted(stream, arrival),
                    // A client that does not complete the TLS handshake gets no answer.
                    Ok(Err(_)) | Err(_) => return,
                },
            };
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(arrival)
                .max_header_size(LARGEST_HEAD)
                // Answers are small: copying into one buffer is cheaper than sending two.
                .writev(false)
                .serve_connection(TokioIo::new(stream), app);
            let mut connection = pin!(connection);
            tokio::select! {
                biased;
                // The peer knows how the connection ended; errors are not logged.
                _ = connection.as_mut() => return,
                () = service.until_end() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        };
        async {
            tokio::select! {
                () = serving => {}
                // If the sender is dropped, the connection is authenticated and stays open.
                Ok(()) = closed => {}
            }
        }
    }
}

/// Why the server stopped, for its operator. The text of integrity errors names accounts, so it is left to a verification.
fn why_it_ends(cause: taximeter_ledger::Error) -> Problem {
    match Trouble::of(&cause) {
        Trouble::NotAsWritten => {
            Problem::new(Code::Stopped, "the ledger has stopped: integrity check failed. Verify it to find the fault")
        }
        _ => cause.into(),
    }
}

/// Reloads the certificate when its files change.
async fn renew_certificate(tls: Arc<Certificate>, service: Arc<Service>) {
    let mut seconds = interval(RELOAD);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        let files = Arc::clone(&tls);
        match tokio::task::spawn_blocking(move || files.renew()).await {
            Ok(None) => {}
            Ok(Some(Ok(()))) => service.log.write(LogEvent::CertificateRenewed),
            Ok(Some(Err(problem))) => service.log.write(LogEvent::CertificateNotRenewed { why: problem.detail }),
            Err(_) => service.log.write(LogEvent::CertificateNotRenewed { why: "a defect in reading it".to_string() }),
        }
    }
}

/// Reloads the tokens. If that fails, the known tokens stay valid, and the log says so once until it works again.
async fn reload_tokens(service: Arc<Service>) {
    let mut seconds = interval(RELOAD);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut works = true;
    loop {
        seconds.tick().await;
        let tokens = Arc::clone(&service);
        let result = match tokio::task::spawn_blocking(move || tokens.tokens.reload()).await {
            Ok(result) => result.map_err(|problem| problem.detail),
            Err(_) => Err("a defect in reading them".to_string()),
        };
        if result.is_ok() != works {
            works = result.is_ok();
            service.log.write(match result {
                Ok(()) => LogEvent::TokensReadAgain,
                Err(why) => LogEvent::TokensNotRead { why },
            });
        }
    }
}
