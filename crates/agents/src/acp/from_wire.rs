//! Converts protocol types into ours, one function per type.

use crate::{
    limits::{
        CALL_PIECES, COMMAND_NAME, COMMAND_WORDS, NOTICE_WORDS, OFFERED_COMMANDS, OPTION_ID,
        PERMISSION_OPTIONS,
    },
    output::{
        self, CallNews, CallStatus, Change, NoteNews, Role, Shown, TerminalNews, Timeline, diff, one_line,
    },
};
use agent_client_protocol_schema::v1 as wire;
use openagents_core::{
    approval::{ApprovalOption, OptionKind},
    text::clip_bytes,
    update::{
        AgentPart, CompactionState, ContextUsage, Cost, EntryStatus, Location, OfferedCommand, Severity,
        ToolCallDetails, ToolContent, ToolKind,
    },
};
use serde_json::Value;
use std::time::Instant;

pub(super) fn announced_call(call: wire::ToolCall) -> CallNews {
    CallNews {
        id: call.tool_call_id.to_string(),
        name: call.name,
        status: status(call.status),
        details: ToolCallDetails {
            title: one_line(&call.title),
            kind: Some(kind(call.kind)),
            raw_input: call.raw_input,
            locations: locations(call.locations),
            content: Vec::new(),
        },
        shown: (!call.content.is_empty()).then(|| shown(call.content)),
        raw_output: call.raw_output,
        terminals: terminals(call.meta.as_ref()),
    }
}

pub(super) fn call_news(update: wire::ToolCallUpdate) -> CallNews {
    let fields = update.fields;
    CallNews {
        id: update.tool_call_id.to_string(),
        name: fields.name,
        status: fields.status.and_then(status),
        details: ToolCallDetails {
            title: fields.title.as_deref().and_then(one_line),
            kind: fields.kind.map(kind),
            raw_input: fields.raw_input,
            locations: locations(fields.locations.unwrap_or_default()),
            content: Vec::new(),
        },
        shown: fields.content.filter(|content| !content.is_empty()).map(shown),
        raw_output: fields.raw_output,
        terminals: terminals(update.meta.as_ref()),
    }
}

/// `None` if the status doesn't change.
fn status(status: wire::ToolCallStatus) -> Option<CallStatus> {
    match status {
        wire::ToolCallStatus::InProgress => Some(CallStatus::Running),
        wire::ToolCallStatus::Completed => Some(CallStatus::Completed),
        wire::ToolCallStatus::Failed => Some(CallStatus::Failed),
        _ => None,
    }
}

