//! Shows the updates of a delegate's session in its parent session.

use super::closing;
use crate::{
    scope::{Scope, wrap},
    store::OpenWork,
};
use openagents_core::{
    approval::{Approval, ApprovalState},
    update::{Delegated, RunState, SessionUpdate, ToolCallStatus},
};
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};

/// A session that shows the updates of a delegate.
pub(crate) trait ShownIn: std::fmt::Debug + Send + Sync {
    /// Queues updates for its log. Blocks while the store's queue is full.
    fn append(self: Arc<Self>, updates: Vec<SessionUpdate>);

    /// Returns its open work after all updates queued so far. Blocks.
    fn open_work(&self) -> Arc<OpenWork>;
}

/// Copies the log of a delegate into its parent's log, under the delegating call.
#[derive(Debug)]
pub(crate) struct Mirror {
    parent: Arc<dyn ShownIn>,
    scope: Scope,
    /// The calls of nested delegates and sub-agents, with the call that shows each of them.
    nested: Mutex<HashMap<String, String>>,
}

impl Mirror {
    pub(crate) fn new(parent: Arc<dyn ShownIn>, call_id: &str, child_id: &str) -> Self {
        let scope = Some((call_id.to_owned(), child_id.to_owned()));
        Self { parent, scope, nested: Mutex::default() }
    }

    /// Returns the copies for the parent. Titles, modes, agent states and notes, and nested delegates are left out, except for approvals of
    /// nested delegates, which are attributed to the delegate's own call.
    pub(crate) fn copy(&self, updates: &[SessionUpdate]) -> Vec<SessionUpdate> {
        let copy = |update: &SessionUpdate| match update {
            SessionUpdate::Title(_)
            | SessionUpdate::Mode(_)
            | SessionUpdate::AgentState(_)
            | SessionUpdate::AgentNote(_) => None,
            SessionUpdate::Delegated(Delegated { parent_call_id, update, .. }) => match &**update {
                SessionUpdate::Approval(approval) => {
                    let call_id = parent_call_id.clone();
                    Some(SessionUpdate::Approval(Approval { call_id, ..approval.clone() }))
                }
                SessionUpdate::ToolCall(call) => {
                    self.nested.lock().insert(call.call_id.clone(), parent_call_id.clone());
                    None
                }
                _ => None,
            },
            SessionUpdate::Approval(approval) => {
                let call_id = self.nested.lock().get(&approval.call_id).cloned();
                let call_id = call_id.unwrap_or_else(|| approval.call_id.clone());
                Some(SessionUpdate::Approval(Approval { call_id, ..approval.clone() }))
            }
            update => Some(update.clone()),
        };
        updates.iter().filter_map(copy).map(|update| wrap(&self.scope, update)).collect()
    }

    pub(crate) fn show(&self, copy: Vec<SessionUpdate>) {
        if !copy.is_empty() {
            self.parent.clone().append(copy);
        }
    }

    /// Closes everything that the copies left open. Pending approvals get the state `approvals`.
    pub(crate) fn close(self, reason: &str, approvals: &ApprovalState) {
        let work = self.parent.open_work();
        let closing = closing::close_scope(&work, &self.scope, reason, approvals).into_iter();
        let closing = closing.chain(closing::final_messages(&work, &self.scope, reason, RunState::Cancelled));
        self.show(closing.map(|update| wrap(&self.scope, update)).collect());
    }
}

pub(crate) fn ends_call(status: &ToolCallStatus) -> bool {
    matches!(status, ToolCallStatus::Completed { .. } | ToolCallStatus::Error { .. })
}
