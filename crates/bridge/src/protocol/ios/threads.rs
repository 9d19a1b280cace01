//! Transcripts of other agents, for the first generation of the app.

use super::{
    history::newest,
    to_wire::{self, Role},
};
use crate::base::{error::Fault, limits::IOS_ANSWER};
use openagents_core::{
    CancellationToken,
    budget::Budget,
    update::{Cut, ToolCall, ToolCallStatus, ToolCallUpdate},
};
use openagents_sessions::{SessionRegistry, prune, run_blocking};
use openagents_transcripts::history::{Event, EventKind, History, Provider, Query, Span, Transcript};
use serde_json::{Map, Value, json};
use std::{collections::VecDeque, ops::ControlFlow, time::Duration};

/// Time limit for reading the history folders.
const TIME: Duration = Duration::from_millis(1500);
/// Maximum bytes read from the end of a transcript.
const TAIL: u64 = 1_000_000;
/// Maximum bytes of one text.
const TEXT: usize = 4096;

fn budget() -> Budget {
    Budget::within(TIME, &CancellationToken::new())
}

pub(super) async fn list(sessions: &SessionRegistry, top_k: u64) -> Result<Value, Fault> {
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

pub(super) async fn latest(sessions: &SessionRegistry) -> Result<Value, Fault> {
    let history = sessions.history().clone();
    let found = run_blocking(move || {
        let newest = |provider| {
            let query = Query { provider: Some(provider), limit: 1, ..Query::default() };
            history.list(&query, &budget()).rows.into_iter().next()
        };
        let row = newest(Provider::ClaudeCode).or_else(|| newest(Provider::Codex))?;
        let updates = read(&history, &row);
        Some((row.id, updates))
    });
    let (id, updates) = found.await.flatten().ok_or_else(|| Fault::not_found("No threads found"))?;
    Ok(json!({"id": id, "updates": newest(updates, usize::MAX, IOS_ANSWER)}))
}

fn read(history: &History, row: &Transcript) -> Vec<Value> {
    let span = Span { bytes: 0, tail_bytes: TAIL, ..Span::default() };
    let mut typed = Typed::default();
    let end = history.read(row, span, &budget(), &mut |event| {
        if event.taken_back {
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
        let text = prune::head(&event.text, TEXT);
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
