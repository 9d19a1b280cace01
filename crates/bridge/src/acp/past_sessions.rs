//! Other agents' transcripts as one part of the bridge: the user's settings and labels, read access, and changes.

use super::{
    history::{Row, provider},
    keep, live,
};
use crate::usage::{UsageReportError, usage_report};
use openagents_connection::{fault::Fault, feed::Feed, pass::Who};
use openagents_core::{CancellationToken, budget::Budget, model::SettingsStore};
use openagents_live::LiveWatcher;
use openagents_sessions::{TranscriptLabels, store::TranscriptLabel};
use openagents_transcripts::{
    history::{ExcludedSessions, History, HistorySettings, Provider, SessionKey, Transcript},
    history_index::{
        Followed, HistoryIndex, HistoryIndexer, IndexProgress, IndexStatus, IndexedMatches, SessionCounts,
    },
    keep::Keeper,
    usage::{UsageCounter, UsageError, UsageStore},
};
use openagents_wire::{
    ExcludedHistory, ExclusionChange, HistoryAgent, HistoryChange, HistorySnapshot, KeepSnapshot,
    LiveSnapshot, MovedFolder, PastChanges, Progress, Scope, SessionName, UsageQuery, UsageReport, methods,
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Time that a report waits for new lines to be read.
const READING: Duration = Duration::from_secs(2);

/// Time limit for finding a transcript whose label has changed.
const LOOK_UP: Duration = Duration::from_secs(5);

/// Other agents' transcripts.
pub(crate) struct PastSessions {
    parts: Arc<Parts>,
    /// The user's settings, and the progress of the index.
    state: Arc<Feed>,
    /// The kept copies.
    kept: Arc<Feed>,
    /// What the agents are doing, for clients on this machine and for devices.
    live: Arc<Feed>,
    live_for_devices: Arc<Feed>,
    /// Changes of the list, for clients on this machine and for devices.
    changes: Arc<Feed>,
    changes_for_devices: Arc<Feed>,
}

struct Parts {
    history: Arc<History>,
    indexer: HistoryIndexer,
    labels: Arc<TranscriptLabels>,
    settings: Arc<dyn SettingsStore>,
    current: Arc<Mutex<HistorySettings>>,
    /// `None` if the file of counts cannot be opened.
    usage: Option<Arc<UsageCounter>>,
    /// `None` if the store of copies cannot be opened.
    keeper: Option<Arc<Keeper>>,
    /// `None` if running agents are not observed.
    live: Mutex<Option<LiveWatcher>>,
}

impl fmt::Debug for PastSessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PastSessions").field("current", &self.parts.current).finish_non_exhaustive()
    }
}

/// The settings, as read at the start.
#[derive(Debug)]
pub(crate) struct StoredHistory {
    pub(crate) settings: HistorySettings,
    /// False if the settings could not be read. In this case all transcripts are excluded, so that excluded ones do not
    /// reappear.
    is_known: bool,
}

impl StoredHistory {
    /// Returns whether the settings could be read.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Reads the settings. Blocks.
    pub(crate) fn load(settings: &dyn SettingsStore) -> Self {
        match HistorySettings::stored(settings) {
            Ok(settings) => Self { settings, is_known: true },
            Err(error) => {
                tracing::error!(%error, "could not read the settings of other agents' sessions; none are shown");
                Self { settings: HistorySettings::unreadable(), is_known: false }
            }
        }
    }
}

