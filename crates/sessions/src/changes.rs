//! Changes to the session list, for the connections that watch it: current rows, at a bounded rate.

use crate::{
    store::SessionRow,
    wake::{Wake, Watchers},
};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// Minimum time between two notifications to one connection.
const EVERY: Duration = Duration::from_millis(250);
/// Number of changes kept. A connection that missed more has to reload the list.
const KEPT: usize = 4_096;

/// A row of the session list, with the live state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub row: SessionRow,
    pub running: bool,
    /// Number of pending approvals, including those of its delegates.
    pub waiting: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Changes {
    state: Mutex<State>,
    /// Each watcher holds a clone, so the reference count shows whether there are any.
    interest: Arc<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Incremented with every change.
    number: u64,
    /// By session: the number of its last change, and its row (`None` if it was deleted).
    rows: HashMap<Arc<str>, (u64, Option<Listed>)>,
    /// Sessions by the number of their last change.
    order: BTreeMap<u64, Arc<str>>,
    /// Number of the last change that was dropped.
    forgotten: u64,
    watchers: Watchers,
    /// All watchers have been woken. Since then, none has fetched its changes and none has joined.
    woken: bool,
}

/// A filter for rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only sessions in this workspace.
    pub cwd: Option<PathBuf>,
    /// Include delegates' sessions.
    pub children: bool,
}

/// One connection's view of the list.
#[derive(Debug)]
pub struct ListWatch {
    changes: Arc<Changes>,
    wanted: Wanted,
    seen: u64,
    next: Instant,
    _interest: Arc<()>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListNews {
    pub changed: Vec<Listed>,
    /// Ids of deleted sessions.
    pub removed: Vec<Arc<str>>,
    /// Some changes were dropped; reload the list.
    pub reset: bool,
}

impl State {
    fn enter(&mut self, id: Arc<str>, row: Option<Listed>) {
        self.number += 1;
        if let Some((before, _)) = self.rows.insert(id.clone(), (self.number, row)) {
            self.order.remove(&before);
        }
        self.order.insert(self.number, id);
        while self.order.len() > KEPT {
            let Some((number, oldest)) = self.order.pop_first() else { break };
            self.rows.remove(&oldest);
            self.forgotten = number;
        }
    }

    fn notify(&mut self) {
        if !std::mem::replace(&mut self.woken, true) {
            self.watchers.wake();
        }
    }
}

impl Changes {
    /// Records the current row of a session. `row` returns `None` if the session is not listed, and is not called if
    /// nothing watches.
    pub(crate) fn record(&self, row: impl FnOnce() -> Option<Listed>) {
        if !self.is_watched() {
            return;
        }
        // Held while the row is built, so that the last recorded row is the current one.
        let mut state = self.lock();
        let Some(listed) = row() else { return };
        let id: Arc<str> = listed.row.id.as_str().into();
        if state.rows.get(&id).is_none_or(|(_, known)| known.as_ref() != Some(&listed)) {
            state.enter(id, Some(listed));
            state.notify();
        }
    }

    pub(crate) fn remove(&self, ids: &[String]) {
        if self.is_watched() {
            let mut state = self.lock();
            ids.iter().for_each(|id| state.enter(id.as_str().into(), None));
            state.notify();
        }
    }

