//! Follows the logs of other agents on a thread: reports changes, keeps the index up to date, and forgets what is gone.

use super::{
    build::IndexProgress,
    index::{HistoryIndex, IndexStatus},
    news::{HistoryNews, NewsReader},
    search::IndexedMatches,
};
use crate::history::{History, Listing, Provider, Query, SessionKey, Transcript};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use openagents_core::{CancellationToken, budget::Budget};
use parking_lot::Mutex;
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    error::Error,
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Maximum number of reasons kept for each agent.
const REASONS: usize = 3;

/// The numbers of an agent's sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionCounts {
    pub sessions: usize,
    /// Sessions of which something may be missing.
    pub incomplete: usize,
    /// Why something may be missing: the first reasons found, at most three.
    pub why: Vec<String>,
}

impl SessionCounts {
    fn add(&mut self, row: &Transcript) {
        self.sessions += 1;
        let Some(why) = row.why_incomplete() else { return };
        self.incomplete += 1;
        if self.why.len() < REASONS && !self.why.contains(&why) {
            self.why.push(why);
        }
    }
}

/// Delay before the first scan: a window that opens requests its list, and would wait for a scan that reads the same
/// logs.
const FIRST_SCAN: Duration = Duration::from_millis(300);
/// Interval between scans of the logs while changes are reported, to find new folders.
const WATCHED_SCAN: Duration = Duration::from_secs(30);
/// The same where changes are not reported.
const UNWATCHED_SCAN: Duration = Duration::from_secs(5);
/// Time limit for a scan of the logs.
const TIME: Duration = Duration::from_secs(60);
/// Minimum interval between scans: an agent writes many lines at once.
const PAUSE: Duration = Duration::from_millis(100);
/// Pause after a scan, as a multiple of its duration, so that scanning takes at most a tenth of a core. `MAX_PAUSE`
/// caps it at what a user will wait for.
const PAUSE_FACTOR: u32 = 9;
const MAX_PAUSE: Duration = Duration::from_millis(300);

type OnChange = Arc<dyn Fn() + Send + Sync>;

/// The index, and the thread that fills it until this is dropped.
pub struct HistoryIndexer {
    shared: Arc<Shared>,
    cancel: CancellationToken,
    wake: Sender<()>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The titles that the user gave to transcripts, which are stored outside the index.
pub trait KeptTitles: Send + Sync {
    /// Returns the transcripts that have such a title.
    fn titled(&self) -> Vec<SessionKey>;

    /// Forgets the titles of transcripts, so that they can no longer be read from the files. Blocks.
    fn forget_titles(&self, transcripts: &[SessionKey]) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// Why data of an excluded or deleted transcript may still be in the files.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    #[error(transparent)]
    Index(#[from] rusqlite::Error),
    /// The titles could not be forgotten.
    #[error(transparent)]
    Titles(Box<dyn Error + Send + Sync>),
}

pub struct Followed {
    pub history: Arc<History>,
    pub titles: Arc<dyn KeptTitles>,
    /// Called on the thread after each scan of the logs; may block.
    pub scanned: Box<dyn Fn() + Send>,
}

impl fmt::Debug for Followed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Followed").field("history", &self.history).finish_non_exhaustive()
    }
}

struct Shared {
    /// `None` if it cannot be opened: then nothing is found by words.
    index: Option<Arc<HistoryIndex>>,
    history: Arc<History>,
    titles: Arc<dyn KeptTitles>,
    wanted: AtomicBool,
    /// Forget sessions that are not listed: they are gone or excluded. False if the exclusions could not be read,
    /// because then none are listed.
    forgets: AtomicBool,
    progress: Mutex<IndexProgress>,
    news: Mutex<HistoryNews>,
    /// The number of sessions of each agent, as last listed.
    counts: Mutex<HashMap<Provider, SessionCounts>>,
    watchers: Mutex<Vec<OnChange>>,
}