/// Reads the output of commands that Codex and Claude Code run themselves, which they send in the update's `_meta`.
fn terminals(meta: Option<&wire::Meta>) -> Vec<TerminalNews> {
    let words = ["terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit"];
    let news = |word: &str| {
        let fields = meta?.get(word)?;
        let exit = || {
            let code = fields["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
            (code, fields["signal"].as_str().map(str::to_owned))
        };
        Some(TerminalNews {
            id: fields["terminal_id"].as_str()?.to_owned(),
            data: fields["data"].as_str().unwrap_or_default().to_owned(),
            exit: (word == "terminal_exit").then(exit),
            shows: word != "terminal_info",
        })
    };
    words.into_iter().filter_map(news).collect()
}

fn shown(content: Vec<wire::ToolCallContent>) -> Vec<Shown> {
    let piece = |content| match content {
        wire::ToolCallContent::Content(content) => {
            text(&content.content).map(|text| Shown::Fixed(output::text(&text)))
        }
        wire::ToolCallContent::Diff(change) => {
            Some(Shown::Fixed(diff(change.path.display().to_string(), change.old_text, change.new_text)))
        }
        wire::ToolCallContent::Terminal(terminal) => Some(Shown::Terminal(terminal.terminal_id.to_string())),
        _ => None,
    };
    let mut all: Vec<_> = content.into_iter().filter_map(piece).collect();
    if all.len() > CALL_PIECES {
        let more = all.len() - CALL_PIECES;
        all.truncate(CALL_PIECES);
        all.push(Shown::Fixed(ToolContent::Text { text: format!("*{more} more are not shown.*") }));
    }
    all
}

/// The text of a block; other content is shown by its name.
fn text(block: &wire::ContentBlock) -> Option<String> {
    match block {
        wire::ContentBlock::Text(text) => Some(text.text.clone()),
        wire::ContentBlock::ResourceLink(link) => Some(format!("[{}]({})", link.name, link.uri)),
        wire::ContentBlock::Resource(resource) => match &resource.resource {
            wire::EmbeddedResourceResource::TextResourceContents(resource) => Some(resource.text.clone()),
            wire::EmbeddedResourceResource::BlobResourceContents(blob) => Some(format!("[{}]", blob.uri)),
            _ => None,
        },
        wire::ContentBlock::Image(image) => Some(format!("[image, {}]", image.mime_type)),
        wire::ContentBlock::Audio(audio) => Some(format!("[audio, {}]", audio.mime_type)),
        _ => None,
    }
}

fn locations(locations: Vec<wire::ToolCallLocation>) -> Vec<Location> {
    let place = |location: wire::ToolCallLocation| Location {
        path: location.path.display().to_string(),
        line: location.line,
    };
    locations.into_iter().take(CALL_PIECES).map(place).collect()
}

fn kind(kind: wire::ToolKind) -> ToolKind {
    match kind {
        wire::ToolKind::Read => ToolKind::Read,
        wire::ToolKind::Edit => ToolKind::Edit,
        wire::ToolKind::Delete => ToolKind::Delete,
        wire::ToolKind::Move => ToolKind::Move,
        wire::ToolKind::Search => ToolKind::Search,
        wire::ToolKind::Execute => ToolKind::Execute,
        wire::ToolKind::Think => ToolKind::Think,
        wire::ToolKind::Fetch => ToolKind::Fetch,
        wire::ToolKind::SwitchMode => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

pub(super) fn add_update(timeline: &mut Timeline, now: Instant, update: wire::SessionUpdate) {
    match update {
        wire::SessionUpdate::AgentMessageChunk(chunk) => add_text(timeline, now, Role::Message, &chunk),
        wire::SessionUpdate::AgentThoughtChunk(chunk) => add_text(timeline, now, Role::Thought, &chunk),
        wire::SessionUpdate::ToolCall(call) => drop(timeline.call(now, announced_call(call), true)),
        wire::SessionUpdate::ToolCallUpdate(update) => drop(timeline.call(now, call_news(update), false)),
        wire::SessionUpdate::Plan(plan) => timeline.plan(now, steps(plan.entries)),
        wire::SessionUpdate::PlanUpdate(wire::PlanUpdate {
            plan: wire::PlanUpdateContent::Items(plan),
            ..
        }) => {
            timeline.plan(now, steps(plan.entries));
        }
        _ => {}
    }
}

pub(super) fn add_text(timeline: &mut Timeline, now: Instant, role: Role, chunk: &wire::ContentChunk) {
    if let Some(text) = text(&chunk.content) {
        timeline.text(now, role, &text, chunk.message_id.as_ref().map(ToString::to_string));
    }
}

fn steps(entries: Vec<wire::PlanEntry>) -> impl Iterator<Item = (String, EntryStatus)> {
    entries.into_iter().map(|entry| {
        let status = match entry.status {
            wire::PlanEntryStatus::InProgress => EntryStatus::InProgress,
            wire::PlanEntryStatus::Completed => EntryStatus::Completed,
            _ => EntryStatus::Pending,
        };
        (entry.content, status)
    })
}

/// Reads a part of the agent's state, from the raw JSON so that one bad entry is skipped instead of failing all of them.
/// `None` if it is another kind of update.
pub(super) fn state(update: &Value) -> Option<AgentPart> {
    match update["sessionUpdate"].as_str()? {
        "available_commands_update" => Some(AgentPart::Commands(commands(&update["availableCommands"]))),
        "usage_update" => usage(update).map(AgentPart::Usage),
        "session_info_update" => {
            let title = update["title"].as_str().and_then(one_line)?;
            Some(AgentPart::Title(title))
        }
        _ => None,
    }
}

/// Reads a notice, a compaction or a plan as text, from the raw JSON. `None` if it is another kind of update, or says too
/// little.
pub(super) fn note(update: &Value) -> Option<NoteNews> {
    let id = |value: &Value| value.as_str().filter(|id| id.len() <= OPTION_ID).map(str::to_owned);
    Some(match update["sessionUpdate"].as_str()? {
        "notice" => NoteNews::Notice {
            severity: match update["severity"].as_str() {
                Some("error") => Severity::Error,
                Some("warning") => Severity::Warning,
                _ => Severity::Info,
            },
            title: update["title"].as_str().and_then(one_line)?,
            description: update["description"].as_str().map(|text| clip_bytes(text, NOTICE_WORDS)),
        },
        "compaction_update" => NoteNews::Compaction {
            id: id(&update["compactionId"])?,
            state: Some(match update["status"].as_str()? {
                "completed" => CompactionState::Completed,
                "failed" => CompactionState::Failed,
                "cancelled" => CompactionState::Cancelled,
                _ => CompactionState::Running,
            }),
            summary: match update.get("summary") {
                None => Change::None,
                Some(Value::Array(blocks)) => Change::Set(blocks.iter().filter_map(block_text).collect()),
                Some(_) => Change::Clear,
            },
            error: update["error"].as_str().and_then(one_line),
        },
        "compaction_summary_chunk" => NoteNews::Compaction {
            id: id(&update["compactionId"])?,
            state: None,
            summary: Change::Append(block_text(&update["content"])?),
            error: None,
        },
        "plan_update" => NoteNews::Plan {
            id: id(&update["plan"]["planId"])?,
            text: update["plan"]["content"].as_str()?.to_owned(),
            path: update["plan"]["path"].as_str().and_then(one_line),
        },
        "plan_removed" => NoteNews::PlanRemoved { id: id(&update["planId"])? },
        _ => return None,
    })
}

pub(super) fn block_text(block: &Value) -> Option<String> {
    text(&serde_json::from_value(block.clone()).ok()?)
}

fn usage(update: &Value) -> Option<ContextUsage> {
    let cost = &update["cost"];
    let currency = cost["currency"].as_str().filter(|code| code.len() == 3 && code.is_ascii());
    Some(ContextUsage {
        used: update["used"].as_u64()?,
        size: update["size"].as_u64().unwrap_or(0),
        cost: currency
            .zip(cost["amount"].as_f64().filter(|amount| *amount >= 0.0))
            .map(|(currency, amount)| Cost { amount, currency: currency.to_owned() }),
    })
}

fn commands(stated: &Value) -> Vec<OfferedCommand> {
    let text = |value: &Value| value.as_str().and_then(one_line).map(|text| clip_bytes(&text, COMMAND_WORDS));
    let mut commands: Vec<OfferedCommand> = Vec::new();
    for command in stated.as_array().into_iter().flatten() {
        // A name that is cut would be another command.
        let name = command["name"].as_str().and_then(one_line).filter(|name| name.len() <= COMMAND_NAME);
        let Some(name) = name else { continue };
        if commands.len() == OFFERED_COMMANDS || commands.iter().any(|known| known.name == name) {
            continue;
        }
        commands.push(OfferedCommand {
            name,
            description: text(&command["description"]).unwrap_or_default(),
            hint: text(&command["input"]["hint"]),
        });
    }
    commands
}

/// Reads the options of a permission request, in the agent's order. An option without an id cannot be chosen, and of
/// two with the same id only the first could be, so both kinds are skipped.
pub(super) fn options(stated: &Value) -> Vec<ApprovalOption> {
    let mut options: Vec<ApprovalOption> = Vec::new();
    for option in stated.as_array().into_iter().flatten() {
        let Some(id) = option["optionId"].as_str() else { continue };
        if options.len() == PERMISSION_OPTIONS || options.iter().any(|known| known.id == id) {
            continue;
        }
        let kind = match option["kind"].as_str() {
            Some("allow_once") => OptionKind::AllowOnce,
            Some("allow_always") => OptionKind::AllowAlways,
            Some("reject_once") => OptionKind::RejectOnce,
            Some("reject_always") => OptionKind::RejectAlways,
            _ => OptionKind::Other,
        };
        let name = option["name"].as_str().and_then(one_line).unwrap_or_else(|| id.to_owned());
        options.push(ApprovalOption { id: id.to_owned(), name, kind });
    }
    options
}

/// Returns whether choosing an option lets the agent ask less from now on: it allows something permanently, or it approves a
/// plan that Claude Code carries out in a mode that the option names (`exit-plan-auto`).
pub(super) fn lowers(option: &ApprovalOption) -> bool {
    !option.kind.denies() && (option.kind != OptionKind::AllowOnce || option.id.starts_with("exit-plan-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn call_counts_pieces_over_the_limit() {
        let piece = json!({"type": "content", "content": {"type": "text", "text": "x"}});
        let call = json!({"toolCallId": "1", "title": "t", "content": vec![piece; CALL_PIECES + 3]});
        let shown = announced_call(serde_json::from_value(call).unwrap()).shown.unwrap();
        let last = ToolContent::Text { text: "*3 more are not shown.*".to_owned() };
        assert_eq!((shown.len(), shown.last()), (CALL_PIECES + 1, Some(&Shown::Fixed(last))));
    }

    #[test]
    fn commands_are_bounded_and_skip_bad_entries() {
        let list = json!([
            {"name": "init", "description": "Sets up", "input": {"hint": "[folder]"}},
            {"name": "memory show", "description": "a\nb", "input": null, "_meta": {"x": "y"}},
            {"description": "no name"},
            {"name": "init", "description": "twice"},
            {"name": "x".repeat(200), "description": "too long"},
            {"name": 7},
            "text",
        ]);
        let read = commands(&list);
        let rows: Vec<_> =
            read.iter().map(|it| (it.name.as_str(), it.description.as_str(), it.hint.as_deref())).collect();
        assert_eq!(rows, [("init", "Sets up", Some("[folder]")), ("memory show", "a b", None)]);
        let many: Value =
            (0..10_000).map(|n| json!({"name": n.to_string(), "description": "x".repeat(1_000)})).collect();
        let read = commands(&many);
        assert!(
            read.len() == OFFERED_COMMANDS
                && read.iter().all(|command| command.description.len() <= COMMAND_WORDS + 3)
        );
        assert_eq!(commands(&Value::Null), []);
    }

    #[test]
    fn state_reads_commands_and_usage() {
        let cost = |amount, currency: &str| Some(Cost { amount, currency: currency.to_owned() });
        let usage = |used, size, cost| Some(AgentPart::Usage(ContextUsage { used, size, cost }));
        let rows = [
            (
                json!({"sessionUpdate": "usage_update", "used": 128, "size": 258_400}),
                usage(128, 258_400, None),
            ),
            (
                json!({"sessionUpdate": "usage_update", "used": 9, "size": 8, "cost": {"amount": 0.5, "currency": "USD"}}),
                usage(9, 8, cost(0.5, "USD")),
            ),
            (
                json!({"sessionUpdate": "usage_update", "used": 1, "size": null, "cost": null}),
                usage(1, 0, None),
            ),
            (
                json!({"sessionUpdate": "usage_update", "used": 1, "cost": {"amount": -1, "currency": "USD"}}),
                usage(1, 0, None),
            ),
            (
                json!({"sessionUpdate": "usage_update", "used": 1, "cost": {"amount": 1, "currency": "a".repeat(1 << 20)}}),
                usage(1, 0, None),
            ),
            (json!({"sessionUpdate": "usage_update", "size": 1}), None),
            (json!({"sessionUpdate": "usage_update", "used": -1, "size": 1}), None),
            (json!({"sessionUpdate": "usage_update", "used": "1", "size": 1}), None),
            (
                json!({"sessionUpdate": "available_commands_update", "availableCommands": []}),
                Some(AgentPart::Commands(Vec::new())),
            ),
            (json!({"sessionUpdate": "available_commands_update"}), Some(AgentPart::Commands(Vec::new()))),
            (json!({"sessionUpdate": "plan", "availableCommands": []}), None),
            (json!([]), None),
        ];
        for (update, expected) in rows {
            assert_eq!(state(&update), expected, "{update}");
        }
    }

    #[test]
    fn options_keep_order_names_and_ids() {
        let stated = json!([
            {"optionId": "b", "name": "No", "kind": "reject_once"},
            {"optionId": "a", "name": "Until\nnoon", "kind": "allow_until"},
            {"optionId": "b", "name": "Yes", "kind": "allow_once"},
            {"name": "Nothing", "kind": "allow_once"},
            {"optionId": "c", "kind": "allow_always"},
            {"optionId": "", "name": "Never", "kind": "reject_always"},
            {"optionId": "d"},
            7,
        ]);
        let read: Vec<_> =
            options(&stated).into_iter().map(|option| (option.id, option.name, option.kind)).collect();
        let row = |id: &str, name: &str, kind| (id.to_owned(), name.to_owned(), kind);
        assert_eq!(
            read,
            [
                row("b", "No", OptionKind::RejectOnce),
                row("a", "Until noon", OptionKind::Other),
                row("c", "c", OptionKind::AllowAlways),
                row("", "Never", OptionKind::RejectAlways),
                row("d", "d", OptionKind::Other),
            ]
        );
        let many: Value = (0..40).map(|id| json!({"optionId": id.to_string(), "name": "x"})).collect();
        assert_eq!(options(&many).len(), PERMISSION_OPTIONS);
        for none in [Value::Null, json!([]), json!({"optionId": "a"})] {
            assert_eq!(options(&none), []);
        }
    }

    #[test]
    fn lowers_detects_lasting_options() {
        let option = |id: &str, kind| ApprovalOption { id: id.to_owned(), name: String::new(), kind };
        let rows = [
            (option("proceed_once", OptionKind::AllowOnce), false),
            (option("allow-with-updates", OptionKind::AllowAlways), true),
            (option("exit-plan-accept-edits", OptionKind::AllowOnce), true),
            (option("odd", OptionKind::Other), true),
            (option("exit-plan-no", OptionKind::RejectOnce), false),
            (option("never", OptionKind::RejectAlways), false),
        ];
        for (option, expected) in rows {
            assert_eq!(lowers(&option), expected, "{option:?}");
        }
    }

    #[test]
    fn bad_notes_are_skipped() {
        let good = [
            json!({"sessionUpdate": "notice", "severity": "odd", "title": "T", "description": 7}),
            json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "odd", "summary": null, "error": 7}),
            json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": {"type": "text", "text": "x"}}),
            json!({"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p", "content": "x", "path": 7}}),
            json!({"sessionUpdate": "plan_removed", "planId": "p"}),
        ];
        let read: Vec<_> = good.iter().map(|update| note(update).unwrap()).collect();
        let id = |id: &str| id.to_owned();
        let compaction = |state, summary| NoteNews::Compaction { id: id("c"), state, summary, error: None };
        assert_eq!(
            read,
            [
                NoteNews::Notice { severity: Severity::Info, title: id("T"), description: None },
                compaction(Some(CompactionState::Running), Change::Clear),
                compaction(None, Change::Append(id("x"))),
                NoteNews::Plan { id: id("p"), text: id("x"), path: None },
                NoteNews::PlanRemoved { id: id("p") },
            ]
        );
        // Without a member that is required, or with a value of another type.
        let required: [&[&str]; 5] = [
            &["/title"],
            &["/compactionId", "/status"],
            &["/compactionId", "/content"],
            &["/plan", "/plan/planId", "/plan/content"],
            &["/planId"],
        ];
        for (update, members) in good.iter().zip(required) {
            for member in members {
                for value in [Value::Null, json!(7), json!({"x": []})] {
                    let mut bad = update.clone();
                    *bad.pointer_mut(member).unwrap() = value;
                    assert_eq!(note(&bad), None, "{bad}");
                }
            }
        }
        let items =
            json!({"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": []}});
        assert_eq!(note(&items), None, "it is a plan of steps");
        let long = json!({"sessionUpdate": "plan_removed", "planId": "x".repeat(1 << 20)});
        assert_eq!(note(&long), None);
    }

    proptest::proptest! {
        #[test]
        fn note_reads_anything(kind in "notice|compaction_update|compaction_summary_chunk|plan_update|plan_removed", text in ".*") {
            let members = ["title", "compactionId", "status", "planId"].map(|name| (name.to_owned(), json!(text)));
            let mut update = json!({"sessionUpdate": kind, "plan": {"planId": text, "content": text}, "summary": [text], "content": text});
            update.as_object_mut().unwrap().extend(members);
            let _ = note(&update);
        }
    }
}
