//! Other agents' sessions as one part of the bridge: what a person has set and noted, who may see them, what changes.

use super::history::Row;
use crate::base::{error::Fault, feed::Feed, pass::Who, scope::Scope};
use openagents_core::{
    CancellationToken,
    budget::Budget,
    history::{ExcludedSessions, History, HistorySettings, Provider, SessionKey},
    model::SettingsStore,
};
use openagents_sessions::{
    HistoryIndex, HistoryIndexer, IndexProgress, IndexStatus, IndexedMatches, TranscriptLabels,
    store::TranscriptLabel,
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Time for finding a session whose label has changed.
const LOOK_UP: Duration = Duration::from_secs(5);

/// Other agents' sessions.
pub(crate) struct PastSessions {
    parts: Arc<Parts>,
    /// The person's settings, and the progress of the index.
    state: Arc<Feed>,
    /// Changes of the list for clients on this machine, and for devices.
    changes: Arc<Feed>,
    changes_for_devices: Arc<Feed>,
}

struct Parts {
    history: Arc<History>,
    indexer: HistoryIndexer,
    labels: Arc<TranscriptLabels>,
    settings: Arc<dyn SettingsStore>,
    current: Mutex<HistorySettings>,
}

/// Params of `_openagents/history/configure`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct HistoryChange {
    index: Option<bool>,
    devices: Option<bool>,
    #[serde(default)]
    exclude: Left,
    #[serde(default)]
    include: Left,
}

/// An agent or a workspace that is left out.
#[derive(Debug, Default, Deserialize)]
struct Left {
    #[serde(default, deserialize_with = "super::history::some_provider")]
    agent: Option<Provider>,
    workspace: Option<PathBuf>,
}

/// Params of `_openagents/sessions/label`.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionLabel {
    /// Absent for a session of ours.
    #[serde(default, deserialize_with = "super::history::some_provider")]
    pub(super) provider: Option<Provider>,
    pub(super) id: String,
    /// `null` for its own title; absent to keep it.
    #[serde(default, deserialize_with = "present")]
    pub(super) title: Option<Option<String>>,
    pub(super) pinned: Option<bool>,
    pub(super) archived: Option<bool>,
}

impl fmt::Debug for PastSessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PastSessions").field("current", &self.parts.current).finish_non_exhaustive()
    }
}

/// Returns what a person has set. What cannot be read leaves all sessions out: excluded ones must not come back. Blocks.
pub(crate) fn stored(settings: &dyn SettingsStore) -> HistorySettings {
    HistorySettings::stored(settings).unwrap_or_else(|error| {
        tracing::error!(%error, "could not read the settings of other agents' sessions; none are shown");
        HistorySettings { index: false, devices: false, excluded: ExcludedSessions::all() }
    })
}

impl PastSessions {
    /// Follows `history`, which uses `index`. Without `follows` nothing is watched or indexed.
    pub(crate) fn new(
        history: Arc<History>,
        index: Option<Arc<HistoryIndex>>,
        labels: Arc<TranscriptLabels>,
        settings: Arc<dyn SettingsStore>,
        current: HistorySettings,
        follows: bool,
    ) -> Arc<Self> {
        let indexer = HistoryIndexer::start(index, history.clone(), current.index, follows);
        let parts = Arc::new(Parts { history, indexer, labels, settings, current: Mutex::new(current) });
        let [state, here, devices] = [(); 3].map(|()| parts.clone());
        let name = "_openagents/history/changed";
        let this = Self {
            state: Feed::by_scope("_openagents/history/settings", Scope::View, move |scope| state.state(scope)),
            changes: Feed::new(name, Scope::View, move || here.changes(true)),
            changes_for_devices: Feed::new(name, Scope::View, move || devices.changes(false)),
            parts,
        };
        for feed in [&this.state, &this.changes, &this.changes_for_devices] {
            this.parts.indexer.watch(feed.notifier());
        }
        Arc::new(this)
    }

    /// Returns the history for a client; an error if it may not read it.
    pub(crate) fn history_for(&self, who: &Who) -> Result<History, Fault> {
        match who {
            Who::Local => {}
            Who::Device(_) if self.parts.current.lock().devices => {}
            Who::Device(_) | Who::App(_) => {
                return Err(Fault::invalid_request(
                    "Other agents' sessions are shown on their own computer only. Settings → History there can allow more.",
                ));
            }
        }
        Ok(History::clone(&self.parts.history))
    }

    /// Returns the form of rows for a client.
    pub(crate) fn rows_for(&self, who: &Who) -> Row {
        self.parts.rows(*who == Who::Local)
    }

    /// Returns the feed of what a person has set.
    pub(crate) fn state(&self) -> &Arc<Feed> {
        &self.state
    }

    /// Returns the feed of changes in the list.
    pub(crate) fn changes_for(&self, who: &Who) -> &Arc<Feed> {
        if *who == Who::Local { &self.changes } else { &self.changes_for_devices }
    }

