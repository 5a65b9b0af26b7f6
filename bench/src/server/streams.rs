//! Many open event streams that are read by one thread.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Streams that are read until they are dropped.
pub struct Streams {
    messages: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
    reader: Option<JoinHandle<Result<(), String>>>,
}

impl Streams {
    /// Opens this number of streams, and returns when all of them have said something.
    pub fn open(address: SocketAddr, token: &str, count: usize) -> Result<Streams, String> {
        let (messages, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let open = Arc::new(AtomicU64::new(0));
        let request = format!("GET /v1/events HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n");
        let reader = std::thread::spawn({
            let (messages, ends, open) = (Arc::clone(&messages), Arc::clone(&ends), Arc::clone(&open));
            move || read(address, request, count, &messages, &ends, &open)
        });
        let streams = Streams { messages, ends, reader: Some(reader) };
        while open.load(Ordering::Relaxed) < count as u64 {
            if streams.reader.as_ref().is_some_and(JoinHandle::is_finished) {
                return Err("a stream was not opened".to_string());
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Ok(streams)
    }

    /// How many messages came on all of them.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Ends them all.
    pub fn close(mut self) -> Result<(), String> {
        self.ends.store(true, Ordering::Relaxed);
        match self.reader.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err("the reader of the streams panicked".to_string()),
        }
    }
}

fn read(
    address: SocketAddr,
    request: String,
    count: usize,
    messages: &AtomicU64,
    ends: &AtomicBool,
    open: &AtomicU64,
) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let one = async || -> Result<(), String> {
            let text = |error: std::io::Error| format!("a stream: {error}");
            let mut stream = TcpStream::connect(address).await.map_err(text)?;
            stream.write_all(request.as_bytes()).await.map_err(text)?;
            let (mut buffer, mut is_open) = ([0; 16 * 1024], false);
            loop {
                let read = stream.read(&mut buffer).await.map_err(text)?;
                if read == 0 {
                    return Err("a stream ended".to_string());
                }
                if !is_open && !buffer.starts_with(b"HTTP/1.1 200") {
                    return Err(format!("a stream: {}", String::from_utf8_lossy(&buffer[..read])));
                }
                if !is_open {
                    open.fetch_add(1, Ordering::Relaxed);
                    is_open = true;
                }
                let starts = buffer[..read].windows(6).filter(|bytes| *bytes == b"event:").count();
                messages.fetch_add(starts as u64, Ordering::Relaxed);
            }
        };
        let all = futures_util::future::try_join_all((0..count).map(|_| one()));
        let ended = async {
            while !ends.load(Ordering::Relaxed) {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            result = all => result.map(|_| ()),
            () = ended => Ok(()),
        }
    })
}
