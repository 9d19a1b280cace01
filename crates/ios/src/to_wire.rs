//! Updates in the app's format: chunks nested twice, snake_case except for `sessionUpdate`, closed sets of values.

use openagents_connection::pass;
use openagents_core::{
    approval::ApprovalSubject,
    text::clip_bytes,
    update::{Cut, EntryStatus, PlanEntry, PlanSnapshot, ToolCall, ToolCallStatus, ToolCallUpdate},
};
use openagents_sessions::prune;
use serde_json::{Map, Value, json};

/// Maximum bytes of an output, as compact JSON, that the app shows.
pub(crate) const IOS_OUTPUT: usize = 16_384;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Agent,
    Thought,
}

/// Maximum bytes of one text. The app closes the socket at 1 MiB, and JSON may escape one byte as six.
const TEXT: usize = 128 << 10;
const SENTENCE: usize = 4 << 10;

/// Returns the params of a `session/update` notification.
pub(super) fn note(session_id: &str, update: Value) -> Value {
    json!({"session_id": session_id, "update": update})
}

pub(super) fn chunk(role: Role, text: &str) -> Value {
    let text = clip_bytes(text, TEXT);
    let kind = match role {
        Role::User => "user_message_chunk",
        Role::Agent => "agent_message_chunk",
        Role::Thought => "agent_thought_chunk",
    };
    json!({"sessionUpdate": kind, "content": {"content": {"type": "text", "text": text}}})
}

/// Returns the only message that the app gets about an approval.
pub(super) fn waiting_for(subject: ApprovalSubject) -> Value {
    let what = match subject {
        ApprovalSubject::Action => "approval",
        ApprovalSubject::Trust => "trust",
        ApprovalSubject::Question => "an answer",
    };
    chunk(Role::Agent, &format!("Waiting for {what} on {}", pass::computer_name()))
}

pub(super) fn plan(snapshot: &PlanSnapshot) -> Value {
    let entries: Vec<Value> = snapshot.entries.iter().map(entry).collect();
    // A goal may be a whole prompt.
    let (goals, _) = prune::to_fit(&json!(snapshot.goals), IOS_OUTPUT);
    let meta = json!({"plan_id": snapshot.plan_id, "goals": goals});
    json!({"sessionUpdate": "plan", "plan": {"entries": entries, "_meta": meta}})
}

fn entry(entry: &PlanEntry) -> Value {
    let status = match entry.status {
        EntryStatus::Pending => "pending",
        EntryStatus::InProgress => "in_progress",
        EntryStatus::Completed => "completed",
    };
    let mut meta = json!({"op_id": entry.op_id, "op_hash": entry.op_hash, "tool": entry.tool});
    if let Some(error) = &entry.error {
        meta["error"] = clip_bytes(error, SENTENCE).into();
    }
    json!({"content": clip_bytes(&entry.content, SENTENCE), "priority": "medium", "status": status, "_meta": meta})
}

pub(super) fn tool_call(call: &ToolCall) -> Value {
    let (arguments, _) = prune::to_fit(&Value::Object(call.arguments.clone()), IOS_OUTPUT);
    let mut wire = json!({"call_id": call.call_id, "name": call.name, "arguments": arguments});
    let mut meta = Map::new();
    if let Some(hash) = call.op_hash {
        meta.insert("op_hash".to_owned(), hash.into());
    }
    if let Some(stage) = &call.stage {
        meta.insert("stage".to_owned(), stage.as_str().into());
    }
    add_meta(&mut wire, meta);
    json!({"sessionUpdate": "tool_call", "tool_call": wire})
}

pub(super) fn tool_call_update(update: &ToolCallUpdate) -> Value {
    let mut wire = json!({"call_id": update.call_id});
    let mut meta = Map::new();
    match &update.status {
        ToolCallStatus::Unchanged => {}
        ToolCallStatus::Started { progress, note } => {
            wire["status"] = "started".into();
            meta.insert("progress".to_owned(), (*progress).into());
            if let Some(note) = note {
                meta.insert("note".to_owned(), note.as_str().into());
            }
        }
        ToolCallStatus::Completed { output, cut } => {
            wire["status"] = "completed".into();
            // A list cannot mark that it was cut, so `_meta` does.
            let (output, pruned) = prune::to_fit(output, IOS_OUTPUT);
            wire["output"] = output;
            add_cut(&mut meta, *cut, pruned);
        }
        ToolCallStatus::Error { message } => {
            wire["status"] = "error".into();
            wire["error"] = clip_bytes(message, SENTENCE).into();
        }
    }
    add_meta(&mut wire, meta);
    json!({"sessionUpdate": "tool_call_update", "tool_call_update": wire})
}

fn add_cut(meta: &mut Map<String, Value>, cut: Cut, pruned: bool) {
    for (name, value) in [("truncated", cut.truncated || pruned), ("timed_out", cut.timed_out)] {
        if value {
            meta.insert(name.to_owned(), true.into());
        }
    }
    if cut.omitted > 0 {
        meta.insert("omitted".to_owned(), cut.omitted.into());
    }
}

fn add_meta(wire: &mut Value, meta: Map<String, Value>) {
    if !meta.is_empty() {
        wire["_meta"] = Value::Object(meta);
    }
}

pub(super) fn mode(id: &str) -> Value {
    json!({"sessionUpdate": "current_mode_update", "current_mode_id": known_mode(id)})
}

/// Maps a mode to one of the three that the app knows; any other would make it drop the update.
pub(super) fn known_mode(id: &str) -> &str {
    match id {
        "codex" | "claude-code" => id,
        _ => openagents_sessions::DEFAULT_MODE,
    }
}

/// Returns the result of `initialize`. The app requires all six booleans. `root` is the server's workspace, if any.
pub(super) fn initialized(root: Option<&std::path::Path>) -> Value {
    let mut wire = json!({
        "protocol_version": "0.2.2",
        "agent_capabilities": {
            "load_session": false,
            "prompt_capabilities": {"image": false, "audio": false, "embedded_context": false},
            "mcp_capabilities": {"http": false, "sse": false},
            "ext_capabilities": {"orchestrate_explore": true},
        },
        "auth_methods": [],
        "agent_info": {
            "name": "openagents",
            "title": "OpenAgents Desktop",
            "version": env!("CARGO_PKG_VERSION"),
        },
    });
    if let Some(root) = root {
        wire["_meta"] = json!({"working_directory": root.to_string_lossy()});
    }
    wire
}
