//! Updates for tests: one of each kind, and builders for common ones.

#![allow(clippy::unwrap_used, missing_docs, reason = "only tests use it")]

use crate::{
    Session,
    store::{Store, Stored},
};
use openagents_core::{
    approval::*,
    model::Usage,
    update::{Decision, Inline, Target, *},
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub fn plan(state: RunState, statuses: &[EntryStatus]) -> SessionUpdate {
    let entry = |(index, status): (usize, &EntryStatus)| PlanEntry {
        content: format!("Read file-{index}.rs:1-50"),
        status: *status,
        op_id: format!("op-{index}"),
        op_hash: 7 + u32::try_from(index).unwrap(),
        tool: "content.get_span".to_owned(),
        error: None,
    };
    SessionUpdate::Plan(PlanSnapshot {
        plan_id: "plan-1".to_owned(),
        goals: vec!["Understand it".to_owned()],
        state,
        entries: statuses.iter().enumerate().map(entry).collect(),
    })
}

pub fn call(id: &str, name: &str) -> SessionUpdate {
    SessionUpdate::ToolCall(ToolCall {
        call_id: id.to_owned(),
        name: name.to_owned(),
        arguments: Map::from_iter([("pattern".to_owned(), json!("TODO"))]),
        op_hash: Some(7),
        stage: None,
        details: Default::default(),
    })
}

pub fn call_update(id: &str, status: ToolCallStatus) -> SessionUpdate {
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, status))
}

pub fn started(id: &str, progress: f64) -> SessionUpdate {
    call_update(id, ToolCallStatus::Started { progress, note: Some("processed 1/2".to_owned()) })
}

pub fn completed(output: Value) -> SessionUpdate {
    call_update("c", ToolCallStatus::Completed { output, cut: Cut::default() })
}

pub fn failed(id: &str) -> SessionUpdate {
    call_update(id, ToolCallStatus::Error { message: "File not found: x".to_owned() })
}

pub fn text(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessage(AgentMessage { text: text.to_owned(), ..AgentMessage::default() })
}

pub fn user(text: &str, connection: &str) -> SessionUpdate {
    SessionUpdate::UserMessage(UserMessage {
        text: text.to_owned(),
        connection: Some(connection.to_owned()),
        ..UserMessage::default()
    })
}

pub fn mode(id: &str) -> SessionUpdate {
    SessionUpdate::Mode(ModeChange { mode_id: id.to_owned() })
}

fn note(id: &str, content: NoteContent) -> SessionUpdate {
    SessionUpdate::AgentNote(AgentNote { id: id.to_owned(), content })
}

fn compaction(state: CompactionState, summary: Option<String>) -> SessionUpdate {
    note("n2", NoteContent::Compaction { state, summary, error: None })
}

fn written_plan(removed: bool) -> SessionUpdate {
    note("n3", NoteContent::Plan { text: "# Plan".to_owned(), path: Some("plan.md".to_owned()), removed })
}

fn state(part: AgentPart) -> SessionUpdate {
    SessionUpdate::AgentState(AgentState { agent: "codex".to_owned(), part })
}

pub fn stored(updates: Vec<SessionUpdate>) -> Vec<Arc<Stored>> {
    let number = |(update, seq): (SessionUpdate, u64)| {
        Arc::new(Stored { seq, ts: seq.cast_signed() * 100, update, bytes: 0, encoded: Default::default() })
    };
    updates.into_iter().zip(1..).map(number).collect()
}

