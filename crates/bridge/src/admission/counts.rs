//! Bounded counts per key.

use parking_lot::Mutex;
use std::{collections::HashMap, hash::Hash, sync::Arc};

/// Counts per key. Keys with a count of zero are removed.
#[derive(Debug)]
pub(super) struct Counts<K>(Mutex<HashMap<K, usize>>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone> Counts<K> {
    /// Counts one more for `of`. `None` when it has `most` already.
    pub(super) fn take(self: &Arc<Self>, of: K, most: usize) -> Option<Counted<K>> {
        let mut counts = self.0.lock();
        let count = counts.get(&of).copied().unwrap_or_default();
        if count >= most {
            return None;
        }
        counts.insert(of.clone(), count + 1);
        Some(Counted { of, counts: self.clone() })
    }

    /// Returns the number of keys.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

/// One count, given back on drop.
#[derive(Debug)]
pub(super) struct Counted<K: Hash + Eq> {
    of: K,
    counts: Arc<Counts<K>>,
}

impl<K: Hash + Eq> Drop for Counted<K> {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock();
        if let Some(count) = counts.get_mut(&self.of) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.of);
            }
        }
    }
}
