//! Slots counted per owner, such as a token or an address, so that one cannot take them all.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// How many slots each owner has taken.
pub struct Slots<K> {
    /// The limit per owner; without one, nothing is counted.
    most: Option<NonZeroUsize>,
    taken: Arc<Mutex<HashMap<K, usize>>>,
}

/// A slot, until it is dropped.
pub struct Slot<K: Eq + Hash>(Option<CountedSlot<K>>);

/// The owner of a slot that is counted.
struct CountedSlot<K> {
    whose: K,
    taken: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash + Clone> Slots<K> {
    /// At most `most` slots per owner; 0 for no limit.
    pub fn new(most: usize) -> Slots<K> {
        Slots { most: NonZeroUsize::new(most), taken: Arc::default() }
    }

    /// One more slot, if one is left.
    pub fn take(&self, whose: &K) -> Option<Slot<K>> {
        let Some(most) = self.most else { return Some(Slot(None)) };
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(whose.clone()).or_default();
        if *count >= most.get() {
            return None;
        }
        *count += 1;
        Some(Slot(Some(CountedSlot { whose: whose.clone(), taken: Arc::clone(&self.taken) })))
    }
}

impl<K: Eq + Hash> Drop for Slot<K> {
    fn drop(&mut self) {
        let Some(CountedSlot { whose, taken }) = &self.0 else { return };
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(whose) {
            *count -= 1;
            // Owners without slots are forgotten.
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
    fn each_owner_has_a_fixed_number_of_slots_and_gets_them_back() {
        let slots = Slots::new(2);
        let [one, other] = [slots.take(&"alice"), slots.take(&"alice")];
        assert!(one.is_some() && other.is_some() && slots.take(&"alice").is_none());
        assert!(slots.take(&"bob").is_some(), "the others have their own");
        drop(one);
        assert!(slots.take(&"alice").is_some());
        drop(other);
        assert!(slots.taken.lock().unwrap().is_empty());
        let slots = Slots::new(0);
        let all: Vec<_> = (0..10_000).filter_map(|_| slots.take(&"alice")).collect();
        assert_eq!(all.len(), 10_000);
    }
}
