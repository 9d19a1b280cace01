//! Positions of broken connections, by address, because the app does not resume sessions itself.
//!
//! A phone often reconnects before the server notices that the old socket is dead. The old socket is then pinged, and
//! closed when it does not answer.

use crate::phone::{Phone, Position};
use openagents_connection::{
    outbox::dialect::{Out, Outbox},
    pass::Pass,
    serve::ConnectionControl,
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

const KEEP: Duration = Duration::from_secs(600);
/// Maximum number of addresses with a saved position.
const ADDRESSES: usize = 256;
/// Time limit for an old connection to answer a ping.
const PONG_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit for a dead connection to end.
const END_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct Live {
    address: IpAddr,
    number: u64,
    pass: Arc<Pass>,
    phone: Arc<Phone>,
    pub(super) control: Arc<ConnectionControl>,
    outbox: OnceLock<Outbox>,
    ended: CancellationToken,
}

impl Live {
    pub(super) fn set_outbox(&self, outbox: Outbox) {
        let _ = self.outbox.set(outbox);
    }

    /// Returns a guard that marks the connection as ended when dropped.
    pub(super) fn end(&self) -> DropGuard {
        self.ended.clone().drop_guard()
    }

    async fn is_alive(&self) -> bool {
        let mut signs = self.control.signs.subscribe();
        // A full queue proves nothing: its frames may still get through.
        let _ = self.outbox.get().map(|outbox| outbox.try_send(Out::Ping));
        timeout(PONG_TIMEOUT, signs.changed()).await.is_ok_and(|character| character.is_ok())
    }
}

#[derive(Debug)]
struct Saved {
    since: Instant,
    number: u64,
    pass: Arc<Pass>,
    /// `None` if the position was taken over or the phone closed the connection. The entry is kept, because an earlier
    /// connection may still end.
    position: Option<Position>,
}

/// Saved positions by address, and live connections that may still save one.
#[derive(Debug, Default)]
pub(crate) struct Resumes {
    saved: Mutex<HashMap<IpAddr, Saved>>,
    live: Mutex<Vec<Weak<Live>>>,
    number: AtomicU64,
}

impl Resumes {
    pub(super) fn register(&self, address: IpAddr, pass: Arc<Pass>, phone: Arc<Phone>) -> Arc<Live> {
        // The list is locked first, so that its order is also the order of the numbers.
        let mut all = self.live.lock();
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

    /// Saves the position of a connection, unless the connection was revoked or a later connection of its address shows
    /// the same session.
    pub(super) fn save_position(&self, live: &Live, position: Position) {
        let all = self.live.lock();
        let is_later = |new: &Arc<Live>| new.address == live.address && new.number > live.number;
        let shows = |new: Arc<Live>| is_later(&new) && new.phone.shows(&position.session_id);
        if !all.iter().filter_map(Weak::upgrade).any(shows) {
            self.save(live, Some(position));
        }
    }

    pub(super) fn forget(&self, live: &Live) {
        self.save(live, None);
    }

    fn save(&self, live: &Live, position: Option<Position>) {
        let (address, number, pass) = (live.address, live.number, live.pass.clone());
        if pass.is_revoked() {
            return;
        }
        let mut saved = self.saved.lock();
        if saved.len() >= ADDRESSES {
            saved.retain(|_, known| known.since.elapsed() < KEEP);
        }
        let is_late = saved.get(&address).is_some_and(|known| known.number > number);
        if saved.len() < ADDRESSES && !is_late {
            saved.insert(address, Saved { since: Instant::now(), number, pass, position });
        }
    }

    /// Takes over the saved position of the address, after closing its unresponsive connections. Returns `None` for all
    /// but the newest connection, because the phone may already have abandoned an earlier one.
    pub(super) async fn take_over(&self, new: &Live) -> Option<Position> {
        let pings = self.earlier(new).into_iter().map(async |old| (old.is_alive().await, old));
        let silent = futures::future::join_all(pings).await.into_iter().filter(|(alive, _)| !alive);
        let ends = silent.map(async |(_, old)| {
            old.control.cut.cancel();
            timeout(END_TIMEOUT, old.ended.cancelled()).await
        });
        futures::future::join_all(ends).await;
        self.take(new)
    }

    /// Returns the earlier connections of the same address that have a position.
    fn earlier(&self, new: &Live) -> Vec<Arc<Live>> {
        let live = self.live.lock();
        let is_before = |old: &Arc<Live>| old.address == new.address && old.number < new.number;
        live.iter()
            .filter_map(Weak::upgrade)
            .filter(|old| is_before(old) && old.phone.has_position())
            .collect()
    }

    /// Moves the saved position to the phone, under the lock of `live` so that a later connection finds it there.
    fn take(&self, new: &Live) -> Option<Position> {
        let live = self.live.lock();
        let is_later = |known: &Arc<Live>| known.address == new.address && known.number > new.number;
        if live.iter().filter_map(Weak::upgrade).any(|known| is_later(&known) && !known.ended.is_cancelled())
        {
            return None;
        }
        let mut all = self.saved.lock();
        let saved = all.get_mut(&new.address)?;
        let position =
            saved.position.take().filter(|_| saved.since.elapsed() < KEEP && !saved.pass.is_revoked())?;
        new.phone.take(position.clone());
        Some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_connection::{inspect::Peer, pass::Who};
    use openagents_wire::Scope;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 7));

    fn register_with(resumes: &Resumes, pass: &Arc<Pass>) -> Arc<Live> {
        resumes.register(ADDRESS, pass.clone(), Arc::new(Phone::new(&Peer::new("ios"))))
    }

    fn register(resumes: &Resumes) -> Arc<Live> {
        register_with(resumes, &Pass::local())
    }

    fn position(session: &str) -> Position {
        Position { session_id: session.into(), written: 3, part: 1, own: vec!["c".into()] }
    }

    #[tokio::test(start_paused = true)]
    async fn position_is_taken_once_and_expires() {
        let resumes = Resumes::default();
        let (old, new) = (register(&resumes), register(&resumes));
        resumes.save_position(&old, position("s"));
        assert_eq!(resumes.take_over(&new).await, Some(position("s")));
        assert_eq!(resumes.take_over(&new).await, None);
        resumes.save_position(&old, position("s"));
        tokio::time::advance(KEEP).await;
        assert_eq!(resumes.take_over(&new).await, None);
    }

    #[tokio::test]
    async fn late_position_keeps_newer_one() {
        let resumes = Resumes::default();
        let (old, new, next) = (register(&resumes), register(&resumes), register(&resumes));
        resumes.save_position(&new, position("new"));
        resumes.save_position(&old, position("old"));
        assert_eq!(resumes.take_over(&next).await, Some(position("new")));
    }

    #[tokio::test(start_paused = true)]
    async fn late_position_is_ignored() {
        // The later connection was closed by the phone.
        let resumes = Resumes::default();
        let [first, second, third, fourth] = [(); 4].map(|()| register(&resumes));
        resumes.forget(&second);
        resumes.save_position(&first, position("s"));
        assert_eq!(resumes.take(&fourth), None);
        // Its position was taken over.
        resumes.save_position(&third, position("s"));
        assert_eq!(resumes.take(&fourth), Some(position("s")));
        let fifth = register(&resumes);
        resumes.save_position(&second, position("another"));
        assert_eq!(resumes.take(&fifth), None);
        // A later connection shows the same session.
        resumes.save_position(&third, position("s"));
        assert_eq!(resumes.take(&fifth), None);
        resumes.save_position(&third, position("another"));
        assert_eq!(resumes.take(&fifth), Some(position("another")));
    }

    #[tokio::test(start_paused = true)]
    async fn newer_of_two_connections_resumes() {
        let resumes = Resumes::default();
        let (dead, abandoned, newest) = (register(&resumes), register(&resumes), register(&resumes));
        // It has a position to save, and ends when cut.
        dead.phone.take(position("s"));
        let ending = async {
            dead.control.cut.cancelled().await;
            resumes.save_position(&dead, dead.phone.position().unwrap());
            drop(dead.end());
        };
        let taking = async { tokio::join!(resumes.take_over(&abandoned), resumes.take_over(&newest)) };
        let ((), taken) = tokio::join!(ending, taking);
        assert_eq!(taken, (None, Some(position("s"))));
    }

    #[tokio::test(start_paused = true)]
    async fn position_survives_its_dying_successor() {
        let resumes = Resumes::default();
        let (old, dies) = (register(&resumes), register(&resumes));
        resumes.save_position(&old, position("s"));
        assert!(resumes.take_over(&dies).await.is_some());
        let next = register(&resumes);
        let ending = async {
            dies.control.cut.cancelled().await;
            resumes.save_position(&dies, dies.phone.position().unwrap());
            drop(dies.end());
        };
        let ((), taken) = tokio::join!(ending, resumes.take_over(&next));
        assert_eq!(taken, Some(position("s")));
    }

    #[tokio::test]
    async fn revoked_app_saves_no_position() {
        let resumes = Resumes::default();
        let pass = || Pass::new(Who::App(ADDRESS), Scope::Prompt, "");
        let (before, after) = (pass(), pass());
        let late = register_with(&resumes, &before);
        before.revoked.cancel();
        resumes.save_position(&late, position("s"));
        assert_eq!(resumes.take_over(&register(&resumes)).await, None);
        resumes.save_position(&register_with(&resumes, &after), position("s"));
        after.revoked.cancel();
        assert_eq!(resumes.take_over(&register(&resumes)).await, None);
    }
}
