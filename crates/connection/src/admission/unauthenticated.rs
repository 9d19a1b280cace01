//! Connections that have not authenticated, and their deadlines.

use super::queue::{QueueSlot, SlotKind};
use crate::pass::{Pass, Who};
use futures::future::select_all;
use openagents_wire::Listener;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    hash::Hash,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub(super) const UNAUTHENTICATED_PER_ADDRESS: usize = 16;
pub(super) const UNAUTHENTICATED: usize = 256;
/// Time to authenticate, and the longest pause while a response is read, for example a file of the page. Pauses are
/// checked at this interval, so one may last twice as long.
pub const UNAUTHENTICATED_TIME: Duration = Duration::from_secs(5);
/// Time for a refused connection to receive its refusal, which is delayed by up to five seconds.
const REFUSAL_GRACE: Duration = Duration::from_secs(7);
/// Time for a connection to receive that its device was removed.
const REVOKED_GRACE: Duration = Duration::from_secs(2);

/// A connection. Holds a queue slot until it authenticates or is refused, and a socket slot until the last clone is
/// dropped.
#[derive(Debug, Clone)]
pub struct Unauthenticated(Arc<Slot>);

#[derive(Debug)]
struct Slot {
    queued: QueueSlot,
    state: watch::Sender<SlotState>,
    parts: AtomicU64,
    _socket: Counted<()>,
}

#[derive(Debug, Default)]
struct SlotState {
    /// Clients that have authenticated on it: one, except behind a proxy.
    authenticated: Vec<Authenticated>,
    is_released: bool,
    is_refused: bool,
    /// The connection may carry more requests after an answer.
    has_more: bool,
    holds: usize,
}

#[derive(Debug)]
struct Authenticated {
    who: Who,
    revoked: CancellationToken,
    _counted: Counted<Who>,
}

enum Limit {
    Unauthenticated,
    Refused,
    Unlimited,
    Revoked(Vec<CancellationToken>),
}

impl SlotState {
    fn limit(&self) -> Limit {
        if !self.authenticated.is_empty() {
            Limit::Revoked(self.authenticated.iter().map(|client| client.revoked.clone()).collect())
        } else if self.is_released || self.holds > 0 {
            Limit::Unlimited
        } else if self.is_refused {
            Limit::Refused
        } else {
            Limit::Unauthenticated
        }
    }
}

impl Unauthenticated {
    pub(super) fn new(queued: QueueSlot, socket: Counted<()>) -> Self {
        let (state, parts) = (watch::Sender::default(), AtomicU64::default());
        Self(Arc::new(Slot { queued, state, parts, _socket: socket }))
    }

    pub(super) fn is_authenticated(&self, who: &Who) -> bool {
        self.0.state.borrow().authenticated.iter().any(|client| client.who == *who)
    }

    /// Frees the queue slot. The connection lives until `pass` is revoked and is `counted` among the sockets of its
    /// device.
    pub(super) fn authenticate(&self, pass: &Pass, counted: Counted<Who>) {
        let client =
            Authenticated { who: pass.who.clone(), revoked: pass.revoked.clone(), _counted: counted };
        self.0.state.send_modify(|state| state.authenticated.push(client));
        self.0.queued.free();
    }

    /// Frees the queue slot: from now on the connection is counted elsewhere.
    pub fn release(&self) {
        self.0.state.send_modify(|state| state.is_released = true);
        self.0.queued.free();
    }

    /// Marks a connection that carries more requests after an answer: a refusal does not end it, so it keeps its slot.
    pub fn has_more_requests(&self) {
        self.0.state.send_modify(|state| state.has_more = true);
    }

    /// Frees the queue slot and leaves time to send the refusal. Does nothing when more requests may follow.
    pub fn refuse(&self) {
        if self.0.state.borrow().has_more {
            return;
        }
        self.0.state.send_modify(|state| state.is_refused = true);
        self.0.queued.free();
    }

    /// Restarts the deadline, because the peer has read another part of a response.
    pub fn progress(&self) {
        self.0.parts.fetch_add(1, Ordering::Relaxed);
    }

    /// Suspends the deadline while one of its requests waits for approval.
    pub fn hold(&self) -> Hold {
        self.0.queued.set_kind(SlotKind::Uncounted);
        self.0.state.send_modify(|state| state.holds += 1);
        Hold(self.0.clone())
    }

    pub fn is_evicted(&self) -> bool {
        self.0.queued.evicted.is_cancelled()
    }

    /// Resolves when the connection must close: it did not authenticate in time, was evicted or refused, or its device
    /// was removed.
    pub async fn expired(&self) {
        let mut state = self.0.state.subscribe();
        loop {
            let limit = state.borrow_and_update().limit();
            let over = async {
                match limit {
                    Limit::Unauthenticated => {
                        let parts = || self.0.parts.load(Ordering::Relaxed);
                        let evicted = self.0.queued.evicted.cancelled();
                        let idle = async {
                            let mut before = None;
                            while before != Some(parts()) {
                                before = Some(parts());
                                tokio::time::sleep(UNAUTHENTICATED_TIME).await;
                            }
                        };
                        tokio::select! {
                            () = evicted => {}
                            () = idle => {}
                        }
                    }
                    Limit::Refused => tokio::time::sleep(REFUSAL_GRACE).await,
                    Limit::Unlimited => std::future::pending().await,
                    Limit::Revoked(revoked) => {
                        select_all(revoked.iter().map(|revoked| Box::pin(revoked.cancelled()))).await;
                        tokio::time::sleep(REVOKED_GRACE).await;
                    }
                }
            };
            tokio::select! {
                () = over => return,
                // Never fails: the sender is in the same slot.
                _ = state.changed() => {}
            }
        }
    }
}

#[derive(Debug)]
pub struct Hold(Arc<Slot>);

impl Drop for Hold {
    fn drop(&mut self) {
        let mut is_last = false;
        self.0.state.send_modify(|state| {
            state.holds -= 1;
            is_last = state.holds == 0;
        });
        if is_last {
            self.0.queued.set_kind(SlotKind::Evictable);
        }
    }
}

#[derive(Debug, Clone)]
pub struct Caller {
    pub listener: Listener,
    /// The peer's address, or the one given by its proxy.
    pub address: IpAddr,
    /// The address of ours that it connects to.
    pub at: IpAddr,
    pub unauthenticated: Unauthenticated,
    /// Cancelled when the listener closes; its sockets close.
    pub closing: CancellationToken,
    /// Cancelled to close an event stream whose reader is stuck.
    pub cut: CancellationToken,
}

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
pub struct Counted<K: Hash + Eq> {
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
