//! The queue's synchronisation, in every order of threads that `shuttle` can think of.
//!
//! `src/queue.rs` is compiled here once more, on top of primitives whose every step is scheduled by shuttle, which also notices when
//! nobody can go on. To show that a mistake would be found, the primitives leave out one notification of the file at a time.

#![allow(missing_docs)]
// What the writer uses and these tests do not.
#![allow(dead_code)]

#[path = "../src/queue.rs"]
mod queue;

/// The primitives that the queue is made of.
mod sync {
    use std::cell::Cell;
    use std::panic::Location;

    pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard};

    std::thread_local! {
        /// The line of the queue's file whose notification is left out. Shuttle runs all its threads on one.
        pub(crate) static LEFT_OUT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    pub(crate) struct Condvar(shuttle::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Condvar {
            Condvar(shuttle::sync::Condvar::new())
        }

        pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> std::sync::LockResult<MutexGuard<'a, T>> {
            self.0.wait(guard)
        }

        #[track_caller]
        pub(crate) fn notify_one(&self) {
            if LEFT_OUT.get() != Some(Location::caller().line()) {
                self.0.notify_one();
            }
        }

        #[track_caller]
        pub(crate) fn notify_all(&self) {
            if LEFT_OUT.get() != Some(Location::caller().line()) {
                self.0.notify_all();
            }
        }
    }
}

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::Arc;
use shuttle::thread::{self, JoinHandle};
use shuttle::{Config, FailurePersistence, Runner, future};

use queue::{Answer, Batch, Bell, NotPushed, Queue, Reply, slot};

/// An item: who pushed it, the how manyth of theirs it is, and where the answer goes.
struct Item {
    pusher: usize,
    number: usize,
    reply: Reply<(usize, usize)>,
}

/// How an item is pushed and its answer awaited.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// By a thread that waits for room.
    Blocking,
    /// By a thread that tries again and again.
    Trying,
    /// By a task.
    Polling,
}

/// When the queue is closed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Closing {
    /// When all pushers are done, as when the last handle goes.
    AtTheEnd,
    /// By a thread of its own, at any time.
    AtAnyTime,
}

/// What the taker does with what it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Taker {
    Answers,
    /// It answers the first so many, and drops the others, like a writer that fails.
    EndsAfter(usize),
}

/// A game: who plays, and by which rules.
#[derive(Clone)]
struct Game {
    capacity: usize,
    /// How often the taker looks again for more.
    patience: usize,
    pushers: Vec<(How, usize)>,
    closing: Closing,
    taker: Taker,
}

/// What became of an item, as its pusher knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Answered,
    /// Pushed, but nobody will answer.
    Dropped,
    /// Not pushed, since the queue was closed.
    HandedBack,
}

impl Game {
    /// Plays it once, in the order that shuttle chooses, and checks everything that must hold in any.
    fn play(&self) {
        let queue = Arc::new(Queue::new(self.capacity));
        let taker = {
            let (queue, game) = (Arc::clone(&queue), self.clone());
            thread::spawn(move || game.take(&queue))
        };
        let pushers: Vec<JoinHandle<Vec<Fate>>> = self
            .pushers
            .iter()
            .enumerate()
            .map(|(pusher, &(how, count))| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || (0..count).map(|number| push(&queue, how, pusher, number)).collect())
            })
            .collect();
        let closer = (self.closing == Closing::AtAnyTime).then(|| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.close())
        });
        let fates: Vec<Vec<Fate>> = pushers.into_iter().map(|pusher| pusher.join().unwrap()).collect();
        queue.close();
        let taken = taker.join().unwrap();
        closer.into_iter().for_each(|closer| closer.join().unwrap());
        self.check(&fates, &taken);
        // Closed and empty, it stays so.
        assert!(queue.take().items.is_empty());
        assert_eq!(queue.len(), 0);
        let (reply, answer) = slot();
        assert!(matches!(queue.try_push(Item { pusher: 0, number: 0, reply }), Err(NotPushed::Closed(_))));
        assert_eq!(future::block_on(answer), None);
    }

    /// The taker: takes until nothing comes any more, and answers. Returns what it took, in order.
    fn take(&self, queue: &Queue<Item>) -> Vec<(usize, usize)> {
        let mut taken = Vec::new();
        loop {
            let mut batch = queue.take();
            assert!(batch.items.len() <= self.capacity, "there is more in the queue than there is room");
            // Others join the batch, as they do while the first are decided.
            for _ in 0..self.patience {
                let before = batch.items.len();
                if before == 0 {
                    break;
                }
                let joined = queue.add_to(&mut batch);
                let more = batch.items.len() - before;
                assert!(joined == (more > 0) && more <= self.capacity, "{more} joined");
                thread::yield_now();
            }
            if batch.items.is_empty() {
                return taken;
            }
            for Item { pusher, number, reply } in batch.items.drain(..) {
                taken.push((pusher, number));
                match self.taker {
                    Taker::EndsAfter(count) if taken.len() > count => {
                        queue.close();
                        drop(reply);
                    }
                    _ => reply.send((pusher, number)),
                }
            }
        }
    }

    fn check(&self, fates: &[Vec<Fate>], taken: &[(usize, usize)]) {
        // Of each pusher the items came in order, none twice and none that it does not know of.
        let mut by_pusher: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        taken.iter().for_each(|(pusher, number)| by_pusher.entry(*pusher).or_default().push(*number));
        for (pusher, fates) in fates.iter().enumerate() {
            let pushed = (0..fates.len()).filter(|number| fates[*number] != Fate::HandedBack).collect::<Vec<_>>();
            assert_eq!(by_pusher.remove(&pusher).unwrap_or_default(), pushed, "of pusher {pusher}");
        }
        let count = |fate: Fate| fates.iter().flatten().filter(|other| **other == fate).count();
        let answered = match self.taker {
            Taker::Answers => taken.len(),
            Taker::EndsAfter(count) => taken.len().min(count),
        };
        assert_eq!((count(Fate::Answered), count(Fate::Dropped)), (answered, taken.len() - answered));
        if self.closing == Closing::AtTheEnd && self.taker == Taker::Answers {
            assert_eq!(count(Fate::HandedBack), 0);
        }
    }
}

