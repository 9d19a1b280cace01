//! Connections that have not shown who they are, and what becomes of them.

use super::counts::Counted;
use crate::access::{Pass, Who};
use futures::future::select_all;
use std::{
    collections::VecDeque,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::sync::CancellationToken;

/// Connections of one address that have not authenticated.
pub(super) const UNAUTHENTICATED_PER_ADDRESS: usize = 16;
/// Connections that have not authenticated, in all.
pub(super) const UNAUTHENTICATED: usize = 256;
/// How long a connection may stay a stranger.
pub(crate) const UNAUTHENTICATED_TIME: Duration = Duration::from_secs(5);
/// How long one that was sent away may stay on: the longest refusal takes five seconds.
const SENT_AWAY: Duration = Duration::from_secs(7);
/// How long a connection stays on to read that its device was removed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Those who have not authenticated, oldest first.
#[derive(Debug, Default)]
pub(super) struct UnauthenticatedQueue(Mutex<VecDeque<Waiting>>);

#[derive(Debug)]
struct Waiting {
    address: IpAddr,
    evicted: CancellationToken,
    /// It waits for a person, and makes room for nobody.
    is_guest: bool,
}

impl UnauthenticatedQueue {
    /// Takes one in. When all places of its address are taken, the oldest one of that address is cut at once; when all
    /// places of all are, the oldest one of the address that has most. So nobody can hold them all, and a crowd at one
    /// address does no harm to others.
    fn welcome(&self, address: IpAddr) -> CancellationToken {
        let evicted = CancellationToken::new();
        let mut waiting = self.lock();
        let unauthenticated = || waiting.iter().filter(|unauthenticated| !unauthenticated.is_guest);
        let held = |address: IpAddr| {
            unauthenticated().filter(|unauthenticated| unauthenticated.address == address).count()
        };
        let crowd = if held(address) >= UNAUTHENTICATED_PER_ADDRESS {
            Some(address)
        } else if unauthenticated().count() >= UNAUTHENTICATED {
            unauthenticated().map(|unauthenticated| unauthenticated.address).max_by_key(|of| held(*of))
        } else {
            None
        };
        let is_of =
            |unauthenticated: &Waiting| !unauthenticated.is_guest && Some(unauthenticated.address) == crowd;
        if let Some(oldest) = waiting.iter().position(is_of)
            && let Some(oldest) = waiting.remove(oldest)
        {
            oldest.evicted.cancel();
        }
        waiting.push_back(Waiting { address, evicted: evicted.clone(), is_guest: false });
        evicted
    }

    fn forget(&self, evicted: &CancellationToken) {
        self.lock().retain(|unauthenticated| unauthenticated.evicted != *evicted);
    }

    fn set_guest(&self, evicted: &CancellationToken, is_guest: bool) {
        if let Some(unauthenticated) =
            self.lock().iter_mut().find(|unauthenticated| unauthenticated.evicted == *evicted)
        {
            unauthenticated.is_guest = is_guest;
        }
    }

    /// Returns how many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the strangers, until the stranger turns out to be a friend; and a socket, until all clones are dropped.
#[derive(Debug, Clone)]
pub(crate) struct Unauthenticated(Arc<Slot>);

#[derive(Debug)]
struct Slot {
    unauthenticated: Arc<UnauthenticatedQueue>,
    evicted: CancellationToken,
    state: watch::Sender<SlotState>,
    _sockets: Sockets,
}

/// A socket among all, and among those of the network.
pub(super) type Sockets = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.unauthenticated.forget(&self.evicted);
    }
}

/// What is known of a connection.
#[derive(Debug, Default)]
struct SlotState {
    /// Those who have authenticated on it: one, except behind a proxy.
    friends: Vec<Authenticated>,
    /// It has authenticated, and is counted elsewhere.
    is_welcome: bool,
    is_sent_away: bool,
    /// It goes on after an answer.
    has_more: bool,
    /// Requests that wait for a person.
    guests: usize,
}

#[derive(Debug)]
struct Authenticated {
    who: Who,
    revoked: CancellationToken,
    /// `None` for this machine.
    _counted: Option<Counted<Who>>,
}

/// Why a connection may stay, and until when.
enum Stay {
    Unauthenticated,
    SentAway,
    /// As long as nothing changes.
    Welcome,
    /// Until one of them is removed.
    Friends(Vec<CancellationToken>),
}