impl PastSessions {
    /// Follows `history`, which uses `index`. Without `follows`, nothing is watched or indexed.
    pub(crate) fn new(
        history: Arc<History>,
        index: Option<Arc<HistoryIndex>>,
        (usage, keeper): (Option<UsageStore>, Option<Arc<Keeper>>),
        labels: Arc<TranscriptLabels>,
        settings: Arc<dyn SettingsStore>,
        StoredHistory { settings: current, is_known }: StoredHistory,
        follows: bool,
    ) -> Arc<Self> {
        let wanted = current.index;
        let current = Arc::new(Mutex::new(current));
        let scanned = {
            let (history, settings, current) = (history.clone(), settings.clone(), current.clone());
            let keeper = keeper.clone();
            Box::new(move || {
                remember_seen(&history, &*settings, &current);
                keeper.iter().for_each(|keeper| keeper.logs_changed());
            })
        };
        let followed = Followed { history: history.clone(), titles: labels.clone(), scanned };
        let indexer = HistoryIndexer::start(index, followed, wanted, follows, is_known);
        let usage = usage.map(|store| UsageCounter::new(store, history.clone()));
        let parts = Arc::new(Parts {
            history,
            indexer,
            labels,
            settings,
            current,
            usage,
            keeper,
            live: Mutex::default(),
        });
        let [state, kept, live, live_there, here, devices] = [(); 6].map(|()| parts.clone());
        let this = Self {
            state: Feed::by_scope::<methods::HistorySettingsChanged>(Scope::View, move |scope| {
                state.state(scope)
            }),
            kept: Feed::by_scope::<methods::KeepChanged>(Scope::View, move |scope| kept.kept(scope)),
            live: Feed::new::<methods::LiveChanged>(Scope::View, move || live.live(true)),
            live_for_devices: Feed::new::<methods::LiveChanged>(Scope::View, move || live_there.live(false)),
            changes: Feed::new::<methods::HistoryChanged>(Scope::View, move || here.changes(true)),
            changes_for_devices: Feed::new::<methods::HistoryChanged>(Scope::View, move || {
                devices.changes(false)
            }),
            parts,
        };
        for feed in [&this.state, &this.changes, &this.changes_for_devices] {
            this.parts.indexer.watch(feed.notifier());
        }
        if let Some(keeper) = &this.parts.keeper {
            keeper.watch(this.kept.notifier());
        }
        if follows {
            let changed = [this.live.notifier(), this.live_for_devices.notifier()];
            let roots = this.parts.history.roots().clone();
            match LiveWatcher::start(roots, move || changed.iter().for_each(|changed| changed())) {
                Ok(watcher) => *this.parts.live.lock() = Some(watcher),
                Err(error) => tracing::warn!(%error, "running agents are not shown"),
            }
        }
        Arc::new(this)
    }

    /// Returns the history for a client, or an error if the client may not read it.
    pub(crate) fn history_for(&self, who: &Who) -> Result<History, Fault> {
        match who {
            Who::Local => {}
            Who::Device(_) if self.parts.current.lock().devices => {}
            Who::Device(_) | Who::App(_) => {
                return Err(Fault::invalid_request(
                    "Other agents' sessions are shown only on the computer that stores them. Settings → History there can allow more.",
                ));
            }
        }
        Ok(History::clone(&self.parts.history))
    }

    /// Returns the row builder for a client.
    pub(crate) fn rows_for(&self, who: &Who) -> Row {
        self.parts.rows(*who == Who::Local)
    }

    /// Returns the kept copies; fails if their store cannot be opened.
    pub(super) fn keeper(&self) -> Result<&Arc<Keeper>, Fault> {
        self.parts.keeper.as_ref().ok_or_else(|| {
            Fault::internal(
                "kept.noindex or history-settings.json in the data folder cannot be opened. Update OpenAgents, or restart it to see the reason in its log.",
            )
        })
    }

    /// Returns the feed of what the agents are doing.
    pub(super) fn live_for(&self, who: &Who) -> Result<&Arc<Feed>, Fault> {
        match who {
            Who::Local => Ok(&self.live),
            Who::Device(_) => Ok(&self.live_for_devices),
            Who::App(_) => self.history_for(who).map(|_| &self.live_for_devices),
        }
    }

    /// Returns the feed of the kept copies.
    pub(super) fn kept(&self) -> &Arc<Feed> {
        &self.kept
    }

