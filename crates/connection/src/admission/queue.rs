//! Slots for connections that are not authenticated or not allowed yet, bounded per address and in total.

use parking_lot::Mutex;
use std::{
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};
use tokio_util::sync::CancellationToken;

/// Slots, oldest first.
#[derive(Debug)]
pub struct SlotQueue {
    per_address: usize,
    total: usize,
    entries: Mutex<Vec<Entry>>,
}

#[derive(Debug)]
pub struct Entry {
    address: IpAddr,
    kind: SlotKind,
    evicted: CancellationToken,
}

/// Whether a slot can be evicted, and whether it counts towards the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotKind {
    Evictable,
    Kept,
    Uncounted,
}

impl SlotQueue {
    pub fn new(per_address: usize, total: usize) -> Arc<Self> {
        Arc::new(Self { per_address, total, entries: Mutex::default() })
    }

    /// Takes a slot, so that no address can take all of them: evicts the oldest connection of a full address, or of the
    /// address with the most connections when all slots are taken. Returns `None` when no connection can be evicted.
    pub fn take(self: &Arc<Self>, address: IpAddr, kind: SlotKind) -> Option<QueueSlot> {
        let (address, evicted) = (limit_key(address), CancellationToken::new());
        let mut entries = self.entries.lock();
        let counted = || entries.iter().filter(|entry| entry.kind != SlotKind::Uncounted);
        let evictable = || entries.iter().filter(|entry| entry.kind == SlotKind::Evictable);
        let most = |of: &IpAddr| evictable().filter(|entry| entry.address == *of).count();
        let full = if counted().filter(|entry| entry.address == address).count() >= self.per_address {
            Some(address)
        } else if counted().count() >= self.total {
            Some(evictable().rev().map(|entry| entry.address).max_by_key(most)?)
        } else {
            None
        };
        if let Some(full) = full {
            let is_its = |entry: &Entry| entry.kind == SlotKind::Evictable && entry.address == full;
            let oldest = entries.iter().position(is_its)?;
            entries.remove(oldest).evicted.cancel();
        }
        entries.push(Entry { address, kind, evicted: evicted.clone() });
        Some(QueueSlot { queue: self.clone(), evicted })
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.lock().len()
    }
}

/// A slot, freed on drop.
#[derive(Debug)]
pub struct QueueSlot {
    queue: Arc<SlotQueue>,
    /// Cancelled when another connection takes the slot.
    pub evicted: CancellationToken,
}

impl QueueSlot {
    /// Frees the slot: the connection is counted elsewhere, or ends.
    pub(crate) fn free(&self) {
        self.queue.entries.lock().retain(|entry| entry.evicted != self.evicted);
    }

    pub fn set_kind(&self, kind: SlotKind) {
        let mut entries = self.queue.entries.lock();
        entries.iter_mut().filter(|entry| entry.evicted == self.evicted).for_each(|entry| entry.kind = kind);
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.free();
    }
}

/// Returns the address to count by: for a global IPv6 address its /64 network, all of which one host may use.
pub fn limit_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_unique_local() && !address.is_unicast_link_local() => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        one => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evictable_connections_make_room_for_kept_ones() {
        const SLOTS: usize = 64;
        const PER_ADDRESS: usize = 8;
        let phone = |n: usize| IpAddr::from([10, 0, 0, n as u8]);
        let queue = SlotQueue::new(PER_ADDRESS, SLOTS);
        let slot = |n| queue.take(phone(n), SlotKind::Kept);
        let mut of_one: Vec<_> = (0..PER_ADDRESS).map(|_| slot(0).unwrap()).collect();
        assert!(slot(0).is_none());
        let others: Vec<_> = (PER_ADDRESS..SLOTS).map(|n| slot(n).unwrap()).collect();
        assert!(slot(200).is_none());
        // A full address evicts only its own connections.
        others[0].set_kind(SlotKind::Evictable);
        assert!(slot(0).is_none());
        of_one[2].set_kind(SlotKind::Evictable);
        of_one[5].set_kind(SlotKind::Evictable);
        let again = slot(0).unwrap();
        assert!(of_one[2].evicted.is_cancelled() && !of_one[5].evicted.is_cancelled());
        let next = slot(200).unwrap();
        assert!(of_one[5].evicted.is_cancelled() && !others[0].evicted.is_cancelled());
        assert!(!again.evicted.is_cancelled() && !next.evicted.is_cancelled());
        of_one.clear();
        drop((others, again, next));
        assert_eq!(queue.len(), 0);
    }
}
