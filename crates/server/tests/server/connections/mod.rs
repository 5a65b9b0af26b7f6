//! Connections over real sockets: limits, TLS and shutdown.

mod limits;
mod shutdown;
mod tls;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use taximeter_gate::Gate;
use taximeter_ledger::{Ledger, Location, Options};
use taximeter_server::{App, Listener, Tls};
use taximeter_service::{Code, NewToken, Problem, Role};
use taximeter_service::{Log, LogForm, Service, Settings, TokenPlace, Tokens};
use taximeter_testing::{Captured, PATIENCE, wait_until};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::rustls;

/// A server in this process, on a free port.
pub(crate) struct ListeningServer {
    runtime: Option<Runtime>,
    state: Option<Arc<Service>>,
    address: SocketAddr,
    /// The owner's token.
    token: String,
    pub(crate) page: Captured,
    end: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<Result<(), Problem>>>,
    pub(crate) folder: TempDir,
}

/// Limits that even a slow machine does not reach. A test of a limit sets its own.
pub(crate) fn patient() -> Settings {
    let (arrival, shutdown) = (PATIENCE, PATIENCE);
    Settings { arrival, shutdown, requests_per_second: 0, largest_body: 10_000, ..Settings::default() }
}

fn owner(name: &str) -> NewToken {
    let (accounts, datasets) = (Vec::new(), Vec::new());
    NewToken { principal: name.to_string(), role: Role::Owner, accounts, datasets, sees_above: false, expires: None }
}

impl ListeningServer {
    pub(crate) fn start(settings: Settings) -> ListeningServer {
        ListeningServer::start_with(settings, |_| None)
    }

    fn start_with(settings: Settings, tls: impl FnOnce(&TempDir) -> Option<Tls>) -> ListeningServer {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("taximeter.db"));
        let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
        let tokens = Tokens::open(&TokenPlace::of(&location), ledger.id()).unwrap();
        let token = tokens.create(&owner("olga")).unwrap().secret;
        let gate = Gate::open(&folder.path().join("gate"), ledger).unwrap();
        let runtime = Runtime::new().unwrap();
        let page = Captured::default();
        let inside = runtime.enter();
        let state = Service::new(gate, tokens, Log::to(LogForm::Json, page.clone()), settings).unwrap();
        drop(inside);
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listener = runtime.block_on(Listener::bind(any, tls(&folder))).unwrap();
        let address = listener.address();
        let (end, ended) = oneshot::channel::<()>();
        let app = App::new(&state).unwrap();
        let serving = runtime.spawn(async move {
            let end = async { ended.await.unwrap_or(()) };
            listener.serve(app, end).await
        });
        let (runtime, state) = (Some(runtime), Some(state));
        ListeningServer { runtime, state, address, token, page, end: Some(end), serving: Some(serving), folder }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A connection on which an account is being opened: the server has the head of the request, and waits for its body.
    fn opening_slowly(&self, account: &str) -> (TcpStream, String) {
        let (head, body) = self.opening(account);
        let mut stream = self.connect();
        stream.write_all(head.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n").as_bytes()).unwrap();
        let mut answer = [0; 25];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
        (stream, body)
    }

    /// An encrypted connection to `localhost`.
    fn encrypted(
        &self,
        config: &Arc<rustls::ClientConfig>,
    ) -> rustls::StreamOwned<rustls::ClientConnection, TcpStream> {
        let connection = rustls::ClientConnection::new(Arc::clone(config), "localhost".try_into().unwrap()).unwrap();
        rustls::StreamOwned::new(connection, self.connect())
    }

    /// The list of accounts on a new encrypted connection.
    fn ask_encrypted(&self, config: &Arc<rustls::ClientConfig>) -> std::io::Result<String> {
        let mut stream = self.encrypted(config);
        stream.write_all(self.head("GET", "Connection: close\r\n").as_bytes())?;
        Ok(rest(&mut stream))
    }

    /// Waits until the log contains a text.
    pub(crate) fn wait_for_log(&self, text: &str) {
        wait_until(&format!("{text:?} is in the log"), || self.page.text().contains(text));
    }

    /// The head of a request that opens an account.
    fn head(&self, method: &str, more: &str) -> String {
        let token = &self.token;
        format!("{method} /v1/accounts HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {token}\r\n{more}\r\n")
    }

    /// A whole request that opens an account, after which the connection closes.
    fn opening(&self, account: &str) -> (String, String) {
        let body =
            format!("{{\"account\":\"{account}\",\"filter\":{{\"budget\":{{\"epsilon\":\"1\",\"delta\":\"1e-6\"}}}}}}");
        let length = body.len();
        let more = format!("Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n");
        (self.head("POST", &more), body)
    }

    /// The list of accounts on a new connection.
    fn list(&self) -> String {
        self.get("/v1/accounts")
    }

    /// The answer at a path, with the owner's token.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = self.connect();
        let head = self.head("GET", "Connection: close\r\n").replace("/v1/accounts", path);
        stream.write_all(head.as_bytes()).unwrap();
        rest(&mut stream)
    }

    /// Opens an account, and returns the answer.
    pub(crate) fn open_account(&self, account: &str) -> String {
        let (head, body) = self.opening(account);
        let mut stream = self.connect();
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        rest(&mut stream)
    }

    /// Asks the server to end.
    fn ask_to_end(&mut self) {
        let _ = self.end.take().unwrap().send(());
    }

    /// Waits for the end, and returns the log.
    fn ended(mut self) -> String {
        let runtime = self.runtime.take().unwrap();
        runtime.block_on(self.serving.take().unwrap()).unwrap().unwrap();
        runtime.shutdown_timeout(PATIENCE);
        drop(self.state.take());
        self.page.text()
    }

    pub(crate) fn end(mut self) -> String {
        self.ask_to_end();
        self.ended()
    }
}

/// Reads until the connection ends.
fn rest(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => panic!("nothing came for {PATIENCE:?}"),
            Err(_) => break,
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn check_answer(answer: &str, status: u16, part: &str) {
    assert!(
        answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(part),
        "{status}, {part:?}: {answer:?}"
    );
}