    pub(super) fn settings(&self) -> &dyn SettingsStore {
        &*self.parts.settings
    }

    /// Returns the feed of the user's settings and the progress of the index.
    pub(crate) fn state(&self) -> &Arc<Feed> {
        &self.state
    }

    pub(crate) fn changes_for(&self, who: &Who) -> &Arc<Feed> {
        if *who == Who::Local { &self.changes } else { &self.changes_for_devices }
    }

    /// Changes the user's label of a transcript, and notifies the watchers of the list. Blocks.
    pub(super) fn label(
        &self,
        history: &History,
        session: &SessionKey,
        change: impl FnOnce(&mut TranscriptLabel),
    ) -> Result<(), Fault> {
        let changed = self.parts.labels.change(session, change);
        changed.map_err(|error| Fault::internal(format!("The label could not be stored: {error}.")))?;
        let budget = Budget::within(LOOK_UP, &CancellationToken::new());
        // A transcript that is gone keeps its label in case it comes back.
        if let Some(row) = history.find(&session.1, Some(session.0), &budget) {
            self.parts.indexer.report_change(row);
        }
        Ok(())
    }

    /// Scans for new lines now.
    pub(crate) fn scan_soon(&self) {
        self.parts.indexer.scan_soon();
    }

    pub(crate) fn progress(&self) -> IndexProgress {
        self.parts.indexer.progress()
    }

    /// See [`HistoryIndexer::search`]. Blocks.
    pub(crate) fn search(
        &self,
        query: &str,
        limit: usize,
        now: i64,
        near: Option<&Path>,
        history: &History,
    ) -> Result<IndexedMatches, Fault> {
        self.parts.indexer.search(query, limit, now, near, history).map_err(index_failed)
    }

    /// Changes the user's settings. When this returns, the index has dropped everything that is excluded. Blocks.
    pub(crate) fn change(&self, change: HistoryChange) -> Result<(), Fault> {
        let HistoryChange { index, devices, exclude, include } = change;
        if let Some(folder) = exclude.workspace.as_ref().filter(|folder| !folder.is_absolute()) {
            let shown = openagents_core::text::prefix(&folder.to_string_lossy(), 200).to_owned();
            return Err(Fault::invalid_params(format!("{shown} is not an absolute path.")));
        }
        let agent = |change: &ExclusionChange| change.agent.as_deref().map(provider).transpose();
        let (left_out, included) = (agent(&exclude)?, agent(&include)?);
        let (wanted, forgets) = {
            let mut current = self.parts.current.lock();
            let mut next = current.clone();
            next.index = index.unwrap_or(next.index);
            next.devices = devices.unwrap_or(next.devices);
            let excluded = &mut next.excluded;
            excluded.agents.retain(|agent| included != Some(*agent) && left_out != Some(*agent));
            excluded.agents.extend(left_out);
            if let Some(folder) = &include.workspace {
                excluded.include_workspace(folder);
            }
            if let Some(folder) = exclude.workspace {
                excluded.exclude_workspace(folder);
            }
            excluded.see();
            next.store(&*self.parts.settings).map_err(|error| Fault::internal(error.to_string()))?;
            self.parts.history.exclude(next.excluded.clone());
            let forgets = next.excluded != current.excluded;
            *current = next;
            (current.index, forgets)
        };
        let forgotten = if forgets { self.forget_excluded() } else { Ok(()) };
        self.parts.indexer.set_wanted(wanted);
        self.live.changed();
        self.live_for_devices.changed();
        forgotten
    }

