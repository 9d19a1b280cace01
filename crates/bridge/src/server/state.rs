//! The state of the server.

use super::origin::Hosts;
use crate::acp::{self, connection::Opening, services::Services};
use openagents_connection::{
    admission::{Limits, limit_key},
    event_stream::{Reader, StreamRefusal, Streams},
    mailbox::Target,
    pass::{Pass, Who},
    socket::{Remote, Socket},
};
use openagents_remote::{devices::registry::ConnectionLease, token::Token};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit, mpsc, oneshot},
    time::Instant,
};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Shared by all listeners.
pub(crate) struct Server {
    pub(crate) services: Arc<Services>,
    pub(crate) token: Token,
    pub(crate) back_off: BackOff,
    pub(crate) limits: Limits,
    pub(crate) remotes: Remotes,
    /// Cancelled when the bridge stops, after the last turn has ended.
    pub(crate) closing: CancellationToken,
    pub(crate) connections: TaskTracker,
}

impl Server {
    pub(crate) fn hosts(&self) -> Hosts {
        Hosts(self.services.network.state())
    }

    /// Takes a slot for an authenticated connection from `address`. Returns `None` if there are too many.
    pub(crate) fn lease(&self, pass: Arc<Pass>, address: IpAddr) -> Option<Arc<ConnectionLease>> {
        let slot = self.limits.slot(&pass.who)?;
        Some(ConnectionLease::begin(self.services.devices.clone(), pass, address, slot))
    }
}

/// Delay of the first failure; it doubles with each further one.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(5);
const FORGET: Duration = Duration::from_secs(60);
/// Maximum number of addresses that are counted; further ones get [`MAX_DELAY`].
const ADDRESSES: usize = 1024;

/// Backs off per address after failures. A valid token is never delayed.
#[derive(Debug, Default)]
pub(crate) struct BackOff(Mutex<HashMap<IpAddr, (u32, Instant)>>);

impl BackOff {
    /// Counts a failure of `address` and returns the delay of the refusal.
    pub(crate) fn failed(&self, address: IpAddr) -> Duration {
        let (now, address) = (Instant::now(), limit_key(address));
        let mut failures = self.0.lock();
        if failures.len() >= ADDRESSES && !failures.contains_key(&address) {
            failures.retain(|_, (_, last)| now.duration_since(*last) < FORGET);
            if failures.len() >= ADDRESSES {
                return MAX_DELAY;
            }
        }
        let (count, last) = failures.entry(address).or_insert((0, now));
        if now.duration_since(*last) >= FORGET {
            *count = 0;
        }
        let delay = FIRST_DELAY.saturating_mul(1 << (*count).min(16)).min(MAX_DELAY);
        (*count, *last) = (count.saturating_add(1), now);
        delay
    }
}

/// Maximum number of posted frames that are not read yet; the next request waits.
const POSTED: usize = 1;
/// Maximum number of long bodies read at the same time per device; further ones wait.
const LONG_BODIES: usize = 2;
/// Maximum number of queued long frames per connection; further ones are refused.
const LONG_FRAMES: usize = 4;
/// Time for readers to take the queued frames after a connection has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct Remotes {
    connections: Arc<Mutex<HashMap<Arc<str>, Arc<RemoteConnection>>>>,
    long_bodies: Mutex<HashMap<Who, Weak<Semaphore>>>,
}

#[derive(Debug)]
pub(crate) struct RemoteConnection {
    who: Who,
    posted: mpsc::Sender<Utf8Bytes>,
    streams: Arc<Streams>,
    cut: CancellationToken,
    long_frames: Semaphore,
}

impl Remotes {
    /// Returns the permits for long bodies of one device. Devices do not share them.
    pub(crate) fn long_bodies(&self, who: &Who) -> Arc<Semaphore> {
        let mut all = self.long_bodies.lock();
        if let Some(known) = all.get(who).and_then(Weak::upgrade) {
            return known;
        }
        all.retain(|_, known| known.strong_count() > 0);
        let permits = Arc::new(Semaphore::new(LONG_BODIES));
        all.insert(who.clone(), Arc::downgrade(&permits));
        permits
    }

