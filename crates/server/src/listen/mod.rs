//! Connections: taking them, within limits, and letting them end.

mod newcomers;
mod stream;
mod tls;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use taximeter_service::log::{Event, Trouble};
use taximeter_service::{Code, Events, Problem, Service, Slot, Slots, settle_questions, verify_journal};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

pub(crate) use self::newcomers::Newcomer;
use self::newcomers::Newcomers;
use self::stream::Stream;
use self::tls::Certificate;
use crate::app::App;

/// Where the certificate and its key are.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate and those above it, in PEM.
    pub certificate: PathBuf,
    /// The private key, in PEM.
    pub key: PathBuf,
}

/// A server that listens.
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<Certificate>>,
}

/// The most bytes of a request's line and headers.
const LARGEST_HEAD: usize = 32 * 1024;

/// How often the tokens that others change are read again, and a certificate that was renewed is looked for.
const RELOAD: Duration = Duration::from_secs(1);

/// How long to wait when no connection can be taken, for instance because too many files are open.
const PAUSE: Duration = Duration::from_millis(200);

impl Listener {
    /// Starts to listen.
    pub async fn bind(address: SocketAddr, tls: Option<Tls>) -> Result<Listener, Problem> {
        let cannot = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => "; another program listens there: choose another port",
                io::ErrorKind::PermissionDenied => "; ports below 1024 are for root: choose another",
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

    /// The address, with the port that was chosen if it was 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How URLs of this server begin.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Serves until `end`, or until the ledger takes nothing more, which is an error; and then until what was accepted is answered.
    pub async fn serve(self, app: App, end: impl Future<Output = ()>) -> Result<(), Problem> {
        let service = Arc::clone(app.service());
        let listens = format!("{}://{}", self.scheme(), self.address);
        service.log.write(Event::Start { listens, version: env!("CARGO_PKG_VERSION") });
        if !service.ledger().was_witness_whole() {
            service.log.write(Event::WitnessDamaged);
        }
        let mut background = vec![
            tokio::spawn(reload_tokens(Arc::clone(&service))),
            tokio::spawn(Events::run(Arc::clone(&service))),
            tokio::spawn(settle_questions(Arc::clone(&service))),
        ];
        let verifying = service.settings.verify_every.map(|every| verify_journal(Arc::clone(&service), every));
        background.extend(verifying.map(tokio::spawn));
        background.extend(self.tls.clone().map(|tls| tokio::spawn(renew_certificate(tls, Arc::clone(&service)))));
        let connections = Connections {
            app,
            permits: Arc::new(Semaphore::new(service.settings.connections)),
            newcomers: Arc::default(),
            peers: Slots::new(service.settings.connections_of_one),
            tls: self.tls,
            service: Arc::clone(&service),
        };
        let (mut open, mut accepted) = (JoinSet::new(), None);
        let (mut end, mut stopped) = (pin!(end), pin!(service.readiness.watch(service.ledger(), &service.log)));
        let result = loop {
            tokio::select! {
                () = &mut end => break Ok(()),
                cause = &mut stopped => break Err(why_it_ends(cause)),
                // Those that ended are forgotten.
                Some(_) = open.join_next() => {}
                next = connections.next(&self.listener), if accepted.is_none() => accepted = Some(next),
                permit = connections.permit(), if accepted.is_some() => {
                    if let Some(accepted) = accepted.take() {
                        open.spawn(connections.serve(accepted, permit));
                    }
                }
            }
        };
        drop(self.listener);
        service.end();
        let all = async { while open.join_next().await.is_some() {} };
        let _ = timeout(service.settings.farewell, all).await;
        service.log.write(Event::End { cut_off: open.len() });
        open.shutdown().await;
        background.iter().for_each(|task| task.abort());
        result
    }
}

/// A connection that was accepted, the machine at its other end, and one of the places that this machine has.
type Accepted = (TcpStream, IpAddr, Option<Slot<IpAddr>>);

/// What all connections share.
struct Connections {
    app: App,
    permits: Arc<Semaphore>,
    newcomers: Arc<Newcomers>,
    /// By the machine at the other end, unless it is this one.
    peers: Slots<IpAddr>,
    tls: Option<Arc<Certificate>>,
    service: Arc<Service>,
}

impl Connections {
    /// The next connection, which may still have to wait for a permit.
    async fn next(&self, listener: &TcpListener) -> Accepted {
        loop {
            match listener.accept().await.map(|(stream, peer)| (stream, peer.ip().to_canonical())) {
                Ok((stream, peer)) if peer.is_loopback() => return (stream, peer, None),
                Ok((stream, peer)) => match self.peers.take(&peer) {
                    Some(place) => return (stream, peer, Some(place)),
                    // It has so many already; this one is closed.
                    None => drop(stream),
                },
                // It went away before it was taken.
                Err(error) if is_of_the_connection(&error) => {}
                Err(error) => {
                    self.service.log.write(Event::NotAccepted { why: error.to_string() });
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Room for one more connection. Where there is none, the first one without a token makes room; where all have one, it waits.
    async fn permit(&self) -> OwnedSemaphorePermit {
        loop {
            tokio::select! {
                biased;
                // The semaphore is never closed.
                Ok(permit) = Arc::clone(&self.permits).acquire_owned() => return permit,
                () = self.newcomers.close_first() => {}
            }
        }
    }

    /// Serves one connection to its end.
    fn serve(&self, (stream, peer, place): Accepted, permit: OwnedSemaphorePermit) -> impl Future<Output = ()> + use<> {
        let (newcomer, closed) = self.newcomers.add();
        let app = self.app.for_connection(peer, newcomer);
        let (service, tls) = (Arc::clone(&self.service), self.tls.clone());
        let serving = async move {
            let _taken = (permit, place);
            // An answer is small, and somebody waits for it.
            let _ = stream.set_nodelay(true);
            let arrival = service.settings.arrival;
            let stream = match tls {
                None => Stream::plain(stream, arrival),
                Some(tls) => match timeout(arrival, tls.acceptor().accept(stream)).await {
                    Ok(Ok(stream)) => Stream::encrypted(stream, arrival),
                    // Whoever speaks something else, or nothing, is not answered.
                    Ok(Err(_)) | Err(_) => return,
                },
            };
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(arrival)
                .max_header_size(LARGEST_HEAD)
                // Answers are small: one copy into one piece costs less than sending two.
                .writev(false)
                .serve_connection(TokioIo::new(stream), app);
            let mut connection = pin!(connection);
            tokio::select! {
                biased;
                // How a connection ends is its own affair: whoever is at the other end knows it.
                _ = connection.as_mut() => return,
                () = service.until_end() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        };
        async {
            tokio::select! {
                () = serving => {}
                // Otherwise it was proven, and is not told any more.
                Ok(()) = closed => {}
            }
        }
    }
}

/// Why the server ends, beside its log. The words about records and states name accounts, and are for a verification to tell.
fn why_it_ends(cause: taximeter_ledger::Error) -> Problem {
    match Trouble::of(&cause) {
        Trouble::NotAsWritten => Problem::new(
            Code::Stopped,
            "the ledger has stopped and takes nothing more: it is not what was written. Verify it to learn what is wrong",
        ),
        _ => cause.into(),
    }
}

fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Looks again and again whether the certificate was renewed.
async fn renew_certificate(tls: Arc<Certificate>, service: Arc<Service>) {
    let mut seconds = interval(RELOAD);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        let files = Arc::clone(&tls);
        match tokio::task::spawn_blocking(move || files.renew()).await {
            Ok(None) => {}
            Ok(Some(Ok(()))) => service.log.write(Event::CertificateRenewed),
            Ok(Some(Err(problem))) => service.log.write(Event::CertificateNotRenewed { why: problem.detail }),
            Err(_) => service.log.write(Event::CertificateNotRenewed { why: "a defect in reading it".to_string() }),
        }
    }
}

/// Reads the tokens again and again. When that fails, those that are known stay, and the log says so once until it works again.
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
                Ok(()) => Event::TokensReadAgain,
                Err(why) => Event::TokensNotRead { why },
            });
        }
    }
}
