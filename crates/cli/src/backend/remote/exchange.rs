//! A request to the server and its answer. It is repeated if that is safe, a limited number of times.

use std::io::Read;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use taximeter_gate::LONGEST_TIMEOUT;
use taximeter_ledger::Key;
use taximeter_service::{Code, Problem};
use ureq::http::{HeaderMap, Method, Request, Response};
use ureq::{AsSendBody, Body, Error, SendBody, Timeout};

use super::Remote;
use crate::output::{Failure, usage};

/// The longest answer that is read, in bytes. An export may be longer.
const LONGEST_ANSWER: u64 = 64 << 20;

/// How often a request is sent to a busy server.
const BUSY_TRIES: u32 = 5;

/// How often, and for how long, a repeatable request is sent if its answer is lost.
const LOST_TRIES: u32 = 3;
const LOST_TIME: Duration = Duration::from_secs(5);

/// The time limits for an answer: of a lookup, and of a question or an import.
const SHORT: Duration = Duration::from_secs(120);
const LONG: Duration = LONGEST_TIMEOUT.saturating_add(SHORT);

/// A request.
pub struct Call<'a> {
    method: Method,
    path: String,
    body: String,
    content_type: &'static str,
    key: Option<&'a Key>,
    /// Whether sending it again changes nothing more.
    is_repeatable: bool,
    patience: Duration,
    /// Whether the answer is read as a stream, without a time limit.
    is_streamed: bool,
    busy_tries: u32,
}

impl<'a> Call<'a> {
    /// A GET request.
    pub fn get(path: impl Into<String>) -> Call<'a> {
        Call { method: Method::GET, is_repeatable: true, ..Call::post_empty(path) }
    }

    /// A POST request with a JSON body.
    pub fn post(path: impl Into<String>, body: &impl Serialize) -> Result<Call<'a>, Failure> {
        let body = serde_json::to_string(body).map_err(|error| Failure::Other(error.to_string()))?;
        Ok(Call { body, content_type: "application/json", ..Call::post_empty(path) })
    }

    /// A POST request without a body.
    pub fn post_empty(path: impl Into<String>) -> Call<'a> {
        Call {
            method: Method::POST,
            path: path.into(),
            body: String::new(),
            content_type: "",
            key: None,
            is_repeatable: false,
            patience: SHORT,
            is_streamed: false,
            busy_tries: BUSY_TRIES,
        }
    }

    /// Sends the request only once, even if the server is busy.
    pub fn single(self) -> Call<'a> {
        Call { busy_tries: 1, ..self }
    }

    /// Allows to repeat the request if its answer is lost.
    pub fn repeatable(self) -> Call<'a> {
        Call { is_repeatable: true, ..self }
    }

    /// Adds an idempotency key, so that the request takes effect only once and can be repeated.
    pub fn under(self, key: &'a Key) -> Result<Call<'a>, Failure> {
        if key.as_str().trim() != key.as_str() {
            return Err(usage(format!(
                "the key {:?} starts or ends with a space, which HTTP removes; omit it",
                key.as_str()
            )));
        }
        Ok(Call { key: Some(key), ..self.repeatable() })
    }

    /// Allows the time of a question or an import.
    pub fn long(self) -> Call<'a> {
        Call { patience: LONG, ..self }
    }
}

/// The answer of the server.
pub struct HttpAnswer {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl HttpAnswer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body.
    pub fn into_text(self) -> String {
        self.text
    }

    fn problem(&self) -> Option<Problem> {
        serde_json::from_str(&self.text).ok()
    }

    /// The time to wait before the request is repeated, if the server is busy.
    fn wait(&self) -> Option<Duration> {
        let is_busy = matches!(self.status, 429 | 503)
            && self.problem().is_some_and(|problem| matches!(problem.code, Code::Busy | Code::TooManyRequests));
        let seconds = self.header("retry-after").and_then(|text| text.trim().parse().ok()).unwrap_or(1);
        is_busy.then(|| Duration::from_secs(seconds).clamp(Duration::from_millis(200), Duration::from_secs(5)))
    }
}