/// Pushes an item and waits until it is known what becomes of it.
fn push(queue: &Queue<Item>, how: How, pusher: usize, number: usize) -> Fate {
    let (reply, answer) = slot();
    let mut item = Item { pusher, number, reply };
    let pushed = match how {
        How::Blocking => queue.push(item).map(Some),
        How::Trying => loop {
            match queue.try_push(item) {
                Err(NotPushed::Full(back)) => {
                    assert_eq!((back.pusher, back.number), (pusher, number));
                    item = back;
                    thread::yield_now();
                }
                done => break done.map(Some),
            }
        },
        How::Polling => {
            let mut item = Some(item);
            let pushed = poll_fn(|context| queue.poll_push(&mut item, &hearing(Waiting::ForRoom, context)));
            future::block_on(pushed).map(|()| None)
        }
    };
    match pushed {
        Ok(bell) => match await_answer(answer, bell.as_deref()) {
            Some(own) => {
                assert_eq!(own, (pusher, number), "it got the answer of somebody else");
                Fate::Answered
            }
            None => Fate::Dropped,
        },
        Err(NotPushed::Closed(back)) => {
            assert_eq!((back.pusher, back.number), (pusher, number));
            Fate::HandedBack
        }
        Err(NotPushed::Full(_)) => unreachable!("whoever waits for room gets it"),
    }
}

/// Threads wait for the bell of their batch, tasks for the answer itself.
fn await_answer(answer: Answer<(usize, usize)>, bell: Option<&Bell>) -> Option<(usize, usize)> {
    match bell {
        Some(bell) => answer.wait(bell),
        None => {
            let mut answer = Box::pin(answer);
            future::block_on(poll_fn(|context| answer.as_mut().poll(&mut hearing(Waiting::ForAnAnswer, context))))
        }
    }
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Waiting {
    ForRoom,
    ForAnAnswer,
}

std::thread_local! {
    /// Tasks that wait for this are not woken.
    static DEAF: Cell<Option<Waiting>> = const { Cell::new(None) };
}

/// The task's own context, or one that never hears of anything.
fn hearing<'a>(waiting: Waiting, context: &mut Context<'a>) -> Context<'a> {
    Context::from_waker(if DEAF.get() == Some(waiting) { Waker::noop() } else { context.waker() })
}

fn runner<S: Scheduler + 'static>(scheduler: S) -> Runner<S> {
    let mut config = Config::new();
    // A test that fails prints the schedule that shows it; nothing is written to disk.
    config.failure_persistence = FailurePersistence::Print;
    Runner::new(scheduler, config)
}

fn check(game: Game) {
    let played = game.clone();
    runner(RandomScheduler::new(1000)).run(move || played.play());
    for depth in 1..=3 {
        let played = game.clone();
        runner(PctScheduler::new(depth, 300)).run(move || played.play());
    }
}

/// All mixtures of pushers, with hardly any room.
fn games(closing: Closing, taker: Taker) -> Vec<Game> {
    use How::*;
    let mut games = Vec::new();
    for (capacity, patience) in [(1, 0), (2, 2), (3, 0)] {
        for pushers in [
            vec![(Blocking, 2), (Blocking, 2), (Blocking, 1)],
            vec![(Polling, 2), (Polling, 2), (Polling, 1)],
            vec![(Blocking, 2), (Trying, 2), (Polling, 2)],
        ] {
            games.push(Game { capacity, patience, pushers, closing, taker });
        }
    }
    games
}

