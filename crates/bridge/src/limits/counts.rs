//! How many of something each one has, and may have.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

/// How many of something each one has.
#[derive(Debug)]
pub(super) struct Counts<K>(Mutex<HashMap<K, usize>>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone> Counts<K> {
    /// Takes one more for `of`, which may have `most`.
    pub(super) fn take(self: &Arc<Self>, of: K, most: usize) -> Option<Counted<K>> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.get(&of).copied().unwrap_or_default();
        if count >= most {
            return None;
        }
        counts.insert(of.clone(), count + 1);
        Some(Counted { of, counts: self.clone() })
    }

    /// Returns how many have any.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// One of them; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Counted<K: Hash + Eq> {
    of: K,
    counts: Arc<Counts<K>>,
}

impl<K: Hash + Eq> Drop for Counted<K> {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.of) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.of);
            }
        }
    }
}