/// A request without an answer.
struct Lost {
    why: String,
    /// Whether the server may have received the request.
    may_be_done: bool,
    /// Whether the certificate of the server was refused.
    is_trust: bool,
}

impl Remote {
    /// The document in the answer.
    pub fn document<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T, Failure> {
        let answer = self.answered(call)?.map_err(|problem| self.failure(problem, call))?;
        self.parse(&answer.text)
    }

    /// Reads a document.
    pub fn parse<T: DeserializeOwned>(&self, text: &str) -> Result<T, Failure> {
        serde_json::from_str(text).map_err(|error| {
            Failure::Other(format!(
                "the response of the server {} cannot be read ({error}); do client and server versions match?",
                self.address
            ))
        })
    }

    /// The answer, or the problem that the server reports.
    pub fn answered(&self, call: &Call<'_>) -> Result<Result<HttpAnswer, Problem>, Failure> {
        self.classify(self.exchange(call)?)
    }

    /// Separates answers, problems, and responses of other servers.
    fn classify(&self, answer: HttpAnswer) -> Result<Result<HttpAnswer, Problem>, Failure> {
        if (200..=299).contains(&answer.status) {
            return Ok(Ok(answer));
        }
        answer.problem().map(Err).ok_or_else(|| self.foreign(&answer))
    }

    /// The failure for a problem. If the outcome is unknown, it names the key that resolves it.
    pub fn failure(&self, problem: Problem, call: &Call<'_>) -> Failure {
        match (problem.code, call.key) {
            (Code::UnknownOutcome, Some(key)) => Failure::Other(format!("{problem}: --key {key}")),
            _ => problem.into(),
        }
    }

    fn exchange(&self, call: &Call<'_>) -> Result<HttpAnswer, Failure> {
        let started = Instant::now();
        let (mut busy, mut lost, mut may_be_done) = (0, 0, false);
        loop {
            let error = match self.once(call) {
                Ok(answer) => match answer.wait() {
                    Some(wait) if busy + 1 < call.busy_tries => {
                        busy += 1;
                        sleep(wait);
                        continue;
                    }
                    _ => return Ok(answer),
                },
                Err(error) => error,
            };
            lost += 1;
            may_be_done |= error.may_be_done;
            if !call.is_repeatable || !may_be_done || lost >= LOST_TRIES || started.elapsed() >= LOST_TIME {
                return Err(self.lost(Lost { may_be_done, ..error }, call));
            }
            sleep(Duration::from_millis(500) * lost);
        }
    }

    fn once(&self, call: &Call<'_>) -> Result<HttpAnswer, Lost> {
        read(match call.method {
            Method::GET => self.send(call, ())?,
            _ => self.send(call, call.body.as_str())?,
        })
    }

    fn send(&self, call: &Call<'_>, body: impl AsSendBody) -> Result<Response<Body>, Lost> {
        let mut request = Request::builder().method(&call.method).uri(self.address.of(&call.path));
        request = request.header("authorization", &self.authorization);
        if let Some(key) = call.key {
            request = request.header("idempotency-key", key.as_str().as_bytes());
        }
        if !call.content_type.is_empty() {
            request = request.header("content-type", call.content_type);
        }
        let request = self.agent.configure_request(request.body(body).map_err(Error::Http)?);
        let request = request
            .timeout_recv_response(Some(call.patience))
            .timeout_recv_body(Some(call.patience).filter(|_| !call.is_streamed));
        Ok(self.agent.run(request.build())?)
    }

    /// Uploads a file as a stream.
    pub fn upload(&self, path: &str, content_type: &'static str, file: &mut dyn Read) -> Result<HttpAnswer, Failure> {
        let call = Call { content_type, ..Call::post_empty(path).long() };
        let sent = self.send(&call, SendBody::from_reader(file)).and_then(read);
        Ok(self.classify(sent.map_err(|lost| self.lost(lost, &call))?)??)
    }

