//! How much a stranger, an address, a device or everybody together may take.

use crate::{
    access::{Pass, Who},
    http::Listener,
};
use futures::future::select_all;
use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
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
/// Sockets of one device: those of its connections, and those of requests between them.
const SOCKETS_PER_DEVICE: usize = 2 * PER_DEVICE;
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
/// Those of them that the network never gets: the person at this machine comes in whatever happens there.
const RESERVED: usize = 128;
/// How long a connection may stay a stranger.
pub(crate) const STRANGER_TIME: Duration = Duration::from_secs(5);
/// How long one that was sent away may stay on: the longest refusal takes five seconds.
const SENT_AWAY: Duration = Duration::from_secs(7);
/// How long a connection stays on to read that its device was removed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Returns what counts as one address. A global IPv6 network is given out as a whole; addresses that reach no further than
/// the own network belong to one computer each.
pub(crate) fn one_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_unique_local() && !address.is_unicast_link_local() => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        one => one,
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
    sockets_of_network: Arc<Semaphore>,
    sockets_of: Arc<Counts<Who>>,
    /// Those at this machine, and those on the network, take no place from each other.
    strangers: Arc<Strangers>,
    strangers_of_network: Arc<Strangers>,
    refusals: Arc<Semaphore>,
    refusals_of: Arc<Counts<IpAddr>>,
    total: Arc<Semaphore>,
    devices: Arc<Counts<Who>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sockets: Arc::new(Semaphore::new(SOCKETS)),
            sockets_of_network: Arc::new(Semaphore::new(SOCKETS - RESERVED)),
            sockets_of: Arc::default(),
            strangers: Arc::default(),
            strangers_of_network: Arc::default(),
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

/// Those who have not authenticated, oldest first.
#[derive(Debug, Default)]
struct Strangers(Mutex<VecDeque<Waiting>>);

#[derive(Debug)]
struct Waiting {
    address: IpAddr,
    evicted: CancellationToken,
    /// It waits for a person, and makes room for nobody.
    is_guest: bool,
}

impl Strangers {
    /// Takes one in. When all places of its address are taken, the oldest one of that address is cut at once; when all
    /// places of all are, the oldest one of the address that has most. So nobody can hold them all, and a crowd at one
    /// address does no harm to others.
    fn welcome(&self, address: IpAddr) -> CancellationToken {
        let evicted = CancellationToken::new();
        let mut waiting = self.lock();
        let strangers = || waiting.iter().filter(|stranger| !stranger.is_guest);
        let held = |address: IpAddr| strangers().filter(|stranger| stranger.address == address).count();
        let crowd = if held(address) >= STRANGERS_PER_ADDRESS {
            Some(address)
        } else if strangers().count() >= STRANGERS {
            strangers().map(|stranger| stranger.address).max_by_key(|of| held(*of))
        } else {
            None
        };
        let is_of = |stranger: &Waiting| !stranger.is_guest && Some(stranger.address) == crowd;
        if let Some(oldest) = waiting.iter().position(is_of)
            && let Some(oldest) = waiting.remove(oldest)
        {
            oldest.evicted.cancel();
        }
        waiting.push_back(Waiting { address, evicted: evicted.clone(), is_guest: false });
        evicted
    }

    fn forget(&self, evicted: &CancellationToken) {
        self.lock().retain(|stranger| stranger.evicted != *evicted);
    }

