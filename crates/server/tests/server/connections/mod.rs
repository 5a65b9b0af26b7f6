//! Connections over real sockets: those that are slow, too large or too many, encrypted ones, and the end.

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

/// A server in this process, on a port that was free.
pub(crate) struct Server {
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

/// Limits that no connection comes near, however slow the machine is. A test of a limit has its own.
pub(crate) fn patient() -> Settings {
    let (arrival, farewell) = (PATIENCE, PATIENCE);
    Settings { arrival, farewell, requests_per_second: 0, largest_body: 10_000, ..Settings::default() }
}

fn owner(name: &str) -> NewToken {
    let (accounts, datasets) = (Vec::new(), Vec::new());
    NewToken { principal: name.to_string(), role: Role::Owner, accounts, datasets, sees_above: false, expires: None }
}

impl Server {
    pub(crate) fn start(settings: Settings) -> Server {
        Server::start_with(settings, |_| None)
    }

    fn start_with(settings: Settings, tls: impl FnOnce(&TempDir) -> Option<Tls>) -> Server {
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
        Server { runtime, state, address, token, page, end: Some(end), serving: Some(serving), folder }
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

    /// Waits until the log says something.
    pub(crate) fn wait_for_log(&self, text: &str) {
        wait_until(&format!("{text:?} is in the log"), || self.page.text().contains(text));
    }

    /// The head of a request that takes accounts.
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

    /// What is at a path, with the owner's token.
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

/// Everything until the other side closes, or cuts the connection.
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

#[test]
fn others_are_served_while_one_is_slow() {
    // None is cut off while the others are waited for.
    let server = Server::start(Settings { arrival: 10 * PATIENCE, ..patient() });
    let silent = server.connect();
    let mut headers = server.connect();
    headers.write_all(b"GET / HTTP/1.1\r\nX: x").unwrap();
    let (body, _) = server.opening_slowly("slow");
    check_answer(&server.list(), 200, "\"accounts\":[]");
    drop((silent, headers, body));
    server.end();
}

#[test]
fn a_slow_connection_is_cut_off() {
    // Long enough for a head that is sent at once.
    let server = Server::start(Settings { arrival: Duration::from_secs(2), ..patient() });
    // One that says nothing, and one whose headers and one whose body trickle in until they are cut off.
    let trickle = |mut stream: TcpStream| {
        std::thread::spawn(move || {
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        })
    };
    let mut silent = server.connect();
    let mut headers = server.connect();
    headers.write_all(b"GET / HTTP/1.1\r\nX: x").unwrap();
    let slow_headers = trickle(headers.try_clone().unwrap());
    let mut bodies = server.connect();
    let more = "Content-Type: application/json\r\nContent-Length: 10000\r\n";
    bodies.write_all(server.head("POST", more).as_bytes()).unwrap();
    let slow_body = trickle(bodies.try_clone().unwrap());
    assert_eq!(rest(&mut silent), "");
    assert_eq!(rest(&mut headers), "");
    let answer = rest(&mut bodies);
    check_answer(&answer, 408, "request-timeout");
    assert!(answer.to_ascii_lowercase().contains("connection: close"), "{answer:?}");
    for slow in [slow_headers, slow_body] {
        slow.join().unwrap();
    }
    check_answer(&server.list(), 200, "\"accounts\":[]");
    server.end();
}

#[test]
fn an_account_opens_though_its_body_comes_in_two_parts() {
    let server = Server::start(patient());
    let (mut stream, body) = server.opening_slowly("census");
    stream.write_all(&body.as_bytes()[..20]).unwrap();
    // Most often the first part has been read by then; with both at once there is less to see.
    std::thread::sleep(Duration::from_millis(100));
    stream.write_all(&body.as_bytes()[20..]).unwrap();
    check_answer(&rest(&mut stream), 201, "census");
    server.end();
}

#[test]
fn what_is_too_large_is_not_read() {
    let server = Server::start(patient());
    let json = "Content-Type: application/json\r\n";
    let large = format!("\"{}\"", "x".repeat(300_000));
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    for (more, body, status, part) in [
        (format!("{json}Content-Length: {}\r\n", large.len()), large.as_str(), 413, "too-large"),
        (format!("{json}Transfer-Encoding: chunked\r\n"), chunk.as_str(), 413, "too-large"),
        // Only the head comes of what is said to be enormous.
        (format!("{json}Content-Length: 1000000000000\r\n"), "", 413, "too-large"),
        (format!("X: {}\r\n", "x".repeat(40_000)), "", 431, ""),
        (format!("{json}Content-Length: 3\r\nContent-Length: 4\r\n"), "123", 400, ""),
        (format!("{json}Content-Length: -3\r\n"), "123", 400, ""),
    ] {
        let mut stream = server.connect();
        let _ = stream.write_all(server.head("POST", &more).as_bytes());
        let _ = stream.write_all(body.as_bytes());
        check_answer(&rest(&mut stream), status, part);
    }
    check_answer(&server.list(), 200, "\"accounts\":[]");
    server.end();
}

#[test]
fn whoever_does_not_read_is_given_up() {
    let server = Server::start(Settings { arrival: Duration::from_millis(400), ..patient() });
    let mut stream = server.connect();
    // Answers pile up until the server cannot send any more, and so does not read any more; then it gives up, which ends the waiting
    // for it here.
    let request = "GET /openapi.json HTTP/1.1\r\nHost: here\r\n\r\n".repeat(200);
    let error = (0..10_000).find_map(|_| stream.write_all(request.as_bytes()).err()).unwrap();
    assert!(matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe), "{error}");
    server.end();
}

#[test]
fn too_many_connections_wait_their_turn() {
    let server = Server::start(Settings { connections: 2, ..patient() });
    // They are taken in the order in which they come, and these have shown their tokens, and have nothing more to say.
    let [first, second] = [(); 2].map(|()| {
        let mut stream = server.connect();
        ask(&mut stream, &server);
        stream
    });
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..8).map(|_| scope.spawn(|| (server.list(), Instant::now()))).collect();
        // Time enough to be answered, if there were room.
        std::thread::sleep(Duration::from_millis(300));
        let released = Instant::now();
        drop((first, second));
        for waited in waiting {
            let (answer, when) = waited.join().unwrap();
            check_answer(&answer, 200, "\"accounts\":[]");
            assert!(when > released, "there was no room before");
        }
    });
    server.end();
}

