//! Slots that are counted for somebody, so that one cannot take those of all others.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// How many places each one has taken.
pub struct Slots<K> {
    /// Nothing for as many as they like; nothing is counted then.
    most: Option<NonZeroUsize>,
    taken: Arc<Mutex<HashMap<K, usize>>>,
}

/// A place, until it is dropped.
pub struct Slot<K: Eq + Hash>(Option<Counted<K>>);

/// Whose place it is, where they are counted.
struct Counted<K> {
    whose: K,
    taken: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash + Clone> Slots<K> {
    /// So many for each; 0 for as many as they like.
    pub fn new(most: usize) -> Slots<K> {
        Slots { most: NonZeroUsize::new(most), taken: Arc::default() }
    }

    /// One more place, if there is one left.
    pub fn take(&self, whose: &K) -> Option<Slot<K>> {
        let Some(most) = self.most else { return Some(Slot(None)) };
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(whose.clone()).or_default();
        if *count >= most.get() {
            return None;
        }
        *count += 1;
        Some(Slot(Some(Counted { whose: whose.clone(), taken: Arc::clone(&self.taken) })))
    }
}

impl<K: Eq + Hash> Drop for Slot<K> {
    fn drop(&mut self) {
        let Some(Counted { whose, taken }) = &self.0 else { return };
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(whose) {
            *count -= 1;
            // Nobody is remembered who has none.
            if *count == 0 {
                taken.remove(whose);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_so_many_places_and_gets_them_back() {
        let places = Slots::new(2);
        let [one, other] = [places.take(&"alice"), places.take(&"alice")];
        assert!(one.is_some() && other.is_some() && places.take(&"alice").is_none());
        assert!(places.take(&"bob").is_some(), "the others have their own");
        drop(one);
        assert!(places.take(&"alice").is_some());
        drop(other);
        assert!(places.taken.lock().unwrap().is_empty());
        let places = Slots::new(0);
        let all: Vec<_> = (0..10_000).filter_map(|_| places.take(&"alice")).collect();
        assert_eq!(all.len(), 10_000);
    }
}