impl SlotState {
    fn stay(&self) -> Stay {
        if !self.friends.is_empty() {
            Stay::Friends(self.friends.iter().map(|friend| friend.revoked.clone()).collect())
        } else if self.is_welcome || self.guests > 0 {
            Stay::Welcome
        } else if self.is_sent_away {
            Stay::SentAway
        } else {
            Stay::Unauthenticated
        }
    }
}

impl Unauthenticated {
    pub(super) fn welcome(
        unauthenticated: &Arc<UnauthenticatedQueue>,
        address: IpAddr,
        sockets: Sockets,
    ) -> Self {
        let (unauthenticated, evicted) = (unauthenticated.clone(), unauthenticated.welcome(address));
        Self(Arc::new(Slot { unauthenticated, evicted, state: watch::Sender::default(), _sockets: sockets }))
    }

    /// Returns whether it has authenticated as `who` already.
    pub(super) fn is_authenticated(&self, who: &Who) -> bool {
        self.0.state.borrow().friends.iter().any(|friend| friend.who == *who)
    }

    /// It has authenticated with `pass`, and may stay until that is revoked. It is `counted` among the sockets of its device.
    pub(super) fn authenticate(&self, pass: &Pass, counted: Option<Counted<Who>>) {
        let friend =
            Authenticated { who: pass.who.clone(), revoked: pass.revoked.clone(), _counted: counted };
        self.0.state.send_modify(|state| state.friends.push(friend));
        self.0.unauthenticated.forget(&self.0.evicted);
    }

    /// Gives the place back: the connection has authenticated, and is counted elsewhere for as long as it lasts.
    pub(crate) fn leave(&self) {
        self.0.state.send_modify(|state| state.is_welcome = true);
        self.0.unauthenticated.forget(&self.0.evicted);
    }

    /// Says that the connection goes on after an answer: a refusal does not end it, so it keeps its place.
    pub(crate) fn has_more_requests(&self) {
        self.0.state.send_modify(|state| state.has_more = true);
    }

    /// The connection is being told why it has to go. One that ends with that gives its place back, and may stay for it.
    pub(crate) fn send_away(&self) {
        if self.0.state.borrow().has_more {
            return;
        }
        self.0.state.send_modify(|state| state.is_sent_away = true);
        self.0.unauthenticated.forget(&self.0.evicted);
    }

    /// Lets the connection stay while one of its requests waits for a person.
    pub(crate) fn be_guest(&self) -> Guest {
        self.0.unauthenticated.set_guest(&self.0.evicted, true);
        self.0.state.send_modify(|state| state.guests += 1);
        Guest(self.0.clone())
    }

    /// Returns whether it has to go at once, for somebody who took its place.
    pub(crate) fn makes_room(&self) -> bool {
        self.0.evicted.is_cancelled()
    }

    /// Resolves when the connection has to go: it has been a stranger for too long, makes room, has been told to, or
    /// belongs to a device that was removed.
    pub(crate) async fn overstayed(&self) {
        let mut state = self.0.state.subscribe();
        loop {
            let stay = state.borrow_and_update().stay();
            let over = async {
                match stay {
                    Stay::Unauthenticated => {
                        let _ = tokio::time::timeout(UNAUTHENTICATED_TIME, self.0.evicted.cancelled()).await;
                    }
                    Stay::SentAway => tokio::time::sleep(SENT_AWAY).await,
                    Stay::Welcome => std::future::pending().await,
                    Stay::Friends(revoked) => {
                        select_all(revoked.iter().map(|revoked| Box::pin(revoked.cancelled()))).await;
                        tokio::time::sleep(LAST_WORDS).await;
                    }
                }
            };
            tokio::select! {
                () = over => return,
                // The sender is ours.
                _ = state.changed() => {}
            }
        }
    }
}

/// A request that waits for a person.
#[derive(Debug)]
pub(crate) struct Guest(Arc<Slot>);

impl Drop for Guest {
    fn drop(&mut self) {
        let mut is_last = false;
        self.0.state.send_modify(|state| {
            state.guests -= 1;
            is_last = state.guests == 0;
        });
        if is_last {
            self.0.unauthenticated.set_guest(&self.0.evicted, false);
        }
    }
}