    /// Stores where a folder is now; `None` forgets it. Blocks.
    pub(super) fn map_folder(&self, from: PathBuf, to: Option<PathBuf>) -> Result<(), Fault> {
        {
            let mut current = self.parts.current.lock();
            let mut next = current.clone();
            next.moved.set(from, to);
            next.store(&*self.parts.settings).map_err(|error| Fault::internal(error.to_string()))?;
            self.parts.history.follow_moved(next.moved.clone());
            *current = next;
        }
        self.state.notifier()();
        // Reports the sessions that belong to another folder now.
        self.parts.indexer.scan_soon();
        if self.parts.history.excluded() == ExcludedSessions::default() {
            return Ok(());
        }
        // It may have been moved into an excluded folder.
        self.try_to_forget_excluded().map_err(|error| {
            let sentence = "The folder is stored, but some text of excluded sessions couldn't be deleted";
            Fault::internal(format!("{sentence} ({error}). OpenAgents tries again at the next start."))
        })
    }

    /// Returns where the user says that a folder is now.
    pub(super) fn moved(&self, from: &Path) -> Option<PathBuf> {
        let current = self.parts.current.lock();
        current.moved.iter().find(|(old, _)| *old == from).map(|(_, now)| now.to_owned())
    }

    /// Removes excluded sessions from the index, the counts and the kept copies; from each even if another fails.
    fn forget_excluded(&self) -> Result<(), Fault> {
        self.try_to_forget_excluded().map_err(|error| {
            let sentence = "The sessions are excluded, but some of their text couldn't be deleted";
            Fault::internal(format!("{sentence} ({error}). OpenAgents tries again at the next start."))
        })
    }

    fn try_to_forget_excluded(&self) -> Result<(), Box<dyn std::error::Error>> {
        let _paused = self.parts.keeper.as_ref().map(|keeper| keeper.pause());
        let indexed = self.parts.indexer.forget_excluded();
        let counted = self.parts.usage.as_ref().map(|usage| usage.forget_excluded()).transpose();
        let kept = self.parts.keeper.as_ref().map(|keeper| keeper.forget_excluded()).transpose();
        indexed?;
        counted?;
        kept?;
        Ok(())
    }

    /// Sums the requests in the logs of `history`. Blocks.
    pub(super) fn usage(&self, history: &History, query: &UsageQuery) -> Result<UsageReport, Fault> {
        let unavailable = || {
            Fault::internal(
                "usage.db in the data folder cannot be opened. Update OpenAgents, or restart it to see the reason in its log.",
            )
        };
        let usage = self.parts.usage.as_ref().ok_or_else(unavailable)?;
        let failed = |error: UsageError| Fault::internal(format!("Tokens could not be counted: {error}."));
        let (progress, is_reading) = usage.refresh(READING).map_err(failed)?;
        let budget = Budget::within(LOOK_UP, &CancellationToken::new());
        usage_report(usage.store(), history, query, progress, is_reading, &budget).map_err(
            |error| match error {
                UsageReportError::Store(error) => failed(error),
                error => Fault::invalid_params(format!("{error}.")),
            },
        )
    }

    /// Ends the thread that follows transcripts, and closes its files. Blocks.
    pub(crate) fn close(&self) {
        self.parts.usage.iter().for_each(|usage| usage.cancel());
        self.parts.indexer.stop();
        self.parts.keeper.iter().for_each(|keeper| keeper.stop());
        self.parts.usage.iter().for_each(|usage| usage.stop());
    }

    /// Deletes the index; it is rebuilt if it is switched on. Blocks.
    pub(crate) fn clear(&self) -> Result<(), Fault> {
        self.parts.indexer.clear().map_err(index_failed)
    }
}

impl Parts {
    fn rows(&self, is_here: bool) -> Row {
        Row { labels: self.labels.all(), hosted: self.labels.hosted(), is_here }
    }