#[test]
fn a_token_has_its_rate_and_others_have_theirs() {
    let server = Server::start(Settings { requests_per_second: 3, ..patient() });
    // All at once: a server that answered no more than three a second would need half a minute for them.
    let mut stream = server.connect();
    let requests = server.head("GET", "").repeat(99) + &server.head("GET", "Connection: close\r\n");
    stream.write_all(requests.as_bytes()).unwrap();
    let answers = rest(&mut stream);
    let answers: Vec<&str> = answers.split("HTTP/1.1 ").skip(1).collect();
    assert_eq!(answers.len(), 100);
    assert!(answers[..3].iter().all(|answer| answer.starts_with("200 ")), "{answers:?}");
    let refused = answers[3..].iter().find(|answer| answer.starts_with("429 "));
    assert!(refused.expect("too many").contains("too-many-requests"), "{answers:?}");

    // A token that is made beside the server counts soon, and no longer when it is revoked.
    let location = Location::File(server.folder.path().join("taximeter.db"));
    let id = taximeter_ledger::Reader::open(&location, None).unwrap().id();
    let beside = Tokens::open(&TokenPlace::of(&location), id).unwrap();
    let made = beside.create(&owner("another")).unwrap();
    let ask = || {
        let mut stream = server.connect();
        let secret = &made.secret;
        let request = format!(
            "GET /v1/accounts HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {secret}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        rest(&mut stream)[9..12].to_string()
    };
    wait_until("the token counts", || ask() == "200");
    beside.revoke(&made.token.id).unwrap();
    wait_until("the token counts no longer", || ask() == "401");
    server.end();
}

#[test]
fn the_end_answers_what_was_accepted_and_takes_nothing_new() {
    let mut server = Server::start(patient());
    let (mut accepted, body) = server.opening_slowly("census");
    let mut idle = server.connect();
    idle.write_all(server.head("GET", "").as_bytes()).unwrap();
    let mut start_of_answer = [0; 12];
    idle.read_exact(&mut start_of_answer).unwrap();
    server.ask_to_end();
    let answer = rest(&mut idle);
    assert!(answer.contains("\"accounts\":[]"), "{answer:?}");
    wait_until("it listens no more", || TcpStream::connect(server.address).is_err());
    accepted.write_all(body.as_bytes()).unwrap();
    let answer = rest(&mut accepted);
    check_answer(&answer, 201, "census");
    let log = server.ended();
    assert!(log.lines().last().unwrap().contains("\"event\":\"end\",\"cut_off\":0"), "{log}");
}

#[test]
fn the_end_does_not_wait_forever() {
    // If it waited until the body is late, it would answer that, and cut nothing off.
    let mut server = Server::start(Settings { farewell: Duration::from_millis(300), ..patient() });
    let (mut stuck, _) = server.opening_slowly("census");
    server.ask_to_end();
    let log = server.ended();
    assert!(log.contains("\"cut_off\":1"), "{log}");
    assert_eq!(rest(&mut stuck), "");
}

#[test]
fn the_log_has_no_secrets_and_no_names() {
    let server = Server::start(patient());
    let (head, body) = server.opening("payroll");
    let mut stream = server.connect();
    stream.write_all((head + &body).as_bytes()).unwrap();
    check_answer(&rest(&mut stream), 201, "payroll");
    let wrong = format!("txm_{}_{}", "0".repeat(16), "5ec4e7".repeat(11).get(..64).unwrap());
    let token = server.token.clone();
    for (method, path, token) in [
        ("GET", "/v1/accounts/payroll?note=5ec4e7", &token),
        ("GET", "/v1/accounts/payroll%2F5ec4e7", &token),
        ("GET", "/5ec4e7/payroll", &token),
        ("5EC4E7", "/v1/accounts", &token),
        ("GET", "/v1/accounts", &wrong),
        ("GET", "/v1/accounts/payroll/history?limit=5ec4e7", &token),
    ] {
        let mut stream = server.connect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 5ec4e7\r\nCookie: 5ec4e7\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        rest(&mut stream);
    }
    let log = server.end();
    let bits = &token[21..];
    for hidden in [bits, "txm_", "5ec4e7", "5EC4E7", "payroll", "Bearer", "epsilon"] {
        assert!(!log.contains(hidden), "{hidden:?} is in the log:\n{log}");
    }
    for shown in ["\"principal\":\"olga\"", &token[4..20], "/v1/accounts/{name}/history", "\"code\":\"unauthorized\""] {
        assert!(log.contains(shown), "{shown:?} is not in the log:\n{log}");
    }
    assert_eq!(log.matches("\"event\":\"request\"").count(), 7, "{log}");
}

/// A certificate for localhost, in files.
fn certificate(folder: &TempDir) -> (Tls, rustls::pki_types::CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let tls = Tls { certificate: folder.path().join("server.pem"), key: folder.path().join("server.key") };
    std::fs::write(&tls.certificate, made.cert.pem()).unwrap();
    std::fs::write(&tls.key, made.signing_key.serialize_pem()).unwrap();
    (tls, made.cert.der().clone())
}

/// A client that trusts this certificate and no other.
fn trusting(certificate: rustls::pki_types::CertificateDer<'static>) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

#[test]
fn a_renewed_certificate_is_used_without_a_restart() {
    let mut trusted = None;
    let server = Server::start_with(patient(), |folder| {
        let (tls, der) = certificate(folder);
        trusted = Some(der);
        Some(tls)
    });
    let old = trusting(trusted.unwrap());
    check_answer(&server.ask_encrypted(&old).unwrap(), 200, "\"accounts\":[]");
    // Who is connected stays so.
    let mut open = server.encrypted(&old);
    open.write_all(server.head("GET", "").as_bytes()).unwrap();
    let mut first = [0; 15];
    open.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");

    // The certificate comes first, and does not go with the key that is still there: the one before is used.
    let next = tempfile::tempdir().unwrap();
    let (tls, der) = certificate(&next);
    let place = |file: &std::path::Path| server.folder.path().join(file.file_name().unwrap());
    std::fs::copy(&tls.certificate, place(&tls.certificate)).unwrap();
    server.wait_for_log("certificate-not-renewed");
    check_answer(&server.ask_encrypted(&old).unwrap(), 200, "\"accounts\":[]");

    std::fs::copy(&tls.key, place(&tls.key)).unwrap();
    server.wait_for_log("\"certificate-renewed\"");
    check_answer(&server.ask_encrypted(&trusting(der)).unwrap(), 200, "\"accounts\":[]");
    assert!(server.ask_encrypted(&old).is_err(), "the old certificate is no longer shown");
    open.write_all(server.head("GET", "Connection: close\r\n").as_bytes()).unwrap();
    assert!(rest(&mut open).contains("HTTP/1.1 200 OK"), "a second answer on the connection from before");

    // A file that is gone changes nothing.
    std::fs::remove_file(place(&tls.key)).unwrap();
    server.wait_for_log("server.key cannot be used");
    let page = server.end();
    assert_eq!(page.matches("\"certificate-renewed\"").count(), 1, "{page}");
}

#[test]
fn an_encrypted_server_answers_those_who_encrypt_and_nobody_else() {
    let mut trusted = None;
    let server = Server::start_with(patient(), |folder| {
        let (tls, der) = certificate(folder);
        trusted = Some(der);
        Some(tls)
    });
    let config = trusting(trusted.unwrap());
    let ask = || server.ask_encrypted(&config).unwrap();
    check_answer(&ask(), 200, "\"accounts\":[]");
    let mut plain = server.connect();
    plain.write_all(server.head("GET", "").as_bytes()).unwrap();
    assert!(!rest(&mut plain).contains("HTTP"), "there is no answer in the clear");
    check_answer(&ask(), 200, "\"accounts\":[]");
    server.end();

    let hasty = Settings { arrival: Duration::from_millis(400), ..patient() };
    let server = Server::start_with(hasty, |folder| Some(certificate(folder).0));
    assert_eq!(rest(&mut server.connect()), "", "a silent one is cut off");
    server.end();
}

#[test]
fn a_certificate_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (good, _) = certificate(&folder);
    let other = tempfile::tempdir().unwrap();
    let (foreign, _) = certificate(&other);
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let missing = folder.path().join("missing.pem");
    let words = file("words.pem", "words");
    let broken = file("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let runtime = Runtime::new().unwrap();
    for (certificate, key, part) in [
        (&missing, &good.key, "missing.pem"),
        (&good.certificate, &missing, "missing.pem"),
        (&words, &good.key, "no CERTIFICATE"),
        (&good.certificate, &words, "no PRIVATE KEY"),
        (&good.certificate, &good.certificate, "no PRIVATE KEY"),
        (&broken, &good.key, "broken.pem"),
        (&good.certificate, &foreign.key, "do not go together"),
    ] {
        let tls = Tls { certificate: certificate.clone(), key: key.clone() };
        let bound = runtime.block_on(Listener::bind("127.0.0.1:0".parse().unwrap(), Some(tls)));
        let problem = bound.err().unwrap();
        assert!(problem.detail.contains(part), "{part:?} is not in {:?}", problem.detail);
    }
}

/// Two thousand idle connections kept a health check waiting for twelve seconds.
#[test]
fn connections_without_a_token_make_room_for_health_checks_and_for_those_with_one() {
    // So long that none of them ends by itself.
    let mut server = Server::start(Settings { connections: 8, arrival: Duration::from_secs(3600), ..patient() });
    let mut idle: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    let mut health = server.connect();
    health.write_all(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut status = [0; 15];
    health.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK");
    // One that has shown a token stays, however many come after it.
    let mut shown = server.connect();
    ask(&mut shown, &server);
    idle.extend((0..20).map(|_| server.connect()));
    assert!(server.list().starts_with("HTTP/1.1 200 OK"));
    ask(&mut shown, &server);
    drop((idle, health, shown));
    server.ask_to_end();
    server.ended();
}

/// Asks for the accounts on a connection that stays open.
fn ask(stream: &mut TcpStream, server: &Server) {
    stream.write_all(server.head("GET", "").as_bytes()).unwrap();
    let mut status = [0; 15];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK");
    read_body(stream);
}

/// Reads to the end of an answer whose head is being read, by its length.
fn read_body(stream: &mut TcpStream) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.split_once("content-length: ").unwrap().1.split_once("\r\n").unwrap().0;
    stream.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
}

#[test]
fn a_request_names_its_host_once_and_another_is_answered_like_any_other() {
    let mut server = Server::start(Settings { is_encrypted: true, ..patient() });
    for (hosts, status) in
        [("", "400"), ("Host: a\r\nHost: a\r\n", "400"), ("Host: a\r\nHost: b\r\n", "400"), ("Host: a\r\n", "200")]
    {
        let mut stream = server.connect();
        stream.write_all(format!("GET /healthz HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n").as_bytes()).unwrap();
        let answer = rest(&mut stream).to_lowercase();
        assert!(answer.starts_with(&format!("http/1.1 {status}")), "{hosts:?}: {answer}");
        assert!(answer.contains("strict-transport-security: ") && answer.contains("no-store"), "{hosts:?}: {answer}");
    }
    let counted = "taximeter_http_requests_total{route=\"\",status=\"400\"} 3";
    let metrics = server.get("/metrics");
    assert!(metrics.contains(counted), "{metrics}");
    server.ask_to_end();
    let log = server.ended();
    assert_eq!(log.matches("\"status\":400,\"code\":\"bad-request\"").count(), 3, "{log}");
}

#[test]
fn browsers_are_told_to_come_encrypted_where_everything_is() {
    for is_encrypted in [true, false] {
        let mut server = Server::start(Settings { is_encrypted, ..patient() });
        let answer = server.list().to_lowercase();
        assert_eq!(answer.contains("strict-transport-security: max-age=31536000"), is_encrypted, "{answer}");
        server.ask_to_end();
        server.ended();
    }
}

/// A server whose ledger had stopped went on answering 503, and was never restarted.
#[test]
fn a_server_ends_with_an_error_when_its_ledger_takes_nothing_more() {
    let mut server = Server::start(patient());
    // Without its witness a ledger must not go on.
    std::fs::write(server.folder.path().join("taximeter.db.witness"), "").unwrap();
    let answer = server.open_account("census");
    assert!(answer.starts_with("HTTP/1.1 5"), "{answer}");
    let runtime = server.runtime.take().unwrap();
    let ended = runtime.block_on(server.serving.take().unwrap()).unwrap();
    assert_eq!(ended.unwrap_err().code, Code::Stopped);
    runtime.shutdown_timeout(PATIENCE);
    drop(server.state.take());
    assert!(server.page.text().contains("\"event\":\"ledger-stopped\""), "{}", server.page.text());
}
