//! How much a stranger, an address or everybody together may take.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// Frames of an iOS client that has not said `initialize` yet.
pub(crate) const STRANGER_FRAME: usize = 64 << 10;
/// Frames on the iOS door.
pub(crate) const IOS_FRAME: usize = 1 << 20;
/// Frames on the ACP door.
pub(crate) const ACP_FRAME: usize = 16 << 20;
/// The buffers of a socket; the library's own default is eight times that.
pub(crate) const SOCKET_BUFFER: usize = 16 << 10;
/// Connections in all.
const TOTAL: usize = 2048;
/// iOS connections of one address.
const IOS_PER_ADDRESS: usize = 64;
/// Connections that have not authenticated.
const STRANGERS: usize = 16;
/// How long a connection may stay a stranger.
pub(crate) const STRANGER_TIME: Duration = Duration::from_secs(5);
/// When all places of strangers are taken, one that has been idle for so long makes room.
const PATIENCE: Duration = Duration::from_secs(1);

type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// Counts connections.
#[derive(Debug)]
pub(crate) struct Limits {
    strangers: Arc<Semaphore>,
    waiting: Arc<Mutex<VecDeque<(Instant, CancellationToken)>>>,
    total: Arc<Semaphore>,
    ios: Counts,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            strangers: Arc::new(Semaphore::new(STRANGERS)),
            waiting: Arc::default(),
            total: Arc::new(Semaphore::new(TOTAL)),
            ios: Arc::default(),
        }
    }
}

/// A place among the strangers; given back when dropped or when the stranger turns out to be a friend.
#[derive(Debug, Clone)]
pub(crate) struct Stranger {
    permit: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    evicted: CancellationToken,
}

impl Stranger {
    /// Resolves when somebody else needs the place.
    pub(crate) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// Gives the place back: the connection has authenticated, or is being sent away.
    pub(crate) fn leave(&self) {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn is_stranger(&self) -> bool {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Resolves when the connection has to go: it has been a stranger for too long, or makes room.
    pub(crate) async fn overstayed(&self) {
        let deadline = tokio::time::sleep(STRANGER_TIME);
        tokio::select! {
            () = deadline => {}
            () = self.evicted() => {}
        }
        if !self.is_stranger() {
            std::future::pending::<()>().await;
        }
    }
}

/// A place among all connections, and among those of one address.
#[derive(Debug)]
pub(crate) struct Place {
    _total: OwnedSemaphorePermit,
    ios: Option<(IpAddr, Counts)>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((address, counts)) = &self.ios {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = counts.get_mut(address) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(address);
                }
            }
        }
    }
}

impl Limits {
    /// Waits for a place among the strangers. Idle ones make room, so that nobody can hold them all.
    pub(crate) async fn stranger(&self) -> Option<Stranger> {
        let permit = match self.strangers.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                self.evict_idle();
                self.strangers.clone().acquire_owned().await.ok()?
            }
        };
        let evicted = CancellationToken::new();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_back((Instant::now(), evicted.clone()));
        while waiting.len() > STRANGERS * 4 {
            waiting.pop_front();
        }
        Some(Stranger { permit: Arc::new(Mutex::new(Some(permit))), evicted })
    }

    fn evict_idle(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while waiting.front().is_some_and(|(since, _)| since.elapsed() >= PATIENCE) {
            if let Some((_, token)) = waiting.pop_front() {
                token.cancel();
            }
        }
    }

    /// Takes a place for an ACP connection.
    pub(crate) fn acp(&self) -> Option<Place> {
        Some(Place { _total: self.total.clone().try_acquire_owned().ok()?, ios: None })
    }

    /// Takes a place for an iOS connection of `address`.
    pub(crate) fn ios(&self, address: IpAddr) -> Option<Place> {
        let total = self.total.clone().try_acquire_owned().ok()?;
        let mut counts = self.ios.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= IOS_PER_ADDRESS {
            return None;
        }
        *count += 1;
        Some(Place { _total: total, ios: Some((address, self.ios.clone())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_sixty_four_places() {
        let limits = Limits::default();
        let address = IpAddr::from([127, 0, 0, 1]);
        let places: Vec<Place> = std::iter::from_fn(|| limits.ios(address)).collect();
        assert_eq!(places.len(), IOS_PER_ADDRESS);
        assert!(limits.ios(IpAddr::from([127, 0, 0, 2])).is_some());
        drop(places);
        assert!(limits.ios(address).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn idle_strangers_make_room() {
        let limits = Limits::default();
        let mut strangers = Vec::new();
        for _ in 0..STRANGERS {
            strangers.extend(limits.stranger().await);
        }
        tokio::time::advance(PATIENCE).await;
        let oldest = strangers[0].clone();
        let (next, ()) = tokio::join!(limits.stranger(), async {
            oldest.evicted().await;
            oldest.leave();
        });
        assert!(next.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_friend_may_stay() {
        let limits = Limits::default();
        let friend = limits.stranger().await.unwrap();
        friend.leave();
        let stayed = tokio::time::timeout(STRANGER_TIME * 10, friend.overstayed()).await;
        assert!(stayed.is_err());
        let stranger = limits.stranger().await.unwrap();
        stranger.overstayed().await;
    }
}
