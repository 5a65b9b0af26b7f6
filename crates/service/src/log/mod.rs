//! The server's log: one line per request, without data values.
//!
//! A line has the route's template and not the path, which contains account names; the code of a problem and not its details; and
//! never a header, a query or a body. A separate thread writes, so that a slow terminal slows no request.

mod line;

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;

pub use self::line::{AnsweredRequest, IssuerTrouble, LogEvent, Trouble};
use self::line::{LogEntry, line};

/// Where lines go, and in which form. Cheap to clone; dropping the last clone waits a moment until all is written.
#[derive(Clone)]
pub struct Log {
    /// `None` for a log that is off.
    lines: Option<Arc<LineSender>>,
}

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogForm {
    /// JSON, one document a line.
    Json,
    /// Text for people.
    Text,
    /// No log.
    Off,
}

/// The channel to the thread that writes.
struct LineSender {
    /// `None` once it is closed.
    sender: Option<SyncSender<LogEntry>>,
    dropped: Arc<AtomicU64>,
    /// Ends when the thread has ended.
    written: Mutex<Receiver<()>>,
}

/// The most lines that wait to be written.
const WAITING: usize = 4096;

/// How long shutdown waits for the last lines to be written.
const LAST_LINES: Duration = Duration::from_secs(3);

impl Log {
    /// A log to standard error.
    pub fn new(form: LogForm) -> Log {
        Log::to(form, io::stderr())
    }

    /// A log to a given writer.
    pub fn to(form: LogForm, out: impl Write + Send + 'static) -> Log {
        if form == LogForm::Off {
            return Log { lines: None };
        }
        let (sender, entries) = sync_channel(WAITING);
        let (ended, written) = sync_channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&dropped);
        let started = thread::Builder::new().name("log".to_string()).spawn(move || {
            write_lines(form, out, &entries, &counter);
            drop(ended);
        });
        // If the thread cannot be started, the server runs without a log.
        Log {
            lines: started
                .ok()
                .map(|_| Arc::new(LineSender { sender: Some(sender), dropped, written: Mutex::new(written) })),
        }
    }

    /// Logs where a thread panicked instead of its message, which may contain data values.
    pub fn tell_panics(&self) {
        let lines = self.lines.as_ref().map_or_else(Weak::new, Arc::downgrade);
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line()));
            let log = Log { lines: lines.upgrade() };
            log.write(LogEvent::Panic { place: place.unwrap_or_default() });
        }));
    }

    /// Whether lines are written at all.
    pub fn is_on(&self) -> bool {
        self.lines.is_some()
    }

    /// Queues a line; if the queue is full, the line is dropped and counted.
    pub fn write(&self, event: LogEvent) {
        let Some(lines) = &self.lines else { return };
        let Some(sender) = &lines.sender else { return };
        if sender.try_send(LogEntry { time: Timestamp::now(), event }).is_err() {
            lines.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for LineSender {
    fn drop(&mut self) {
        self.sender = None;
        // The thread ends when all is written, unless the reader is stuck.
        let written = self.written.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = written.recv_timeout(LAST_LINES);
    }
}

/// Writes until the channel is closed.
fn write_lines(form: LogForm, out: impl Write, entries: &Receiver<LogEntry>, dropped: &AtomicU64) {
    let mut out = io::BufWriter::new(out);
    while let Ok(first) = entries.recv() {
        let mut next = Ok(first);
        // All lines that wait are written together.
        while let Ok(entry) = next {
            // A failed write cannot be reported anywhere.
            let _ = writeln!(out, "{}", line(form, &entry, dropped.swap(0, Ordering::Relaxed)));
            next = entries.try_recv();
        }
        let _ = out.flush();
        if let Err(TryRecvError::Disconnected) = next {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use taximeter_testing::Captured;

    use super::*;

    fn request(status: u16, code: Option<Code>) -> LogEvent {
        let took = Duration::from_micros(1234);
        let (route, principal, token, bytes) = (None, None, None, Some(17));
        LogEvent::Request(AnsweredRequest { method: "GET", route, status, code, principal, token, took, bytes })
    }

    #[test]
    fn every_line_is_one_document_and_is_there_at_the_end() {
        let page = Captured::default();
        let log = Log::to(LogForm::Json, page.clone());
        log.write(LogEvent::Start { listens: "https://127.0.0.1:7070".to_string(), version: "1" });
        log.write(request(200, None));
        log.write(request(500, Some(Code::Storage)));
        log.write(LogEvent::End { cut_off: 0 });
        drop(log);
        let text = page.text();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
        assert_eq!(events, ["start", "request", "request", "end"]);
        assert_eq!(lines[0]["listens"], "https://127.0.0.1:7070");
        let names: Vec<&String> = lines[1].as_object().unwrap().keys().collect();
        let mut expected = [
            "time",
            "level",
            "event",
            "method",
            "path",
            "status",
            "code",
            "principal",
            "token",
            "milliseconds",
            "bytes",
        ];
        expected.sort_unstable();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        assert_eq!((&lines[1]["level"], &lines[1]["code"]), (&"info".into(), &serde_json::Value::Null));
        assert_eq!((&lines[2]["level"], &lines[2]["code"]), (&"error".into(), &"storage".into()));
        assert_eq!(lines[1]["milliseconds"].as_f64(), Some(1.234));
    }

    #[test]
    fn text_lines_are_readable() {
        let page = Captured::default();
        let log = Log::to(LogForm::Text, page.clone());
        log.write(request(409, Some(Code::Refused)));
        log.write(LogEvent::TokensNotRead { why: "no disk".to_string() });
        drop(log);
        let text = page.text();
        for part in ["GET (unknown path)  409 refused  1.2 ms, 17 B\n", "cannot be read: no disk\n"] {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }

    /// Blocks until it is released.
    struct Stuck(Receiver<()>, Captured);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            self.1.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_come_too_fast_are_counted_and_no_request_waits() {
        let (let_go, stuck) = sync_channel(0);
        let page = Captured::default();
        let log = Log::to(LogForm::Json, Stuck(stuck, page.clone()));
        for _ in 0..2 * WAITING + 1000 {
            log.write(request(200, None));
        }
        drop(let_go);
        // There is room again.
        while log.lines.as_ref().unwrap().dropped.load(Ordering::Relaxed) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        drop(log);
        let text = page.text();
        let dropped =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["dropped"].as_u64().unwrap_or(0);
        let counted: u64 = text.lines().map(dropped).sum();
        assert!(counted > 0);
        assert_eq!(text.lines().count() as u64 + counted, 2 * WAITING as u64 + 1000);
    }
}
