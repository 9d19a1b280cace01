//! Where a phone was when its socket broke. The app does not resume sessions, so its address does.
//!
//! A phone is often back before the server knows that the old socket is dead: then the old one is asked, and ended when
//! it does not answer.

use super::phone::Phone;
use crate::{
    connection::Lifeline,
    outbox::{Out, Outbox},
};
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A phone that stays away longer begins afresh.
const KEEP: Duration = Duration::from_secs(600);
/// Addresses that are remembered.
const ADDRESSES: usize = 256;
/// How long a connection has to show that it lives.
const ANSWER: Duration = Duration::from_secs(1);
/// How long the end of a dead one is waited for.
const END: Duration = Duration::from_secs(3);

/// The session that a broken connection named last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) session_id: Arc<str>,
    /// The last update that was fully written to the old socket.
    pub(super) written: u64,
    /// The connections that this phone had: their prompts are its own.
    pub(super) own: Vec<Arc<str>>,
}

/// A connection that has not ended.
#[derive(Debug)]
pub(super) struct Live {
    address: IpAddr,
    /// Grows from connection to connection.
    number: u64,
    phone: Arc<Phone>,
    pub(super) lifeline: Arc<Lifeline>,
    outbox: OnceLock<Outbox>,
    ended: CancellationToken,
}

impl Live {
    /// Says how the connection can be written to.
    pub(super) fn reach(&self, outbox: Outbox) {
        let _ = self.outbox.set(outbox);
    }

    /// Returns what tells the end of the connection when it is dropped.
    pub(super) fn end(&self) -> DropGuard {
        self.ended.clone().drop_guard()
    }

    async fn answers(&self) -> bool {
        let mut signs = self.lifeline.signs.subscribe();
        // A full queue is a sign of nothing; what lies before the socket may still come through.
        let _ = self.outbox.get().map(|outbox| outbox.try_send(Out::Ping));
        timeout(ANSWER, signs.changed()).await.is_ok_and(|sign| sign.is_ok())
    }
}

#[derive(Debug)]
struct Left {
    since: Instant,
    /// Of the connection.
    number: u64,
    place: Place,
}

/// Places by address, and who may still leave one.
#[derive(Debug, Default)]
pub(crate) struct Resumes {
    left: Mutex<HashMap<IpAddr, Left>>,
    live: Mutex<Vec<Weak<Live>>>,
    number: AtomicU64,
}

impl Resumes {
    /// Counts a new connection.
    pub(super) fn join(&self, address: IpAddr, phone: Arc<Phone>) -> Arc<Live> {
        let live = Arc::new(Live {
            address,
            number: self.number.fetch_add(1, Ordering::Relaxed),
            phone,
            lifeline: Arc::default(),
            outbox: OnceLock::new(),
            ended: CancellationToken::new(),
        });
        let mut all = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&live));
        live
    }

    /// Remembers where a connection was, unless a later one of its address has left a place already.
    pub(super) fn put(&self, live: &Live, place: Place) {
        let (address, number) = (live.address, live.number);
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if left.len() >= ADDRESSES {
            left.retain(|_, known| known.since.elapsed() < KEEP);
        }
        let is_late = left.get(&address).is_some_and(|known| known.number > number);
        if left.len() < ADDRESSES && !is_late {
            left.insert(address, Left { since: Instant::now(), number, place });
        }
    }

    /// Takes the place where the address was. Connections of it that show no sign of life are ended first.
    pub(super) async fn take_over(&self, newcomer: &Live) -> Option<Place> {
        let asked = self.before(newcomer).into_iter().map(async |old| (old.answers().await, old));
        let silent = futures::future::join_all(asked).await.into_iter().filter(|(alive, _)| !alive);
        let ends = silent.map(async |(_, old)| {
            old.lifeline.cut.cancel();
            timeout(END, old.ended.cancelled()).await
        });
        futures::future::join_all(ends).await;
        self.take(newcomer.address)
    }

    /// Earlier connections of the same address that would leave a place.
    fn before(&self, newcomer: &Live) -> Vec<Arc<Live>> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let is_before = |old: &Arc<Live>| old.address == newcomer.address && old.number < newcomer.number;
        let named = |old: &Arc<Live>| old.phone.last_named().is_some();
        live.iter().filter_map(Weak::upgrade).filter(|old| is_before(old) && named(old)).collect()
    }

    fn take(&self, address: IpAddr) -> Option<Place> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner).remove(&address)?;
        (left.since.elapsed() < KEEP).then_some(left.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Line;

    fn join(resumes: &Resumes) -> Arc<Live> {
        resumes.join(IpAddr::from([10, 0, 0, 7]), Arc::new(Phone::new(&Line::new("ios"))))
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_is_taken_once_and_not_for_ever() {
        let resumes = Resumes::default();
        let (old, new) = (join(&resumes), join(&resumes));
        let place = Place { session_id: "s".into(), written: 3, own: vec!["c".into()] };
        resumes.put(&old, place.clone());
        assert_eq!(resumes.take_over(&new).await, Some(place.clone()));
        assert_eq!(resumes.take_over(&new).await, None);
        resumes.put(&old, place);
        tokio::time::advance(KEEP).await;
        assert_eq!(resumes.take_over(&new).await, None);
    }

    #[tokio::test]
    async fn a_late_place_does_not_replace_a_newer_one() {
        let resumes = Resumes::default();
        let (old, new, next) = (join(&resumes), join(&resumes), join(&resumes));
        let place = |session: &str| Place { session_id: session.into(), written: 0, own: vec![] };
        resumes.put(&new, place("new"));
        resumes.put(&old, place("old"));
        assert_eq!(resumes.take_over(&next).await, Some(place("new")));
    }
}