impl fmt::Debug for HistoryIndexer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HistoryIndexer").field("index", &self.shared.index).finish_non_exhaustive()
    }
}

impl HistoryIndexer {
    /// Follows sessions, and fills `index` while `wanted`. Without `follows` it does neither: a short-lived bridge only
    /// reads the index. Without `forgets` it keeps the indexed data of sessions that are not listed.
    pub fn start(
        index: Option<Arc<HistoryIndex>>,
        followed: Followed,
        wanted: bool,
        follows: bool,
        forgets: bool,
    ) -> Self {
        let (wake, wakes) = channel();
        let cancel = CancellationToken::new();
        let Followed { history, titles, scanned } = followed;
        let shared = Arc::new(Shared {
            index,
            history,
            titles,
            wanted: wanted.into(),
            forgets: forgets.into(),
            progress: Mutex::default(),
            news: Mutex::default(),
            counts: Mutex::default(),
            watchers: Mutex::default(),
        });
        let mut thread = None;
        if follows {
            let (own, token, waker) = (shared.clone(), cancel.clone(), wake.clone());
            let follow = move || own.follow(LogWatch::new(waker), &wakes, &token, &scanned);
            match thread::Builder::new().name("history".to_owned()).spawn(follow) {
                Ok(started) => thread = Some(started),
                Err(error) => tracing::warn!(%error, "other agents' sessions are not followed"),
            }
        }
        Self { shared, cancel, wake, thread: Mutex::new(thread) }
    }

    /// Stops the thread, and checkpoints the index: its write-ahead log is moved into the database file. Blocks.
    pub fn stop(&self) {
        self.cancel.cancel();
        self.scan_soon();
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that follows other agents' sessions panicked");
        }
        if let Some(index) = &self.shared.index {
            index.checkpoint();
        }
        self.shared.history.checkpoint();
    }

    /// Forgets everything about sessions that the history no longer contains, so that no trace of them can be read from
    /// the files. Takes as long as rewriting the index. Blocks.
    pub fn forget_excluded(&self) -> Result<(), ForgetError> {
        self.shared.forgets.store(true, Ordering::Relaxed);
        self.shared.forget_excluded(&self.cancel)
    }

    /// Scans for new lines now.
    pub fn scan_soon(&self) {
        // Without a thread there is nothing to wake.
        let _ = self.wake.send(());
    }

    /// Calls `on_change` after every change of the progress, the state or the list, from any thread; it must not block.
    pub fn watch(&self, on_change: OnChange) {
        self.shared.watchers.lock().push(on_change);
    }

    pub fn progress(&self) -> IndexProgress {
        *self.shared.progress.lock()
    }

    /// Returns the newest changes of the list.
    pub fn news(&self) -> HistoryNews {
        self.shared.news.lock().clone()
    }

    /// Notifies watchers of a change of a session outside its log.
    pub fn report_change(&self, row: Transcript) {
        self.shared.news.lock().add(row);
        self.shared.notify_watchers();
    }

    /// Returns the numbers of sessions of each agent, as last listed.
    pub fn counts(&self) -> HashMap<Provider, SessionCounts> {
        self.shared.counts.lock().clone()
    }

    /// Returns the size of the index; all zero without an index. Blocks.
    pub fn status(&self) -> IndexStatus {
        let index = self.shared.index.as_ref();
        index.and_then(|index| index.status().ok()).unwrap_or_default()
    }

    /// Starts or stops filling the index. Its content stays.
    pub fn set_wanted(&self, wanted: bool) {
        self.shared.wanted.store(wanted, Ordering::Relaxed);
        self.shared.notify_watchers();
        self.scan_soon();
    }

    /// Forgets everything; if the index is wanted, it is filled again. Blocks.
    pub fn clear(&self) -> rusqlite::Result<()> {
        self.shared.history.clear_cache();
        if let Some(index) = &self.shared.index {
            index.clear()?;
        }
        *self.shared.progress.lock() = IndexProgress::default();
        self.shared.notify_watchers();
        self.scan_soon();
        Ok(())
    }

    /// See [`HistoryIndex::search`]; finds nothing without an index. Blocks.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        now: i64,
        near: Option<&Path>,
        history: &History,
    ) -> rusqlite::Result<IndexedMatches> {
        match &self.shared.index {
            Some(index) => index.search(query, limit, now, near, history),
            None => Ok(IndexedMatches::default()),
        }
    }
}