    /// The body of an answer as a stream.
    pub fn stream(&self, path: &str) -> Result<impl Read, Failure> {
        let call = Call { is_streamed: true, ..Call::get(path) };
        let response = self.send(&call, ()).map_err(|lost| self.lost(lost, &call))?;
        if response.status().is_success() {
            return Ok(response.into_body().into_with_config().limit(u64::MAX).reader());
        }
        let answer = read(response).map_err(|lost| self.lost(lost, &call))?;
        Err(answer.problem().map_or_else(|| self.foreign(&answer), Failure::from))
    }

    fn foreign(&self, answer: &HttpAnswer) -> Failure {
        let (server, header) = (&self.address, |name: &str| answer.header(name).unwrap_or("nothing"));
        Failure::Other(match answer.status {
            300..=399 => format!(
                "the server {server} redirects to {}, and your token is not sent there; if that address is right, use it",
                header("location")
            ),
            status => format!(
                "{server} is not a Taximeter server: it answers with status {status}, {}; is the URL right?",
                header("content-type")
            ),
        })
    }

    /// The failure for a request without an answer.
    fn lost(&self, lost: Lost, call: &Call<'_>) -> Failure {
        let Lost { why, may_be_done, is_trust } = lost;
        let server = &self.address;
        Failure::Other(match (may_be_done, call.key) {
            _ if is_trust => format!(
                "the server {server} cannot be trusted: {why}. If its certificate is from your own authority, name the authority's \
                 file in TAXIMETER_CA"
            ),
            (false, _) => {
                format!(
                    "the server {server} cannot be reached: {why}. Nothing was done; is it running, and is the URL right?"
                )
            }
            (true, Some(key)) => format!(
                "the connection to {server} was lost: {why}. It is not known whether it was charged; try again with the same key, which \
                 never charges twice: --key {key}"
            ),
            (true, None) if call.is_repeatable => format!("the connection to {server} was lost: {why}. Try again"),
            (true, None) => format!(
                "the connection to {server} was lost: {why}. It is not known whether the request took effect; look before you try again"
            ),
        })
    }
}

/// Reads an answer, up to the longest length.
fn read(mut response: Response<Body>) -> Result<HttpAnswer, Lost> {
    let bytes = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec()?;
    let (parts, _) = response.into_parts();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(HttpAnswer { status: parts.status.as_u16(), headers: parts.headers, text })
}

impl From<Error> for Lost {
    fn from(error: Error) -> Lost {
        let why = match &error {
            Error::Io(error) => error.to_string(),
            Error::Protocol(error) => {
                format!("the answer is incomplete or not HTTP ({error}); does the URL need https://?")
            }
            Error::BodyExceedsLimit(_) => format!("the answer is longer than {LONGEST_ANSWER} bytes"),
            error => error.to_string(),
        };
        // rustls reports a failed handshake as an I/O error of this kind.
        let is_trust = matches!(error, Error::Tls(_) | Error::Rustls(_) | Error::Pem(_))
            || matches!(&error, Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData);
        let is_unreached = match &error {
            Error::Io(error) => matches!(
                error.kind(),
                std::io::ErrorKind::ConnectionRefused
                    | std::io::ErrorKind::HostUnreachable
                    | std::io::ErrorKind::NetworkUnreachable
                    | std::io::ErrorKind::AddrNotAvailable
            ),
            Error::HostNotFound | Error::ConnectionFailed | Error::BadUri(_) | Error::Http(_) => true,
            Error::InvalidProxyUrl | Error::ConnectProxyFailed(_) => true,
            Error::Timeout(timeout) => matches!(timeout, Timeout::Resolve | Timeout::Connect),
            _ => false,
        };
        Lost { why, may_be_done: !is_unreached && !is_trust, is_trust }
    }
}
