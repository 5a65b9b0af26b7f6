//! Where the code under test meets the simulated world: its time, its files, its network, and the moments at which its process ends.

use std::cell::RefCell;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc;
use std::thread::panicking;
use std::time::{Duration, Instant};

use async_channel::TrySendError;
use oneshot::TryRecvError;

use super::defects::Defect;
use super::processes::{run_lane, take_turn};
use super::world::SimulatedWorld;
use crate::cosigning::{CheckpointJob, CheckpointSender};
use crate::error::{Error, ErrorKind};
use crate::files::PlacedFile;
use crate::writer::{Command, Shared, WriterStep};

thread_local! {
    static WORLD: RefCell<Option<SimulatedWorld>> = const { RefCell::new(None) };
}

/// A process ends in the middle of what it does. It is unwound to where its turn began.
pub(super) struct Crash;

/// Puts a world in place of the real one, for this thread.
pub(super) fn enter(world: SimulatedWorld) {
    WORLD.with_borrow_mut(|place| *place = Some(world));
}

/// Back to the real world.
pub(super) fn leave() {
    let world = WORLD.with_borrow_mut(Option::take);
    drop(world);
}

/// Does something with the world. Not to be called from within itself.
pub(super) fn with<T>(action: impl FnOnce(&mut SimulatedWorld) -> T) -> T {
    WORLD.with_borrow_mut(|world| action(world.as_mut().expect("a simulation runs")))
}

/// Whether this thread is in a simulation.
pub(crate) fn is_running() -> bool {
    WORLD.with_borrow(Option::is_some)
}

/// Whether the writer omits a step.
pub(crate) fn is_omitted(step: WriterStep) -> bool {
    is_running() && with(|world| world.has(Defect::Omitted(step)))
}

/// The process that does something may end here.
pub(super) fn may_crash() {
    if !panicking() && with(SimulatedWorld::draw_crash) {
        resume_unwind(Box::new(Crash));
    }
}

/// Other processes may work here, while this one waits.
pub(super) fn let_others_work() {
    if panicking() {
        return;
    }
    if let Some(other) = with(SimulatedWorld::draw_other) {
        take_turn(other);
        // The power may have been cut meanwhile.
        may_crash();
    }
}

/// Time passes.
pub(super) fn pass(time: Duration) {
    with(|world| world.pass(time));
}

/// What the clock for deadlines shows.
pub(super) fn now_instant() -> Instant {
    with(|world| world.start + world.now())
}

/// The time of day on the machine of this process.
pub(crate) fn milliseconds() -> Option<i64> {
    is_running().then(|| with(|world| world.time_of_day()))
}

/// The clock for deadlines. It goes on whenever it is looked at.
pub(crate) fn instant() -> Option<Instant> {
    is_running().then(|| {
        pass(Duration::from_micros(1));
        now_instant()
    })
}

/// Waits, if this is a simulation.
pub(crate) fn pause(time: Duration) -> bool {
    let is_running = is_running();
    if is_running {
        pass(time);
        let_others_work();
    }
    is_running
}

/// The thread of a witness, which takes part in the simulation step by step.
pub(crate) fn attend(sender: CheckpointSender, jobs: mpsc::Receiver<CheckpointJob>) {
    with(|world| world.attend(sender, jobs));
}

/// The writer waits for an answer of a witness: the next one comes, or the time is over.
pub(crate) fn wait_for_witnesses(most: Duration) {
    let_others_work();
    may_crash();
    match with(|world| world.next_lane_event(most)) {
        Some((process, lane)) => run_lane(process, lane),
        None => pass(most),
    }
}

/// Has the writer of the running process serve a command of a caller in the same process, which waits for the reply.
pub(crate) fn serve<T>(
    shared: &Shared,
    mut command: Command,
    reply: &oneshot::Receiver<Result<T, Error>>,
) -> Result<T, Error> {
    may_crash();
    while let Err(error) = shared.queue.try_send(command) {
        command = match error {
            TrySendError::Full(command) => command,
            TrySendError::Closed(_) => return Err(shared.stopped()),
        };
        let_the_writer_work();
    }
    loop {
        let replied = match reply.try_recv() {
            Err(TryRecvError::Empty) => {
                let_the_writer_work();
                continue;
            }
            Err(TryRecvError::Disconnected) => Err(ErrorKind::UnknownOutcome(None).into()),
            Ok(replied) => replied,
        };
        // The caller may never learn of it.
        may_crash();
        return replied;
    }
}

fn let_the_writer_work() {
    if let Some(process) = with(|world| world.running.last().copied()) {
        take_turn(process);
    }
    let_others_work();
    may_crash();
}

/// A request to a witness on another machine.
pub(super) fn send(url: &str, body: &str, patience: Duration) -> Result<(u16, String), String> {
    may_crash();
    let answer = with(|world| world.ask_cosigner(url, body, patience));
    may_crash();
    answer
}

/// A file on the disk of a machine: `/simulated/MACHINE/NAME`.
struct SimulatedFile {
    machine: usize,
    name: String,
}

fn place(path: &Path) -> (usize, String) {
    let mut parts = path.to_str().expect("a path in UTF-8").rsplit('/');
    let name = parts.next().expect("a name").to_string();
    (parts.next().and_then(|machine| machine.parse().ok()).expect("a machine"), name)
}

/// Makes a file, on the platter at once.
pub(crate) fn create_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (machine, name) = place(path);
    with(|world| {
        if !world.disk(machine).has(&name) {
            world.disk(machine).write(&name, 0, bytes);
            world.disk(machine).sync(&name);
        }
    });
    Ok(())
}

pub(crate) fn open_file(path: &Path) -> io::Result<Box<dyn PlacedFile>> {
    let (machine, name) = place(path);
    match with(|world| world.disk(machine).has(&name)) {
        true => Ok(Box::new(SimulatedFile { machine, name })),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

impl PlacedFile for SimulatedFile {
    fn read_start(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let (machine, name) = (self.machine, &self.name);
        Ok(with(|world| world.disk(machine).read(name).iter().take(most).copied().collect()))
    }

    fn write_at(&mut self, at: usize, bytes: &[u8]) -> io::Result<()> {
        may_crash();
        if with(|world| world.chance(300)) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        with(|world| world.disk(self.machine).write(&self.name, at, bytes));
        may_crash();
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        if with(|world| world.has(Defect::WitnessNotSynced)) {
            return Ok(());
        }
        match with(|world| world.sync(self.machine, &self.name)) {
            true => {
                may_crash();
                let_others_work();
                Ok(())
            }
            false => Err(io::Error::other("input/output error")),
        }
    }

    fn lock_within(&self, _: Duration) -> io::Result<bool> {
        // A machine has one process, and a process one writer.
        Ok(true)
    }

    fn unlock(&self) -> io::Result<()> {
        Ok(())
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        Ok(place(path) == (self.machine, self.name.clone()))
    }
}