impl Drop for HistoryIndexer {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.scan_soon();
    }
}

impl Shared {
    fn notify_watchers(&self) {
        let watchers = self.watchers.lock().clone();
        watchers.iter().for_each(|on_change| on_change());
    }

    fn forget_excluded(&self, cancel: &CancellationToken) -> Result<(), ForgetError> {
        self.history.forget_excluded();
        self.forget_titles(&[], cancel)?;
        if let Some(index) = &self.index {
            index.forget_excluded(&self.history)?;
            if index.is_unscrubbed() {
                index.compact();
            }
        }
        Ok(())
    }

    /// Forgets the user's titles of sessions that are gone or excluded; `listed` sessions are neither.
    fn forget_titles(&self, listed: &[Transcript], cancel: &CancellationToken) -> Result<(), ForgetError> {
        let listed: HashSet<(Provider, &str)> =
            listed.iter().map(|row| (row.provider, row.id.as_str())).collect();
        let mut titled = self.titles.titled();
        titled.retain(|(provider, id)| !listed.contains(&(*provider, id)));
        let gone = self.history.gone(&titled, &Budget::within(TIME, cancel));
        self.titles.forget_titles(&gone).map_err(ForgetError::Titles)
    }

    fn follow(
        &self,
        mut logs: LogWatch,
        wakes: &Receiver<()>,
        cancel: &CancellationToken,
        scanned: &dyn Fn(),
    ) {
        // Running agents take precedence. The threads that read logs inherit the priority.
        if let Err(error) = thread_priority::ThreadPriority::Min.set_for_current() {
            tracing::debug!(?error, "the index is built at normal priority");
        }
        thread::sleep(FIRST_SCAN);
        let mut reader = NewsReader::default();
        let mut compaction: Option<JoinHandle<()>> = None;
        // Forget sessions that were deleted or excluded while no bridge was running.
        if self.forgets.load(Ordering::Relaxed)
            && let Err(error) = self.forget_excluded(cancel)
        {
            tracing::warn!(%error, "the data of deleted sessions of other agents could not be removed; the next start retries");
        }
        while !cancel.is_cancelled() {
            let is_watched = logs.refresh(&self.history);
            let mut scan = self.scan(&mut reader, wakes, cancel);
            let listing = scan.listing.take().unwrap_or_default();
            scanned();
            let is_free = compaction.as_ref().is_none_or(JoinHandle::is_finished);
            let is_wanted = self.wanted.load(Ordering::Relaxed);
            let forgets = is_free && !is_wanted && self.forgets.load(Ordering::Relaxed);
            if let Some(index) = self.index.as_ref().filter(|_| forgets) {
                if let Err(error) = index.forget_vanished(&listing, cancel) {
                    tracing::warn!(%error, "deleted sessions of other agents could not be removed from the index");
                }
                compaction = index.is_unscrubbed().then(|| compact(index.clone())).flatten();
            }
            if let Some(index) = self.index.as_ref().filter(|_| is_free && is_wanted) {
                let mut step = |now| {
                    *self.progress.lock() = now;
                    self.notify_watchers();
                    // A first index takes minutes; new lines are shown in the meantime.
                    if Instant::now() > scan.next && wakes.try_recv().is_ok() {
                        scan = self.scan(&mut reader, wakes, cancel);
                    }
                    self.wanted.load(Ordering::Relaxed)
                };
                match index.update_from(listing, &self.history, cancel, &mut step) {
                    // New lines are shown in the meantime, and indexed afterwards.
                    Ok(is_large) if is_large || index.is_unscrubbed() => compaction = compact(index.clone()),
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, "the index of other agents' sessions could not be brought up to date");
                    }
                }
            }
            if cancel.is_cancelled() {
                return;
            }
            thread::sleep(scan.next.saturating_duration_since(Instant::now()));
            match wakes.recv_timeout(if is_watched { WATCHED_SCAN } else { UNWATCHED_SCAN }) {
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Lists the sessions and reports changes.
    fn scan(&self, reader: &mut NewsReader, wakes: &Receiver<()>, cancel: &CancellationToken) -> Scan {
        // This scan covers all notifications up to now.
        while wakes.try_recv().is_ok() {}
        let began = Instant::now();
        let listing =
            self.history.list(&Query { prompts: true, ..Query::default() }, &Budget::within(TIME, cancel));
        let took = began.elapsed();
        let mut counts: HashMap<Provider, SessionCounts> = HashMap::new();
        let whole = listing.rows.iter().filter(|row| !row.is_prompts_only());
        whole.for_each(|row| counts.entry(row.provider).or_default().add(row));
        *self.counts.lock() = counts;
        let is_new = reader.take(&listing, &mut self.news.lock());
        if is_new {
            self.notify_watchers();
            if self.forgets.load(Ordering::Relaxed)
                && let Err(error) = self.forget_titles(&listing.rows, cancel)
            {
                tracing::warn!(%error, "the titles of sessions that are gone are kept");
            }
        }
        Scan { listing: Some(listing), next: Instant::now() + (took * PAUSE_FACTOR).clamp(PAUSE, MAX_PAUSE) }
    }
}

/// Compacts the index on a separate thread; if none can be started, the index stays larger.
fn compact(index: Arc<HistoryIndex>) -> Option<JoinHandle<()>> {
    let compact = move || index.compact();
    thread::Builder::new().name("history index".to_owned()).spawn(compact).ok()
}

struct Scan {
    listing: Option<Listing>,
    next: Instant,
}

/// Wakes a thread when something changes in the folders that exist.
#[derive(Debug)]
pub(super) struct LogWatch {
    /// `None` if the system allows no watch: then only scans find changes.
    watcher: Option<RecommendedWatcher>,
    folders: BTreeSet<(PathBuf, bool)>,
    is_whole: bool,
}

impl LogWatch {
    pub(super) fn new(wake: Sender<()>) -> Self {
        let output = move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| concerns(&event)) {
                // The thread may have ended.
                let _ = wake.send(());
            }
        };
        let watcher = notify::recommended_watcher(output)
            .inspect_err(
                |error| tracing::warn!(%error, "changes of other agents' sessions are found only by scanning"),
            )
            .ok();
        Self { watcher, folders: BTreeSet::new(), is_whole: false }
    }

    /// Watches the folders that exist now; returns whether changes in all of them are reported. Blocks.
    pub(super) fn refresh(&mut self, history: &History) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let exist: BTreeSet<_> = history.folders().into_iter().filter(|(path, _)| path.exists()).collect();
        if exist == self.folders {
            return self.is_whole;
        }
        for (path, _) in self.folders.difference(&exist) {
            // It may have been removed with its folder.
            let _ = watcher.unwatch(path);
        }
        self.is_whole = true;
        for (path, below) in exist.difference(&self.folders) {
            let mode = if *below { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            if let Err(error) = watcher.watch(path, mode) {
                tracing::warn!(%error, path = %path.display(), "changes in this folder are found only by scanning");
                self.is_whole = false;
            }
        }
        self.folders = exist;
        self.is_whole
    }
}

/// Returns whether a session may have changed: reading one, and the shared memory of a database, do not count.
fn concerns(event: &Event) -> bool {
    let is_log = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        ![".lock", ".tmp", "-shm", "~"].iter().any(|end| name.ends_with(end))
    };
    !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(is_log)
}