    pub(crate) fn find(&self, id: &str, pass: &Pass) -> Option<Arc<RemoteConnection>> {
        self.connections.lock().get(id).filter(|connection| connection.who == pass.who).cloned()
    }

    /// Opens a connection with its first frame, `initialize`. Returns the connection's id, and the answer.
    pub(crate) fn open(
        &self,
        services: Arc<Services>,
        tasks: &TaskTracker,
        opening: Opening,
        initialize: (&str, Utf8Bytes),
        one_stream: bool,
    ) -> (Arc<str>, oneshot::Receiver<Utf8Bytes>) {
        let (id, frame) = initialize;
        let (streams, answer) = Streams::new(id, one_stream);
        let (posted, frames) = mpsc::channel(POSTED);
        // Cannot fail: the queue is empty.
        let _ = posted.try_send(frame);
        let (id, cut) = (opening.peer.id.clone(), opening.cut.clone());
        let who = opening.lease.pass.who.clone();
        let connection = RemoteConnection {
            who,
            posted,
            streams: streams.clone(),
            cut: cut.clone(),
            long_frames: Semaphore::new(LONG_FRAMES),
        };
        self.connections.lock().insert(id.clone(), Arc::new(connection));
        let (peer, connections) = (opening.peer.clone(), self.connections.clone());
        tasks.spawn(async move {
            let remote = Remote::new(frames, streams.clone());
            let serving = async {
                acp::serve(services, Socket::Remote(remote), opening).await;
                streams.end(None);
            };
            let watching = async {
                streams.watch().await;
                cut.cancel();
            };
            tokio::join!(serving, watching);
            connections.lock().remove(&peer.id);
            if streams.is_read() {
                tokio::time::sleep(LAST_WORDS).await;
                streams.cut();
            }
        });
        (id, answer)
    }
}

impl RemoteConnection {
    /// Queues a frame, in call order. Returns `false` if the connection has ended.
    pub(crate) async fn post(&self, frame: Utf8Bytes) -> bool {
        tokio::select! {
            taken = self.posted.send(frame) => taken.is_ok(),
            () = self.cut.cancelled() => false,
        }
    }

    /// Acquires a permit for a long frame; `None` if too many are queued.
    pub(crate) fn long_frame(&self) -> Option<SemaphorePermit<'_>> {
        self.long_frames.try_acquire().ok()
    }

    pub(crate) fn await_answer(&self, id: &str, session: &str) {
        self.streams.await_answer(id, session);
    }

    pub(crate) fn open_stream(
        &self,
        session: Target,
        cut: CancellationToken,
    ) -> Result<Reader, StreamRefusal> {
        self.streams.open_reader(session, cut)
    }

    pub(crate) fn end(&self) {
        self.cut.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn back_off_doubles_with_each_failure() {
        let (back_off, address) = (BackOff::default(), IpAddr::from([127, 0, 0, 1]));
        let delays: Vec<u128> = (0..8).map(|_| back_off.failed(address).as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        // An IPv4-mapped IPv6 address is the same address.
        assert_eq!(back_off.failed("::ffff:127.0.0.1".parse().unwrap()), MAX_DELAY);
        assert_eq!(back_off.failed(IpAddr::from([127, 0, 0, 2])), FIRST_DELAY);
        tokio::time::advance(FORGET).await;
        assert_eq!(back_off.failed(address), FIRST_DELAY);
    }

    #[tokio::test(start_paused = true)]
    async fn back_off_bounds_counted_addresses() {
        let back_off = BackOff::default();
        let address = |n: u32| IpAddr::from((0x0A00_0000 + n).to_be_bytes());
        for n in 0..ADDRESSES as u32 {
            assert_eq!(back_off.failed(address(n)), FIRST_DELAY);
        }
        assert_eq!(back_off.failed(address(1 << 20)), MAX_DELAY);
        assert_eq!(back_off.failed(address(0)), FIRST_DELAY * 2);
        assert_eq!(back_off.0.lock().len(), ADDRESSES);
        tokio::time::advance(FORGET).await;
        assert_eq!(back_off.failed(address(1 << 20)), FIRST_DELAY);
    }
}