/// Returns one update of each kind and status, with all fields set.
pub fn every_update() -> Vec<SessionUpdate> {
    use EntryStatus::*;
    let mut plan_with_error = plan(RunState::Cancelled, &[Completed, InProgress, Pending]);
    if let SessionUpdate::Plan(snapshot) = &mut plan_with_error {
        snapshot.entries[0].error = Some("File not found: x".to_owned());
    }
    let cut = Cut { truncated: true, timed_out: true, omitted: 3 };
    vec![
        user("What is this?", "connection-1"),
        SessionUpdate::UserMessage(UserMessage { text: "plain".to_owned(), ..UserMessage::default() }),
        SessionUpdate::UserMessage(UserMessage {
            text: "And then?".to_owned(),
            connection: Some("connection-2".to_owned()),
            client: Some("Phone".to_owned()),
            prompt_id: Some("p-7".to_owned()),
            message_id: Some("q1".to_owned()),
            ..UserMessage::default()
        }),
        SessionUpdate::UserMessage(UserMessage {
            message_id: Some("q1".to_owned()),
            removed: true,
            ..UserMessage::default()
        }),
        SessionUpdate::UserMessage(UserMessage {
            text: "Like this".to_owned(),
            message_id: Some("q2".to_owned()),
            images: vec![PromptImage {
                hash: "9f86d081".to_owned(),
                mime_type: "image/png".to_owned(),
                width: 40,
                height: 30,
            }],
            ..UserMessage::default()
        }),
        SessionUpdate::UserMessage(UserMessage {
            message_id: Some("q2".to_owned()),
            steered: true,
            ..UserMessage::default()
        }),
        SessionUpdate::Title(Title { title: "What is this?".to_owned(), by_user: false }),
        mode("gptoss_20b"),
        state(AgentPart::Commands(vec![
            OfferedCommand {
                name: "init".to_owned(),
                description: "Sets up".to_owned(),
                hint: Some("[folder]".to_owned()),
            },
            OfferedCommand { name: "help".to_owned(), description: String::new(), hint: None },
        ])),
        state(AgentPart::Usage(ContextUsage {
            used: 128,
            size: 258_400,
            cost: Some(Cost { amount: 0.25, currency: "USD".to_owned() }),
        })),
        note(
            "n1",
            NoteContent::Notice {
                severity: Severity::Warning,
                title: "Slow".to_owned(),
                description: Some("The server is slow.".to_owned()),
                count: 2,
            },
        ),
        compaction(CompactionState::Running, None),
        compaction(CompactionState::Completed, Some("We fixed it.".to_owned())),
        written_plan(false),
        written_plan(true),
        plan(RunState::Running, &[Pending, Pending]),
        plan_with_error,
        call("c1", "search.grep"),
        SessionUpdate::ToolCall(ToolCall {
            call_id: "c2".to_owned(),
            name: "fm.analysis".to_owned(),
            arguments: Map::new(),
            op_hash: None,
            stage: Some("summary".to_owned()),
            details: Default::default(),
        }),
        call("c3", "delegate.run"),
        started("c2", 0.5),
        call_update(
            "c2",
            ToolCallStatus::Completed { output: json!({"summary_bytes": 7, "source": "readme"}), cut },
        ),
        failed("c1"),
        SessionUpdate::ToolCallUpdate(ToolCallUpdate {
            call_id: "c3".to_owned(),
            status: ToolCallStatus::Completed { output: json!(["src/"]), cut: Cut::default() },
            late: true,
            details: Default::default(),
        }),
        SessionUpdate::AgentThought(AgentThought {
            text: "Weighing options".to_owned(),
            ..Default::default()
        }),
        SessionUpdate::AgentMessage(AgentMessage {
            text: "A part".to_owned(),
            message_id: Some("m1".to_owned()),
            ..AgentMessage::default()
        }),
        SessionUpdate::AgentMessage(AgentMessage {
            message_id: Some("m1".to_owned()),
            usage: Some(Usage { prompt_tokens: 40, tokens: 7, tokens_per_second: 2.5, ..Usage::default() }),
            ..AgentMessage::default()
        }),
        summary(),
        SessionUpdate::Routed(Decision {
            target: Target::Inline,
            inline: Some(Inline::Guidance),
            reason: "Code needs a model.".to_owned(),
            instead_of: Some(Target::Gptoss),
        }),
        approval("c4", ApprovalState::Pending),
        approval(
            "c4",
            ApprovalState::Answered {
                option_id: "yes".to_owned(),
                by: "Phone".to_owned(),
                at: 7,
                message: None,
                content: None,
            },
        ),
        edit(),
        delegated(user("Fix it", "c")),
        delegated(call("inner", "edit")),
        delegated(approval("inner", ApprovalState::Pending)),
        delegated(failed("inner")),
        delegated(text("I did not.")),
        late(),
    ]
}

