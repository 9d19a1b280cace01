//! Where a phone was when its socket broke. The app does not resume sessions, so its address does.
//!
//! A phone is often back before the server knows that the old socket is dead: then the old one is asked, and ended when
//! it does not answer.

use super::phone::Phone;
use crate::{
    access::Pass,
    connection::ConnectionControl,
    outbox::{HeldBack, Out, Outbox},
};
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
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
pub(super) struct Position {
    pub(super) session_id: Arc<str>,
    /// The last update that was fully written to the old socket.
    pub(super) written: u64,
    /// Bytes of the text of the next one that were written as well.
    pub(super) part: usize,
    /// The connections that this phone had: their prompts are its own.
    pub(super) own: Vec<Arc<str>>,
}

impl Position {
    /// Returns what was written of the update after the last one.
    pub(super) fn seen(&self) -> HeldBack {
        HeldBack { seq: self.written + 1, part: self.part }
    }
}

/// A connection that has not ended.
#[derive(Debug)]
pub(super) struct Live {
    address: IpAddr,
    /// Grows from connection to connection.
    number: u64,
    pass: Arc<Pass>,
    phone: Arc<Phone>,
    pub(super) control: Arc<ConnectionControl>,
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
        let mut signs = self.control.signs.subscribe();
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
    pass: Arc<Pass>,
    /// `None`: it was taken, or the phone has said good-bye and begins afresh. An earlier connection may still end.
    place: Option<Position>,
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
    pub(super) fn join(&self, address: IpAddr, pass: Arc<Pass>, phone: Arc<Phone>) -> Arc<Live> {
        // Numbers grow in the order of the list.
        let mut all = self.live();
        let live = Arc::new(Live {
            address,
            number: self.number.fetch_add(1, Ordering::Relaxed),
            pass,
            phone,
            control: Arc::default(),
            outbox: OnceLock::new(),
            ended: CancellationToken::new(),
        });
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&live));
        live
    }

    /// Remembers where a connection was, unless a later one of its address has been shown more already, or a person has
    /// shut it out.
    pub(super) fn put(&self, live: &Live, place: Position) {
        let all = self.live();
        let is_later = |new: &Arc<Live>| new.address == live.address && new.number > live.number;
        let shows = |new: Arc<Live>| is_later(&new) && new.phone.shows(&place.session_id);
        if !all.iter().filter_map(Weak::upgrade).any(shows) {
            self.leave(live, Some(place));
        }
    }

    /// Forgets where a phone was that has said good-bye.
    pub(super) fn forget(&self, live: &Live) {
        self.leave(live, None);
    }

    fn leave(&self, live: &Live, place: Option<Position>) {
        let (address, number, pass) = (live.address, live.number, live.pass.clone());
        if pass.is_revoked() {
            return;
        }
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if left.len() >= ADDRESSES {
            left.retain(|_, known| known.since.elapsed() < KEEP);
        }
        let is_late = left.get(&address).is_some_and(|known| known.number > number);
        if left.len() < ADDRESSES && !is_late {
            left.insert(address, Left { since: Instant::now(), number, pass, place });
        }
    }

    /// Takes the place where the address was. Connections of it that show no sign of life are ended first. `None` for all
    /// but the newest connection: an earlier one may be given up by its phone already.
    pub(super) async fn take_over(&self, newcomer: &Live) -> Option<Position> {
        let asked = self.before(newcomer).into_iter().map(async |old| (old.answers().await, old));
        let silent = futures::future::join_all(asked).await.into_iter().filter(|(alive, _)| !alive);
        let ends = silent.map(async |(_, old)| {
            old.control.cut.cancel();
            timeout(END, old.ended.cancelled()).await
        });
        futures::future::join_all(ends).await;
        self.take(newcomer)
    }

    /// Earlier connections of the same address that would leave a place.
    fn before(&self, newcomer: &Live) -> Vec<Arc<Live>> {
        let live = self.live();
        let is_before = |old: &Arc<Live>| old.address == newcomer.address && old.number < newcomer.number;
        live.iter().filter_map(Weak::upgrade).filter(|old| is_before(old) && old.phone.has_place()).collect()
    }

    /// Taken, it is the phone's before anybody can come later: who does finds it there.
    fn take(&self, newcomer: &Live) -> Option<Position> {
        let live = self.live();
        let is_later =
            |known: &Arc<Live>| known.address == newcomer.address && known.number > newcomer.number;
        if live.iter().filter_map(Weak::upgrade).any(|known| is_later(&known) && !known.ended.is_cancelled())
        {
            return None;
        }
        let mut all = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let left = all.get_mut(&newcomer.address)?;
        let place = left.place.take().filter(|_| left.since.elapsed() < KEEP && !left.pass.is_revoked())?;
        newcomer.phone.take(place.clone());
        Some(place)
    }

    fn live(&self) -> MutexGuard<'_, Vec<Weak<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        access::{Scope, Who},
        inspect::Line,
    };

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 7));

    fn join_with(resumes: &Resumes, pass: &Arc<Pass>) -> Arc<Live> {
        resumes.join(ADDRESS, pass.clone(), Arc::new(Phone::new(&Line::new("ios"))))
    }

    fn join(resumes: &Resumes) -> Arc<Live> {
        join_with(resumes, &Pass::local())
    }

    fn place(session: &str) -> Position {
        Position { session_id: session.into(), written: 3, part: 1, own: vec!["c".into()] }
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_is_taken_once_and_not_for_ever() {
        let resumes = Resumes::default();
        let (old, new) = (join(&resumes), join(&resumes));
        resumes.put(&old, place("s"));
        assert_eq!(resumes.take_over(&new).await, Some(place("s")));
        assert_eq!(resumes.take_over(&new).await, None);
        resumes.put(&old, place("s"));
        tokio::time::advance(KEEP).await;
        assert_eq!(resumes.take_over(&new).await, None);
    }

    #[tokio::test]
    async fn a_late_place_does_not_replace_a_newer_one() {
        let resumes = Resumes::default();
        let (old, new, next) = (join(&resumes), join(&resumes), join(&resumes));
        resumes.put(&new, place("new"));
        resumes.put(&old, place("old"));
        assert_eq!(resumes.take_over(&next).await, Some(place("new")));
    }

    /// A connection that is found dead late does not bring back what later ones have shown.
    #[tokio::test(start_paused = true)]
    async fn a_late_place_is_worth_nothing() {
        // The later one has said good-bye.
        let resumes = Resumes::default();
        let [first, second, third, fourth] = [(); 4].map(|()| join(&resumes));
        resumes.forget(&second);
        resumes.put(&first, place("s"));
        assert_eq!(resumes.take(&fourth), None);
        // What it left was taken.
        resumes.put(&third, place("s"));
        assert_eq!(resumes.take(&fourth), Some(place("s")));
        let fifth = join(&resumes);
        resumes.put(&second, place("another"));
        assert_eq!(resumes.take(&fifth), None);
        // It is still there, and shows the same session.
        resumes.put(&third, place("s"));
        assert_eq!(resumes.take(&fifth), None);
        resumes.put(&third, place("another"));
        assert_eq!(resumes.take(&fifth), Some(place("another")));
    }

    /// The one that its phone had given up was faster, and the other one heard nothing any more.
    #[tokio::test(start_paused = true)]
    async fn of_two_that_come_back_together_the_newer_one_goes_on() {
        let resumes = Resumes::default();
        let (dead, given_up, newest) = (join(&resumes), join(&resumes), join(&resumes));
        // It has a place to leave, and ends when it is told to.
        dead.phone.take(place("s"));
        let ending = async {
            dead.control.cut.cancelled().await;
            resumes.put(&dead, dead.phone.place(&[]).unwrap());
            drop(dead.end());
        };
        let taking = async { tokio::join!(resumes.take_over(&given_up), resumes.take_over(&newest)) };
        let ((), taken) = tokio::join!(ending, taking);
        assert_eq!(taken, (None, Some(place("s"))));
    }

    /// It was in nobody's hands between the taking and the first page.
    #[tokio::test(start_paused = true)]
    async fn a_place_is_not_lost_with_the_one_that_took_it() {
        let resumes = Resumes::default();
        let (old, dies) = (join(&resumes), join(&resumes));
        resumes.put(&old, place("s"));
        assert!(resumes.take_over(&dies).await.is_some());
        let next = join(&resumes);
        let ending = async {
            dies.control.cut.cancelled().await;
            resumes.put(&dies, dies.phone.place(&[]).unwrap());
            drop(dies.end());
        };
        let ((), taken) = tokio::join!(ending, resumes.take_over(&next));
        assert_eq!(taken, Some(place("s")));
    }

    #[tokio::test]
    async fn who_was_removed_leaves_no_place() {
        let resumes = Resumes::default();
        let pass = || Pass::new(Who::App(ADDRESS), Scope::Prompt, "");
        let (before, after) = (pass(), pass());
        let late = join_with(&resumes, &before);
        before.revoked.cancel();
        resumes.put(&late, place("s"));
        assert_eq!(resumes.take_over(&join(&resumes)).await, None);
        resumes.put(&join_with(&resumes, &after), place("s"));
        after.revoked.cancel();
        assert_eq!(resumes.take_over(&join(&resumes)).await, None);
    }
}
