//! How much a stranger, an address, a device or everybody together may take.

use crate::access::Who;
use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
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
/// Connections of one device, or iOS connections of one address.
const PER_DEVICE: usize = 64;
/// Connections of one address that have not authenticated.
const STRANGERS_PER_ADDRESS: usize = 16;
/// Connections that have not authenticated, in all.
const STRANGERS: usize = 256;
/// Refusals that wait; more are told at once.
const REFUSALS: usize = 64;
/// Refusals of one address that wait.
const REFUSALS_PER_ADDRESS: usize = 16;
/// Sockets in all. Those that have just been cut, or are being told why, still have theirs.
const SOCKETS: usize = TOTAL + 2 * (STRANGERS + REFUSALS);
/// How long a connection may stay a stranger.
pub(crate) const STRANGER_TIME: Duration = Duration::from_secs(5);
/// How long one that was sent away may stay on: the longest refusal takes five seconds.
const SENT_AWAY: Duration = Duration::from_secs(7);

/// Returns what counts as one address: a network that is given out as a whole, or one address of the old kind.
pub(crate) fn one_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 => v4,
    }
}

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
    refusals_of: Arc<Counts<IpAddr>>,
    total: Arc<Semaphore>,
    devices: Arc<Counts<Who>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sockets: Arc::new(Semaphore::new(SOCKETS)),
            strangers: Arc::default(),
            refusals: Arc::new(Semaphore::new(REFUSALS)),
            refusals_of: Arc::default(),
            total: Arc::new(Semaphore::new(TOTAL)),
            devices: Arc::default(),
        }
    }
}

/// How many of something each one has.
#[derive(Debug)]
struct Counts<K>(Mutex<HashMap<K, usize>>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone> Counts<K> {
    /// Takes one more for `of`, which may have `most`.
    fn take(self: &Arc<Self>, of: K, most: usize) -> Option<Counted<K>> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.get(&of).copied().unwrap_or_default();
        if count >= most {
            return None;
        }
        counts.insert(of.clone(), count + 1);
        Some(Counted { of, counts: self.clone() })
    }
}

/// One of them; given back when it is dropped.
#[derive(Debug)]
struct Counted<K: Hash + Eq> {
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

/// Those who have not authenticated, oldest first, each with its address.
#[derive(Debug, Default)]
struct Strangers(Mutex<VecDeque<(IpAddr, CancellationToken)>>);

impl Strangers {
    /// Takes one in. When all places of its address are taken, the oldest one of that address is cut at once; when all
    /// places of all are, the oldest one of the address that has most. So nobody can hold them all, and a crowd at one
    /// address does no harm to others.
    fn welcome(&self, address: IpAddr) -> CancellationToken {
        let evicted = CancellationToken::new();
        let mut waiting = self.lock();
        let held = |address: IpAddr| waiting.iter().filter(|(of, _)| *of == address).count();
        let crowd = if held(address) >= STRANGERS_PER_ADDRESS {
            Some(address)
        } else if waiting.len() >= STRANGERS {
            waiting.iter().map(|(of, _)| *of).max_by_key(|of| held(*of))
        } else {
            None
        };
        if let Some(oldest) = crowd.and_then(|crowd| waiting.iter().position(|(of, _)| *of == crowd))
            && let Some((_, oldest)) = waiting.remove(oldest)
        {
            oldest.cancel();
        }
        waiting.push_back((address, evicted.clone()));
        evicted
    }

    fn forget(&self, evicted: &CancellationToken) {
        self.lock().retain(|(_, known)| known != evicted);
    }

    fn has(&self, evicted: &CancellationToken) -> bool {
        self.lock().iter().any(|(_, known)| known == evicted)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(IpAddr, CancellationToken)>> {
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
    is_friend: AtomicBool,
    _socket: OwnedSemaphorePermit,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.strangers.forget(&self.evicted);
    }
}

impl Stranger {
    /// Gives the place back: the connection has authenticated.
    pub(crate) fn leave(&self) {
        self.0.is_friend.store(true, Ordering::Relaxed);
        self.0.strangers.forget(&self.0.evicted);
    }

