//! The queue in front of the writer, and the slots in which it leaves its answers.
//!
//! Many threads and tasks push, one takes all that waits. Both sides work for threads that block and for tasks that are polled.
//! A test runs this file on primitives that try every order of threads (tests/schedules.rs).

use std::future::Future;
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use crate::sync::{Arc, Condvar, Mutex, MutexGuard};

/// A queue with room for so many.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    emptied: Condvar,
    capacity: usize,
}

struct State<T> {
    waiting: Vec<T>,
    /// Rings when those that wait now have been answered.
    bell: Arc<Bell>,
    closed: bool,
    /// Tasks that wait for room.
    tasks: Vec<Waker>,
}

/// Why something could not be pushed. It is handed back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotPushed<T> {
    /// There is no room.
    Full(T),
    /// Nobody takes any more.
    Closed(T),
}

impl<T> Queue<T> {
    pub(crate) fn new(capacity: usize) -> Queue<T> {
        let state = State { waiting: Vec::new(), bell: Arc::new(Bell::new()), closed: false, tasks: Vec::new() };
        Queue { state: Mutex::new(state), filled: Condvar::new(), emptied: Condvar::new(), capacity: capacity.max(1) }
    }

    /// Pushes if there is room. The bell rings when the item has been dealt with.
    pub(crate) fn try_push(&self, item: T) -> Result<Arc<Bell>, NotPushed<T>> {
        self.push_into(&mut self.lock(), item)
    }

    /// Pushes, and waits for room if there is none.
    pub(crate) fn push(&self, mut item: T) -> Result<Arc<Bell>, NotPushed<T>> {
        let mut state = self.lock();
        loop {
            match self.push_into(&mut state, item) {
                Err(NotPushed::Full(back)) => {
                    item = back;
                    state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                done => return done,
            }
        }
    }

    /// Pushes what is there, or has the task woken when there may be room.
    pub(crate) fn poll_push(&self, item: &mut Option<T>, context: &Context<'_>) -> Poll<Result<(), NotPushed<T>>> {
        let Some(back) = item.take() else { return Poll::Ready(Ok(())) };
        let mut state = self.lock();
        match self.push_into(&mut state, back) {
            Err(NotPushed::Full(back)) => {
                *item = Some(back);
                state.tasks.push(context.waker().clone());
                Poll::Pending
            }
            done => Poll::Ready(done.map(drop)),
        }
    }

    fn push_into(&self, state: &mut State<T>, item: T) -> Result<Arc<Bell>, NotPushed<T>> {
        if state.closed {
            return Err(NotPushed::Closed(item));
        }
        if state.waiting.len() >= self.capacity {
            return Err(NotPushed::Full(item));
        }
        state.waiting.push(item);
        // The taker sleeps only on an empty queue.
        if state.waiting.len() == 1 {
            self.filled.notify_one();
        }
        Ok(Arc::clone(&state.bell))
    }

    /// Takes all that waits; sleeps while nothing does. An empty batch means that the queue is closed and empty.
    pub(crate) fn take(&self) -> Batch<T> {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.closed {
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let mut batch = Batch { items: Vec::new(), bells: Vec::new() };
        self.move_into(&mut batch, state);
        batch
    }

    /// Adds what waits now to a batch, and says whether there was anything.
    pub(crate) fn add_to(&self, batch: &mut Batch<T>) -> bool {
        let state = self.lock();
        let is_any = !state.waiting.is_empty();
        if is_any {
            self.move_into(batch, state);
        }
        is_any
    }

    fn move_into(&self, batch: &mut Batch<T>, mut state: MutexGuard<'_, State<T>>) {
        batch.items.append(&mut state.waiting);
        batch.bells.push(std::mem::replace(&mut state.bell, Arc::new(Bell::new())));
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        self.emptied.notify_all();
        tasks.into_iter().for_each(Waker::wake);
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Whether nothing can be pushed any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// From now on nothing can be pushed. What waits can still be taken.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        self.filled.notify_all();
        self.emptied.notify_all();
        tasks.into_iter().for_each(Waker::wake);
    }

    /// No code that can panic runs under the lock, so a poisoned lock guards a sound state.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was taken together. Whoever waits for it is woken when it is dropped: all at once, since waking one thread after the other
/// takes longer than a commit.
pub(crate) struct Batch<T> {
    pub(crate) items: Vec<T>,
    bells: Vec<Arc<Bell>>,
}

impl<T> Drop for Batch<T> {
    fn drop(&mut self) {
        // What nobody dealt with is dropped first, so that whoever waits for it finds that out.
        self.items.clear();
        self.bells.iter().for_each(|bell| bell.ring());
    }
}

/// What threads wait for: it rings once.
pub(crate) struct Bell {
    rung: Mutex<bool>,
    rings: Condvar,
}

impl Bell {
    fn new() -> Bell {
        Bell { rung: Mutex::new(false), rings: Condvar::new() }
    }

    fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.rings.notify_all();
    }

    fn wait(&self) {
        let mut rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        while !*rung {
            rung = self.rings.wait(rung).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Where one answer is left. The two ends are for the one who answers and the one who waits.
pub(crate) fn slot<T>() -> (Reply<T>, Answer<T>) {
    let slot = Arc::new(Mutex::new(Slot::Waiting(None)));
    (Reply(Some(Arc::clone(&slot))), Answer(slot))
}

enum Slot<T> {
    Waiting(Option<Waker>),
    Ready(T),
    /// Nobody will answer, or the answer was taken.
    Gone,
}

fn settle<T>(slot: &Mutex<Slot<T>>, settled: Slot<T>) {
    let before = std::mem::replace(&mut *slot.lock().unwrap_or_else(PoisonError::into_inner), settled);
    if let Slot::Waiting(Some(task)) = before {
        task.wake();
    }
}

/// The end that answers. Dropped without an answer, it tells the other end so.
pub(crate) struct Reply<T>(Option<Arc<Mutex<Slot<T>>>>);

impl<T> Reply<T> {
    /// Leaves the answer. A task is woken at once, a thread by the bell.
    pub(crate) fn send(mut self, answer: T) {
        if let Some(slot) = self.0.take() {
            settle(&slot, Slot::Ready(answer));
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            settle(&slot, Slot::Gone);
        }
    }
}

/// The end that waits: for threads with [`wait`](Answer::wait), for tasks as a future. Nothing means that nobody will answer.
pub(crate) struct Answer<T>(Arc<Mutex<Slot<T>>>);

impl<T> Answer<T> {
    /// Waits for the bell of the batch that the question is in.
    pub(crate) fn wait(self, bell: &Bell) -> Option<T> {
        bell.wait();
        match std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), Slot::Gone) {
            Slot::Ready(answer) => Some(answer),
            Slot::Waiting(_) | Slot::Gone => None,
        }
    }
}

impl<T> Future for Answer<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *slot, Slot::Gone) {
            Slot::Ready(answer) => Poll::Ready(Some(answer)),
            Slot::Gone => Poll::Ready(None),
            Slot::Waiting(_) => {
                *slot = Slot::Waiting(Some(context.waker().clone()));
                Poll::Pending
            }
        }
    }
}
