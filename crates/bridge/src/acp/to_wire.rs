//! Encodes updates and rows as ACP. One function per kind; nothing else builds these frames.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, CompactionStatus, CompactionUpdate,
    ConfigOptionUpdate, ContentBlock, ContentChunk, Cost, CurrentModeUpdate, Diff, ImageContent, MessageId,
    Meta, Notice, NoticeSeverity, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, PlanMarkdown,
    PlanRemoved, PlanUpdate, PlanUpdateContent, SessionConfigKind, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigSelect, SessionConfigSelectGroup, SessionConfigSelectOption,
    SessionConfigSelectOptions, SessionInfo, SessionInfoUpdate, SessionMode, SessionModeState,
    SessionNotification, SessionUpdate as Wire, Terminal, TextContent, ToolCall, ToolCallContent,
    ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
    UnstructuredCommandInput, UsageUpdate,
};
use openagents_core::update::{
    AgentMessage, AgentNote, AgentPart, AgentState, AgentThought, CompactionState, Cut, EntryStatus,
    Location, NoteContent, OfferedCommand, PlanEntry as Entry, PlanSnapshot, SelectValue, SessionOption,
    SessionUpdate, Setting, Severity, ToolCall as Call, ToolCallDetails, ToolCallStatus as Status,
    ToolCallUpdate as CallUpdate, ToolContent, ToolKind as Kind, UserMessage,
};
use openagents_sessions::{Folded, Listed, Mode, Queued, prune};
use openagents_transcripts::history::TranscriptImage;
use openagents_wire::{
    EditsMeta, EntryMeta, LoginMeta, ModeMeta, NoticeMeta, OptionValueMeta, PlanMeta, PromptMeta,
    QueuedPrompt, RoutingMeta, SessionMeta, SpeechMeta, StateMeta, TerminalMeta, ToolMeta, UpdateMeta, meta,
};
use serde::Serialize;
use serde_json::{Value, json};

/// Maximum bytes of an output for ACP clients.
pub(crate) const ACP_OUTPUT: usize = 256 << 10;

/// Returns the params of the `session/update` notification that shows an update, with outputs cut to 256 KiB.
pub fn session_update(session_id: &str, seq: u64, ts: i64, update: &SessionUpdate) -> Value {
    notification(session_id, numbered(seq, ts), update, ACP_OUTPUT)
}

/// Like [`session_update`], but does not cut outputs.
pub(crate) fn whole_update(session_id: &str, seq: u64, ts: i64, update: &SessionUpdate) -> Value {
    notification(session_id, numbered(seq, ts), update, usize::MAX)
}

/// Returns the params of the `session/update` notification that shows an image of another agent's transcript.
pub(crate) fn image(
    session_id: &str,
    (line, ts): (u64, i64),
    is_prompt: bool,
    message_id: &str,
    TranscriptImage { mime_type, data }: TranscriptImage,
) -> Value {
    let chunk = ContentChunk::new(ContentBlock::Image(ImageContent::new(data, mime_type)))
        .message_id(MessageId::new(message_id));
    let update = if is_prompt { Wire::UserMessageChunk(chunk) } else { Wire::AgentMessageChunk(chunk) };
    let notification = SessionNotification::new(session_id.to_owned(), update);
    serde_json::to_value(notification.meta(meta(&numbered(line, ts)))).unwrap_or_default()
}

/// Returns an error message for a session whose log cannot be written. It is not in the log.
pub(crate) fn store_failed(session_id: &str, message: &str) -> Value {
    let update = SessionUpdate::AgentMessage(AgentMessage {
        text: format!("❌ {message}"),
        failed: true,
        ..AgentMessage::default()
    });
    let ours = UpdateMeta { error: Some("store_failed".to_owned()), ..UpdateMeta::default() };
    notification(session_id, ours, &update, usize::MAX)
}

/// Returns the params of the `session/update` notification for a folded update.
pub(crate) fn folded(session_id: &str, folded: &Folded) -> Value {
    let last_ts = (folded.last_ts != folded.ts).then_some(folded.last_ts);
    let ours = UpdateMeta { folded: true, last_ts, ..numbered(folded.seq, folded.ts) };
    let mut value = notification(session_id, ours, &folded.update, ACP_OUTPUT);
    if let Some(news) = &folded.news
        && let Some(call) = value.get_mut("update")
    {
        let news_of = tool_call_update(&news.update, ACP_OUTPUT);
        let mut fields = serde_json::to_value(news_of).unwrap_or_default();
        if fields["_meta"]["openagents"]["pruned"] == true {
            // `_openagents/update` returns the rest for this update.
            fields["_meta"]["openagents"]["outputSeq"] = news.status_seq.into();
        }
        overlay(call, fields);
    }
    value
}

