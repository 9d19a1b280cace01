//! Commands that the user has been asked about and that have not started. If an agent writes a file that may change
//! what such a command does, the approval is void, because the user has read something else.

use super::frozen::Frozen;
use openagents_core::{CancellationToken, visible::escaped, workspace::Workspace};
use parking_lot::Mutex;
use std::{collections::HashMap, path::Path, sync::Arc};

/// One agent's commands that wait for an answer, by terminal.
#[derive(Debug, Default)]
pub(super) struct PendingCommands(Mutex<HashMap<String, (Arc<Frozen>, Void)>>);

/// Cancels an approval that has become void.
#[derive(Debug, Clone)]
pub(super) struct Void {
    /// Cancelled when the approval becomes void or the request itself is withdrawn.
    pub(super) until: CancellationToken,
    written: Arc<Mutex<Option<String>>>,
}

impl Void {
    /// Returns the file that was written, relative to the workspace.
    pub(super) fn written_file(&self) -> Option<String> {
        self.written.lock().clone()
    }
}

impl PendingCommands {
    pub(super) fn add(&self, terminal: &str, frozen: Arc<Frozen>, until: &CancellationToken) -> Void {
        let void = Void { until: until.child_token(), written: Arc::default() };
        self.0.lock().insert(terminal.to_owned(), (frozen, void.clone()));
        void
    }

    pub(super) fn remove(&self, terminal: &str) {
        self.0.lock().remove(terminal);
    }

    /// Voids the approvals of all commands that writing `file`, a canonical path, may change.
    /// Reads the files that they name.
    pub(super) fn void(&self, root: &Path, file: &Path) {
        let pending: Vec<_> = self.0.lock().values().cloned().collect();
        for (frozen, void) in pending {
            if frozen.is_touched_by(root, file) {
                let shown = Workspace::shown(file.strip_prefix(root).unwrap_or(file));
                void.written.lock().get_or_insert(escaped(&shown).replace('\n', "\\n"));
                void.until.cancel();
            }
        }
    }
}
