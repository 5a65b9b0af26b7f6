//! A fair queue for work: principals take turns.
//!
//! Work is priced before it is done. The principal that has had the least is next (start-time fair queuing: Goyal, Vin, Cheng,
//! SIGCOMM 1996), and none may have more than half of the work under way. So a small request waits only for work that is already under
//! way, however much others ask for.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The most work under way at the same time: two of the largest charges, or many small ones, which are committed together.
const AT_ONCE: u64 = 2048;

/// The most work under way for one principal.
const HALF: u64 = AT_ONCE / 2;

/// Work that waits for its turn, and work that is under way.
#[derive(Default)]
pub(crate) struct FairQueue(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    /// The work under way.
    busy: u64,
    /// The virtual time: when the piece that was admitted last was due, counted in work.
    time: u64,
    principals: HashMap<String, Principal>,
    /// The pieces that wait, by when they are due and the order in which they arrived.
    waiting: BTreeMap<Position, Waiting>,
    arrived: u64,
}

/// When a piece of work is due, and its number in the order of arrival.
type Position = (u64, u64);

#[derive(Default)]
struct Principal {
    busy: u64,
    /// When its next piece is due.
    due: u64,
}

struct Waiting {
    whose: String,
    work: u64,
    start: oneshot::Sender<()>,
}

/// A permit to work, until it is dropped. One that is dropped while it waits gives up its position.
pub(crate) struct Permit {
    queue: Arc<Mutex<Queue>>,
    position: Position,
    whose: String,
    work: u64,
}

impl FairQueue {
    /// Waits for a principal's turn to do this much work.
    pub(crate) async fn take(&self, whose: &str, work: u64) -> Permit {
        // A larger piece would never be admitted.
        let work = work.clamp(1, HALF);
        let (start, started) = oneshot::channel();
        let position = lock(&self.0).wait(Waiting { whose: whose.to_string(), work, start });
        let permit = Permit { queue: Arc::clone(&self.0), position, whose: whose.to_string(), work };
        // A waiting piece is admitted, or dropped with its permit; this permit still exists.
        let _ = started.await;
        permit
    }
}

#[cfg(test)]
impl FairQueue {
    /// How many pieces wait.
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.0).waiting.len()
    }

    /// How much work is under way.
    pub(crate) fn busy(&self) -> u64 {
        lock(&self.0).busy
    }
}

impl Queue {
    fn wait(&mut self, piece: Waiting) -> Position {
        let principal = self.principals.entry(piece.whose.clone()).or_default();
        let due = principal.due.max(self.time);
        principal.due = due + piece.work;
        self.arrived += 1;
        let position = (due, self.arrived);
        self.waiting.insert(position, piece);
        self.admit();
        position
    }

    /// Admits the pieces that are due first, as long as there is room.
    fn admit(&mut self) {
        while let Some(position) = self.next() {
            let Some(Waiting { whose, work, start }) = self.waiting.remove(&position) else { return };
            self.time = self.time.max(position.0);
            self.busy += work;
            self.principals.entry(whose).or_default().busy += work;
            // A caller that has hung up returns the work with the permit.
            let _ = start.send(());
        }
    }

    /// The first piece that is due among principals below their limit, if there is room for it.
    fn next(&self) -> Option<Position> {
        let busy = |whose: &str| self.principals.get(whose).map_or(0, |principal| principal.busy);
        let (position, piece) = self.waiting.iter().find(|(_, piece)| busy(&piece.whose) + piece.work <= HALF)?;
        (self.busy + piece.work <= AT_ONCE).then_some(*position)
    }