#[test]
fn everything_is_taken_once_in_order_and_answered() {
    games(Closing::AtTheEnd, Taker::Answers).into_iter().for_each(check);
}

#[test]
fn closing_at_any_time_answers_or_hands_back_everything() {
    games(Closing::AtAnyTime, Taker::Answers).into_iter().for_each(check);
}

#[test]
fn a_taker_that_fails_tells_everybody_who_waits() {
    for count in [0, 1, 3] {
        games(Closing::AtTheEnd, Taker::EndsAfter(count)).into_iter().for_each(check);
    }
}

/// Those who wait for room, when nobody takes any more and the queue is closed.
fn play_closing_without_a_taker(how: How) {
    let queue = Arc::new(Queue::new(1));
    let (reply, _answer) = slot();
    assert!(queue.try_push(Item { pusher: 9, number: 0, reply }).is_ok());
    let pushers: Vec<_> = (0..3)
        .map(|pusher| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || push(&queue, how, pusher, 0))
        })
        .collect();
    queue.close();
    pushers.into_iter().for_each(|pusher| assert_eq!(pusher.join().unwrap(), Fate::HandedBack));
    assert_eq!(queue.take().items.len(), 1);
    assert_eq!(queue.take().items.len(), 0);
}

#[test]
fn closing_alone_wakes_everybody_who_waits_for_room() {
    for how in [How::Blocking, How::Trying, How::Polling] {
        runner(RandomScheduler::new(3000)).run(move || play_closing_without_a_taker(how));
    }
}

/// Every order there is, of somebody who pushes and somebody who takes, or closes first and takes then.
#[test]
fn every_order_of_two_threads_is_sound() {
    for how in [How::Blocking, How::Trying, How::Polling] {
        for closes_first in [false, true] {
            runner(DfsScheduler::new(None, false)).run(move || {
                let queue = Arc::new(Queue::new(1));
                let pusher = {
                    let queue = Arc::clone(&queue);
                    thread::spawn(move || push(&queue, how, 0, 0))
                };
                if closes_first {
                    queue.close();
                }
                let mut batch = queue.take();
                let taken = batch.items.len();
                batch.items.drain(..).for_each(|item| item.reply.send((item.pusher, item.number)));
                drop(batch);
                let fate = if taken == 1 { Fate::Answered } else { Fate::HandedBack };
                assert!(taken == 1 || closes_first);
                assert_eq!(pusher.join().unwrap(), fate);
            });
        }
    }
}

#[test]
fn a_slot_gives_its_answer_or_says_that_there_is_none() {
    for is_answered in [true, false] {
        runner(DfsScheduler::new(None, false)).run(move || {
            let (reply, answer) = slot();
            let replier = thread::spawn(move || if is_answered { reply.send((1, 2)) } else { drop(reply) });
            assert_eq!(await_answer(answer, None), is_answered.then_some((1, 2)));
            replier.join().unwrap();
        });
    }
}

/// A taker that panics drops its batch as it is.
#[test]
fn a_batch_that_is_dropped_tells_everybody_in_it() {
    runner(RandomScheduler::new(3000)).run(|| {
        let queue = Arc::new(Queue::new(8));
        let pushers: Vec<_> = [How::Blocking, How::Blocking, How::Polling]
            .into_iter()
            .enumerate()
            .map(|(pusher, how)| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || push(&queue, how, pusher, 0))
            })
            .collect();
        let mut count = 0;
        while count < 3 {
            count += queue.take().items.len();
        }
        pushers.into_iter().for_each(|pusher| assert_eq!(pusher.join().unwrap(), Fate::Dropped));
    });
}

/// A task that loses interest takes nobody's place: the others still get in.
#[test]
fn a_task_that_goes_away_while_it_waits_for_room_harms_nobody() {
    runner(RandomScheduler::new(3000)).run(|| {
        let queue = Arc::new(Queue::new(1));
        let taker = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let mut count = 0;
                loop {
                    let mut batch: Batch<Item> = queue.take();
                    if batch.items.is_empty() {
                        return count;
                    }
                    count += batch.items.len();
                    batch.items.drain(..).for_each(|item| item.reply.send((item.pusher, item.number)));
                }
            })
        };
        let fickle = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let (reply, _answer) = slot();
                let mut item = Some(Item { pusher: 9, number: 0, reply });
                let waker = Waker::from(std::sync::Arc::new(Flag::default()));
                usize::from(queue.poll_push(&mut item, &Context::from_waker(&waker)).is_ready())
            })
        };
        let steady: Vec<_> = [How::Polling, How::Blocking]
            .into_iter()
            .enumerate()
            .map(|(pusher, how)| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || assert_eq!(push(&queue, how, pusher, 0), Fate::Answered))
            })
            .collect();
        steady.into_iter().for_each(|pusher| pusher.join().unwrap());
        let pushed = 2 + fickle.join().unwrap();
        queue.close();
        assert_eq!(taker.join().unwrap(), pushed);
    });
}

