//! What changes in the list of sessions, for those who watch it: rows as they are now, at a pace that a socket can take.
//!
//! What this process does is told at once. Another process writes to the same store without telling: it is looked for.

use super::{hub::Hub, session::Wake};
use crate::store::{SessionRow, now_ms};
use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

/// The list is looked at, and a connection is told, at most once in this time.
const EVERY: Duration = Duration::from_millis(250);
/// How often what other processes do is looked for.
const ELSEWHERE: Duration = Duration::from_secs(1);
/// So far back, in milliseconds: their clock is ours, but may be set back.
const BACK_MS: i64 = 5_000;

/// A session in a list, with what only the living know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) row: SessionRow,
    pub(crate) running: bool,
}

/// The changes of a list, as long as anybody watches.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    state: Mutex<State>,
    nudge: Notify,
    /// Shared with those who watch.
    interest: Arc<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Grows with every change.
    number: u64,
    /// By session: the number of its last change, and its row; `None` when it is gone.
    rows: HashMap<Arc<str>, (u64, Option<Listed>)>,
    /// Sessions that have to be looked at.
    touched: HashSet<Arc<str>>,
    watchers: Vec<Weak<Notify>>,
    /// Somebody looks.
    is_looked_at: bool,
}

/// Which rows a connection wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) cwd: Option<PathBuf>,
    /// Those of delegates too.
    pub(crate) children: bool,
}

/// What one connection knows of the list.
#[derive(Debug)]
pub(crate) struct ListWatch {
    changes: Arc<Changes>,
    wanted: Wanted,
    seen: u64,
    next: Instant,
    _interest: Arc<()>,
}

/// What is new in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListNews {
    pub(crate) changed: Vec<Listed>,
    pub(crate) removed: Vec<Arc<str>>,
}

impl Changes {
    /// A session has changed, or whether it runs has.
    pub(super) fn touch(&self, id: &Arc<str>) {
        if !self.is_watched() {
            return;
        }
        if self.lock().touched.insert(id.clone()) {
            self.nudge.notify_one();
        }
    }

    /// Sessions are gone.
    pub(super) fn remove(&self, ids: &[String]) {
        if self.is_watched() {
            let news = ids.iter().map(|id| (id.as_str().into(), None)).collect();
            self.take(news);
        }
    }

    fn is_watched(&self) -> bool {
        Arc::strong_count(&self.interest) > 1
    }

    fn take(&self, rows: Vec<(Arc<str>, Option<Listed>)>) {
        let mut state = self.lock();
        let before = state.number;
        for (id, row) in rows {
            if state.rows.get(&id).is_some_and(|(_, known)| *known == row) {
                continue;
            }
            state.number += 1;
            let number = state.number;
            state.rows.insert(id, (number, row));
        }
        if state.number != before {
            state.watchers.retain(|watcher| watcher.upgrade().map(|wake| wake.notify_one()).is_some());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    /// Begins to watch the list. What changes from now on is told by the result.
    pub(crate) fn watch_list(self: &Arc<Self>, wanted: Wanted) -> ListWatch {
        let changes = self.changes().clone();
        let interest = changes.interest.clone();
        let mut state = changes.lock();
        let seen = state.number;
        if !std::mem::replace(&mut state.is_looked_at, true) {
            tokio::spawn(look(Arc::downgrade(self), changes.clone()));
        }
        drop(state);
        ListWatch { changes, wanted, seen, next: Instant::now() + EVERY, _interest: interest }
    }

    /// Returns rows of sessions, as far as they are to be listed.
    async fn rows(&self, touched: Vec<Arc<str>>, since: i64) -> Vec<(Arc<str>, Option<Listed>)> {
        let rows = self.read(move |store| {
            let mut rows = store.changed_since(since)?;
            for id in touched {
                rows.extend(store.session(&id)?.filter(|row| row.last_seq > 0));
            }
            Ok(rows)
        });
        let rows = rows.await.unwrap_or_else(|fault| {
            tracing::warn!(%fault, "the list of sessions cannot be read");
            Vec::new()
        });
        let listed = |row: SessionRow| (row.id.as_str().into(), Some(self.listed(row)));
        rows.into_iter().map(listed).collect()
    }
}

/// Looks for changes until nobody watches any more.
async fn look(hub: Weak<Hub>, changes: Arc<Changes>) {
    let mut looked = now_ms();
    loop {
        // What was told meanwhile is found all the same.
        let _ = timeout(ELSEWHERE, changes.nudge.notified()).await;
        let Some(hub) = hub.upgrade() else { return };
        let touched: Vec<_> = {
            let mut state = changes.lock();
            if !changes.is_watched() || hub.stopping().is_cancelled() {
                (state.is_looked_at, state.rows, state.touched) = Default::default();
                return;
            }
            state.touched.drain().collect()
        };
        let now = now_ms();
        let since = looked.min(now).saturating_sub(BACK_MS);
        looked = now;
        let rows = hub.rows(touched, since).await;
        drop(hub);
        changes.take(rows);
        sleep(EVERY).await;
    }
}

impl ListWatch {
    /// Says who is to be woken.
    pub(crate) fn wake(&self, wake: &Wake) {
        let mut state = self.changes.lock();
        state.watchers.retain(|watcher| watcher.strong_count() > 0);
        if !state.watchers.iter().any(|watcher| std::ptr::eq(watcher.as_ptr(), Arc::as_ptr(wake))) {
            state.watchers.push(Arc::downgrade(wake));
        }
    }

    /// Returns when there may be something to tell; `None` as long as nothing changed.
    pub(crate) fn due(&self) -> Option<Instant> {
        (self.changes.lock().number != self.seen).then_some(self.next)
    }

    /// Returns what is new if its time has come.
    pub(crate) fn news(&mut self) -> Option<ListNews> {
        self.due().filter(|due| *due <= Instant::now())?;
        let mut news = ListNews::default();
        {
            let state = self.changes.lock();
            for (id, (number, row)) in &state.rows {
                match row {
                    _ if *number <= self.seen => {}
                    None => news.removed.push(id.clone()),
                    Some(listed) if self.wanted.wants(&listed.row) => news.changed.push(listed.clone()),
                    Some(_) => {}
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