    fn is_watched(&self) -> bool {
        Arc::strong_count(&self.interest) > 1
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl ListWatch {
    pub(crate) fn new(changes: &Arc<Changes>, wanted: Wanted) -> Self {
        let mut state = changes.lock();
        if !changes.is_watched() {
            // Nothing was recorded while nothing watched.
            (state.rows, state.order) = Default::default();
        }
        state.woken = false;
        let (seen, next) = (state.number, Instant::now() + EVERY);
        Self { changes: changes.clone(), wanted, seen, next, _interest: changes.interest.clone() }
    }

    /// Registers `wake`, which is woken by every change.
    pub fn wake(&self, wake: &Wake) {
        self.changes.lock().watchers.add(wake);
    }

    /// Returns the time of the next notification; `None` if nothing has changed.
    pub fn due(&self) -> Option<Instant> {
        (self.changes.lock().number != self.seen).then_some(self.next)
    }

    /// Returns the changes, if a notification is due.
    pub fn news(&mut self) -> Option<ListNews> {
        self.due().filter(|due| *due <= Instant::now())?;
        let mut news = ListNews::default();
        {
            let mut state = self.changes.lock();
            state.woken = false;
            news.reset = self.seen < state.forgotten;
            let unseen = if news.reset { state.number } else { self.seen };
            for (_, id) in state.order.range(unseen.saturating_add(1)..) {
                match state.rows.get(id) {
                    Some((_, None)) => news.removed.push(id.clone()),
                    Some((_, Some(listed))) if self.wanted.wants(&listed.row) => {
                        news.changed.push(listed.clone());
                    }
                    _ => {}
                }
            }
            self.seen = state.number;
        }
        self.next = Instant::now() + EVERY;
        news.changed.sort_by_key(|listed| std::cmp::Reverse(listed.row.last_ts));
        (news != ListNews::default()).then_some(news)
    }
}

impl Wanted {
    fn wants(&self, row: &SessionRow) -> bool {
        (self.children || row.parent.is_none()) && self.cwd.as_ref().is_none_or(|cwd| *cwd == row.cwd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{NewSession, Store};
    use futures::FutureExt;

    fn listed(id: &str) -> Listed {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), "").unwrap();
        let new = NewSession { id: id.to_owned(), cwd: "/demo".into(), mode: "codex".to_owned() };
        store.create_session(new).unwrap();
        Listed { row: store.session(id).unwrap().unwrap(), running: false, waiting: 0 }
    }

    fn watch(changes: &Arc<Changes>) -> ListWatch {
        ListWatch::new(changes, Wanted::default())
    }

    fn news(watch: &mut ListWatch) -> Option<ListNews> {
        watch.next = Instant::now();
        watch.news()
    }

    #[test]
    fn list_watch_reports_each_row_change_once() {
        let changes = Arc::<Changes>::default();
        let mut watch = watch(&changes);
        let row = listed("s");
        changes.record(|| Some(row.clone()));
        assert_eq!(news(&mut watch).unwrap().changed, std::slice::from_ref(&row));
        changes.record(|| Some(row.clone()));
        assert_eq!(news(&mut watch), None, "nothing changed");
        changes.remove(&["s".to_owned()]);
        changes.record(|| None);
        let shown = news(&mut watch).unwrap();
        assert_eq!((shown.removed, shown.changed), (vec!["s".into()], vec![]));
        // A later session with the same id is a new one.
        changes.record(|| Some(row.clone()));
        assert_eq!(news(&mut watch).unwrap().changed, [row]);
    }

    #[test]
    fn change_wakes_every_watcher_after_news() {
        let changes = Arc::<Changes>::default();
        let (mut one, other) = (watch(&changes), watch(&changes));
        let wakes: [Wake; 2] = Default::default();
        one.wake(&wakes[0]);
        other.wake(&wakes[1]);
        let woken = || wakes.each_ref().map(|wake| wake.notified().now_or_never().is_some());
        changes.remove(&["a".to_owned()]);
        assert_eq!(woken(), [true, true]);
        changes.remove(&["b".to_owned()]);
        assert_eq!(woken(), [false, false], "both are about to look");
        assert_eq!(news(&mut one).unwrap().removed.len(), 2);
        changes.remove(&["c".to_owned()]);
        assert_eq!(woken(), [true, true]);
    }

    #[test]
    fn list_watch_resets_after_dropped_changes() {
        let changes = Arc::<Changes>::default();
        let (mut late, mut later) = (watch(&changes), watch(&changes));
        let ids: Vec<String> = (0..=KEPT).map(|n| n.to_string()).collect();
        changes.remove(&ids[..KEPT]);
        assert_eq!(news(&mut late).unwrap().removed.len(), KEPT);
        changes.remove(&ids[KEPT..]);
        assert_eq!(news(&mut late).unwrap().removed, [Arc::from(ids[KEPT].as_str())]);
        assert_eq!(news(&mut later), Some(ListNews { reset: true, ..ListNews::default() }));
        assert_eq!(news(&mut later), None);
        let state = changes.lock();
        assert_eq!((state.rows.len(), state.order.len()), (KEPT, KEPT));
    }
}
