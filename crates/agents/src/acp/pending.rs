//! Commands that the user has been asked about and that have not started. A file that an agent writes meanwhile may change
//! what one of them does: then the user has read something else, and its approval is void.

use super::frozen::Frozen;
use openagents_core::{CancellationToken, visible::escaped, workspace::Workspace};
use parking_lot::Mutex;
use std::{collections::HashMap, path::Path, sync::Arc};

/// The commands of one agent that wait for an answer, by their terminal.
#[derive(Debug, Default)]
pub(super) struct PendingCommands(Mutex<HashMap<String, (Arc<Frozen>, Void)>>);

/// Ends an approval that has become void.
#[derive(Debug, Clone)]
pub(super) struct Void {
    /// Cancelled then, and when the request itself is withdrawn.
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

    /// Voids the approvals of all commands that a written `file`, which is canonical, may change. Reads the files that they
    /// name.
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
