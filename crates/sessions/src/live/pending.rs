//! The pending approvals, according to the log.

use openagents_core::{
    approval::{Approval, ApprovalState},
    update::SessionUpdate,
};

/// Tracks a growing log. Starts empty: approvals that an earlier process left open are closed when a session is
/// loaded.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    changes: u64,
    approvals: Vec<Approval>,
}

impl Pending {
    /// Returns a number that is incremented with every change.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the pending approvals, oldest first.
    pub(crate) fn all(&self) -> &[Approval] {
        &self.approvals
    }

    /// Applies the next update of the log.
    pub(crate) fn push(&mut self, update: &SessionUpdate) {
        let update = match update {
            SessionUpdate::Delegated(delegated) => &*delegated.update,
            update => update,
        };
        let SessionUpdate::Approval(approval) = update else { return };
        let before = self.approvals.len();
        self.approvals.retain(|known| known.id != approval.id);
        let is_pending = approval.state == ApprovalState::Pending;
        if is_pending {
            self.approvals.push(approval.clone());
        }
        if is_pending || self.approvals.len() != before {
            self.changes += 1;
        }
    }
}
