//! The primitives that the queue is made of. A test puts others in their place, which try every order of threads.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