    /// Ends a piece that waits or is under way.
    fn end(&mut self, position: Position, whose: &str, work: u64) {
        if self.waiting.remove(&position).is_none() {
            self.busy -= work;
            self.principals.entry(whose.to_string()).or_default().busy -= work;
        }
        if self.busy == 0 && self.waiting.is_empty() {
            // The queue is empty: past work no longer counts.
            *self = Queue { arrived: self.arrived, ..Queue::default() };
        }
        self.admit();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        lock(&self.queue).end(self.position, &self.whose, self.work);
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Taking<'a> = Pin<Box<dyn Future<Output = Permit> + 'a>>;

    fn poll(taking: &mut Taking<'_>) -> Option<Permit> {
        match taking.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => Some(permit),
            Poll::Pending => None,
        }
    }

    /// How much of a flooder's work is done before another principal's small piece ends, for a given number and size of her pieces.
    fn work_before(pieces: usize, work: u64) -> u64 {
        let queue = FairQueue::default();
        let mut flood: Vec<Taking<'_>> =
            (0..pieces).map(|_| Box::pin(queue.take("mallory", work)) as Taking<'_>).collect();
        let mut busy: Vec<Permit> = flood.iter_mut().filter_map(poll).collect();
        let mut done = busy.len() as u64 * work;
        let mut small: Taking<'_> = Box::pin(queue.take("bob", 1));
        // Pieces end one after the other, and others begin.
        while poll(&mut small).is_none() {
            busy.remove(0);
            let next: Vec<Permit> = flood.iter_mut().skip(done as usize / work as usize).filter_map(poll).collect();
            done += next.len() as u64 * work;
            busy.extend(next);
        }
        done
    }

    #[test]
    fn a_small_request_waits_for_a_bounded_amount_of_others_work() {
        for (pieces, work) in [(60, 1024), (1000, 1024), (5000, 1), (5000, 64), (100_000 / 1024, 5000)] {
            let before = work_before(pieces, work.min(HALF));
            assert!(before <= HALF, "{before} of {}", pieces as u64 * work);
        }
    }

    #[test]
    fn principals_with_a_backlog_share_the_queue_equally_by_work() {
        let queue = FairQueue::default();
        let blocker: Vec<Permit> = (0..4)
            .map(|at| poll(&mut (Box::pin(queue.take(["x", "y"][at % 2], 512)) as Taking<'_>)).unwrap())
            .collect();
        // One principal has large pieces, another has many small ones.
        let mut large: Vec<Taking<'_>> = (0..20).map(|_| Box::pin(queue.take("large", 512)) as Taking<'_>).collect();
        let mut small: Vec<Taking<'_>> = (0..2000).map(|_| Box::pin(queue.take("small", 8)) as Taking<'_>).collect();
        for taking in large.iter_mut().chain(&mut small) {
            assert!(poll(taking).is_none());
        }
        drop(blocker);
        let (mut of_large, mut of_small) = (0_u64, 0_u64);
        for _ in 0..6 {
            let (large_now, small_now): (Vec<Permit>, Vec<Permit>) = (
                large.iter_mut().skip((of_large / 512) as usize).map_while(poll).collect(),
                small.iter_mut().skip((of_small / 8) as usize).map_while(poll).collect(),
            );
            of_large += large_now.iter().map(|permit| permit.work).sum::<u64>();
            of_small += small_now.iter().map(|permit| permit.work).sum::<u64>();
        }
        assert!(of_large.abs_diff(of_small) <= HALF, "{of_large} and {of_small}");
        assert!(of_large >= 2048);
    }

    #[test]
    fn a_caller_that_hangs_up_leaves_nothing_behind() {
        let queue = FairQueue::default();
        let first = poll(&mut (Box::pin(queue.take("alice", HALF)) as Taking<'_>)).unwrap();
        {
            // One piece waits; it is admitted when the first ends, and dropped before it starts.
            let mut waits = pin!(queue.take("alice", HALF));
            assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            drop(first);
        }
        assert!(poll(&mut (Box::pin(queue.take("alice", HALF)) as Taking<'_>)).is_some());
        let queue = lock(&queue.0);
        assert_eq!((queue.busy, queue.waiting.len(), queue.principals.len()), (0, 0, 0));
    }
}
