//! A session that is mirrored in its parent, and the parent's side.

use super::{
    mirror::{Mirror, ShownIn},
    session::Session,
};
use crate::store::OpenWork;
use openagents_core::{approval::ApprovalState, update::SessionUpdate};
use std::sync::Arc;

impl Session {
    /// Mirrors this session from now on. Returns false if it was already mirrored.
    pub(crate) fn show_in(&self, mirror: Mirror) -> bool {
        let mut known = self.mirror();
        let is_first = known.is_none();
        known.get_or_insert(mirror);
        is_first
    }

    /// Stops mirroring this session. Closes everything open in the parent with `reason`, and gives pending approvals
    /// the state `approvals`. Blocks while the store's queue is full.
    pub(crate) fn show_here_only(&self, reason: &str, approvals: &ApprovalState) {
        if let Some(mirror) = self.mirror().take() {
            mirror.close(reason, approvals);
        }
    }

    pub(crate) fn is_mirrored(&self) -> bool {
        self.mirror().is_some()
    }
}

impl ShownIn for Session {
    fn append(self: Arc<Self>, updates: Vec<SessionUpdate>) {
        Session::append(&self, updates);
    }

    fn open_work(&self) -> Arc<OpenWork> {
        Session::open_work(self)
    }
}
