//! A simulated ledger for tests of what is built on it: the charges of others go to the writers of the simulated processes, beside those
//! of the simulation's own clients, and all that is checked after each step holds for both.

use super::edges::with;
use super::episode::Episode;
use super::processes::{location, run_as, stop};
use crate::hash::Hash;
use crate::journal::Position;
use crate::ledger::Ledger;

/// A ledger in a world by seed, on this thread. Errors say what does not hold.
pub struct SimulatedLedger {
    episode: Episode,
}

impl SimulatedLedger {
    /// A new ledger, all of whose processes run. Nothing goes wrong before [`trouble`](Self::trouble).
    pub fn begin(seed: u64) -> Result<SimulatedLedger, String> {
        let mut episode = Episode::new(seed);
        episode.clients.are_others_there = true;
        episode.begin()?;
        Ok(SimulatedLedger { episode })
    }

    /// From now on everything goes wrong now and then.
    pub fn trouble(&self) {
        with(|world| world.is_calm = false);
    }

    /// How many processes there are. Each has a machine of its own.
    pub fn processes(&self) -> usize {
        with(|world| world.processes.len())
    }

    /// Which start of a process runs. Nothing while it is down.
    pub fn start_of(&self, process: usize) -> Option<u64> {
        with(|world| world.processes[process].writer.is_some().then_some(world.processes[process].starts))
    }

    /// A handle to the ledger as a process has it. Nothing while it is down.
    pub fn handle(&self, process: usize) -> Option<Ledger> {
        with(|world| {
            let location = location(world.setting.is_shared);
            world.processes[process].writer.as_ref().map(|writer| Ledger::of_writer(writer, location))
        })
    }

    /// Does something as a process. Nothing if the process crashed meanwhile.
    pub fn run<T>(&self, process: usize, action: impl FnOnce() -> T) -> Option<T> {
        let result = run_as(process, action);
        if result.is_none() {
            stop(process);
        }
        result
    }

    /// Kills a process.
    pub fn kill(&self, process: usize) {
        stop(process);
    }

    /// One thing happens to the ledger: a client asks, a process works or starts again, or something goes wrong.
    pub fn step(&mut self) -> Result<(), String> {
        self.episode.step();
        self.episode.check()
    }

    /// A process told a caller that a record stands.
    pub fn acknowledge(&mut self, process: usize, sequence: u64, hash: Hash) -> Result<(), String> {
        self.episode.clients.acknowledge(process, Position { sequence, hash });
        self.episode.check()
    }

    /// The record of the charge under a key that is not one of the simulation's own clients.
    pub fn record_of(&mut self, key: &str) -> Result<Option<u64>, String> {
        self.episode.check()?;
        Ok(self.episode.audit.charged_by_others.get(key).copied())
    }

    /// Nothing goes wrong any more, and all processes start again.
    pub fn calm_down(&mut self) -> Result<(), String> {
        self.episode.calm_down()
    }

    /// The last checks, in the calm.
    pub fn end(mut self) -> Result<(), String> {
        self.episode.end()
    }
}
