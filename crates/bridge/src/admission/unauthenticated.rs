//! Connections that have not authenticated, and their deadlines.

use crate::admission::counts::Counted;
use crate::base::pass::{Pass, Who};
use futures::future::select_all;
use parking_lot::{Mutex, MutexGuard};
use std::{collections::VecDeque, net::IpAddr, sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::sync::CancellationToken;

/// Unauthenticated connections of one address.
pub(super) const UNAUTHENTICATED_PER_ADDRESS: usize = 16;
/// Unauthenticated connections in total.
pub(super) const UNAUTHENTICATED: usize = 256;
/// Time to authenticate.
pub(crate) const UNAUTHENTICATED_TIME: Duration = Duration::from_secs(5);
/// Time for a refused connection to receive its refusal, which is delayed by up to five seconds.
const REFUSAL_GRACE: Duration = Duration::from_secs(7);
/// Time for a connection to receive that its device was removed.
const REVOKED_GRACE: Duration = Duration::from_secs(2);

/// Unauthenticated connections, oldest first.
#[derive(Debug, Default)]
pub(super) struct UnauthenticatedQueue(Mutex<VecDeque<Queued>>);

#[derive(Debug)]
struct Queued {
    address: IpAddr,
    evicted: CancellationToken,
    /// A request on it waits for approval; it is never evicted.
    is_held: bool,
}

impl UnauthenticatedQueue {
    /// Adds a connection. When its address has no slot left, the oldest connection of that address is evicted; when no
    /// slot is left at all, the oldest one of the address that has most. So no address can take all slots.
    fn add(&self, address: IpAddr) -> CancellationToken {
        let evicted = CancellationToken::new();
        let mut queue = self.lock();
        let evictable = || queue.iter().filter(|queued| !queued.is_held);
        let count = |address: IpAddr| evictable().filter(|queued| queued.address == address).count();
        let full = if count(address) >= UNAUTHENTICATED_PER_ADDRESS {
            Some(address)
        } else if evictable().count() >= UNAUTHENTICATED {
            evictable().map(|queued| queued.address).max_by_key(|address| count(*address))
        } else {
            None
        };
        let is_of_full = |queued: &Queued| !queued.is_held && Some(queued.address) == full;
        if let Some(oldest) = queue.iter().position(is_of_full)
            && let Some(oldest) = queue.remove(oldest)
        {
            oldest.evicted.cancel();
        }
        queue.push_back(Queued { address, evicted: evicted.clone(), is_held: false });
        evicted
    }

    fn remove(&self, evicted: &CancellationToken) {
        self.lock().retain(|queued| queued.evicted != *evicted);
    }

    fn set_held(&self, evicted: &CancellationToken, is_held: bool) {
        if let Some(queued) = self.lock().iter_mut().find(|queued| queued.evicted == *evicted) {
            queued.is_held = is_held;
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Queued>> {
        self.0.lock()
    }
}

/// A connection. Holds a slot in the queue until it authenticates or is refused, and a socket until all clones are
/// dropped.
#[derive(Debug, Clone)]
pub(crate) struct Unauthenticated(Arc<Slot>);

#[derive(Debug)]
struct Slot {
    queue: Arc<UnauthenticatedQueue>,
    evicted: CancellationToken,
    state: watch::Sender<SlotState>,
    _sockets: Sockets,
}

/// A permit among all sockets, and one among those of the network.
pub(super) type Sockets = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.queue.remove(&self.evicted);
    }
}

/// The state of a connection.
#[derive(Debug, Default)]
struct SlotState {
    /// Clients that have authenticated on it: one, except behind a proxy.
    authenticated: Vec<Authenticated>,
    /// Counted elsewhere.
    is_released: bool,
    is_refused: bool,
    /// It may carry more requests after an answer.
    has_more: bool,
    /// Requests that wait for approval.
    holds: usize,
}

#[derive(Debug)]
struct Authenticated {
    who: Who,
    revoked: CancellationToken,
    /// `None` for the local user.
    _counted: Option<Counted<Who>>,
}

/// The deadline of a connection.
enum Limit {
    Unauthenticated,
    Refused,
    /// None, until the state changes.
    Unlimited,
    /// Until one of these passes is revoked.
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
    pub(super) fn new(queue: &Arc<UnauthenticatedQueue>, address: IpAddr, sockets: Sockets) -> Self {
        let (queue, evicted) = (queue.clone(), queue.add(address));
        Self(Arc::new(Slot { queue, evicted, state: watch::Sender::default(), _sockets: sockets }))
    }

    /// Returns whether `who` has authenticated on it.
    pub(super) fn is_authenticated(&self, who: &Who) -> bool {
        self.0.state.borrow().authenticated.iter().any(|client| client.who == *who)
    }

    /// Gives the slot back: the connection lives until `pass` is revoked. `counted` is its count among the sockets of its
    /// device.
    pub(super) fn authenticate(&self, pass: &Pass, counted: Option<Counted<Who>>) {
        let client =
            Authenticated { who: pass.who.clone(), revoked: pass.revoked.clone(), _counted: counted };
        self.0.state.send_modify(|state| state.authenticated.push(client));
        self.0.queue.remove(&self.0.evicted);
    }

    /// Gives the slot back: the connection is counted elsewhere for as long as it lasts.
    pub(crate) fn release(&self) {
        self.0.state.send_modify(|state| state.is_released = true);
        self.0.queue.remove(&self.0.evicted);
    }

    /// Marks a connection that carries more requests after an answer: a refusal does not end it, so it keeps its slot.
    pub(crate) fn has_more_requests(&self) {
        self.0.state.send_modify(|state| state.has_more = true);
    }

    /// Gives the slot back, and leaves time to send the refusal. Does nothing when more requests may follow.
    pub(crate) fn refuse(&self) {
        if self.0.state.borrow().has_more {
            return;
        }
        self.0.state.send_modify(|state| state.is_refused = true);
        self.0.queue.remove(&self.0.evicted);
    }

    /// Suspends the deadline while one of its requests waits for approval.
    pub(crate) fn hold(&self) -> Hold {
        self.0.queue.set_held(&self.0.evicted, true);
        self.0.state.send_modify(|state| state.holds += 1);
        Hold(self.0.clone())
    }

    /// Returns whether another connection took its slot.
    pub(crate) fn is_evicted(&self) -> bool {
        self.0.evicted.is_cancelled()
    }

    /// Resolves when the connection must close: it did not authenticate in time, was evicted or refused, or its device
    /// was removed.
    pub(crate) async fn expired(&self) {
        let mut state = self.0.state.subscribe();
        loop {
            let limit = state.borrow_and_update().limit();
            let over = async {
                match limit {
                    Limit::Unauthenticated => {
                        let _ = tokio::time::timeout(UNAUTHENTICATED_TIME, self.0.evicted.cancelled()).await;
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

/// Suspends the deadline of a connection until dropped.
#[derive(Debug)]
pub(crate) struct Hold(Arc<Slot>);

impl Drop for Hold {
    fn drop(&mut self) {
        let mut is_last = false;
        self.0.state.send_modify(|state| {
            state.holds -= 1;
            is_last = state.holds == 0;
        });
        if is_last {
            self.0.queue.set_held(&self.0.evicted, false);
        }
    }
}
