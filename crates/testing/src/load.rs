//! Many connections that charge a server as fast as it answers, and remember what was acknowledged.

use std::cell::Cell;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::waiting::PATIENCE;

/// Who charges what.
pub struct ServerLoad<'a> {
    /// The servers; connections are dealt out among them.
    pub servers: &'a [SocketAddr],
    /// Who charges; connections are dealt out among them too.
    pub callers: &'a [LoadCaller<'a>],
    /// How many connections.
    pub connections: usize,
}

/// A caller that charges the same again and again.
#[derive(Clone, Copy)]
pub struct LoadCaller<'a> {
    /// The secret of the token.
    pub token: &'a str,
    /// What every charge asks, as JSON.
    pub body: &'a str,
}

/// A charge that a server acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Acknowledged {
    /// The key that it was asked with.
    pub key: String,
    /// Its place in the journal.
    pub sequence: u64,
    /// The hash of its record; analysts are not told.
    pub hash: Option<String>,
}

/// What came of a load.
#[derive(Default)]
pub struct LoadResult {
    /// What was acknowledged.
    pub acknowledged: Vec<Acknowledged>,
    /// Keys that were sent and whose answer never came: these may or may not be charged.
    pub unknown: Vec<String>,
    /// How many charges were refused.
    pub refused: u64,
    /// How long each answer took.
    pub times: Vec<Duration>,
    /// How long it all took.
    pub took: Duration,
}

impl LoadResult {
    /// Acknowledged charges in a second.
    pub fn per_second(&self) -> f64 {
        self.acknowledged.len() as f64 / self.took.as_secs_f64()
    }

    /// The time within which such a share of all answers came.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        let at = (share * times.len() as f64) as usize;
        times.get(at.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
    }

    /// Both together.
    pub fn and(mut self, other: LoadResult) -> LoadResult {
        self.acknowledged.extend(other.acknowledged);
        self.unknown.extend(other.unknown);
        self.times.extend(other.times);
        LoadResult { refused: self.refused + other.refused, took: self.took + other.took, ..self }
    }
}

impl fmt::Debug for LoadResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, unknown) = (self.acknowledged.len(), self.unknown.len());
        write!(f, "{done} acknowledged, {unknown} unknown, {} refused in {:?}", self.refused, self.took)
    }
}

impl ServerLoad<'_> {
    /// Charges as long as `goes_on` says so. A connection that breaks ends; an answer that is neither a charge nor a refusal is an
    /// error. All connections are served by one thread, so that as much as possible of the machine is left to the server.
    pub fn run(&self, goes_on: &dyn Fn() -> bool) -> Result<LoadResult, String> {
        let started = Instant::now();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let answers = Cell::new(0);
        let connections = (0..self.connections).map(|number| self.connection(number, goes_on, &answers));
        let parts = runtime.block_on(async {
            tokio::select! {
                parts = futures_util::future::join_all(connections) => Ok(parts),
                () = silence(&answers) => Err(format!("there was no answer within {} s", PATIENCE.as_secs())),
            }
        })?;
        let mut all = LoadResult::default();
        for part in parts {
            all = all.and(part?);
        }
        Ok(LoadResult { took: started.elapsed(), ..all })
    }

    async fn connection(
        &self,
        number: usize,
        goes_on: &dyn Fn() -> bool,
        answers: &Cell<u64>,
    ) -> Result<LoadResult, String> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut done = LoadResult::default();
        let address = self.servers[number % self.servers.len()];
        let Ok(mut stream) = TcpStream::connect(address).await else { return Ok(done) };
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let LoadCaller { token, body } = self.callers[number % self.callers.len()];
        let head = format!(
            "POST /v1/charges HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\nidempotency-key: ",
            body.len()
        );
        let process = std::process::id();
        let (mut request, mut buffer) = (String::new(), Vec::with_capacity(16 * 1024));
        while goes_on() {
            let key = format!("load-{process}-{:08}", COUNT.fetch_add(1, Ordering::Relaxed));
            let started = Instant::now();
            request.clear();
            request.extend([&head, key.as_str(), "\r\n\r\n", body]);
            let answer = match stream.write_all(request.as_bytes()).await {
                Ok(()) => read_answer(&mut stream, &mut buffer).await?,
                Err(_) => None,
            };
            done.times.push(started.elapsed());
            answers.set(answers.get() + 1);
            match answer {
                Some((201, body)) => done.acknowledged.push(acknowledged(key, body)?),
                Some((409, _)) => done.refused += 1,
                Some((status, body)) => return Err(format!("a charge was answered with {status}: {body}")),
                None => {
                    done.unknown.push(key);
                    return Ok(done);
                }
            }
        }
        Ok(done)
    }
}

/// Ends when no connection has got an answer for too long. One clock for all: one for each would be much of the load.
async fn silence(answers: &Cell<u64>) {
    let mut before = None;
    while before != Some(answers.get()) {
        before = Some(answers.get());
        tokio::time::sleep(PATIENCE).await;
    }
}

/// The status and the body of the next answer; nothing if the connection ends before that. There is nothing behind it, since nothing
/// else was asked.
async fn read_answer<'a>(stream: &mut TcpStream, buffer: &'a mut Vec<u8>) -> Result<Option<(u16, &'a str)>, String> {
    let broken = || "an answer cannot be read".to_string();
    buffer.clear();
    loop {
        match stream.read_buf(buffer).await {
            Ok(0) | Err(_) => return Ok(None),
            Ok(_) => {}
        }
        let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        let head = str::from_utf8(&buffer[..end]).map_err(|_| broken())?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).ok_or_else(broken)?;
        let length: usize = length.parse().map_err(|_| broken())?;
        if buffer.len() >= end + 4 + length {
            let body = str::from_utf8(&buffer[end + 4..end + 4 + length]).map_err(|_| broken())?;
            return Ok(Some((status, body)));
        }
    }
}

fn acknowledged(key: String, body: &str) -> Result<Acknowledged, String> {
    let after = |name: &str| body.split_once(name).map(|(_, rest)| rest);
    let number = after("\"sequence\":").and_then(|rest| rest.split([',', '}']).next()?.parse().ok());
    let hash = after("\"hash\":").map(|rest| rest.strip_prefix('"').and_then(|rest| rest.split('"').next()));
    match (number, hash) {
        (Some(sequence), Some(hash)) => Ok(Acknowledged { key, sequence, hash: hash.map(str::to_string) }),
        _ => Err(format!("a charge was answered with {body}")),
    }
}