    /// Changes what a person has noted about a session, and tells it to those that watch the list. Blocks.
    pub(super) fn label(
        &self,
        history: &History,
        session: &SessionKey,
        change: impl FnOnce(&mut TranscriptLabel),
    ) -> Result<(), Fault> {
        let changed = self.parts.labels.change(session, change);
        changed.map_err(|error| Fault::internal(format!("The label could not be stored: {error}.")))?;
        let budget = Budget::within(LOOK_UP, &CancellationToken::new());
        // A session that is gone keeps its label, in case it comes back.
        if let Some(row) = history.find(&session.1, Some(session.0), &budget) {
            self.parts.indexer.tell(row);
        }
        Ok(())
    }

    /// Looks for new lines now.
    pub(crate) fn look(&self) {
        self.parts.indexer.look();
    }

    /// Returns how far the index is.
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

    /// Changes what a person has set. Blocks.
    pub(crate) fn change(&self, change: HistoryChange) -> Result<(), Fault> {
        let HistoryChange { index, devices, exclude, include } = change;
        let wanted = {
            let mut current = self.parts.current.lock();
            let mut next = current.clone();
            next.index = index.unwrap_or(next.index);
            next.devices = devices.unwrap_or(next.devices);
            let ExcludedSessions { agents, workspaces, .. } = &mut next.excluded;
            agents.retain(|agent| include.agent != Some(*agent) && exclude.agent != Some(*agent));
            agents.extend(exclude.agent);
            workspaces.retain(|folder| {
                include.workspace.as_ref() != Some(folder) && exclude.workspace.as_ref() != Some(folder)
            });
            if let Some(folder) = &exclude.workspace
                && !folder.is_absolute()
            {
                let shown = openagents_sessions::prune::head(&folder.to_string_lossy(), 200).to_owned();
                return Err(Fault::invalid_params(format!("{shown} is not an absolute path.")));
            }
            workspaces.extend(exclude.workspace);
            next.store(&*self.parts.settings).map_err(|error| Fault::internal(error.to_string()))?;
            self.parts.history.exclude(next.excluded.clone());
            *current = next;
            current.index
        };
        self.parts.indexer.set_wanted(wanted);
        Ok(())
    }

    /// Forgets the index; while it is wanted it is filled again. Blocks.
    pub(crate) fn clear(&self) -> Result<(), Fault> {
        self.parts.indexer.clear().map_err(index_failed)
    }
}

impl Parts {
    fn rows(&self, is_here: bool) -> Row {
        Row { labels: self.labels.all(), is_here }
    }

    /// Returns the settings for a client. Without [`Scope::Admin`] it reads no excluded folders, and nothing about sessions
    /// while devices may not read them.
    fn state(&self, scope: Scope) -> Value {
        let mut current = self.current.lock().clone();
        let is_shown = scope == Scope::Admin || current.devices;
        if scope < Scope::Admin {
            current.excluded = ExcludedSessions::default();
        }
        let IndexStatus { sessions, cut, bytes } =
            if is_shown { self.indexer.status() } else { IndexStatus::default() };
        let IndexProgress { done, total } =
            if is_shown { self.indexer.progress() } else { IndexProgress::default() };
        let counts = if is_shown { self.indexer.counts() } else { HashMap::new() };
        let agent = |provider: &Provider| {
            let sessions = counts.get(provider).copied().unwrap_or_default();
            let is_shown = sessions > 0 || current.excluded.agents.contains(provider);
            is_shown.then(|| {
                json!({"provider": provider.as_str(), "agent": provider.display_name(), "sessions": sessions})
            })
        };
        json!({
            "index": current.index,
            "devices": current.devices,
            "excluded": {
                "agents": current.excluded.agents.iter().map(|agent| agent.as_str()).collect::<Vec<_>>(),
                "workspaces": current.excluded.workspaces,
            },
            "agents": Provider::ALL.iter().filter_map(agent).collect::<Vec<_>>(),
            "sessions": sessions,
            "cut": cut,
            "bytes": bytes,
            "progress": {"done": done, "total": total},
        })
    }

    fn changes(&self, is_here: bool) -> Value {
        if !is_here && !self.current.lock().devices {
            return Value::Null;
        }
        let (news, rows) = (self.indexer.news(), self.rows(is_here));
        let gone = |(provider, id): &(Provider, String)| json!({"provider": provider.as_str(), "id": id});
        json!({
            "number": news.number,
            "sessions": news.changed.iter().map(|row| rows.json(row)).collect::<Vec<_>>(),
            "removed": news.removed.iter().map(gone).collect::<Vec<_>>(),
        })
    }
}

fn index_failed(error: impl fmt::Display) -> Fault {
    Fault::internal(format!("The index of other agents' sessions failed: {error}."))
}

/// Tells `null` from an absent field.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}
