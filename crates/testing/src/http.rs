//! A plain HTTP/1.1 connection on loopback, for tests and benchmarks: it sends exactly what it is told to.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::waiting::PATIENCE;

/// One connection, kept open between requests.
pub struct HttpConnection {
    stream: BufReader<TcpStream>,
    /// The head of every request but its first line.
    head: String,
}

/// What a server answered.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers, with their names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Response {
    /// The value of a header, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

impl HttpConnection {
    /// Connects. Nothing may take longer than [`PATIENCE`].
    pub fn open(address: SocketAddr, token: Option<&str>) -> io::Result<HttpConnection> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let token = token.map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"));
        Ok(HttpConnection { stream: BufReader::new(stream), head: format!("host: {address}\r\n{token}") })
    }

    /// Sends a request, and reads all of its answer. `headers` are whole lines, each with its line break.
    pub fn request(&mut self, method: &str, path: &str, headers: &str, body: Option<&str>) -> io::Result<Response> {
        let length = body.map_or(String::new(), |body| {
            format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
        });
        let request =
            format!("{method} {path} HTTP/1.1\r\n{}{length}{headers}\r\n{}", self.head, body.unwrap_or_default());
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.read()
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads one answer.
    pub fn read(&mut self) -> io::Result<Response> {
        let (status, headers) = self.read_head()?;
        let find = |name: &str| headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        let bytes = match (find("content-length"), find("transfer-encoding")) {
            (Some(length), _) => {
                let mut bytes = vec![0; length.parse().map_err(|_| broken("content-length"))?];
                self.stream.read_exact(&mut bytes)?;
                bytes
            }
            (None, Some("chunked")) => self.read_chunks()?,
            (None, _) => Vec::new(),
        };
        let body = String::from_utf8(bytes).map_err(|_| broken("body"))?;
        Ok(Response { status, headers, body })
    }

    /// Reads the head of an answer whose body is read by [`line`](HttpConnection::line).
    pub fn read_head(&mut self) -> io::Result<(u16, Vec<(String, String)>)> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| broken("first line"))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok((status, headers));
            }
            let (name, value) = line.split_once(':').ok_or_else(|| broken("header"))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_string()));
        }
    }

    /// Reads a line without its end.
    pub fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end_matches(['\r', '\n']).to_string())
    }

    fn read_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line()?, 16).map_err(|_| broken("chunk"))?;
            let start = bytes.len();
            bytes.resize(start + length, 0);
            self.stream.read_exact(&mut bytes[start..])?;
            self.line()?;
            if length == 0 {
                return Ok(bytes);
            }
        }
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer has a {what} that cannot be read"))
}
