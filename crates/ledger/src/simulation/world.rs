//! The simulated world: machines with disks and clocks, a network between them, and the processes on them.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::cosigner::SimulatedCosigner;
use super::database::{FILE, SimulatedTables, Transaction};
use super::defects::Defect;
use super::disk::SimulatedDisk;
use super::faults::{EpisodeSetting, Fault};
use super::processes::{Lane, SimulatedProcess};
use crate::cosigning::{CheckpointJob, CheckpointSender};

/// The name of a witness file.
pub(super) const WITNESS: &str = "witness";

/// The first day of the simulation, in milliseconds since 1970.
const FIRST_DAY: i64 = 1_800_000_000_000;

/// How many processes may be in the middle of something, each waiting for the one after it.
const DEPTH: usize = 3;

pub(super) struct SimulatedWorld {
    pub(super) random: Rng,
    pub(super) setting: EpisodeSetting,
    pub(super) defect: Option<Defect>,
    /// Whether anything goes wrong now.
    pub(super) is_calm: bool,
    pub(super) start: Instant,
    time: Duration,
    /// What has passed for the thread of a witness alone, while it runs.
    pub(super) lane_time: Option<Duration>,
    /// Machine 0 has the ledger. A process on a file is there, too; one that shares a server has a machine of its own.
    pub(super) disks: Vec<SimulatedDisk>,
    pub(super) tables: SimulatedTables,
    pub(super) sessions: u64,
    pub(super) server_start: u64,
    /// The session that keeps other writers out.
    pub(super) locked_by: Option<u64>,
    /// A commit whose sender no longer waits for it, and which the server has not done yet.
    pub(super) late_commit: Option<Transaction>,
    pub(super) processes: Vec<SimulatedProcess>,
    /// The processes that are in the middle of something, the innermost last.
    pub(super) running: Vec<usize>,
    pub(super) cosigners: Vec<SimulatedCosigner>,
    pub(super) counts: Counts,
    /// A process that stopped because the ledger looked broken to it, though nothing had changed it.
    pub(super) false_alarm: Option<String>,
}

/// How often things happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) crashes: u64,
    pub(super) power_cuts: u64,
    pub(super) failed_syncs: u64,
    pub(super) lost_requests: u64,
    pub(super) interleaved: u64,
}

impl SimulatedWorld {
    pub(super) fn new(mut random: Rng, setting: EpisodeSetting) -> SimulatedWorld {
        let machines = if setting.is_shared { setting.processes + 1 } else { 1 };
        let mut process = |at: usize| SimulatedProcess::new(if setting.is_shared { at + 1 } else { 0 }, &mut random);
        let processes = (0..setting.processes).map(&mut process).collect();
        SimulatedWorld {
            processes,
            random,
            defect: None,
            is_calm: true,
            start: Instant::now(),
            time: Duration::ZERO,
            lane_time: None,
            disks: vec![SimulatedDisk::default(); machines],
            tables: SimulatedTables::default(),
            sessions: 0,
            server_start: 0,
            locked_by: None,
            late_commit: None,
            running: Vec::new(),
            cosigners: Vec::new(),
            counts: Counts::default(),
            false_alarm: None,
            setting,
        }
    }

    pub(super) fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// Whether something happens that goes wrong once in this number of times.
    pub(super) fn chance(&mut self, once_in: u32) -> bool {
        !self.is_calm && self.random.u32(..once_in * self.setting.rarity) == 0
    }

    pub(super) fn disk(&mut self, machine: usize) -> &mut SimulatedDisk {
        &mut self.disks[machine]
    }

    /// Where the witness of the running process is.
    pub(super) fn witness_of_current(&self) -> Option<String> {
        Some(self.processes[*self.running.last()?].witness_path())
    }

    // Time

    pub(super) fn now(&self) -> Duration {
        self.time + self.lane_time.unwrap_or_default()
    }

    pub(super) fn pass(&mut self, time: Duration) {
        match &mut self.lane_time {
            Some(lane) => *lane += time,
            None => self.time += time,
        }
    }

    pub(super) fn time_of_day(&self) -> i64 {
        let skew = self.running.last().map_or(0, |process| self.processes[*process].skew);
        FIRST_DAY + self.now().as_millis() as i64 + skew
    }

    // Crashes

    /// Whether the running process ends now: killed, or with its machine.
    pub(super) fn draw_crash(&mut self) -> bool {
        let Some(&process) = self.running.last() else { return false };
        if self.processes[process].is_crashing {
            return true;
        }
        if !self.chance(200) {
            return false;
        }
        match self.random.bool() {
            true => self.cut_power(self.processes[process].machine),
            false => self.processes[process].is_crashing = true,
        }
        self.counts.crashes += 1;
        true
    }

    /// The power of a machine is cut: its processes end, and its disk keeps what it kept.
    pub(super) fn cut_power(&mut self, machine: usize) {
        self.counts.power_cuts += 1;
        self.disks[machine].cut_power(&mut self.random);
        for process in self.processes.iter_mut().filter(|process| process.machine == machine) {
            process.is_crashing = true;
        }
        if machine == 0 {
            self.reload();
        }
    }

    /// The server loses its power, and starts again.
    pub(super) fn restart_server(&mut self) {
        self.server_start += 1;
        self.locked_by = None;
        self.late_commit = None;
        self.cut_power(0);
    }