/// Replaces members of `below` with those of `above`; `_meta` is merged member by member.
fn overlay(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (name, value) in above {
                match below.get_mut(&name) {
                    Some(known) if name == "_meta" || name == "openagents" => overlay(known, value),
                    _ => drop(below.insert(name, value)),
                }
            }
        }
        (below, above) => *below = above,
    }
}

fn notification(session_id: &str, mut ours: UpdateMeta, update: &SessionUpdate, limit: usize) -> Value {
    let update = match update {
        SessionUpdate::Delegated(delegated) => {
            ours.parent_call_id = Some(delegated.parent_call_id.clone());
            ours.child_session_id = Some(delegated.child_session_id.clone());
            &*delegated.update
        }
        update => update,
    };
    let id: std::sync::Arc<str> = session_id.into();
    let notification = SessionNotification::new(id, wire(update, limit)).meta(meta(&ours));
    let mut value = serde_json::to_value(notification).unwrap_or_default();
    if let SessionUpdate::ToolCall(_) = update {
        // The schema omits its defaults; we always send them, so that the page need not know them.
        if let Some(call) = value.get_mut("update").and_then(Value::as_object_mut) {
            call.entry("kind").or_insert_with(|| "other".into());
            call.entry("status").or_insert_with(|| "pending".into());
        }
    }
    value
}

fn wire(update: &SessionUpdate, limit: usize) -> Wire {
    match update {
        SessionUpdate::UserMessage(message) => Wire::UserMessageChunk(user_message(message)),
        SessionUpdate::AgentMessage(message) => Wire::AgentMessageChunk(agent_message(message)),
        SessionUpdate::AgentThought(thought) => Wire::AgentThoughtChunk(agent_thought(thought)),
        SessionUpdate::Plan(snapshot) => Wire::Plan(plan(snapshot)),
        SessionUpdate::ToolCall(call) => Wire::ToolCall(tool_call(call, limit)),
        SessionUpdate::ToolCallUpdate(update) => Wire::ToolCallUpdate(tool_call_update(update, limit)),
        SessionUpdate::Mode(mode) => Wire::CurrentModeUpdate(CurrentModeUpdate::new(mode.mode_id.clone())),
        SessionUpdate::Title(title) => {
            Wire::SessionInfoUpdate(SessionInfoUpdate::new().title(title.title.clone()))
        }
        SessionUpdate::Routed(decision) => Wire::SessionInfoUpdate(
            SessionInfoUpdate::new().meta(meta(&RoutingMeta { routing: Some(decision.clone()) })),
        ),
        // The protocol has no such update, so it is sent as an update of the waiting call.
        SessionUpdate::Approval(approval) => Wire::ToolCallUpdate(
            ToolCallUpdate::new(approval.call_id.clone(), ToolCallUpdateFields::new())
                .meta(meta(&ToolMeta { approval: Some(approval.clone()), ..ToolMeta::default() })),
        ),
        SessionUpdate::Delegated(delegated) => wire(&delegated.update, limit),
        SessionUpdate::AgentState(AgentState { agent, part }) => {
            let ours = meta(&StateMeta { agent: agent.clone() });
            match part {
                AgentPart::Commands(commands) => Wire::AvailableCommandsUpdate(
                    AvailableCommandsUpdate::new(commands.iter().map(command).collect()).meta(ours),
                ),
                AgentPart::Options(stated) => {
                    Wire::ConfigOptionUpdate(ConfigOptionUpdate::new(options(agent, stated)).meta(ours))
                }
                AgentPart::Usage(usage) => {
                    let cost = usage.cost.as_ref().map(|cost| Cost::new(cost.amount, cost.currency.clone()));
                    Wire::UsageUpdate(UsageUpdate::new(usage.used, usage.size).cost(cost).meta(ours))
                }
                AgentPart::EditsAllowed(edits_allowed) => Wire::SessionInfoUpdate(
                    SessionInfoUpdate::new()
                        .meta(meta(&EditsMeta { agent: agent.clone(), edits_allowed: *edits_allowed })),
                ),
                AgentPart::LoggedOut(logged_out) => Wire::SessionInfoUpdate(
                    SessionInfoUpdate::new()
                        .meta(meta(&LoginMeta { agent: agent.clone(), logged_out: *logged_out })),
                ),
                AgentPart::Title(title) => {
                    Wire::SessionInfoUpdate(SessionInfoUpdate::new().title(title.clone()))
                }
            }
        }
        SessionUpdate::AgentNote(note) => self::note(note),
    }
}