    fn set_guest(&self, evicted: &CancellationToken, is_guest: bool) {
        if let Some(stranger) = self.lock().iter_mut().find(|stranger| stranger.evicted == *evicted) {
            stranger.is_guest = is_guest;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
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
    standing: watch::Sender<Standing>,
    _sockets: (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>),
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.strangers.forget(&self.evicted);
    }
}

/// What is known of a connection.
#[derive(Debug, Default)]
struct Standing {
    /// Those who have authenticated on it: one, except behind a proxy.
    friends: Vec<Friend>,
    /// It has authenticated, and is counted elsewhere.
    is_welcome: bool,
    is_sent_away: bool,
    /// It goes on after an answer.
    has_more: bool,
    /// Requests that wait for a person.
    guests: usize,
}

#[derive(Debug)]
struct Friend {
    who: Who,
    revoked: CancellationToken,
    /// `None` for this machine.
    _counted: Option<Counted<Who>>,
}

/// Why a connection may stay, and until when.
enum Stay {
    Stranger,
    SentAway,
    /// As long as nothing changes.
    Welcome,
    /// Until one of them is removed.
    Friends(Vec<CancellationToken>),
}

impl Standing {
    fn stay(&self) -> Stay {
        if !self.friends.is_empty() {
            Stay::Friends(self.friends.iter().map(|friend| friend.revoked.clone()).collect())
        } else if self.is_welcome || self.guests > 0 {
            Stay::Welcome
        } else if self.is_sent_away {
            Stay::SentAway
        } else {
            Stay::Stranger
        }
    }
}

impl Stranger {
    /// Gives the place back: the connection has authenticated, and is counted elsewhere for as long as it lasts.
    pub(crate) fn leave(&self) {
        self.0.standing.send_modify(|standing| standing.is_welcome = true);
        self.0.strangers.forget(&self.0.evicted);
    }

    /// Says that the connection goes on after an answer: a refusal does not end it, so it keeps its place.
    pub(crate) fn has_more_requests(&self) {
        self.0.standing.send_modify(|standing| standing.has_more = true);
    }

    /// The connection is being told why it has to go. One that ends with that gives its place back, and may stay for it.
    pub(crate) fn send_away(&self) {
        if self.0.standing.borrow().has_more {
            return;
        }
        self.0.standing.send_modify(|standing| standing.is_sent_away = true);
        self.0.strangers.forget(&self.0.evicted);
    }

    /// Lets the connection stay while one of its requests waits for a person.
    pub(crate) fn be_guest(&self) -> Guest {
        self.0.strangers.set_guest(&self.0.evicted, true);
        self.0.standing.send_modify(|standing| standing.guests += 1);
        Guest(self.0.clone())
    }

    /// Returns whether it has to go at once, for somebody who took its place.
    pub(crate) fn makes_room(&self) -> bool {
        self.0.evicted.is_cancelled()
    }