    /// Syncs a file. False if the disk says that it failed.
    pub(super) fn sync(&mut self, machine: usize, name: &str) -> bool {
        if self.chance(120) {
            self.counts.failed_syncs += 1;
            let SimulatedWorld { disks, random, .. } = self;
            disks[machine].fail_to_sync(name, random);
            if self.has(Defect::FailedSyncRepeated) {
                self.disks[machine].sync(name);
                return true;
            }
            return false;
        }
        self.disks[machine].sync(name);
        true
    }

    // The tables

    /// Reads the tables from their file, as after a start.
    pub(super) fn reload(&mut self) {
        self.tables = SimulatedTables::load(&self.disks[0], !self.has(Defect::TornFrameAccepted));
    }

    /// Writes a frame, which is not synced yet. Returns where it ends.
    pub(super) fn write_frame(&mut self, transaction: &Transaction) -> usize {
        let (frame, at) = (self.tables.frame(transaction), self.tables.end());
        self.disks[0].write(FILE, at, &frame);
        at + frame.len()
    }

    pub(super) fn sync_commit(&mut self) -> bool {
        self.has(Defect::AcknowledgedBeforeSync) || self.sync(0, FILE)
    }

    pub(super) fn apply(&mut self, transaction: Transaction, end: usize) {
        self.tables.apply(transaction, end, self.disks[0].read(FILE));
    }

    /// What becomes of a commit that was under way: it happens, or the server noticed first that its sender is gone.
    pub(super) fn settle_late_commit(&mut self) {
        let Some(transaction) = self.late_commit.take() else { return };
        if self.random.bool() {
            let end = self.write_frame(&transaction);
            match self.sync_commit() {
                true => self.apply(transaction, end),
                false => self.restart_server(),
            }
        }
    }

    // The network

    pub(super) fn fault_on_the_way_to_the_server(&mut self) -> Option<Fault> {
        let &process = self.running.last()?;
        let fault = match self.processes[process].is_cut_off && !self.is_calm {
            true => Some(Fault::Refused),
            false if self.chance(300) => Some(Fault::Refused),
            false if self.chance(1500) => Some(Fault::Hung),
            false => None,
        };
        self.counts.lost_requests += u64::from(fault.is_some());
        fault
    }

    pub(super) fn ask_cosigner(&mut self, url: &str, body: &str, patience: Duration) -> Result<(u16, String), String> {
        let (at, path) = url.split_once('/').expect("a witness and a path");
        let at: usize = at.parse().expect("a witness");
        let is_hung = self.cosigners[at].is_hung || self.chance(200);
        if !self.is_calm && (is_hung || self.cosigners[at].is_away) {
            self.counts.lost_requests += 1;
            self.pass(if is_hung { patience } else { Duration::from_millis(1) });
            return Err("it does not answer".to_string());
        }
        let latency = Duration::from_micros(self.random.u64(200..50_000));
        self.pass(latency);
        let (is_lost, dies) = (self.chance(100), self.chance(300));
        let is_careless = self.has(Defect::CosignedBeforeStored);
        let answer = self.cosigners[at].answer(path, body, is_careless, &mut self.random);
        if dies {
            self.cosigners[at].restart();
        }
        match is_lost || (dies && !is_careless) {
            true => {
                self.counts.lost_requests += 1;
                self.pass(patience);
                Err("its answer was lost".to_string())
            }
            false => Ok(answer),
        }
    }

    // Threads

    /// Which other process works while the running one waits, if any does.
    pub(super) fn draw_other(&mut self) -> Option<usize> {
        if self.is_calm || self.lane_time.is_some() || self.running.len() >= DEPTH || self.random.u8(..8) != 0 {
            return None;
        }
        let can = |at: &usize| !self.running.contains(at) && self.processes[*at].has_work();
        let others: Vec<usize> = (0..self.processes.len()).filter(can).collect();
        let other = self.random.choice(others)?;
        self.counts.interleaved += u64::from(!self.running.is_empty());
        Some(other)
    }

    /// The thread of a witness begins, in the running process.
    pub(super) fn attend(&mut self, sender: CheckpointSender, jobs: Receiver<CheckpointJob>) {
        let &process = self.running.last().expect("a process starts it");
        self.processes[process].lanes.push(Some(Lane::new(sender, jobs)));
    }

    /// What the threads of the running process's witnesses do next, if anything within this time. Time goes on until then.
    pub(super) fn next_lane_event(&mut self, most: Duration) -> Option<(usize, usize)> {
        let process = *self.running.last()?;
        let now = self.now();
        let lanes = self.processes[process].lanes.iter_mut().enumerate();
        let due = lanes.filter_map(|(at, lane)| Some((lane.as_mut()?.due(now)?, at)));
        let (due, lane) = due.min().filter(|(due, _)| *due <= now + most)?;
        self.time = self.time.max(due);
        Some((process, lane))
    }
}

impl Lane {
    fn new(sender: CheckpointSender, jobs: Receiver<CheckpointJob>) -> Lane {
        Lane { sender, jobs, newest: None, unsent: None, under_way: None }
    }

    /// When it does something next.
    fn due(&mut self, now: Duration) -> Option<Duration> {
        // A checkpoint covers all that came before it.
        self.newest = self.jobs.try_iter().last().or(self.newest.take());
        if let Some((arrival, ..)) = &self.under_way {
            return Some(*arrival);
        }
        match &self.newest {
            Some(_) => Some(now),
            None => self.unsent.as_ref().map(|(again, _)| *again),
        }
    }
}