fn note(AgentNote { id, content }: &AgentNote) -> Wire {
    match content {
        NoteContent::Notice { severity, title, description, count } => {
            let severity = match severity {
                Severity::Info => NoticeSeverity::Info,
                Severity::Warning => NoticeSeverity::Warning,
                Severity::Error => NoticeSeverity::Error,
            };
            let ours = meta(&NoticeMeta { id: id.clone(), count: *count });
            Wire::Notice(Notice::new(severity, title.clone()).description(description.clone()).meta(ours))
        }
        NoteContent::Compaction { state, summary, error } => {
            let status = match state {
                CompactionState::Running => CompactionStatus::InProgress,
                CompactionState::Completed => CompactionStatus::Completed,
                CompactionState::Failed => CompactionStatus::Failed,
                CompactionState::Cancelled => CompactionStatus::Cancelled,
            };
            let mut update = CompactionUpdate::new(id.clone(), status);
            if let Some(summary) = summary {
                update = update.summary(vec![ContentBlock::Text(TextContent::new(summary.clone()))]);
            }
            if let Some(error) = error {
                update = update.error(error.clone());
            }
            Wire::CompactionUpdate(update)
        }
        NoteContent::Plan { removed: true, .. } => Wire::PlanRemoved(PlanRemoved::new(id.clone())),
        NoteContent::Plan { text, path, removed: false } => {
            let plan = PlanMarkdown::new(id.clone(), text.clone()).path(path.clone().map(Into::into));
            Wire::PlanUpdate(PlanUpdate::new(PlanUpdateContent::Markdown(plan)))
        }
    }
}

fn command(command: &OfferedCommand) -> AvailableCommand {
    let input =
        |hint: &String| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint.clone()));
    AvailableCommand::new(command.name.clone(), command.description.clone())
        .input(command.hint.as_ref().map(input))
}

/// Returns an agent's options. Their ids begin with that of the agent, since a session has those of several.
pub(crate) fn options(agent: &str, options: &[SessionOption]) -> Vec<SessionConfigOption> {
    let option = |option: &SessionOption| {
        let kind = match &option.setting {
            Setting::Select { current, values } => {
                SessionConfigKind::Select(SessionConfigSelect::new(current.clone(), select_options(values)))
            }
            // Not as a boolean, which clients have to support.
            Setting::Boolean { current } => {
                let value = |value: bool| {
                    SessionConfigSelectOption::new(switch(value), if value { "On" } else { "Off" })
                };
                let values = SessionConfigSelectOptions::Ungrouped(vec![value(true), value(false)]);
                SessionConfigKind::Select(SessionConfigSelect::new(switch(*current), values))
            }
        };
        let category: Option<SessionConfigOptionCategory> =
            option.category.clone().and_then(|category| serde_json::from_value(category.into()).ok());
        SessionConfigOption::new(format!("{agent}/{}", option.id), option.name.clone(), kind)
            .description(option.description.clone())
            .category(category)
    };
    options.iter().map(option).collect()
}

