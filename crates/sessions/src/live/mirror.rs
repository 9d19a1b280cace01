//! What happens in the session of a delegate, shown in the session that delegated.

use super::unfinished::{Unfinished, word};
use openagents_core::{
    approval::{Approval, ApprovalState},
    update::{Delegated, SessionUpdate, ToolCallStatus},
};
use std::sync::Arc;

/// The session that shows what a delegate does.
pub(crate) trait ShownIn: std::fmt::Debug + Send + Sync {
    /// Queues updates for its log. Blocks while the store is behind.
    fn append(self: Arc<Self>, updates: Vec<SessionUpdate>);
}

/// Copies the log of a delegate into the row of the call that set it to work.
#[derive(Debug)]
pub(crate) struct Mirror {
    parent: Arc<dyn ShownIn>,
    call_id: String,
    child_id: Arc<str>,
    /// What was shown and has no end yet.
    open: Unfinished,
}

impl Mirror {
    pub(crate) fn new(parent: Arc<dyn ShownIn>, call_id: &str, child_id: Arc<str>) -> Self {
        Self { parent, call_id: call_id.to_owned(), child_id, open: Unfinished::default() }
    }

    /// Returns what the parent shows of updates. Its title and mode are its own; a delegate's delegates are shown in the
    /// delegate's session. What they ask is for everybody above them: the call that waits for it is the delegate's own.
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

    /// Appends what was copied to the parent's log.
    pub(crate) fn show(&self, copy: Vec<SessionUpdate>) {
        if !copy.is_empty() {
            self.parent.clone().append(copy);
        }
    }

    /// Closes what is still open: nothing more will be shown. `approvals` is how those stand that nobody has answered.
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

/// Returns whether nothing more is to be expected of a call.
pub(crate) fn ends(status: &ToolCallStatus) -> bool {
    matches!(status, ToolCallStatus::Completed { .. } | ToolCallStatus::Error { .. })
}
