//! Slots, bounded in total and per key.

use parking_lot::Mutex;
use std::{collections::HashMap, hash::Hash, sync::Arc};

/// The slots that are taken. Keys without one are removed.
#[derive(Debug)]
pub(super) struct Counts<K> {
    total: usize,
    per_key: usize,
    taken: Mutex<Taken<K>>,
}

#[derive(Debug)]
struct Taken<K> {
    in_all: usize,
    of: HashMap<K, usize>,
}

impl<K: Hash + Eq + Clone> Counts<K> {
    pub(super) fn new(total: usize, per_key: usize) -> Arc<Self> {
        let taken = Mutex::new(Taken { in_all: 0, of: HashMap::new() });
        Arc::new(Self { total, per_key, taken })
    }

    /// Takes a slot. Without a key, it counts in total only. Returns `None` when no slot is left.
    pub(super) fn take(self: &Arc<Self>, key: Option<K>) -> Option<Counted<K>> {
        let mut taken = self.taken.lock();
        let count = key.as_ref().and_then(|key| taken.of.get(key)).copied().unwrap_or_default();
        if taken.in_all >= self.total || count >= self.per_key {
            return None;
        }
        taken.in_all += 1;
        if let Some(key) = &key {
            taken.of.insert(key.clone(), count + 1);
        }
        Some(Counted { key, counts: self.clone() })
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.taken.lock().of.len()
    }
}

/// A slot, freed on drop.
#[derive(Debug)]
pub(crate) struct Counted<K: Hash + Eq> {
    key: Option<K>,
    counts: Arc<Counts<K>>,
}

impl<K: Hash + Eq> Drop for Counted<K> {
    fn drop(&mut self) {
        let mut taken = self.counts.taken.lock();
        taken.in_all -= 1;
        if let Some(key) = &self.key
            && let Some(count) = taken.of.get_mut(key)
        {
            *count -= 1;
            if *count == 0 {
                taken.of.remove(key);
            }
        }
    }
}