    /// Returns the settings for a client. Without [`Scope::Admin`], they include no excluded folders, and nothing about
    /// transcripts while devices may not read them.
    fn state(&self, scope: Scope) -> HistorySnapshot {
        let mut current = self.current.lock().clone();
        let is_shown = scope == Scope::Admin || current.devices;
        if scope < Scope::Admin {
            (current.excluded, current.moved) = Default::default();
        }
        let IndexStatus { sessions, cut, bytes } =
            if is_shown { self.indexer.status() } else { IndexStatus::default() };
        let IndexProgress { done, total } =
            if is_shown { self.indexer.progress() } else { IndexProgress::default() };
        let counts = if is_shown { self.indexer.counts() } else { HashMap::new() };
        let agent = |provider: &Provider| {
            let SessionCounts { sessions, incomplete, why } =
                counts.get(provider).cloned().unwrap_or_default();
            let is_shown = sessions > 0 || current.excluded.agents.contains(provider);
            is_shown.then(|| HistoryAgent {
                provider: provider.as_str().to_owned(),
                agent: provider.display_name().to_owned(),
                sessions,
                incomplete,
                why,
            })
        };
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let moved = current.moved.iter().map(|(from, to)| MovedFolder { from: shown(from), to: shown(to) });
        HistorySnapshot {
            index: current.index,
            devices: current.devices,
            excluded: ExcludedHistory {
                agents: current.excluded.agents.iter().map(|agent| agent.as_str().to_owned()).collect(),
                workspaces: current.excluded.workspaces.to_vec(),
            },
            moved: moved.collect(),
            agents: Provider::ALL.iter().filter_map(agent).collect(),
            sessions,
            cut,
            bytes,
            progress: Progress { done, total },
        }
    }

    /// Returns what the agents are doing, for a client; nothing while devices may not read transcripts.
    fn live(&self, is_here: bool) -> LiveSnapshot {
        let (is_shown, excluded) = {
            let current = self.current.lock();
            (is_here || current.devices, current.excluded.clone())
        };
        let mut rows =
            self.live.lock().as_ref().filter(|_| is_shown).map(LiveWatcher::rows).unwrap_or_default();
        let mut exclusion = self.history.usage_exclusion();
        rows.retain(|row| {
            // Nothing says whether a session without a folder is excluded.
            let mut in_excluded = || match &row.folder {
                Some(folder) => exclusion.holds_folder(folder),
                None => !excluded.workspaces.is_empty(),
            };
            !excluded.agents.contains(&row.agent) && !in_excluded()
        });
        live::snapshot(rows, is_here)
    }

    /// Returns the state of the kept copies for a client; nothing while devices may not read transcripts.
    fn kept(&self, scope: Scope) -> KeepSnapshot {
        let is_shown = scope == Scope::Admin || self.current.lock().devices;
        self.keeper.as_ref().filter(|_| is_shown).map(|keeper| keep::snapshot(keeper)).unwrap_or_default()
    }

    fn changes(&self, is_here: bool) -> PastChanges {
        if !is_here && !self.current.lock().devices {
            return PastChanges::default();
        }
        let (mut news, rows) = (self.indexer.news(), self.rows(is_here));
        // The list may not have been scanned since the user excluded some transcripts.
        let mut changed: Vec<Transcript> = std::mem::take(&mut news.changed).into();
        self.history.retain_own(&mut changed);
        let gone = |(provider, id): &SessionKey| SessionName {
            provider: provider.as_str().to_owned(),
            id: id.clone(),
        };
        PastChanges {
            number: news.number,
            sessions: changed.iter().map(|row| rows.row(row)).collect(),
            removed: news.removed.iter().map(gone).collect(),
        }
    }
}

/// Stores the folders that excluded workspaces matched in a scan, such as worktrees that may be removed later.
fn remember_seen(history: &History, settings: &dyn SettingsStore, current: &Mutex<HistorySettings>) {
    let excluded = history.excluded();
    let mut current = current.lock();
    if current.excluded.workspaces != excluded.workspaces || current.excluded.seen == excluded.seen {
        return;
    }
    let next = HistorySettings { excluded, ..current.clone() };
    match next.store(settings) {
        Ok(()) => *current = next,
        Err(error) => tracing::warn!(%error, "could not store the worktrees of excluded folders"),
    }
}

fn index_failed(error: impl fmt::Display) -> Fault {
    Fault::internal(format!("The index of other agents' sessions failed: {error}."))
}
