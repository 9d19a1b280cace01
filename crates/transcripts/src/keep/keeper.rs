//! Captures what is new in the logs of all agents, on a thread.

use super::{
    copies::{Completion, KeptCopies, KeptSession},
    deletions::{DeletedSoon, Deletions},
    limit::{KeepState, Limiter, Room},
    rows,
    settings::{KeepSettings, WhenDeleted},
};
use crate::{
    history::{Gone, GoneReason, History, ListedLog, ListedLogs, Provider},
    retention::Retention,
};
use openagents_core::{CancellationToken, budget::Budget, clock::now_ms};
use openagents_keep::{KeepError, Sizes, Verified};
use parking_lot::{Mutex, RwLock};
use std::{
    collections::{HashMap, HashSet},
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Delay before the first round.
const FIRST: Duration = Duration::from_secs(1);
/// Time between two rounds: agents write many lines at once.
const PAUSE: Duration = Duration::from_secs(3);
/// Time after which a round is made although nothing was reported.
const UNREPORTED: Duration = Duration::from_secs(30);
/// Time limit for finding the logs.
const LISTING: Duration = Duration::from_secs(60);
/// A log that did not change for this long goes directly into packs, and its journal is sealed.
pub(super) const QUIET: Duration = Duration::from_secs(600);
/// Logs captured before their rows are written.
const PART: usize = 100;
/// Bytes of logs after which this happens too.
const PART_BYTES: u64 = 64 << 20;
/// A log that its agent deletes within this time is captured first, and linked until then.
const SOON: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The copy of a log that its agent does not delete within this time is erased when room is needed.
const SAFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Days after which a deleted session's copy is deleted too, if the user chose that.
const FORGOTTEN_AFTER: i64 = 7;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Parts of the copies of which one is verified each day.
const PARTS: i64 = 100;
/// All copies as one part.
const ALL: (i64, i64) = (0, 1);
/// Time between two copies of a session in a database, which is copied as a whole.
const DATABASE: Duration = Duration::from_secs(30);

type OnChange = Arc<dyn Fn() + Send + Sync>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeeperStatus {
    pub state: KeepState,
    /// What is stored.
    pub sizes: Sizes,
    /// Bytes that may be stored now.
    pub room: u64,
    /// Sessions that were found, and their bytes.
    pub found: (usize, u64),
    /// Sessions that are not captured in their current state.
    pub waiting: usize,
    pub soon: Vec<DeletedSoon>,
    /// Bytes in damaged parts of copies that were verified.
    pub damaged: u64,
    /// When copies were last verified, in milliseconds since the epoch.
    pub verified_at: Option<i64>,
}

/// Captures logs until it is dropped.
pub struct Keeper {
    shared: Arc<Shared>,
    wake: Sender<()>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

pub(super) struct Shared {
    pub(super) copies: Arc<KeptCopies>,
    pub(super) history: Arc<History>,
    settings: RwLock<KeepSettings>,
    status: Mutex<KeeperStatus>,
    watchers: Mutex<Vec<OnChange>>,
    limiter: Limiter,
    /// When sessions in databases were last captured.
    pub(super) databases: Mutex<HashMap<PathBuf, Instant>>,
    /// Held while logs are listed, and what ends that early.
    listing: Mutex<()>,
    stop_listing: Mutex<CancellationToken>,
    /// Held during a round.
    round: Mutex<()>,
    /// Held while some logs are captured or copies are erased, so that nothing is captured that was just excluded.
    changing: Mutex<()>,
    pub(super) cancel: CancellationToken,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Keeper").field("status", &self.shared.status).finish_non_exhaustive()
    }
}

impl Keeper {
    /// Starts the thread, unless nothing is captured.
    pub fn start(
        copies: Arc<KeptCopies>,
        history: Arc<History>,
        settings: KeepSettings,
        follows: bool,
    ) -> Arc<Self> {
        let (wake, wakes) = channel();
        let shared = Arc::new(Shared {
            copies,
            history,
            settings: RwLock::new(settings),
            status: Mutex::default(),
            watchers: Mutex::default(),
            limiter: Limiter::default(),
            databases: Mutex::default(),
            listing: Mutex::default(),
            stop_listing: Mutex::default(),
            round: Mutex::default(),
            changing: Mutex::default(),
            cancel: CancellationToken::new(),
        });
        shared.changed(|_| {});
        let Room { state, limit, .. } = shared.room(&shared.settings.read().clone());
        shared.changed(|status| (status.state, status.room) = (state, limit));
        let start = || {
            let shared = shared.clone();
            thread::Builder::new().name("keep".to_owned()).spawn(move || shared.follow(&wakes))
        };
        let thread = follows.then(start).transpose();
        let thread =
            thread.inspect_err(|error| tracing::error!(%error, "no sessions are kept")).unwrap_or_default();
        Arc::new(Self { shared, wake, thread: Mutex::new(thread) })
    }

    /// Calls `on_change` whenever the status changes.
    pub fn watch(&self, on_change: OnChange) {
        self.shared.watchers.lock().push(on_change);
    }

    /// Something in the logs has changed.
    pub fn logs_changed(&self) {
        if self.shared.settings.read().on == Some(true) {
            self.wake();
        }
    }

    fn wake(&self) {
        // The thread may have ended.
        let _ = self.wake.send(());
    }

    pub fn status(&self) -> KeeperStatus {
        self.shared.status.lock().clone()
    }

    pub fn copies(&self) -> &Arc<KeptCopies> {
        &self.shared.copies
    }

    pub fn settings(&self) -> KeepSettings {
        self.shared.settings.read().clone()
    }

    /// Applies the user's settings.
    pub fn configure(&self, settings: KeepSettings) {
        let Room { state, limit, .. } = self.shared.room(&settings);
        *self.shared.settings.write() = settings;
        self.shared.changed(|status| (status.state, status.room) = (state, limit));
        self.wake();
    }

    /// Captures what is new now. Blocks.
    pub fn round(&self) -> Result<(), KeepError> {
        self.shared.round(&|| false)
    }

    /// Makes sure that what an agent deletes as it starts is captured, or linked until it is. Returns the number of
    /// sessions that are neither; `None` if they are not kept at all. Blocks, for at most about `wait`.
    pub fn secure(&self, provider: Provider, wait: Duration) -> Option<usize> {
        let is_kept = self.shared.settings.read().keeps(provider) && Retention::of(provider).is_some();
        if !is_kept {
            return None;
        }
        // Time is short.
        self.shared.stop_listing.lock().cancel();
        let ListedLogs { read, unread, is_cut } = self.shared.list(Some(provider), wait);
        let due: Vec<&ListedLog> =
            read.iter().chain(&unread).filter(|log| !self.shared.has_content(log)).collect();
        let linked = self.shared.link(&due).unwrap_or_else(|error| {
            tracing::warn!(%error, "sessions that an agent deletes could not be linked");
            0
        });
        self.wake();
        Some(due.len().saturating_sub(linked).max(usize::from(is_cut && unread.is_empty())))
    }

    /// Keeps logs from being listed as long as the guard lives: listing caches what it reads. Blocks for a moment.
    pub fn pause(&self) -> impl Drop + '_ {
        loop {
            self.shared.stop_listing.lock().cancel();
            if let Some(paused) = self.shared.listing.try_lock_for(Duration::from_millis(50)) {
                return paused;
            }
        }
    }

    /// Erases the copies of sessions that the user has excluded. Blocks.
    pub fn forget_excluded(&self) -> Result<(), KeepError> {
        self.shared.forget_excluded()
    }

    /// Erases copies: those of sessions, or those of all that were gone before a time in milliseconds since the epoch.
    /// Returns their number. Blocks.
    pub fn forget(&self, which: &dyn Fn(Provider, &str, Option<Gone>) -> bool) -> Result<usize, KeepError> {
        let _changing = self.shared.changing.lock();
        let mut sessions = self.shared.copies.sessions();
        let is_named = |session: &Arc<KeptSession>| {
            let row = &session.log.row;
            which(row.provider, &row.id, session.log.gone)
        };
        // With the sub-agents of a session: Claude Code stores them in a folder with its name.
        let folders: Vec<PathBuf> =
            sessions.iter().filter(|it| is_named(it)).map(|it| it.log.file.path.with_extension("")).collect();
        sessions.retain(|session| {
            let file = &session.log.file;
            is_named(session) || (file.subagent && folders.iter().any(|folder| file.path.starts_with(folder)))
        });
        self.shared.copies.erase(&sessions)?;
        self.shared.changed(|_| {});
        self.wake();
        Ok(sessions.len())
    }

    /// Compares all copies with their checksums. Blocks.
    pub fn verify(&self) -> Result<Verified, KeepError> {
        self.shared.verify(ALL)
    }

    /// Ends the thread. Blocks until the current log is captured.
    pub fn stop(&self) {
        self.shared.cancel.cancel();
        self.wake();
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that keeps sessions failed");
        }
    }
}

