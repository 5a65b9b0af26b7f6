//! A server of few words: it answers what a test tells it to, and remembers what it was asked.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What was asked.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// The method and the path.
    pub line: String,
    /// The headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; bytes that are not text are replaced.
    pub body: String,
}

impl ReceivedRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// What is answered: a status, lines of headers and a body; nothing for a connection that is cut.
pub type CannedReply<H = &'static str> = Option<(u16, H, String)>;

/// The server. It lives as long as the process.
pub struct Responder {
    /// Its URL, on loopback.
    pub url: String,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Responder {
    /// Answers with what `reply` makes of the request and of how many there were before it. One that takes long delays no other.
    ///
    /// # Panics
    ///
    /// If there is no port to listen on.
    pub fn new<H: Display>(
        reply: impl Fn(&ReceivedRequest, usize) -> CannedReply<H> + Send + Sync + 'static,
    ) -> Responder {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (remembered, reply) = (Arc::clone(&asked), Arc::new(reply));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, remembered, reply) = (stream.unwrap(), Arc::clone(&remembered), Arc::clone(&reply));
                std::thread::spawn(move || {
                    let request = read(&stream);
                    let count = {
                        let mut asked = remembered.lock().unwrap();
                        asked.push(request.clone());
                        asked.len() - 1
                    };
                    if let Some((status, headers, body)) = reply(&request, count) {
                        let length = body.len();
                        let text = format!(
                            "HTTP/1.1 {status} .\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n\r\n{body}"
                        );
                        // The client may have closed the connection.
                        let _ = stream.write_all(text.as_bytes());
                    }
                });
            }
        });
        Responder { url, asked }
    }

    /// What was asked so far.
    ///
    /// # Panics
    ///
    /// If an answer panicked.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> ReceivedRequest {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_string()
    };
    let first = line();
    let mut headers = Vec::new();
    loop {
        let header = line();
        let Some((name, value)) = header.split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_string()));
    }
    let mut asked =
        ReceivedRequest { line: first.trim_end_matches(" HTTP/1.1").to_string(), headers, body: String::new() };
    match (asked.header("content-length"), asked.header("transfer-encoding")) {
        (Some(length), _) => {
            let mut body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            asked.body = String::from_utf8_lossy(&body).into_owned();
        }
        (None, Some("chunked")) => asked.body = chunks(&mut reader),
        _ => {}
    }
    asked
}

fn chunks(reader: &mut impl BufRead) -> String {
    let mut body = String::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size).unwrap();
        let size = u64::from_str_radix(size.trim(), 16).unwrap();
        reader.by_ref().take(size).read_to_string(&mut body).unwrap();
        reader.read_line(&mut String::new()).unwrap();
        if size == 0 {
            return body;
        }
    }
}
