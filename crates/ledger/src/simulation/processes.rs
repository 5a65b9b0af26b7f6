//! Processes: each has the writer of the ledger, as it is in production, and does its work when it is its turn.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use fastrand::Rng;
use taximeter_transparency::{SecretKey, SignedCheckpoint};

use super::defects::Defect;
use super::edges::{Crash, send, with};
use super::world::{SimulatedWorld, WITNESS};
use crate::cosigning::{CheckpointJob, CheckpointSender, Cosigner, CosigningFailure, PAUSE, Signing};
use crate::error::Error;
use crate::ledger::{Ending, Options, open_writer};
use crate::store::Location;
use crate::writer::{Command, Writer};

/// A process that may write to the ledger.
pub(super) struct SimulatedProcess {
    pub(super) machine: usize,
    /// How far its clock is off, in milliseconds.
    pub(super) skew: i64,
    /// Nothing while it is down, and while it is its turn.
    pub(super) writer: Option<Writer>,
    /// It ends at the next thing that it does.
    pub(super) is_crashing: bool,
    /// It cannot reach the server.
    pub(super) is_cut_off: bool,
    /// The threads of the witnesses; nothing in the place of one that is at work.
    pub(super) lanes: Vec<Option<Lane>>,
    /// The newest record that it acknowledged.
    pub(super) acknowledged: Option<u64>,
    /// How often it was started.
    pub(super) starts: u64,
}

/// The thread of a witness on another machine.
pub(super) struct Lane {
    pub(super) sender: CheckpointSender,
    pub(super) jobs: Receiver<CheckpointJob>,
    pub(super) newest: Option<CheckpointJob>,
    /// What is to be sent again, and when.
    pub(super) unsent: Option<(Duration, CheckpointJob)>,
    /// An answer that is under way, and when it is there.
    pub(super) under_way: Option<(Duration, CheckpointJob, Result<SignedCheckpoint, CosigningFailure>)>,
}

impl SimulatedProcess {
    pub(super) fn new(machine: usize, random: &mut Rng) -> SimulatedProcess {
        SimulatedProcess {
            machine,
            skew: random.i64(-5_000_000..5_000_000),
            writer: None,
            is_crashing: false,
            is_cut_off: false,
            lanes: Vec::new(),
            acknowledged: None,
            starts: 0,
        }
    }

    pub(super) fn witness_path(&self) -> String {
        format!("/simulated/{}/{WITNESS}", self.machine)
    }

    pub(super) fn has_work(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| !writer.waiting.is_empty())
    }

    /// Hands a command to the writer. False if it is down, or its queue is full.
    pub(super) fn ask(&self, command: Command) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.shared.queue.try_send(command).is_ok())
    }
}

/// Where the ledger is.
pub(super) fn location(is_shared: bool) -> Location {
    match is_shared {
        true => Location::Postgres("postgres://simulated/ledger".to_string()),
        false => Location::File(PathBuf::from("/simulated/0/ledger")),
    }
}

