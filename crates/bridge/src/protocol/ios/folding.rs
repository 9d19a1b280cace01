//! Shortens a backlog: keeps only the last plan, and only the end of each tool call.

use openagents_core::update::{SessionUpdate, ToolCallStatus};
use openagents_sessions::store::Stored;
use std::{collections::HashSet, sync::Arc};

/// Returns the updates that are not superseded within the page, in order.
pub(super) fn fold(page: &[Arc<Stored>]) -> Vec<Arc<Stored>> {
    let mut kept = Vec::with_capacity(page.len());
    let mut plan_seen = false;
    let mut ended = HashSet::new();
    for stored in page.iter().rev() {
        let keep = match &stored.update {
            SessionUpdate::Plan(_) => !std::mem::replace(&mut plan_seen, true),
            SessionUpdate::ToolCallUpdate(update) => match update.status {
                // The last update of a running call is kept.
                ToolCallStatus::Started { .. } | ToolCallStatus::Unchanged => ended.insert(&update.call_id),
                ToolCallStatus::Completed { .. } | ToolCallStatus::Error { .. } => {
                    ended.insert(&update.call_id);
                    true
                }
            },
            SessionUpdate::UserMessage(_)
            | SessionUpdate::AgentMessage(_)
            | SessionUpdate::AgentThought(_)
            | SessionUpdate::ToolCall(_)
            | SessionUpdate::Mode(_)
            | SessionUpdate::Title(_)
            | SessionUpdate::Routed(_)
            | SessionUpdate::Approval(_)
            | SessionUpdate::Delegated(_) => true,
        };
        if keep {
            kept.push(stored.clone());
        }
    }
    kept.reverse();
    kept
}
