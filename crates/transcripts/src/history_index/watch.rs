//! Reports changes in the logs of other agents.

use crate::history::History;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::{collections::BTreeSet, path::PathBuf, sync::mpsc::Sender};

/// Wakes a thread when something changes in the folders that exist.
#[derive(Debug)]
pub(super) struct LogWatch {
    /// `None` if the system allows no watch: then only scans find changes.
    watcher: Option<RecommendedWatcher>,
    folders: BTreeSet<(PathBuf, bool)>,
    /// All folders are watched.
    is_whole: bool,
}

impl LogWatch {
    pub(super) fn new(wake: Sender<()>) -> Self {
        let told = move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| concerns(&event)) {
                // The thread may have ended.
                let _ = wake.send(());
            }
        };
        let watcher = notify::recommended_watcher(told)
            .inspect_err(
                |error| tracing::warn!(%error, "changes of other agents' sessions are only looked for"),
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
                tracing::warn!(%error, path = %path.display(), "changes in this folder are only looked for");
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