/// Does something as a process. Nothing if it crashed meanwhile.
pub(super) fn run_as<T>(process: usize, action: impl FnOnce() -> T) -> Option<T> {
    with(|world| world.running.push(process));
    let result = catch_unwind(AssertUnwindSafe(action));
    with(|world| {
        world.running.pop();
        world.lane_time = None;
    });
    match result {
        Ok(result) => Some(result),
        Err(payload) if payload.is::<Crash>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// Starts a process, which opens the ledger.
pub(super) fn start(process: usize, signer: Option<&SecretKey>, create: bool) -> Result<(), Option<Error>> {
    let (location, options) = with(|world| {
        let witness = Some(PathBuf::from(world.processes[process].witness_path()));
        let signing = signer.map(|signer| signing(world, signer));
        let options =
            Options { witness, create, overlap: world.setting.overlap, signing, queue: 64, ..Options::default() };
        world.processes[process].is_crashing = false;
        (location(world.setting.is_shared), options)
    });
    match run_as(process, || open_writer(&location, options)) {
        Some(Ok((writer, _))) => {
            with(|world| {
                world.processes[process].starts += 1;
                world.processes[process].writer = Some(writer);
            });
            Ok(())
        }
        Some(Err(error)) => {
            stop(process);
            Err(Some(error))
        }
        None => {
            stop(process);
            Err(None)
        }
    }
}

fn signing(world: &SimulatedWorld, signer: &SecretKey) -> Arc<Signing> {
    let cosigner = |(at, cosigner): (usize, &super::cosigner::SimulatedCosigner)| Cosigner {
        url: at.to_string(),
        key: cosigner.key.public().clone(),
    };
    let demanded = world.setting.demanded;
    Arc::new(Signing {
        signers: vec![SecretKey::parse(&signer.to_text()).expect("its own text")],
        cosigners: world.cosigners.iter().enumerate().map(cosigner).collect(),
        required: if world.has(Defect::CosignatureNotAwaited) { demanded.saturating_sub(1) } else { demanded },
        send: Box::new(send),
    })
}

/// Ends a process, without a word to anyone.
pub(super) fn stop(process: usize) {
    let ended = with(|world| {
        let process = &mut world.processes[process];
        (process.writer.take(), std::mem::take(&mut process.lanes))
    });
    let (writer, lanes) = ended;
    writer.into_iter().for_each(end);
    drop(lanes);
}

/// A writer ends as its thread does: those who wait for a reply learn that there is none.
fn end(writer: Writer) {
    let _ending = Ending(writer.waiting.clone());
    drop(writer);
}

/// It is the turn of a process: it takes what waits. Returns why it stopped, if it did.
pub(super) fn take_turn(process: usize) {
    let Some(mut writer) = with(|world| world.processes[process].writer.take()) else { return };
    let taken = run_as(process, || match writer.waiting.try_recv() {
        Ok(first) => writer.take(first),
        Err(_) => ControlFlow::Continue(()),
    });
    match taken {
        Some(ControlFlow::Continue(())) => with(|world| world.processes[process].writer = Some(writer)),
        Some(ControlFlow::Break(())) => {
            let cause = writer.shared.cause.get().filter(|cause| cause.is_integrity()).cloned();
            end(writer);
            stop(process);
            if let Some(cause) = cause {
                with(|world| world.false_alarm.get_or_insert(format!("a process stopped: {cause}")).len());
            }
        }
        None => {
            end(writer);
            stop(process);
        }
    }
}

/// The threads of a process's witnesses work while the writer waits for commands.
pub(super) fn work_in_background(process: usize) {
    let worked = run_as(process, || {
        if let Some((process, lane)) = with(|world| world.next_lane_event(Duration::from_millis(100))) {
            run_lane(process, lane);
        }
    });
    if worked.is_none() {
        stop(process);
    }
}

/// The thread of a witness does the next thing: it sends a checkpoint, or tells the writer of an answer.
pub(super) fn run_lane(process: usize, at: usize) {
    let Some(mut lane) = with(|world| world.processes[process].lanes[at].take()) else { return };
    let now = with(|world| world.now());
    if let Some((_, job, answer)) = lane.under_way.take() {
        lane.unsent = lane.sender.note(job, answer).map(|job| (now + PAUSE, job));
    } else if let Some(job) = lane.newest.take().or_else(|| lane.unsent.take().map(|(_, job)| job)) {
        lane.unsent = None;
        // Other threads go on meanwhile.
        with(|world| world.lane_time = Some(Duration::ZERO));
        let answer = lane.sender.ask(&job);
        let taken = with(|world| world.lane_time.take()).unwrap_or_default();
        lane.under_way = Some((now + taken, job, answer));
    }
    with(|world| {
        if let Some(place) = world.processes[process].lanes.get_mut(at) {
            *place = Some(lane);
        }
    });
}