impl Shared {
    fn follow(&self, wakes: &Receiver<()>) {
        // Running agents take precedence.
        if let Err(error) = thread_priority::ThreadPriority::Min.set_for_current() {
            tracing::debug!(?error, "sessions are kept at normal priority");
        }
        let mut wait = FIRST;
        while !self.cancel.is_cancelled() {
            match wakes.recv_timeout(wait) {
                Err(RecvTimeoutError::Disconnected) => return,
                // Further changes are captured in the same round.
                Ok(()) | Err(RecvTimeoutError::Timeout) => while wakes.try_recv().is_ok() {},
            }
            let began = Instant::now();
            if let Err(error) = self.round(&|| self.cancel.is_cancelled()) {
                tracing::warn!(%error, "sessions could not be kept");
            }
            self.verify_daily();
            while began.elapsed() < PAUSE && !self.cancel.is_cancelled() {
                thread::sleep(Duration::from_millis(100));
            }
            wait = if self.limiter.is_compressing() { PAUSE } else { UNREPORTED };
        }
    }

    /// Changes the status, and notifies the watchers if it is another one.
    fn changed(&self, change: impl FnOnce(&mut KeeperStatus)) {
        let sizes = self.copies.store.sizes();
        let sizes =
            sizes.inspect_err(|error| tracing::warn!(%error, "the size of the kept copies is unknown"));
        let is_new = {
            let mut status = self.status.lock();
            let before = status.clone();
            change(&mut status);
            status.sizes = sizes.unwrap_or(before.sizes);
            *status != before
        };
        if is_new {
            let watchers = self.watchers.lock().clone();
            watchers.iter().for_each(|on_change| on_change());
        }
    }