/// A task that is polled with another waker is woken through the newest.
#[test]
fn an_answer_wakes_the_waker_that_was_given_last() {
    runner(DfsScheduler::new(None, false)).run(|| {
        let (reply, answer) = slot();
        let mut answer = Box::pin(answer);
        let flags = [std::sync::Arc::new(Flag::default()), std::sync::Arc::new(Flag::default())];
        let replier = thread::spawn(move || reply.send((1, 2)));
        let mut ready = None;
        for flag in &flags {
            let waker = Waker::from(std::sync::Arc::clone(flag));
            if ready.is_none()
                && let Poll::Ready(value) = answer.as_mut().poll(&mut Context::from_waker(&waker))
            {
                ready = Some(value);
            }
        }
        replier.join().unwrap();
        match ready {
            Some(value) => assert_eq!(value, Some((1, 2))),
            None => {
                assert!(flags[1].0.load(Ordering::Relaxed), "nobody woke the task");
                let waker = Waker::from(std::sync::Arc::clone(&flags[1]));
                assert_eq!(answer.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(Some((1, 2))));
            }
        }
    });
}

/// A waker that remembers that it was used.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Whether some order of threads in some game leaves somebody waiting for ever.
fn is_somebody_left_waiting() -> bool {
    let is_deadlock = |play: Box<dyn Fn() + Send + Sync>| {
        let run = || runner(RandomScheduler::new(500)).run(play);
        catch_unwind(AssertUnwindSafe(run)).is_err_and(|panic| {
            let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            assert!(message.contains("deadlock"), "{message}");
            true
        })
    };
    let closings = [Closing::AtAnyTime, Closing::AtTheEnd].into_iter();
    let mut all = closings.flat_map(|closing| games(closing, Taker::Answers));
    all.any(|game| is_deadlock(Box::new(move || game.play())))
        || [How::Blocking, How::Polling]
            .into_iter()
            .any(|how| is_deadlock(Box::new(move || play_closing_without_a_taker(how))))
}

/// Each notification in the file is needed: with any of them left out, somebody waits for ever in some order, and that is found.
#[test]
fn a_queue_that_leaves_out_a_notification_is_caught() {
    assert!(!is_somebody_left_waiting());
    let source = include_str!("../src/queue.rs");
    let lines = (1..).zip(source.lines()).filter(|(_, line)| line.contains(".notify_"));
    let sites: Vec<(u32, &str)> = lines.collect();
    assert_eq!(sites.len(), 5, "the notifications are found by how they are written");
    for (site, line) in sites {
        sync::LEFT_OUT.set(Some(site));
        let is_caught = is_somebody_left_waiting();
        sync::LEFT_OUT.set(None);
        assert!(is_caught, "nobody misses the notification in line {site}: {line}");
    }
}

#[test]
fn a_task_that_is_not_woken_is_caught() {
    for waiting in [Waiting::ForRoom, Waiting::ForAnAnswer] {
        DEAF.set(Some(waiting));
        let is_caught = is_somebody_left_waiting();
        DEAF.set(None);
        assert!(is_caught, "nobody misses being woken when waiting {waiting:?}");
    }
}

#[test]
fn what_is_lost_doubled_out_of_order_or_unanswered_is_caught() {
    let pushers = vec![(How::Blocking, 2), (How::Blocking, 1)];
    let game = Game { capacity: 1, patience: 0, pushers, closing: Closing::AtTheEnd, taker: Taker::Answers };
    let check = |last: Fate, taken: &[(usize, usize)]| {
        let fates = [vec![Fate::Answered, Fate::Answered], vec![last]];
        catch_unwind(AssertUnwindSafe(|| game.check(&fates, taken))).is_ok()
    };
    assert!(check(Fate::Answered, &[(0, 0), (1, 0), (0, 1)]));
    assert!(!check(Fate::Answered, &[(0, 0), (1, 0)]), "lost");
    assert!(!check(Fate::Answered, &[(0, 0), (1, 0), (0, 1), (1, 0)]), "doubled");
    assert!(!check(Fate::Answered, &[(0, 1), (1, 0), (0, 0)]), "out of order");
    assert!(!check(Fate::Dropped, &[(0, 0), (1, 0), (0, 1)]), "unanswered");
    assert!(!check(Fate::HandedBack, &[(0, 0), (1, 0), (0, 1)]), "handed back and taken");
    assert!(!check(Fate::HandedBack, &[(0, 0), (0, 1)]), "handed back by an open queue");
}
