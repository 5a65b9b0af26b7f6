//! Connections for reading the journal beside the writer, kept open from one look to the next.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::Error;
use crate::journal::LedgerId;
use crate::reader::origin;
use crate::store::{self, Access, Location, Store};

/// The connections that are free now.
pub(crate) struct Connections {
    location: Location,
    ledger: LedgerId,
    /// Nothing once they are closed: from then on none is kept.
    idle: Mutex<Option<Vec<Box<dyn Store>>>>,
}

/// How long a database may take to answer: other requests wait behind this one.
const PATIENCE: Duration = Duration::from_secs(15);

/// How many are kept.
const MOST: usize = 8;

impl Connections {
    pub(crate) fn new(location: &Location, ledger: LedgerId) -> Connections {
        Connections { location: location.clone(), ledger, idle: Mutex::new(Some(Vec::new())) }
    }

    /// Looks something up on a connection of its own. One that failed is not kept, and if it had been idle, which is when
    /// connections are cut, the same is tried on a new one.
    pub(crate) fn look<T>(&self, mut look: impl FnMut(&mut dyn Store) -> Result<T, Error>) -> Result<T, Error> {
        let idle = self.idle().as_mut().and_then(Vec::pop);
        let was_idle = idle.is_some();
        let mut store = idle.map_or_else(|| self.connect(), Ok)?;
        let found = look(&mut *store);
        if found.as_ref().err().is_none_or(Error::is_input) {
            self.keep(store);
            return found;
        }
        if was_idle { look(&mut *self.connect()?) } else { found }
    }

    /// Ends all connections, and keeps none from now on. They end on the thread that calls: not every thread may end one.
    pub(crate) fn close(&self) {
        let idle = self.idle().take();
        drop(idle);
    }

    fn connect(&self) -> Result<Box<dyn Store>, Error> {
        let mut store = store::open(&self.location, Access::Read { patience: PATIENCE })?;
        match origin(&mut *store)? {
            Some(origin) if origin.id == self.ledger => Ok(store),
            _ => Err(Error::integrity(format!(
                "the ledger at {} is no longer {}, which this process has open",
                self.location, self.ledger
            ))),
        }
    }

    fn keep(&self, store: Box<dyn Store>) {
        if let Some(idle) = self.idle().as_mut().filter(|idle| idle.len() < MOST) {
            idle.push(store);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Option<Vec<Box<dyn Store>>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