    fn round(&self, is_cancelled: &dyn Fn() -> bool) -> Result<(), KeepError> {
        let _round = self.round.lock();
        let ListedLogs { read: logs, unread, is_cut } = self.list(None, LISTING);
        let settings = self.settings.read().clone();
        let deletions = Deletions::read();
        let is_soon = |log: &&ListedLog| deletions.delete(log.row.provider, &log.file, SOON);
        // What is erased at the limit does not wait.
        let is_wanted = |log: &&ListedLog| {
            !self.limiter.is_short() || deletions.delete(log.row.provider, &log.file, SAFE)
        };
        let (all, soon) = (self.waiting(&logs, &settings, &deletions), deletions.of(&logs));
        let waiting = all.iter().filter(|log| is_wanted(log)).count();
        // The size of a session in a database is not known.
        let bytes = logs.iter().filter(|log| !rows::is_in_database(&log.file)).map(|log| log.row.size).sum();
        let found = (logs.len(), bytes);
        let Room { state, limit: room, .. } = self.room(&settings);
        self.changed(|status| {
            *status = KeeperStatus { state, room, found, waiting, soon, ..status.clone() };
        });
        if settings.on != Some(true) {
            return self.forget_linked();
        }
        self.forget_excluded()?;
        self.copies.store.reclaim()?;
        if state != KeepState::Paused {
            if let Err(error) = self.copies.store.keep_spare() {
                tracing::warn!(%error, "copies may need free disk space to be erased");
            }
            // What is deleted soon is captured anyway.
            if let Err(error) = self.make_room(&logs, &settings, &deletions) {
                tracing::warn!(%error, "no room could be made for copies");
            }
            let mut waiting: Vec<_> = all.into_iter().filter(is_wanted).collect();
            let mut left = 0;
            if self.room(&settings).takes_soon() {
                self.link(&waiting.iter().copied().filter(is_soon).collect::<Vec<_>>())?;
            }
            while !is_cancelled() {
                // The user may have changed them.
                let settings = self.settings.read().clone();
                let room = self.room(&settings);
                waiting.retain(|log| settings.keeps(log.row.provider));
                if room.state != KeepState::On {
                    let all = waiting.len();
                    waiting.retain(is_soon);
                    left += all - waiting.len();
                }
                if waiting.is_empty() || !room.takes_soon() {
                    break;
                }
                let mut bytes = 0;
                let small = |log: &&&ListedLog| {
                    bytes += log.row.size;
                    bytes <= PART_BYTES
                };
                let count = waiting.iter().take(PART).take_while(small).count().max(1);
                let part: Vec<_> = waiting.drain(..count).collect();
                let changing = self.changing.lock();
                self.capture_part(&part)?;
                drop(changing);
                self.changed(|status| status.waiting = waiting.len() + left);
            }
        }
        if unread.is_empty() && !is_cut && !is_cancelled() {
            self.find_gone(&logs, &settings, &deletions)?;
        }
        self.copies.store.seal_journals(QUIET)?;
        self.copies.store.sync()?;
        let state = self.room(&settings).state;
        self.changed(|status| status.state = state);
        Ok(())
    }

