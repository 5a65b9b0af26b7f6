//! Work that waits for a disk, a database or a question: without Python's lock, stopped by Ctrl-C, and not after a fork.

use std::process;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use taximeter_service::{Code, Problem};

use crate::problem::raise;

/// The time between two looks at whether Ctrl-C was pressed.
const LOOK: Duration = Duration::from_millis(50);

/// Does work without Python's lock. On the main thread, which alone learns of Ctrl-C, the work is done by another thread: after Ctrl-C
/// the caller goes on at once, and the work to its end.
pub fn wait<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    if !is_main_thread(py)? {
        return Ok(py.detach(work));
    }
    let (sender, receiver) = channel();
    let worker = thread::Builder::new().name("taximeter".to_string()).spawn(move || sender.send(work()).ok());
    worker.map_err(|error| PyRuntimeError::new_err(format!("no thread could be started: {error}")))?;
    let mut receiver = receiver;
    loop {
        let (answer, back) = py.detach(move || (receiver.recv_timeout(LOOK), receiver));
        receiver = back;
        match answer {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the work ended without a result; it is not known what was done"));
            }
        }
    }
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    Ok(threading.call_method0("current_thread")?.is(&threading.call_method0("main_thread")?))
}

/// What belongs to the process that made it. In a process that was forked from it, its threads and connections are not there.
pub struct OfThisProcess<T> {
    /// Other threads may use it while one closes it.
    value: Mutex<Option<T>>,
    process: u32,
}

impl<T: Clone> OfThisProcess<T> {
    /// Something of this process.
    pub fn new(value: T) -> OfThisProcess<T> {
        OfThisProcess { value: Mutex::new(Some(value)), process: process::id() }
    }

    /// The value, in the process that made it, until it is closed.
    pub fn get(&self, py: Python<'_>) -> PyResult<T> {
        if self.process != process::id() {
            let detail = format!(
                "it was opened by process {}, and this is process {}, forked from it; open it again in this process",
                self.process,
                process::id()
            );
            return Err(raise(
                py,
                &Problem { parameter: Some("fork".to_string()), ..Problem::new(Code::Stopped, detail) },
            ));
        }
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner).clone();
        value.ok_or_else(|| raise(py, &Problem::new(Code::Stopped, "it is closed; open it again")))
    }

    /// Takes the value out, if there is one and it is of this process.
    pub fn close(&self) -> Option<T> {
        // In a fork, the lock may be held by a thread that was not forked.
        if self.process != process::id() {
            return None;
        }
        self.value.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<T> Drop for OfThisProcess<T> {
    fn drop(&mut self) {
        if self.process != process::id() {
            // To end it would wait for threads that were not forked.
            std::mem::forget(self.value.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}