/// Returns the value on the wire of an option that can only be on or off.
pub(super) fn switch(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

fn select_options(values: &[SelectValue]) -> SessionConfigSelectOptions {
    let value = |value: &SelectValue| {
        SessionConfigSelectOption::new(value.value.clone(), value.name.clone())
            .description(value.description.clone())
            .meta(some_meta(&OptionValueMeta { asks: value.asks }))
    };
    if values.iter().all(|value| value.group.is_none()) {
        return SessionConfigSelectOptions::Ungrouped(values.iter().map(value).collect());
    }
    let groups =
        values.chunk_by(|one, other| one.group == other.group).enumerate().map(|(number, members)| {
            let name = members[0].group.clone().unwrap_or_default();
            let members = members.iter().map(value).collect();
            SessionConfigSelectGroup::new(number.to_string(), name, members)
        });
    SessionConfigSelectOptions::Grouped(groups.collect())
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}

fn user_message(message: &UserMessage) -> ContentChunk {
    let ours = PromptMeta {
        connection: message.connection.clone(),
        client: message.client.clone(),
        prompt_id: message.prompt_id.clone(),
        removed: message.removed,
        steered: message.steered,
        images: message.images.clone(),
    };
    chunk(&message.text).message_id(message.message_id.clone().map(MessageId::new)).meta(some_meta(&ours))
}

fn agent_message(message: &AgentMessage) -> ContentChunk {
    let ours = SpeechMeta {
        summary: message.summary.clone(),
        findings: message.findings.clone(),
        is_overview: message.is_overview,
        usage: message.usage,
        ended: message.ended,
        failed: message.failed,
        late: message.late,
    };
    chunk(&message.text).message_id(message.message_id.clone().map(MessageId::new)).meta(some_meta(&ours))
}

fn agent_thought(thought: &AgentThought) -> ContentChunk {
    let ours = SpeechMeta { late: thought.late, ..SpeechMeta::default() };
    chunk(&thought.text).message_id(thought.message_id.clone().map(MessageId::new)).meta(some_meta(&ours))
}

fn plan(snapshot: &PlanSnapshot) -> Plan {
    Plan::new(snapshot.entries.iter().map(entry).collect()).meta(meta(&PlanMeta {
        plan_id: Some(snapshot.plan_id.clone()),
        goals: snapshot.goals.clone(),
        state: snapshot.state.as_str().to_owned(),
    }))
}

fn entry(entry: &Entry) -> PlanEntry {
    let status = match entry.status {
        EntryStatus::Pending => PlanEntryStatus::Pending,
        EntryStatus::InProgress => PlanEntryStatus::InProgress,
        EntryStatus::Completed => PlanEntryStatus::Completed,
    };
    let Entry { op_id, op_hash, tool, error, .. } = entry.clone();
    PlanEntry::new(entry.content.clone(), PlanEntryPriority::Medium, status).meta(meta(&EntryMeta {
        op_id,
        op_hash,
        tool,
        error,
    }))
}

fn tool_call(call: &Call, limit: usize) -> ToolCall {
    let (arguments, _) = prune::to_fit(&Value::Object(call.arguments.clone()), limit);
    let ours = ToolMeta { op_hash: call.op_hash, stage: call.stage.clone(), ..ToolMeta::default() };
    let details = &call.details;
    ToolCall::new(call.call_id.clone(), details.title.clone().unwrap_or_else(|| call.name.clone()))
        .name(call.name.clone())
        .kind(details.kind.map_or_else(|| kind(&call.name), kind_word))
        .raw_input(arguments)
        .locations(locations(details))
        .content(content(details))
        .meta(some_meta(&ours))
}

fn kind(name: &str) -> ToolKind {
    match name {
        "search.grep" | "session.search" => ToolKind::Search,
        "fs.list_dir" | "content.get_span" | "session.list" | "session.read" => ToolKind::Read,
        "session.analyze" | "fm.analysis" | "gptoss.generate" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

fn kind_word(kind: Kind) -> ToolKind {
    match kind {
        Kind::Read => ToolKind::Read,
        Kind::Edit => ToolKind::Edit,
        Kind::Delete => ToolKind::Delete,
        Kind::Move => ToolKind::Move,
        Kind::Search => ToolKind::Search,
        Kind::Execute => ToolKind::Execute,
        Kind::Think => ToolKind::Think,
        Kind::Fetch => ToolKind::Fetch,
        Kind::SwitchMode => ToolKind::SwitchMode,
        Kind::Other => ToolKind::Other,
    }
}

fn locations(details: &ToolCallDetails) -> Vec<ToolCallLocation> {
    let location = |location: &Location| ToolCallLocation::new(location.path.clone()).line(location.line);
    details.locations.iter().map(location).collect()
}

fn content(details: &ToolCallDetails) -> Vec<ToolCallContent> {
    let piece = |piece: &ToolContent| match piece {
        ToolContent::Text { text } => ToolCallContent::from(ContentBlock::Text(TextContent::new(text))),
        ToolContent::Diff { path, old_text, new_text, truncated } => {
            let diff = Diff::new(path.clone(), new_text.clone()).old_text(old_text.clone());
            if *truncated { diff.meta(meta(&json!({"truncated": true}))) } else { diff }.into()
        }
        // The protocol has no field for the output, which only the owner of a terminal can read.
        ToolContent::Terminal { terminal_id, command, output, truncated, exit_code, signal } => {
            let ours = TerminalMeta {
                command: command.clone(),
                output: output.clone(),
                truncated: *truncated,
                exit_code: *exit_code,
                signal: signal.clone(),
            };
            let ours = json!({"terminal": ours});
            ToolCallContent::Terminal(Terminal::new(terminal_id.clone()).meta(meta(&ours)))
        }
    };
    details.content.iter().map(piece).collect()
}

fn tool_call_update(update: &CallUpdate, limit: usize) -> ToolCallUpdate {
    let details = &update.details;
    let mut fields = ToolCallUpdateFields::new()
        .title(details.title.clone())
        .kind(details.kind.map(kind_word))
        .raw_input(details.raw_input.as_ref().map(|input| prune::to_fit(input, limit).0));
    if !details.locations.is_empty() {
        fields = fields.locations(locations(details));
    }
    if !details.content.is_empty() {
        fields = fields.content(content(details));
    }
    let mut ours = ToolMeta { late: update.late, ..ToolMeta::default() };
    match &update.status {
        Status::Unchanged => {}
        Status::Started { progress, note } => {
            fields = fields.status(ToolCallStatus::InProgress);
            ours.progress = Some(*progress);
            ours.note.clone_from(note);
        }
        Status::Completed { output, cut } => {
            let (output, pruned) = prune::to_fit(output, limit);
            fields = fields.status(ToolCallStatus::Completed);
            if !output.is_null() {
                fields = fields.raw_output(output);
            }
            let Cut { truncated, timed_out, omitted, .. } = *cut;
            let omitted = (omitted > 0).then_some(omitted);
            // `_openagents/update` has the rest of a pruned output.
            ours = ToolMeta { truncated, timed_out, omitted, pruned, ..ours };
        }
        Status::Error { message } => {
            fields = fields.status(ToolCallStatus::Failed);
            ours.error = Some(message.clone());
        }
    }
    ToolCallUpdate::new(update.call_id.clone(), fields).meta(some_meta(&ours))
}

pub(crate) fn queued(prompts: &[Queued]) -> Vec<QueuedPrompt> {
    let prompt = |Queued { id, text, by }| QueuedPrompt { id, text, by };
    prompts.iter().cloned().map(prompt).collect()
}

/// Returns the current and the available modes. The current one is always included, even if not served here.
pub(crate) fn modes(current: &str, available: &[Mode]) -> SessionModeState {
    let mode = |mode: &Mode| {
        let unavailable = mode.unavailable.as_ref().map(ToString::to_string);
        let ours = ModeMeta { local: mode.local, unavailable };
        SessionMode::new(mode.id.clone(), mode.name.clone())
            .description(mode.description.to_owned())
            .meta(meta(&ours))
    };
    let mut modes: Vec<SessionMode> = available.iter().map(mode).collect();
    if available.iter().all(|mode| mode.id != current) {
        let explores = "Not available on this computer; prompts explore the folder".to_owned();
        modes.push(SessionMode::new(current.to_owned(), current.to_owned()).description(explores));
    }
    SessionModeState::new(current.to_owned(), modes)
}

/// Returns a row of `session/list`.
pub(crate) fn session_row(listed: &Listed) -> SessionInfo {
    let row = &listed.row;
    let parent = row.parent.as_ref();
    let ours = SessionMeta {
        seq: row.last_seq,
        running: listed.running,
        waiting: listed.waiting as u64,
        last_ts: row.last_ts,
        mode: row.mode.clone(),
        pinned: row.marks.pinned,
        archived: row.marks.archived,
        parent_session_id: parent.map(|parent| parent.session_id.clone()),
        parent_call_id: parent.map(|parent| parent.call_id.clone()),
    };
    SessionInfo::new(row.id.clone(), row.cwd.clone())
        .title(row.title.clone())
        .updated_at(iso(row.last_ts))
        .meta(meta(&ours))
}

fn iso(ts: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(ts).ok().map(|time| time.to_string())
}

fn numbered(seq: u64, ts: i64) -> UpdateMeta {
    UpdateMeta { seq: Some(seq), ts: Some(ts), ..UpdateMeta::default() }
}

/// Returns `_meta` with our members, unless they are the defaults.
fn some_meta<T: Serialize + Default + PartialEq>(ours: &T) -> Option<Meta> {
    (*ours != T::default()).then(|| meta(ours))
}