    /// Gives the place back: the connection is being told why it has to go, and may stay for that.
    pub(crate) fn send_away(&self) {
        self.0.strangers.forget(&self.0.evicted);
    }

    /// Resolves when the connection has to go: it has been a stranger for too long, makes room, or has been told to.
    pub(crate) async fn overstayed(&self) {
        let Seat { strangers, evicted, is_friend, .. } = &*self.0;
        let in_time = tokio::time::timeout(STRANGER_TIME, evicted.cancelled()).await.is_err();
        if in_time && !strangers.has(evicted) {
            if !is_friend.load(Ordering::Relaxed) {
                tokio::time::sleep(SENT_AWAY).await;
            }
            if is_friend.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// A place among all connections, and among those of a device or an address.
#[derive(Debug)]
pub(crate) struct Place {
    _total: OwnedSemaphorePermit,
    _of_device: Option<Counted<Who>>,
}

/// A place among the refusals that wait.
#[derive(Debug)]
pub(crate) struct Refusal {
    _total: OwnedSemaphorePermit,
    _of_address: Counted<IpAddr>,
}

impl Limits {
    /// Takes a place for a socket of `address` that was just accepted. `None` when there are too many of all kinds.
    pub(crate) fn stranger(&self, address: IpAddr) -> Option<Stranger> {
        let socket = self.sockets.clone().try_acquire_owned().ok()?;
        let strangers = self.strangers.clone();
        let evicted = strangers.welcome(one_address(address));
        Some(Stranger(Arc::new(Seat {
            strangers,
            evicted,
            is_friend: AtomicBool::new(false),
            _socket: socket,
        })))
    }

    /// Takes a place for a refusal that has to wait.
    pub(crate) fn refusal(&self, address: IpAddr) -> Option<Refusal> {
        let of_address = self.refusals_of.take(one_address(address), REFUSALS_PER_ADDRESS)?;
        Some(Refusal { _total: self.refusals.clone().try_acquire_owned().ok()?, _of_address: of_address })
    }

    /// Takes a place for an ACP connection. The person at this machine may have them all.
    pub(crate) fn acp(&self, who: &Who) -> Option<Place> {
        match who {
            Who::Local => self.place(None),
            who => self.place(Some(who)),
        }
    }

    /// Takes a place for an iOS connection of `address`.
    pub(crate) fn ios(&self, address: IpAddr) -> Option<Place> {
        self.place(Some(&Who::App(one_address(address))))
    }

    fn place(&self, who: Option<&Who>) -> Option<Place> {
        let of_device = match who {
            Some(who) => Some(self.devices.take(who.clone(), PER_DEVICE)?),
            None => None,
        };
        Some(Place { _total: self.total.clone().try_acquire_owned().ok()?, _of_device: of_device })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn an_address_has_sixty_four_places() {
        let limits = Limits::default();
        let address = IpAddr::from([127, 0, 0, 1]);
        let places: Vec<Place> = std::iter::from_fn(|| limits.ios(address)).collect();
        assert_eq!(places.len(), PER_DEVICE);
        assert!(limits.ios(IpAddr::from([127, 0, 0, 2])).is_some());
        drop(places);
        assert!(limits.ios(address).is_some());
    }

    #[test]
    fn a_device_has_sixty_four_places_and_this_machine_all() {
        let limits = Limits::default();
        let device = Who::Device("a".into());
        let places: Vec<Place> = std::iter::from_fn(|| limits.acp(&device)).collect();
        assert_eq!(places.len(), PER_DEVICE);
        let local: Vec<Place> = std::iter::from_fn(|| limits.acp(&Who::Local)).collect();
        assert_eq!(local.len(), TOTAL - PER_DEVICE);
        assert!(limits.acp(&Who::Device("b".into())).is_none());
        drop(places);
        assert!(limits.acp(&Who::Device("b".into())).is_some());
        // What was refused holds nothing back.
        assert_eq!(limits.devices.0.lock().unwrap().len(), 0);
    }

    #[test]
    fn what_counts_as_one_address() {
        for (address, expected) in [
            ("192.168.1.9", "192.168.1.9"),
            ("::ffff:192.168.1.9", "192.168.1.9"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2::", "2001:db8:1:2::"),
            ("fe80::1", "fe80::"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(one_address(address).to_string(), expected, "{address}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_at_one_address_does_no_harm_to_others() {
        let limits = Limits::default();
        let (crowd, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let quiet = limits.stranger(other).unwrap();
        // Each one that is cut has gone before the next one comes.
        let mut kept = VecDeque::new();
        for _ in 0..10_000 {
            kept.push_back(limits.stranger(crowd).unwrap());
            if kept.len() > STRANGERS_PER_ADDRESS {
                kept.pop_front().unwrap().overstayed().await;
            }
        }
        assert!(quiet.0.strangers.has(&quiet.0.evicted));
        // A crowd at many addresses takes from the one that has most.
        let many: Vec<_> = (0..300u16)
            .filter_map(|n| limits.stranger(Ipv6Addr::new(1, 2, 3, n, 0, 0, 0, 0).into()))
            .collect();
        assert_eq!((many.len(), limits.strangers.lock().len()), (300, STRANGERS));
        assert!(!kept[0].0.strangers.has(&kept[0].0.evicted));
    }

    #[tokio::test(start_paused = true)]
    async fn idle_strangers_never_make_a_friend_wait() {
        let limits = Limits::default();
        let idle: Vec<Stranger> = (0..120).filter_map(|_| limits.stranger(HERE)).collect();
        let friend = limits.stranger(HERE).unwrap();
        assert!(friend.0.strangers.has(&friend.0.evicted));
        for stranger in &idle[..120 - STRANGERS_PER_ADDRESS + 1] {
            stranger.overstayed().await;
        }
        assert_eq!(limits.strangers.lock().len(), STRANGERS_PER_ADDRESS);
        drop(idle);
        assert_eq!(limits.strangers.lock().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_friend_may_stay() {
        let limits = Limits::default();
        let friend = limits.stranger(HERE).unwrap();
        friend.leave();
        let crowd: Vec<_> = std::iter::from_fn(|| limits.stranger(HERE)).collect();
        let stayed = tokio::time::timeout(STRANGER_TIME * 10, friend.overstayed()).await;
        assert!(stayed.is_err());
        crowd.last().unwrap().overstayed().await;
    }

    /// A connection of many requests, one of which was refused, would else stay for ever.
    #[tokio::test(start_paused = true)]
    async fn who_was_sent_away_goes_unless_it_turns_out_to_be_a_friend() {
        let limits = Limits::default();
        let (stranger, friend) = (limits.stranger(HERE).unwrap(), limits.stranger(HERE).unwrap());
        stranger.send_away();
        friend.send_away();
        friend.leave();
        stranger.overstayed().await;
        assert!(tokio::time::timeout(STRANGER_TIME * 10, friend.overstayed()).await.is_err());
    }

    #[test]
    fn every_socket_counts_until_it_is_gone() {
        let limits = Limits::default();
        let all: Vec<Stranger> = std::iter::from_fn(|| limits.stranger(HERE)).collect();
        assert_eq!(all.len(), SOCKETS);
        all.iter().for_each(Stranger::leave);
        assert!(limits.stranger(HERE).is_none());
        drop(all);
        assert!(limits.stranger(HERE).is_some());
    }

    #[test]
    fn refusals_that_wait_are_few() {
        let limits = Limits::default();
        let mut waiting: Vec<_> = std::iter::from_fn(|| limits.refusal(HERE)).collect();
        assert_eq!(waiting.len(), REFUSALS_PER_ADDRESS);
        waiting.extend((0..100).filter_map(|n| limits.refusal(IpAddr::from([10, 0, 0, n]))));
        assert_eq!(waiting.len(), REFUSALS);
        assert!(SOCKETS > TOTAL + STRANGERS + waiting.len());
    }
}
