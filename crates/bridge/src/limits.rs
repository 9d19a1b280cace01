//! How much a stranger, an address or everybody together may take.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Frames of an iOS client that has not said `initialize` yet.
pub(crate) const STRANGER_FRAME: usize = 64 << 10;
/// Frames on the iOS door.
pub(crate) const IOS_FRAME: usize = 1 << 20;
/// Frames on the ACP door.
pub(crate) const ACP_FRAME: usize = 16 << 20;
/// The buffers of a socket; the library's own default is eight times that.
pub(crate) const SOCKET_BUFFER: usize = 16 << 10;
/// Connections that are welcome, in all.
const TOTAL: usize = 2048;
/// iOS connections of one address.
const IOS_PER_ADDRESS: usize = 64;
/// Connections that have not authenticated.
const STRANGERS: usize = 16;
/// Refusals that wait; more are told at once.
const REFUSALS: usize = 64;
/// Sockets in all. Those that have just been cut, or are being told why, still have theirs.
const SOCKETS: usize = TOTAL + 2 * REFUSALS;
/// How long a connection may stay a stranger.
pub(crate) const STRANGER_TIME: Duration = Duration::from_secs(5);

type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// Lets the process open as many sockets as the system allows; some systems begin with 256.
pub(crate) fn raise_file_handles() {
    #[cfg(unix)]
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "the number of connections stays as low as the system has set it");
    }
}

/// Counts connections.
#[derive(Debug)]
pub(crate) struct Limits {
    sockets: Arc<Semaphore>,
    strangers: Arc<Strangers>,
    refusals: Arc<Semaphore>,
    total: Arc<Semaphore>,
    ios: Counts,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sockets: Arc::new(Semaphore::new(SOCKETS)),
            strangers: Arc::default(),
            refusals: Arc::new(Semaphore::new(REFUSALS)),
            total: Arc::new(Semaphore::new(TOTAL)),
            ios: Arc::default(),
        }
    }
}

/// Those who have not authenticated, oldest first.
#[derive(Debug, Default)]
struct Strangers(Mutex<VecDeque<CancellationToken>>);

impl Strangers {
    /// Takes one in. When all places are taken, the oldest one is cut at once: nobody can hold them all.
    fn welcome(&self) -> CancellationToken {
        let evicted = CancellationToken::new();
        let mut waiting = self.lock();
        while waiting.len() >= STRANGERS {
            if let Some(oldest) = waiting.pop_front() {
                oldest.cancel();
            }
        }
        waiting.push_back(evicted.clone());
        evicted
    }

    fn forget(&self, evicted: &CancellationToken) {
        self.lock().retain(|known| known != evicted);
    }

    fn has(&self, evicted: &CancellationToken) -> bool {
        self.lock().contains(evicted)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the strangers, until the stranger turns out to be a friend; and a socket, until all clones are dropped.
#[derive(Debug, Clone)]
pub(crate) struct Stranger(Arc<Seat>);

#[derive(Debug)]
struct Seat {
    strangers: Arc<Strangers>,
    evicted: CancellationToken,
    _socket: OwnedSemaphorePermit,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.strangers.forget(&self.evicted);
    }
}

impl Stranger {
    /// Gives the place back: the connection has authenticated, or is being sent away.
    pub(crate) fn leave(&self) {
        self.0.strangers.forget(&self.0.evicted);
    }

    /// Resolves when the connection has to go: it has been a stranger for too long, or makes room.
    pub(crate) async fn overstayed(&self) {
        let Seat { strangers, evicted, .. } = &*self.0;
        let in_time = tokio::time::timeout(STRANGER_TIME, evicted.cancelled()).await.is_err();
        if in_time && !strangers.has(evicted) {
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
    /// Takes a place for a socket that was just accepted. `None` when there are too many of all kinds.
    pub(crate) fn stranger(&self) -> Option<Stranger> {
        let socket = self.sockets.clone().try_acquire_owned().ok()?;
        let strangers = self.strangers.clone();
        let evicted = strangers.welcome();
        Some(Stranger(Arc::new(Seat { strangers, evicted, _socket: socket })))
    }

    /// Takes a place for a refusal that has to wait.
    pub(crate) fn refusal(&self) -> Option<OwnedSemaphorePermit> {
        self.refusals.clone().try_acquire_owned().ok()
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
    async fn idle_strangers_never_make_a_friend_wait() {
        let limits = Limits::default();
        let idle: Vec<Stranger> = (0..120).filter_map(|_| limits.stranger()).collect();
        let friend = limits.stranger().unwrap();
        assert!(friend.0.strangers.has(&friend.0.evicted));
        for stranger in &idle[..120 - STRANGERS + 1] {
            stranger.overstayed().await;
        }
        assert_eq!(limits.strangers.lock().len(), STRANGERS);
        drop(idle);
        assert_eq!(limits.strangers.lock().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_friend_may_stay() {
        let limits = Limits::default();
        let friend = limits.stranger().unwrap();
        friend.leave();
        let crowd: Vec<_> = std::iter::from_fn(|| limits.stranger()).collect();
        let stayed = tokio::time::timeout(STRANGER_TIME * 10, friend.overstayed()).await;
        assert!(stayed.is_err());
        crowd.last().unwrap().overstayed().await;
    }

    #[test]
    fn every_socket_counts_until_it_is_gone() {
        let limits = Limits::default();
        let all: Vec<Stranger> = std::iter::from_fn(|| limits.stranger()).collect();
        assert_eq!(all.len(), SOCKETS);
        all.iter().for_each(Stranger::leave);
        assert!(limits.stranger().is_none());
        drop(all);
        assert!(limits.stranger().is_some());
    }

    #[test]
    fn refusals_that_wait_are_few() {
        let limits = Limits::default();
        let waiting: Vec<_> = std::iter::from_fn(|| limits.refusal()).collect();
        assert_eq!(waiting.len(), REFUSALS);
        assert!(SOCKETS > TOTAL + STRANGERS + waiting.len());
    }
}
