//! The runtime of a server.

use std::io;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

/// A runtime with a thread for every core but one. That one is for the ledger's writer: all requests wait for its commits, so it should
/// not wait for a core.
pub fn runtime() -> io::Result<Runtime> {
    let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN).get();
    Builder::new_multi_thread().worker_threads(threads(cores)).enable_all().build()
}

fn threads(cores: usize) -> usize {
    cores.saturating_sub(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_core_is_left_for_the_writer() {
        assert_eq!([1, 2, 3, 64].map(threads), [1, 1, 2, 63]);
    }
}
