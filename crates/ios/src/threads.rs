//! Threads: transcripts of other agents for the first generation of the app, and recent sessions for its drawer.

use crate::{
    projection::{self, Projection, View},
    to_wire::{self, Role},
};
use openagents_connection::fault::Fault;
use openagents_core::{
    CancellationToken,
    budget::Budget,
    text::prefix,
    update::{Cut, ToolCall, ToolCallStatus, ToolCallUpdate},
};
use openagents_sessions::{
    SessionRegistry, prune, run_blocking,
    store::{Store, StoreError, Stored},
};
use openagents_transcripts::history::{Event, EventKind, History, Provider, Query, Span, Transcript};
use serde_json::{Map, Value, json};
use std::{collections::VecDeque, ops::ControlFlow, sync::Arc, time::Duration};

/// Maximum bytes of a whole answer; the app closes its socket at 1 MiB.
pub(crate) const IOS_ANSWER: usize = 900_000;

const TIME: Duration = Duration::from_millis(1500);
/// Maximum bytes read from the end of a transcript.
const TAIL: u64 = 1_000_000;
const TEXT: usize = 4096;
const RECENT: usize = 10;
/// Maximum number of updates that are read from the end of a session.
const UPDATES: u64 = 4096;
const PAGE: usize = 256;

fn budget() -> Budget {
    Budget::within(TIME, &CancellationToken::new())
}

pub(super) async fn list_threads(sessions: &SessionRegistry, top_k: u64) -> Result<Value, Fault> {
    let history = sessions.history().clone();
    let listing = run_blocking(move || history.list(&Query::default(), &budget())).await.unwrap_or_default();
    let most = usize::try_from(top_k).unwrap_or(usize::MAX);
    let items: Vec<Value> = listing.rows.iter().filter_map(summary).take(most).collect();
    Ok(json!({"items": items}))
}

/// Returns the entry of a transcript; `None` for an agent that the app does not know.
fn summary(row: &Transcript) -> Option<Value> {
    let source = match row.provider {
        Provider::Codex => "codex",
        Provider::ClaudeCode => "claude_code",
        _ => return None,
    };
    let mut wire = json!({
        "id": row.id,
        "source": source,
        "updated_at": row.updated_at,
        "last_message_ts": row.updated_at,
    });
    if let Some(title) = &row.title {
        wire["title"] = title.as_str().into();
    }
    if let Some(created) = row.created_at {
        wire["created_at"] = created.into();
    }
    Some(wire)
}

pub(super) async fn latest_thread(sessions: &SessionRegistry) -> Result<Value, Fault> {
    let history = sessions.history().clone();
    let found = run_blocking(move || {
        let newest = |provider| {
            let query = Query { provider: Some(provider), limit: 1, ..Query::default() };
            history.list(&query, &budget()).rows.into_iter().next()
        };
        let row = newest(Provider::ClaudeCode).or_else(|| newest(Provider::Codex))?;
        let updates = read_updates(&history, &row);
        Some((row.id, updates))
    });
    let (id, updates) = found.await.flatten().ok_or_else(|| Fault::not_found("No threads found"))?;
    Ok(json!({"id": id, "updates": newest(updates, usize::MAX, IOS_ANSWER)}))
}

fn read_updates(history: &History, row: &Transcript) -> Vec<Value> {
    let span = Span { bytes: 0, tail_bytes: TAIL, ..Span::default() };
    let mut typed = Typed::default();
    let end = history.read_transcript(row, span, &budget(), &mut |event| {
        if event.undone {
            return ControlFlow::Continue(());
        }
        typed.push(&row.id, &event);
        ControlFlow::Continue(())
    });
    if let Err(error) = end {
        tracing::debug!(%error, "transcript not read completely");
    }
    typed.updates
}

/// Converts events to updates. A transcript does not say which call a result belongs to, so results are matched to
/// calls in order.
#[derive(Default)]
struct Typed {
    updates: Vec<Value>,
    open: VecDeque<String>,
    calls: usize,
}

