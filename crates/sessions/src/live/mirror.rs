//! Shows the updates of a delegate's session in its parent session.

use super::unfinished::{Unfinished, word};
use openagents_core::{
    approval::{Approval, ApprovalState},
    update::{Delegated, SessionUpdate, ToolCallStatus},
};
use std::sync::Arc;

/// A session that shows the updates of a delegate.
pub(crate) trait ShownIn: std::fmt::Debug + Send + Sync {
    /// Queues updates for its log. Blocks while the store's queue is full.
    fn append(self: Arc<Self>, updates: Vec<SessionUpdate>);
}

/// Copies the log of a delegate into its parent's log, under the delegating call.
#[derive(Debug)]
pub(crate) struct Mirror {
    parent: Arc<dyn ShownIn>,
    call_id: String,
    child_id: Arc<str>,
    /// Copied updates that are not finished yet.
    open: Unfinished,
}

impl Mirror {
    pub(crate) fn new(parent: Arc<dyn ShownIn>, call_id: &str, child_id: Arc<str>) -> Self {
        Self { parent, call_id: call_id.to_owned(), child_id, open: Unfinished::default() }
    }

    /// Returns the copies for the parent. Titles, modes and nested delegates are left out, except for approvals of
    /// nested delegates, which are attributed to the delegate's own call.
    pub(crate) fn copy(&mut self, updates: &[SessionUpdate]) -> Vec<SessionUpdate> {
        let mut copied = Vec::new();
        for update in updates {
            let shown = match update {
                SessionUpdate::Title(_) | SessionUpdate::Mode(_) => continue,
                SessionUpdate::Delegated(Delegated { parent_call_id, update, .. }) => match &**update {
                    SessionUpdate::Approval(approval) => {
                        let call_id = parent_call_id.clone();
                        SessionUpdate::Approval(Approval { call_id, ..approval.clone() })
                    }
                    _ => continue,
                },
                update => update.clone(),
            };
            self.open.follow(&shown);
            copied.push(self.wrap(shown));
        }
        copied
    }

    /// Appends copies to the parent's log.
    pub(crate) fn show(&self, copy: Vec<SessionUpdate>) {
        if !copy.is_empty() {
            self.parent.clone().append(copy);
        }
    }

    /// Closes everything that is still open. Pending approvals get the state `approvals`.
    pub(crate) fn close(mut self, reason: &str, approvals: &ApprovalState) {
        let open = std::mem::take(&mut self.open);
        let words = std::iter::repeat_n(reason, open.open_turns()).map(word);
        let words: Vec<SessionUpdate> = words.collect();
        let closing = open.closing(reason, approvals).into_iter().chain(words);
        self.show(closing.map(|update| self.wrap(update)).collect());
    }

    fn wrap(&self, update: SessionUpdate) -> SessionUpdate {
        SessionUpdate::Delegated(Delegated {
            parent_call_id: self.call_id.clone(),
            child_session_id: self.child_id.to_string(),
            update: Box::new(update),
        })
    }
}

/// Returns whether a status ends a call.
pub(crate) fn ends(status: &ToolCallStatus) -> bool {
    matches!(status, ToolCallStatus::Completed { .. } | ToolCallStatus::Error { .. })
}