/// An agent's update with all details of a call.
fn edit() -> SessionUpdate {
    let details = ToolCallDetails {
        title: Some("Edit src/a.rs".to_owned()),
        kind: Some(ToolKind::Edit),
        raw_input: Some(json!({"path": "src/a.rs"})),
        locations: vec![Location { path: "/projects/demo/src/a.rs".to_owned(), line: Some(3) }],
        content: vec![
            ToolContent::Text { text: "As you asked".to_owned() },
            ToolContent::Diff {
                path: "/projects/demo/src/a.rs".to_owned(),
                old_text: None,
                new_text: "fn a() {}\n".to_owned(),
                truncated: true,
            },
            ToolContent::Terminal {
                terminal_id: "t1".to_owned(),
                command: Some("make".to_owned()),
                output: "ok\n".to_owned(),
                truncated: false,
                exit_code: Some(0),
                signal: None,
            },
        ],
    };
    let (call_id, status) = ("c4".to_owned(), ToolCallStatus::Unchanged);
    SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id, status, late: false, details })
}

fn late() -> SessionUpdate {
    SessionUpdate::AgentMessage(AgentMessage {
        text: "Too late".to_owned(),
        late: true,
        ..AgentMessage::default()
    })
}

pub fn delegated(update: SessionUpdate) -> SessionUpdate {
    SessionUpdate::Delegated(Delegated {
        parent_call_id: "c3".to_owned(),
        child_session_id: "child".to_owned(),
        update: Box::new(update),
    })
}

pub fn approval(call_id: &str, state: ApprovalState) -> SessionUpdate {
    let kind = OptionKind::AllowOnce;
    SessionUpdate::Approval(Approval {
        id: format!("approval of {call_id}"),
        subject: Default::default(),
        call_id: call_id.to_owned(),
        agent: "Codex".to_owned(),
        title: "Edit src/a.rs".to_owned(),
        raw_input: Some(json!({"path": "src/a.rs"})),
        hash: "00".repeat(32),
        command: None,
        options: vec![ApprovalOption { id: "yes".to_owned(), name: "Allow".to_owned(), kind }],
        state,
        asked_at: 1_700_000_000_000,
        raw_input_cut: false,
        cut: false,
        unheard: false,
        resumed: false,
    })
}

pub fn summary() -> SessionUpdate {
    SessionUpdate::AgentMessage(AgentMessage {
        text: "**Repository:** demo\n\n**Intent From Session History:**\nFix the parser.".to_owned(),
        summary: Some(Summary {
            repository: "demo".to_owned(),
            intent: Some("Fix the parser.".to_owned()),
            source: IntentSource::SessionAnalyze,
            model: None,
            recent_work: vec![RecentWork {
                title: "Fix the parser".to_owned(),
                provider: "codex".to_owned(),
                session_id: "s-1".to_owned(),
                updated_at: 1_700_000_000_000,
            }],
            top_files: vec!["src/parser.rs".to_owned()],
            followups: vec!["Go on with the parser".to_owned()],
            evidence: vec![
                Evidence::File { path: "README.md".to_owned(), line: 1, text: "# demo".to_owned() },
                Evidence::Session {
                    provider: "codex".to_owned(),
                    session_id: "s-1".to_owned(),
                    line: 3,
                    text: "Fix the parser".to_owned(),
                },
            ],
            findings: Vec::new(),
            overview: None,
        }),
        ..AgentMessage::default()
    })
}

pub fn session(store: Store, id: &str) -> Arc<Session> {
    Arc::new(Session::new(store.session(id).unwrap().unwrap(), store, Arc::default()))
}
