//! Connections for reading the journal beside the writer, kept open from one look to the next.

use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::journal::LedgerId;
use crate::reader::identity;
use crate::store::{self, Access, Location, Store};

/// The connections that nobody uses now.
pub(crate) struct Connections {
    location: Location,
    ledger: LedgerId,
    /// Nothing once they are closed: from then on none is kept.
    idle: Mutex<Option<Vec<Box<dyn Store>>>>,
}

/// How many are kept.
const MOST: usize = 8;

impl Connections {
    pub(crate) fn new(location: &Location, ledger: LedgerId) -> Connections {
        Connections { location: location.clone(), ledger, idle: Mutex::new(Some(Vec::new())) }
    }

    /// Looks something up on a connection of its own. One that failed is not kept, and if it had been idle, which is when
    /// connections are cut, the same is tried on a new one.
    pub(crate) fn look<T>(&self, mut look: impl FnMut(&mut dyn Store) -> Result<T, Error>) -> Result<T, Error> {
        if let Some(mut store) = self.take() {
            let found = look(&mut *store);
            if found.as_ref().err().is_none_or(Error::is_input) {
                self.keep(store);
                return found;
            }
        }
        let mut store = self.connect()?;
        let found = look(&mut *store);
        if found.as_ref().err().is_none_or(Error::is_input) {
            self.keep(store);
        }
        found
    }

    /// Ends all connections, and keeps none from now on. They end on the thread that calls: not every thread may end one.
    pub(crate) fn close(&self) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(idle);
    }

    fn connect(&self) -> Result<Box<dyn Store>, Error> {
        let mut store = store::open(&self.location, Access::Read)?;
        match identity(&mut *store)? {
            Some(id) if id == self.ledger => Ok(store),
            _ => Err(Error::integrity(format!(
                "the ledger at {} is no longer {}, which this process has open; run `verify`",
                self.location, self.ledger
            ))),
        }
    }

    fn take(&self) -> Option<Box<dyn Store>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.pop()
    }

    fn keep(&self, store: Box<dyn Store>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // What is not kept is dropped after the lock.
        let _surplus = match idle.as_mut() {
            Some(idle) if idle.len() < MOST => {
                idle.push(store);
                None
            }
            _ => Some(store),
        };
        drop(idle);
    }
}
