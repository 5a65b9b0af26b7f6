//! A connection, encrypted or not, with a timeout for writes and a graceful end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};
use tokio_rustls::server::TlsStream;

/// A connection. A write that makes no progress times out, so that clients cannot hold connections by not reading. Before closing, input
/// is read and discarded for a moment: closing with unread input would reset the connection, and a client that sent too much would
/// not get its answer.
pub(crate) struct Stream {
    inner: Inner,
    /// How long a write may make no progress.
    patience: Duration,
    /// When the pending write times out.
    deadline: Option<Pin<Box<Sleep>>>,
    state: Shutdown,
}

enum Inner {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// The state of closing.
enum Shutdown {
    No,
    /// Everything is sent; at most this many bytes are read, until the deadline.
    Reading(usize, Pin<Box<Sleep>>),
}

/// How long input is discarded before closing.
const LINGER: Duration = Duration::from_millis(500);

/// How much input is discarded.
const LEFTOVER: usize = 4 << 20;

impl Stream {
    pub(crate) fn plain(stream: TcpStream, patience: Duration) -> Stream {
        Stream { inner: Inner::Plain(stream), patience, deadline: None, state: Shutdown::No }
    }

    pub(super) fn encrypted(stream: TlsStream<TcpStream>, patience: Duration) -> Stream {
        Stream { inner: Inner::Encrypted(Box::new(stream)), patience, deadline: None, state: Shutdown::No }
    }

    /// The result of a write, or an error if it has waited too long.
    fn in_time<T>(&mut self, result: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.deadline = None;
            return result;
        }
        let patience = self.patience;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side does not read")))
    }
}

impl Inner {
    fn writer(&mut self) -> Pin<&mut (dyn AsyncWrite + Unpin)> {
        Pin::new(match self {
            Inner::Plain(stream) => stream,
            Inner::Encrypted(stream) => &mut **stream,
        })
    }

    fn reader(&mut self) -> Pin<&mut (dyn AsyncRead + Unpin)> {
        Pin::new(match self {
            Inner::Plain(stream) => stream,
            Inner::Encrypted(stream) => &mut **stream,
        })
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.get_mut().inner.reader().poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = this.inner.writer().poll_write(context, bytes);
        this.in_time(result, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = this.inner.writer().poll_write_vectored(context, parts);
        this.in_time(result, context)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.inner {
            Inner::Plain(stream) => stream.is_write_vectored(),
            Inner::Encrypted(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = this.inner.writer().poll_flush(context);
        this.in_time(result, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Shutdown::No = this.state {
            let result = this.inner.writer().poll_shutdown(context);
            ready!(this.in_time(result, context))?;
            this.state = Shutdown::Reading(LEFTOVER, Box::pin(sleep(LINGER)));
        }
        while let Shutdown::Reading(left @ 1.., deadline) = &mut this.state {
            let mut bytes = [0; 4096];
            let mut buffer = ReadBuf::new(&mut bytes);
            match this.inner.reader().poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    *left = left.saturating_sub(buffer.filled().len())
                }
                Poll::Ready(_) => break,
                Poll::Pending => {
                    ready!(deadline.as_mut().poll(context));
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}
