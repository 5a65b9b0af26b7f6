//! A deterministic simulation of the ledger: the writer, its recovery, the witness and cosigning are those of production, in one thread;
//! the disk, the network, the clocks and the order in which processes work are made up from a seed.
//!
//! * `edges.rs` is where the code of production meets the simulated world: `clock.rs`, `store/mod.rs`, `witness.rs` and `cosigning.rs`
//!   ask it, in tests and with the feature `simulation` alone.
//! * `world.rs` has machines, a network and time; `disk.rs` what a power cut leaves, by sectors of 512 bytes; `database.rs` and
//!   `store.rs` a store on such a disk, as a file or on a server; `cosigner.rs` a witness on another machine; `processes.rs` who works
//!   when.
//! * `clients.rs` asks, and remembers what it was told. `audit.rs` is what must hold after every step. `episode.rs` puts them together.
//! * `defects.rs` has defects to be planted at the edges; each must be found.
//! * `driven.rs` has a simulated ledger for tests of what is built on it, such as those of the gate.
//!
//! `cargo xtask simulate` runs it for long.

mod audit;
mod clients;
mod cosigner;
mod database;
mod defects;
mod disk;
mod driven;
mod edges;
mod episode;
mod faults;
mod processes;
mod store;
#[cfg(test)]
mod tests;
mod world;

pub use self::driven::SimulatedLedger;
pub(crate) use self::edges::{
    attend, create_file, instant, is_omitted, is_running, milliseconds, open_file, pause, serve, wait_for_witnesses,
};
pub(crate) use self::store::open_store;
