//! Requests to witnesses, over connections that stay open.
//!
//! A batch of charges waits for its witnesses, so each request is one write, and wakes the witness once. The HTTP client writes its head
//! and its body apart; here both are held until it waits for the answer.

use std::time::Duration;

use taximeter_ledger::SendRequest;
use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};
use ureq::{Agent, Error};

/// The longest answer that is read, in bytes.
const LONGEST_ANSWER: u64 = 64 * 1024;

/// Sends requests over connections that are made so.
pub fn request_sender(config: Config, connector: impl Connector) -> SendRequest {
    let agent = Agent::with_parts(config, connector.chain(HoldingConnector), DefaultResolver::default());
    Box::new(move |url: &str, body: &str, patience: Duration| {
        let request = agent.post(url).config().timeout_global(Some(patience)).build();
        let mut response = request.content_type("text/plain").send(body).map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_string();
        Ok((status, text.map_err(|error| error.to_string())?))
    })
}

/// Makes connections that hold what is written.
#[derive(Debug)]
struct HoldingConnector;

impl<T: Transport> Connector<T> for HoldingConnector {
    type Out = HoldingTransport<T>;

    fn connect(&self, _: &ConnectionDetails, chained: Option<T>) -> Result<Option<Self::Out>, Error> {
        Ok(chained.map(|inner| HoldingTransport { inner, held: Vec::new() }))
    }
}

/// A connection that holds what is written until an answer is awaited.
#[derive(Debug)]
struct HoldingTransport<T> {
    inner: T,
    held: Vec<u8>,
}

impl<T: Transport> HoldingTransport<T> {
    fn write(&mut self, timeout: NextTimeout) -> Result<(), Error> {
        let mut left = &self.held[..];
        while !left.is_empty() {
            let output = self.inner.buffers().output();
            let amount = left.len().min(output.len());
            output[..amount].copy_from_slice(&left[..amount]);
            self.inner.transmit_output(amount, timeout)?;
            left = &left[amount..];
        }
        self.held.clear();
        Ok(())
    }
}

impl<T: Transport> Transport for HoldingTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        /// More than a request has: what is longer is not held.
        const MOST: usize = 64 * 1024;
        self.held.extend_from_slice(&self.inner.buffers().output()[..amount]);
        if self.held.len() > MOST { self.write(timeout) } else { Ok(()) }
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.write(timeout)?;
        self.inner.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use ureq::unversioned::transport::DefaultConnector;

    use super::*;

    /// Requests of all lengths arrive whole, over one connection; short ones in one piece.
    #[test]
    fn a_request_is_one_write() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/add-checkpoint", listener.local_addr().unwrap());
        let lengths = [10, 600, 16_000, 300_000];
        let witness = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut pieces = Vec::new();
            for length in lengths {
                let (mut request, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
                let mut count = 0;
                while !request.ends_with("x".repeat(length).as_bytes()) {
                    let read = stream.read(&mut buffer).unwrap();
                    assert!(read > 0, "the connection ended");
                    request.extend_from_slice(&buffer[..read]);
                    count += 1;
                }
                assert!(request.starts_with(b"POST /add-checkpoint HTTP/1.1\r\n"));
                pieces.push(count);
                write!(stream, "HTTP/1.1 409 Conflict\r\ncontent-length: 3\r\n\r\n42\n").unwrap();
            }
            pieces
        });
        let config = Agent::config_builder().http_status_as_error(false).build();
        let send = request_sender(config, DefaultConnector::default());
        for length in lengths {
            let answer = send(&url, &"x".repeat(length), Duration::from_secs(10)).unwrap();
            assert_eq!(answer, (409, "42\n".to_string()));
        }
        assert_eq!(witness.join().unwrap()[..2], [1, 1]);
    }
}
