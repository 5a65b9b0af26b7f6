//! Accepting connections, up to a limit for each other machine.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use taximeter_service::{Slot, Slots};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// How long to wait after accepting a connection failed, for instance because too many files are open.
const PAUSE: Duration = Duration::from_millis(200);

/// An accepted connection, its peer, and one of the peer's slots.
pub(crate) type Accepted = (TcpStream, IpAddr, Slot<IpAddr>);

/// The machines that connections come from.
pub(crate) struct Peers {
    others: Slots<IpAddr>,
    /// Without a limit: a proxy may stand for all machines.
    this_machine: Slots<IpAddr>,
}

impl Peers {
    /// At most this many connections from one other machine; 0 for no limit.
    pub(crate) fn new(most: usize) -> Peers {
        Peers { others: Slots::new(most), this_machine: Slots::new(0) }
    }

    /// Accepts the next connection, and closes those of peers at their limit. `failed` is told why one could not be accepted.
    pub(crate) async fn accept(&self, listener: &TcpListener, failed: impl Fn(&io::Error)) -> Accepted {
        loop {
            match listener.accept().await.map(|(stream, peer)| (stream, peer.ip().to_canonical())) {
                Ok((stream, peer)) => match self.take(peer) {
                    Some(slot) => return (stream, peer, slot),
                    None => drop(stream),
                },
                // The client hung up before it was accepted.
                Err(error) if is_of_the_connection(&error) => {}
                Err(error) => {
                    failed(&error);
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn take(&self, peer: IpAddr) -> Option<Slot<IpAddr>> {
        if peer.is_loopback() { self.this_machine.take(&peer) } else { self.others.take(&peer) }
    }
}

fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_has_a_limit_of_connections_and_this_one_has_none() {
        let peers = Peers::new(2);
        let count = |peer: &str| {
            let taken: Vec<_> = (0..5).map_while(|_| peers.take(peer.parse().unwrap())).collect();
            taken.len()
        };
        for (peer, expected) in [("192.0.2.7", 2), ("192.0.2.8", 2), ("2001:db8::7", 2), ("127.0.0.1", 5), ("::1", 5)] {
            assert_eq!(count(peer), expected, "{peer}");
            assert_eq!(count(peer), expected, "{peer} again, once they have ended");
        }
    }
}
