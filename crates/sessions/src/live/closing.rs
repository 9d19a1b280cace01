//! Closing open work.

use crate::{
    scope::{Scope, wrap},
    store::{Open, OpenWork, Part, SessionRow, Store, StoreError},
};
use openagents_core::{
    approval::{Approval, ApprovalState},
    update::{
        AgentMessage, EntryStatus, PlanSnapshot, RunState, SessionUpdate, ToolCallStatus, ToolCallUpdate,
    },
};

/// Returns updates that close the delegates, approvals, calls and plan of a session; the caller adds the final message.
/// Pending approvals get the state `approvals`.
pub(crate) fn close(work: &OpenWork, reason: &str, approvals: &ApprovalState) -> Vec<SessionUpdate> {
    let mut closing = Vec::new();
    for delegate in work.delegates() {
        let updates = close_scope(work, &delegate, reason, approvals).into_iter();
        let updates = updates.chain(crash_messages(work, &delegate));
        closing.extend(updates.map(|update| wrap(&delegate, update)));
    }
    closing.extend(close_scope(work, &None, reason, approvals));
    closing
}

/// Like [`close`], for a delegate or without the delegates. The updates are not wrapped.
pub(crate) fn close_scope(
    work: &OpenWork,
    scope: &Scope,
    reason: &str,
    approvals: &ApprovalState,
) -> Vec<SessionUpdate> {
    let given_up = |approval: &Approval| {
        SessionUpdate::Approval(Approval { state: approvals.clone(), ..approval.clone() })
    };
    let mut closing: Vec<_> = work.in_scope(scope).filter_map(Open::approval).map(given_up).collect();
    closing.extend(close_calls(work, scope, reason, RunState::Failed));
    closing
}

/// Returns updates that close the calls and the plan of a scope. The plan gets the state `plan`.
pub(crate) fn close_calls(
    work: &OpenWork,
    scope: &Scope,
    reason: &str,
    plan: RunState,
) -> Vec<SessionUpdate> {
    let error = |call_id: &str| {
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(
            call_id,
            ToolCallStatus::Error { message: reason.to_owned() },
        ))
    };
    let calls = work.in_scope(scope).filter(|open| open.part == Part::Call);
    let mut closing: Vec<_> = calls.filter_map(Open::id).map(error).collect();
    let running = work.in_scope(scope).filter_map(Open::plan).filter(|plan| plan.state == RunState::Running);
    closing.extend(running.map(|running| {
        let mut ended = PlanSnapshot { state: plan, ..running.clone() };
        let is_open = |status| plan != RunState::Complete && status != EntryStatus::Completed;
        for entry in ended.entries.iter_mut().filter(|entry| is_open(entry.status)) {
            (entry.status, entry.error) = (EntryStatus::Completed, Some("not run".to_owned()));
        }
        SessionUpdate::Plan(ended)
    }));
    closing
}

/// Returns `text` as a final message for each turn of a scope that has none.
pub(crate) fn final_messages(
    work: &OpenWork,
    scope: &Scope,
    text: &str,
    state: RunState,
) -> Vec<SessionUpdate> {
    let turns = usize::from(work.turn(scope).is_some()) + work.waiting(scope);
    std::iter::repeat_with(|| final_message(text, state)).take(turns).collect()
}

/// Returns a final message for each turn of a scope that has none, after a crash.
fn crash_messages(work: &OpenWork, scope: &Scope) -> Vec<SessionUpdate> {
    let begun = work.turn(scope).map(|turn| match turn {
        Part::Answer => "❌ OpenAgents exited before this answer was done.",
        _ => "❌ OpenAgents exited before this exploration was done.",
    });
    let waiting = std::iter::repeat_n("❌ OpenAgents exited before this started.", work.waiting(scope));
    begun.into_iter().chain(waiting).map(|text| final_message(text, RunState::Failed)).collect()
}

/// Loads a session after closing the work that a dead process left open in it. Blocks.
pub(crate) fn load(store: &Store, id: &str) -> Result<Option<SessionRow>, StoreError> {
    let Some(row) = store.session(id)? else { return Ok(None) };
    if !store.left_open().contains(id) {
        return Ok(Some(row));
    }
    match close_in_store(store, id) {
        Ok(()) => {
            store.left_open().remove(id);
            store.session(id)
        }
        // On a full disk the session can still be read; the next load tries again.
        Err(error) => {
            tracing::warn!(%error, "could not close an unfinished session");
            Ok(Some(row))
        }
    }
}

fn close_in_store(store: &Store, id: &str) -> Result<(), StoreError> {
    let work = store.open_work(id)?;
    if work.is_empty() {
        return Ok(());
    }
    // Also in the approvals table, so that a later answer is kept.
    for approval in work.in_scope(&None).filter_map(Open::approval) {
        store.withdraw(id, &approval.id)?;
    }
    let mut closing = close(&work, "The app ended before this was done", &ApprovalState::Withdrawn);
    closing.extend(crash_messages(&work, &None));
    store.append(id, closing).map(drop)
}

/// See [`AgentMessage::last`].
pub(crate) fn final_message(text: &str, state: RunState) -> SessionUpdate {
    SessionUpdate::AgentMessage(AgentMessage::last(text, state))
}

#[cfg(test)]
#[path = "closing_tests.rs"]
mod tests;