    fn list(&self, provider: Option<Provider>, time: Duration) -> ListedLogs {
        let _listing = self.listing.lock();
        let cancel = self.cancel.child_token();
        self.stop_listing.lock().clone_from(&cancel);
        self.history.listed_logs_of(provider, &Budget::within(time, &cancel))
    }

    fn room(&self, settings: &KeepSettings) -> Room {
        Room::new(&self.copies, settings, self.status.lock().sizes.stored)
    }

    /// Makes room for copies.
    fn make_room(
        &self,
        logs: &[ListedLog],
        settings: &KeepSettings,
        deletions: &Deletions,
    ) -> Result<(), KeepError> {
        let _changing = self.changing.lock();
        let mut safe: Vec<&ListedLog> =
            logs.iter().filter(|log| !deletions.delete(log.row.provider, &log.file, SAFE)).collect();
        safe.sort_by_key(|log| log.file.changed_at());
        let session = |log: &ListedLog| self.copies.session(log.row.provider, &log.root, &log.row.id);
        let erasable =
            safe.into_iter().filter_map(|log| session(log).filter(|it| self.is_redundant(log, it)));
        self.limiter.make_room(&self.copies, self.room(settings), erasable)?;
        self.changed(|_| {});
        Ok(())
    }

    /// Returns the logs that are not captured in their current state, those first that their agent deletes first.
    fn waiting<'a>(
        &self,
        logs: &'a [ListedLog],
        settings: &KeepSettings,
        deletions: &Deletions,
    ) -> Vec<&'a ListedLog> {
        let mut waiting: Vec<&ListedLog> =
            logs.iter().filter(|log| settings.keeps(log.row.provider) && !self.is_captured(log)).collect();
        let databases = self.databases.lock();
        let is_recent =
            |log: &ListedLog| databases.get(&log.file.path).is_some_and(|at| at.elapsed() < DATABASE);
        waiting.retain(|log| !is_recent(log));
        waiting.sort_by_cached_key(|log| {
            let at = log.file.changed_at();
            let is_soon = deletions.delete(log.row.provider, &log.file, SOON);
            if is_soon { (0, at) } else { (1, at.saturating_neg()) }
        });
        waiting
    }

    /// Marks kept sessions whose logs no longer exist, after capturing what has only a link.
    fn find_gone(
        &self,
        logs: &[ListedLog],
        settings: &KeepSettings,
        deletions: &Deletions,
    ) -> Result<(), KeepError> {
        let _changing = self.changing.lock();
        let here: HashSet<(Provider, &Path, &str)> =
            logs.iter().map(|log| (log.row.provider, log.root.as_path(), log.row.id.as_str())).collect();
        let now = now_ms();
        let mut forgotten = Vec::new();
        let mut reachable: HashMap<Provider, bool> = HashMap::new();
        let budget = Budget::within(LISTING, &self.cancel);
        for session in self.copies.sessions() {
            let log = &session.log;
            if here.contains(&(log.row.provider, log.root.as_path(), log.row.id.as_str())) {
                continue;
            }
            // A disk that is not mounted, a database that is busy, and a folder that is no longer the agent's have no
            // sessions either.
            let provider = log.row.provider;
            let is_reachable = || self.history.is_reachable(provider, &budget);
            let database = log.file.path.parent().filter(|parent| parent.is_file());
            if !self.history.roots().has(provider, &log.root)
                || !*reachable.entry(provider).or_insert_with(is_reachable)
                || database
                    .is_some_and(|database| logs.iter().all(|log| log.file.path.parent() != Some(database)))
                || (database.is_none() && log.file.path.exists())
            {
                continue;
            }
            match log.gone {
                None => {
                    let is_complete = !session.state.is_empty()
                        && log.row.was_read()
                        && self.copies.store.links_of(session.id)?.is_empty();
                    let completion = match is_complete {
                        true => Completion::Copy(session.clone()),
                        false => self.complete(&session)?,
                    };
                    // A link that could not be read may be the only copy.
                    if !self.copies.store.links_of(session.id)?.is_empty() {
                        continue;
                    }
                    let copy = match completion {
                        Completion::Copy(copy) => copy,
                        Completion::Later => continue,
                        Completion::Nothing => {
                            forgotten.push(session);
                            continue;
                        }
                    };
                    let is_due = deletions.delete(log.row.provider, &log.file, QUIET);
                    let reason = if is_due { GoneReason::Retention } else { GoneReason::Deleted };
                    self.copies.set_gone(&copy, Gone { since: Some(now), reason })?;
                }
                Some(Gone { since: Some(since), reason: GoneReason::Deleted })
                    if settings.when_deleted == WhenDeleted::Forget
                        && now - since > FORGOTTEN_AFTER * DAY_MS =>
                {
                    forgotten.push(session);
                }
                Some(_) => {}
            }
        }
        if !forgotten.is_empty() {
            self.copies.erase(&forgotten)?;
        }
        Ok(())
    }

    /// Erases what has links only, once nothing is kept any more.
    fn forget_linked(&self) -> Result<(), KeepError> {
        let mut linked = self.copies.sessions();
        linked.retain(|session| session.state.is_empty());
        let _changing = self.changing.lock();
        if linked.is_empty() { Ok(()) } else { self.copies.erase(&linked) }
    }

    fn forget_excluded(&self) -> Result<(), KeepError> {
        let _changing = self.changing.lock();
        let mut excluded = self.copies.sessions();
        let mut rows: Vec<_> = excluded.iter().map(|session| session.log.row.clone()).collect();
        self.history.retain_own(&mut rows);
        let own: HashSet<(Provider, &str)> = rows.iter().map(|row| (row.provider, row.id.as_str())).collect();
        excluded.retain(|session| {
            let row = &session.log.row;
            !own.contains(&(row.provider, row.id.as_str()))
        });
        if excluded.is_empty() { Ok(()) } else { self.copies.erase(&excluded) }
    }

    fn verify(&self, part: (i64, i64)) -> Result<Verified, KeepError> {
        let verified = self.copies.store.verify(part, &|| self.cancel.is_cancelled())?;
        for file in &verified.damaged {
            tracing::error!(session = %file.collection, file = %file.name, bytes = file.bytes, "a kept copy is damaged");
        }
        self.changed(|status| {
            let found: u64 = verified.damaged.iter().map(|file| file.bytes).sum();
            status.damaged = if part == ALL { found } else { status.damaged + found };
            status.verified_at = Some(now_ms());
        });
        if !verified.damaged.is_empty() {
            self.copies.load()?;
        }
        Ok(verified)
    }

    fn verify_daily(&self) {
        let last = self.status.lock().verified_at;
        if self.settings.read().on == Some(true) && last.is_none_or(|last| now_ms() - last > DAY_MS) {
            let part = now_ms() / DAY_MS % PARTS;
            if let Err(error) = self.verify((part, PARTS)) {
                tracing::warn!(%error, "kept copies could not be verified");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{HistoryRoots, MemoryListingCache, Query};
    use std::fs;

    #[test]
    fn log_that_was_linked_unread_gets_its_row_from_the_copy() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("claude/projects/-w/6f1b1f2e-2222-4000-8000-000000000001.jsonl");
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        fs::write(&log, "{\"type\":\"user\",\"cwd\":\"/w\",\"message\":{\"content\":\"Paint it\"}}\n")
            .unwrap();
        let roots = HistoryRoots::default().with(Provider::ClaudeCode, folder.path().join("claude"));
        let copies = KeptCopies::open(&folder.path().join("home")).unwrap();
        let history =
            History::new(roots, Arc::new(MemoryListingCache::default())).with_copies(copies.clone());
        let history = Arc::new(history);
        let settings = KeepSettings { on: Some(true), ..KeepSettings::default() };
        let keeper = Keeper::start(copies, history.clone(), settings, false);
        let mut logs = keeper.shared.list(None, LISTING).read;
        for log in &mut logs {
            log.row = log.file.unread(Provider::ClaudeCode);
        }
        assert_eq!(keeper.shared.link(&logs.iter().collect::<Vec<_>>()).unwrap(), 1);
        fs::remove_file(log).unwrap();
        keeper.round().unwrap();
        let budget = Budget::within(LISTING, &CancellationToken::new());
        let rows = history.list(&Query::default(), &budget).rows;
        let shown: Vec<_> = rows.iter().map(|row| (row.title.as_deref(), row.cwd.as_deref())).collect();
        assert_eq!(shown, [(Some("Paint it"), Some(Path::new("/w")))]);
        assert!(rows[0].gone.is_some());
    }
}