    /// Resolves when the connection has to go: it has been a stranger for too long, makes room, has been told to, or
    /// belongs to a device that was removed.
    pub(crate) async fn overstayed(&self) {
        let mut standing = self.0.standing.subscribe();
        loop {
            let stay = standing.borrow_and_update().stay();
            let over = async {
                match stay {
                    Stay::Stranger => {
                        let _ = tokio::time::timeout(STRANGER_TIME, self.0.evicted.cancelled()).await;
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
                _ = standing.changed() => {}
            }
        }
    }
}

/// A request that waits for a person.
#[derive(Debug)]
pub(crate) struct Guest(Arc<Seat>);

impl Drop for Guest {
    fn drop(&mut self) {
        let mut is_last = false;
        self.0.standing.send_modify(|standing| {
            standing.guests -= 1;
            is_last = standing.guests == 0;
        });
        if is_last {
            self.0.strangers.set_guest(&self.0.evicted, false);
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
    pub(crate) fn stranger(&self, address: IpAddr, listener: Listener) -> Option<Stranger> {
        let (strangers, of_network) = match listener {
            Listener::Loopback => (&self.strangers, None),
            Listener::Web | Listener::App => {
                let of_network = self.sockets_of_network.clone().try_acquire_owned().ok()?;
                (&self.strangers_of_network, Some(of_network))
            }
        };
        let socket = self.sockets.clone().try_acquire_owned().ok()?;
        let evicted = strangers.welcome(one_address(address));
        Some(Stranger(Arc::new(Seat {
            strangers: strangers.clone(),
            evicted,
            standing: watch::Sender::default(),
            _sockets: (socket, of_network),
        })))
    }

    /// Lets a connection stay that authenticated with `pass`, until that is revoked. `false` when its device has too many
    /// already.
    pub(crate) fn befriend(&self, stranger: &Stranger, pass: &Pass) -> bool {
        if stranger.0.standing.borrow().friends.iter().any(|friend| friend.who == pass.who) {
            return true;
        }
        let counted = match &pass.who {
            Who::Local => None,
            who => match self.sockets_of.take(who.clone(), SOCKETS_PER_DEVICE) {
                Some(counted) => Some(counted),
                None => return false,
            },
        };
        let friend = Friend { who: pass.who.clone(), revoked: pass.revoked.clone(), _counted: counted };
        stranger.0.standing.send_modify(|standing| standing.friends.push(friend));
        stranger.0.strangers.forget(&stranger.0.evicted);
        true
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
            // On the own network each is a computer.
            ("fe80::1", "fe80::1"),
            ("fd12:3:4:5::6", "fd12:3:4:5::6"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(one_address(address).to_string(), expected, "{address}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_at_one_address_does_no_harm_to_others() {
        let limits = Limits::default();
        let (crowd, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let quiet = limits.stranger(other, Listener::Web).unwrap();
        // Each one that is cut has gone before the next one comes.
        let mut kept = VecDeque::new();
        for _ in 0..10_000 {
            kept.push_back(limits.stranger(crowd, Listener::Web).unwrap());
            if kept.len() > STRANGERS_PER_ADDRESS {
                kept.pop_front().unwrap().overstayed().await;
            }
        }
        assert!(!quiet.makes_room());
        // A crowd at many addresses takes from the one that has most.
        let many: Vec<_> = (0..300u16)
            .filter_map(|n| limits.stranger(Ipv6Addr::new(1, 2, 3, n, 0, 0, 0, 0).into(), Listener::Web))
            .collect();
        assert_eq!((many.len(), limits.strangers_of_network.lock().len()), (300, STRANGERS));
        assert!(kept[0].makes_room());
    }

    #[tokio::test(start_paused = true)]
    async fn idle_strangers_never_make_a_friend_wait() {
        let limits = Limits::default();
        let idle: Vec<Stranger> = (0..120).filter_map(|_| limits.stranger(HERE, Listener::Web)).collect();
        let friend = limits.stranger(HERE, Listener::Web).unwrap();
        assert!(!friend.makes_room());
        for stranger in &idle[..120 - STRANGERS_PER_ADDRESS + 1] {
            stranger.overstayed().await;
        }
        assert_eq!(limits.strangers_of_network.lock().len(), STRANGERS_PER_ADDRESS);
        drop(idle);
        assert_eq!(limits.strangers_of_network.lock().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_friend_may_stay() {
        let limits = Limits::default();
        let friend = limits.stranger(HERE, Listener::Web).unwrap();
        friend.leave();
        let crowd: Vec<_> = std::iter::from_fn(|| limits.stranger(HERE, Listener::Web)).collect();
        let stayed = tokio::time::timeout(STRANGER_TIME * 10, friend.overstayed()).await;
        assert!(stayed.is_err());
        crowd.last().unwrap().overstayed().await;
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_sent_away_goes_unless_it_turns_out_to_be_a_friend() {
        let limits = Limits::default();
        let come = || limits.stranger(HERE, Listener::Web).unwrap();
        let (stranger, friend) = (come(), come());
        stranger.send_away();
        friend.send_away();
        friend.leave();
        stranger.overstayed().await;
        assert!(tokio::time::timeout(STRANGER_TIME * 10, friend.overstayed()).await.is_err());
    }

    /// A refused request freed the place of a connection that went on for many seconds.
    #[tokio::test(start_paused = true)]
    async fn a_connection_of_many_requests_keeps_its_place_when_one_is_refused() {
        let limits = Limits::default();
        let stranger = limits.stranger(HERE, Listener::Web).unwrap();
        stranger.has_more_requests();
        stranger.send_away();
        assert_eq!(limits.strangers_of_network.lock().len(), 1);
        let begun = tokio::time::Instant::now();
        stranger.overstayed().await;
        assert_eq!(begun.elapsed(), STRANGER_TIME);
        drop(stranger);
        assert!(limits.strangers_of_network.lock().is_empty());
    }

    /// A poll made a connection a friend for ever.
    #[tokio::test(start_paused = true)]
    async fn a_guest_is_a_stranger_again_after_its_poll() {
        let limits = Limits::default();
        let come = || limits.stranger(HERE, Listener::Web).unwrap();
        let (one, two) = (come(), come());
        let (guest, second) = (one.be_guest(), one.be_guest());
        let crowd: Vec<_> = (0..100).map(|_| come()).collect();
        assert!(!one.makes_room() && two.makes_room());
        assert!(tokio::time::timeout(STRANGER_TIME * 10, one.overstayed()).await.is_err());
        drop(guest);
        assert!(tokio::time::timeout(STRANGER_TIME * 10, one.overstayed()).await.is_err());
        drop(second);
        let begun = tokio::time::Instant::now();
        one.overstayed().await;
        assert_eq!(begun.elapsed(), STRANGER_TIME);
        let _next = come();
        assert!(one.makes_room());
        drop(crowd);
    }

    /// Any token made any number of connections friends, which outlived the device.
    #[tokio::test(start_paused = true)]
    async fn the_sockets_of_a_device_are_counted_and_end_with_it() {
        let limits = Limits::default();
        let pass = |id: &str| Pass::new(Who::Device(id.into()), crate::access::Scope::View, id);
        let (phone, tablet) = (pass("phone"), pass("tablet"));
        let come = || limits.stranger(HERE, Listener::Web).unwrap();
        let sockets: Vec<_> = (0..SOCKETS_PER_DEVICE).map(|_| come()).collect();
        assert!(sockets.iter().all(|socket| limits.befriend(socket, &phone)));
        assert!(limits.befriend(&sockets[0], &phone), "counted once");
        let (one_more, other) = (come(), come());
        assert!(!limits.befriend(&one_more, &phone) && limits.befriend(&other, &tablet));
        assert!(tokio::time::timeout(STRANGER_TIME * 10, sockets[0].overstayed()).await.is_err());
        phone.revoked.cancel();
        sockets[0].overstayed().await;
        assert!(tokio::time::timeout(STRANGER_TIME * 10, other.overstayed()).await.is_err());
        drop(sockets);
        assert!(limits.befriend(&one_more, &phone));
    }

    #[test]
    fn a_crowd_on_the_network_takes_no_place_of_this_machine() {
        let limits = Limits::default();
        let own = limits.stranger(HERE, Listener::Loopback).unwrap();
        let address = |n: u16| IpAddr::from((0x0A00_0000 + u32::from(n)).to_be_bytes());
        let crowd: Vec<_> = (0..1_000).map(|n| limits.stranger(address(n), Listener::Web)).collect();
        assert!(!own.makes_room() && crowd.iter().flatten().any(Stranger::makes_room));
    }

    #[test]
    fn every_socket_counts_until_it_is_gone() {
        let limits = Limits::default();
        let all: Vec<Stranger> = std::iter::from_fn(|| limits.stranger(HERE, Listener::Web)).collect();
        assert_eq!(all.len(), SOCKETS - RESERVED);
        all.iter().for_each(Stranger::leave);
        assert!(limits.stranger(HERE, Listener::App).is_none());
        let local: Vec<_> = std::iter::from_fn(|| limits.stranger(HERE, Listener::Loopback)).collect();
        assert_eq!(local.len(), RESERVED, "the network leaves some to this machine");
        drop(all);
        assert!(limits.stranger(HERE, Listener::Web).is_some());
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