impl Typed {
    fn push(&mut self, id: &str, event: &Event) {
        let text = prefix(&event.text, TEXT);
        let update = match &event.kind {
            EventKind::Prompt => to_wire::chunk(Role::User, text),
            EventKind::Assistant => to_wire::chunk(Role::Agent, text),
            EventKind::Thinking => to_wire::chunk(Role::Thought, text),
            EventKind::ToolCall { name } => {
                self.calls += 1;
                let call_id = format!("{id}-{}", self.calls);
                self.open.push_back(call_id.clone());
                let arguments: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
                to_wire::tool_call(&ToolCall {
                    call_id,
                    name: name.clone(),
                    arguments,
                    op_hash: None,
                    stage: None,
                    details: Default::default(),
                })
            }
            EventKind::ToolResult => {
                let Some(call_id) = self.open.pop_front() else { return };
                let status = ToolCallStatus::Completed { output: text.into(), cut: Cut::default() };
                to_wire::tool_call_update(&ToolCallUpdate {
                    call_id,
                    status,
                    late: false,
                    details: Default::default(),
                })
            }
            EventKind::FileChange | EventKind::CommandEnd | EventKind::Compaction | EventKind::Title(_) => {
                return;
            }
        };
        if !text.trim().is_empty() {
            self.updates.push(update);
        }
    }
}

pub(super) async fn recent_sessions(sessions: &SessionRegistry) -> Result<Value, Fault> {
    let rows = sessions.list(RECENT, None, None, false).await?;
    let wire = |row: openagents_sessions::store::SessionRow| json!({"session_id": row.id, "last_ts": row.last_ts, "message_count": row.last_seq});
    Ok(rows.into_iter().map(|listed| wire(listed.row)).collect())
}

/// Returns a bare array, empty for an unknown session.
pub(super) async fn timeline(
    sessions: &SessionRegistry,
    session_id: String,
    limit: Option<u64>,
) -> Result<Value, Fault> {
    // Loading the session closes turns that a dead process left open.
    drop(sessions.find(&session_id).await?);
    let id = session_id.clone();
    let updates = sessions.with_store(move |store| read_end(store, &id)).await?;
    let notes: Vec<Value> =
        shown(&updates).into_iter().map(|update| to_wire::note(&session_id, update)).collect();
    let most = usize::try_from(limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    Ok(Value::Array(newest(notes, most, IOS_ANSWER)))
}

fn read_end(store: &Store, session_id: &str) -> Result<Vec<Arc<Stored>>, StoreError> {
    let Some(row) = store.session(session_id)? else { return Ok(Vec::new()) };
    let mut updates: Vec<Arc<Stored>> = Vec::new();
    let mut since = row.last_seq.saturating_sub(UPDATES);
    loop {
        let page = store.updates_after(session_id, since, PAGE)?;
        let Some(last) = page.last() else { return Ok(updates) };
        since = last.seq;
        updates.extend(page);
    }
}

/// Projects a log for the timeline: one plan, no progress and no modes, and the prompts of all clients.
pub(super) fn shown(updates: &[Arc<Stored>]) -> Vec<Value> {
    let view = View { modes: false, progress: false };
    let mut projection = Projection::default();
    let mut shown = Vec::new();
    for stored in projection::fold(updates) {
        projection.push(&stored, view, &|_| false, &mut shown);
    }
    projection.rest(&mut shown);
    shown.into_iter().map(|shown| shown.update).collect()
}

/// Keeps the newest rows that fit, in their order.
pub(super) fn newest(rows: Vec<Value>, most: usize, bytes: usize) -> Vec<Value> {
    let mut room = bytes;
    let mut kept: Vec<Value> = rows
        .into_iter()
        .rev()
        .take(most)
        .take_while(|row| {
            let cost = prune::size(row) + 1;
            let fits = cost <= room;
            room = room.saturating_sub(cost);
            fits
        })
        .collect();
    kept.reverse();
    kept
}
